"""S3 Control: tags of buckets by their ARN, as the Terraform provider and Crossplane ask for them."""

import socket

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from conftest import ACCESS_KEY, SECRET_KEY

KEYS = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY, "region_name": "us-east-1"}


@pytest.fixture
def account(server):
    return boto3.client("sts", endpoint_url=server.endpoint, **KEYS).get_caller_identity()["Account"]


@pytest.fixture(params=["address", "name"])
def control(request, server, monkeypatch):
    """The SDK puts the account in front of the host, which not every system resolves then."""
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **named: resolve(
        "127.0.0.1" if str(host).endswith(("localhost", ".127.0.0.1")) else host, *more, **named))
    endpoint = server.endpoint
    if request.param == "name":
        endpoint = endpoint.replace("127.0.0.1", "localhost")
    return boto3.client("s3control", endpoint_url=endpoint, config=Config(retries={"total_max_attempts": 1}), **KEYS)


def code(call, **arguments):
    with pytest.raises(ClientError) as error:
        call(**arguments)
    return error.value.response["Error"]["Code"], error.value.response["ResponseMetadata"]["HTTPStatusCode"]


def pairs(tags):
    return {tag["Key"]: tag["Value"] for tag in tags}


def test_buckets_are_tagged_by_their_arn(s3, control, account, bucket):
    for arn in (f"arn:aws:s3:::{bucket}", f"arn:aws:s3:us-east-1:{account}:bucket/{bucket}"):
        of = {"AccountId": account, "ResourceArn": arn}
        assert control.list_tags_for_resource(**of)["Tags"] == []
        control.tag_resource(**of, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b b", "Value": "é"}])
        control.tag_resource(**of, Tags=[{"Key": "a", "Value": "2"}])
        assert pairs(control.list_tags_for_resource(**of)["Tags"]) == {"a": "2", "b b": "é"}
        # They are the tags of the bucket.
        assert pairs(s3.get_bucket_tagging(Bucket=bucket)["TagSet"]) == {"a": "2", "b b": "é"}
        control.untag_resource(**of, TagKeys=["b b", "none"])
        assert pairs(control.list_tags_for_resource(**of)["Tags"]) == {"a": "2"}
        control.untag_resource(**of, TagKeys=["a"])
        assert code(s3.get_bucket_tagging, Bucket=bucket) == ("NoSuchTagSet", 404)
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
    assert pairs(control.list_tags_for_resource(**of)["Tags"]) == {"k": "v"}


def test_what_is_wrong_is_refused(control, account, bucket):
    arn = f"arn:aws:s3:::{bucket}"
    of = {"AccountId": account, "ResourceArn": arn}
    many = [{"Key": f"{number}", "Value": ""} for number in range(30)]
    control.tag_resource(**of, Tags=many)
    others = [{"Key": f"other {number}", "Value": ""} for number in range(30)]
    assert code(control.tag_resource, **of, Tags=others)[1] == 400
    assert len(control.list_tags_for_resource(**of)["Tags"]) == 30, "nothing was done"
    assert code(control.tag_resource, **of, Tags=[{"Key": "aws:mine", "Value": ""}])[1] == 400
    missing = {"AccountId": account, "ResourceArn": "arn:aws:s3:::no-such-bucket-at-all"}
    assert code(control.list_tags_for_resource, **missing) == ("NoSuchBucket", 404)
    # Another account's.
    assert code(control.list_tags_for_resource, AccountId="999999999999", ResourceArn=arn) == ("AccessDenied", 403)
    assert code(control.get_public_access_block, AccountId=account) == ("NoSuchPublicAccessBlockConfiguration", 404)
    assert code(control.get_public_access_block, AccountId="999999999999") == ("AccessDenied", 403)
    # By this the provider knows that it has to use the operations of S3.
    assert code(control.create_access_point, AccountId=account, Name="point", Bucket=bucket) == ("MethodNotAllowed", 405)
    assert code(control.list_access_points, AccountId=account) == ("MethodNotAllowed", 405)
    point = f"arn:aws:s3:us-east-1:{account}:accesspoint/point"
    assert code(control.list_tags_for_resource, AccountId=account, ResourceArn=point) == ("MethodNotAllowed", 405)


def test_a_key_that_looks_like_a_path_of_the_service_is_a_key(s3):
    bucket = "v20180820"
    s3.create_bucket(Bucket=bucket)
    key = "tags/arn:aws:s3:::b"
    s3.put_object(Bucket=bucket, Key=key, Body=b"body")
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"body"
    s3.delete_object(Bucket=bucket, Key=key)
    s3.delete_bucket(Bucket=bucket)
