"""What servers tell once a failover has lost commits that they had acknowledged."""

import json
import re
import urllib.request

import pytest

from postgres import until
from servers import Cluster, Refused

BUCKET = "lost"
WRITES = 30


@pytest.fixture
def cluster():
    cluster = Cluster(servers=1, standby="async")
    yield cluster
    cluster.remove()


def ready(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/_liteio/health/ready", timeout=60) as answer:
        return json.load(answer)


def writes(server):
    try:
        server.client().put(f"/{BUCKET}/behind", b"")
    except (Refused, OSError):
        return False
    return True


def test_lost_commits_are_told(cluster):
    (server,) = cluster.servers
    client = server.client()
    client.put(f"/{BUCKET}", b"")
    cluster.wait_for_standby()
    assert ready(server)["status"] == "ready"
    cluster.database.stop_sender()
    for number in range(WRITES):
        client.put(f"/{BUCKET}/{number}", b"acknowledged")
    cluster.fail_over()
    until(lambda: writes(server), "a write behind the failover")
    lost = until(lambda: server.metrics().get("liteio_cluster_commits_lost_total"), "that it notices")
    assert server.client().get(f"/{BUCKET}/{WRITES - 1}") is None, "nothing was lost"
    told = ready(server)
    assert told["status"] == "degraded", told
    assert re.search(r"has lost \d+ acknowledged commits", told["reason"]), told

    def logged():
        with open(server.log, encoding="utf-8") as log:
            return [int(number) for number in re.findall(r"the database has lost commits .*since_start=(\d+)", log.read())]

    until(lambda: logged() and logged()[-1] >= lost, "the line in the log")
