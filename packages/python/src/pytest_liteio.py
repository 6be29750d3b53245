"""The pytest plugin: a server per session (and per pytest-xdist worker), a space per test."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Dict, Iterator

import pytest

if TYPE_CHECKING:
    from liteio import Server, Space


@pytest.fixture(scope="session")
def s3_server_options() -> Dict[str, Any]:
    """Options of `liteio.Server` for the session server. Define a fixture of this name to change them."""
    return {}


@pytest.fixture(scope="session")
def s3_server(s3_server_options: Dict[str, Any]) -> Iterator[Server]:
    """The session server, in memory; each pytest-xdist worker has its own."""
    from liteio import Server

    with Server(**s3_server_options) as server:
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
