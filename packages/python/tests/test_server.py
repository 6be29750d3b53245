"""A server as a user of the package meets it: its start, its options, its end."""

import os
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

import liteio
from liteio._settings import check_effect


def names_of_buckets(client):
    return [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]


def wait_until_closed(endpoint):
    address = urlsplit(endpoint)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            socket.create_connection((address.hostname, address.port), timeout=1).close()
        except OSError:
            return
        time.sleep(0.01)
    pytest.fail(f"{endpoint} is still served")


def test_objects_are_stored(server):
    s3 = server.client("s3")
    s3.create_bucket(Bucket="photos")
    s3.put_object(Bucket="photos", Key="hello.txt", Body=b"hello")
    assert s3.get_object(Bucket="photos", Key="hello.txt")["Body"].read() == b"hello"
    assert server.resource("s3").Bucket("photos").Object("hello.txt").content_length == 5


def test_clients_need_no_profile(server, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "not-there")
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2020-01-01T00:00:00Z")
    assert names_of_buckets(server.client()) == []
    assert list(server.resource("s3").buckets.all()) == []


def test_two_servers_share_nothing():
    with liteio.Server(buckets=["one-bucket"]) as one, liteio.Server() as other:
        assert names_of_buckets(one.client()) == ["one-bucket"]
        assert names_of_buckets(other.client()) == []


def test_buckets_and_seed_are_there_at_the_start(tmp_path):
    (tmp_path / "albums" / "2026").mkdir(parents=True)
    (tmp_path / "albums" / "2026" / "a.jpg").write_bytes(b"picture")
    with liteio.Server(buckets=["letters:versioned", "open-door:public"], seed=tmp_path) as server:
        s3 = server.client()
        assert names_of_buckets(s3) == ["albums", "letters", "open-door"]
        assert s3.get_bucket_versioning(Bucket="letters")["Status"] == "Enabled"
        assert s3.get_object(Bucket="albums", Key="2026/a.jpg")["Body"].read() == b"picture"


def test_a_data_directory_keeps_its_data(tmp_path):
    with liteio.Server(data_dir=tmp_path / "data", buckets=["kept"]) as server:
        server.client().put_object(Bucket="kept", Key="key", Body=b"body")
    with liteio.Server(data_dir=tmp_path / "data") as server:
        assert server.client().get_object(Bucket="kept", Key="key")["Body"].read() == b"body"


def test_credentials_and_region_are_those_given():
    with liteio.Server(access_key="tester", secret_key="tester-secret", region="eu-west-1") as server:
        assert server.env()["AWS_ACCESS_KEY_ID"] == "tester"
        assert server.env()["AWS_REGION"] == "eu-west-1"
        assert names_of_buckets(server.client()) == []
        server.secret_key = "another-secret"
        with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
            server.client().list_buckets()


@pytest.mark.parametrize("profile", [None, "localstack"])
def test_any_region_is_accepted(profile):
    with liteio.Server(profile=profile) as server:
        assert server.region == server.env()["AWS_REGION"] == "us-east-1"
        elsewhere = {"LocationConstraint": "eu-central-1"}
        server.client("s3", region_name="eu-central-1").create_bucket(Bucket="photos", CreateBucketConfiguration=elsewhere)
        assert names_of_buckets(server.client()) == ["photos"]


def test_another_region_than_the_one_given_is_refused():
    with liteio.Server(region="eu-west-1") as server:
        with pytest.raises(ClientError, match="AuthorizationHeaderMalformed"):
            names_of_buckets(server.client("s3", region_name="eu-central-1"))


@pytest.mark.parametrize("profile", ["minio", "localstack", "s3mock"])
def test_profiles(profile):
    with liteio.Server(profile=profile) as server:
        assert names_of_buckets(server.client()) == []
        assert (server.access_key == "minioadmin") == (profile == "minio")


