"""Avro files with whatever is in them, and tables whose manifests they are."""

import json
import uuid
import zlib

from parquet_file import zigzag as long

MARK = b"sixteen bytes!!!"


def text(value):
    data = value.encode()
    return long(len(data)) + data


def deflated(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def avro(schema, *blocks, codec="null", count=1):
    """A file of blocks with `count` records each, as they are in it."""
    head = {"avro.schema": json.dumps(schema), "avro.codec": codec}
    about = long(len(head)) + b"".join(text(name) + text(value) for name, value in head.items()) + long(0)
    return b"Obj\x01" + about + MARK + b"".join(long(count) + long(len(block)) + block + MARK for block in blocks)


def record(name, **fields):
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


MANIFEST_LIST = record("manifest_file", manifest_path="string", content="int", added_files_count=["null", "int"])
MANIFEST = record("manifest_entry", status="int", data_file=record(
    "r2", content="int", file_path="string", file_format="string", record_count="long", file_size_in_bytes="long"))


def listed(manifest, content=0, added=1):
    return text(manifest) + long(content) + long(1) + long(added)


def entry(path, rows, size, status=1, content=0, kind="PARQUET"):
    return long(status) + long(content) + text(path) + text(kind) + long(rows) + long(size)


def metadata(bucket, name, fields, snapshots=(), **more):
    """The metadata file of a table with snapshots, of which the last is the current one."""
    document = {
        "format-version": 2, "table-uuid": str(uuid.uuid4()), "location": f"s3://{bucket}/{name}", "last-sequence-number": len(snapshots),
        "last-updated-ms": 1_700_000_000_000 + len(snapshots), "last-column-id": max((it["id"] for it in fields), default=0), "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}], "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999, "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "properties": {},
        "snapshots": list(snapshots), **more}
    if snapshots:
        last = snapshots[-1]["snapshot-id"]
        document |= {"current-snapshot-id": last, "refs": {"main": {"type": "branch", "snapshot-id": last}}}
    return document


def snapshot(number, manifest_list, **summary):
    parent = {"parent-snapshot-id": number - 1} if number > 1 else {}
    return {"snapshot-id": number, **parent, "sequence-number": number, "timestamp-ms": 1_700_000_000_000 + number,
            "manifest-list": manifest_list, "summary": {"operation": "append", **summary}, "schema-id": 0}
