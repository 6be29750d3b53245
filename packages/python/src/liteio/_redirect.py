"""Sends requests for AWS to a server: those of clients that were made before, or with an endpoint of AWS.

The variables AWS_ENDPOINT_URL… reach clients that are made later and name no endpoint. The others must not reach AWS
from a test, so the method of botocore and aiobotocore that sends a request is replaced for a while: whenever a client
was made, it sends by this method.
"""

from __future__ import annotations

import importlib
import re
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit, urlunsplit

from ._moto import refuse_active_moto
from ._refusals import refusal_of, respond, respond_async
from ._signature import name_space, sign_for
from ._space import Space

DOMAINS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
# [BUCKET.]s3[-fips|-accelerate|-external-1|-REGION][.dualstack][.REGION].DOMAIN
HOST_OF_S3 = re.compile(
    r"(?:(?P<bucket>.+?)\.)?s3(?:-fips|-accelerate|-external-1|-[a-z]{2}(?:-[a-z]+)+-\d+)?"
    r"(?:\.dualstack)?(?:\.[a-z]{2}(?:-[a-z]+)+-\d+)?\.amazonaws\.com(?:\.cn)?"
)
CLIENTS = (
    ("botocore.httpsession", "URLLib3Session", respond),
    ("aiobotocore.httpsession", "AIOHTTPSession", respond_async),
)


class Target(NamedTuple):
    """Where requests for AWS go."""

    endpoint: str
    #: Whose keys sign them. Without it they keep their signatures.
    space: Optional[Space] = None
    checks_location: bool = False
    #: Of mock_aws, which moto's mock does not go with.
    is_mock: bool = False


def redirected(url: str, endpoint: str) -> str:
    """The URL at the endpoint, with the bucket in the path; a URL that is not of AWS as it is."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if not host.endswith(DOMAINS):
        return url
    found = HOST_OF_S3.fullmatch(host)
    bucket = found["bucket"] if found else None
    path = f"/{bucket}{parts.path or '/'}" if bucket else parts.path
    to = urlsplit(endpoint)
    return urlunsplit((to.scheme, to.netloc, path, parts.query, ""))


@contextmanager
def redirect(target: Target) -> Iterator[None]:
    """Redirects what botocore, and aiobotocore if it is imported, send to AWS meanwhile."""
    replaced: List[Tuple[Any, Callable[..., Any]]] = []
    try:
        importlib.import_module("botocore.httpsession")
    except ImportError:
        pass  # Other clients have the variables.
    for module, name, answer in CLIENTS:
        session = getattr(sys.modules.get(module), name, None)
        if session is not None:
            replaced.append((session, session.send))
            session.send = sending(session.send, answer, target)
    try:
        yield
    finally:
        for session, send in replaced:
            session.send = send


def sending(send: Callable[..., Any], answer: Callable[..., Any], target: Target) -> Callable[..., Any]:
    """`send` of botocore, or of aiobotocore, which returns an awaitable, as `answer` then does."""

    def to_endpoint(self: Any, request: Any) -> Any:
        url = redirected(request.url, target.endpoint)
        if url != request.url:
            request.url = url
            if target.space is not None:
                sign_for(request, target.space)
        if urlsplit(url).netloc == urlsplit(target.endpoint).netloc:
            if target.space is not None:
                name_space(request, target.space)
            if target.is_mock:
                refuse_active_moto()
        refusal = refusal_of(request, target.endpoint, checks_location=target.checks_location)
        return send(self, request) if refusal is None else answer(refusal, request.url)

    return to_endpoint