def test_variables_of_this_process_are_no_settings_of_the_server(monkeypatch, tmp_path):
    monkeypatch.setenv("LITEIO_BUCKET", "of-another-server")
    monkeypatch.setenv("MINIO_ROOT_USER", "somebody")
    monkeypatch.setenv("MINIO_ROOT_PASSWORD", "some-password")
    with liteio.Server() as server:
        assert names_of_buckets(server.client()) == []
    with liteio.Server(environment={"LITEIO_BUCKET": "of-this-server"}) as server:
        assert names_of_buckets(server.client()) == ["of-this-server"]


def test_a_start_that_fails_says_why():
    with pytest.raises(liteio.StartFailed, match='"B" is not valid'):
        liteio.Server(buckets=["B"]).start()
    with pytest.raises(liteio.StartFailed, match="--no-such-flag"):
        liteio.Server(arguments=["--no-such-flag"]).start()


def test_wrong_options_are_refused():
    for given, told in [
        ({"buckets": "photos"}, "buckets is a list of strings, not 'photos'"),
        ({"buckets": 5}, "buckets is a list of strings, not 5"),
        ({"buckets": [5]}, "buckets is a list of strings, but has 5"),
        ({"arguments": [5]}, "arguments is a list of strings, but has 5"),
        ({"region": 5}, "region is a string, not 5"),
        ({"access_key": b"key"}, "access_key is a string, not b'key'"),
        ({"environment": ["A=5"]}, r"environment is a dictionary of strings, not \['A=5'\]"),
        ({"environment": {"LITEIO_LOG": 5}}, "environment is a dictionary of strings, but has 'LITEIO_LOG': 5"),
    ]:
        for make in (liteio.Server, liteio.mock_aws, lambda **given: liteio.Server(**liteio.like_moto(**given))):
            with pytest.raises(TypeError, match=f"^{told}$"):
                make(**given)
    for name in ("seed", "data_dir", "binary"):
        with pytest.raises(TypeError, match=rf"^{name} is one path, not \['photos'\]$"):
            liteio.Server(**{name: ["photos"]})
    with pytest.raises(liteio.LiteIOError, match="not running"):
        liteio.Server().endpoint
    with pytest.raises(liteio.LiteIOError, match="not running"):
        liteio.Server().reset()


@pytest.mark.parametrize(("given", "told"), [
    ({"bucket": ["photos"]}, r"Server has no option 'bucket': did you mean buckets=…\?"),
    ({"bukets": ["photos"]}, r"Server has no option 'bukets': did you mean buckets=…\?"),
    ({"zone": "utc"}, "Server has no option 'zone': it has data_dir, buckets, .*, environment"),
])
def test_a_misspelled_option_has_the_one_that_was_meant(given, told):
    with pytest.raises(TypeError, match=f"^{told}$"):
        liteio.Server(**given)


def test_a_port_is_the_one_given():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with liteio.Server(port=port) as server:
        assert server.endpoint == f"http://127.0.0.1:{port}"
        assert names_of_buckets(server.client()) == []
        told = r"in use.*leave out port= \(a free one is chosen; each worker of pytest-xdist needs its own\)$"
        with pytest.raises(liteio.StartFailed, match=told):
            liteio.Server(port=port).start()
    with liteio.Server(port=0) as server:
        assert urlsplit(server.endpoint).port


@pytest.mark.parametrize(("argument", "flag", "option"), [
    ("--port", "--port", "port=…"),
    ("--port=4566", "--port", "port=…"),
    ("-p4566", "-p", "port=…"),
    ("--address", "--address", "port=…; the server always listens on 127.0.0.1"),
    ("--access-key=a", "--access-key", "access_key=…"),
    ("--secret-key", "--secret-key", "secret_key=…"),
    ("--region", "--region", "region=…"),
    ("--memory", "--memory", "data_dir=…"),
    ("--data-dir=/data", "--data-dir", "data_dir=…"),
    ("-d", "-d", "data_dir=…"),
])
def test_a_flag_that_is_an_option_is_refused(argument, flag, option):
    for refused in (liteio.Server, liteio.mock_aws):
        with pytest.raises(TypeError, match=f"^arguments has {flag}: use {option}"):
            refused(arguments=[argument])


