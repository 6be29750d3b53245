"""Maintenance of tables by PyIceberg's eyes: snapshots expire, files that nothing names go, and what is read stays."""

import http.client
import json
import os
import random
import subprocess
import threading
import urllib.parse
import uuid

import boto3
import pyarrow as pa
import pytest
from botocore.config import Config
from pyiceberg.catalog.rest import RestCatalog

from conftest import ACCESS_KEY, KILLS, SECRET_KEY, Server

KEYS = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY, "region_name": "us-east-1"}
ROWS = pa.schema([pa.field("id", pa.int64()), pa.field("note", pa.string())])
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SNAPSHOTS = {"status": "enabled", "settings": {
    "icebergSnapshotManagement": {"minSnapshotsToKeep": 1, "maxSnapshotAgeHours": 1}}}
REMOVAL = {"status": "enabled", "settings": {
    "icebergUnreferencedFileRemoval": {"unreferencedDays": 1, "nonCurrentDays": 1}}}


def rows(*pairs):
    return pa.Table.from_pylist([{"id": key, "note": note} for key, note in pairs], schema=ROWS)


class Lake:
    """A table bucket with the namespace `n`, on a server whose clock can be moved."""

    def __init__(self, server):
        self.connect(server)
        self.bucket = f"lake-{uuid.uuid4().hex[:16]}"
        self.arn = self.tables.create_table_bucket(name=self.bucket)["arn"]
        self.tables.create_namespace(tableBucketARN=self.arn, namespace=["n"])
        self.tables.put_table_bucket_maintenance_configuration(
            tableBucketARN=self.arn, type="icebergUnreferencedFileRemoval", value=REMOVAL)

    def connect(self, server):
        self.server = server
        # The clock of the server runs ahead of that of the signer.
        config = Config(retries={"total_max_attempts": 1})
        client = lambda service: boto3.client(service, endpoint_url=server.endpoint, config=config, **KEYS)
        self.s3, self.tables = client("s3"), client("s3tables")

    def of(self, name):
        return {"tableBucketARN": self.arn, "namespace": "n", "name": name}

    def catalog(self, **properties):
        """A new client: a token of an earlier day is over."""
        return RestCatalog("liteio", **{
            "uri": f"{self.server.endpoint}/_iceberg", "warehouse": self.bucket,
            "credential": f"{ACCESS_KEY}:{SECRET_KEY}",
            "oauth2-server-uri": f"{self.server.endpoint}/_iceberg/v1/oauth/tokens", **properties})

    def table(self, name):
        return self.catalog().load_table(f"n.{name}")

    def create(self, name, expires=True):
        table = self.catalog().create_table(f"n.{name}", schema=ROWS)
        if expires:
            self.tables.put_table_maintenance_configuration(
                **self.of(name), type="icebergSnapshotManagement", value=SNAPSHOTS)
        return table

    def advance(self, ms):
        """Moves the clock; what is due by then is done before the answer."""
        host = urllib.parse.urlsplit(self.server.endpoint).netloc
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("PUT", "/_liteio/test/clock", json.dumps({"advance_ms": ms}))
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        connection.close()

    def keys(self, prefix=""):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return {it["Key"] for page in pages for it in page.get("Contents", [])}

    def key_of(self, location):
        assert location.startswith(f"s3://{self.bucket}/"), location
        return location.removeprefix(f"s3://{self.bucket}/")

    def status(self, name):
        status = self.tables.get_table_maintenance_job_status(**self.of(name))["status"]
        assert status["icebergCompaction"] == {"status": "Disabled"}
        return status

    def named(self, table):
        """The keys of all files that a table names."""
        metadata = table.metadata
        files = [table.metadata_location, *(it.metadata_file for it in metadata.metadata_log)]
        for snapshot in metadata.snapshots:
            files.append(snapshot.manifest_list)
            for manifest in snapshot.manifests(table.io):
                files.append(manifest.manifest_path)
                files += [it.data_file.file_path for it in manifest.fetch_manifest_entry(table.io)]
        return {self.key_of(file) for file in files}


@pytest.fixture(scope="module")
def running():
    server = Server("--memory", "--test-api=local")
    yield server
    server.stop()


@pytest.fixture
def lake(running):
    if running.endpoint.startswith("https"):
        pytest.skip("Arrow takes no certificate from a variable")
    return Lake(running)


