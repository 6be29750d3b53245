"""Buckets with names of directory buckets: boto3 asks for a session by itself, and all goes on as with other buckets."""

import uuid

import pytest
from botocore.exceptions import ClientError
from conftest import client


@pytest.fixture
def directory(s3):
    name = f"suite-{uuid.uuid4().hex[:8]}--use1-az4--x-s3"
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={
        "Location": {"Type": "AvailabilityZone", "Name": "use1-az4"},
        "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
    })
    return name


def test_objects_are_put_read_listed_copied_and_deleted(s3, directory):
    s3.put_object(Bucket=directory, Key="a/b", Body=b"body")
    assert s3.get_object(Bucket=directory, Key="a/b")["Body"].read() == b"body"
    assert s3.head_object(Bucket=directory, Key="a/b")["ContentLength"] == 4
    s3.copy_object(Bucket=directory, Key="copy", CopySource={"Bucket": directory, "Key": "a/b"})
    listed = s3.list_objects_v2(Bucket=directory)["Contents"]
    assert [entry["Key"] for entry in listed] == ["a/b", "copy"]
    parts = s3.create_multipart_upload(Bucket=directory, Key="parts")["UploadId"]
    part = s3.upload_part(Bucket=directory, Key="parts", UploadId=parts, PartNumber=1, Body=b"x" * 100)
    s3.complete_multipart_upload(Bucket=directory, Key="parts", UploadId=parts, MultipartUpload={
        "Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
    deleted = s3.delete_objects(Bucket=directory, Delete={"Objects": [{"Key": "copy"}, {"Key": "parts"}]})
    assert len(deleted["Deleted"]) == 2
    s3.delete_object(Bucket=directory, Key="a/b")
    assert s3.list_objects_v2(Bucket=directory)["KeyCount"] == 0
    s3.head_bucket(Bucket=directory)
    s3.delete_bucket(Bucket=directory)
    with pytest.raises(ClientError) as error:
        s3.list_objects_v2(Bucket=directory)
    assert error.value.response["Error"]["Code"] == "NoSuchBucket"


def test_a_presigned_url_has_the_token_of_the_session(s3, directory):
    import urllib.request

    s3.put_object(Bucket=directory, Key="k", Body=b"body")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": directory, "Key": "k"})
    assert "s3session-token" in url.lower()
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == b"body"


def test_directory_buckets_are_listed_alone(s3, bucket, directory):
    names = [entry["Name"] for entry in s3.list_directory_buckets()["Buckets"]]
    assert directory in names and bucket not in names
    pages = s3.get_paginator("list_directory_buckets").paginate(PaginationConfig={"PageSize": 1})
    assert directory in [entry["Name"] for page in pages for entry in page["Buckets"]]


def test_a_client_without_sessions_goes_on_too(server, directory):
    plain = client(server.endpoint, s3={"disable_s3_express_session_auth": True})
    plain.put_object(Bucket=directory, Key="k", Body=b"body")
    assert plain.get_object(Bucket=directory, Key="k")["Body"].read() == b"body"
