"""One server and one browser for all tests; a page, signed in, for each."""

import os
import re
import subprocess

import boto3
import pytest

from browser import Browser


@pytest.fixture(scope="session")
def server():
    process = subprocess.Popen(
        [os.environ["LITEIO"], "server", "--memory", "--address", "127.0.0.1:0", "--log", "warn"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        found = re.search(r"Endpoint\s+(\S+)", line)
        if found:
            break
    else:
        raise AssertionError("the server did not start")
    yield found[1]
    process.terminate()
    process.wait(30)


@pytest.fixture(scope="session")
def s3(server):
    return boto3.client("s3", endpoint_url=server, region_name="us-east-1", aws_access_key_id="liteio",
                        aws_secret_access_key="liteio123")


@pytest.fixture(scope="session")
def browser():
    started = Browser()
    yield started
    started.close()


@pytest.fixture
def page(browser, server):
    opened = browser.page(f"{server}/_liteio/console/")
    opened.fill("Access key", "liteio")
    opened.fill("Secret key", "liteio123")
    opened.click("Sign in")
    opened.sees("New bucket")
    yield opened
    assert opened.complaints() == []
    opened.close()