@pytest.mark.parametrize(("variable", "option"), [
    ("LITEIO_PORT", "port=…"),
    ("LITEIO_ADDRESS", "port=…"),
    ("LITEIO_ACCESS_KEY", "access_key=…"),
    ("LITEIO_SECRET_KEY_FILE", "secret_key=…"),
    ("MINIO_ROOT_USER", "access_key=…"),
    ("LITEIO_REGION", "region=…"),
    ("LITEIO_MEMORY", "data_dir=…"),
    ("LITEIO_DATA_DIR", "data_dir=…"),
])
def test_a_variable_that_is_an_option_is_refused(variable, option):
    for refused in (liteio.Server, liteio.mock_aws):
        with pytest.raises(TypeError, match=f"^environment has {variable}: use {option}"):
            refused(environment={variable: "1"})


@pytest.mark.parametrize("variable, others, beside", [
    ("LITEIO_BUCKET", {"buckets": ["letters"]}, r"buckets=… \(--bucket\)"),
    ("LITEIO_BUCKET_FILE", {"buckets": ["letters"]}, r"buckets=… \(--bucket\)"),
    ("MINIO_DEFAULT_BUCKETS", {"buckets": ["letters"]}, r"buckets=… \(--bucket\)"),
    ("LITEIO_SEED", {"seed": "seed"}, r"seed=… \(--seed\)"),
    ("LITEIO_PROFILE", {"profile": "minio"}, r"profile=… \(--profile\)"),
    ("LITEIO_BUCKET", {"arguments": ["--bucket=letters"]}, r"buckets=… \(--bucket\)"),
])
def test_a_variable_beside_the_option_that_takes_its_place_is_refused(variable, others, beside):
    message = f"^environment has {variable}, which has no effect beside {beside}: give one of them$"
    with pytest.raises(TypeError, match=message):
        liteio.Server(environment={variable: "photos"}, **others)


def test_an_empty_argument_is_no_flag_beside_a_variable():
    check_effect(["--cors-origin", ""], {"LITEIO_SCRUB_DAYS": "1"})


@pytest.mark.parametrize("others", [{}, {"LITEIO_LOG_FORMAT": "json"}])
@pytest.mark.parametrize("name", ["LITEIO_BUKET", "MINIO_ROOT_USR"])
def test_a_variable_that_the_server_does_not_know_is_refused(name, others):
    meant = {"LITEIO_BUKET": "LITEIO_BUCKET", "MINIO_ROOT_USR": "MINIO_ROOT_USER"}[name]
    told = rf"^environment: {name} is unknown and has no effect: did you mean {meant}\?$"
    server = liteio.Server(environment={name: "x", **others})
    with pytest.raises(TypeError, match=told):
        server.start()
    assert not server.is_running()
    with pytest.raises(TypeError, match=told):
        liteio.mock_aws(environment={name: "x", **others}).start()
    assert "AWS_ENDPOINT_URL" not in os.environ


def test_a_server_can_be_started_and_stopped_again_and_again():
    server = liteio.Server()
    endpoints = set()
    for _ in range(3):
        assert server.start() is server
        assert server.start().client().list_buckets()["Buckets"] == []
        endpoints.add(server.endpoint)
        server.stop()
        server.stop()
    for endpoint in endpoints:
        wait_until_closed(endpoint)


def test_stopping_waits_for_the_server():
    with liteio.Server() as server:
        address = urlsplit(server.endpoint)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname, address.port), timeout=5)


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(1)", "sys.exit(0)", "raise ValueError"])
def test_the_server_ends_with_the_process_that_started_it(end):
    program = f"import liteio, os, sys; print(liteio.Server().start().endpoint, flush=True); {end}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("http://127.0.0.1:"), done.stderr
    wait_until_closed(done.stdout.strip())


