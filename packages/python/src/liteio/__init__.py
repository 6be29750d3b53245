"""LiteIO for tests: an object store that speaks Amazon S3, started in milliseconds.

    import liteio

    with liteio.Server(buckets=["photos"]) as server:
        s3 = server.client("s3")
        s3.put_object(Bucket="photos", Key="hello.txt", Body=b"hello")
"""

from typing import TYPE_CHECKING, List

from ._binary import BinaryNotFound, find_binary
from ._clock import Clock
from ._control import LiteIOError, TestApiError, TestApiMissing, WaitTimeout
from ._environment import environment
from ._faults import Fault
from ._mock import absent_mock, mock_aws, mock_iam, mock_s3, mock_sts
from ._mock_defaults import like_moto
from ._process import StartFailed
from ._records import Event, RecordedRequest
from ._server import Server
from ._space import Space

__all__ = [
    "BinaryNotFound",
    "Clock",
    "Event",
    "Fault",
    "LiteIOError",
    "RecordedRequest",
    "Server",
    "Space",
    "StartFailed",
    "TestApiError",
    "TestApiMissing",
    "WaitTimeout",
    "environment",
    "find_binary",
    "like_moto",
    "mock_aws",
    "mock_iam",
    "mock_s3",
    "mock_sts",
]
__version__ = "0.1.0"


if not TYPE_CHECKING:  # Type checkers would take any name for one of the package.

    def __getattr__(name: str) -> object:
        if name.startswith("mock_"):
            # `from liteio import mock_sqs` would hide the text of an AttributeError.
            raise ImportError(absent_mock(name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return [name for name in globals() if name in __all__ or name.startswith("__")]
