"""vectors.py SECONDS: six writers put and delete vectors of one index on three servers, and read them at others, while servers
and PostgreSQL are killed and started again at random. At the end every server has to have everything that was
acknowledged, and has to answer queries as a single server does that has the same vectors: with the same recall, and
the same results for filters and texts.

LITEIO names the program. LITEIO_KILL_SEED repeats the choices of a run."""

import json
import math
import operator
import os
import random
import sys
import threading

from directory import OnDirectory
from kill import Killer
from servers import Cluster, Refused, with_cluster
from state import UNKNOWN, Connections, Found, NotSent

SERVICE = "s3vectors"
INDEX = {"vectorBucketName": "killed", "indexName": "vectors"}
DIMENSION = 128
WRITERS = 6
# Of each writer before the first kill, and those that it adds and deletes.
KEYS, SPARE = 1_500, 300
# Of one request at most: 500 by S3 Vectors, 100 of a read.
PUT, READ = 250, 100
GROUPS = 10
WORDS = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "granite", "harbour", "island", "juniper", "kelp", "lagoon"]
QUERIES, NEAREST = 30, 10
# By how much the recall may be below that of the single server: the codes of vectors stand in another order.
RECALL_SLACK = 0.01


def elements(key, version):
    """The elements of a vector, each of which is exact in 32 bits."""
    return [(byte - 128) / 128 for byte in random.Random(f"{key}/{version}").randbytes(DIMENSION)]


def metadata(key, version):
    words = random.Random(f"words of {key}/{version}").choices(WORDS, k=4)
    return {"version": version, "group": version % GROUPS, "text": " ".join(words)}


def vector(key, version):
    return {"key": key, "data": {"float32": elements(key, version)}, "metadata": metadata(key, version)}


def create(client):
    client.call("CreateVectorBucket", vectorBucketName=INDEX["vectorBucketName"])
    client.call("CreateIndex", **INDEX, dataType="float32", dimension=DIMENSION, distanceMetric="cosine",
                metadataConfiguration={"nonFilterableMetadataKeys": ["text"],
                                       "textSearchConfigurations": [{"metadataKey": "text", "language": "en"}]})


def pieces(items, most):
    return [items[first:first + most] for first in range(0, len(items), most)]


def versions_of(call, keys):
    """The versions of the vectors that there are, whose elements and metadata have to be those of the version."""
    found = {}
    for some in pieces(keys, READ):
        for it in call("GetVectors", **INDEX, keys=some, returnData=True, returnMetadata=True)["vectors"]:
            version = it["metadata"]["version"]
            if it != vector(it["key"], version):
                raise Found(f"{it['key']} is not what was put as version {version}: {json.dumps(it)[:300]}")
            found[it["key"]] = version
    return found


class Writer(threading.Thread):
    """Changes its own keys, and knows which versions each may have. `None` is that of a key without a vector."""

    def __init__(self, cluster, number, seed):
        super().__init__(daemon=True)
        self.random = random.Random(f"{seed}-{number}")
        self.servers = Connections(cluster, f"{seed}+{number}", SERVICE)
        self.states = {f"{number}-{key}": {None} for key in range(KEYS + SPARE)}
        # Those of the requests that were not answered, which may still happen behind a read: see `state.py`.
        self.late = {key: set() for key in self.states}
        self.version = self.acknowledged = self.unanswered = self.reads = 0
        self.failure, self.is_stopped = None, False

    def fill(self):
        """Puts its first vectors, before anything is killed."""
        for keys in pieces(list(self.states)[:KEYS], PUT):
            while not self.put(keys):
                pass

    def run(self):
        try:
            while not self.is_stopped:
                keys = self.random.sample(list(self.states), self.random.choice([1, 5, 20]))
                try:
                    self.random.choices([self.put, self.delete, self.get], [45, 20, 35])[0](keys)
                except NotSent:
                    continue
        except Exception as failure:  # noqa: BLE001, told by the test
            self.failure = failure

    def put(self, keys):
        self.version += 1
        return self.change(keys, self.version, "PutVectors", vectors=[vector(key, self.version) for key in keys])

    def delete(self, keys):
        return self.change(keys, None, "DeleteVectors", keys=keys)

    def change(self, changed, version, operation, **parameters):
        """Makes a change. `False` if it is not known whether it happened."""
        try:
            self.servers.call(operation, **INDEX, **parameters)
        except Refused as refused:
            # 429: changes of others came between for too long, as on a busy machine. SDKs send it again.
            if refused.status not in UNKNOWN | {429}:
                raise
        except NotSent:
            raise
        except OSError:
            pass
        else:
            self.acknowledged += 1
            self.states |= {key: {version} for key in changed}
            self.late |= {key: set() for key in changed}
            return True
        self.unanswered += 1
        self.states |= {key: self.states[key] | {version} for key in changed}
        self.late |= {key: self.late[key] | {version} for key in changed}
        return False

    def get(self, keys):
        """Reads at a server of its own choice what was acknowledged by another one."""
        try:
            found = versions_of(self.servers.call, keys)
        except Refused as refused:
            if refused.status not in UNKNOWN:
                raise
        except NotSent:
            raise
        except OSError:
            pass
        else:
            self.reads += 1
            for key in keys:
                self.states[key] = {seen(key, self.states[key], found.get(key), "a read")} | self.late[key]


def seen(key, states, version, what):
    if version not in states:
        raise Found(f"{what} saw version {version} of {key}, which may have {states}")
    return version


