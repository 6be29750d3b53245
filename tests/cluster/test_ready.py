"""What a server tells about itself while the database or the place of bodies is away, and once the others have ended it."""

import json
import os
import signal
import time
import urllib.error
import urllib.request
from http.client import HTTPException

import pytest

from postgres import until
from servers import IDENTITY, Cluster, Refused

BUCKET = "ready"
LONG_BODY = 64 << 20
# More than the system keeps for a connection that nobody reads.
BEGUN = 1 << 16


@pytest.fixture
def cluster():
    cluster = Cluster(servers=2)
    yield cluster
    cluster.remove()


def health(server, name):
    """The status and the document of a check; `None` without an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/_liteio/health/{name}", timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)
    except OSError:
        return None


def is_ready(server):
    told = health(server, "ready")
    return told is not None and told[0] == 200 and told[1]["status"] == "ready"


def refusal(server):
    """The reason why a server is not ready; `None` if it is, or does not answer."""
    told = health(server, "ready")
    return told[1]["reason"] if told is not None and told[0] == 503 else None


def begun_download(server):
    """An answer of which only the first bytes are read."""
    client = server.client()
    client.connection.request("GET", f"/{BUCKET}/long", headers=client._signature("GET", f"/{BUCKET}/long", ""))
    answer = client.connection.getresponse()
    assert answer.status == 200 and len(answer.read(BEGUN)) == BEGUN
    return answer


def test_a_server_without_the_database_is_not_ready_and_comes_back(cluster):
    server = cluster.servers[0]
    client = server.client()
    client.put(f"/{BUCKET}", b"")
    client.put(f"/{BUCKET}/long", bytes(LONG_BODY))
    client.put(f"/{BUCKET}/short", b"short")
    assert is_ready(server)
    download = begun_download(server)
    cluster.database.kill()
    killed = time.monotonic()
    assert "database" in until(lambda: refusal(server), "the end of its readiness", 60)
    assert time.monotonic() - killed > 5, "one failure is no outage"
    # A restart would not help.
    assert health(server, "live") == (200, {"status": "live"})
    for path in ("short", "long"):
        with pytest.raises(Refused) as refused:
            server.client().get(f"/{BUCKET}/{path}")
        assert refused.value.status == 503
    # What it may not answer any more it does not go on to send.
    with pytest.raises((HTTPException, OSError)):
        rest = download.read()
        assert len(rest) + BEGUN == LONG_BODY, "it was not cut, and is not whole"
        pytest.fail("the download was not cut")
    cluster.database.start()
    until(lambda: is_ready(server), "its readiness")
    assert server.client().get(f"/{BUCKET}/short") == b"short"
    assert len(server.client().get(f"/{BUCKET}/long")) == LONG_BODY
    assert server.told("requests are answered by 503")
    # The log is written by a look each second of its own.
    until(lambda: server.told("the database is reached again"), "a line about it in the log")


def test_a_server_without_the_bodies_is_not_ready_and_comes_back(cluster):
    server, identity = cluster.servers[0], f"{cluster.bodies.path}/{IDENTITY}"
    assert is_ready(server)
    # As where a directory is not mounted any more.
    os.rename(identity, f"{cluster.directory}/{IDENTITY}")
    assert "identity" in until(lambda: refusal(server), "the end of its readiness")
    assert health(server, "live")[0] == 200
    os.rename(f"{cluster.directory}/{IDENTITY}", identity)
    until(lambda: is_ready(server), "its readiness")


def test_a_server_that_the_others_have_ended_ends_itself(cluster):
    stopped, other = cluster.servers
    stopped.pause()
    until(lambda: "ended" in cluster.status() or stopped.name not in cluster.status(), "the end of its run", 150)
    stopped.process.send_signal(signal.SIGCONT)
    assert stopped.process.wait(60) == 1
    with open(stopped.log, encoding="utf-8") as log:
        last = log.read().splitlines()[-1]
    assert last.startswith("liteio: ") and "the others have ended it. Start it again." in last, last
    stopped.process.stdout.close()
    stopped.start()
    until(lambda: is_ready(stopped) and is_ready(other), "the readiness of both")
