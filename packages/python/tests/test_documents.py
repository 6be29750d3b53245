"""Every example of docs/python.md runs, and those of docs/testing.md and docs/vectors.md for tests."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]
PAGE = ROOT / "docs" / "python.md"


def blocks_of(page):
    # The pages are no part of the source distribution.
    text = page.read_text() if PAGE.exists() else ""
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


BLOCKS = blocks_of(PAGE) + [
    block for page in ("testing.md", "vectors.md") for block in blocks_of(ROOT / "docs" / page)
    if "(s3_client" in block or "(s3_space" in block
]
OF_TEST_API = ("s3_space", "s3_client", "s3_bucket", "server.fault(", ".reset()")


def test_the_page_has_examples():
    if not PAGE.exists():
        pytest.skip("the page is not part of the source distribution")
    assert len(BLOCKS) >= 6


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_an_example(block, pytester, request):
    if any(name in block for name in OF_TEST_API):
        request.getfixturevalue("test_api")
    if "def test_" in block:
        pytester.makepyfile(block)
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
        assert done.parseoutcomes().keys() == {"passed"}
    else:
        assert pytester.runpython_c(block).ret == 0
