"""The pytest plugin: a server per session (and per pytest-xdist worker), a space per test."""

from __future__ import annotations

import uuid
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator

import pytest

if TYPE_CHECKING:
    from liteio import Server, Space

# The options that servers of s3_server were started with.
_options: "weakref.WeakKeyDictionary[Server, Dict[str, Any]]" = weakref.WeakKeyDictionary()


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fails a test whose module defines other options than those that the server of the session runs with: pytest keeps
    the server, and the test would meet settings that it did not ask for."""
    fixtures = getattr(item, "funcargs", {})
    server: Any = fixtures.get("s3_server")
    try:
        running = _options.get(server)
    except TypeError:  # A fixture of the suite itself has this name.
        return
    wanted = fixtures.get("s3_server_options", running)
    if running is not None and wanted != running:
        raise pytest.UsageError(
            f"s3_server runs with the options {running}, not with {wanted}: it is one server for all tests. Define "
            "s3_server_options once, in the top conftest.py, or start a liteio.Server(…) in a fixture of this module"
        )


@pytest.fixture(scope="session")
def s3_server_options() -> Dict[str, Any]:
    """Options of `liteio.Server` for the session server. Define a fixture of this name in the top conftest.py to change
    them."""
    return {}


@pytest.fixture(scope="session")
def s3_server(s3_server_options: Dict[str, Any]) -> Iterator[Server]:
    """The session server, in memory; each pytest-xdist worker has its own."""
    from liteio import Server

    with Server(**s3_server_options) as server:
        _options[server] = s3_server_options
        yield server


@pytest.fixture
def s3_space(s3_server: Server) -> Iterator[Space]:
    """A space of the server for this test; the variables AWS_… point at it meanwhile."""
    from liteio import environment

    with s3_server.space() as space, environment(space):
        yield space


@pytest.fixture
def s3_client(s3_space: Space) -> Any:
    """A boto3 S3 client in the space of this test."""
    return s3_space.client("s3")


@pytest.fixture
def s3_bucket(s3_client: Any) -> str:
    """The name of an empty bucket in the space of this test."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    s3_client.create_bucket(Bucket=name)
    return name
