"""What users do with boto3 beyond bodies: versions, tags, locks, lifecycle rules, encryption."""

import datetime
import io
import os
import urllib.error
import urllib.request
import uuid

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from conftest import client

MIB = 1 << 20


def code(refused):
    return refused.value.response["Error"]["Code"]


@pytest.fixture
def versioned(s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return bucket


def test_versions_are_kept_deleted_and_brought_back(s3, versioned):
    bucket = versioned
    first, second = [s3.put_object(Bucket=bucket, Key="k", Body=body)["VersionId"]
                     for body in (b"first", b"second")]
    old = s3.get_object(Bucket=bucket, Key="k", VersionId=first)
    assert old["Body"].read() == b"first" and old["VersionId"] == first
    marker = s3.delete_object(Bucket=bucket, Key="k")
    assert marker["DeleteMarker"] is True
    with pytest.raises(s3.exceptions.NoSuchKey):
        s3.get_object(Bucket=bucket, Key="k")
    found = s3.list_object_versions(Bucket=bucket)
    assert [v["VersionId"] for v in found["Versions"]] == [second, first]
    assert [m["VersionId"] for m in found["DeleteMarkers"]] == [marker["VersionId"]]
    s3.delete_object(Bucket=bucket, Key="k", VersionId=marker["VersionId"])
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"second"
    s3.copy_object(Bucket=bucket, Key="k", CopySource={"Bucket": bucket, "Key": "k", "VersionId": first})
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"first"


def test_tags_of_objects_versions_and_buckets(s3, versioned):
    bucket = versioned
    first = s3.put_object(Bucket=bucket, Key="k", Body=b"1", Tagging="stage=raw")["VersionId"]
    s3.put_object(Bucket=bucket, Key="k", Body=b"2")
    tags = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "\u00fc /"}]
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": tags})
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == tags
    old = s3.get_object_tagging(Bucket=bucket, Key="k", VersionId=first)
    assert old["TagSet"] == [{"Key": "stage", "Value": "raw"}] and old["VersionId"] == first
    s3.delete_object_tagging(Bucket=bucket, Key="k")
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == []
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})
    assert s3.get_bucket_tagging(Bucket=bucket)["TagSet"] == tags
    s3.delete_bucket_tagging(Bucket=bucket)
    with pytest.raises(ClientError) as refused:
        s3.get_bucket_tagging(Bucket=bucket)
    assert code(refused) == "NoSuchTagSet"


def test_a_locked_version_stays_until_it_is_released(s3):
    bucket = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
    s3.put_object_lock_configuration(Bucket=bucket, ObjectLockConfiguration={
        "ObjectLockEnabled": "Enabled",
        "Rule": {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}})
    version = s3.put_object(Bucket=bucket, Key="k", Body=b"kept")["VersionId"]
    named = {"Bucket": bucket, "Key": "k", "VersionId": version}
    retention = s3.get_object_retention(**named)["Retention"]
    now = datetime.datetime.now(datetime.timezone.utc)
    assert retention["Mode"] == "GOVERNANCE" and retention["RetainUntilDate"] > now
    s3.put_object_legal_hold(**named, LegalHold={"Status": "ON"})
    assert s3.head_object(**named)["ObjectLockLegalHoldStatus"] == "ON"
    for bypass in (False, True):
        with pytest.raises(ClientError) as refused:
            s3.delete_object(**named, BypassGovernanceRetention=bypass)
        assert code(refused) == "AccessDenied"
    s3.put_object_legal_hold(**named, LegalHold={"Status": "OFF"})
    s3.delete_object(**named, BypassGovernanceRetention=True)
    assert "Versions" not in s3.list_object_versions(Bucket=bucket)


def test_lifecycle_rules_come_back_and_are_told_of_objects(s3, bucket):
    rules = [
        {"ID": "logs", "Status": "Enabled", "Filter": {"Prefix": "logs/"}, "Expiration": {"Days": 30}},
        {"ID": "old", "Status": "Enabled", "Filter": {"Tag": {"Key": "keep", "Value": "no"}},
         "NoncurrentVersionExpiration": {"NoncurrentDays": 7}},
        {"ID": "parts", "Status": "Enabled", "Filter": {"Prefix": ""},
         "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}},
    ]
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    assert s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"] == rules
    assert 'rule-id="logs"' in s3.put_object(Bucket=bucket, Key="logs/a", Body=b"x")["Expiration"]
    assert "Expiration" not in s3.put_object(Bucket=bucket, Key="a", Body=b"x")
    s3.delete_bucket_lifecycle(Bucket=bucket)
    with pytest.raises(ClientError) as refused:
        s3.get_bucket_lifecycle_configuration(Bucket=bucket)
    assert code(refused) == "NoSuchLifecycleConfiguration"


@pytest.mark.parametrize("method,key", [("AES256", None), ("aws:kms", "reports")])
def test_a_bucket_encrypts_by_default(s3, bucket, method, key):
    default = {"SSEAlgorithm": method, **({"KMSMasterKeyID": key} if key else {})}
    s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={
        "Rules": [{"ApplyServerSideEncryptionByDefault": default}]})
    data = os.urandom(12 * MIB)
    config = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=8 * MIB)
    s3.upload_fileobj(io.BytesIO(data), bucket, "large", Config=config)
    s3.put_object(Bucket=bucket, Key="small", Body=b"small")
    for name, body in (("large", data), ("small", b"small")):
        got = s3.get_object(Bucket=bucket, Key=name)
        assert got["ServerSideEncryption"] == method and got.get("SSEKMSKeyId") == key
        assert got["Body"].read() == body


