"""zombie.py: a server that sends events, deletes bodies, expires objects and writes is stopped for longer than the others
wait for it. They take over; once it goes on, nothing that it does counts any more: its commits are refused, it sends
no event twice that another one has sent since, and it ends itself. Then the database itself is away for as long, and
all servers go on behind it.

LITEIO names the program."""

import base64
import hashlib
import http.server
import json
import re
import threading
import time
import urllib.parse
from http.client import HTTPException

from postgres import until
from servers import Cluster, Refused, with_cluster

BUCKET, EXPIRED = "stopped", "expired"
OBJECTS = 1500
# Of the server that is stopped.
JOBS = {"reclaim", "events hook", "lifecycle"}
# Seconds after its last beat at which others have ended the run of a server, and have taken over its jobs.
SILENCE = 75
LONG_BODY = 50_000


class Receiver(http.server.ThreadingHTTPServer):
    """A webhook that remembers the keys of all events."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.events = threading.Lock(), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def arguments(self):
        return "--webhook", f"hook=http://127.0.0.1:{self.server_address[1]}/"

    def keys(self):
        with self.lock:
            return list(self.events)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # noqa: N802, the name of the base class
        body = self.rfile.read(int(self.headers["Content-Length"]))
        for record in json.loads(body).get("Records", []):
            key = urllib.parse.unquote_plus(record["s3"]["object"]["key"])
            with self.server.lock:
                self.server.events.append(key)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def notify(client):
    configuration = ("<NotificationConfiguration><QueueConfiguration><Id>all</Id><Queue>arn:aws:sqs:us-east-1:000000000000:hook"
                     "</Queue><Event>s3:ObjectCreated:*</Event></QueueConfiguration></NotificationConfiguration>")
    client.request("PUT", f"/{BUCKET}", [("notification", "")], configuration.encode())


def holders(cluster):
    """The servers that have jobs, by their names: a list of the jobs of each."""
    found = {}
    for job, name in re.findall(r"^(\S[^:\n]*): (server-\d+), term \d+$", cluster.status(), re.MULTILINE):
        found.setdefault(name, []).append(job)
    return found


class Puts(threading.Thread):
    """Puts and replaces objects at the server that will be stopped, until it is told to end."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.client, self.acknowledged, self.unknown = server.client(), {}, {}
        self.is_stopped, self.refused = False, 0

    def run(self):
        number = 0
        while not self.is_stopped:
            number += 1
            path, body = f"/{BUCKET}/own/{number % 20}", hashlib.sha512(str(number).encode()).digest() * (LONG_BODY // 64)
            try:
                self.client.put(path, body)
                self.acknowledged[path] = body
                self.unknown.pop(path, None)
            except Refused as refused:
                assert refused.status == 503, refused
                self.refused += 1
                time.sleep(0.05)
            except (OSError, HTTPException):
                self.unknown[path] = body
                self.client.connection.close()
                time.sleep(0.05)


def expire(client, state):
    """Lets everything in the bucket of expired objects expire, or nothing."""
    if not state:
        client.request("DELETE", f"/{EXPIRED}", [("lifecycle", "")])
        return
    rule = ("<LifecycleConfiguration><Rule><ID>all</ID><Filter/><Status>Enabled</Status>"
            "<Expiration><Date>2020-01-01T00:00:00Z</Date></Expiration></Rule></LifecycleConfiguration>").encode()
    # Required for this operation.
    digest = base64.b64encode(hashlib.md5(rule).digest()).decode()
    client.request("PUT", f"/{EXPIRED}", [("lifecycle", "")], rule, {"Content-MD5": digest})


def put_expired(client):
    for number in range(OBJECTS):
        client.put(f"/{EXPIRED}/{number:04}", b"an object")


def run(cluster, receiver):
    # Alone it gets all jobs.
    stopped = cluster.servers[0]
    client = stopped.client()
    for bucket in (BUCKET, EXPIRED):
        client.put(f"/{bucket}", b"")
    notify(client)
    client.put(f"/{BUCKET}/first", b"")
    put_expired(client)
    until(lambda: receiver.keys() == ["first"], "the first event")
    until(lambda: JOBS <= set(holders(cluster).get(stopped.name, [])), "the jobs")
    cluster.start_servers(2, cluster.servers[0].arguments)
    others = cluster.servers[1:]
    other = others[0].client()
    writer = Puts(stopped)
    writer.start()
    until(lambda: len(writer.acknowledged) == 20 and len(receiver.keys()) > 30, "its writes and events")
    expire(other, True)
    # In the middle of all of it.
    until(lambda: len(other.keys(EXPIRED)) < OBJECTS, "the first expirations")
    stopped.pause()
    paused = time.monotonic()
    left = len(other.keys(EXPIRED))
    print(f"{stopped.name} is stopped with {', '.join(sorted(JOBS))}, and {left} of {OBJECTS} objects to expire", flush=True)
    assert left > 0, "it was faster"
    # The others go on with everything, its keys included.
    written = {}
    for number in range(60):
        path = f"/{BUCKET}/{'own' if number < 20 else 'others'}/{number}"
        body = hashlib.sha512(f"other {number}".encode()).digest() * (LONG_BODY // 64)
        other.put(path, body)
        written[path] = body
    until(lambda: {f"others/{number}" for number in range(20, 60)} <= set(receiver.keys()), "the events by another server")
    until(lambda: not other.keys(EXPIRED), "the expirations by another server", 200)
    # What it would expire is there again, and stays from now on.
    expire(other, False)
    put_expired(other)
    until(lambda: f"{stopped.name} (run" not in cluster.status() or "ended" in cluster.status(), "the end of its run", 150)
    time.sleep(max(0.0, SILENCE - (time.monotonic() - paused)))
    takers = holders(cluster)
    assert stopped.name not in takers and JOBS <= {job for jobs in takers.values() for job in jobs}, takers
    print(f"after {time.monotonic() - paused:.0f} s {takers}", flush=True)
    before = len(receiver.keys())
    stopped.resume()
    # It hears that the others have ended it, and ends itself, so that it is started again.
    assert stopped.process.wait(60) == 1
    assert stopped.told("the others have ended it. Start it again.")
    writer.is_stopped = True
    writer.join(120)
    # Nothing of it has come through: neither its write that was under way, nor events, nor expirations.
    for path, body in written.items():
        for server in others:
            assert server.client().get(path) == body, f"{path} is not what was written meanwhile"
    late = receiver.keys()[before:]
    assert not late, f"it has sent {late}"
    assert len(other.keys(EXPIRED)) == OBJECTS, "it has expired objects that are not its own"
    print(f"{stopped.name} has ended itself", flush=True)
    stopped.process.stdout.close()
    stopped.start()
    assert stopped.client().get(f"/{BUCKET}/first") == b""
    cluster.wait_until_swept()
    count = sum(1 for key in others[0].client().keys(BUCKET) if key.startswith(("own/", "others/")))
    until(lambda: len(cluster.bodies.names()) == count, "the deletion of bodies")
    checked = cluster.command("check")
    print(checked.strip())
    assert ", 0 damaged, 0 bodies that no record names" in checked


def outage(cluster):
    """The database is away for longer than a server may be silent: no server ends another one for that."""
    cluster.database.kill()
    time.sleep(SILENCE)
    cluster.database.start()
    begun = time.monotonic()

    def takes(server):
        try:
            server.client().put(f"/{BUCKET}/after", server.name.encode())
        except (Refused, OSError):
            return False
        return True

    for server in cluster.servers:
        until(lambda server=server: takes(server), f"{server.name} after the outage", 60)
    print(f"all take writes {time.monotonic() - begun:.0f} s after an outage of the database", flush=True)
    # And stay.
    time.sleep(20)
    assert all(takes(server) for server in cluster.servers), "a server was ended after the outage"
    assert "ended" not in cluster.status(), cluster.status()


def main():
    receiver = Receiver()
    # A day of lifecycles has 40 seconds.
    cluster = Cluster(servers=1, arguments=(*receiver.arguments, "--lifecycle-day", "40"))

    def both():
        run(cluster, receiver)
        outage(cluster)

    with_cluster(cluster, both)


if __name__ == "__main__":
    main()
