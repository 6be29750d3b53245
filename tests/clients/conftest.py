"""A LiteIO server for each backend, started on a free port and stopped by its process id.

With --tls all of them serve HTTPS, by a certificate that the first of them has made. With --cluster the backend is a cluster of
three servers over PostgreSQL, behind a balancer that sends each request to another one."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import uuid

import boto3
import pytest
from botocore.config import Config

from cli import Cli

ACCESS_KEY = "client-suite"
SECRET_KEY = "client-suite-secret"
# Kills in a row in each test of them.
KILLS = int(os.environ.get("SUITE_KILLS", "4"))


class Server:
    """One running server; `endpoint` is its URL."""

    TLS = ()
    ROOT = ("--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY)

    def __init__(self, *arguments, credentials=ROOT, log=subprocess.DEVNULL):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LITEIO_")}
        self.process = subprocess.Popen(
            [os.environ["LITEIO"], "server", "--address", "127.0.0.1:0",
             *credentials, *Server.TLS, *arguments],
            stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        self.endpoint = None
        for line in self.process.stdout:
            found = re.search(r"https?://127\.0\.0\.1:\d+", line)
            if found:
                self.endpoint = found.group(0)
                break
        assert self.endpoint, "the server did not print its endpoint"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0


class ServersOfCluster:
    """Several servers as one endpoint."""

    def __init__(self, *arguments, in_bucket=False):
        from proxy import RoundRobin
        from servers import Cluster

        self.cluster = Cluster(arguments=arguments, root=(ACCESS_KEY, SECRET_KEY), in_bucket=in_bucket)
        self.balancer = RoundRobin(lambda: [server.port for server in self.cluster.servers])
        self.endpoint = f"http://127.0.0.1:{self.balancer.port}"

    def stop(self):
        self.balancer.stop()
        self.cluster.end()


def pytest_addoption(parser):
    parser.addoption("--tls", action="store_true", help="over HTTPS")
    parser.addoption("--cluster", action="store_true", help="against three servers over PostgreSQL")
    parser.addoption("--in-bucket", action="store_true", help="with --cluster: with the bodies in a bucket of another server")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--cluster"):
        return
    from not_applicable import reason

    for item in items:
        why = reason(item.module.__name__, item.function.__name__)
        if why is not None:
            item.add_marker(pytest.mark.skip(reason=why))


def pytest_generate_tests(metafunc):
    if "server" in metafunc.fixturenames:
        backends = ["cluster"] if metafunc.config.getoption("--cluster") else ["memory", "directory"]
        metafunc.parametrize("server", backends, indirect=True, scope="session")


def pytest_configure(config):
    if config.getoption("--cluster"):
        sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
    if not config.getoption("--tls"):
        return
    directory = tempfile.mkdtemp(prefix="liteio-tls-")
    Server("--data-dir", directory, "--tls-self-signed").stop()
    certificate = f"{directory}/tls/certificate.pem"
    Server.TLS = ("--tls-cert", certificate, "--tls-key", f"{directory}/tls/key.pem")
    # Read by boto3 and the AWS CLI, and by Python's own client.
    os.environ["AWS_CA_BUNDLE"] = os.environ["SSL_CERT_FILE"] = certificate


def client(endpoint, **config):
    return boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1",
        aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"max_attempts": 1}, **config))


def make_keys(directory):
    """Makes a master key and a KMS key as a user does, and returns the arguments that name their files."""
    master, kms = str(directory / "master.key"), str(directory / "kms.toml")
    for arguments in ([master], [kms, "--name", "reports"]):
        subprocess.run([os.environ["LITEIO"], "key", "new", *arguments], check=True,
                       stdout=subprocess.DEVNULL)
    return "--master-key-file", master, "--kms-key-file", kms, "--allow-insecure-sse-c"


@pytest.fixture(scope="session")
def server(request, tmp_path_factory):
    keys = make_keys(tmp_path_factory.mktemp("keys"))
    if request.param == "cluster":
        # It has a master key of its own.
        started = ServersOfCluster(*keys[2:], in_bucket=request.config.getoption("--in-bucket"))
    elif request.param == "memory":
        started = Server("--memory", *keys)
    else:
        started = Server("--data-dir", str(tmp_path_factory.mktemp("data")), *keys)
    yield started
    started.stop()


@pytest.fixture
def s3(server):
    return client(server.endpoint)


@pytest.fixture
def bucket(s3):
    name = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture(scope="session")
def cli():
    started = Cli()
    yield started
    started.stop()


@pytest.fixture
def aws(server, cli, tmp_path):
    """Runs the AWS CLI and returns its standard output."""
    def run(*arguments, check=True):
        environment = dict(
            os.environ, AWS_ACCESS_KEY_ID=ACCESS_KEY, AWS_SECRET_ACCESS_KEY=SECRET_KEY,
            AWS_DEFAULT_REGION="us-east-1", AWS_CONFIG_FILE=str(tmp_path / "no-config"),
            AWS_SHARED_CREDENTIALS_FILE=str(tmp_path / "no-credentials"), AWS_PAGER="",
            AWS_MAX_ATTEMPTS="1")
        result = cli.run(["--endpoint-url", server.endpoint, *arguments], environment, tmp_path)
        if check:
            assert result.returncode == 0, result.stderr
            return result.stdout
        return result
    return run