def test_snapshots_expire_and_files_that_nothing_names_go(lake):
    table = lake.create("t")
    assert {it["status"] for it in lake.status("t").values()} == {"Disabled", "Not_Yet_Run"}
    for number in range(3):
        table.append(rows((number, "a")))
    table.overwrite(rows((7, "b"), (8, "c")))
    table.append(rows((9, "d")))
    expected = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    prefix = lake.key_of(table.location())
    orphan, outside = f"{prefix}/data/of-a-commit-that-failed.parquet", "elsewhere/file"
    for key in (orphan, outside, f"{prefix}-2/data/file", f"{prefix}/folder/"):
        lake.s3.put_object(Bucket=lake.bucket, Key=key, Body=b"x")
    before = lake.keys()

    lake.advance(2 * HOUR_MS)
    table = lake.table("t")
    assert len(table.snapshots()) == 1 and table.current_snapshot().snapshot_id == table.snapshots()[0].snapshot_id
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == expected
    # Nothing is deleted before it was noted for the days of the configuration.
    assert before < lake.keys()
    lake.advance(DAY_MS)
    assert before < lake.keys()
    lake.advance(DAY_MS)
    table = lake.table("t")
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == expected
    left, named = lake.keys(), lake.named(table)
    assert named <= left
    assert left - named == {outside, f"{prefix}-2/data/file", f"{prefix}/folder/"}
    assert orphan in before - left and len([key for key in before - left if key.endswith(".parquet")]) >= 4
    status = lake.status("t")
    for job in ("icebergSnapshotManagement", "icebergUnreferencedFileRemoval"):
        assert status[job]["status"] == "Successful" and "failureMessage" not in status[job]
        assert status[job]["lastRunTimestamp"].year >= 2024
    # The table is used further.
    lake.table("t").append(rows((10, "e")))
    assert lake.table("t").scan().to_arrow().num_rows == len(expected) + 1


def test_tags_branches_and_properties_are_kept(lake):
    table = lake.create("tagged")
    for number in range(4):
        table.append(rows((number, "a")))
    first, second = (snapshot.snapshot_id for snapshot in table.snapshots()[:2])
    table.manage_snapshots().create_tag(first, "first").commit()
    other = lake.create("own")
    for number in range(4):
        other.append(rows((number, "a")))
    with other.transaction() as transaction:
        transaction.set_properties({"history.expire.min-snapshots-to-keep": "3"})
    off = lake.create("off")
    for number in range(2):
        off.append(rows((number, "a")))
    with off.transaction() as transaction:
        transaction.set_properties({"gc.enabled": "false"})
    for _ in range(4):
        lake.advance(DAY_MS)
    table = lake.table("tagged")
    kept = {snapshot.snapshot_id for snapshot in table.snapshots()}
    assert first in kept and second not in kept and len(kept) == 2
    assert table.scan(snapshot_id=first).to_arrow().num_rows == 1
    assert table.scan().to_arrow().num_rows == 4
    assert len(lake.table("own").snapshots()) == 3
    assert len(lake.table("off").snapshots()) == 2


def test_what_cannot_be_read_keeps_every_file(lake):
    table = lake.create("t")
    for number in range(2):
        table.append(rows((number, "a")))
    other = lake.create("other")
    other.append(rows((1, "a")))
    orphans = {f"{lake.key_of(it.location())}/data/orphan" for it in (table, other)}
    for key in orphans:
        lake.s3.put_object(Bucket=lake.bucket, Key=key, Body=b"x")
    [manifest, *_] = table.current_snapshot().manifests(table.io)
    key = lake.key_of(manifest.manifest_path)
    intact = lake.s3.get_object(Bucket=lake.bucket, Key=key)["Body"].read()
    lake.s3.put_object(Bucket=lake.bucket, Key=key, Body=intact[:-20])
    for _ in range(4):
        lake.advance(DAY_MS)
    assert orphans <= lake.keys()
    for name in ("t", "other"):
        status = lake.status(name)["icebergUnreferencedFileRemoval"]
        assert status["status"] == "Failed" and "n.t" in status["failureMessage"], status
    lake.s3.put_object(Bucket=lake.bucket, Key=key, Body=intact)
    for _ in range(4):
        lake.advance(DAY_MS)
    assert not orphans & lake.keys()
    assert lake.status("t")["icebergUnreferencedFileRemoval"]["status"] == "Successful"
    assert lake.table("t").scan().to_arrow().num_rows == 2


