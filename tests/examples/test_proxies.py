"""The configurations of docs/proxies.md, in the programs that they are for, with boto3 through them.

A proxy that is not installed is skipped: Debian has packages of all three."""

import shutil
import socket
import ssl
import subprocess
import time
import urllib.request

import boto3
import pytest
from botocore.config import Config

from blocks import read_documents

PAGE = read_documents()["docs/proxies.md"]
THIS = "tests/examples/test_proxies.py::"
START_SECONDS_MAX = 20


def block(name):
    return next(each.text for each in PAGE if each.test == THIS + name)


def nginx(directory, text, port):
    text = text.replace("/etc/nginx/", f"{directory}/").replace("443", str(port))
    temporary = "".join(f"{kind}_temp_path {directory}/{kind};\n"
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (directory / "nginx.conf").write_text(
        f"daemon off;\npid {directory}/nginx.pid;\nerror_log {directory}/nginx.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{text}}}\n")
    return ["nginx", "-p", str(directory), "-c", "nginx.conf", "-e", str(directory / "nginx.log")]


def caddy(directory, text, port):
    hosts, _, rest = text.partition(" {\n")
    hosts = ", ".join(f"{host}:{port}" for host in hosts.split(", "))
    (directory / "Caddyfile").write_text(
        "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
        f"{hosts} {{\n\ttls {directory}/fullchain.pem {directory}/privkey.pem\n{rest}")
    return ["caddy", "run", "--config", str(directory / "Caddyfile")]


def haproxy(directory, text, port):
    (directory / "s3.pem").write_text(
        (directory / "fullchain.pem").read_text() + (directory / "privkey.pem").read_text())
    text = text.replace("/etc/haproxy/", f"{directory}/").replace(":443", f"127.0.0.1:{port}")
    (directory / "haproxy.cfg").write_text(text)
    return ["haproxy", "-db", "-f", str(directory / "haproxy.cfg")]


@pytest.fixture(params=[nginx, caddy, haproxy], ids=lambda each: each.__name__)
def proxy(request, sandbox, monkeypatch):
    """The port of a proxy in front of a server that was started as the page says."""
    name = request.param.__name__
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    sandbox.run(next(each for each in PAGE if each.language == "sh"))
    sandbox.run_command([
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=s3.example.com", "-addext",
        "subjectAltName=DNS:s3.example.com,DNS:*.s3.example.com", "-keyout", "privkey.pem", "-out", "fullchain.pem"])
    port = sandbox.ports["443"]
    text = block(name).replace("127.0.0.1:9000", f"127.0.0.1:{sandbox.ports['9000']}")
    with open(sandbox.state / "proxy.log", "w") as log:
        process = subprocess.Popen(request.param(sandbox.directory, text, port), cwd=sandbox.directory,
                                   env=sandbox.environment, stdout=log, stderr=log)
    try:
        wait_for(int(port), process, sandbox.state / "proxy.log")
        # All names of the page are this machine.
        real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: real(
            "127.0.0.1" if str(host).endswith("s3.example.com") else host, *rest, **more))
        yield f"https://s3.example.com:{port}", str(sandbox.directory / "fullchain.pem")
    finally:
        process.terminate()
        process.wait()


def wait_for(port, process, log):
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the proxy does not listen:\n{log.read_text()}")


@pytest.mark.parametrize("style", ["path", "virtual"])
def test_clients_of_s3_work_through_the_proxy(proxy, style):
    endpoint, certificate = proxy
    s3 = boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="an-access-key",
        aws_secret_access_key="a-secret-key", verify=certificate,
        config=Config(s3={"addressing_style": style}, signature_version="s3v4", retries={"total_max_attempts": 1}))
    s3.create_bucket(Bucket="photos")
    # boto3 sends `Expect: 100-continue` with each body, and a trailing checksum in chunks over HTTPS.
    large = bytes(range(256)) * (80 << 10)
    for key, body in [("a//b", b"1"), ("a b+c%2Fd", b"2"), ("ü/ö?&=", b"3"), ("a/../b", b"4"), ("large", large)]:
        s3.put_object(Bucket="photos", Key=key, Body=body, Metadata={"my_name": "x", "other-name": "y"},
                      ChecksumAlgorithm="SHA256")
        got = s3.get_object(Bucket="photos", Key=key)
        assert got["Body"].read() == body, key
        # Go programs such as Caddy write header names with capitals.
        assert {name.lower(): value for name, value in got["Metadata"].items()} == {"my_name": "x", "other-name": "y"}, key
    assert s3.get_object(Bucket="photos", Key="large", Range="bytes=256-511")["Body"].read() == bytes(range(256))
    trusted = ssl.create_default_context(cafile=certificate)
    url = s3.generate_presigned_url("put_object", Params={"Bucket": "photos", "Key": "signed here"})
    urllib.request.urlopen(urllib.request.Request(url, data=b"signed", method="PUT"), context=trusted).close()
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "photos", "Key": "signed here"})
    with urllib.request.urlopen(url, context=trusted) as answer:
        assert answer.read() == b"signed"
    # The server takes the connection of the client for encrypted, or it would refuse the key.
    key = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": "k" * 32}
    s3.put_object(Bucket="photos", Key="sealed", Body=b"sealed", **key)
    assert s3.get_object(Bucket="photos", Key="sealed", **key)["Body"].read() == b"sealed"


def test_each_configuration_of_the_page_is_run():
    names = {each.test.removeprefix(THIS) for each in PAGE if each.test and each.test.startswith(THIS)}
    assert names == {"nginx", "caddy", "haproxy"}
