"""The pytest plugin: a server per session (and per pytest-xdist worker), a space per test."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ContextManager, Dict, Iterator

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

    if not isinstance(s3_server_options, Mapping):
        raise pytest.UsageError(
            f"s3_server_options returned {s3_server_options!r}: return a dictionary of options of liteio.Server, such as "
            '{"buckets": ["photos"]}, or {} for none'
        )
    with Server(**s3_server_options) as server:
        _options[server] = s3_server_options
        yield server


@pytest.fixture
def s3_space(s3_server: Server) -> Iterator[Space]:
    """A space of the server for this test; the variables AWS_… point at it meanwhile.

    A server in memory that accepts any key has its main space only, which is reset for the test."""
    from liteio import environment

    with space_of_test(s3_server) as space, environment(space):
        yield space


def space_of_test(server: Server) -> ContextManager[Space]:
    # A reset would empty a data directory.
    if getattr(server, "_accepts_any_key", None) is None or not server._is_in_memory:
        return server.space()
    server.reset()
    return nullcontext(server)


@pytest.fixture
def s3_client(s3_space: Space) -> Any:
    """A boto3 S3 client in the space of this test."""
    return s3_space.client("s3")


@pytest.fixture
def s3_bucket(s3_client: Any) -> str:
    """The name of an empty bucket in the space of this test."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    region = s3_client.meta.region_name
    location = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3_client.create_bucket(Bucket=name, **location)
    return name
