"""The pytest plugin: a server for the session (of each worker of pytest-xdist), a space of it for each test."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Dict, Iterator

import pytest

if TYPE_CHECKING:
    from liteio import Server, Space


@pytest.fixture(scope="session")
def s3_server_options() -> Dict[str, Any]:
    """The options of `liteio.Server` for the server of the session. Define a fixture of this name to give others."""
    return {}


@pytest.fixture(scope="session")
def s3_server(s3_server_options: Dict[str, Any]) -> Iterator[Server]:
    """The server of the session, in memory; each worker of pytest-xdist has one."""
    from liteio import Server

    with Server(**s3_server_options) as server:
        yield server


@pytest.fixture
def s3_space(s3_server: Server) -> Iterator[Space]:
    """A space of the server for this test alone; the variables AWS_… point at it meanwhile."""
    from liteio import environment

    with s3_server.space() as space, environment(space):
        yield space


@pytest.fixture
def s3_client(s3_space: Space) -> Any:
    """A client of boto3 for S3 in the space of this test."""
    return s3_space.client("s3")


@pytest.fixture
def s3_bucket(s3_client: Any) -> str:
    """The name of an empty bucket in the space of this test."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    s3_client.create_bucket(Bucket=name)
    return name
