"""Ways of starting the image, users, volumes, and health."""

import json
import os
import re
import tarfile

import docker
import pytest

from conftest import KEY, SECRET, check_s3, podman, s3, wait_for

PAIR = ("--env", f"LITEIO_ACCESS_KEY={KEY}", "--env", f"LITEIO_SECRET_KEY={SECRET}")
MINIO = ("--env", f"MINIO_ROOT_USER={KEY}", "--env", f"MINIO_ROOT_PASSWORD={SECRET}")


def made_credentials(log):
    """The pair that the log shows."""
    found = re.search(r"AWS_ACCESS_KEY_ID=(\S+) AWS_SECRET_ACCESS_KEY=(\S+)", log)
    assert found, log
    return found.groups()


@pytest.mark.parametrize("flavour", ["liteio", "shell", "minio", "localstack", "s3mock", "mc"])
def test_is_below_its_limit(flavour):
    image = json.loads(podman("image", "inspect", f"localhost/liteio-{flavour}").stdout)[0]
    # 32 MB of a single server, and at most 5 more for several over a database; 17 MB to pull. bash and BusyBox are 4.4 MB, 2.1 to pull.
    shell = 0 if flavour == "liteio" else 4_500_000
    assert image["Size"] < 37_500_000 + shell


def test_the_default_image_is_one_program(tmp_path):
    """Everything else in it is a link to it, or a directory."""
    made = podman("create", "localhost/liteio-liteio").stdout.strip()
    try:
        podman("export", "--output", str(tmp_path / "root.tar"), made)
    finally:
        podman("rm", made)
    with tarfile.open(tmp_path / "root.tar") as root:
        files = [it.name for it in root if it.isfile() and not it.name.startswith(("run/", "etc/", "dev/", "proc/", "sys/"))]
        assert files == ["liteio"]


def test_the_default_image_says_which_has_a_shell():
    result = podman("run", "--rm", "--no-healthcheck", "--entrypoint", "/bin/sh", "localhost/liteio-liteio", "-c", "echo a",
                    check=False)
    assert result.returncode == 2 and "no shell" in result.stderr, result.stdout + result.stderr


def test_credentials_that_it_made_can_be_asked_for(run, volume):
    container = run("--volume", f"{volume}:/data", flavour="shell")
    key, secret = made_credentials(container.log())
    shown = podman("exec", container.name, "liteio", "credentials", "show").stdout
    assert shown == f"AWS_ACCESS_KEY_ID={key}\nAWS_SECRET_ACCESS_KEY={secret}\n"
    assert "credentials.toml" in podman("exec", container.name, "ls", "/data").stdout.split()
    assert secret in podman("exec", container.name, "cat", "/data/credentials.toml").stdout


def test_starts_without_an_argument_and_keeps_the_credentials_it_made(run, volume):
    first = run("--volume", f"{volume}:/data")
    pair = made_credentials(first.log())
    check_s3(s3(first.endpoint, *pair))
    podman("stop", "--time", "10", first.name)
    assert first.inspect()["State"]["ExitCode"] == 0
    second = run("--volume", f"{volume}:/data")
    client = s3(second.endpoint, *pair)
    assert client.get_object(Bucket="a-bucket", Key="a key")["Body"].read() == b"its content"


def test_runs_as_any_user_on_a_named_volume(run, volume):
    container = run("--user", "1000", "--volume", f"{volume}:/data", *PAIR)
    check_s3(s3(container.endpoint))


@pytest.mark.parametrize("owner", [0, 1000, 4321])
def test_runs_as_root_on_a_directory_of_anyone(run, tmp_path, owner):
    os.chown(tmp_path, owner, owner)
    container = run("--volume", f"{tmp_path}:/data", *PAIR)
    check_s3(s3(container.endpoint))


def test_runs_as_the_owner_of_a_directory(run, tmp_path):
    os.chown(tmp_path, 1000, 1000)
    container = run("--user", "1000:1000", "--volume", f"{tmp_path}:/data", *PAIR)
    check_s3(s3(container.endpoint))


