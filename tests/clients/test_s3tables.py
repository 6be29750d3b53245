"""S3 Tables through boto3: every operation of the model is answered or refused by its name, and tables are those of the
REST catalog."""

import re
import uuid

import boto3
import pytest
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from conftest import ACCESS_KEY, SECRET_KEY

KEYS = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY, "region_name": "us-east-1"}
SERVED = {
    "CreateTableBucket", "ListTableBuckets", "GetTableBucket", "DeleteTableBucket", "GetTableBucketEncryption",
    "PutTableBucketEncryption", "DeleteTableBucketEncryption", "CreateNamespace", "ListNamespaces", "GetNamespace",
    "DeleteNamespace", "CreateTable", "ListTables", "GetTable", "DeleteTable", "RenameTable",
    "GetTableMetadataLocation", "UpdateTableMetadataLocation", "GetTableEncryption", "PutTableBucketPolicy",
    "GetTableBucketPolicy", "DeleteTableBucketPolicy", "PutTablePolicy", "GetTablePolicy", "DeleteTablePolicy",
    "TagResource", "UntagResource", "ListTagsForResource", "PutTableBucketMaintenanceConfiguration",
    "GetTableBucketMaintenanceConfiguration", "PutTableMaintenanceConfiguration", "GetTableMaintenanceConfiguration",
    "GetTableMaintenanceJobStatus", "PutTableBucketStorageClass", "GetTableBucketStorageClass", "GetTableStorageClass",
    "PutTableBucketMetricsConfiguration", "GetTableBucketMetricsConfiguration",
    "DeleteTableBucketMetricsConfiguration"}


@pytest.fixture
def tables(server):
    return boto3.client("s3tables", endpoint_url=server.endpoint, config=Config(
        retries={"total_max_attempts": 1}, parameter_validation=False), **KEYS)


@pytest.fixture
def name():
    return f"lake-{uuid.uuid4().hex[:16]}"


@pytest.fixture
def arn(tables, name):
    return tables.create_table_bucket(name=name)["arn"]


def code(call, **arguments):
    with pytest.raises(ClientError) as error:
        call(**arguments)
    return error.value.response["Error"]["Code"], error.value.response["ResponseMetadata"]["HTTPStatusCode"]


def columns(*names):
    return {"iceberg": {"schema": {"fields": [{"name": name, "type": "long", "required": False} for name in names]}}}


def value_of(shape, name, known):
    """A value of the model's shape, for a request that is well formed."""
    if name in known:
        return known[name]
    if shape.type_name == "structure":
        required = shape.required_members or list(shape.members)[:1]
        return {member: value_of(shape.members[member], member, known) for member in required}
    if shape.type_name == "list":
        return [value_of(shape.member, name, known)]
    if shape.type_name == "map":
        return {"k": "v"}
    if shape.enum:
        return shape.enum[0]
    return {"integer": 1, "long": 1, "boolean": True, "timestamp": 0}.get(shape.type_name, "text")


def test_every_operation_of_the_model_is_served_or_refused_by_its_name(tables, arn):
    tables.create_namespace(tableBucketARN=arn, namespace=["sales"])
    table = tables.create_table(tableBucketARN=arn, namespace="sales", name="t", format="ICEBERG")["tableARN"]
    known = {"tableBucketARN": arn, "resourceArn": arn, "tableARN": table, "tableArn": table, "namespace": "sales",
             "name": "t"}
    model = tables.meta.service_model
    assert SERVED <= set(model.operation_names)
    for operation in sorted(set(model.operation_names) - SERVED):
        shape = model.operation_model(operation).input_shape
        arguments = value_of(shape, "", known) if shape else {}
        with pytest.raises(ClientError, match=re.escape(operation)) as error:
            getattr(tables, xform_name(operation))(**arguments)
        response = error.value.response
        assert response["Error"]["Code"] == "NotImplemented", operation
        assert response["ResponseMetadata"]["HTTPStatusCode"] == 501, operation
        assert operation in response["Error"]["Message"]


