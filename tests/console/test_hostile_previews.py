"""Objects that would freeze or crash the tab of whoever looks at them: little to store, much to show."""

import gzip
import struct
import uuid

import pytest
from parquet_file import (BYTE_ARRAY, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, FIXED, INT32, LZ4_RAW, REPEATED, RLE_DICTIONARY, SNAPPY,
                          ZSTD, column, data_page, dictionary_page, parquet, repeated, thrift, varint, with_footer, zigzag, zstd_frame)
from test_console import open_object

MIB = 1 << 20
DECIMAL = 5
FIRST_OF_DICTIONARY = data_page(b"\0" + varint(100 << 1), 100, RLE_DICTIONARY)
LARGE = struct.pack("<I", 32 * MIB)


def deltas(first, total, size=65_536):
    """Deltas of 0: two bytes for each block of `size` numbers."""
    blocks = -(-(total - 1) // size)
    return varint(size) + varint(1) + varint(total) + zigzag(first) + (zigzag(0) + b"\0") * blocks


def steps(first, others, total):
    """Deltas of a number and `total - 1` others that are the same, in one block."""
    least = min(0, others - first)
    packed = others - first - least | sum(-least << 26 * at for at in range(1, 128))
    return varint(128) + varint(4) + varint(total) + zigzag(first) + zigzag(least) + bytes([26] * 4) + packed.to_bytes(128 * 26 // 8, "little")


def zstd_parquet(element, *pages, **options):
    """Pages of frames: `[page, blocks, *more]`."""
    made = []
    for page, blocks, *more in pages:
        size = sum(block[1] if isinstance(block, tuple) else len(block) for block in blocks)
        made.append(page(zstd_frame(*blocks), *more, size=size))
    return parquet(element, b"".join(made), ZSTD, **options)


HOSTILE = {
    "a dictionary of endless values without bytes":
        (parquet(column(FIXED, _2=0), dictionary_page(b"", 2**31 - 1) + FIRST_OF_DICTIONARY), "column: The column has values of no length."),
    "a dictionary that claims more values than it has":
        (parquet(column(FIXED, _2=4), dictionary_page(b"four", 2**31 - 1) + FIRST_OF_DICTIONARY), "0x666f7572"),
    "an index far behind the first rows":
        (parquet(column(INT32), dictionary_page(bytes(4 * 200_000), 200_000) + data_page(b"\x20" + varint(100 << 1) + struct.pack("<I", 150_000), 100, RLE_DICTIONARY)),
         "The dictionary of the column is too large for a preview."),
    "two dictionaries":
        (parquet(column(INT32), dictionary_page(bytes(4), 1) * 2 + FIRST_OF_DICTIONARY), "The column has more than one dictionary."),
    "decimals with hundreds of millions of digits":
        (parquet(column(INT32, _6=DECIMAL, _7=400_000_000, _8=9), data_page(bytes(400), 100)), "The scale of the decimals is invalid."),
    "columns of sixteen million deltas without bytes":
        (parquet(column(INT32), data_page(deltas(7, 1 << 24), 1 << 24, DELTA_BINARY_PACKED), columns=100), "The first 100 rows"),
    "columns that share a bomb":
        (zstd_parquet(column(INT32), (data_page, repeated(b"\0", 64 * MIB), 100), columns=100),
         "The columns before decompress to more than a preview takes."),
    "blocks without contents":
        (zstd_parquet(column(INT32), (data_page, [b""] * 100_000 + [bytes(400)], 100), columns=100), "has too many blocks for a preview."),
    "runs without contents":
        (zstd_parquet(column(INT32), (dictionary_page, [bytes(4)], 1), (data_page, [b"\1", *repeated(b"\1", 60 * MIB)], 100, RLE_DICTIONARY), columns=4),
         "A page of the Parquet file is truncated."),
    "values that share a long beginning":
        (zstd_parquet(column(BYTE_ARRAY), (data_page, [
            steps(0, 32 * MIB, 100), steps(32 * MIB, 0, 100), *repeated(b"a", 32 * MIB)], 100, DELTA_BYTE_ARRAY)),
         "0x" + "61" * 32 + "…"),
    "a long value in each row":
        (zstd_parquet(column(BYTE_ARRAY, _6=0), (dictionary_page, [LARGE, *repeated(b"a", 32 * MIB)], 1), (data_page, [b"\0" + varint(100 << 1)], 100, RLE_DICTIONARY)),
         "a" * 200 + "…"),
    "a length that differs from the page's":
        (parquet(column(INT32), data_page(varint(2**31) + b"\xf0\x63" + bytes(100) + b"\xf0\x63" + bytes(100), 50, size=200), SNAPPY),
         "A compressed page of the Parquet file is damaged."),
    "a literal longer than the page":
        (parquet(column(INT32), data_page(b"\xf0" + b"\xff" * 1000 + b"\0", 50, size=200), LZ4_RAW), "A compressed page of the Parquet file is damaged."),
    "a page of gigabytes":
        (parquet(column(INT32), data_page(b"\0" * 9, 50, size=2**32), SNAPPY), "The pages of the column are too large for a preview."),
    "endless pages without values":
        (parquet(column(INT32), data_page(b"", 0) * 100_000, columns=100), "The column has too many pages for a preview."),
    "lists in lists":
        (with_footer(b"\x19\xf9\x01" + b"\x19" * 100_000), "The Parquet file is nested too deeply."),
    "millions of structs without fields":
        (with_footer(b"\x19\xfc" + varint(5_000_000) + bytes(5_000_001)), "The metadata of the Parquet file is too large for a preview."),
    "more columns than a schema has":
        (with_footer(b"\x29\xfc" + varint(200_000) + bytes(200_001)), "has too many columns for a preview."),
    "a list in the place of a number":
        (with_footer(b"\x19\xf5" + varint(1_000_000) + bytes(1_000_000) + thrift({2: [{4: b"schema"}], 3: 0})[1]), "0 rows in 0 row groups"),
}


@pytest.fixture(scope="module")
def bucket(s3):
    name = f"suite-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=name)
    return name


def show(page, server, s3, bucket, name, body, words):
    s3.put_object(Bucket=bucket, Key=name, Body=body)
    open_object(page, server, bucket, name, "preview")
    page.sees(words)


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_parquet_files_take_little(page, server, s3, bucket, case):
    body, words = HOSTILE[case]
    show(page, server, s3, bucket, f"{uuid.uuid4().hex}.parquet", body, words)


def test_items_of_lists_are_made_as_far_as_they_are_shown(page, server, s3, bucket):
    # One repeated value of a megabyte, in 20,000 items of one row.
    levels = varint(1 << 1) + b"\0" + varint(19_999 << 1) + b"\1"
    definitions = varint(20_000 << 1) + b"\1"
    body = b"".join(struct.pack("<I", len(it)) + it for it in (levels, definitions)) + b"\0" + varint(20_000 << 1)
    element = {**column(BYTE_ARRAY, _6=0), 3: REPEATED}
    value = [struct.pack("<I", MIB), *repeated(b"a", MIB)]
    file = zstd_parquet(element, (dictionary_page, value, 1), (data_page, [body], 20_000, RLE_DICTIONARY), rows=1)
    show(page, server, s3, bucket, "list.parquet", file, f"[{'a' * 199}…")


def test_of_a_gzip_only_what_is_shown_is_decompressed(page, server, s3, bucket):
    # What goes into the browser's decompressor, which decompresses all of it at once.
    page.run("""(() => {
      const Browsers = DecompressionStream;
      window.taken = 0;
      window.DecompressionStream = class {
        constructor(format) {
          const inner = new Browsers(format);
          const count = new TransformStream({ transform(chunk, out) { window.taken += chunk.length; out.enqueue(chunk); } });
          this.writable = count.writable;
          this.readable = count.readable.pipeThrough(inner);
        }
      };
    })()""")
    show(page, server, s3, bucket, "bomb.log.gz", gzip.compress(b"a" * (100 * MIB)), "The first 512 KiB")
    assert 0 < page.run("taken") <= 32 << 10


HALF_MIB = 512 << 10
PATHOLOGICAL = ["**a ", "[", "![", "`", "` ", "_a ", "~~a ", "[a](", "[a](b ", "`a` ", "*a* ", "a\n\n", "- a\n  - b\n", "```\n", "> ", "[**_`~~"]


def test_markdown_takes_no_longer_than_its_length(page, server, s3, bucket):
    texts = [*(it * (HALF_MIB // len(it)) for it in PATHOLOGICAL), "# " + " " * HALF_MIB + "x", "# " + "#" * HALF_MIB + "x",
             "a|b\n" + " " * HALF_MIB + "x", "a|b\n-|-\n" + "|" * HALF_MIB, "a|b\n-|-\n" + "|\n" * (HALF_MIB // 2)]
    for at, text in enumerate(texts):
        show(page, server, s3, bucket, f"{at}.md", ("Begin\n\n" + text)[:HALF_MIB].encode(), "Begin")
        assert page.run("document.querySelectorAll('.markdown *').length") < 50_000, text[:20]
        page.press("Escape")
        page.until("!document.querySelector('dialog[open]')")


def test_deep_json_is_indented_no_further_than_it_can_be_read(page, server, s3, bucket):
    body = "[" * 200_000 + "]" * 200_000
    show(page, server, s3, bucket, "deep.json", body, "[\n  [\n    [")
    assert page.run("document.querySelector('pre').innerText.length") < 100 * len(body)


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30">'
SIZE = "40 \u00d7 30"
OFTEN = "No preview: the picture repeats its parts too often."
DECLARES = "No preview: the picture declares entities or attributes of its own."
EMBEDS = "No preview: the picture contains another document or style sheet."
STYLES = "No preview: the styles of the picture have escapes or unusual names."
TYPE = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd"'


def levels(count, level, content='<rect width="9" height="9"/>'):
    """A picture whose levels each draw the one below ten times."""
    return SVG + level(0, content) + "".join(level(at, None) for at in range(1, count)) + "</svg>"


def uses(count, reference='href="#a{}"'):
    return levels(count, lambda at, content: f'<g id="a{at}">{content or f"<use {reference.format(at - 1)}/>" * 10}</g>')


def patterns(count, style="", paint='fill="url(#a{})"'):
    rectangle = '<rect {} width="9" height="9"/>'
    made = levels(count, lambda at, _: f'<pattern id="a{at}" width="1" height="1">{rectangle.format(paint.format(at - 1)) * 10}</pattern>')
    return made.replace(SVG, SVG + style).replace("</svg>", rectangle.format(paint.format(count - 1)) + "</svg>")


RULES = "<style>" + "".join(f"g > .b{at}:not(.c) {{ fill: url(#a{at}) }} " for at in range(-1, 9)) + "</style>"
INHERITED = SVG + '<pattern id="a0"><rect width="9" height="9"/></pattern>' + "".join(
    f'<g fill="url(#a{at - 1})"><pattern id="a{at}">{"<rect/>" * 10}</pattern></g>' for at in range(1, 9)) + '<rect fill="url(#a8)"/></svg>'
FILTERS = levels(9, lambda at, _: f'<filter id="f{at}">{f"""<feImage href="#a{at - 1}"/>""" * 10}</filter><rect id="a{at}" filter="url(#f{at})"/>')
ONE_FILTER_TEN_TIMES = levels(9, lambda at, _: f'<filter id="f{at}"><feImage href="#a{at - 1}"/></filter><rect id="a{at}" filter="{" ".join([f"url(#f{at})"] * 10)}"/>')
TEXTS = SVG + f'<text id="a">{"word " * 20_000}</text>' + '<use href="#a"/>' * 1000 + "</svg>"
ANIMATED = levels(9, lambda at, content: f'<g id="a{at}">{content or f"""<use><set attributeName="href" to="#a{at - 1}"/></use>""" * 10}</g>')
LAUGHS = f'{TYPE} [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>{SVG}<text>&b;</text></svg>'
MANY = {
    "uses": (uses(8), OFTEN), "uses in UTF-16": (uses(8).encode("utf-16"), OFTEN), "encoded names": (uses(8, 'xlink:href="&#35;%61{}"'), OFTEN),
    "names of entities": (f'{TYPE} [<!ENTITY x "a">]>' + uses(8, 'href="#&x;{}"'), OFTEN),
    "patterns": (patterns(9), OFTEN), "patterns by rules": (patterns(9, RULES, 'class="b{}"'), OFTEN), "inherited patterns": (INHERITED, OFTEN),
    "filters": (FILTERS, OFTEN), "one filter ten times": (ONE_FILTER_TEN_TIMES, OFTEN),
    "names of HTML": (TYPE.replace("SVG 1.1", "XHTML 1.0 Strict") + ">" + uses(8, 'href="&num;a{}"'), DECLARES),
    "the end of a line in a URL": (f'{SVG}<image href="da&#10;ta:image/svg+xml,x"/></svg>', EMBEDS),
    "the paint of markers": (uses(2).replace("<rect", '<rect fill="context-fill"'), STYLES),
    "texts": (TEXTS, OFTEN), "animations": (ANIMATED, OFTEN),
    "entities": (LAUGHS, DECLARES), "a picture in it": (f'{SVG}<image href="data:image/svg+xml,x"/></svg>', EMBEDS),
    "a circle": (f'{SVG}<g id="a"><use href="#a"/></g></svg>', "No preview: the picture refers to itself."),
    "a million elements": (f"{SVG}{'<a/>' * 1_000_000}</svg>", "No preview: the picture has too many elements."),
    "deep": (f"{SVG}{'<g>' * 100_000}{'</g>' * 100_000}</svg>", "No preview: the parts of the picture are nested too deeply."),
}
FEW = {
    "uses": uses(3), "patterns by rules": patterns(3, RULES, 'class="b{}"'), "another encoding": '<?xml version="1.0" encoding="iso-8859-1"?>' + uses(2).replace("</svg>", "<text>\u00e9</text></svg>"),
    "a document type": f"{TYPE}>{uses(2)}",
    "an editor's namespaces": f'{TYPE} [\n<!ENTITY ns_svg "http://www.w3.org/2000/svg">]>' + uses(2).replace('xmlns="http://www.w3.org/2000/svg"', 'xmlns="&ns_svg;"'),
    "a gradient for all": '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" fill="url(#b)"><style>.c { fill: #fff }</style><linearGradient id="b"/><rect width="9" height="9"/></svg>',
    "a clipped group": f'{SVG}<g clip-path="url(#b)"><clipPath id="b"><rect width="9" height="9"/></clipPath><rect width="9" height="9"/></g></svg>',
    "pixels": f'{SVG}<image style="mask: none" href="data:image/png;base64,iVBORw0KGgo=" width="9" height="9"/></svg>',
}


@pytest.mark.parametrize("case", MANY)
def test_pictures_that_draw_too_much_are_not_drawn_and_say_why(page, server, s3, bucket, case):
    body, reason = MANY[case]
    show(page, server, s3, bucket, f"{uuid.uuid4().hex}.svg", body, reason)
    assert page.run("document.querySelectorAll('dialog[open] img').length") == 0
    page.sees("Show as text")
    page.sees("Download")


@pytest.mark.parametrize("case", FEW)
def test_pictures_that_draw_what_they_contain_are_drawn(page, server, s3, bucket, case):
    show(page, server, s3, bucket, f"{uuid.uuid4().hex}.svg", FEW[case].encode("latin-1" if "iso-8859-1" in FEW[case] else "utf-8"), SIZE)