@pytest.mark.parametrize("options", [("--user", "1000"), ("--cap-drop", "all", "--user", "7:7")])
def test_says_who_may_not_write_where(run, tmp_path, options):
    tmp_path.chmod(0o755)
    container = run("--volume", f"{tmp_path}:/data", *options, *PAIR, waits=False)
    podman("wait", container.name)
    assert container.inspect()["State"]["ExitCode"] == 1
    user = options[-1].split(":")[0]
    assert "/data" in container.log() and f"user {user}" in container.log(), container.log()
    assert "chown" in container.log()


def test_says_that_a_mount_is_read_only(run, tmp_path):
    container = run("--volume", f"{tmp_path}:/data:ro", *PAIR, waits=False)
    podman("wait", container.name)
    assert container.inspect()["State"]["ExitCode"] == 1
    assert "read-only" in container.log().lower(), container.log()


def test_runs_with_nothing_writable_but_the_volume_and_without_capabilities(run, volume):
    container = run("--read-only", "--cap-drop", "all", "--volume", f"{volume}:/data", *PAIR)
    check_s3(s3(container.endpoint))


@pytest.mark.parametrize("flavour", ["liteio", "shell", "minio", "localstack", "s3mock"])
def test_is_healthy(flavour):
    """Timers of checks want systemd, so the check of the image is asked for."""
    client = docker.from_env()
    container = client.containers.run(f"localhost/liteio-{flavour}", detach=True)
    try:
        wait_for(
            "healthy",
            lambda: podman("healthcheck", "run", container.id, check=False).returncode == 0,
            container=container.id,
        )
    finally:
        container.remove(v=True, force=True)


@pytest.mark.parametrize("flavour", ["shell", "minio"])
def test_starts_as_a_service_of_github_actions(run, flavour):
    """`docker create` without a command, with variables, and a check inside the image."""
    container = run(*MINIO, flavour=flavour)
    podman("exec", container.name, "curl", "-f", "http://localhost:9000/minio/health/live")
    podman("exec", container.name, "sh", "-c", "curl -sf http://localhost:9000/minio/health/live || exit 1")
    podman("exec", container.name, "mc", "ready", "local")
    check_s3(s3(container.endpoint))


def test_curl_fails_as_curl_does(run):
    container = run(*PAIR)

    def code(*arguments):
        return podman("exec", container.name, "curl", *arguments, check=False).returncode

    assert code("-f", "http://localhost:9000/no-such-bucket") == 22
    assert code("-s", "http://localhost:1/") == 7
    assert code("http://no.such.host.invalid/") == 6
    assert code("-w", "x", "http://localhost:9000/") == 2
    assert code("-fsS", "-o", "/dev/null", "-m", "3", "http://localhost:9000/_liteio/health/live") == 0


def test_stops_when_a_script_started_it(run):
    command = ("sh", "-c", "mkdir -p /tmp/x && exec /liteio server")
    for entry in (command, ("sh", "-c", "liteio server & sleep 0.1; wait")):
        container = run("--entrypoint", json.dumps(list(entry)), *PAIR, flavour="shell")
        podman("stop", "--time", "10", container.name)
        assert container.inspect()["State"]["ExitCode"] in (0, 143)


def test_minio_answers_as_minio(run):
    container = run(flavour="minio", command=("server", "/data", "--console-address", ":9001"))
    check_s3(s3(container.endpoint, "minioadmin", "minioadmin", "eu-west-7"))
    assert "API: http://" in container.log()


def test_s3mock_answers_as_s3mock(run):
    container = run(
        "--env", "COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS=one,two", flavour="s3mock",
        inside=9090, waits=False,
    )
    container.wait("/favicon.ico")
    client = s3(container.endpoint, "foo", "bar")
    assert [it["Name"] for it in client.list_buckets()["Buckets"]] == ["one", "two"]
    check_s3(client, "one")
