"""Parquet files that no library writes: the compact protocol of Thrift, pages and footers by hand."""

import struct

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)
UNCOMPRESSED, SNAPPY, GZIP, _LZO, _BROTLI, _LZ4, ZSTD, LZ4_RAW = range(8)
PLAIN, RLE, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, RLE_DICTIONARY = 0, 3, 5, 7, 8
REPEATED = 2
ZSTD_BLOCK_MAX = 128 << 10


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def zigzag(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def thrift(value):
    """The type of a value and its bytes: a number, bytes, a list of values of one type, or a struct of fields by number."""
    if isinstance(value, int):
        return 6, zigzag(value)
    if isinstance(value, bytes):
        return 8, varint(len(value)) + value
    if isinstance(value, list):
        parts = [thrift(it) for it in value]
        head = bytes([0xF0 | parts[0][0]]) + varint(len(parts)) if parts else b"\x0c"
        return 9, head + b"".join(part for _, part in parts)
    fields = [(number, *thrift(it)) for number, it in value.items()]
    return 12, b"".join(bytes([kind]) + zigzag(number) + part for number, kind, part in fields) + b"\0"


def head_of(kind, packed, size, **about):
    """The head of a page; `about` has its own fields, as `_5` or `_7`."""
    return thrift({1: kind, 2: size, 3: len(packed), **{int(key[1:]): it for key, it in about.items()}})[1]


def data_page(body, count, encoding=PLAIN, size=None):
    """A page of `body`, which may be compressed to `size` bytes before."""
    return head_of(0, body, len(body) if size is None else size, _5={1: count, 2: encoding, 3: RLE, 4: RLE}) + body


def dictionary_page(body, count, size=None):
    return head_of(2, body, len(body) if size is None else size, _7={1: count, 2: PLAIN}) + body


def zstd_frame(*blocks):
    """A frame of blocks: bytes as they are, or a byte that repeats and how often."""
    parts = []
    for at, block in enumerate(blocks):
        kind, count, body = (1, block[1], block[0]) if isinstance(block, tuple) else (0, len(block), block)
        parts.append((count << 3 | kind << 1 | (at == len(blocks) - 1)).to_bytes(3, "little") + body)
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(parts)


def repeated(byte, size):
    """The blocks of a byte `size` times."""
    return [(byte, min(ZSTD_BLOCK_MAX, size - at)) for at in range(0, size, ZSTD_BLOCK_MAX)]


def column(physical, **about):
    """An element of a schema; `about` has its own fields, as `_7` for a scale."""
    return {1: physical, 3: 0, 4: b"column", **{int(key[1:]): it for key, it in about.items()}}


def with_footer(footer, pages=b""):
    return b"PAR1" + pages + footer + struct.pack("<I", len(footer)) + b"PAR1"


def parquet(element, pages, codec=UNCOMPRESSED, columns=1, rows=100):
    """A file of columns of one kind, which all have the same pages."""
    schema = [{4: b"schema", 5: columns}, *[element] * columns]
    chunk = {2: 4, 3: {1: element[1], 4: codec, 5: rows, 6: len(pages), 7: len(pages), 9: 4}}
    return with_footer(thrift({1: 2, 2: schema, 3: rows, 4: [{1: [chunk] * columns, 2: len(pages), 3: rows}]})[1], pages)
