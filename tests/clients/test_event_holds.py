"""Event holds of object lock, and encryption that a bucket blocks, with the fields of boto3's model of 2026."""

import datetime
import uuid

import pytest
from botocore.exceptions import ClientError


@pytest.fixture
def locked(s3):
    name = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    return name


def refused(call, **arguments):
    with pytest.raises(ClientError) as error:
        call(**arguments)
    return error.value.response["Error"]["Code"]


def in_days(days):
    return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)


def about(end, days):
    return abs((end - in_days(days)).total_seconds()) < 300


def test_a_hold_keeps_a_version_until_its_duration_behind_the_release(s3, locked):
    put = s3.put_object(Bucket=locked, Key="k", Body=b"x", ObjectLockMode="COMPLIANCE",
                        ObjectLockEventHold="ON", ObjectLockEventHoldDurationDays=30)
    version = {"Bucket": locked, "Key": "k", "VersionId": put["VersionId"]}
    head = s3.head_object(**version)
    assert (head["ObjectLockEventHold"], head["ObjectLockEventHoldDurationDays"]) == ("ON", 30)
    assert about(head["ObjectLockRetainUntilDate"], 30)
    kept = s3.get_object_retention(**version)["Retention"]
    assert (kept["EventHold"], kept["EventHoldDuration"]) == ("ON", {"Days": 30})
    assert refused(s3.delete_object, **version) == "AccessDenied"
    s3.put_object_retention(**version, Retention={
        "Mode": "COMPLIANCE", "EventHold": "ON", "EventHoldDuration": {"Years": 1}})
    assert s3.get_object(**version)["ObjectLockEventHoldDurationYears"] == 1
    s3.put_object_retention(**version, Retention={"Mode": "COMPLIANCE", "EventHold": "OFF"})
    kept = s3.get_object_retention(**version)["Retention"]
    assert kept["EventHold"] == "OFF" and "EventHoldDuration" not in kept
    assert about(kept["RetainUntilDate"], 365)
    assert refused(s3.delete_object, **version) == "AccessDenied"


def test_copies_uploads_and_defaults_have_holds(s3, locked):
    hold = {"ObjectLockMode": "GOVERNANCE", "ObjectLockEventHold": "ON", "ObjectLockEventHoldDurationYears": 1}
    s3.put_object(Bucket=locked, Key="source", Body=b"x")
    s3.copy_object(Bucket=locked, Key="copy", CopySource={"Bucket": locked, "Key": "source"}, **hold)
    upload = s3.create_multipart_upload(Bucket=locked, Key="parts", **hold)["UploadId"]
    part = s3.upload_part(Bucket=locked, Key="parts", UploadId=upload, PartNumber=1, Body=b"x")
    s3.complete_multipart_upload(Bucket=locked, Key="parts", UploadId=upload, MultipartUpload={
        "Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
    for key in ("copy", "parts"):
        head = s3.head_object(Bucket=locked, Key=key)
        assert (head["ObjectLockEventHold"], head["ObjectLockEventHoldDurationYears"]) == ("ON", 1)
    rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "DefaultEventHold": {"Days": 7}}}
    configuration = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    s3.put_object_lock_configuration(Bucket=locked, ObjectLockConfiguration=configuration)
    assert s3.get_object_lock_configuration(Bucket=locked)["ObjectLockConfiguration"] == configuration
    s3.put_object(Bucket=locked, Key="default", Body=b"x")
    head = s3.head_object(Bucket=locked, Key="default")
    assert (head["ObjectLockEventHold"], head["ObjectLockEventHoldDurationDays"]) == ("ON", 7)


def test_a_bucket_blocks_keys_of_customers(s3, bucket):
    key = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": "k" * 32}
    for types, code in ((["SSE-C"], "AccessDenied"), (["NONE"], None)):
        rule = {"BlockedEncryptionTypes": {"EncryptionType": types}}
        s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]})
        kept = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"][0]
        assert kept["BlockedEncryptionTypes"] == {"EncryptionType": types}
        put = {"Bucket": bucket, "Key": "k", "Body": b"x", **key}
        if code is None:
            s3.put_object(**put)
        else:
            assert refused(s3.put_object, **put) == code
