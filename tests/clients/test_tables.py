"""The Iceberg REST catalog through PyIceberg and DuckDB: create, append, read, delete, alter, time travel, conflicts."""

import importlib.util
import pathlib
import uuid

import boto3
import duckdb
import pyarrow as pa
import pytest
from botocore.config import Config
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException, ForbiddenError, NamespaceNotEmptyError, NoSuchNamespaceError, NoSuchTableError,
    OAuthError, TableAlreadyExistsError, UnauthorizedError)
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from conftest import ACCESS_KEY, SECRET_KEY

ROWS = pa.schema([pa.field("id", pa.int64()), pa.field("note", pa.string())])


def rows(*pairs):
    return pa.Table.from_pylist([{"id": key, "note": note} for key, note in pairs], schema=ROWS)


@pytest.fixture
def warehouse(server):
    if server.endpoint.startswith("https"):
        pytest.skip("Arrow and DuckDB take no certificate from a variable")
    name = f"lake-{uuid.uuid4().hex[:16]}"
    boto3.client(
        "s3", endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY, config=Config(retries={"max_attempts": 1})).create_bucket(Bucket=name)
    return name


def catalog_of(server, warehouse, **properties):
    keys = {"credential": f"{ACCESS_KEY}:{SECRET_KEY}"} if "rest.sigv4-enabled" not in properties else {}
    return RestCatalog("liteio", **{
        "uri": f"{server.endpoint}/_iceberg", "warehouse": warehouse,
        "oauth2-server-uri": f"{server.endpoint}/_iceberg/v1/oauth/tokens", **keys, **properties})


@pytest.fixture
def catalog(server, warehouse):
    return catalog_of(server, warehouse)


def test_a_table_is_created_written_read_altered_and_dropped(catalog):
    catalog.create_namespace("sales", {"owner": "me"})
    assert catalog.list_namespaces() == [("sales",)]
    assert catalog.load_namespace_properties("sales") == {"owner": "me"}
    table = catalog.create_table("sales.orders", schema=ROWS)
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table("sales.orders", schema=ROWS)
    table.append(rows((1, "a"), (2, "b")))
    first = table.current_snapshot().snapshot_id
    table.append(rows((3, "c")))
    table.delete("id = 2")
    table.overwrite(rows((3, "d")), overwrite_filter="id = 3")
    with table.update_schema() as update:
        update.add_column("price", LongType())
    with table.transaction() as transaction:
        transaction.set_properties({"a": "1"})
    loaded = catalog.load_table("sales.orders")
    assert loaded.properties["a"] == "1"
    found = sorted(loaded.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert found == [{"id": 1, "note": "a", "price": None}, {"id": 3, "note": "d", "price": None}]
    assert loaded.scan(snapshot_id=first).to_arrow().num_rows == 2
    loaded.manage_snapshots().create_tag(first, "first").commit()
    assert catalog.load_table("sales.orders").refs()["first"].snapshot_id == first

    catalog.create_namespace("archive")
    catalog.rename_table("sales.orders", "archive.orders")
    assert catalog.list_tables("archive") == [("archive", "orders")]
    assert catalog.load_table("archive.orders").scan().to_arrow().num_rows == 2
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("archive")
    assert catalog.table_exists("archive.orders") and not catalog.table_exists("sales.orders")
    catalog.purge_table("archive.orders")
    with pytest.raises(NoSuchTableError):
        catalog.load_table("archive.orders")
    catalog.drop_namespace("archive")
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("archive")


def test_names_with_odd_characters_and_nested_namespaces(catalog):
    catalog.create_namespace(("a b",))
    catalog.create_namespace(("a b", "c/d é"))
    assert catalog.list_namespaces(("a b",)) == [("a b", "c/d é")]
    name = ("a b", "c/d é", "t.1/2 +")
    table = catalog.create_table(name, schema=ROWS)
    table.append(rows((1, "x")))
    assert catalog.list_tables(("a b", "c/d é")) == [name]
    assert catalog.load_table(name).scan().to_arrow().num_rows == 1


def test_of_two_writers_one_gets_a_conflict(server, warehouse, catalog):
    catalog.create_namespace("n")
    catalog.create_table("n.t", schema=Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "note", StringType(), required=False)))
    one, other = catalog.load_table("n.t"), catalog_of(server, warehouse).load_table("n.t")
    with one.update_schema() as update:
        update.add_column("x", LongType())
    with pytest.raises(CommitFailedException):
        with other.update_schema() as update:
            update.add_column("y", LongType())
    other.refresh().append(rows((1, "a")))
    assert [field.name for field in catalog.load_table("n.t").schema().fields] == ["id", "note", "x"]


