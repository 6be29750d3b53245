"""The blocks of docs/vectors.md for LangChain, LlamaIndex and Haystack, with their packages and embeddings that need
no model, and those that copy from FAISS, Parquet and Chroma. They have an environment of their own, because they bring 1 GB
of dependencies."""

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


# Programs that make what the block of a name copies, the distance of its new index, and what is in there then: the place of the 1 in
# each vector, and its metadata.
SOURCES = [
    *(("faiss", f"""
import faiss, numpy
old = faiss.index_factory(256, "{kind}", faiss.METRIC_{metric})
old.train(numpy.eye(256, dtype="float32"))
old.add(numpy.eye(256, dtype="float32")[:3])
faiss.write_index(old, "old.faiss")
""", distance, {"0": (0, {}), "1": (1, {}), "2": (2, {})}) for kind, metric, distance in [
        ("Flat", "L2", "euclidean"), ("Flat", "INNER_PRODUCT", "cosine"), ("IVF4,Flat", "L2", "euclidean")]),
    *(("faiss", f"""
import faiss, numpy
old = faiss.index_factory(256, "{kind}")
old.train(numpy.eye(256, dtype="float32"))
old.add_with_ids(numpy.eye(256, dtype="float32")[:3], numpy.array([70, 5, 2**40]))
faiss.write_index(old, "old.faiss")
""", "euclidean", {"70": (0, {}), "5": (1, {}), str(2**40): (2, {})})
      for kind in ["IDMap,Flat", "IDMap2,Flat", "IVF4,Flat", "IDMap,IVF4,Flat"]),
    ("parquet", """
import datetime, numpy, pyarrow, pyarrow.parquet
columns = {"id": [7, 8, 9], "embedding": numpy.eye(256, dtype="float32")[:3].tolist(),
           "year": [1979, None, 2001], "price": [1.5, 2.5, float("nan")], "plot": ["word " * 1000, None, None],
           "day": [datetime.date(1979, 5, 25), None, None], "shown": [None, datetime.datetime(2001, 4, 25, 20, 15), None],
           "repeats": [None, None, [datetime.date(2002, 1, 1)]], "genres": [["horror", None], None, [None]],
           "scores": [None, [0.5, float("nan")], None]}
pyarrow.parquet.write_table(pyarrow.table(columns), "films.parquet")
""", "cosine", {"7": (0, {"year": 1979, "price": 1.5, "plot": "word " * 1000, "day": "1979-05-25", "genres": ["horror"]}),
                "8": (1, {"price": 2.5, "shown": "2001-04-25 20:15:00", "scores": [0.5]}),
                "9": (2, {"year": 2001, "repeats": ["2002-01-01"], "genres": []})}),
    *(("chroma", f"""
import chromadb, numpy
notes = chromadb.PersistentClient("chroma").create_collection("notes"{chosen})
notes.add(ids=["a", "b"], embeddings=numpy.eye(256)[:2].tolist(), metadatas=[{{"n": 1}}, None], documents=["x", "y"])
""", distance, {"a": (0, {"n": 1, "document": "x"}), "b": (1, {"document": "y"})}) for chosen, distance in [
        ("", "euclidean"), (', metadata={"hnsw:space": "cosine"}', "cosine")]),
]
COMPARISON = """
pages = vectors.get_paginator("list_vectors").paginate(**new, returnData=True, returnMetadata=True)
copied = {one["key"]: (one["data"]["float32"].index(1), one.get("metadata", {}))
          for page in pages for one in page["vectors"]}
assert copied == EXPECTED, copied
assert vectors.get_index(**new)["index"]["distanceMetric"] == DISTANCE
"""


def test_each_block_that_names_this_file_is_run():
    assert {block.test for block in PAGE if block.test and block.test.startswith(THIS)} == {
        THIS + name for name in [*EXPECTED, *(name for name, _, _, _ in SOURCES)]}


# Continues the block of Haystack: each filter must select what it selects among documents in memory.
HAYSTACK_FILTERS = """
from haystack.utils.filters import document_matches_filter

from films import films, vectors

vectors.put_vectors(**films, vectors=[
    {"key": key, "data": {"float32": embed("x")}, "metadata": metadata}
    for key, metadata in {"no-year": {"kind": "a"}, "old": {"kind": "b", "year": 1900}}.items()])
pages = vectors.get_paginator("list_vectors").paginate(**films, returnMetadata=True)
documents = [Document(id=one["key"], meta=one["metadata"]) for page in pages for one in page["vectors"]]

year = [{"field": "meta.year", "operator": operator, "value": 1979} for operator in ["==", "!=", ">", ">=", "<", "<="]]
listed = [{"field": "kind", "operator": operator, "value": ["a", "c"]} for operator in ["in", "not in"]]
together = [{"operator": operator, "conditions": [year[2], listed[1]]} for operator in ["AND", "OR", "NOT"]]
conditions = year + listed + together
conditions += [{"operator": "NOT", "conditions": [one]} for one in conditions]
conditions += [{"operator": "NOT", "conditions": [one]} for one in conditions[-3:]]
for condition in conditions:
    asked = {"query": "x", "filters": condition, "top_k": 100}
    found = pipeline.run({"retriever": asked})["retriever"]["documents"]
    expected = {one.id for one in documents if document_matches_filter(condition, one)}
    assert {one.id for one in found} == expected, condition
"""


def run_framework(name, sandbox, more=""):
    """The lines that the blocks of a framework print, with `more` behind them, of a first and of a second run."""
    blocks = [block for block in PAGE if block.test == THIS + name]
    # In the order of the page: the Haystack block searches the index of films and its vectors.
    for block in PAGE[:PAGE.index(blocks[0])]:
        if block.language == "python" and not block.test:
            sandbox.run(block)
    program = sandbox.in_this_sandbox("\n".join(block.text for block in blocks))
    (sandbox.directory / "framework.py").write_text(program + more)
    # A second time, too, on what the first has left.
    for _ in range(1 if blocks[0].once else 2):
        sandbox.run_command(["bash", "-c", f"{os.environ['EXAMPLES_FRAMEWORKS']} framework.py >printed"])
        yield (sandbox.directory / "printed").read_text().splitlines()


needs_frameworks = pytest.mark.skipif(
    os.environ.get("LITEIO_TESTS") != "full", reason="LITEIO_TESTS=full installs the frameworks")


@needs_frameworks
def test_filters_of_haystack_select_what_they_select_in_haystack(sandbox):
    for _ in run_framework("haystack", sandbox, HAYSTACK_FILTERS):
        pass


@needs_frameworks
@pytest.mark.parametrize(("name", "source", "distance", "copied"), SOURCES, ids=[name for name, _, _, _ in SOURCES])
def test_vectors_of_others_are_copied(name, source, distance, copied, sandbox):
    (sandbox.directory / "source.py").write_text(source)
    sandbox.run_command([os.environ["EXAMPLES_FRAMEWORKS"], "source.py"])
    comparison = COMPARISON.replace("EXPECTED", repr(copied)).replace("DISTANCE", repr(distance))
    for _ in run_framework(name, sandbox, comparison):
        pass


@needs_frameworks
@pytest.mark.parametrize("name", EXPECTED)
def test_a_block_of_a_framework(name, sandbox):
    for printed in run_framework(name, sandbox):
        if name == "llama_index":
            # All embeddings of the mock are alike, so neither comes first.
            printed.sort()
        assert printed[:len(EXPECTED[name])] == EXPECTED[name]
