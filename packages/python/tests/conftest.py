import os
import subprocess

import pytest

import liteio

pytest_plugins = ["pytester"]
REQUIRED = "LITEIO_REQUIRE_TEST_API"


def has_test_api():
    answer = subprocess.run([liteio.find_binary(), "server", "--help"], capture_output=True, text=True, check=True)
    return "--test-api" in answer.stdout


def pytest_report_header():
    return f"liteio: {liteio.find_binary()}, {'with' if has_test_api() else 'WITHOUT'} the test API"


@pytest.fixture(scope="session", autouse=True)
def test_api_of_session():
    return has_test_api()


@pytest.fixture
def test_api(test_api_of_session):
    """For tests that need the test API: those are skipped if the binary lacks it, but not where it is required."""
    if not test_api_of_session:
        message = "the binary has no --test-api"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{message}, and {REQUIRED} is set")
        pytest.skip(message)


@pytest.fixture
def server():
    with liteio.Server() as server:
        yield server


@pytest.fixture
def testing_server(test_api, server):
    return server