def test_a_body_that_nobody_reads_does_not_hold_up_the_stop():
    server = liteio.Server(buckets=["photos"]).start()
    s3 = server.client("s3")
    s3.put_object(Bucket="photos", Key="large", Body=bytes(16 << 20))
    answer = s3.get_object(Bucket="photos", Key="large")
    with pytest.warns(RuntimeWarning, match="is the body of an answer not closed"):
        server.stop()
    answer["Body"].close()


def test_the_server_ends_when_the_shell_above_it_was_killed(server):
    endpoint = server.endpoint
    os.kill(server._process._process.pid, signal.SIGKILL)
    server.stop()
    wait_until_closed(endpoint)


def test_a_server_that_was_killed_is_stopped_at_once(server):
    os.killpg(server._process._process.pid, signal.SIGKILL)
    wait_until_closed(server.endpoint)
    before = time.monotonic()
    server.stop()
    assert time.monotonic() - before < 5


def test_without_the_test_api_a_call_says_what_is_missing():
    with liteio.Server(environment={"LITEIO_TEST_API": ""}) as server:
        with pytest.raises(liteio.TestApiMissing, match="--test-api"):
            server.clock.now()


@pytest.mark.parametrize("option", ["access_key", "secret_key"])
def test_a_key_that_is_refused_is_named_as_the_option(option):
    with pytest.raises(liteio.StartFailed, match=f"liteio: {option}: the .* key must have") as error:
        liteio.Server(**{option: "me"}).start()
    assert "LITEIO_" not in str(error.value)


class TestFindBinary:
    def test_a_bare_name_is_searched_for_on_the_path(self, monkeypatch, tmp_path):
        (tmp_path / "liteio-of-today").symlink_to(liteio.find_binary())
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("LITEIO_BINARY", "liteio-of-today")
        assert liteio.find_binary() == liteio.find_binary("liteio-of-today") == str(tmp_path / "liteio-of-today")
        # The command of a package would search for the binary again.
        (tmp_path / "liteio").write_text("#!/bin/sh\n")
        (tmp_path / "liteio").chmod(0o755)
        with pytest.raises(liteio.BinaryNotFound, match="^binary: liteio is not an executable file"):
            liteio.find_binary("liteio")

    def test_what_is_given_comes_first(self, monkeypatch):
        binary = liteio.find_binary()
        monkeypatch.setenv("LITEIO_BINARY", "/nowhere")
        assert liteio.find_binary(binary) == binary
        with pytest.raises(liteio.BinaryNotFound, match="LITEIO_BINARY: /nowhere"):
            liteio.find_binary()
        with pytest.raises(liteio.BinaryNotFound, match="binary: /no/where"):
            liteio.find_binary("/no/where")

    def test_scripts_on_the_path_are_passed_over(self, monkeypatch, tmp_path):
        program = liteio.find_binary()
        monkeypatch.delenv("LITEIO_BINARY", raising=False)
        monkeypatch.setattr("liteio._binary.PACKAGED", tmp_path / "none")
        monkeypatch.setenv("PATH", f"{tmp_path}/scripts{os.pathsep}{tmp_path}/programs")
        (tmp_path / "scripts").mkdir()
        (tmp_path / "scripts" / "liteio").write_text("#!/bin/sh\n")
        (tmp_path / "scripts" / "liteio").chmod(0o755)
        with pytest.raises(liteio.BinaryNotFound, match="Set LITEIO_BINARY"):
            liteio.find_binary()
        (tmp_path / "programs").mkdir()
        os.symlink(program, tmp_path / "programs" / "liteio")
        assert liteio.find_binary() == str(tmp_path / "programs" / "liteio")


