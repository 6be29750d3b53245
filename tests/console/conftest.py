"""One server and one browser for all tests; a page, signed in, for each."""

import collections
import contextlib
import json
import os
import re
import subprocess

import boto3
import pytest

from browser import Browser

KEYS = {"aws_access_key_id": "liteio", "aws_secret_access_key": "liteio123"}


CASES_FEW = 3


def pytest_addoption(parser):
    parser.addoption("--rotation", type=int, metavar="NUMBER",
                     help="a third of the cases of each test, another third for the next number")


def pytest_collection_modifyitems(config, items):
    """A page of its own for each case is a second of the browser's time."""
    rotation = config.getoption("--rotation")
    if rotation is None:
        return
    tests = collections.defaultdict(list)
    for item in items:
        tests[item.nodeid.split("[")[0]].append(item)
    left = {item for cases in tests.values() if len(cases) > CASES_FEW
            for place, item in enumerate(cases) if (place + rotation) % 3}
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@contextlib.contextmanager
def start(*options, banner=r"Endpoint\s+(\S+)", data_dir=None):
    """A server, in memory or in a directory; the address that its banner tells."""
    data = ["--data-dir", data_dir] if data_dir else ["--memory"]
    process = subprocess.Popen(
        [os.environ["LITEIO"], "server", *data, "--address", "127.0.0.1:0", "--log", "warn", *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        found = re.search(banner, line)
        if found:
            break
    else:
        raise AssertionError("the server did not start")
    try:
        yield found[1]
    finally:
        process.terminate()
        process.wait(30)


def client(server, service="s3", **keys):
    return boto3.client(service, endpoint_url=server, region_name="us-east-1", **(keys or KEYS))


def sign_in(browser, server, access_key="liteio", secret_key="liteio123"):
    opened = browser.page(f"{server}/_liteio/console/")
    opened.fill("Access key", access_key)
    opened.fill("Secret key", secret_key)
    opened.click("Sign in")
    opened.sees("New bucket")
    return opened


def user_with(iam, name, *statements):
    """A user with rights; its keys."""
    iam.create_user(UserName=name)
    if statements:
        document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": list(statements), "Resource": "*"}]}
        iam.put_user_policy(UserName=name, PolicyName="rights", PolicyDocument=json.dumps(document))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys")
    subprocess.run([os.environ["LITEIO"], "key", "new", keys / "master.key"], check=True, capture_output=True)
    with start("--master-key-file", keys / "master.key", "--webhook", "thumbnails=http://127.0.0.1:9/hook",
               "--test-api") as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def s3(server):
    return client(server)


@pytest.fixture(scope="session")
def iam(server):
    return client(server, "iam")


@pytest.fixture(scope="session")
def browser():
    started = Browser()
    yield started
    started.close()


@pytest.fixture(scope="session")
def filled(server):
    """What the tests of all pages see."""
    from pages import fill
    fill(server)


@pytest.fixture
def page(browser, server):
    opened = sign_in(browser, server)
    yield opened
    assert opened.complaints() == []
    opened.close()
