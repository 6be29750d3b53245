"""MinIO's stream of events, by MinIO's SDK for Python and, where there is one, by `mc`."""

import io
import json
import os
import subprocess
import threading
import time
import uuid

import certifi
import pytest
import urllib3
from minio import Minio

from conftest import ACCESS_KEY, SECRET_KEY, Server
from test_mc_admin import Client


@pytest.fixture
def minio(server):
    host = server.endpoint.split("://")[1]
    secure = server.endpoint.startswith("https://")
    pool = urllib3.PoolManager(ca_certs=os.environ.get("SSL_CERT_FILE", certifi.where())) if secure else None
    return Minio(host, access_key=ACCESS_KEY, secret_key=SECRET_KEY, secure=secure, http_client=pool)


@pytest.fixture
def mc(server, tmp_path):
    if not os.environ.get("MC"):
        pytest.skip("there is no mc: run builds one")
    return Client(tmp_path, server.endpoint)


class Repeated:
    """Does something again and again on a thread: the SDK sends its request when it is first asked for an event, and does
    not tell when it listens."""

    def __init__(self, act):
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(act,), daemon=True)

    def run(self, act):
        while not self.is_over.wait(0.1):
            act()

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()


def test_the_sdk_listens_to_a_bucket(minio, bucket):
    def change():
        for key in ("out/a.txt", "in/a.bin", "in/a b.txt"):
            minio.put_object(bucket, key, io.BytesIO(b"hello"), 5)
        minio.remove_object(bucket, "in/a b.txt")

    events = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectAccessed:*")
    heard = []
    with minio.listen_bucket_notification(bucket, prefix="in/", suffix=".txt", events=events) as stream:
        with Repeated(change):
            for document in stream:
                heard += document["Records"]
                if len(heard) >= 4:
                    break
    # From any one on.
    created = [it for it in heard if it["eventName"] == "s3:ObjectCreated:Put"]
    assert len(created) >= 2 and {it["eventName"] for it in heard} == {"s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"}
    assert all(it["s3"]["bucket"]["name"] == bucket for it in heard)
    assert all(it["s3"]["object"]["key"] == "in%2Fa+b.txt" for it in heard)
    assert created[0]["s3"]["object"]["size"] == 5


class Watching:
    """A command of mc that does not end by itself."""

    def __init__(self, mc, *arguments):
        self.process = subprocess.Popen(mc.command(*arguments), stdout=subprocess.PIPE, env=mc.environment)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.heard = b""

    def until(self, is_there, act):
        deadline = time.monotonic() + 60
        while not is_there(self.heard.decode()):
            assert time.monotonic() < deadline and self.process.poll() is None, self.heard
            act()
            self.heard += self.process.stdout.read() or b""
            time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize("scope", ["bucket", "all"])
def test_mc_watches(mc, s3, bucket, scope):
    target = f"lite/{bucket}" if scope == "bucket" else "lite"
    with Watching(mc, "watch", target) as watching:
        # Again until it is heard: mc does not tell when it has begun.
        watching.until(lambda heard: "in/a" in heard and "\n" in heard,
                       lambda: s3.put_object(Bucket=bucket, Key="in/a", Body=b"x"))
        watching.until(lambda heard: "s3:ObjectRemoved:Delete" in heard,
                       lambda: s3.delete_object(Bucket=bucket, Key="in/a") and s3.put_object(
                           Bucket=bucket, Key="in/a", Body=b"x"))
    event = json.loads(watching.heard.decode().splitlines()[0])["events"]
    assert event["type"] == "s3:ObjectCreated:Put" and event["size"] == 1
    assert event["path"].endswith(f"/{bucket}/in/a")


def test_mc_mirrors_what_is_made_later(mc, s3, bucket, tmp_path):
    copy = tmp_path / "copy"
    s3.put_object(Bucket=bucket, Key="first", Body=b"1")
    with Watching(mc, "mirror", "--watch", f"lite/{bucket}", str(copy)) as watching:
        names = iter(range(1000))
        watching.until(lambda _: (copy / "first").exists(), lambda: None)
        watching.until(lambda _: any(copy.glob("later-*")),
                       lambda: s3.put_object(Bucket=bucket, Key=f"later-{next(names)}", Body=b"2"))


def test_servers_of_a_cluster_refuse(server, minio, bucket, request):
    if not request.config.getoption("--cluster"):
        pytest.skip("for --cluster")
    with pytest.raises(Exception, match="NotImplemented"):
        with minio.listen_bucket_notification(bucket) as stream:
            next(iter(stream))


def test_a_stopping_server_ends_the_stream():
    server = Server("--memory")
    secure = server.endpoint.startswith("https://")
    pool = urllib3.PoolManager(ca_certs=os.environ.get("SSL_CERT_FILE", certifi.where())) if secure else None
    client = Minio(server.endpoint.split("://")[1], access_key=ACCESS_KEY, secret_key=SECRET_KEY, secure=secure,
                   http_client=pool)
    name = f"suite-{uuid.uuid4().hex[:16]}"
    client.make_bucket(name)
    ended = []

    def listen():
        with client.listen_bucket_notification(name) as stream:
            try:
                for document in stream:
                    ended.append(document)
            except Exception as error:
                ended.append(error)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    while not ended:
        client.put_object(name, "k", io.BytesIO(b"x"), 1)
        time.sleep(0.1)
    begun = time.monotonic()
    server.stop()
    # Long before it would give up waiting for answers in flight.
    assert time.monotonic() - begun < 20
