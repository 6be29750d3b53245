"""What was acknowledged is there after `kill -9`, round after round, under load."""

import hashlib
import random
import threading

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from conftest import KILLS, Server, client
from test_iam import client_of

BUCKET = "survivors"


class Load(threading.Thread):
    """Puts, overwrites and deletes keys of its own until the server is gone.

    `acknowledged` maps each key to the digest of its last acknowledged body, or None once a delete
    was acknowledged; `in_doubt` holds the one change that was sent and not answered.
    """

    def __init__(self, endpoint, name, seed, acknowledged):
        super().__init__()
        self.s3 = client(endpoint)
        self.prefix = name
        self.random = random.Random(seed)
        self.acknowledged = acknowledged
        self.in_doubt = {}

    def run(self):
        while True:
            key = f"{self.prefix}/{self.random.randrange(40)}"
            try:
                if self.random.random() < 0.2:
                    self.in_doubt = {key: None}
                    self.s3.delete_object(Bucket=BUCKET, Key=key)
                else:
                    length = self.random.choice([0, 10, 1000, 16384, 16385, 70000, 400000])
                    body = self.random.randbytes(length)
                    self.in_doubt = {key: hashlib.md5(body).hexdigest()}
                    self.s3.put_object(Bucket=BUCKET, Key=key, Body=body)
            except (BotoCoreError, ClientError):
                return
            self.acknowledged.update(self.in_doubt)
            self.in_doubt = {}


def check(s3, acknowledged, in_doubt):
    for key, digest in acknowledged.items():
        allowed = {digest, in_doubt.get(key, digest)}
        try:
            found = hashlib.md5(s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()).hexdigest()
        except ClientError as refused:
            assert refused.response["Error"]["Code"] == "NoSuchKey"
            found = None
        assert found in allowed, f"{key}: found {found}, acknowledged {digest}"
        acknowledged[key] = found
    listed = {o["Key"] for page in s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
              for o in page.get("Contents", [])}
    expected = {key for key, digest in acknowledged.items() if digest is not None}
    assert expected <= listed <= expected | set(in_doubt)


@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_acknowledged_objects_survive_kill_9(tmp_path, durability):
    acknowledged = {}
    for round_number in range(KILLS):
        server = Server("--data-dir", str(tmp_path / "data"), "--durability", durability)
        s3 = client(server.endpoint)
        if round_number == 0:
            s3.create_bucket(Bucket=BUCKET)
        workers = [Load(server.endpoint, f"w{number}", round_number * 100 + number, acknowledged)
                   for number in range(4)]
        for worker in workers:
            worker.start()
        threading.Event().wait(0.3 + 0.05 * (round_number % 7))  # Load, for a while.
        server.kill()
        for worker in workers:
            worker.join()
        in_doubt = {key: digest for worker in workers for key, digest in worker.in_doubt.items()}
        for key in in_doubt:
            acknowledged.setdefault(key, None)
        server = Server("--data-dir", str(tmp_path / "data"), "--durability", durability)
        check(client(server.endpoint), acknowledged, in_doubt)
        server.stop()


def test_users_survive_kills(tmp_path):
    """Every user whose creation was acknowledged is there after `kill -9`, with its key."""
    made = {}
    for round in range(min(KILLS, 6)):
        server = Server("--data-dir", str(tmp_path / "data"))
        iam = client_of(server, "iam")
        found = {user["UserName"] for page in iam.get_paginator("list_users").paginate()
                 for user in page["Users"]}
        assert set(made) <= found, set(made) - found
        for name, (key, secret) in made.items():
            who = client_of(server, "sts", key, secret).get_caller_identity()
            assert who["Arn"].endswith(f":user/{name}")
        killer = threading.Timer(0.5 + 0.2 * round, server.kill)
        killer.start()
        try:
            for number in range(1000):
                name = f"u-{round}-{number}"
                iam.create_user(UserName=name)
                key = iam.create_access_key(UserName=name)["AccessKey"]
                made[name] = key["AccessKeyId"], key["SecretAccessKey"]
        except (BotoCoreError, ClientError):
            pass
        killer.join()
    assert len(made) > 6