def settle(cluster, states):
    """Reads all keys at all servers. Returns the versions that there are."""
    there = None
    for server in cluster.servers:
        call = server.client(SERVICE).call
        found = versions_of(call, list(states))
        for key, versions in states.items():
            seen(key, versions, found.get(key), server.name)
        listed, after = set(), {}
        while True:
            page = call("ListVectors", **INDEX, maxResults=1000, **after)
            listed |= {it["key"] for it in page["vectors"]}
            if not page.get("nextToken"):
                break
            after = {"nextToken": page["nextToken"]}
        if listed != set(found):
            raise Found(f"{server.name} lists {len(listed)} vectors, and has {len(found)}")
        if there not in (None, found):
            raise Found(f"{server.name} has other vectors than another server")
        there = found
    return there


def unit(values):
    length = math.sqrt(sum(map(operator.mul, values, values)))
    return [value / length for value in values]


def nearest(query, units):
    """The keys with the least cosine distances, by a look at all."""
    direction = unit(query)
    return sorted(units, key=lambda key: -sum(map(operator.mul, direction, units[key])))[:NEAREST]


def results(call, question):
    """Keys, and their distances or scores without the last digits, which differ by the order of sums."""
    is_text = "queryTexts" in question
    answer = call("QueryVectors", **INDEX, topK=NEAREST, returnDistance=not is_text, returnScores=is_text, **question)
    return [(it["key"], round(it["scores"]["bm25Scores"][0]["score"] if is_text else it["distance"], 5))
            for it in answer["vectors"]]


def ranking(answer):
    """The distances or scores, and the keys with each but the last: of several that are equal any may be there."""
    values = [value for _, value in answer]
    return values, {(key, value) for key, value in answer if value != values[-1]}


def questions(random_):
    """Each with a name and its parameters."""
    for number in range(QUERIES):
        query = {"float32": elements("query", random_.random())}
        yield "plain", {"queryVector": query}
        group = number % GROUPS
        yield "filter", {"queryVector": query, "filter": {"group": group}}
        yield "filter", {"queryVector": query, "filter": {"$and": [{"group": {"$ne": group}}, {"version": {"$gt": 3}}]}}
        text = [{"metadataKey": "text", "text": " ".join(random_.sample(WORDS, 2))}]
        yield "text", {"queryTexts": text, "filter": {"group": group}}


def compare(servers, single, there, random_):
    """Asks all servers and the single one the same. Returns the recall of each; the single one is the last."""
    units = {key: unit(elements(key, version)) for key, version in there.items()}
    hits, asked = [0] * (len(servers) + 1), 0
    counts = {"plain": 0, "filter": 0, "text": 0}
    for name, question in questions(random_):
        answers = [results(call, question) for call in [*servers, single]]
        counts[name] += 1
        if name == "plain":
            exact = set(nearest(question["queryVector"]["float32"], units))
            asked += NEAREST
            hits = [before + len(exact & {key for key, _ in answer}) for before, answer in zip(hits, answers)]
        elif any(ranking(answer) != ranking(answers[-1]) for answer in answers):
            raise Found(f"{json.dumps(question)[-200:]}: {answers}")
        elif len(answers[-1]) < NEAREST:
            raise Found(f"too few were found for {question}: {answers[-1]}")
    return [hit / asked for hit in hits], counts


def run(cluster, seconds, seed):
    create(cluster.servers[0].client(SERVICE))
    writers = [Writer(cluster, number, seed) for number in range(WRITERS)]
    for writer in writers:
        writer.fill()
    print(f"{WRITERS * KEYS} vectors of {DIMENSION} elements are there", flush=True)
    killer = Killer(cluster, random.Random(seed))
    for writer in writers:
        writer.start()
    killer.kill_for(seconds)
    for writer in writers:
        writer.is_stopped = True
    for writer in writers:
        writer.join(180)
        assert not writer.is_alive(), "a writer hangs"
        if writer.failure is not None:
            raise writer.failure
    print(f"{killer.servers} kills of servers, {killer.databases} of PostgreSQL; "
          f"{sum(writer.acknowledged for writer in writers)} acknowledged requests, "
          f"{sum(writer.unanswered for writer in writers)} without an answer, "
          f"{sum(writer.reads for writer in writers)} reads by any server", flush=True)
    there = settle(cluster, {key: states for writer in writers for key, states in writer.states.items()})
    print(f"each server has the same {len(there)} vectors", flush=True)
    with OnDirectory(f"{cluster.directory}/single", cluster.key, service=SERVICE) as single:
        create(single)
        for some in pieces(list(there.items()), PUT):
            single.call("PutVectors", **INDEX, vectors=[vector(key, version) for key, version in some])
        servers = [server.client(SERVICE).call for server in cluster.servers]
        recalls, counts = compare(servers, single.call, there, random.Random(seed))
    told = ", ".join(f"{recall:.3f}" for recall in recalls[:-1])
    print(f"recall of the nearest {NEAREST}: {told}; of a single server: {recalls[-1]:.3f}")
    print(f"the same answers to {counts['filter']} queries with filters, and {counts['text']} with texts")
    if min(recalls[:-1]) < recalls[-1] - RECALL_SLACK:
        raise Found("the recall of a server is below that of a single one")


def main():
    seconds = float(sys.argv[1])
    seed = int(os.environ.get("LITEIO_KILL_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}, {seconds:.0f} s", flush=True)
    cluster = Cluster()
    with_cluster(cluster, lambda: run(cluster, seconds, seed))


if __name__ == "__main__":
    main()
