"""Signs requests of clients that have other keys, by the keys of a space.

The key of a request selects the space, and a client that was made before the space has keys of the developer. They must
not reach a server either, so all of such a signature is replaced.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ._space import Space  # It refuses requests by their signatures.

SCOPE = re.compile(r"Credential=(?P<key>[^/]*)/\d{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
TOKEN = "X-Amz-Security-Token"
SPACE = "x-liteio-space"
# Of presigned URLs, by version 4 and 2.
IN_QUERY = re.compile(r"[?&](?:X-Amz-Signature|Signature)=")


def sign_for(request: Any, space: Space) -> None:
    """Signs a request that botocore has prepared, whose URL is that of the server. One without a signature stays
    without; one that is signed in another way is left to the server, which refuses its key."""
    scope = SCOPE.search(text_of(request.headers.get("Authorization")))
    date = request.headers.get("X-Amz-Date")
    if scope is None or date is None:
        return
    for name in ("Authorization", TOKEN):
        if name in request.headers:
            del request.headers[name]
    request.headers["Authorization"] = authorization_of(request, space, scope["service"], scope["region"], text_of(date))


def key_of(request: Any) -> Optional[str]:
    """The access key of a signature of version 4, in the header."""
    scope = SCOPE.search(text_of(request.headers.get("Authorization")))
    return scope["key"] if scope else None


def service_of(request: Any) -> Optional[str]:
    """The signing name of a signature of version 4, in the header."""
    scope = SCOPE.search(text_of(request.headers.get("Authorization")))
    return scope["service"] if scope else None


def name_space(request: Any, space: Space) -> None:
    """Lets a request without a signature find the space by a header. A signed one has its key, which may be another
    space's, and the header would precede it."""
    is_signed = "Authorization" in request.headers or IN_QUERY.search(request.url)
    if space.name is not None and not is_signed and SPACE not in request.headers:
        request.headers[SPACE] = space.name


def authorization_of(request: Any, space: Space, service: str, region: str, date: str) -> str:
    """The header, with the date that the request has: a client's clock may be frozen."""
    auth: Any = importlib.import_module("botocore.auth")
    awsrequest: Any = importlib.import_module("botocore.awsrequest")
    credentials: Any = importlib.import_module("botocore.credentials")
    # S3 signs the path as it is.
    kind = auth.S3SigV4Auth if service == "s3" else auth.SigV4Auth
    signer = kind(credentials.Credentials(space.access_key, space.secret_key), service, region)
    # Prepared values are bytes in part.
    headers = {name: text_of(value) for name, value in request.headers.items()}
    again = awsrequest.AWSRequest(method=request.method, url=request.url, headers=headers, data=request.body)
    again.context["timestamp"] = date
    signature = signer.signature(signer.string_to_sign(again, signer.canonical_request(again)), again)
    names = signer.signed_headers(signer.headers_to_sign(again))
    return f"AWS4-HMAC-SHA256 Credential={signer.scope(again)}, SignedHeaders={names}, Signature={signature}"


def text_of(value: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else ""
