"""Catalogs of tables: namespaces, tables, views, what a table has, and what users may not see."""

import json
import uuid
import zlib

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.httpsession
import pyarrow
import pyarrow.parquet
import pytest
from avro_file import MANIFEST, MANIFEST_LIST, avro, deflated, entry, listed, long, metadata, record, snapshot, text
from conftest import KEYS, sign_in, start, user_with
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform, TruncateTransform
from pyiceberg.types import ListType, LongType, NestedField, StringType, StructType
from test_sessions import ask as move

MARKUP = "<img src=x onerror=alert(1)><b>"


def catalog_of(server, warehouse):
    return RestCatalog("liteio", uri=f"{server}/_iceberg", warehouse=warehouse, credential=":".join(KEYS.values()),
                       **{"oauth2-server-uri": f"{server}/_iceberg/v1/oauth/tokens"})


def ask(server, method, path, document=None):
    """A request of the catalog that no library sends; its answer."""
    body = json.dumps(document).encode() if document is not None else b""
    request = botocore.awsrequest.AWSRequest(method, f"{server}{path}", data=body, headers={"content-type": "application/json"})
    keys = botocore.credentials.Credentials(*KEYS.values())
    botocore.auth.SigV4Auth(keys, "s3tables", "us-east-1").add_auth(request)
    reply = botocore.httpsession.URLLib3Session().send(request.prepare())
    assert reply.status_code < 300, reply.text
    return json.loads(reply.text or "{}")


def register(server, s3, bucket, name, document):
    """A table of a metadata file, in the namespace `n`."""
    key = f"{name}/{uuid.uuid4().hex}.metadata.json"
    s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(document))
    ask(server, "POST", f"/_iceberg/v1/{bucket}/namespaces/n/register", {"name": name, "metadata-location": f"s3://{bucket}/{key}"})


@pytest.fixture
def lake(s3):
    name = f"lake-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def catalog(server, lake):
    return catalog_of(server, lake)


ORDERS = Schema(
    NestedField(1, "id", LongType(), required=True, doc="The number of the order"),
    NestedField(2, "note", StringType()),
    NestedField(3, "buyer", StructType(NestedField(4, "name", StringType()), NestedField(5, "tags", ListType(6, StringType(), element_required=True)))),
    identifier_field_ids=[1])


