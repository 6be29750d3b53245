"""The calls that Terraform's provider for AWS makes for a bucket with every setting: apply, read all of it back,
find nothing to change, and destroy. The provider itself is too large to be built here."""

import json
import uuid

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from conftest import ACCESS_KEY, SECRET_KEY

OWNER_ONLY = {"Rules": [{"ObjectOwnership": "BucketOwnerPreferred"}]}
BLOCK = {"BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": True,
         "RestrictPublicBuckets": True}
TAGS = [{"Key": "Environment", "Value": "test"}, {"Key": "Name", "Value": "everything"}]
CORS = [{"ID": "pages", "AllowedMethods": ["PUT", "GET"], "AllowedOrigins": ["https://example.com"],
         "AllowedHeaders": ["*"], "ExposeHeaders": ["ETag"], "MaxAgeSeconds": 3000}]
LIFECYCLE = [{"ID": "old", "Status": "Enabled", "Filter": {"Prefix": "tmp/"}, "Expiration": {"Days": 30},
              "NoncurrentVersionExpiration": {"NoncurrentDays": 7}},
             {"ID": "parts", "Status": "Enabled", "Filter": {"Prefix": ""},
              "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 3}}]
ENCRYPTION = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"},
                         "BucketKeyEnabled": False}]}
LOCK = {"ObjectLockEnabled": "Enabled",
        "Rule": {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}}
WEBSITE = {"IndexDocument": {"Suffix": "index.html"}, "ErrorDocument": {"Key": "error.html"},
           "RoutingRules": [{"Condition": {"KeyPrefixEquals": "docs/"},
                             "Redirect": {"ReplaceKeyPrefixWith": "documents/"}}]}


def policy(bucket):
    return {"Version": "2012-10-17", "Statement": [{
        "Sid": "OnlyTls", "Effect": "Deny", "Principal": "*", "Action": "s3:PutObject",
        "Resource": f"arn:aws:s3:::{bucket}/*",
        "Condition": {"StringEquals": {"aws:Referer": "nowhere"}}}]}


def apply(s3, bucket, logs):
    """In the order in which the resources depend on each other."""
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": TAGS})
    s3.put_bucket_ownership_controls(Bucket=bucket, OwnershipControls=OWNER_ONLY)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object_lock_configuration(Bucket=bucket, ObjectLockConfiguration=LOCK)
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=BLOCK)
    s3.put_bucket_acl(Bucket=bucket, ACL="private")
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy(bucket)))
    s3.put_bucket_cors(Bucket=bucket, CORSConfiguration={"CORSRules": CORS})
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": LIFECYCLE})
    s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration=ENCRYPTION)
    s3.put_bucket_logging(Bucket=bucket, BucketLoggingStatus={
        "LoggingEnabled": {"TargetBucket": logs, "TargetPrefix": "log/"}})
    s3.put_bucket_website(Bucket=bucket, WebsiteConfiguration=WEBSITE)
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})


def read(s3, bucket):
    """All that the provider refreshes: what there is none of is `None`, by the codes that it knows."""
    def absent(call, *codes, **arguments):
        try:
            return call(Bucket=bucket, **arguments)
        except ClientError as error:
            assert error.response["Error"]["Code"] in codes, error
            return {}

    s3.head_bucket(Bucket=bucket)
    acl = s3.get_bucket_acl(Bucket=bucket)
    versioning = s3.get_bucket_versioning(Bucket=bucket)
    return {
        "acl": [(grant["Grantee"]["ID"] == acl["Owner"]["ID"], grant["Permission"])
                for grant in acl["Grants"]],
        "policy": json.loads(absent(s3.get_bucket_policy, "NoSuchBucketPolicy").get("Policy", "null")),
        "cors": absent(s3.get_bucket_cors, "NoSuchCORSConfiguration").get("CORSRules"),
        "website": {name: value for name, value in absent(
            s3.get_bucket_website, "NoSuchWebsiteConfiguration").items() if name != "ResponseMetadata"},
        "versioning": versioning.get("Status"),
        "acceleration": s3.get_bucket_accelerate_configuration(Bucket=bucket).get("Status"),
        "payer": s3.get_bucket_request_payment(Bucket=bucket)["Payer"],
        "logging": s3.get_bucket_logging(Bucket=bucket).get("LoggingEnabled"),
        "lifecycle": absent(s3.get_bucket_lifecycle_configuration,
                            "NoSuchLifecycleConfiguration").get("Rules"),
        "replication": absent(s3.get_bucket_replication,
                              "ReplicationConfigurationNotFoundError").get("ReplicationConfiguration"),
        "encryption": absent(s3.get_bucket_encryption, "ServerSideEncryptionConfigurationNotFoundError")
        .get("ServerSideEncryptionConfiguration"),
        "lock": absent(s3.get_object_lock_configuration,
                       "ObjectLockConfigurationNotFoundError").get("ObjectLockConfiguration"),
        "tags": absent(s3.get_bucket_tagging, "NoSuchTagSet").get("TagSet"),
        "block": absent(s3.get_public_access_block, "NoSuchPublicAccessBlockConfiguration")
        .get("PublicAccessBlockConfiguration"),
        "ownership": absent(s3.get_bucket_ownership_controls,
                            "OwnershipControlsNotFoundError").get("OwnershipControls"),
        "notification": sorted(s3.get_bucket_notification_configuration(Bucket=bucket)),
        "region": s3.get_bucket_location(Bucket=bucket)["LocationConstraint"],
    }


