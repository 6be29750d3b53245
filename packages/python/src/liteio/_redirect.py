"""Sends requests for AWS to a server: those of clients that were made before, or with an endpoint of AWS.

The variables AWS_ENDPOINT_URL… reach clients that are made later and name no endpoint. The others must not reach AWS
from a test, nor the server or space of another one, nor the server that the variables have named before, so the method of
botocore and aiobotocore that sends a request is replaced for a while: whenever a client was made, it sends by this method.
"""

from __future__ import annotations

import copy
import functools
import importlib
import re
import socket
import sys
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, NamedTuple, Tuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ._control import LiteIOError
from ._moto import refuse_active_moto, refuse_keys_of_moto
from ._published import accepts_any_key, is_kept_key, path_at_replaced, place_of, publish, was_key_published, was_published
from ._refusals import SERVED, refusal_of, respond, respond_async
from ._signature import key_of, name_space, service_of, sign_for, text_of
from ._space import NAMES_ITS_SERVER, Space

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
# Attribute of what sends the requests of one client: the innermost target at the time when the client was made.
MADE_FOR = "_liteio_made_for"
# Attribute of a request that the innermost target has seen. Those around it leave it there.
IS_DIRECTED = "_liteio_is_directed"


class Target(NamedTuple):
    """Where requests for AWS go."""

    endpoint: str
    #: Whose keys sign them.
    space: Space
    checks_location: bool = False
    #: Of mock_aws: moto's mock does not go with it, and keys of the test stay, since it takes any or checks its own.
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
    return moved(parts._replace(path=path), endpoint)


def moved(parts: SplitResult, endpoint: str) -> str:
    to = urlsplit(endpoint)
    return urlunsplit((to.scheme, to.netloc, parts.path, parts.query, ""))


@contextmanager
def redirect(target: Target) -> Iterator[None]:
    """Redirects what botocore, and aiobotocore if it is imported, send meanwhile to AWS, or to what the variables AWS_…
    have pointed at before."""
    publish(target.endpoint, target.space)
    replaced: List[Tuple[Any, Callable[..., Any], Callable[..., Any]]] = []
    try:
        importlib.import_module("botocore.httpsession")
    except ImportError:
        pass  # Other clients have the variables.
    for module, name, answer in CLIENTS:
        session = getattr(sys.modules.get(module), name, None)
        if session is not None:
            replaced.append((session, session.__init__, session.send))
            session.__init__ = making(session.__init__, target)
            session.send = sending(session.send, answer, target)
    look_up, ended = socket.getaddrinfo, threading.Event()
    refusing = refusing_s3(look_up, ended)
    if target.is_mock:
        socket.getaddrinfo = refusing
    try:
        yield
    finally:
        ended.set()
        if socket.getaddrinfo is refusing:
            socket.getaddrinfo = look_up
        for session, init, send in replaced:
            session.__init__, session.send = init, send


def refusing_s3(look_up: Callable[..., Any], ended: threading.Event) -> Callable[..., Any]:
    """The look-up of hosts, without those of S3 until the end. moto answers what requests and others send there, also by
    presigned URLs of clients made before. Over HTTPS it cannot be redirected, and it must not reach AWS.

    A patch that a test makes meanwhile, and takes back after the end, puts this function back."""

    @functools.wraps(look_up)
    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        name = host if isinstance(host, str) else text_of(host)
        if HOST_OF_S3.fullmatch(name.lower()) and not ended.is_set():
            raise LiteIOError(
                f"{name} is AWS, and mock_aws redirects clients of botocore and aiobotocore alone: use a presigned URL of a client "
                'that is made in the test, or f"{os.environ[\'AWS_ENDPOINT_URL\']}/BUCKET/KEY"'
            )
        return look_up(host, *args, **options)

    return getaddrinfo


def making(init: Callable[..., Any], target: Target) -> Callable[..., Any]:
    @functools.wraps(init)
    def make(self: Any, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        setattr(self, MADE_FOR, target)

    return make


def sending(send: Callable[..., Any], answer: Callable[..., Any], target: Target) -> Callable[..., Any]:
    """`send` of botocore, or of aiobotocore, which returns an awaitable, as `answer` then does."""

    def to_endpoint(self: Any, request: Any) -> Any:
        if not hasattr(request, IS_DIRECTED):
            setattr(request, IS_DIRECTED, True)
            direct(request, target, made_before=getattr(self, MADE_FOR, None) is not target)
        session = self
        if place_of(request.url) == place_of(target.endpoint):
            session = self if hasattr(request, NAMES_ITS_SERVER) else without_proxy(self, request.url)
            name_space(request, target.space)
            if target.is_mock:
                refuse_active_moto()
        refusal = refusal_of(request, target.endpoint, checks_location=target.checks_location)
        return send(session, request) if refusal is None else answer(refusal, request.url)

    return to_endpoint


def without_proxy(session: Any, url: str) -> Any:
    """The same session with its connections, but without the proxy that it has for the URL. botocore chooses proxies when a
    client is made, for a host of AWS, so a NO_PROXY of later has no effect on it."""
    proxies = getattr(session, "_proxy_config", None)
    if proxies is None or proxies.proxy_url_for(url) is None:
        return session
    straight = copy.copy(session)
    straight._proxy_config = type(proxies)()
    return straight


def direct(request: Any, target: Target, *, made_before: bool) -> None:
    """Gives a request for AWS, for an endpoint that the use has replaced, or of a client or a session that was kept, the
    endpoint and the keys of the target.

    An endpoint that was replaced is so for all clients. s3fs, django-storages and others connect at their first request, so
    when a client was made would depend on the order of tests."""
    names_its_server = hasattr(request, NAMES_ITS_SERVER)
    key, place = key_of(request), place_of(target.endpoint)
    url, path = redirected(request.url, target.endpoint), None
    if not names_its_server and place_of(url) != place:
        path = path_at_replaced(url) if service_of(request) in (None, *SERVED) else None
        if path is not None:
            url = moved(urlsplit(url)._replace(path=path), target.endpoint)
        elif made_before and was_published(place_of(url), key):
            url = moved(urlsplit(url), target.endpoint)
    is_moved = url != request.url
    request.url = url
    if is_moved:
        # A mock that checks keys would refuse those of a client that does not know of it. Others made in the test are checked.
        knows_no_key = made_before or path is not None
        if not target.is_mock or was_key_published(key) or (knows_no_key and not accepts_any_key(target.space)):
            sign_for(request, target.space)
    elif not names_its_server and place_of(url) == place:
        if not target.is_mock:
            refuse_keys_of_moto(key, target.space.access_key)
        if is_kept_key(key, place, target.space, made_before=made_before):
            sign_for(request, target.space)
