"""Rows of Parquet files in the preview: every type, encoding and codec that the page decodes, as pyarrow writes them."""

import datetime
import decimal
import io
import random
import uuid

import pyarrow
import pyarrow.parquet
import pytest
from test_console import open_object

COUNT = 150
NUMBERS = range(COUNT)
DECIMAL = [decimal.Decimal(i) / 100 - 1 for i in NUMBERS]

# Column, the type in Arrow, values, and their texts.
COLUMNS = [
    ("i8", pyarrow.int8(), [i - 64 for i in NUMBERS], str),
    ("i32", pyarrow.int32(), [i * -1000 for i in NUMBERS], str),
    ("i64", pyarrow.int64(), [(-1) ** i * i * 10**12 for i in NUMBERS], str),
    ("u32", pyarrow.uint32(), [2**32 - 1 - i for i in NUMBERS], str),
    ("u64", pyarrow.uint64(), [2**64 - 1 - i for i in NUMBERS], str),
    ("f", pyarrow.float32(), [i + 0.25 for i in NUMBERS], lambda it: f"{it:g}"),
    ("d", pyarrow.float64(), [i / 7 + 0.1 for i in NUMBERS], str),
    ("h", pyarrow.float16(), [i + 0.5 for i in NUMBERS], lambda it: f"{it:g}"),
    ("b", pyarrow.bool_(), [i % 3 == 0 for i in NUMBERS], lambda it: str(it).lower()),
    ("s", pyarrow.string(), [None if i % 5 == 0 else f"text {i} ä" for i in NUMBERS], str),
    ("colour", pyarrow.string(), [["red", "green", "blue"][i % 3] for i in NUMBERS], str),
    ("bin", pyarrow.binary(), [bytes([i % 256]) * (i % 20 + 1) for i in NUMBERS], lambda it: f"0x{it.hex()}"),
    ("four", pyarrow.binary(4), [bytes([i % 256]) * 4 for i in NUMBERS], lambda it: f"0x{it.hex()}"),
    ("date", pyarrow.date32(), [datetime.date(1969, 12, 1) + datetime.timedelta(days=i) for i in NUMBERS], str),
    ("us", pyarrow.timestamp("us"), [datetime.datetime(1969, 12, 31, 23, 59, 59, 999990 - i) for i in NUMBERS], str),
    ("time", pyarrow.time64("us"), [datetime.time(1, 2, 3, i + 1) for i in NUMBERS], str),
    ("dec", pyarrow.decimal128(9, 2), DECIMAL, lambda it: f"{it:.2f}"),
    ("wide", pyarrow.decimal128(38, 3), [it * 10**20 for it in DECIMAL], lambda it: f"{it:.3f}"),
    ("list", pyarrow.list_(pyarrow.int32()), [None if i % 7 == 0 else list(range(i % 4)) for i in NUMBERS], str),
    ("none", pyarrow.int32(), [None] * COUNT, str),
]
TABLE = pyarrow.table({name: pyarrow.array(values, kind) for name, kind, values, _ in COLUMNS})
EXPECTED = [[name for name, *_ in COLUMNS],
            *[["null" if values[at] is None else text(values[at]) for _, _, values, text in COLUMNS] for at in range(100)]]
SHOWN = ("[...document.querySelectorAll('[role=tabpanel] table')].filter((it) => it.caption.innerText === 'Rows')"
         ".flatMap((it) => [...it.rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim())))")
SMALL_PAGES = {"data_page_size": 200, "dictionary_pagesize_limit": 300, "write_batch_size": 16}


@pytest.fixture
def bucket(s3):
    name = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name)
    return name


def show(page, server, s3, bucket, table, **options):
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **options)
    key = f"{uuid.uuid4().hex}.parquet"
    s3.put_object(Bucket=bucket, Key=key, Body=file.getvalue())
    page.run("location.hash = '#/buckets'")
    open_object(page, server, bucket, key, "preview")
    page.sees("Repetition")
    return file.getbuffer().nbytes


@pytest.mark.parametrize("options", [
    {"compression": codec, "data_page_version": version} for codec in ("none", "snappy", "gzip", "lz4", "zstd") for version in ("1.0", "2.0")
] + [{"use_dictionary": False}, SMALL_PAGES, {"use_deprecated_int96_timestamps": True}], ids=str)
def test_rows_are_shown_whatever_their_types_and_codecs(page, server, s3, bucket, options):
    show(page, server, s3, bucket, TABLE, **options)
    page.sees("The first 100 rows of 150")
    assert page.run(SHOWN) == EXPECTED


def test_all_encodings_of_values_are_read(page, server, s3, bucket):
    encodings = {"i32": "DELTA_BINARY_PACKED", "i64": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "colour": "DELTA_LENGTH_BYTE_ARRAY",
                 "f": "BYTE_STREAM_SPLIT", "d": "BYTE_STREAM_SPLIT", "four": "BYTE_STREAM_SPLIT"}
    show(page, server, s3, bucket, TABLE.select(list(encodings)), use_dictionary=False, column_encoding=encodings)
    at = [EXPECTED[0].index(name) for name in encodings]
    assert page.run(SHOWN) == [[row[column] for column in at] for row in EXPECTED]


def test_of_a_large_file_only_the_first_pages_are_read(page, server, s3, bucket):
    numbers = [random.random() for _ in range(400_000)]
    table = pyarrow.table({"number": numbers, "text": [str(it) for it in numbers]})
    page.watch_network()
    size = show(page, server, s3, bucket, table, use_dictionary=False)
    assert page.run(SHOWN) == [["number", "text"], *[[str(it), str(it)] for it in numbers[:100]]]
    page.run("0")
    read = sum(it["params"]["encodedDataLength"] for it in page.events if it.get("method") == "Network.loadingFinished")
    assert size > 8 << 20 and read < 4 << 20


def test_a_column_that_cannot_be_shown_says_why(page, server, s3, bucket):
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"good": ["a", "b"], "bad": ["c" * 500, "d" * 500]}), file, use_dictionary=False)
    body = bytearray(file.getvalue())
    # Copies from before the page's first byte.
    column = pyarrow.parquet.read_metadata(file).row_group(0).column(1)
    end = column.data_page_offset + column.total_compressed_size
    body[end - 12:end] = b"\xfe" * 12
    s3.put_object(Bucket=bucket, Key="damaged.parquet", Body=bytes(body))
    open_object(page, server, bucket, "damaged.parquet", "preview")
    page.sees("The first 2 rows")
    page.sees("bad: A compressed page of the Parquet file is damaged.")
    assert page.run(SHOWN) == [["good"], ["a"], ["b"]]
    assert page.complaints() == []


def test_a_file_without_rows_has_its_columns_only(page, server, s3, bucket):
    show(page, server, s3, bucket, TABLE.slice(0, 0))
    page.sees("INT32")
    assert page.complaints() == []
