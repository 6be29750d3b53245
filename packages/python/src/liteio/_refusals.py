"""Requests that the package answers itself: the server would accept them, or could not be reached.

The server takes any region, so it makes a bucket where AWS and moto refuse the location, as mock_aws does. A client of a service that puts
a label before the host, such as s3control, would look up a host below an address, and so would S3 for the ARN of an access point.
"""

from __future__ import annotations

import importlib
import json
import re
from typing import Any, Iterator, NamedTuple, Optional
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from ._control import element
from ._moto import RECIPE, is_moto_active
from ._signature import SCOPE, text_of

PATH_OF_BUCKET = re.compile(r"/[^/]+/?")
PATH_OF_S3CONTROL = "/v20180820/"


# Signing names of what the server has, with the endpoints of S3 that have names of their own.
SERVED = ("s3", "s3express", "s3-object-lambda", "s3vectors", "s3tables", "iam", "sts")
# Errors of these are XML, and so are those of services whose requests are forms.
IN_XML = ("cloudfront", "route53")
FORM = "application/x-www-form-urlencoded"
# Signing names of clients of S3; that of s3control is one of them, too. Without a signature there is none.
OF_S3 = ("", "s3", "s3express", "s3-object-lambda", "s3-outposts")
NUMERIC = re.compile(r"[\d.]+|.*:.*")


class Refusal(NamedTuple):
    """An error with status 400."""

    code: str
    message: str
    is_json: bool = False


def refusal_of(request: Any, endpoint: str, *, checks_location: bool) -> Optional[Refusal]:
    """The error for a request of botocore whose URL is no longer one of AWS."""
    url, server = urlsplit(request.url), urlsplit(endpoint)
    scope = SCOPE.search(text_of(request.headers.get("Authorization")))
    service = scope["service"] if scope else ""
    # Behind a label as in ACCOUNT.127.0.0.1 or data-127.0.0.1.
    is_below = url.netloc != server.netloc and url.netloc.endswith(server.netloc)
    if not server.netloc or not (is_below or url.netloc == server.netloc):
        return None
    # Behind the account in the path, if the endpoint had the account in its host.
    if PATH_OF_S3CONTROL in url.path and request.headers.get("x-amz-account-id"):
        return absent_service("s3control", is_json=False)
    if is_below and service not in OF_S3:
        return absent_service(service, is_json=True)
    if is_below and NUMERIC.fullmatch(server.hostname or ""):
        # Buckets are in the path at an address: the label is of an access point and its account.
        return absent_access_point()
    if service and service not in SERVED:
        return absent_service(service, is_json=not has_errors_in_xml(request, service))
    is_creation = request.method == "PUT" and not url.query and PATH_OF_BUCKET.fullmatch(url.path)
    if checks_location and scope and service == "s3" and is_creation:
        return wrong_location(scope["region"], element(text_of(request.body), "LocationConstraint") or "")
    return None


def absent_service(service: str, *, is_json: bool) -> Refusal:
    there = f"{service} is not served here: the server of liteio has S3, S3 Vectors, S3 Tables, IAM and STS"
    if is_moto_active():
        instead = f"moto is active, but the variables AWS_ENDPOINT_URL… point here: {RECIPE}"
    else:
        instead = f"Keep moto for {service}"
    return Refusal("UnknownOperationException", f"{there}. {instead}", is_json)


def absent_access_point() -> Refusal:
    return Refusal(
        "NotImplemented",
        'The server of liteio has no access points, Outposts or Object Lambda: give the name of the bucket in the place of the ARN, '
        'such as Bucket="photos"',
    )


def has_errors_in_xml(request: Any, service: str) -> bool:
    return service in IN_XML or text_of(request.headers.get("Content-Type")).startswith(FORM)


def wrong_location(region: str, constraint: str) -> Optional[Refusal]:
    """The error of AWS for CreateBucket at the endpoint of a region."""
    if region == "us-east-1":
        # Its endpoint is the global one, which makes buckets of all other regions.
        if constraint != region:
            return None
        return Refusal("InvalidLocationConstraint", "The specified location-constraint is not valid")
    if constraint == region or (region, constraint) == ("eu-west-1", "EU"):
        return None
    return Refusal(
        "IllegalLocationConstraintException",
        f"The {constraint or 'unspecified'} location constraint is incompatible for the region specific endpoint this request "
        "was sent to.",
    )


def respond(refusal: Refusal, url: str) -> Any:
    """The response of botocore."""
    return response("botocore.awsrequest", "AWSResponse", refusal, url)


async def respond_async(refusal: Refusal, url: str) -> Any:
    """The response of aiobotocore."""
    return response("aiobotocore.awsrequest", "AioAWSResponse", refusal, url)


def response(module: str, name: str, refusal: Refusal, url: str) -> Any:
    awsrequest: Any = importlib.import_module("botocore.awsrequest")
    kind = "application/json" if refusal.is_json else "application/xml"
    headers = awsrequest.HeadersDict({"content-type": kind})
    return getattr(importlib.import_module(module), name)(url, 400, headers, Body(document_of(refusal).encode()))


def document_of(refusal: Refusal) -> str:
    code, message = refusal.code, refusal.message
    if refusal.is_json:
        return json.dumps({"__type": code, "message": message})
    # S3 has the error without the element around it; parsers take both.
    return f"<ErrorResponse><Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error></ErrorResponse>"


class Body:
    """What botocore and aiobotocore read of a connection."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def stream(self) -> Iterator[bytes]:
        yield self.content

    async def read(self) -> bytes:
        return self.content