def test_a_signed_client_and_vended_credentials(server, warehouse):
    signed = catalog_of(server, warehouse, **{
        "rest.sigv4-enabled": "true", "rest.signing-name": "s3tables",
        "rest.signing-region": "us-east-1", "client.access-key-id": ACCESS_KEY,
        "client.secret-access-key": SECRET_KEY, "client.region": "us-east-1"})
    signed.create_namespace("n")
    signed.create_table("n.t", schema=ROWS).append(rows((1, "a")))
    table = catalog_of(server, warehouse).load_table("n.t")
    assert table.io.properties["s3.access-key-id"] != ACCESS_KEY, "the client asks for credentials by default"
    assert table.scan().to_arrow().num_rows == 1


def test_a_wrong_secret_is_refused(server, warehouse):
    with pytest.raises((UnauthorizedError, ForbiddenError, OAuthError)):
        catalog_of(server, warehouse, credential=f"{ACCESS_KEY}:wrong").list_namespaces()


def extension(name):
    """The path of an extension of DuckDB that a package of PyPI has."""
    package = importlib.util.find_spec(f"duckdb_extension_{name}").submodule_search_locations[0]
    return str(next(pathlib.Path(package).rglob(f"{name}.duckdb_extension")))


def test_duckdb_inserts_deletes_updates_alters_and_travels(server, warehouse, catalog):
    catalog.create_namespace("sales")
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ["avro", "httpfs", "iceberg"]:
        connection.execute(f"load '{extension(name)}'")
    connection.execute(f"""
        create secret catalog (type iceberg, client_id '{ACCESS_KEY}', client_secret '{SECRET_KEY}',
                               oauth2_server_uri '{server.endpoint}/_iceberg/v1/oauth/tokens')""")
    connection.execute(f"attach '{warehouse}' as lake (type iceberg, endpoint '{server.endpoint}/_iceberg', secret catalog)")
    connection.execute("create table lake.sales.orders (id bigint, note varchar)")
    connection.execute("insert into lake.sales.orders values (1, 'a'), (2, 'b'), (3, 'c')")
    connection.execute("delete from lake.sales.orders where id = 2")
    connection.execute("update lake.sales.orders set note = 'd' where id = 3")
    assert connection.execute("from lake.sales.orders order by id").fetchall() == [(1, "a"), (3, "d")]
    table = catalog.load_table("sales.orders")
    first = table.history()[0].snapshot_id
    travelled = connection.execute(f"select count(*) from lake.sales.orders at (version => {first})")
    assert travelled.fetchone() == (3,)
    connection.execute("alter table lake.sales.orders add column price bigint")
    connection.execute("create table lake.sales.copied as select id from lake.sales.orders")
    assert connection.execute("select count(*) from lake.sales.copied").fetchone() == (2,)
    connection.execute("begin")
    connection.execute("insert into lake.sales.orders values (4, 'e', 1)")
    connection.execute("insert into lake.sales.copied values (4)")
    connection.execute("commit")
    assert catalog.load_table("sales.copied").scan().to_arrow().num_rows == 3
    assert catalog.load_table("sales.orders").scan().to_arrow().num_rows == 3
    connection.execute("drop table lake.sales.copied")
    assert catalog.list_tables("sales") == [("sales", "orders")]