def without_defaults(rules):
    """Encryption as it was sent: AWS adds what new buckets block."""
    return [{name: value for name, value in rule.items() if name != "BlockedEncryptionTypes"}
            for rule in rules]


@pytest.fixture
def everything(s3):
    bucket, logs = [f"terraform-{kind}-{uuid.uuid4().hex[:12]}" for kind in ("bucket", "logs")]
    s3.create_bucket(Bucket=logs)
    s3.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
    yield bucket, logs
    s3.delete_bucket(Bucket=bucket)
    s3.delete_bucket(Bucket=logs)


def test_a_bucket_with_everything_is_applied_and_a_second_plan_finds_nothing_to_change(s3, everything):
    bucket, logs = everything
    before = read(s3, bucket)
    assert before["policy"] is None and before["cors"] is None and before["tags"] is None
    assert before["block"] is None and before["versioning"] == "Enabled"
    apply(s3, bucket, logs)
    state = read(s3, bucket)
    assert state["acl"] == [(True, "FULL_CONTROL")]
    assert state["policy"] == policy(bucket)
    assert state["cors"] == CORS
    assert state["website"] == WEBSITE
    assert state["versioning"] == "Enabled"
    assert state["acceleration"] is None
    assert state["payer"] == "BucketOwner"
    assert state["logging"] == {"TargetBucket": logs, "TargetPrefix": "log/"}
    assert state["lifecycle"] == LIFECYCLE
    assert state["replication"] is None
    assert without_defaults(state["encryption"]["Rules"]) == ENCRYPTION["Rules"]
    assert state["lock"] == LOCK
    assert state["tags"] == TAGS
    assert state["block"] == BLOCK
    assert state["ownership"] == OWNER_ONLY
    # Reading it again, or applying it again, changes nothing.
    assert read(s3, bucket) == state
    apply(s3, bucket, logs)
    assert read(s3, bucket) == state


def test_every_setting_is_destroyed(s3, everything):
    bucket, logs = everything
    apply(s3, bucket, logs)
    s3.delete_bucket_policy(Bucket=bucket)
    s3.delete_public_access_block(Bucket=bucket)
    s3.delete_bucket_ownership_controls(Bucket=bucket)
    s3.delete_bucket_cors(Bucket=bucket)
    s3.delete_bucket_lifecycle(Bucket=bucket)
    s3.delete_bucket_encryption(Bucket=bucket)
    s3.delete_bucket_website(Bucket=bucket)
    s3.delete_bucket_tagging(Bucket=bucket)
    s3.put_bucket_logging(Bucket=bucket, BucketLoggingStatus={})
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    left = read(s3, bucket)
    for name in ("policy", "cors", "tags", "lifecycle", "block", "ownership", "logging"):
        assert not left[name], name
    assert left["website"] == {}


TABLE_TYPES = ("icebergCompaction", "icebergSnapshotManagement")


def table_policy(resource, action):
    return json.dumps({"Version": "2012-10-17", "Statement": [{
        "Sid": "Reader", "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"},
        "Action": action, "Resource": resource}]})


def read_tables(tables, bucket, namespace, name):
    """All that the resources `aws_s3tables_table_bucket`, `_namespace`, `_table`, `_table_bucket_policy` and `_table_policy`
    refresh: what there is none of is `None`, by the code that the provider knows."""
    def found(call, **arguments):
        try:
            answer = call(**arguments)
        except ClientError as error:
            assert error.response["Error"]["Code"] == "NotFoundException", error
            return None
        del answer["ResponseMetadata"]
        return answer

    of_bucket = {"tableBucketARN": bucket}
    of_table = {**of_bucket, "namespace": namespace, "name": name}
    table = found(tables.get_table, **of_table)
    return {
        "bucket": found(tables.get_table_bucket, **of_bucket),
        "bucket encryption": found(tables.get_table_bucket_encryption, **of_bucket),
        "bucket maintenance": found(tables.get_table_bucket_maintenance_configuration, **of_bucket),
        "bucket policy": found(tables.get_table_bucket_policy, **of_bucket),
        "bucket class": found(tables.get_table_bucket_storage_class, **of_bucket),
        "bucket tags": found(tables.list_tags_for_resource, resourceArn=bucket),
        "namespace": found(tables.get_namespace, **of_bucket, namespace=namespace),
        "table": table,
        "table encryption": found(tables.get_table_encryption, **of_table),
        "table maintenance": found(tables.get_table_maintenance_configuration, **of_table),
        "table policy": found(tables.get_table_policy, **of_table),
        "table tags": table and found(tables.list_tags_for_resource, resourceArn=table["tableARN"]),
    }


