"""Vector buckets, indexes, vectors and queries."""

import json

import pytest
from conftest import client


@pytest.fixture(scope="session")
def s3vectors(server):
    return client(server, "s3vectors")


def make(s3vectors, bucket, index="films", **more):
    s3vectors.create_vector_bucket(vectorBucketName=bucket)
    s3vectors.create_index(vectorBucketName=bucket, indexName=index, dataType="float32", dimension=2, distanceMetric="euclidean", **more)


def put(s3vectors, bucket, vectors, index="films"):
    vectors = [{"key": key, "data": {"float32": data}, "metadata": metadata} for key, data, metadata in vectors]
    s3vectors.put_vectors(vectorBucketName=bucket, indexName=index, vectors=vectors)


def results(page):
    page.until("!!document.querySelector('.query ~ .card tbody tr') && !document.querySelector('.spinner')")
    return page.run("[...document.querySelectorAll('.query ~ .card tbody tr')].map((it) => [it.cells[1].innerText, it.cells[2].innerText])")


def test_an_index_is_made_filled_asked_and_deleted(page, s3vectors):
    page.run("location.hash = '#/vectors'")
    page.click("New vector bucket")
    page.fill("Name", "library")
    page.click("Create")
    page.click("New index")
    page.fill("Name", "books")
    page.fill("Dimension", "2")
    page.choose("Distance", "euclidean")
    page.fill("Non-filterable metadata keys", "text, cover")
    page.click("Create")
    page.sees("No vectors yet")
    about = s3vectors.get_index(vectorBucketName="library", indexName="books")["index"]
    assert (about["dimension"], about["distanceMetric"]) == (2, "euclidean")
    assert sorted(about["metadataConfiguration"]["nonFilterableMetadataKeys"]) == ["cover", "text"]
    page.click("Put vectors")
    page.fill("Vectors as JSON", '[{"key":"a","data":[1,2,3]}]')
    page.click("Put")
    page.sees("has 3 elements; this index needs 2")
    vectors = [{"key": "a", "data": [0, 0], "metadata": {"kind": "x"}}, {"key": "b", "data": {"float32": [3, 4]}, "metadata": {"kind": "y"}}, {"key": "c", "data": [6, 8]}]
    page.fill("Vectors as JSON", json.dumps(vectors))
    page.click("Put")
    page.until("document.querySelector('.grid .foot')?.innerText.startsWith('3 vectors')")
    page.run("[...document.querySelectorAll('.grid .link')].find((it) => it.textContent === 'a').click()")
    page.sees("Metadata")
    page.click("Similar to this")
    assert results(page) == [["a", "0.00000"], ["b", "5.00000"], ["c", "10.0000"]]
    page.click("Similar to c")
    page.until("document.querySelector('.query ~ .card tbody tr')?.innerText.includes('c')")
    assert results(page) == [["c", "0.00000"], ["b", "5.00000"], ["a", "10.0000"]]
    page.run("document.querySelector('[role=tab]').click()")
    page.click("Similar to a")
    page.until("document.querySelector('.query ~ .card tbody tr')?.innerText.includes('a')")
    page.fill("Filter by metadata", '{"kind": "y"}')
    page.run("document.querySelector('form.query').requestSubmit()")
    page.until("document.querySelectorAll('.query ~ .card tbody tr').length === 1")
    assert results(page) == [["b", "5.00000"]]
    page.fill("Filter by metadata", '{"kind": ')
    page.run("document.querySelector('form.query').requestSubmit()")
    page.sees("The filter is not valid JSON")
    assert page.run("document.querySelectorAll('.query ~ .card').length") == 0
    page.sees("$startsWith")
    page.fill("Filter by metadata", "")
    page.choose("Nearest to", "vector")
    page.fill("Vector", "[6, 7]")
    page.fill("Results", "1")
    page.run("document.querySelector('form.query').requestSubmit()")
    page.until("document.querySelector('.query ~ .card tbody tr')?.innerText.includes('c')")
    assert results(page) == [["c", "1.00000"]]
    page.run("location.hash = '#/vectors'")
    page.click("Actions on library")
    page.click("Delete")
    page.fill("Type library to confirm", "library")
    page.click("Delete bucket and indexes")
    page.sees("Vector bucket library was deleted.")
    assert "library" not in [it["vectorBucketName"] for it in s3vectors.list_vector_buckets()["vectorBuckets"]]


