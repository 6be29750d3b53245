"""Access logs and inventories, configured by boto3 and read from their buckets."""

import csv
import gzip
import hashlib
import io
import json
import time
import urllib.parse

from conftest import KILLS, Server, client


def until(found):
    end = time.monotonic() + 60
    while True:
        result = found()
        if result:
            return result
        assert time.monotonic() < end, "nothing has come"
        time.sleep(0.1)


def allow(s3, bucket, service, source):
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow", "Principal": {"Service": service}, "Action": "s3:PutObject",
            "Resource": f"arn:aws:s3:::{bucket}/*",
            "Condition": {"ArnLike": {"aws:SourceArn": f"arn:aws:s3:::{source}"}}}]}))


def keys(s3, bucket):
    return [found["Key"] for found in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


def read(s3, bucket, key):
    return s3.get_object(Bucket=bucket, Key=key)["Body"].read()


def test_access_logs_are_delivered():
    server = Server("--memory", "--access-log-interval", "1")
    s3 = client(server.endpoint)
    for bucket in ("source", "logs"):
        s3.create_bucket(Bucket=bucket)
    allow(s3, "logs", "logging.s3.amazonaws.com", "source")
    s3.put_bucket_logging(Bucket="source", BucketLoggingStatus={"LoggingEnabled": {
        "TargetBucket": "logs", "TargetPrefix": "",
        "TargetObjectKeyFormat": {"PartitionedPrefix": {"PartitionDateSource": "DeliveryTime"}}}})
    s3.put_object(Bucket="source", Key="a b", Body=b"0123")
    s3.get_object(Bucket="source", Key="a b", Range="bytes=1-2")["Body"].read()
    s3.list_objects_v2(Bucket="source")

    def lines():
        found = [line for key in keys(s3, "logs") for line in read(s3, "logs", key).decode().splitlines()]
        return found if len(found) >= 3 else None

    found = until(lines)
    assert [line.split(" REST.")[1].split(" ")[0] for line in found] == ["PUT.OBJECT", "GET.OBJECT", "GET.BUCKET"]
    assert ' 206 - 2 4 ' in found[1] and " SigV4 " in found[1] and "a%20b" in found[1], found[1]
    account = keys(s3, "logs")[0].split("/")
    assert len(account[0]) == 12 and account[1:3] == ["us-east-1", "source"], account
    server.stop()


def test_an_inventory_lists_the_objects():
    server = Server("--memory")
    s3 = client(server.endpoint)
    for bucket in ("source", "lists"):
        s3.create_bucket(Bucket=bucket)
    allow(s3, "lists", "s3.amazonaws.com", "source")
    expected = {f"n {number}/ä": number for number in range(1, 1200)}
    for key, length in expected.items():
        s3.put_object(Bucket="source", Key=key, Body=b"x" * length)
    s3.put_bucket_inventory_configuration(Bucket="source", Id="all", InventoryConfiguration={
        "Id": "all", "IsEnabled": True, "IncludedObjectVersions": "Current",
        "Schedule": {"Frequency": "Daily"}, "OptionalFields": ["Size", "ETag"],
        "Destination": {"S3BucketDestination": {
            "Bucket": "arn:aws:s3:::lists", "Format": "CSV", "Prefix": "p"}}})
    checksum = until(lambda: [key for key in keys(s3, "lists") if key.endswith("/manifest.checksum")])[0]
    text = read(s3, "lists", checksum.replace(".checksum", ".json"))
    assert hashlib.md5(text).hexdigest() == read(s3, "lists", checksum).decode()
    manifest = json.loads(text)
    assert manifest["fileSchema"] == "Bucket, Key, Size, ETag"
    rows = []
    for file in manifest["files"]:
        body = read(s3, "lists", file["key"])
        assert (len(body), hashlib.md5(body).hexdigest()) == (file["size"], file["MD5checksum"])
        rows += csv.reader(io.StringIO(gzip.decompress(body).decode()))
    found = {urllib.parse.unquote(key): int(size) for _, key, size, _ in rows}
    assert found == expected and len(rows) == len(expected)
    server.stop()


def test_kills_neither_skip_an_inventory_nor_double_it(tmp_path):
    arguments = ("--data-dir", str(tmp_path / "data"), "--durability", "os")
    server = Server(*arguments)
    s3 = client(server.endpoint)
    for bucket in ("source", "lists"):
        s3.create_bucket(Bucket=bucket)
    allow(s3, "lists", "s3.amazonaws.com", "source")
    for number in range(2500):
        s3.put_object(Bucket="source", Key=f"{number:04}")
    # Weekly, so that midnight rarely makes a second one due.
    s3.put_bucket_inventory_configuration(Bucket="source", Id="all", InventoryConfiguration={
        "Id": "all", "IsEnabled": True, "IncludedObjectVersions": "Current",
        "Schedule": {"Frequency": "Weekly"}, "OptionalFields": ["ObjectOwner"],
        "Destination": {"S3BucketDestination": {"Bucket": "arn:aws:s3:::lists", "Format": "CSV"}}})
    for _ in range(KILLS):
        # The inventory has begun, and perhaps ended.
        server.kill()
        server = Server(*arguments)
        s3 = client(server.endpoint)
        keys(s3, "lists")
    until(lambda: any(key.endswith(".checksum") for key in keys(s3, "lists")))
    server.stop()
    server = Server(*arguments)
    s3 = client(server.endpoint)
    written = keys(s3, "lists")
    assert len(written) == 4, written
    manifest = next(key for key in written if key.endswith("manifest.json"))
    file, = json.loads(read(s3, "lists", manifest))["files"]
    body = read(s3, "lists", file["key"])
    assert hashlib.md5(body).hexdigest() == file["MD5checksum"]
    assert len(gzip.decompress(body).splitlines()) == 2500
    server.stop()