def test_files_of_others_at_the_location_are_not_touched(lake):
    """Two names for one table, and a table inside the location of another one."""
    catalog = lake.catalog()
    table = lake.create("t")
    table.append(rows((1, "a")))
    inner = catalog.create_table("n.inner", schema=ROWS, location=f"{table.location()}/inner")
    inner.append(rows((2, "b")))
    lone = lake.create("lone")
    lone.append(rows((3, "c")))
    orphans = {f"{lake.key_of(it.location())}/data/orphan" for it in (table, inner, lone)}
    for key in orphans:
        lake.s3.put_object(Bucket=lake.bucket, Key=key, Body=b"x")
    # A file at the location of one table that another one names.
    lent = f"{lake.key_of(lone.location())}/data/lent.parquet"
    [task] = lone.scan().plan_files()
    lake.s3.copy_object(Bucket=lake.bucket, Key=lent, CopySource={
        "Bucket": lake.bucket, "Key": lake.key_of(task.file.file_path)})
    lake.create("borrower")
    # Vended credentials reach the location of the table only.
    own_keys = {"header.X-Iceberg-Access-Delegation": "none", "s3.access-key-id": ACCESS_KEY,
                "s3.secret-access-key": SECRET_KEY}
    borrower = lake.catalog(**own_keys).load_table("n.borrower")
    borrower.add_files([f"s3://{lake.bucket}/{lent}"])
    for _ in range(4):
        lake.advance(DAY_MS)
    left = lake.keys()
    assert lent in left
    assert orphans - left == {f"{lake.key_of(lone.location())}/data/orphan"}
    assert "Another table" in lake.status("t")["icebergUnreferencedFileRemoval"]["failureMessage"]
    assert lake.catalog(**own_keys).load_table("n.borrower").scan().to_arrow().num_rows == 1
    assert lake.table("inner").scan().to_arrow().num_rows == 1


def test_a_bucket_with_versions_keeps_them_behind_markers(lake):
    table = lake.create("t")
    lake.s3.put_bucket_versioning(Bucket=lake.bucket, VersioningConfiguration={"Status": "Enabled"})
    table.append(rows((1, "a")))
    orphan = f"{lake.key_of(table.location())}/data/orphan"
    lake.s3.put_object(Bucket=lake.bucket, Key=orphan, Body=b"x")
    for _ in range(4):
        lake.advance(DAY_MS)
    assert orphan not in lake.keys()
    versions = lake.s3.list_object_versions(Bucket=lake.bucket, Prefix=orphan)
    assert len(versions["Versions"]) == 1 and len(versions["DeleteMarkers"]) == 1


def test_a_bucket_that_nobody_configured_is_left_alone(lake):
    """A bucket of S3 is a warehouse, too, and nothing of its tables goes before somebody asks for that."""
    bucket = f"plain-{uuid.uuid4().hex[:16]}"
    lake.s3.create_bucket(Bucket=bucket)
    lake.bucket = bucket
    lake.arn = lake.arn.rsplit("/", 1)[0] + f"/{bucket}"
    catalog = lake.catalog()
    catalog.create_namespace("n")
    table = lake.create("t", expires=False)
    for number in range(3):
        table.append(rows((number, "a")))
    lake.s3.put_object(Bucket=bucket, Key=f"{lake.key_of(table.location())}/data/orphan", Body=b"x")
    before = lake.keys()
    for _ in range(20):
        lake.advance(DAY_MS)
    assert lake.keys() == before and len(lake.table("t").snapshots()) == 3
    assert {it["status"] for it in lake.status("t").values()} == {"Disabled"}


def pass_until_killed(lake, busy):
    for _ in range(1000):
        busy.set()
        try:
            lake.advance(DAY_MS)
        except (OSError, http.client.HTTPException):
            return


def test_a_table_is_whole_after_kill_9_during_its_maintenance(tmp_path):
    """Snapshots expire and files are deleted, or not yet: all that a table names is there."""
    if Server.TLS:
        pytest.skip("Arrow takes no certificate from a variable")
    started = ("--data-dir", str(tmp_path / "data"), "--test-api=local")
    server = Server(*started)
    lake = Lake(server)
    names = []
    for round in range(KILLS):
        # The clock of the next server is behind that of this one, so each has tables of its own.
        for name in (f"a{round}", f"b{round}"):
            names.append(name)
            table = lake.create(name)
            for number in range(3):
                table.append(rows((number, "a")))
            table.delete("id = 0")
            orphan = f"{lake.key_of(table.location())}/data/orphan"
            lake.s3.put_object(Bucket=lake.bucket, Key=orphan, Body=b"x")
        busy = threading.Event()
        worker = threading.Thread(target=pass_until_killed, args=(lake, busy))
        worker.start()
        assert busy.wait(60)
        # Somewhere within a pass, of which the third deletes the first files.
        threading.Event().wait(random.random())
        server.kill()
        worker.join()
        server = Server(*started)
        lake.connect(server)
        kept = lake.keys()
        for name in names:
            table = lake.table(name)
            assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2], name
            assert lake.named(table) <= kept, name
    server.stop()
    verified = [os.environ["LITEIO"], "verify", "--data-dir", str(tmp_path / "data")]
    subprocess.run(verified, check=True, stdout=subprocess.DEVNULL)
