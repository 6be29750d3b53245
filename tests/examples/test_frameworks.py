"""The blocks of docs/vectors.md for LangChain, LlamaIndex and Haystack, with their packages and embeddings that need
no model. They have an environment of their own, because they bring 500 MB of dependencies."""

import os

import pytest

from blocks import read_documents

PAGE = read_documents()["docs/vectors.md"]
THIS = "tests/examples/test_frameworks.py::"
# The last lines that each block prints.
EXPECTED = {
    "langchain": ["0.000 Bats hunt in the dark.", "bread"],
    "llama_index": ["Bats hunt in the dark.", "Bread rises because of yeast."],
    "haystack": ["0.0328 A rat who loves cooking becomes a chef in Paris.",
                 "0.0323 A waitress in Paris secretly helps the people around her."],
}


def test_each_block_that_names_this_file_is_run():
    assert {block.test for block in PAGE if block.test and block.test.startswith(THIS)} == {
        THIS + name for name in EXPECTED}


@pytest.mark.skipif(os.environ.get("LITEIO_TESTS") != "full", reason="LITEIO_TESTS=full installs the frameworks")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_block_of_a_framework(name, sandbox):
    # The index of films and its vectors, which the Haystack block searches.
    for block in PAGE:
        if block.language == "python" and (block.file or "put_vectors(" in block.text):
            sandbox.run(block)
    block = next(each for each in PAGE if each.test == THIS + name)
    (sandbox.directory / "framework.py").write_text(sandbox.in_this_sandbox(block.text))
    sandbox.run_command(["bash", "-c", f"{os.environ['EXAMPLES_FRAMEWORKS']} framework.py >printed"])
    printed = (sandbox.directory / "printed").read_text().splitlines()
    if name == "llama_index":
        # All embeddings of the mock are alike, so neither comes first.
        printed.sort()
    assert printed[:2] == EXPECTED[name]
