"""Compose files as they are in the wild, with another image name."""

import os
import pathlib
import subprocess

import pytest

from conftest import Container, check_s3, free_port, podman, s3

FILES = pathlib.Path(__file__).parent / "compose"


@pytest.fixture
def up(tmp_path):
    """Starts a file's services; returns the server and a function that runs another service to its end."""
    started = []

    def start(name, folder=FILES):
        port = free_port()
        directory = tmp_path / "data"
        directory.mkdir()
        os.chown(directory, 1000, 1000)
        project = f"liteio-test-{os.getpid()}-{name}"
        environment = os.environ | {"PORT": str(port), "DIRECTORY": str(directory)}

        def compose(*arguments):
            file = str(folder / f"{name}.yml")
            command = ["podman-compose", "--project-name", project, "--file", file, *arguments]
            result = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=60
            )
            assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"

        started.append(compose)
        compose("up", "--detach")
        names = podman("ps", "--all", "--format", "{{.Names}}", "--filter", f"name={project}")
        container = Container(names.stdout.split()[0], port).wait()
        return container, lambda service: compose("--profile", "once", "run", "--rm", service)

    yield start
    for compose in started:
        compose("down", "--volumes", "--timeout", "5")


def check(container, *command):
    """The health check of the file, by hand: timers want systemd."""
    podman("exec", container.name, *command)


def test_the_file_of_the_documents(up, tmp_path):
    document = FILES.parents[2] / "docs" / "container.md"
    text = document.read_text().split("```yaml\n")[1].split("```")[0]
    for shown, here in (("image: liteio", "image: localhost/liteio-liteio"), ("9000:9000", "${PORT}:9000")):
        assert shown in text
        text = text.replace(shown, here)
    (tmp_path / "documents.yml").write_text(text)
    container, _ = up("documents", tmp_path)
    check_s3(s3(container.endpoint, "an-access-key", "a-secret-key"))


def test_langfuse(up):
    container, _ = up("langfuse")
    check(container, "mc", "ready", "local")
    client = s3(container.endpoint, "minio", "miniosecret", "auto")
    assert [it["Name"] for it in client.list_buckets()["Buckets"]] == ["langfuse"]
    check_s3(client, "langfuse")


def test_milvus(up):
    container, _ = up("milvus")
    check(container, "curl", "-f", "http://localhost:9000/minio/health/live")
    check_s3(s3(container.endpoint, "minioadmin", "minioadmin"))


def test_suitenumerique_docs(up):
    container, run = up("docs")
    check(container, "mc", "ready", "local")
    run("createbuckets")
    client = s3(container.endpoint, "impress", "password")
    bucket = "impress-media-storage"
    assert client.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    check_s3(client, bucket)


def test_supabase(up):
    container, run = up("supabase")
    check(container, "mc", "ready", "local")
    for _ in range(2):
        run("createbuckets")
    check_s3(s3(container.endpoint, "supa-storage", "secret1234", "stub"), "stub")