def test_a_key_of_the_client_is_needed_for_the_bytes_and_not_for_the_tags(s3, bucket):
    data, config = os.urandom(12 * MIB), TransferConfig(multipart_threshold=8 * MIB)
    mine = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": os.urandom(32)}
    s3.upload_fileobj(io.BytesIO(data), bucket, "k", ExtraArgs=mine, Config=config)
    out = io.BytesIO()
    s3.download_fileobj(bucket, "k", out, ExtraArgs=mine, Config=config)
    assert out.getvalue() == data
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=bucket, Key="k")
    assert code(refused) == "InvalidRequest"
    other = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": os.urandom(32)}
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=bucket, Key="k", **other)
    assert code(refused) == "AccessDenied"
    s3.put_object_tagging(Bucket=bucket, Key="k", Tagging={"TagSet": [{"Key": "a", "Value": "1"}]})
    assert s3.get_object_tagging(Bucket=bucket, Key="k")["TagSet"] == [{"Key": "a", "Value": "1"}]
    s3.copy_object(Bucket=bucket, Key="plain", CopySource={"Bucket": bucket, "Key": "k"},
                   **{f"CopySource{name}": value for name, value in mine.items()})
    assert s3.get_object(Bucket=bucket, Key="plain")["Body"].read() == data


def test_a_page_may_put_by_a_presigned_url_if_a_rule_says_so(server, s3, bucket):
    rules = [{"AllowedOrigins": ["http://app.example.com"], "AllowedMethods": ["PUT"],
              "AllowedHeaders": ["*"], "ExposeHeaders": ["ETag"], "MaxAgeSeconds": 60}]
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": rules})
    assert s3.get_bucket_cors(Bucket=bucket)["CORSRules"] == rules
    signer = client(server.endpoint, signature_version="s3v4")
    url = signer.generate_presigned_url(
        "put_object", Params={"Bucket": bucket, "Key": "from-a-page"})
    page = {"Origin": "http://app.example.com"}
    asks = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-custom"}
    preflight = urllib.request.Request(url, method="OPTIONS", headers=page | asks)
    with urllib.request.urlopen(preflight) as answer:
        assert answer.headers["Access-Control-Allow-Origin"] == page["Origin"]
        assert answer.headers["Access-Control-Allow-Headers"] == "x-custom"
    put = urllib.request.Request(url, method="PUT", data=b"body", headers=page)
    with urllib.request.urlopen(put) as answer:
        assert answer.headers["Access-Control-Expose-Headers"] == "ETag"
    other = {"Origin": "http://elsewhere.example.com"}
    preflight = urllib.request.Request(url, method="OPTIONS", headers=other | asks)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(preflight)
    assert refused.value.code == 403
    s3.delete_bucket_cors(Bucket=bucket)
    with pytest.raises(ClientError) as missing:
        s3.get_bucket_cors(Bucket=bucket)
    assert missing.value.response["Error"]["Code"] == "NoSuchCORSConfiguration"


def test_acls_open_objects_where_they_count(s3, server):
    bucket = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=bucket, ObjectOwnership="BucketOwnerPreferred")
    s3.put_object(Bucket=bucket, Key="page", Body=b"hello", ACL="public-read")
    url = f"{server.endpoint}/{bucket}/page"
    assert urllib.request.urlopen(url).read() == b"hello"
    acl = s3.get_object_acl(Bucket=bucket, Key="page")
    grants = [grant for grant in acl["Grants"] if grant["Grantee"]["Type"] == "CanonicalUser"]
    assert len(acl["Grants"]) == 2 and grants[0]["Grantee"]["ID"] == acl["Owner"]["ID"]
    # As programs do it that leave one grant out: what was read is put again.
    s3.put_object_acl(Bucket=bucket, Key="page",
                      AccessControlPolicy={"Owner": acl["Owner"], "Grants": grants})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url)
    assert refused.value.code == 403

    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration={
        "BlockPublicAcls": True, "IgnorePublicAcls": True})
    block = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert block == {"BlockPublicAcls": True, "IgnorePublicAcls": True,
                     "BlockPublicPolicy": False, "RestrictPublicBuckets": False}
    with pytest.raises(ClientError) as refused:
        s3.put_bucket_acl(Bucket=bucket, ACL="public-read")
    assert code(refused) == "AccessDenied"
    s3.delete_public_access_block(Bucket=bucket)
    s3.put_bucket_acl(Bucket=bucket, ACL="public-read")
    enforced = {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    with pytest.raises(ClientError) as refused:
        s3.put_bucket_ownership_controls(Bucket=bucket, OwnershipControls=enforced)
    assert code(refused) == "InvalidBucketAclWithObjectOwnership"
    s3.put_bucket_acl(Bucket=bucket, ACL="private")
    s3.put_bucket_ownership_controls(Bucket=bucket, OwnershipControls=enforced)
    with pytest.raises(ClientError) as refused:
        s3.put_object(Bucket=bucket, Key="page", Body=b"", ACL="public-read")
    assert code(refused) == "AccessControlListNotSupported"