def test_table_buckets_namespaces_and_tables_live_and_die(tables, s3, arn, name):
    assert tables.get_table_bucket(tableBucketARN=arn)["name"] == name
    assert tables.get_table_bucket(tableBucketARN=arn)["createdAt"].year >= 2024
    pages = tables.get_paginator("list_table_buckets").paginate(prefix=name, PaginationConfig={"PageSize": 1})
    assert [it["arn"] for page in pages for it in page["tableBuckets"]] == [arn]
    s3.head_bucket(Bucket=name)
    assert code(tables.create_table_bucket, name=name) == ("ConflictException", 409)
    for namespace in ("archive", "sales"):
        made = tables.create_namespace(tableBucketARN=arn, namespace=[namespace])
        assert made["namespace"] == [namespace] and made["tableBucketARN"] == arn
    pages = tables.get_paginator("list_namespaces").paginate(tableBucketARN=arn, PaginationConfig={"PageSize": 1})
    assert [it["namespace"] for page in pages for it in page["namespaces"]] == [["archive"], ["sales"]]
    assert tables.get_namespace(tableBucketARN=arn, namespace="sales")["namespace"] == ["sales"]
    assert code(tables.create_namespace, tableBucketARN=arn, namespace=["Sales"]) == ("BadRequestException", 400)
    assert code(tables.get_namespace, tableBucketARN=arn, namespace="no") == ("NotFoundException", 404)

    of = {"tableBucketARN": arn, "namespace": "sales"}
    for table in ("a", "b", "c"):
        made = tables.create_table(**of, name=table, format="ICEBERG", metadata=columns("id"))
        found = tables.get_table(**of, name=table)
        assert (found["tableARN"], found["versionToken"]) == (made["tableARN"], made["versionToken"])
        assert found["metadataLocation"].startswith(found["warehouseLocation"])
        by_arn = tables.get_table(tableArn=made["tableARN"])
        assert by_arn["name"] == table
    pages = tables.get_paginator("list_tables").paginate(tableBucketARN=arn, PaginationConfig={"PageSize": 2})
    assert [it["name"] for page in pages for it in page["tables"]] == ["a", "b", "c"]
    assert [it["name"] for it in tables.list_tables(**of, prefix="b")["tables"]] == ["b"]
    tables.rename_table(**of, name="a", newName="z", newNamespaceName="archive")
    assert code(tables.rename_table, **of, name="b", newName="y", versionToken="stale") == ("ConflictException", 409)
    assert code(tables.delete_table, **of, name="b", versionToken="stale") == ("ConflictException", 409)
    assert code(tables.delete_namespace, tableBucketARN=arn, namespace="sales") == ("ConflictException", 409)
    assert code(tables.delete_table_bucket, tableBucketARN=arn) == ("ConflictException", 409)
    tables.delete_table(tableBucketARN=arn, namespace="archive", name="z")
    for table in ("b", "c"):
        tables.delete_table(**of, name=table, versionToken=tables.get_table(**of, name=table)["versionToken"])
    for namespace in ("archive", "sales"):
        tables.delete_namespace(tableBucketARN=arn, namespace=namespace)
    tables.delete_table_bucket(tableBucketARN=arn)
    assert code(tables.get_table_bucket, tableBucketARN=arn) == ("NotFoundException", 404)


def test_encryption_is_that_of_the_bucket(tables, arn):
    assert code(tables.get_table_bucket_encryption, tableBucketARN=arn) == ("NotFoundException", 404)
    tables.delete_table_bucket_encryption(tableBucketARN=arn)
    kms = {"sseAlgorithm": "aws:kms", "kmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/none"}
    assert code(tables.put_table_bucket_encryption, tableBucketARN=arn, encryptionConfiguration=kms) == (
        "BadRequestException", 400)


def test_tables_of_both_apis_are_the_same(server, tables, arn, name):
    if server.endpoint.startswith("https"):
        pytest.skip("PyIceberg takes no certificate from a variable")
    catalog = RestCatalog("liteio", **{
        "uri": f"{server.endpoint}/_iceberg", "warehouse": name, "credential": f"{ACCESS_KEY}:{SECRET_KEY}",
        "oauth2-server-uri": f"{server.endpoint}/_iceberg/v1/oauth/tokens"})
    tables.create_namespace(tableBucketARN=arn, namespace=["sales"])
    of = {"tableBucketARN": arn, "namespace": "sales"}
    tables.create_table(**of, name="here", format="ICEBERG", metadata=columns("id", "n"))
    loaded = catalog.load_table("sales.here")
    assert [field.name for field in loaded.schema().fields] == ["id", "n"]
    catalog.create_table("sales.there", Schema(NestedField(1, "id", LongType(), required=True)))
    for table in ("here", "there"):
        before = tables.get_table(**of, name=table)
        loaded = catalog.load_table(f"sales.{table}")
        assert loaded.metadata_location == before["metadataLocation"]
        with loaded.transaction() as transaction:
            transaction.set_properties({"a": "1"})
        after = tables.get_table_metadata_location(**of, name=table)
        assert after["metadataLocation"] == catalog.load_table(f"sales.{table}").metadata_location
        assert after["versionToken"] != before["versionToken"]
        assert tables.get_table(tableArn=before["tableARN"])["versionToken"] == after["versionToken"]

        # The metadata before that commit are of the same table, in the bucket: the location may go back.
        back = {**of, "name": table, "metadataLocation": before["metadataLocation"]}
        assert code(tables.update_table_metadata_location, **back, versionToken=before["versionToken"]) == (
            "ConflictException", 409)
        tables.update_table_metadata_location(**back, versionToken=after["versionToken"])
        assert "a" not in catalog.load_table(f"sales.{table}").properties
    catalog.drop_table("sales.there")
    assert [it["name"] for it in tables.list_tables(**of)["tables"]] == ["here"]


