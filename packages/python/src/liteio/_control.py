"""Client of the test API, with a new connection for each call, without proxy or pool."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any, Mapping, Optional
from urllib.parse import quote, urlencode, urlsplit

SECONDS_MAX = 30.0
TEST_API = "/_liteio/test"


class LiteIOError(Exception):
    """Base class of the errors of this package."""


class TestApiError(LiteIOError):
    """The test API rejected a call."""

    __test__ = False  # pytest collects classes with such names.

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{code} ({status}): {message}")
        self.status = status
        self.code = code
        self.message = message


class TestApiMissing(TestApiError):
    """The server has no test API."""


class WaitTimeout(LiteIOError, TimeoutError):
    """The awaited request or event did not arrive in time."""


class Control:
    """Calls the test API of one server."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme != "http" or parts.hostname is None:
            raise LiteIOError(f"the endpoint {endpoint} is not plain HTTP, which the test API needs")
        self.host = parts.hostname
        self.port = parts.port or 80

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
        seconds_max: float = SECONDS_MAX,
    ) -> Any:
        """JSON of the answer, or None without a body."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = TEST_API + path + (f"?{urlencode(given)}" if given else "")
        content = None if body is None else json.dumps(body).encode()
        status, answer = self.exchange(method, target, content, seconds_max)
        if status >= 400:
            raise error_of(status, answer)
        return json.loads(answer) if answer else None

    def delete(self, path: str, *, query: Optional[Mapping[str, Any]] = None) -> None:
        """Deletes what may be deleted already, such as a rule by a reset."""
        try:
            self.call("DELETE", path, query=query)
        except TestApiMissing:
            raise
        except TestApiError as error:
            if error.status != 404:
                raise

    def is_ready(self) -> bool:
        try:
            return self.exchange("GET", "/_liteio/health/ready", None, SECONDS_MAX)[0] == 200
        except OSError:
            return False

    def exchange(
        self, method: str, target: str, content: Optional[bytes], seconds_max: float
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=seconds_max)
        try:
            headers = {} if content is None else {"Content-Type": "application/json"}
            connection.request(method, target, content, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def segment(name: str) -> str:
    """Encodes a name as one path segment."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a text, not {name!r}")
    return quote(name, safe="")


def error_of(status: int, answer: bytes) -> TestApiError:
    text = answer.decode(errors="replace")
    code = element(text, "Code") or "Unknown"
    message = element(text, "Message") or text
    if status == 404 and message.startswith("The test API is off"):
        return TestApiMissing(
            status, code, "the server has no test API: it is older than this package, or was started without --test-api"
        )
    return TestApiError(status, code, message)


def element(document: str, name: str) -> Optional[str]:
    found = re.search(f"<{name}>(.*?)</{name}>", document, re.DOTALL)
    if found is None:
        return None
    text = found[1]
    for entity, character in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'"), ("amp", "&")):
        text = text.replace(f"&{entity};", character)
    return text