def orders(catalog, name="sales.orders", **options):
    table = catalog.create_table(name, ORDERS, **options)
    for part in ([1, 2], [3]):
        rows = [{"id": it, "note": f"note {it}", "buyer": {"name": "Ada", "tags": ["a", "b"]}} for it in part]
        table.append(pyarrow.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    return table


def a_view(server, bucket, namespace="sales", name="ids", column="id", sql="select id from orders", dialect="spark", size="small"):
    schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": column, "type": "long", "required": False}]}
    version = {"version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "default-namespace": [namespace],
               "representations": [{"type": "sql", "sql": sql, "dialect": dialect}]}
    ask(server, "POST", f"/_iceberg/v1/{bucket}/namespaces/{namespace}/views",
        {"name": name, "schema": schema, "view-version": version, "properties": {size: size}})


def go(page, *path, **query):
    page.run(f"location.hash = '#/' + {json.dumps(list(path))}.map(encodeURIComponent).join('/') + {json.dumps('?tab=' + query['tab'] if query else '')}")


def lines(page):
    return page.run("[...document.querySelectorAll('.grid .line')].map((row) => [...row.children].filter((it) => it.checkVisibility()).map((it) => it.innerText.trim()))")


def facts(page):
    return page.run("Object.fromEntries([...document.querySelectorAll('.facts dt')].map((it) => [it.innerText, it.nextElementSibling.innerText]))")


def test_a_catalog_is_browsed_from_its_namespaces_to_the_rows_of_a_table(page, catalog, lake, server):
    catalog.create_namespace("sales", {"owner": "me"})
    catalog.create_namespace(("sales", "eu"))
    table = orders(catalog, sort_order=SortOrder(SortField(1, IdentityTransform())), properties={"colour": "green"})
    with table.update_spec() as update:
        update.add_field("note", TruncateTransform(3), "note_start")
    catalog.create_table(("sales", "eu", "deep"), ORDERS)
    a_view(server, lake)
    go(page, "catalogs")
    page.sees(lake)
    assert page.run(f"[...document.querySelectorAll('tbody tr')].find((it) => it.innerText.includes({json.dumps(lake)})).cells[1].innerText") == "1"
    page.click(lake)
    page.sees("1 entry")
    assert lines(page) == [["sales", "Namespace"]]
    page.click("sales")
    page.sees("3 entries")
    assert lines(page) == [["eu", "Namespace"], ["orders", "Table"], ["ids", "View"]]
    page.click("More actions")
    page.click("Properties")
    page.sees("owner")
    page.press("Escape")
    page.fill("Filter", "id")
    page.until("document.querySelectorAll('.grid .line').length === 1")
    page.click("ids")
    page.sees("select id from orders")
    page.sees("small")
    go(page, "catalogs", lake, "sales\x1feu")
    page.click("deep")
    page.sees("Format version")
    page.click("Snapshots")
    page.sees("No snapshots yet")
    page.click("Rows")
    page.sees("No data files")
    page.click("Maintenance")
    page.sees("namespaces of one level only")

    go(page, "catalogs", lake, "sales", "tables", "orders")
    page.sees("Format version")
    about = facts(page)
    assert about["Partitioned by"] == "truncate[3](note)"
    assert about["Sorted by"] == "id asc nulls-first"
    assert about["Location"] == table.location()
    table.refresh()
    assert about["Metadata file"] == table.metadata_location
    current = table.current_snapshot()
    assert str(current.snapshot_id) in about["Branches and tags"], "ids of 64 bits are not rounded"
    tiles = page.run("[...document.querySelectorAll('.tile')].map((it) => it.innerText.split('\\n'))")
    assert tiles[0] == ["Rows", "3"] and tiles[1] == ["Data files", "2"], tiles
    page.sees("colour")
    page.click("Schema")
    page.sees("6 columns and fields")
    assert lines(page) == [
        ["id", "long", "identifier", "1", "The number of the order"], ["note", "string", "optional", "2", ""], ["buyer", "struct", "optional", "3", ""],
        ["name", "string", "optional", "4", ""], ["tags", "list", "optional", "5", ""], ["element", "string", "required", "6", ""]]
    page.click("Snapshots")
    page.sees("2 snapshots")
    newest, oldest = lines(page)
    assert newest[1].split() == ["append", "current"] and newest[2:] == ["1", "–", "1", "–", "3", str(current.snapshot_id)]
    assert oldest[1:] == ["append", "2", "–", "1", "–", "2", str(current.parent_snapshot_id)]
    page.run("document.querySelector('.grid .link').click()")
    page.sees("total-records")
    page.press("Escape")
    page.click("Rows")
    page.sees("The first 1 row of 1")
    assert page.run("[...document.querySelectorAll('.preview-of .card:first-of-type tbody tr')].map((it) => it.cells[0].innerText)") == ["3"]
    page.run("document.querySelectorAll('.files .link-button')[1].click()")
    page.sees("The first 2 rows of 2")
    page.sees("note 1")
    table.delete("id = 3")
    page.click("More actions")
    page.click("Reload")
    page.click("Snapshots")
    page.sees("3 snapshots")


def test_namespaces_are_made_below_each_other_and_deleted_when_they_are_empty(page, catalog, lake):
    go(page, "catalogs", lake)
    page.sees("No namespaces yet")
    page.click("New namespace")
    page.fill("Name", "a b")
    page.click("Create")
    page.sees("1 entry")
    page.click("a b")
    page.sees("Nothing in this namespace yet")
    page.click("New namespace")
    page.fill("Name", "c/d+e")
    page.click("Create")
    page.sees("1 entry")
    assert catalog.list_namespaces("a b") == [("a b", "c/d+e")]
    page.click("More actions")
    page.click("Delete namespace")
    page.click("Delete")
    page.sees("NamespaceNotEmptyException")
    page.click("Cancel")
    page.click("c/d+e")
    page.sees("Nothing in this namespace yet")
    for left in (1, 0):
        page.click("More actions")
        page.click("Delete namespace")
        page.click("Delete")
        page.sees("was deleted.")
        page.sees("Nothing in this namespace yet" if left else "No namespaces yet")
        page.click("Dismiss")
    assert catalog.list_namespaces() == []


def test_a_table_is_dropped_with_its_files_or_without_once_its_name_is_typed(page, catalog, lake, s3):
    catalog.create_namespace("sales")
    for name in ("kept", "purged"):
        orders(catalog, f"sales.{name}")
    files = {name: catalog.load_table(f"sales.{name}").location().split(lake + "/")[1] for name in ("kept", "purged")}

    def drop(name, is_purge):
        go(page, "catalogs", lake, "sales", "tables", name)
        page.sees("Format version")
        page.click("Drop")
        if is_purge:
            page.click("Delete its files, too", role="field")
        page.until("document.querySelector('dialog[open] button[type=submit]').disabled")
        page.fill(f"Type {name} to confirm", name)
        page.click("Drop table and delete files" if is_purge else "Drop table")
        page.sees(f"The table {name} was dropped.")

    drop("kept", False)
    drop("purged", True)
    page.sees("Nothing in this namespace yet")
    assert catalog.list_tables("sales") == []
    counts = {name: s3.list_objects_v2(Bucket=lake, Prefix=prefix)["KeyCount"] for name, prefix in files.items()}
    assert counts["kept"] > 4 and counts["purged"] == 0


def test_an_empty_catalog_has_texts_for_clients(page, lake, server):
    go(page, "catalogs", lake)
    page.sees("No namespaces yet")
    for name, words in [("PyIceberg", f'warehouse="{lake}"'), ("DuckDB", f"attach '{lake}'"), ("Spark", f"spark.sql.catalog.lake.warehouse={lake}")]:
        page.click(name)
        page.sees(words)
        page.sees(f"{server}/_iceberg")
    # The text is a program.
    page.click("PyIceberg")
    program = page.run("document.querySelector('.snippet pre').innerText").replace("YOUR_SECRET_KEY", KEYS["aws_secret_access_key"])
    printed = []
    exec(program, {"print": printed.append})
    assert printed == [[]]


def test_a_table_bucket_is_made_and_its_maintenance_is_told(browser):
    with start("--test-api") as server:
        page = sign_in(browser, server)
        go(page, "catalogs")
        page.click("New table bucket")
        page.fill("Name", "kept-by-server")
        page.click("Create")
        page.sees("No namespaces yet")
        catalog = catalog_of(server, "kept-by-server")
        catalog.create_namespace("sales")
        orders(catalog)
        go(page, "catalogs", "kept-by-server", "sales", "tables", "orders", tab="maintenance")
        page.sees("not yet run")
        rows = "[...document.querySelectorAll('tbody tr')].map((it) => [...it.cells].map((cell) => cell.innerText))"
        found = {row[0]: row[1:] for row in page.run(rows)}
        assert found["Snapshot management"][:3] == ["on", "maxSnapshotAgeHours: 120\nminSnapshotsToKeep: 1", "not yet run"]
        assert found["Unreferenced file removal"][:3] == ["on", "nonCurrentDays: 10\nunreferencedDays: 3", "not yet run"]
        assert found["Compaction"][2] == "disabled"
        # What is due is done, and the session goes on.
        move(server, "PUT", "/clock", {"advance_ms": 3_600_000})
        go(page, "catalogs", "kept-by-server")
        page.sees("1 entry")
        go(page, "catalogs", "kept-by-server", "sales", "tables", "orders", tab="maintenance")
        page.until(f"{rows}.filter((row) => row[3] === 'successful' && row[4] !== '–').length === 2")
        go(page, "metrics")
        page.sees("Snapshots expired")
        told = page.run("document.querySelector('section[aria-label=Tables]').innerText")
        assert "Files deleted\n0 (0 B)" in told and "Failures\n0" in told, told
        assert page.complaints() == []
        page.close()


def test_the_reason_is_told_to_users_who_may_not_list(browser, server, iam, catalog, lake):
    catalog.create_namespace("sales")
    orders(catalog)
    poor = sign_in(browser, server, *user_with(iam, "poor-of-tables"))
    go(poor, "catalogs")
    poor.sees("s3tables:ListTableBuckets")
    poor.fill("Bucket", lake)
    poor.click("Open")
    poor.sees("s3tables:ListNamespaces")
    go(poor, "catalogs", lake, "sales", "tables", "orders")
    poor.sees("s3tables:GetTableMetadataLocation")
    poor.close()
    some = sign_in(browser, server, *user_with(iam, "some-of-tables", "s3tables:ListNamespaces", "s3tables:GetTable*"))
    go(some, "catalogs", lake, "sales")
    some.sees("s3tables:ListTables")
    go(some, "catalogs", lake)
    some.click("sales")
    go(some, "catalogs", lake, "sales", "tables", "orders", tab="rows")
    some.sees("AccessDenied")
    some.click("Drop")
    some.fill("Type orders to confirm", "orders")
    some.click("Drop table")
    some.sees("s3tables:DeleteTable")
    assert some.complaints() == []
    some.close()


def test_names_and_values_of_strangers_are_text(page, server, s3, catalog, lake):
    catalog.create_namespace(("n",), {MARKUP: MARKUP})
    fields = [{"id": 1, "name": MARKUP, "type": "string", "required": False, "doc": MARKUP}]
    s3.put_object(Bucket=lake, Key="list", Body=avro(MANIFEST_LIST, listed(f"s3://{lake}/manifest")))
    s3.put_object(Bucket=lake, Key="manifest", Body=avro(MANIFEST, entry(f"s3://{lake}/{MARKUP}", 1, 1) + entry(f"javascript:alert(1)//{MARKUP}", 1, 1), count=2))
    document = metadata(lake, "t", fields, [snapshot(1, f"s3://{lake}/list", **{MARKUP: MARKUP, "total-records": MARKUP})], properties={MARKUP: MARKUP})
    register(server, s3, lake, MARKUP, document)
    a_view(server, lake, "n", f"v{MARKUP}", MARKUP, MARKUP, MARKUP, MARKUP)
    go(page, "catalogs", lake, "n")
    page.sees("2 entries")
    for path, words in [((lake, "n", "views", f"v{MARKUP}"), "Properties"), *[((lake, "n", "tables", MARKUP, tab), words) for tab, words in
                        [("overview", "Format version"), ("schema", "1 column"), ("snapshots", "1 snapshot"), ("rows", "Data file"), ("maintenance", "Compaction")]]]:
        go(page, "catalogs", *path[:4], **({"tab": path[4]} if path[4:] else {}))
        page.sees(words)
        page.sees(MARKUP)
        assert page.run("document.querySelectorAll('main img, main td b, main .grid b').length") == 0
        page.run("location.hash = '#/catalogs'")
        page.sees("table buckets")
    go(page, "catalogs", lake, "n", "tables", MARKUP, tab="rows")
    page.sees("Data file")
    page.run("document.querySelectorAll('.files .link-button')[1].click()")
    page.sees("The file is not in S3.")
    assert page.run("[...document.querySelectorAll('a')].every((it) => it.protocol !== 'javascript:')")
    assert page.dialogs == []


def test_ten_thousand_columns_and_a_hundred_thousand_snapshots_are_few_rows_of_the_document(page, server, s3, catalog, lake):
    catalog.create_namespace("n")
    fields = [{"id": at, "name": f"column_{at}", "type": "long", "required": False} for at in range(1, 10_001)]
    snapshots = [snapshot(at, f"s3://{lake}/none") for at in range(1, 100_001)]
    register(server, s3, lake, "large", metadata(lake, "large", fields, snapshots))
    drawn = "document.querySelectorAll('.grid .line').length"
    go(page, "catalogs", lake, "n", "tables", "large")
    page.until("document.body.innerText.includes('Format version')", 60)
    for tab, words, last in [("Schema", "10,000 columns", "column_10000"), ("Snapshots", "100,000 snapshots", "1")]:
        page.click(tab)
        page.until(f"document.body.innerText.includes('{words}')", 60)
        assert 0 < page.run(drawn) < 60
        page.run("document.querySelector('.grid [role=row][tabindex=\"0\"]').focus()")
        page.press("End")
        page.until(f"[...document.querySelectorAll('.grid .line')].some((it) => [...it.children].some((cell) => cell.innerText === '{last}'))")
        assert page.run(drawn) < 60


LOOP = {"type": "record", "name": "loop", "fields": [{"name": "again", "type": "loop"}]}
NOTHING = record("nothing", nothings={"type": "array", "items": "null"})
GOOD = listed("s3://LAKE/manifest")
HOSTILE = {
    "no Avro": (b"something else", "This is not an Avro file."),
    "an unknown codec": (avro(MANIFEST_LIST, b"x", codec="lzma"), "is compressed with lzma, which this page cannot decompress"),
    "a record in itself": (avro(LOOP, b""), "The Avro file is too large for a preview."),
    "endless values without bytes": (avro(NOTHING, long(2**40)), "The Avro file is too large for a preview."),
    "endless records without bytes": (avro(record("empty"), b"", count=2**40), "The Avro file is too large for a preview."),
    "a bomb": (avro(MANIFEST_LIST, deflated(bytes(64 << 20)), codec="deflate"), "The Avro file is damaged."),
    "a text beyond the end": (avro(MANIFEST_LIST, long(2**50)), "The Avro file is damaged."),
    "a number without an end": (avro(MANIFEST_LIST, b"\xff" * 20), "The Avro file is damaged."),
    "a branch that a union lacks": (avro(MANIFEST_LIST, text("x") + long(0) + long(7)), "The Avro file is damaged."),
    "no fields": (avro(record("empty"), b""), "is not in S3."),
    "no schema": (avro(None, b""), "A manifest of the snapshot is damaged."),
    "a manifest elsewhere": (avro(MANIFEST_LIST, listed("file:///etc/passwd")), "is not in S3."),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_manifest_list_costs_its_reason_only(page, server, s3, catalog, lake, what):
    body, words = HOSTILE[what]
    catalog.create_namespace("n")
    s3.put_object(Bucket=lake, Key="list", Body=body)
    register(server, s3, lake, "t", metadata(lake, "t", [], [snapshot(1, f"s3://{lake}/list")]))
    go(page, "catalogs", lake, "n", "tables", "t", tab="rows")
    page.sees(words)


def test_many_manifests_without_files_are_read_in_part(page, server, s3, catalog, lake):
    catalog.create_namespace("n")
    place = f"s3://{lake}/"
    s3.put_object(Bucket=lake, Key="list", Body=avro(MANIFEST_LIST, *[listed(place + "m", added=1)] * 30))
    s3.put_object(Bucket=lake, Key="m", Body=avro(MANIFEST, entry(place + "gone", 1, 1, status=2)))
    register(server, s3, lake, "t", metadata(lake, "t", [], [snapshot(1, place + "list")]))
    go(page, "catalogs", lake, "n", "tables", "t", tab="rows")
    page.sees("The first manifests of the current snapshot have none.")


def snappy(data):
    """Data as one literal of Snappy, with the checksum that Avro wants and the page does not read."""
    return bytes([len(data)]) + bytes([60 << 2, len(data) - 1]) + data + b"\0\0\0\0"


@pytest.mark.parametrize("codec, pack", [("null", bytes), ("deflate", deflated), ("deflate", lambda data: zlib.compress(data)[2:-1]), ("snappy", snappy)])
def test_manifests_of_all_codecs_are_read_without_deleted_files(page, server, s3, catalog, lake, codec, pack, tmp_path):
    catalog.create_namespace("n")
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": [7, 8]}), file)
    s3.put_object(Bucket=lake, Key="good", Body=file.read_bytes())
    place = f"s3://{lake}/"
    manifests = [listed(place + "m", added=3), listed(place + "none", added=0), listed(place + "deletes", content=1)]
    s3.put_object(Bucket=lake, Key="list", Body=avro(MANIFEST_LIST, *map(pack, manifests), codec=codec))
    entries = [entry(place + "gone", 1, 1, status=2), entry(place + "good", 2, file.stat().st_size), entry(place + "position-deletes", 1, 1, content=1)]
    s3.put_object(Bucket=lake, Key="m", Body=avro(MANIFEST, *map(pack, entries), codec=codec))
    fields = [{"id": 1, "name": "id", "type": "long", "required": False}]
    register(server, s3, lake, "t", metadata(lake, "t", fields, [snapshot(1, place + "list")]))
    go(page, "catalogs", lake, "n", "tables", "t", tab="rows")
    page.sees("The first 2 rows of 2")
    page.sees("Delete files remove rows of these files.")
    assert page.run("[...document.querySelectorAll('.files tbody tr')].map((it) => it.cells[0].innerText)") == ["good"]
