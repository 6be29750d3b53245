"""A server with the profile `minio` on the volume of a MinIO that was stopped.

MINIO and MC name MinIO's binaries; the script `install` builds both."""

import hashlib
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

ROOT = ("rootuser", "rootpassword")
ALICE = ("alice", "alice-secret")
BOB = ("bob", "bob-secret-key")
NARROW = ("narrow-key", "narrow-secret-key")
OF_ROOT = ("root-service-key", "root-service-secret")
READING = """{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject","s3:ListBucket"],
"Resource":["arn:aws:s3:::plain","arn:aws:s3:::plain/*"]}]}"""
ONE = """{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],
"Resource":["arn:aws:s3:::plain/small"]}]}"""
KMS_KEY = "my-key:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
PART = os.urandom(5 << 20)
MANY = 500

pytestmark = pytest.mark.skipif(
    not (os.environ.get("MINIO") and os.environ.get("MC")), reason="there is no MinIO: install builds one")


def environment(**more):
    mine = {k: v for k, v in os.environ.items() if not k.startswith(("LITEIO_", "MINIO_", "AWS_", "MC_"))}
    return {**mine, "MINIO_ROOT_USER": ROOT[0], "MINIO_ROOT_PASSWORD": ROOT[1], **more}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Minio:
    """A MinIO on a volume, with its client."""

    def __init__(self, volume, **variables):
        self.endpoint = f"http://127.0.0.1:{free_port()}"
        address = self.endpoint.removeprefix("http://")
        self.process = subprocess.Popen(
            [os.environ["MINIO"], "server", str(volume), "--address", address, "--quiet"],
            env=environment(MINIO_BROWSER="off", **variables), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{self.endpoint}/minio/health/ready"):
                    # It may be ready before it has read its users, and refuses requests until then.
                    s3(self.endpoint).list_buckets()
                    break
            except (OSError, ClientError):
                time.sleep(0.1)
        else:
            raise AssertionError("MinIO is not ready")
        self.directory = volume.parent / "mc"

    def mc(self, *arguments):
        url = self.endpoint.replace("://", f"://{ROOT[0]}:{ROOT[1]}@")
        subprocess.run([os.environ["MC"], "--config-dir", str(self.directory), *arguments], check=True,
                       env=environment(MC_HOST_m=url), stdout=subprocess.DEVNULL, timeout=60)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


class LiteIo:
    """LiteIO in its place."""

    def __init__(self, volume, *arguments, **variables):
        self.log = open(volume.parent / "liteio.log", "a+")
        self.process = subprocess.Popen(
            [os.environ["LITEIO"], "server", str(volume), "--profile", "minio", "--address", "127.0.0.1:0", *arguments],
            env=environment(**variables), stdout=subprocess.PIPE, stderr=self.log, text=True)

    def ready(self):
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                self.endpoint = found.group(0)
                return self
        self.log.seek(0)
        raise AssertionError(self.log.read())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0


def s3(endpoint, keys=ROOT):
    return boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id=keys[0],
                        aws_secret_access_key=keys[1], config=Config(retries={"max_attempts": 1}))


def fill(minio):
    client, directory = s3(minio.endpoint), minio.directory.parent
    for bucket in ("plain", "versions"):
        client.create_bucket(Bucket=bucket)
    client.create_bucket(Bucket="locked", ObjectLockEnabledForBucket=True)
    client.put_object(Bucket="plain", Key="small", Body=b"small", ContentType="text/x", Metadata={"a": "b"}, Tagging="t=1")
    client.put_object(Bucket="plain", Key="dir/large", Body=PART * 2)
    upload = client.create_multipart_upload(Bucket="plain", Key="parts")["UploadId"]
    place = {"Bucket": "plain", "Key": "parts", "UploadId": upload}
    tags = [client.upload_part(**place, PartNumber=n, Body=PART)["ETag"] for n in (1, 2)]
    parts = [{"PartNumber": n, "ETag": tag} for n, tag in zip((1, 2), tags)]
    client.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})
    client.create_multipart_upload(Bucket="plain", Key="open")
    client.put_bucket_tagging(Bucket="plain", Tagging={"TagSet": [{"Key": "team", "Value": "blue"}]})
    client.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
    for body in (b"one", b"two", b"three"):
        client.put_object(Bucket="versions", Key="k", Body=body)
    client.put_object(Bucket="versions", Key="gone", Body=b"x")
    client.delete_object(Bucket="versions", Key="gone")
    client.put_object(Bucket="locked", Key="held", Body=b"held", ObjectLockLegalHoldStatus="ON")
    (directory / "reading.json").write_text(READING)
    (directory / "one.json").write_text(ONE)
    minio.mc("admin", "user", "add", "m", *ALICE)
    minio.mc("admin", "user", "add", "m", *BOB)
    minio.mc("admin", "policy", "create", "m", "reading", str(directory / "reading.json"))
    minio.mc("admin", "policy", "attach", "m", "reading", "--user", ALICE[0])
    minio.mc("admin", "group", "add", "m", "team", BOB[0])
    minio.mc("admin", "policy", "attach", "m", "readwrite", "--group", "team")
    minio.mc("admin", "user", "svcacct", "add", "m", ALICE[0], "--access-key", NARROW[0], "--secret-key", NARROW[1],
             "--policy", str(directory / "one.json"))
    minio.mc("admin", "user", "svcacct", "add", "m", ROOT[0], "--access-key", OF_ROOT[0], "--secret-key", OF_ROOT[1])


