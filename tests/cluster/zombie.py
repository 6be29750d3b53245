"""zombie.py: a server that sends events, deletes bodies and writes is stopped for longer than the others wait for it. They
take over; once it goes on, nothing that it does counts any more: its commits are refused, and it sends no event twice
that another one has sent since. Then the database itself is away for as long, and all servers go on behind it.

LITEIO names the program."""

import hashlib
import http.server
import json
import re
import threading
import time
import urllib.parse

from postgres import until
from servers import Cluster, Refused, with_cluster

BUCKET = "stopped"
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
            except OSError:
                self.unknown[path] = body
                self.client.connection.close()


def run(cluster, receiver):
    stopped = cluster.servers[0]
    others = cluster.servers[1:]
    other = others[0].client()
    other.put(f"/{BUCKET}", b"")
    notify(other)
    other.put(f"/{BUCKET}/first", b"")
    until(lambda: receiver.keys() == ["first"], "the first event")
    # Whoever has the jobs is the one to stop.
    names = until(lambda: {name: jobs for name, jobs in holders(cluster).items() if "reclaim" in jobs}, "the jobs")
    stopped = next(server for server in cluster.servers if server.name in names)
    others = [server for server in cluster.servers if server is not stopped]
    other = others[0].client()
    print(f"{stopped.name} has {', '.join(names[stopped.name])}", flush=True)
    writer = Puts(stopped)
    writer.start()
    until(lambda: len(writer.acknowledged) == 20 and len(receiver.keys()) > 30, "its writes and events")
    stopped.pause()
    paused = time.monotonic()
    # The others go on with everything, its keys included.
    written = {}
    for number in range(60):
        path = f"/{BUCKET}/{'own' if number < 20 else 'others'}/{number}"
        body = hashlib.sha512(f"other {number}".encode()).digest() * (LONG_BODY // 64)
        other.put(path, body)
        written[path] = body
    until(lambda: {f"others/{number}" for number in range(20, 60)} <= set(receiver.keys()), "the events by another server")
    until(lambda: f"{stopped.name} (run" not in cluster.status() or "ended" in cluster.status(), "the end of its run", 150)
    time.sleep(max(0.0, SILENCE - (time.monotonic() - paused)))
    takers = holders(cluster)
    assert stopped.name not in takers and any("reclaim" in jobs for jobs in takers.values()), takers
    print(f"after {time.monotonic() - paused:.0f} s {takers}", flush=True)
    before = len(receiver.keys())
    stopped.resume()
    refused = writer.refused
    until(lambda: writer.refused > refused + 20, "the refusals of its writes")
    writer.is_stopped = True
    writer.join(120)
    # Nothing of it has come through: neither its write that was under way, nor events.
    for path, body in written.items():
        for server in others:
            assert server.client().get(path) == body, f"{path} is not what was written meanwhile"
    late = receiver.keys()[before:]
    assert not late, f"it has sent {late}"
    try:
        stopped.client().get(f"/{BUCKET}/first")
    except Refused as answered:
        assert answered.status == 503, answered
    else:
        raise AssertionError("it answers although its run is over")
    print(f"it has refused {writer.refused} writes since", flush=True)
    # Started again it is one of them.
    stopped.kill()
    stopped.start()
    assert stopped.client().get(f"/{BUCKET}/first") == b""
    cluster.wait_until_swept()
    count = sum(1 for key in others[0].client().keys(BUCKET) if key.startswith(("own/", "others/")))
    until(lambda: len(cluster.body_files()) == count, "the deletion of bodies")
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
    cluster = Cluster(arguments=receiver.arguments)

    def both():
        run(cluster, receiver)
        outage(cluster)

    with_cluster(cluster, both)


if __name__ == "__main__":
    main()
