"""Restores of archived objects by boto3 and the AWS CLI, also through kills."""

import time

import pytest
from botocore.exceptions import ClientError
from conftest import KILLS, Server, client


def until(found):
    end = time.monotonic() + 60
    while True:
        result = found()
        if result:
            return result
        assert time.monotonic() < end, "nothing has come"
        time.sleep(0.05)


def refused(call, **arguments):
    with pytest.raises(ClientError) as error:
        call(**arguments)
    return error.value.response["Error"]


def restored(s3, bucket, key, **more):
    return until(lambda: 'ongoing-request="false"' in s3.head_object(Bucket=bucket, Key=key, **more).get("Restore", ""))


@pytest.mark.parametrize("storage_class", ["GLACIER", "DEEP_ARCHIVE"])
def test_an_archived_object_is_restored(s3, bucket, storage_class):
    s3.put_object(Bucket=bucket, Key="key", Body=b"body", StorageClass=storage_class)
    error = refused(s3.get_object, Bucket=bucket, Key="key")
    assert error["Code"] == "InvalidObjectState" and error["StorageClass"] == storage_class, error
    error = refused(s3.copy_object, Bucket=bucket, Key="copy", CopySource=f"{bucket}/key")
    assert error["Code"] == "InvalidObjectState", error
    head = s3.head_object(Bucket=bucket, Key="key")
    assert head["StorageClass"] == storage_class and "Restore" not in head, head
    request = {"Days": 2, "GlacierJobParameters": {"Tier": "Standard"}}
    answer = s3.restore_object(Bucket=bucket, Key="key", RestoreRequest=request)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert restored(s3, bucket, "key")
    assert s3.get_object(Bucket=bucket, Key="key")["Body"].read() == b"body"
    # Clients learn it from lists, too.
    for call in (s3.list_objects_v2, s3.list_objects):
        listed = call(Bucket=bucket, OptionalObjectAttributes=["RestoreStatus"])["Contents"][0]
        assert listed["RestoreStatus"]["IsRestoreInProgress"] is False, listed
        assert listed["RestoreStatus"]["RestoreExpiryDate"].hour == 0, listed
        assert "RestoreStatus" not in call(Bucket=bucket)["Contents"][0]
    answer = s3.restore_object(Bucket=bucket, Key="key", RestoreRequest={"Days": 5})
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    s3.copy_object(Bucket=bucket, Key="key", CopySource=f"{bucket}/key", StorageClass="STANDARD")
    assert "StorageClass" not in s3.head_object(Bucket=bucket, Key="key")


def test_versions_and_uploads_are_restored(s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    old = s3.put_object(Bucket=bucket, Key="key", Body=b"1", StorageClass="GLACIER")["VersionId"]
    upload = s3.create_multipart_upload(Bucket=bucket, Key="key", StorageClass="GLACIER")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key="key", UploadId=upload, PartNumber=1, Body=b"2")
    s3.complete_multipart_upload(Bucket=bucket, Key="key", UploadId=upload, MultipartUpload={
        "Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
    s3.restore_object(Bucket=bucket, Key="key", VersionId=old, RestoreRequest={"Days": 1})
    assert restored(s3, bucket, "key", VersionId=old)
    assert s3.get_object(Bucket=bucket, Key="key", VersionId=old)["Body"].read() == b"1"
    assert refused(s3.get_object, Bucket=bucket, Key="key", PartNumber=1)["Code"] == "InvalidObjectState"
    listed = s3.list_object_versions(Bucket=bucket, OptionalObjectAttributes=["RestoreStatus"])["Versions"]
    assert ["RestoreStatus" in version for version in listed] == [False, True], listed


def test_other_classes_are_not_restored(s3, bucket):
    for storage_class in ("STANDARD", "STANDARD_IA", "GLACIER_IR", "INTELLIGENT_TIERING"):
        s3.put_object(Bucket=bucket, Key="key", Body=b"body", StorageClass=storage_class)
        for arguments in ({"RestoreRequest": {"Days": 1}}, {}):
            error = refused(s3.restore_object, Bucket=bucket, Key="key", **arguments)
            assert error["Code"] == "InvalidObjectState" and error["StorageClass"] == storage_class, error
        assert s3.get_object(Bucket=bucket, Key="key")["Body"].read() == b"body"


def test_the_cli_skips_what_is_archived(s3, aws, bucket, tmp_path):
    s3.put_object(Bucket=bucket, Key="dir/cold", Body=b"cold", StorageClass="GLACIER")
    s3.put_object(Bucket=bucket, Key="dir/warm", Body=b"warm")
    skipped = aws("s3", "cp", f"s3://{bucket}/dir", "first", "--recursive", check=False)
    assert "storage class GLACIER" in skipped.stderr, skipped
    assert sorted(it.name for it in (tmp_path / "first").iterdir()) == ["warm"]
    forced = aws("s3", "cp", f"s3://{bucket}/dir/cold", "cold", "--force-glacier-transfer", check=False)
    assert forced.returncode and "InvalidObjectState" in forced.stderr, forced
    aws("s3api", "restore-object", "--bucket", bucket, "--key", "dir/cold", "--restore-request", "Days=1")
    assert restored(s3, bucket, "dir/cold")
    # The CLI asks for the state of a single object; of a list it knows the class only.
    aws("s3", "cp", f"s3://{bucket}/dir/cold", "cold")
    assert (tmp_path / "cold").read_bytes() == b"cold"
    aws("s3", "cp", f"s3://{bucket}/dir", "second", "--recursive", "--force-glacier-transfer")
    assert sorted(it.name for it in (tmp_path / "second").iterdir()) == ["cold", "warm"]


def test_kills_lose_no_restore(tmp_path):
    directory = str(tmp_path / "data")
    server = Server("--data-dir", directory, "--restore-delay", "2")
    s3 = client(server.endpoint)
    s3.create_bucket(Bucket="archive")
    keys = [f"{number}" for number in range(20)]
    for key in keys:
        s3.put_object(Bucket="archive", Key=key, Body=key.encode(), StorageClass="DEEP_ARCHIVE")
    for key in keys:
        s3.restore_object(Bucket="archive", Key=key, RestoreRequest={"Days": 1})
    for _ in range(KILLS):
        server.kill()
        server = Server("--data-dir", directory, "--restore-delay", "2")
        s3 = client(server.endpoint)
        assert all("Restore" in s3.head_object(Bucket="archive", Key=key) for key in keys)
    for key in keys:
        assert restored(s3, "archive", key)
        assert s3.get_object(Bucket="archive", Key=key)["Body"].read() == key.encode()
    server.stop()