def content(endpoint):
    """What a client sees, without the ids of versions."""
    client, seen = s3(endpoint), {}
    for bucket in [it["Name"] for it in client.list_buckets()["Buckets"]]:
        versioning = client.get_bucket_versioning(Bucket=bucket).get("Status")
        for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket):
            for marker in page.get("DeleteMarkers", []):
                seen.setdefault((bucket, versioning, marker["Key"]), []).append(("marker", marker["IsLatest"]))
            for it in page.get("Versions", []):
                name = {"Bucket": bucket, "Key": it["Key"], "VersionId": it["VersionId"]}
                got = client.get_object(**name)
                body = hashlib.sha256(got["Body"].read()).hexdigest()
                tags = client.get_object_tagging(**name)["TagSet"]
                facts = (it["ETag"], it["Size"], it["IsLatest"], it["LastModified"].replace(microsecond=0), body,
                         got["ContentType"], str(got["Metadata"]), str(tags), got.get("ObjectLockLegalHoldStatus"))
                seen.setdefault((bucket, versioning, it["Key"]), []).append(facts)
    return {name: sorted(map(str, facts)) for name, facts in seen.items()}


def files(volume):
    """The state of MinIO's files with data."""
    found = {}
    for directory, _, names in os.walk(volume):
        below = os.path.relpath(directory, volume)
        if below.split(os.sep)[0] == ".liteio" or below.startswith(".minio.sys/tmp"):
            continue
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                found[os.path.join(below, name)] = hashlib.sha256(file.read()).hexdigest()
    return found


def refused(call, *arguments, **named):
    with pytest.raises(ClientError) as error:
        call(*arguments, **named)
    return error.value.response["Error"]["Code"]


