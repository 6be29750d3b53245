"""Every example of the documents runs: in the order of its page, by itself, and a second time."""

import pytest

from blocks import chain, check_marker, read_documents

DOCUMENTS = read_documents()
BLOCKS = [block for blocks in DOCUMENTS.values() for block in blocks]


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.test], ids=lambda each: each.name)
def test_a_block_that_is_not_run_names_its_test(block):
    check_marker(block)


@pytest.mark.parametrize("document", [name for name, blocks in DOCUMENTS.items()
                                      if any(not each.test for each in blocks)])
def test_a_page_from_top_to_bottom(document, sandbox):
    for block in DOCUMENTS[document]:
        if not block.test:
            sandbox.run(block)


@pytest.mark.parametrize("block", [each for each in BLOCKS if not each.test], ids=lambda each: each.name)
def test_a_block_alone_and_again(block, sandbox):
    for each in chain(DOCUMENTS[block.document], block):
        if not each.test:
            sandbox.run(each)
    if not block.once:
        sandbox.run(block)
