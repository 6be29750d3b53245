"""Events arrive in a queue of moto's SQS, and in Debian's Redis and NATS."""

import base64
import json
import shutil
import socket
import ssl
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


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.mark.skipif(not shutil.which("redis-server"), reason="there is no redis-server: apt install redis-server")
def test_redis_gets_events_in_both_forms_of_minio():
    port = free_port()
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


class Nats:
    """A client of NATS, as far as the test needs one."""

    def __init__(self, port, ca=None):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        if ca:
            # The server speaks first, without TLS.
            while not self.socket.recv(4096).endswith(b"\r\n"):
                pass
            self.socket = ssl.create_default_context(cafile=ca).wrap_socket(self.socket, server_hostname="127.0.0.1")
        self.lines = self.socket.makefile("rb")
        self.send('CONNECT {"user":"all","pass":"hush","verbose":false,"headers":true}', "SUB told.> 1", "SUB _INBOX.own 2", "PING")
        while self.lines.readline() != b"PONG\r\n":
            pass

    def send(self, *lines):
        self.socket.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def next(self):
        """The next message: its subject, its headers, its document."""
        while True:
            words = self.lines.readline().decode().split()
            assert words, "the server has gone"
            if words[0] not in ("MSG", "HMSG"):
                continue
            length = int(words[-1])
            headers = int(words[-2]) if words[0] == "HMSG" else 0
            body = self.lines.read(length + 2)[:length]
            return words[1], body[:headers].decode(), json.loads(body[headers:])

    def ask(self, subject, **question):
        """The answer of JetStream."""
        text = json.dumps(question)
        self.send(f"PUB {subject} _INBOX.own {len(text)}", text)
        while True:
            to, _, answer = self.next()
            if to == "_INBOX.own":
                assert "error" not in answer, answer
                return answer


NATS_SERVER = shutil.which("nats-server") or shutil.which("target/clients-bin/nats-server")


def start_nats(tmp_path, more=""):
    """A server with a user for everything and one for LiteIO; it, and its port."""
    port = free_port()
    settings = tmp_path / "nats.conf"
    settings.write_text(f"""
        listen: 127.0.0.1:{port}
        jetstream {{ store_dir: {json.dumps(str(tmp_path / "streams"))} }}
        authorization {{ users: [
            {{ user: all, password: hush }},
            {{ user: liteio, password: hush, permissions: {{ publish: ["told.*", "kept.*", "_INBOX.>"], subscribe: "_INBOX.>" }} }}
        ] }}
        {more}""")
    process = subprocess.Popen([NATS_SERVER, "--config", settings], stderr=subprocess.DEVNULL)

    def answers():
        try:
            return socket.create_connection(("127.0.0.1", port)).close() is None
        except OSError:
            return False

    wait_for(answers)
    return process, port


@pytest.mark.skipif(not NATS_SERVER, reason="there is no nats-server: apt install nats-server")
def test_nats_gets_events(tmp_path):
    nats, port = start_nats(tmp_path)
    listener = Nats(port)
    url = f"nats://liteio:hush@127.0.0.1:{port}"
    log = tmp_path / "log"
    with log.open("w") as file:
        server = Server("--memory", "--event-target", f"told={url}?subject=told.here", "--event-target", f"kept={url}?subject=kept.here&jetstream=on",
                        "--event-target", f"refused={url}?subject=other", log=file)
        s3 = client(server.endpoint)
        for bucket in ["told", "kept", "refused"]:
            notify(s3, bucket, f"arn:minio:sqs::{bucket}:nats")
            s3.put_object(Bucket=bucket, Key="a ü", Body=b"1")
        subject, headers, document = listener.next()
        assert subject == "told.here" and "Nats-Msg-Id: " in headers
        assert document["Key"] == "told/a ü" and document["Records"][0]["eventName"] == "ObjectCreated:Put"
        # It waits until a stream takes it, and that has it once.
        wait_for(lambda: "no stream of JetStream takes the subject" in log.read_text())
        wait_for(lambda: "Permissions Violation" in log.read_text())
        listener.ask("$JS.API.STREAM.CREATE.events", name="events", subjects=["kept.*"])
        state = wait_for(lambda: [it for it in [listener.ask("$JS.API.STREAM.INFO.events")["state"]] if it["messages"]])
        assert state[0]["messages"] == 1
        kept = listener.ask("$JS.API.STREAM.MSG.GET.events", seq=1)["message"]
        assert json.loads(base64.b64decode(kept["data"]))["Key"] == "kept/a ü"
        server.stop()
    nats.terminate()
    nats.wait()


@pytest.mark.skipif(not NATS_SERVER or not shutil.which("openssl"), reason="there is no nats-server or no openssl")
def test_nats_gets_events_over_tls_if_its_certificate_is_trusted(tmp_path):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=nats", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    nats, port = start_nats(tmp_path, f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}')
    listener = Nats(port, certificate)
    log = tmp_path / "log"
    with log.open("w") as file:
        target = f"told=tls://liteio:hush@127.0.0.1:{port}?subject=told.here"
        server = Server("--memory", "--event-target", target, log=file)
        s3 = client(server.endpoint)
        notify(s3, "mine", "arn:minio:sqs::told:nats")
        wait_for(lambda: "invalid peer certificate" in log.read_text())
        server.stop()
        for scheme in ["tls", "nats"]:
            server = Server("--memory", "--event-target", target.replace("tls:", f"{scheme}:"), "--ca-file", str(certificate), log=file)
            s3 = client(server.endpoint)
            notify(s3, "mine", "arn:minio:sqs::told:nats")
            s3.put_object(Bucket="mine", Key=scheme, Body=b"1")
            assert listener.next()[2]["Key"] == f"mine/{scheme}"
            server.stop()
    nats.terminate()
    nats.wait()
