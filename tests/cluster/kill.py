"""kill.py SECONDS [--in-bucket]: six writers change objects on three servers, while servers and PostgreSQL are killed and
started again at random. At the end every server has to have everything that was acknowledged, and the place of bodies
exactly what records name.

With --in-bucket the bodies are in a bucket of another LiteIO, which is killed and started again as well. Otherwise
they are in a directory.

LITEIO names the program. LITEIO_KILL_SEED repeats the choices of a run."""

import os
import random
import re
import sys
import time

from postgres import until
from servers import Bucket, Cluster, with_cluster
from state import BUCKET, Found, Shared, Writer, digest

WRITERS = 6
# Largest body that is kept in its record, in bytes: `CLUSTER_INLINE_BYTES_MAX` of crates/store.
INLINE_BYTES = 4 << 10


class Killer:
    """Kills one process after another, and starts it again."""

    def __init__(self, cluster, random_):
        self.cluster, self.random = cluster, random_
        self.servers = self.databases = self.buckets = 0

    def kill_for(self, seconds):
        end = time.time() + seconds
        while time.time() < end:
            time.sleep(self.random.uniform(0.3, 3.0))
            chance = self.random.random()
            if isinstance(self.cluster.bodies, Bucket) and chance >= 0.8:
                self.buckets += 1
                self.cluster.bodies.kill()
                time.sleep(self.random.choice([0, 0, 0.5, 3.0]))
                self.cluster.bodies.start()
            elif chance < 0.3:
                self.databases += 1
                self.cluster.database.kill()
                time.sleep(self.random.choice([0, 0, 0.5, 3.0]))
                self.cluster.database.start()
            else:
                # Two of three at most, so that somebody goes on.
                for server in self.random.sample(self.cluster.servers, self.random.choice([1, 1, 2])):
                    self.servers += 1
                    server.kill()
                    time.sleep(self.random.choice([0, 0, 1.0]))
                    server.start()


def check_states(cluster, expected):
    """Compares what each server reads and lists with what the keys may have. Returns the bodies."""
    read = {}
    for server in cluster.servers:
        client = server.client()
        listed = {f"/{BUCKET}/{key}" for key in client.keys(BUCKET)}
        for path, states in expected.items():
            body = client.get(path)
            state = None if body is None else digest(body)
            if state not in states:
                raise Found(f"{server.name} has {state} at {path}, which may have {states}")
            if (path in listed) != (body is not None):
                raise Found(f"{server.name} lists {path}: {path in listed}, and reads {state}")
            if read.setdefault(path, body) != body:
                raise Found(f"{server.name} reads another body of {path} than another server")
        if not listed <= set(expected):
            raise Found(f"{server.name} lists {sorted(listed - set(expected))}, which nobody wrote")
    return {path: body for path, body in read.items() if body is not None}


def abort_uploads(cluster):
    """Ends the uploads whose writers were not answered."""
    client, ended = cluster.servers[0].client(), 0
    while True:
        _, page = client.request("GET", f"/{BUCKET}", [("uploads", "")])
        uploads = re.findall(rb"<Upload>.*?<Key>(.+?)</Key>.*?<UploadId>(.+?)</UploadId>", page, re.DOTALL)
        if not uploads:
            return ended
        for key, name in uploads:
            client.request("DELETE", f"/{BUCKET}/{key.decode()}", [("uploadId", name.decode())])
            ended += 1


def check_bodies(cluster, bodies):
    """The place of bodies has those that records name, once those of former records are deleted."""
    expected = sum(len(body) > INLINE_BYTES for body in bodies.values())
    begun = time.time()
    try:
        until(lambda: len(cluster.bodies.names()) == expected, "the deletion of bodies")
    except AssertionError as late:
        raise Found(f"there are {len(cluster.bodies.names())} bodies, and {expected} records with one") from late
    return expected, time.time() - begun


def run(cluster, seconds, seed):
    cluster.servers[0].client().put(f"/{BUCKET}", b"")
    shared = Shared()
    writers = [Writer(cluster, number, shared, seed) for number in range(WRITERS)]
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
    acknowledged = sum(writer.acknowledged for writer in writers)
    print(f"{killer.servers} kills of servers, {killer.databases} of PostgreSQL, {killer.buckets} of the bucket of bodies; "
          f"{acknowledged} acknowledged writes, "
          f"{sum(writer.unanswered for writer in writers)} without an answer, "
          f"{sum(writer.refused for writer in writers)} conditions not met, {len(shared.keys)} keys created by several",
          flush=True)
    expected = {path: shared.states(path) for path in shared.keys}
    for writer in writers:
        expected |= writer.states
    check_states(cluster, expected)
    begun = time.time()
    cluster.wait_until_swept()
    print(f"all runs that were killed are swept after {time.time() - begun:.0f} s", flush=True)
    print(f"{abort_uploads(cluster)} uploads ended")
    bodies = check_states(cluster, expected)
    count, waited = check_bodies(cluster, bodies)
    print(f"{count} bodies of {len(bodies)} objects, after {waited:.0f} s more")
    checked = cluster.command("check")
    print(checked.strip())
    if ", 0 damaged, 0 bodies that no record names" not in checked:
        raise Found(checked)


def main():
    seconds = float(sys.argv[1])
    seed = int(os.environ.get("LITEIO_KILL_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}, {seconds:.0f} s", flush=True)
    cluster = Cluster(in_bucket="--in-bucket" in sys.argv[2:])
    with_cluster(cluster, lambda: run(cluster, seconds, seed))


if __name__ == "__main__":
    main()