def test_the_server_takes_the_place_of_minio(tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    minio = Minio(volume)
    fill(minio)
    expected = content(minio.endpoint)
    # Seen by its process, and refused.
    running = LiteIo(volume)
    assert running.process.wait(timeout=60) == 1
    assert "MinIO runs on" in (tmp_path / "liteio.log").read_text()
    minio.stop()
    before = files(volume)

    liteio = LiteIo(volume).ready()
    assert content(liteio.endpoint) == expected
    assert "1 multipart uploads that were left open" in (tmp_path / "liteio.log").read_text()
    alice, bob = s3(liteio.endpoint, ALICE), s3(liteio.endpoint, BOB)
    assert alice.get_object(Bucket="plain", Key="small")["Body"].read() == b"small"
    assert refused(alice.get_object, Bucket="versions", Key="k") == "AccessDenied"
    bob.put_object(Bucket="plain", Key="of-bob", Body=b"bob")
    narrow = s3(liteio.endpoint, NARROW)
    assert narrow.get_object(Bucket="plain", Key="small")["Body"].read() == b"small"
    assert refused(narrow.get_object, Bucket="plain", Key="dir/large") == "AccessDenied"
    assert len(s3(liteio.endpoint, OF_ROOT).list_buckets()["Buckets"]) == 3
    liteio.stop()
    assert files(volume) == before

    # The way back, and its end: MinIO was started, and has written nothing.
    minio = Minio(volume)
    assert content(minio.endpoint) == expected
    minio.stop()
    liteio = LiteIo(volume).ready()
    assert s3(liteio.endpoint).get_object(Bucket="plain", Key="of-bob")["Body"].read() == b"bob"
    liteio.stop()
    minio = Minio(volume)
    s3(minio.endpoint).put_object(Bucket="plain", Key="later", Body=b"later")
    minio.stop()
    assert LiteIo(volume).process.wait(timeout=60) == 1
    assert "have changed since" in (tmp_path / "liteio.log").read_text()
    liteio = LiteIo(volume, LITEIO_TAKE_OVER="keep").ready()
    assert refused(s3(liteio.endpoint).get_object, Bucket="plain", Key="later") == "NoSuchKey"
    liteio.stop()


def test_a_take_over_that_is_killed_goes_on(tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    minio = Minio(volume)
    client = s3(minio.endpoint)
    client.create_bucket(Bucket="many")
    for number in range(MANY):
        client.put_object(Bucket="many", Key=f"{number % 10}/{number}", Body=b"x" * (number * 37 % 20_000))
    expected = content(minio.endpoint)
    minio.stop()
    before, kills = files(volume), 0
    while not (volume / ".liteio/taken-over.json").exists():
        liteio = LiteIo(volume)
        until = time.monotonic() + 0.3 + kills * 0.1
        while time.monotonic() < until and not (volume / ".liteio/taken-over.json").exists():
            pass
        liteio.process.kill()
        liteio.process.wait()
        kills += 1
    liteio = LiteIo(volume).ready()
    assert content(liteio.endpoint) == expected
    liteio.stop()
    assert files(volume) == before


def test_objects_and_users_that_minio_encrypted_are_read_with_its_key(tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    minio = Minio(volume, MINIO_KMS_SECRET_KEY=KMS_KEY)
    client = s3(minio.endpoint)
    client.create_bucket(Bucket="sealed")
    minio.mc("encrypt", "set", "sse-s3", "m/sealed")
    minio.mc("admin", "user", "add", "m", *ALICE)
    minio.mc("admin", "policy", "attach", "m", "readwrite", "--user", ALICE[0])
    bodies = {"empty": b"", "small": b"small", "one package": PART[:65536], "large": PART + b"x", "d/": b""}
    for key, body in bodies.items():
        client.put_object(Bucket="sealed", Key=key, Body=body)
    upload = client.create_multipart_upload(Bucket="sealed", Key="parts")["UploadId"]
    place = {"Bucket": "sealed", "Key": "parts", "UploadId": upload}
    pieces = {1: PART, 2: PART[::-1], 5: b"end"}
    parts = [{"PartNumber": n, "ETag": client.upload_part(**place, PartNumber=n, Body=body)["ETag"]}
             for n, body in pieces.items()]
    client.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})
    bodies["parts"] = b"".join(pieces.values())
    client.create_bucket(Bucket="mixed")
    client.put_object(Bucket="mixed", Key="plain", Body=b"plain")
    client.create_bucket(Bucket="versions")
    client.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
    client.put_object(Bucket="versions", Key="k", Body=b"old", ServerSideEncryption="AES256")
    client.put_object(Bucket="versions", Key="k", Body=b"new")
    for key in ("by name", "by name too"):
        client.put_object(Bucket="mixed", Key=key, Body=PART, ServerSideEncryption="aws:kms", SSEKMSKeyId="my-key")
    tags = {key: client.head_object(Bucket="sealed", Key=key)["ETag"] for key in bodies}
    minio.stop()

    assert LiteIo(volume).process.wait(timeout=60) == 1
    liteio = LiteIo(volume, MINIO_KMS_SECRET_KEY=KMS_KEY).ready()
    client = s3(liteio.endpoint, ALICE)
    for key, body in bodies.items():
        got = client.get_object(Bucket="sealed", Key=key)
        assert got["Body"].read() == body, key
        # MinIO shows the encrypted tag of an empty directory.
        assert key == "d/" or got["ETag"] == tags[key], key
        # It is encrypted here, too.
        assert got["ServerSideEncryption"] == "AES256", key
    mixed = {key: client.get_object(Bucket="mixed", Key=key) for key in ("plain", "by name", "by name too")}
    assert mixed["plain"]["Body"].read() == b"plain" and "ServerSideEncryption" not in mixed["plain"]
    for key in ("by name", "by name too"):
        assert mixed[key]["Body"].read() == PART
        assert (mixed[key]["ServerSideEncryption"], mixed[key]["SSEKMSKeyId"]) == ("aws:kms", "my-key")
    assert "of SSE-KMS is not given" not in (tmp_path / "liteio.log").read_text()
    ids = [it["VersionId"] for it in client.list_object_versions(Bucket="versions")["Versions"]]
    read = [client.get_object(Bucket="versions", Key="k", VersionId=it)["Body"].read() for it in ids]
    assert read == [b"new", b"old"], "the first start read only the newer one"
    for path in (volume / ".liteio/data").rglob("*"):
        assert not path.is_file() or PART[:64] not in path.read_bytes(), path
    rules = client.get_bucket_encryption(Bucket="sealed")["ServerSideEncryptionConfiguration"]["Rules"]
    assert rules[0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
    assert client.put_object(Bucket="sealed", Key="new", Body=b"x")["ServerSideEncryption"] == "AES256"
    liteio.stop()


def test_a_second_import_with_overwrite_and_a_mirror_follow_a_minio_in_use(tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    minio = Minio(volume)
    client = s3(minio.endpoint)
    for bucket in ("plain", "versions"):
        client.create_bucket(Bucket=bucket)
    client.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
    for bucket in ("plain", "versions"):
        for key in ("replaced", "deleted", "kept"):
            client.put_object(Bucket=bucket, Key=key, Body=b"before")
    imported = tmp_path / "imported"

    def run(*arguments, **variables):
        variables = {"AWS_ACCESS_KEY_ID": ROOT[0], "AWS_SECRET_ACCESS_KEY": ROOT[1], **variables}
        return subprocess.run([os.environ["LITEIO"], *arguments], env=environment(**variables), capture_output=True, text=True, timeout=60)

    command = ["import", "s3", minio.endpoint, "--data-dir", str(imported)]
    assert run(*command).returncode == 0
    for bucket in ("plain", "versions"):
        client.put_object(Bucket=bucket, Key="replaced", Body=b"afterwards")
        client.put_object(Bucket=bucket, Key="added", Body=b"afterwards")
        client.delete_object(Bucket=bucket, Key="deleted")
    again = run(*command)
    assert again.returncode == 1 and "left out: plain/replaced: " in again.stderr + again.stdout
    assert run(*command, "--overwrite").returncode == 0

    liteio = LiteIo(imported).ready()
    hosts = {f"MC_HOST_{name}": endpoint.replace("://", f"://{ROOT[0]}:{ROOT[1]}@")
             for name, endpoint in (("m", minio.endpoint), ("l", liteio.endpoint))}
    for bucket, expected in (("plain", "> l/plain/deleted\n"), ("versions", "")):
        assert run("client", "diff", f"m/{bucket}", f"l/{bucket}", **hosts).stdout == expected
        mirrored = run("client", "mirror", "--remove", "--overwrite", f"m/{bucket}", f"l/{bucket}", **hosts)
        assert mirrored.returncode == 0, mirrored.stderr
        found = {it["Key"]: it["ETag"] for it in s3(liteio.endpoint).list_objects_v2(Bucket=bucket)["Contents"]}
        assert found == {it["Key"]: it["ETag"] for it in client.list_objects_v2(Bucket=bucket)["Contents"]}
    liteio.stop()
    minio.stop()


class Receiver:
    """A webhook, which keeps what it gets."""

    def __init__(self):
        got = self.got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                got.append((self.headers.get("Authorization"), json.loads(body)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def event(self, key):
        """Waits for the event of an object."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for authorization, document in self.got:
                for record in document.get("Records") or []:
                    if record["s3"]["object"]["key"] == key:
                        return authorization, record
            time.sleep(0.05)
        raise AssertionError(self.got)


def paths(document, prefix=""):
    """The paths of all members of a document."""
    for name, value in document.items():
        yield prefix + name
        if isinstance(value, dict):
            yield from paths(value, f"{prefix}{name}.")


@pytest.mark.parametrize("token, expected", [("hush", "Bearer hush"), ("Basic aHVzaA==", "Basic aHVzaA==")])
def test_notifications_go_on_to_the_webhooks_of_minio(tmp_path, token, expected):
    volume = tmp_path / "volume"
    volume.mkdir()
    receiver = Receiver()
    minio = Minio(volume)
    minio.mc("admin", "config", "set", "m", "notify_webhook:T1", f"endpoint={receiver.url}", f'auth_token="{token}"')
    minio.stop()
    minio = Minio(volume)
    minio.mc("mb", "m/pictures")
    minio.mc("event", "add", "m/pictures", "arn:minio:sqs::T1:webhook", "--event", "put", "--prefix", "in/")
    s3(minio.endpoint).put_object(Bucket="pictures", Key="in/before", Body=b"x", ContentType="text/x", Metadata={"colour": "red"})
    authorization, before = receiver.event("in%2Fbefore")
    assert authorization == expected
    minio.stop()

    liteio = LiteIo(volume).ready()
    client = s3(liteio.endpoint)
    rules = client.get_bucket_notification_configuration(Bucket="pictures")["QueueConfigurations"]
    assert [(it["QueueArn"], it["Events"]) for it in rules] == [("arn:minio:sqs::T1:webhook", ["s3:ObjectCreated:*"])]
    client.put_object(Bucket="pictures", Key="out/not", Body=b"x")
    client.put_object(Bucket="pictures", Key="in/after", Body=b"x", ContentType="text/x", Metadata={"colour": "red"})
    authorization, after = receiver.event("in%2Fafter")
    assert authorization == expected and after["s3"]["bucket"]["name"] == "pictures"
    # The document is MinIO's: its receivers go on working.
    assert [it for it in paths(before) if it not in set(paths(after))] == ["responseElements.x-minio-deployment-id",
                                                                      "responseElements.x-minio-origin-endpoint"]
    for name in ["eventVersion", "eventSource", "eventName", "userIdentity", "source"]:
        assert after[name] == before[name], name
    for name in ["contentType", "userMetadata", "size", "eTag"]:
        assert after["s3"]["object"][name] == before["s3"]["object"][name], name
    assert after["s3"]["object"]["sequencer"] > before["s3"]["object"]["sequencer"]
    assert all("Records" in document for _, document in receiver.got)
    liteio.stop()
    # It is the server's own webhook from then on.
    liteio = LiteIo(volume).ready()
    s3(liteio.endpoint).put_object(Bucket="pictures", Key="in/again", Body=b"x")
    receiver.event("in%2Fagain")
    liteio.stop()
    assert not any(record["s3"]["object"]["key"] == "out%2Fnot"
                   for _, document in receiver.got for record in document.get("Records") or [])
    receiver.server.shutdown()


def test_an_event_goes_to_two_webhooks_and_one_rule_that_is_left_out_leaves_the_others(tmp_path):
    volume = tmp_path / "volume"
    volume.mkdir()
    receivers = {"T1": Receiver(), "T2": Receiver()}
    more = {}
    for name, receiver in receivers.items():
        more |= {f"MINIO_NOTIFY_WEBHOOK_ENABLE_{name}": "on", f"MINIO_NOTIFY_WEBHOOK_ENDPOINT_{name}": receiver.url}
    minio = Minio(volume, **more)
    minio.mc("mb", "m/pictures")
    rules = [("T1", "put"), ("T2", "put"), ("T2", "get")]
    for name, event in rules:
        minio.mc("event", "add", "m/pictures", f"arn:minio:sqs::{name}:webhook", "--event", event)
    minio.stop()

    liteio = LiteIo(volume, **more).ready()
    client = s3(liteio.endpoint)
    rules = client.get_bucket_notification_configuration(Bucket="pictures")["QueueConfigurations"]
    assert [it["QueueArn"] for it in rules] == ["arn:minio:sqs::T1:webhook", "arn:minio:sqs::T2:webhook"]
    client.put_object(Bucket="pictures", Key="a", Body=b"x")
    for receiver in receivers.values():
        receiver.event("a")
        receiver.server.shutdown()
    liteio.stop()
    liteio.log.seek(0)
    log = liteio.log.read()
    assert "arn:minio:sqs::T2:webhook (s3:ObjectAccessed:*) of pictures is not taken over" in log


@pytest.mark.parametrize("key", ["", KMS_KEY])
def test_compressed_objects_are_decompressed(tmp_path, key):
    volume = tmp_path / "volume"
    volume.mkdir()
    more = {"MINIO_KMS_SECRET_KEY": key} if key else {}
    # By default it compresses names that end like this.
    minio = Minio(volume, MINIO_COMPRESSION_ENABLE="on", MINIO_COMPRESSION_ALLOW_ENCRYPTION="on", **more)
    client = s3(minio.endpoint)
    client.create_bucket(Bucket="packed")
    if key:
        minio.mc("encrypt", "set", "sse-s3", "m/packed")
    words = b"".join(b"%d lines of a log that repeats itself\n" % (n * n % 977) for n in range(200_000))
    bodies = {"words.txt": words, "random.txt": PART, "short.txt": words[:5000], "zeros.txt": bytes(3 << 20)}
    for name, body in bodies.items():
        client.put_object(Bucket="packed", Key=name, Body=body)
    upload = client.create_multipart_upload(Bucket="packed", Key="parts.txt")["UploadId"]
    place = {"Bucket": "packed", "Key": "parts.txt", "UploadId": upload}
    parts = [{"PartNumber": n, "ETag": client.upload_part(**place, PartNumber=n, Body=body)["ETag"]}
             for n, body in ((1, words), (3, words[::-1]), (7, b"end"))]
    client.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})
    expected = content(minio.endpoint)
    minio.stop()
    held = sum(path.stat().st_size for path in (volume / "packed/words.txt").rglob("part.*"))
    assert 0 < held < len(words) // 2, "it is compressed"
    liteio = LiteIo(volume, **more).ready()
    assert content(liteio.endpoint) == expected
    liteio.stop()
