"""Containers of the image, and what asks them."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.request

import boto3
import pytest
from botocore.config import Config

COMPOSE_FILES = pathlib.Path(__file__).parent / "compose"
KEY, SECRET = "AKIAEXAMPLE", "a-secret-of-tests"


def podman(*arguments, check=True, **kwargs):
    """The output of podman."""
    result = subprocess.run(
        ["podman", *arguments], capture_output=True, text=True, timeout=60, **kwargs
    )
    if check and result.returncode:
        raise AssertionError(f"podman {' '.join(arguments)}: {result.stdout}{result.stderr}")
    return result


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, holds, seconds=30, container=None):
    """Polls; containers say nothing when they are ready."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if result := holds():
                return result
        if time.monotonic() > deadline:
            logs = podman("logs", container, check=False) if container else None
            raise AssertionError(f"{what}: not within {seconds} s\n{logs and logs.stdout + logs.stderr}")
        time.sleep(0.1)


def answers(url):
    with urllib.request.urlopen(url, timeout=2) as answer:
        return answer.status == 200


def s3(endpoint, key=KEY, secret=SECRET, region="us-east-1"):
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name=region,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


def check_s3(client, bucket="a-bucket"):
    """An object goes in and comes out."""
    if bucket not in [it["Name"] for it in client.list_buckets()["Buckets"]]:
        client.create_bucket(Bucket=bucket)
    client.put_object(Bucket=bucket, Key="a key", Body=b"its content")
    assert client.get_object(Bucket=bucket, Key="a key")["Body"].read() == b"its content"


class Container:
    """A container whose port 9000, or another, is reached at `endpoint`."""

    def __init__(self, name, port):
        self.name = name
        self.endpoint = f"http://127.0.0.1:{port}"

    def log(self):
        result = podman("logs", self.name)
        return result.stdout + result.stderr

    def wait(self, path="/_liteio/health/ready"):
        wait_for(self.name, lambda: answers(self.endpoint + path), container=self.name)
        return self

    def inspect(self):
        return json.loads(podman("inspect", self.name).stdout)[0]


@pytest.fixture
def run(request):
    """Starts containers that end with the test: options of podman, then `command`."""
    names, volumes = [], []

    def start(*options, flavour="liteio", command=(), inside=9000, name=None, waits=True):
        port = free_port()
        name = name or f"liteio-test-{os.getpid()}-{len(names)}"
        names.append(name)
        podman(
            "run", "--detach", "--no-healthcheck", "--name", name, "--publish",
            f"127.0.0.1:{port}:{inside}", *options, f"localhost/liteio-{flavour}", *command,
        )
        container = Container(name, port)
        return container.wait() if waits else container

    start.volumes = volumes
    yield start
    for name in names:
        podman("rm", "--force", "--volumes", "--time", "5", name, check=False)
    for volume in volumes:
        podman("volume", "rm", "--force", volume, check=False)


@pytest.fixture
def volume(run):
    name = f"liteio-test-{os.getpid()}-volume"
    run.volumes.append(name)
    return name


@pytest.fixture
def up(tmp_path):
    """Starts the services of a file, or of one and an override of it, that are no commands to run once.

    Returns the server and a function that runs another service to its end."""
    started = []

    def start(*files, services=()):
        port = free_port()
        directory = tmp_path / "data"
        directory.mkdir()
        os.chown(directory, 1000, 1000)
        project = f"liteio-test-{os.getpid()}-{files[-1].stem}"
        environment = os.environ | {"PORT": str(port), "DIRECTORY": str(directory)}
        named = [word for file in files for word in ("--file", str(file))]

        def compose(*arguments):
            command = ["podman-compose", "--project-name", project, *named, *arguments]
            result = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=60
            )
            assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"

        started.append(compose)
        compose("up", "--detach", *services)
        names = podman("ps", "--all", "--format", "{{.Names}}", "--filter", f"name={project}")
        container = Container(names.stdout.split()[0], port).wait()
        return container, lambda service: compose("--profile", "once", "run", "--rm", service)

    yield start
    for compose in started:
        compose("down", "--volumes", "--timeout", "5")
