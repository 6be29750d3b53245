"""Events arrive in a queue of moto's SQS, and in Debian's Redis."""

import json
import shutil
import socket
import subprocess
import time

import boto3
import pytest

from conftest import ACCESS_KEY, SECRET_KEY, Server, client

# Longer than anything that works takes.
PATIENCE_S = 60


def notify(s3, bucket, arn):
    s3.create_bucket(Bucket=bucket)
    s3.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [
            {"QueueArn": arn, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}]})


def wait_for(find):
    """What `find` returns, once that is something."""
    end = time.monotonic() + PATIENCE_S
    while True:
        found = find()
        if found:
            return found
        assert time.monotonic() < end, "nothing comes"
        time.sleep(0.05)


def test_a_queue_of_sqs_gets_events(tmp_path):
    moto = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    host, port = moto.get_host_and_port()
    sqs = boto3.client("sqs", endpoint_url=f"http://{host}:{port}", region_name="eu-west-1",
                       aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
    url = sqs.create_queue(QueueName="images")["QueueUrl"]
    file = tmp_path / "targets.toml"
    file.write_text(f"[[sqs]]\nname = 'images'\nurl = '{url}'\nregion = 'eu-west-1'\n"
                    f"access_key = '{ACCESS_KEY}'\nsecret_key = '{SECRET_KEY}'\n")
    server = Server("--memory", "--event-target-file", str(file))
    s3 = client(server.endpoint)
    notify(s3, "mine", "arn:aws:sqs:eu-west-1:123456789012:images")
    s3.put_object(Bucket="mine", Key="a ü", Body=b"123")
    messages = []

    def both():
        for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            messages.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return len(messages) == 2

    wait_for(both)
    (record,) = next(message for message in messages if "Records" in message)["Records"]
    assert record["eventName"] == "ObjectCreated:Put"
    assert record["s3"]["object"]["key"] == "a+%C3%BC"
    assert "s3:TestEvent" in [message.get("Event") for message in messages]
    server.stop()
    moto.stop()


@pytest.mark.skipif(not shutil.which("redis-server"), reason="there is no redis-server: apt install redis-server")
def test_redis_gets_events_in_both_forms_of_minio():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    redis = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                              "--requirepass", "hush"], stdout=subprocess.DEVNULL)

    def ask(*command):
        done = subprocess.run(["redis-cli", "-p", str(port), "-a", "hush", "--json", *command],
                              capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None

    wait_for(lambda: ask("PING"))
    url = f"redis://:hush@127.0.0.1:{port}"
    server = Server("--memory", "--event-target", f"list={url}?key=events",
                    "--event-target", f"hash={url}?key=objects&format=namespace")
    s3 = client(server.endpoint)
    notify(s3, "listed", "arn:minio:sqs::list:redis")
    notify(s3, "hashed", "arn:minio:sqs::hash:redis")
    s3.put_object(Bucket="listed", Key="a", Body=b"1")
    for key in ["a", "b"]:
        s3.put_object(Bucket="hashed", Key=key, Body=b"1")
    s3.delete_object(Bucket="hashed", Key="a")
    s3.put_object(Bucket="hashed", Key="c", Body=b"1")
    (item,) = wait_for(lambda: ask("LRANGE", "events", "0", "-1"))
    (entry,) = json.loads(item)
    assert entry["Event"][0]["s3"]["object"]["key"] == "a"
    assert entry["EventTime"] == entry["Event"][0]["eventTime"]
    # In order: that of the last object is the last.
    wait_for(lambda: "hashed/c" in (ask("HKEYS", "objects") or []))
    assert sorted(ask("HKEYS", "objects")) == ["hashed/b", "hashed/c"]
    record = json.loads(ask("HGET", "objects", "hashed/b"))["Records"][0]
    assert record["eventName"] == "ObjectCreated:Put"
    server.stop()
    redis.terminate()
    redis.wait()
