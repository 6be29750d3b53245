"""The states that keys may have, by what their writers did and were told: the last acknowledged one, and those of the
writes behind it that were not answered. The commit of a server that was killed may be under way in the database, so such a
write may still happen after a read that has not seen it: until the next acknowledged write, which it would conflict with."""

import hashlib
import random
import re
import threading
import time
from http.client import HTTPException

from servers import Client, Refused

BUCKET = "killed"
# Of each writer: few, so that most writes replace or delete something.
KEYS = 40
BYTES = (100, 300_000)
# Answers of a server that does not know whether a write happened, or did nothing.
UNKNOWN = {500, 503}


def digest(body):
    """The ETag of a body that was put in one request."""
    return f'"{hashlib.md5(body).hexdigest()}"'


def digest_of_part(body):
    """The ETag of a body that was put as the one part of an upload."""
    return f'"{hashlib.md5(hashlib.md5(body).digest()).hexdigest()}-1"'


class NotSent(Exception):
    """A request to a server that does not run."""


class Connections:
    """Requests of one writer, each to another server. One that ends without an answer raises `OSError`."""

    def __init__(self, cluster, seed, service="s3"):
        self.cluster, self.random, self.open = cluster, random.Random(seed), {}
        self.service = service

    def ask(self, *request, **more):
        """The headers and the body of an answer."""
        return self.by(Client.request, *request, **more)

    def call(self, operation, **parameters):
        """The document of an answer."""
        return self.by(Client.call, operation, **parameters)

    def by(self, method, *request, **more):
        server = self.random.choice(self.cluster.servers)
        client = self.open.get(server.name)
        if client is None or client.port != server.port:
            client = Client(server.port, self.service)
            client.port = server.port
            self.open[server.name] = client
        try:
            return method(client, *request, **more)
        except ConnectionRefusedError as error:
            time.sleep(0.02)
            raise NotSent from error
        except (OSError, HTTPException) as error:
            client.connection.close()
            del self.open[server.name]
            raise OSError(f"no answer: {error}") from error


class Found(AssertionError):
    """A state of a key that it cannot have."""


