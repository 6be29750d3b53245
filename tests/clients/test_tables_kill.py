"""The Iceberg catalog through `kill -9`: all tables of a commit change, or none, and a purge that was told is finished."""

import http.client
import json
import os
import random
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import ACCESS_KEY, KILLS, SECRET_KEY, Server, client

TABLES = ("orders", "items", "payments")
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": True}]}


class Catalog:
    """The REST catalog of the bucket `lake`, by plain requests: PyIceberg has no commit over several tables."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        form = {"grant_type": "client_credentials", "client_id": ACCESS_KEY, "client_secret": SECRET_KEY}
        self.token = None
        self.token = self.send("POST", "oauth/tokens", urllib.parse.urlencode(form).encode())["access_token"]

    def send(self, method, path, body=None, key=None):
        request = urllib.request.Request(f"{self.endpoint}/_iceberg/v1/{path}", method=method)
        if key:
            request.add_header("idempotency-key", key)
        if isinstance(body, dict):
            body = json.dumps(body).encode()
            request.add_header("content-type", "application/json")
        if self.token:
            request.add_header("authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, data=body, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def commit(self, round):
        """Sets the property `round` of all tables in one commit, which has a key."""
        key = f"017f22e2-79b0-7cc3-98c4-{round:012x}"
        self.send("POST", "lake/transactions/commit", {"table-changes": [
            {"identifier": {"namespace": ["sales"], "name": name}, "requirements": [],
             "updates": [{"action": "set-properties", "updates": {"round": str(round)}}]}
            for name in TABLES]}, key)

    def load(self, name):
        return self.send("GET", f"lake/namespaces/sales/tables/{name}")


def commit_until_killed(catalog, first, state, busy):
    for round in range(first, first + 100_000):
        state["sent"] = round
        try:
            catalog.commit(round)
        except (OSError, http.client.HTTPException):
            return
        state["acknowledged"] = round
        if round > first + 1:
            busy.set()


@pytest.mark.parametrize("arguments", [(), ("--durability", "os")], ids=["fsync", "os"])
def test_a_commit_over_several_tables_is_whole_or_not_there_after_kill_9(tmp_path, arguments):
    if Server.TLS:
        pytest.skip("the requests of this test know no certificate")
    started = ("--data-dir", str(tmp_path / "data"), *arguments)
    server = Server(*started)
    client(server.endpoint).create_bucket(Bucket="lake")
    catalog = Catalog(server.endpoint)
    catalog.send("POST", "lake/namespaces", {"namespace": ["sales"]})
    for name in TABLES:
        catalog.send("POST", "lake/namespaces/sales/tables", {"name": name, "schema": SCHEMA})
    state = {"sent": 0, "acknowledged": 0}
    catalog.commit(0)
    for _ in range(KILLS):
        before = state["acknowledged"]
        busy = threading.Event()
        worker = threading.Thread(target=commit_until_killed, args=(catalog, before + 1, state, busy))
        worker.start()
        assert busy.wait(60), "no commit succeeds"
        # Somewhere within a commit.
        threading.Event().wait(random.random() / 20)
        server.kill()
        worker.join()
        server = Server(*started)
        catalog, s3 = Catalog(server.endpoint), client(server.endpoint)
        loaded = [catalog.load(name) for name in TABLES]
        rounds = {table["metadata"]["properties"]["round"] for table in loaded}
        assert len(rounds) == 1, f"{rounds}: a commit is half there"
        found = int(rounds.pop())
        assert state["acknowledged"] <= found <= state["sent"], (found, state)
        for table in loaded:
            bucket, key = table["metadata-location"].removeprefix("s3://").split("/", 1)
            file = json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
            assert file["table-uuid"] == table["metadata"]["table-uuid"]
            assert file["properties"]["round"] == str(found)
        # The client knows nothing of the commit whose answer is lost, and sends it again. None is made twice.
        catalog.commit(state["sent"])
        for name in TABLES:
            table = catalog.load(name)
            assert table["metadata"]["properties"]["round"] == str(state["sent"])
            version = int(table["metadata-location"].rsplit("/", 1)[1].split("-", 1)[0])
            assert version == state["sent"] + 1, table["metadata-location"]
        state["acknowledged"] = state["sent"]
    server.stop()
    subprocess.run([os.environ["LITEIO"], "verify", "--data-dir", str(tmp_path / "data")], check=True, stdout=subprocess.DEVNULL)


def purge_until_killed(catalog, path, key):
    try:
        catalog.send("DELETE", path, key=key)
    except (OSError, http.client.HTTPException):
        pass


def wait_until_dropped(catalog, name):
    while True:
        try:
            catalog.load(name)
        except urllib.error.HTTPError as error:
            assert error.code == 404
            return


def test_a_purge_is_finished_after_kill_9(tmp_path):
    """The table goes first, then its files. Its client is told of success when it asks again, so the rest must go, too."""
    if Server.TLS:
        pytest.skip("the requests of this test know no certificate")
    files, rounds = 2500, 10
    started = ("--data-dir", str(tmp_path / "data"), "--test-api=local")
    server = Server(*started)
    catalog, s3 = Catalog(server.endpoint), client(server.endpoint)
    s3.create_bucket(Bucket="lake")
    catalog.send("POST", "lake/namespaces", {"namespace": ["sales"]})

    def keys(prefix):
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket="lake", Prefix=prefix)
        return [it["Key"] for page in pages for it in page.get("Contents", [])]

    for round in range(rounds):
        name, key = f"t{round}", f"017f22e2-79b0-7cc3-98c4-{round:012x}"
        table = catalog.send("POST", "lake/namespaces/sales/tables", {"name": name, "schema": SCHEMA})
        prefix = table["metadata"]["location"].removeprefix("s3://lake/") + "/"
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda number: s3.put_object(Bucket="lake", Key=f"{prefix}data/{number}", Body=b"x"),
                          range(files)))
        path = f"lake/namespaces/sales/tables/{name}?purgeRequested=true"
        worker = threading.Thread(target=purge_until_killed, args=(catalog, path, key))
        worker.start()
        wait_until_dropped(Catalog(server.endpoint), name)
        server.kill()
        worker.join()
        server = Server(*started)
        catalog, s3 = Catalog(server.endpoint), client(server.endpoint)
        left = len(keys(prefix))
        catalog.send("DELETE", path, key=key)
        body = json.dumps({"advance_ms": 1000}).encode()
        request = urllib.request.Request(f"{server.endpoint}/_liteio/test/clock", data=body, method="PUT")
        urllib.request.urlopen(request, timeout=60).close()
        assert keys(prefix) == []
        if left > 0:
            break
    else:
        pytest.fail(f"in {rounds} rounds no kill came between the drop of a table and the last deletion")
    server.stop()
    subprocess.run([os.environ["LITEIO"], "verify", "--data-dir", str(tmp_path / "data")], check=True, stdout=subprocess.DEVNULL)
