"""Every example of docs/python.md runs."""

import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL) if PAGE.exists() else []
OF_TEST_API = ("s3_space", "s3_client", "s3_bucket", "server.fault(")


def test_the_page_has_examples():
    if not PAGE.exists():
        pytest.skip("the page is not part of the source distribution")
    assert len(BLOCKS) >= 5


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
