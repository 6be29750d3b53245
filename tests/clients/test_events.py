"""Every acknowledged change is told to a webhook, through `kill -9` and a receiver that often fails."""

import http.server
import json
import queue
import random
import threading
import urllib.parse

from botocore.exceptions import BotoCoreError, ClientError

from conftest import Server, client

ARN = "arn:aws:sqs:us-east-1:000000000000:hook"


class Receiver(http.server.ThreadingHTTPServer):
    """Takes most events, and puts those that it took into `events`."""

    daemon_threads = True

    def __init__(self, failures=0.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.failures, self.random = failures, random.Random(1)
        self.events = queue.Queue()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def webhook(self):
        return "--webhook", f"hook=http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        takes = self.server.random.random() >= self.server.failures
        if takes:
            for record in body.get("Records", []):
                key = urllib.parse.unquote_plus(record["s3"]["object"]["key"])
                self.server.events.put((record["eventName"], key))
        self.send_response(200 if takes else 500)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def notify(s3, bucket, *events):
    s3.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={
            "QueueConfigurations": [{"QueueArn": ARN, "Events": list(events)}]})


def test_a_lifecycle_rule_and_keys_of_every_kind_are_told():
    receiver = Receiver()
    server = Server("--memory", "--lifecycle-day", "1", *receiver.webhook)
    s3 = client(server.endpoint)
    s3.create_bucket(Bucket="told")
    notify(s3, "told", "s3:ObjectCreated:*", "s3:LifecycleExpiration:*")
    s3.put_bucket_lifecycle_configuration(Bucket="told", LifecycleConfiguration={"Rules": [
        {"ID": "soon", "Status": "Enabled", "Filter": {"Prefix": "old/"},
         "Expiration": {"Days": 1}}]})
    keys = ["old/one", "a b+c/ä%20?&=.txt", "/slash/"]
    for key in keys:
        s3.put_object(Bucket="told", Key=key, Body=b"x")
    expected = {("ObjectCreated:Put", key) for key in keys}
    expected.add(("LifecycleExpiration:Delete", "old/one"))
    got = set()
    while got != expected:
        got.add(receiver.events.get(timeout=60))
        assert got <= expected
    kept = s3.get_bucket_notification_configuration(Bucket="told")
    assert kept["QueueConfigurations"][0]["QueueArn"] == ARN
    server.stop()


def put_until_killed(s3, name, sent, acknowledged):
    for number in range(10_000):
        key = f"{name}-{number}"
        sent.add(key)
        try:
            s3.put_object(Bucket="told", Key=key, Body=b"x")
        except (BotoCoreError, ClientError):
            return
        acknowledged.add(key)


def test_no_event_of_an_acknowledged_put_is_lost_by_kill_9(tmp_path):
    receiver = Receiver(failures=0.3)
    sent, acknowledged = set(), set()
    arguments = ("--data-dir", str(tmp_path / "data"), *receiver.webhook)
    for round_number in range(8):
        server = Server(*arguments)
        s3 = client(server.endpoint)
        if round_number == 0:
            s3.create_bucket(Bucket="told")
            notify(s3, "told", "s3:ObjectCreated:*")
        workers = [
            threading.Thread(target=put_until_killed,
                             args=(client(server.endpoint), f"{round_number}-{number}", sent,
                                   acknowledged))
            for number in range(4)]
        for worker in workers:
            worker.start()
        threading.Event().wait(0.3 + 0.1 * (round_number % 3))  # Load, for a while.
        server.kill()
        for worker in workers:
            worker.join()
    server = Server(*arguments)
    listed = {o["Key"] for page in client(server.endpoint).get_paginator("list_objects_v2")
              .paginate(Bucket="told") for o in page.get("Contents", [])}
    assert acknowledged <= listed <= sent
    got = set()
    while got != listed:
        name, key = receiver.events.get(timeout=60)
        assert name == "ObjectCreated:Put" and key in listed, f"{name} of {key}, which is not there"
        got.add(key)
    server.stop()
