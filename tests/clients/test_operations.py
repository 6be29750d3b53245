"""Every operation of boto3's models of six services: it works, or is refused by its name.

The arguments are made from the model, so most operations find nothing to work on; that is an answer, too. What must not
happen: an operation that is taken for another one, an internal error, and a refusal that does not name the operation."""

import re
import socket

import boto3
import pytest
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError, ParamValidationError
from conftest import ACCESS_KEY, SECRET_KEY

SERVICES = ("s3", "s3control", "s3tables", "s3vectors", "iam", "sts")
# Codes of operations that are not here.
ABSENT = {"NotImplemented", "MethodNotAllowed", "InvalidAction", "UnknownOperationException", "UnsupportedOperation"}
# The model wants texts of a form that it does not tell.
TEXTS = {"AccountId": "000000000000", "PolicyDocument": "{}", "resourceArn": "arn:aws:s3vectors:us-east-1:000000000000:bucket/none"}


def value_of(shape, name):
    if name in TEXTS:
        return TEXTS[name]
    if shape.type_name == "structure":
        required = list(shape.members)[:1] if getattr(shape, "is_tagged_union", False) else shape.required_members
        return {member: value_of(shape.members[member], member) for member in required}
    if shape.type_name == "list":
        return [value_of(shape.member, name)]
    if shape.type_name == "map":
        return {"k": value_of(shape.value, name)}
    if getattr(shape, "enum", None):
        return shape.enum[0]
    if shape.type_name == "blob":
        return b"bytes"
    if shape.type_name in ("integer", "long", "float", "double"):
        return int(shape.metadata.get("min", 1)) or 1
    if shape.type_name in ("boolean", "timestamp"):
        return {"boolean": True, "timestamp": 0}[shape.type_name]
    least = shape.metadata.get("min", 1)
    return "none".ljust(least, "x") if least > 4 else "none"


@pytest.fixture
def everywhere(monkeypatch):
    """Hosts with the account in front are this one."""
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **named: resolve(
        "127.0.0.1" if str(host).endswith(("localhost", ".127.0.0.1")) else host, *more, **named))


@pytest.mark.parametrize("service", SERVICES)
def test_every_operation_works_or_is_refused_by_its_name(server, everywhere, service):
    client = boto3.client(
        service, endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY, config=Config(retries={"total_max_attempts": 1}))
    model, wrong, answered = client.meta.service_model, [], 0
    assert len(model.operation_names) > 10
    for operation in model.operation_names:
        shape = model.operation_model(operation).input_shape
        arguments = value_of(shape, "") if shape else {}
        try:
            status = getattr(client, xform_name(operation))(**arguments)["ResponseMetadata"]["HTTPStatusCode"]
            error = None
        except ParamValidationError as failure:
            wrong.append(f"{operation}: the test makes no arguments: {failure}")
            continue
        except ClientError as failure:
            response = failure.response
            status, error = response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]
        answered += 1
        if error is None:
            continue
        if status == 500 or error["Code"] in ("InternalError", "InternalFailure", "ServiceFailure"):
            wrong.append(f"{operation}: {status} {error}")
        # An answer to HEAD has no code.
        elif not re.fullmatch(r"[A-Za-z.]+", error["Code"]) and not operation.startswith("Head"):
            wrong.append(f"{operation}: the client finds no code: {status} {error}")
        # The Terraform provider goes on without tags of S3 Control after this code, whatever the path was.
        elif (service, error["Code"], status) == ("s3control", "MethodNotAllowed", 405):
            continue
        elif error["Code"] in ABSENT and operation not in error["Message"]:
            wrong.append(f"{operation}: refused, but not by its name: {status} {error}")
    assert not wrong, "\n".join(wrong)
    assert answered == len(model.operation_names)