class Writer(threading.Thread):
    """Changes its own keys one after another, on all servers, and knows which states each may have. `None` is the state of a
    key without an object."""

    def __init__(self, cluster, number, shared, seed):
        super().__init__(daemon=True)
        self.number, self.shared = number, shared
        self.random, self.servers = random.Random(f"{seed}-{number}"), Connections(cluster, f"{seed}+{number}")
        self.states = {f"/{BUCKET}/{number}/{key}": {None} for key in range(KEYS)}
        # Those of the writes that were not answered.
        self.late = {path: set() for path in self.states}
        # Of bodies in parts, by the digests of the bodies.
        self.tags = {}
        self.acknowledged = self.unanswered = self.refused = 0
        self.failure, self.is_stopped = None, False

    def run(self):
        try:
            while not self.is_stopped:
                action = self.random.choices(
                    [self.put, self.put_in_parts, self.delete, self.put_if, self.get, self.list, self.create],
                    [40, 5, 15, 12, 12, 6, 10])[0]
                try:
                    action(self.random.choice(list(self.states)))
                except NotSent:
                    # Nothing has changed, whichever part of the action it was.
                    continue
        except Exception as failure:  # noqa: BLE001, told by the test
            self.failure = failure

    def body(self):
        # Most are short; all differ, so that each write is another state.
        most = BYTES[1] if self.random.random() < 0.3 else 20_000
        return self.random.randbytes(self.random.randint(BYTES[0], most))

    def change(self, path, state, request, refusals=()):
        """Makes a change. Returns the status of a refusal that is expected; -1 without an answer."""
        try:
            answer = request()
        except Refused as refused:
            if refused.status in refusals:
                self.refused += 1
                return refused.status
            if refused.status not in UNKNOWN:
                raise
        except OSError:
            pass
        else:
            self.acknowledged += 1
            self.states[path], self.late[path] = {state}, set()
            return answer and 200
        self.unanswered += 1
        self.late[path].add(state)
        self.states[path] = self.states[path] | {state}
        return -1

    def put(self, path):
        body = self.body()
        self.change(path, digest(body), lambda: self.servers.ask("PUT", path, body=body))

    def put_in_parts(self, path):
        body = self.body()
        self.tags[digest(body)] = digest_of_part(body)

        def upload():
            _, begun = self.servers.ask("POST", path, [("uploads", "")])
            name = re.search(rb"<UploadId>(.+?)</UploadId>", begun)[1].decode()
            headers, _ = self.servers.ask("PUT", path, [("partNumber", "1"), ("uploadId", name)], body)
            document = (f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{headers['ETag']}</ETag></Part>"
                        "</CompleteMultipartUpload>")
            _, done = self.servers.ask("POST", path, [("uploadId", name)], document.encode())
            # An error may come behind the status.
            if b"<CompleteMultipartUploadResult" not in done:
                raise Refused(503, done)
        self.change(path, digest(body), upload)

    def delete(self, path):
        self.change(path, None, lambda: self.servers.ask("DELETE", path))

    def put_if(self, path):
        """Replaces what the key has, if it is known; or what it has not."""
        state = self.random.choice(list(self.states[path]))
        wanted = state if self.random.random() < 0.8 else digest(b"what no key has")
        condition = {"If-None-Match": "*"} if wanted is None else {"If-Match": self.tags.get(wanted, wanted)}
        body, before = self.body(), self.states[path]
        status = self.change(path, digest(body),
                             lambda: self.servers.ask("PUT", path, body=body, headers=condition), (404, 409, 412))
        if status in (404, 412):
            self.narrow(path, {it for it in before if not fits(wanted, it)},
                        f"refused {condition} with {status}, and it was {before}")
        elif status == 200:
            self.check(path, {it for it in before if fits(wanted, it)}, f"took {condition}, and it was {before}")

    def get(self, path):
        try:
            _, body = self.servers.ask("GET", path)
        except Refused as refused:
            if refused.status in UNKNOWN:
                return
            if refused.status != 404:
                raise
            self.saw(path, None, "a read")
        except OSError:
            return
        else:
            self.saw(path, digest(body), "a read")

    def list(self, _path):
        """Lists its keys, which fit into one page."""
        try:
            _, page = self.servers.ask("GET", f"/{BUCKET}", [("list-type", "2"), ("prefix", f"{self.number}/")])
        except Refused as refused:
            if refused.status not in UNKNOWN:
                raise
            return
        except OSError:
            return
        listed = {f"/{BUCKET}/{key.decode()}" for key in re.findall(rb"<Key>(.+?)</Key>", page)}
        for path, states in self.states.items():
            kept = {it for it in states if (it is not None) == (path in listed)}
            self.narrow(path, kept, f"a list had it: {path in listed}, and it was {states}")

    def create(self, _path):
        """Creates a key that other writers create as well."""
        path, body = self.shared.next(), self.body()
        try:
            self.servers.ask("PUT", path, body=body, headers={"If-None-Match": "*"})
        except Refused as refused:
            if refused.status not in UNKNOWN | {409, 412}:
                raise
            self.shared.told(path, digest(body), {412: "lost", 409: "conflict"}.get(refused.status, "unknown"))
        except OSError:
            self.shared.told(path, digest(body), "unknown")
        else:
            self.acknowledged += 1
            self.shared.told(path, digest(body), "won")

    def saw(self, path, state, what):
        self.narrow(path, self.states[path] & {state}, f"{what} saw {state}, and it was {self.states[path]}")

    def narrow(self, path, states, what):
        """Notes what was seen: one of these states."""
        self.check(path, states, what)
        self.states[path] = states | self.late[path]

    @staticmethod
    def check(path, states, what):
        if not states:
            raise Found(f"{path}: {what}")


def fits(wanted, state):
    """`True` if a condition that wants one state meets it in another."""
    return wanted == state


class Shared:
    """Keys that several writers create at a time, and never change."""

    def __init__(self):
        self.lock, self.keys, self.tries = threading.Lock(), {}, 0

    def next(self):
        """The key of the next try. Six tries have the same."""
        with self.lock:
            self.tries += 1
            return f"/{BUCKET}/created/{self.tries // 6}"

    def told(self, path, state, outcome):
        with self.lock:
            self.keys.setdefault(path, []).append((state, outcome))

    def states(self, path):
        """The states that the key may have."""
        tries = self.keys[path]
        won = {state for state, outcome in tries if outcome == "won"}
        if len(won) > 1:
            raise Found(f"{path} has {len(won)} winners")
        if won:
            return won
        states = {state for state, outcome in tries if outcome == "unknown"}
        # Nobody is told that a key is taken that nobody has.
        return states if any(outcome == "lost" for _, outcome in tries) else states | {None}