def test_settings_that_are_kept_and_those_that_are_refused(tables, arn):
    tables.create_namespace(tableBucketARN=arn, namespace=["sales"])
    of = {"tableBucketARN": arn, "namespace": "sales", "name": "t"}
    table = tables.create_table(**of, format="ICEBERG", metadata=columns("id"))["tableARN"]
    standard = {"storageClass": "STANDARD"}
    tables.put_table_bucket_storage_class(tableBucketARN=arn, storageClassConfiguration=standard)
    assert tables.get_table_bucket_storage_class(tableBucketARN=arn)["storageClassConfiguration"] == standard
    assert tables.get_table_storage_class(**of)["storageClassConfiguration"] == standard
    assert code(tables.put_table_bucket_storage_class, tableBucketARN=arn, storageClassConfiguration={
        "storageClass": "INTELLIGENT_TIERING"}) == ("NotImplemented", 501)
    assert code(tables.get_table_bucket_metrics_configuration, tableBucketARN=arn) == ("NotFoundException", 404)
    tables.put_table_bucket_metrics_configuration(tableBucketARN=arn)
    assert tables.get_table_bucket_metrics_configuration(tableBucketARN=arn)["tableBucketARN"] == arn
    tables.delete_table_bucket_metrics_configuration(tableBucketARN=arn)
    assert code(tables.get_table_bucket_metrics_configuration, tableBucketARN=arn) == ("NotFoundException", 404)

    for resource in (arn, table):
        tables.tag_resource(resourceArn=resource, tags={"a": "1", "b": ""})
        tables.untag_resource(resourceArn=resource, tagKeys=["b", "c"])
        assert tables.list_tags_for_resource(resourceArn=resource)["tags"] == {"a": "1"}
        assert code(tables.tag_resource, resourceArn=resource, tags={"aws:x": "1"}) == ("BadRequestException", 400)
        many = {f"k{number}": "" for number in range(50)}
        assert code(tables.tag_resource, resourceArn=resource, tags=many) == ("BadRequestException", 400)
    gone = table[:-1] + ("0" if table[-1] != "0" else "1")
    assert code(tables.list_tags_for_resource, resourceArn=gone) == ("NotFoundException", 404)
    assert code(tables.get_table, tableArn=gone) == ("NotFoundException", 404)

    for value in ({"status": "on"}, {"settings": {"icebergSnapshotManagement": {"minSnapshotsToKeep": 0}}}):
        assert code(tables.put_table_maintenance_configuration, **of, type="icebergSnapshotManagement",
                    value=value) == ("BadRequestException", 400)
    compaction = {"settings": {"icebergCompaction": {"targetFileSizeMB": 128}}}
    assert code(tables.put_table_maintenance_configuration, **of, type="icebergCompaction", value=compaction) == (
        "NotImplemented", 501)
    assert code(tables.put_table_maintenance_configuration, **of, type="other", value={"status": "enabled"}) == (
        "BadRequestException", 400)
    public = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3tables:*", ' \
        f'"Resource": "{arn}/*"}}}}'
    assert code(tables.put_table_bucket_policy, tableBucketARN=arn, resourcePolicy=public) == (
        "AccessDeniedException", 403)
    for policy in ("{", public.replace("s3tables:*", "s3:*"), public.replace(arn, "arn:aws:s3:::lake")):
        assert code(tables.put_table_bucket_policy, tableBucketARN=arn, resourcePolicy=policy) == (
            "BadRequestException", 400)
