"""The blocks of docs/vectors.md for LangChain, LlamaIndex and Haystack, with their packages and embeddings that need
no model. They have an environment of their own, because they bring 500 MB of dependencies."""

import os

import pytest

from blocks import read_documents

PAGE = read_documents()["docs/vectors.md"]
THIS = "tests/examples/test_frameworks.py::"
# The first lines that each prints. Blocks of the same name are one program.
EXPECTED = {
    "langchain": ["0.000 Bats hunt in the dark.", "bread Bread rises because of yeast.",
                  "bats Bats hunt in the dark.", "in nature: bats"],
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
    blocks = [block for block in PAGE if block.test == THIS + name]
    # In the order of the page: the Haystack block searches the index of films and its vectors.
    for block in PAGE[:PAGE.index(blocks[0])]:
        if block.language == "python" and not block.test:
            sandbox.run(block)
    program = sandbox.in_this_sandbox("\n".join(block.text for block in blocks))
    (sandbox.directory / "framework.py").write_text(program)
    # A second time, too, on what the first has left.
    for _ in range(2):
        sandbox.run_command(["bash", "-c", f"{os.environ['EXAMPLES_FRAMEWORKS']} framework.py >printed"])
        printed = (sandbox.directory / "printed").read_text().splitlines()
        if name == "llama_index":
            # All embeddings of the mock are alike, so neither comes first.
            printed.sort()
        assert printed[:len(EXPECTED[name])] == EXPECTED[name]