def test_the_start_page_counts_indexes(page, s3vectors):
    make(s3vectors, "counted")
    page.run("location.hash = '#/vectors'")
    page.sees("counted")
    page.run("location.hash = '#/'")
    page.sees("Vector indexes")
    count = page.run("[...document.querySelectorAll('.tile')].find((it) => it.innerText.includes('Vector indexes')).querySelector('b').innerText")
    assert int(count) >= 1


def test_words_find_vectors_where_an_index_has_searched_texts(page, s3vectors):
    make(s3vectors, "words", metadataConfiguration={"nonFilterableMetadataKeys": ["plot"]})
    # The page makes the other one, for which no client of this version has a field.
    page.run("location.hash = '#/vectors/words'")
    page.sees("films")
    page.click("New index")
    page.fill("Name", "searched")
    page.fill("Dimension", "2")
    page.fill("Metadata keys with text search", "plot")
    page.choose("Language of the texts", "en")
    page.click("Create")
    page.sees("No vectors yet")
    put(s3vectors, "words", [("storm", [1, 0], {"plot": "The ships were sinking"}), ("calm", [0, 1], {"plot": "A quiet garden"})], "searched")
    page.click("Query")
    page.choose("Nearest to", "text")
    page.fill("Words", "ship")
    page.run("document.querySelector('form.query').requestSubmit()")
    assert [key for key, _ in results(page)] == ["storm"]
    page.choose("Nearest to", "both")
    page.fill("Vector", "[0, 1]")
    page.run("document.querySelector('form.query').requestSubmit()")
    page.until("document.querySelectorAll('.query ~ .card tbody tr').length === 2")
    assert sorted(key for key, _ in results(page)) == ["calm", "storm"]


def test_vectors_load_as_one_scrolls_and_are_deleted(page, s3vectors):
    make(s3vectors, "deep")
    for start in range(0, 1200, 400):
        put(s3vectors, "deep", [(f"v{number:05}", [number, 1], {}) for number in range(start, start + 400)])
    page.run("location.hash = '#/vectors/deep/films'")
    page.until("(document.querySelector('.grid .foot')?.innerText ?? '').includes('loaded, more available')")
    for _ in range(6):
        page.run("document.querySelector('.grid .view').scrollTop = 1e9")
        page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))", wait=True)
    page.until("(document.querySelector('.grid .view').scrollTop = 1e9, document.querySelector('.grid .foot').innerText.startsWith('1,200 vectors'))")
    assert page.run("document.querySelectorAll('.grid .line').length") < 80
    key = page.run("document.querySelector('.grid .line .link').innerText")
    page.run("document.querySelector('.grid .line input').click()")
    page.sees("1 selected")
    page.click("Delete")
    page.sees("Delete vectors")
    page.press("Enter")
    page.sees("Deleted.")
    assert s3vectors.get_vectors(vectorBucketName="deep", indexName="films", keys=[key])["vectors"] == []


def test_nothing_of_keys_and_metadata_runs(page, s3vectors):
    script = "<img src=x onerror=\"window.ran=1;alert('ran')\">"
    make(s3vectors, "evil")
    put(s3vectors, "evil", [(script, [1, 1], {"m": script, script: "k"})])
    page.run("location.hash = '#/vectors/evil/films'")
    page.sees(script)
    page.run("document.querySelector('.grid .link').click()")
    page.sees("Length")
    page.click("Similar to this")
    assert results(page)[0][0] == script
    assert page.run("window.ran") is None and page.dialogs == []
    assert not page.run("document.querySelectorAll('main img').length")
