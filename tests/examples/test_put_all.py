"""`put_all` of docs/vectors.md, for what its examples do not show."""

import datetime
import sys
import types

import boto3
import pytest
from botocore.exceptions import ParamValidationError

from blocks import read_documents

INDEX = {"vectorBucketName": "media", "indexName": "films"}


@pytest.fixture
def put_all(monkeypatch):
    # Without a server: the client of films.py must not be used.
    monkeypatch.setitem(sys.modules, "films", types.SimpleNamespace(vectors=None))
    [block] = [block for block in read_documents()["docs/vectors.md"] if block.file == "batches.py"]
    program = {}
    exec(block.text, program)
    return program["put_all"]


def vector(key, **metadata):
    return {"key": key, "data": {"float32": [1.0, 2.0]}, "metadata": metadata}


def test_batches_go_to_the_client_that_is_named(put_all):
    sent = []
    client = types.SimpleNamespace(put_vectors=lambda vectors, **index: sent.append((index, len(vectors))))
    put_all(INDEX, (vector(str(number)) for number in range(501)), client=client)
    assert sent == [(INDEX, 500), (INDEX, 1)]


def test_a_value_that_is_no_metadata_is_refused_with_its_key(put_all):
    client = boto3.client("s3vectors", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with pytest.raises(ParamValidationError, match="parameter shown, value: 2001-04-25"):
        put_all(INDEX, [vector("amelie", shown=datetime.datetime(2001, 4, 25))], client=client)