def test_a_table_bucket_with_everything_is_applied_and_a_second_plan_finds_nothing_to_change(server):
    tables = boto3.client(
        "s3tables", endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY, config=Config(retries={"total_max_attempts": 1}))
    name = f"terraform-{uuid.uuid4().hex[:12]}"
    removal = {"status": "enabled", "settings": {
        "icebergUnreferencedFileRemoval": {"unreferencedDays": 5, "nonCurrentDays": 12}}}
    of_table = {
        "icebergCompaction": {"status": "enabled", "settings": {"icebergCompaction": {"targetFileSizeMB": 512}}},
        "icebergSnapshotManagement": {"status": "disabled", "settings": {
            "icebergSnapshotManagement": {"minSnapshotsToKeep": 4, "maxSnapshotAgeHours": 48}}}}
    arn = tables.create_table_bucket(name=name, tags={"team": "a"})["arn"]
    tables.put_table_bucket_maintenance_configuration(
        tableBucketARN=arn, type="icebergUnreferencedFileRemoval", value=removal)
    tables.create_namespace(tableBucketARN=arn, namespace=["sales"])
    table = tables.create_table(
        tableBucketARN=arn, namespace="sales", name="orders", format="ICEBERG", tags={"team": "b"},
        metadata={"iceberg": {"schema": {"fields": [{"name": "id", "type": "long", "required": True}]}}})
    before = read_tables(tables, arn, "sales", "orders")
    assert before["bucket policy"] is None and before["table policy"] is None
    assert before["table maintenance"]["configuration"]["icebergSnapshotManagement"] == {
        "status": "enabled", "settings": {
            "icebergSnapshotManagement": {"minSnapshotsToKeep": 1, "maxSnapshotAgeHours": 120}}}
    for kind in TABLE_TYPES:
        tables.put_table_maintenance_configuration(
            tableBucketARN=arn, namespace="sales", name="orders", type=kind, value=of_table[kind])
    of_bucket = table_policy([arn, f"{arn}/*"], "s3tables:*")
    of_one = table_policy(table["tableARN"], ["s3tables:GetTable", "s3tables:GetTableData"])
    tables.put_table_bucket_policy(tableBucketARN=arn, resourcePolicy=of_bucket)
    tables.put_table_policy(tableBucketARN=arn, namespace="sales", name="orders", resourcePolicy=of_one)
    tables.tag_resource(resourceArn=table["tableARN"], tags={"cost": "1"})
    tables.untag_resource(resourceArn=arn, tagKeys=["team", "none"])

    state = read_tables(tables, arn, "sales", "orders")
    assert state["bucket maintenance"]["configuration"] == {"icebergUnreferencedFileRemoval": removal}
    assert state["table maintenance"]["configuration"] == of_table
    assert state["bucket policy"]["resourcePolicy"] == of_bucket
    assert state["table policy"]["resourcePolicy"] == of_one
    assert state["bucket tags"]["tags"] == {}
    assert state["table tags"]["tags"] == {"team": "b", "cost": "1"}
    assert state["table"]["tableARN"] == state["table maintenance"]["tableARN"] == table["tableARN"]
    assert read_tables(tables, arn, "sales", "orders") == state
    # The name is an argument of the resource: a change renames the table, which keeps the rest.
    tables.rename_table(tableBucketARN=arn, namespace="sales", name="orders", newName="sold")
    renamed = read_tables(tables, arn, "sales", "sold")
    for part in ("table policy", "table tags", "table maintenance"):
        assert renamed[part] == state[part]

    tables.delete_table_policy(tableBucketARN=arn, namespace="sales", name="sold")
    tables.delete_table_bucket_policy(tableBucketARN=arn)
    gone = read_tables(tables, arn, "sales", "sold")
    assert gone["bucket policy"] is None and gone["table policy"] is None
    tables.delete_table(tableBucketARN=arn, namespace="sales", name="sold")
    tables.delete_namespace(tableBucketARN=arn, namespace="sales")
    tables.delete_table_bucket(tableBucketARN=arn)
    assert set(read_tables(tables, arn, "sales", "sold").values()) == {None}