FORKS = """
import os, signal, sys, time
import liteio

server = liteio.Server().start()
child = os.fork()
if child == 0:
    time.sleep(600)
    os._exit(0)
before = time.monotonic()
if sys.argv[1] == "stop":
    server.stop()
    print(f"stopped {time.monotonic() - before < 5}", flush=True)
    os.kill(child, signal.SIGKILL)
else:
    print(f"{server.endpoint} {child}", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_fork_does_not_keep_the_server_from_stopping():
    done = subprocess.run([sys.executable, "-c", FORKS, "stop"], capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped True\n", done.stderr


def test_a_fork_does_not_keep_the_server_of_a_killed_process():
    killed = subprocess.Popen([sys.executable, "-c", FORKS, "kill"], stdout=subprocess.PIPE, text=True)
    endpoint, child = killed.stdout.readline().split()
    try:
        killed.wait(30)
        wait_until_closed(endpoint)
    finally:
        os.kill(int(child), signal.SIGKILL)
        killed.stdout.close()


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy"])
def test_no_proxy_is_asked(monkeypatch, server, name):
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "elsewhere.test")
    monkeypatch.delenv("no_proxy", raising=False)
    assert names_of_buckets(server.client("s3", config=Config(retries={"total_max_attempts": 1}))) == []
    assert list(server.resource("s3").buckets.all()) == []
    assert server.env()["NO_PROXY"] == server.env()["no_proxy"] == "elsewhere.test,127.0.0.1"
    with liteio.environment(server):
        assert names_of_buckets(boto3.client("s3")) == []
    assert os.environ["NO_PROXY"] == "elsewhere.test" and "no_proxy" not in os.environ


@pytest.mark.parametrize("kind", ["accesspoint", "outpost/op-01ac5d28a6a232904/accesspoint"])
@pytest.mark.parametrize("unsigned", [False, True])
def test_an_access_point_is_refused_without_a_look_at_its_host(server, kind, unsigned):
    service = "s3-outposts" if kind.startswith("outpost") else "s3"
    arn = f"arn:aws:{service}:us-east-1:111111111111:{kind}/ap"
    config = Config(signature_version=UNSIGNED) if unsigned else None
    refusal = "no access points, .*: give the name of the bucket in the place of the ARN"
    # Others than the package's own are refused during a use.
    with pytest.raises(ClientError, match=refusal):
        server.client(config=config).list_objects_v2(Bucket=arn)
    with liteio.environment(server), pytest.raises(ClientError, match=refusal):
        boto3.client("s3", config=config).list_objects_v2(Bucket=arn)


def test_clients_of_services_that_are_not_there_say_so(server):
    with pytest.raises(ClientError, match="s3control is not served here: .* Keep moto for s3control$"):
        server.client("s3control").get_public_access_block(AccountId="111111111111")
    with pytest.raises(ClientError, match="sqs is not served here"):
        server.client("sqs").list_queues()


def test_local_of_the_client_is_the_server(tmp_path):
    with liteio.Server(buckets=["photos"], secret_key="a/secret@home") as server:
        variables = {**os.environ, **server.env(), "MC_CONFIG_DIR": str(tmp_path)}
        listed = subprocess.run([liteio.find_binary(), "client", "ls", "local"], env=variables, check=True, capture_output=True)
    assert b"photos" in listed.stdout


def names_by_s3fs(bucket):
    return [name.partition("/")[2] for name in pytest.importorskip("s3fs").S3FileSystem().ls(bucket)]


def test_s3fs_finds_the_server_that_was_started_last(monkeypatch):
    for key in ("a", "b"):
        with liteio.Server(buckets=["photos"], access_key=f"the-key-of-{key}") as server:
            for name, value in server.env().items():
                monkeypatch.setenv(name, value)
            server.client().put_object(Bucket="photos", Key=key)
            assert names_by_s3fs("photos") == [key]


def test_s3fs_finds_the_state_after_a_reset(test_api, monkeypatch):
    with liteio.Server(buckets=["photos"]) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        server.snapshot("empty")
        for begin_again in (server.reset, lambda: server.restore("empty")):
            server.client().put_object(Bucket="photos", Key="a")
            assert names_by_s3fs("photos") == ["a"]
            begin_again()
            assert names_by_s3fs("photos") == []
