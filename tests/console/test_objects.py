"""Single objects: their metadata, tags, versions, previews and downloads."""

import base64
import io
import json

import pyarrow
import pyarrow.parquet
import pytest
from browser import until
from test_console import open_object

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@pytest.fixture
def bucket(s3, request, page):
    name = request.node.name.split("[")[0].removeprefix("test_").replace("_", "-")[:60].rstrip("-")
    s3.create_bucket(Bucket=name)
    return name


def versioned(s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def names_and_values(page):
    return page.run("[...document.querySelectorAll('[role=tabpanel] .pairs')].map((it) => [...it.querySelectorAll('.pair')].map((pair) => [...pair.querySelectorAll('input')].map((it) => it.value)))")


def test_saved_metadata_and_restored_versions_keep_what_they_have(page, server, s3, bucket):
    versioned(s3, bucket)
    kept = {"ServerSideEncryption": "AES256", "StorageClass": "STANDARD_IA", "WebsiteRedirectLocation": "/elsewhere", "CacheControl": "no-store"}
    first = s3.put_object(Bucket=bucket, Key="a.txt", Body=b"first", ContentType="text/plain", **kept)["VersionId"]
    open_object(page, server, bucket, "a.txt", "metadata")
    page.click("Add metadata")
    page.until("document.querySelectorAll('.pairs').length === 2")
    page.fill("Name 1", "colour")
    page.fill("Value 1", "red")
    page.click("Save metadata")
    page.sees("Metadata was saved.")

    def head():
        found = s3.head_object(Bucket=bucket, Key="a.txt")
        return found["Metadata"], {name: found.get(name) for name in kept}
    assert head() == ({"colour": "red"}, kept)
    s3.put_object(Bucket=bucket, Key="a.txt", Body=b"second")
    page.run("location.hash = '#/buckets'")
    open_object(page, server, bucket, "a.txt", "versions")
    page.click(f"Actions on version {first}")
    page.click("Restore")
    page.sees("The version was restored.")
    assert head() == ({}, kept)
    assert s3.get_object(Bucket=bucket, Key="a.txt")["Body"].read() == b"first"


def test_metadata_has_every_text(page, server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="a.txt", Body=b"x", Metadata={"before": "=?UTF-8?B?w6k=?="})
    open_object(page, server, bucket, "a.txt", "metadata")
    page.until("!!document.querySelector('.pair')")
    assert names_and_values(page)[-1] == [["before", "é"]]
    texts = {"accent": "café", "far": "日本語 " * 30 + "😀", "spaces": "a   b"}
    for at, (name, value) in enumerate(texts.items(), 2):
        page.click("Add metadata")
        page.fill(f"Name {at}", name)
        page.fill(f"Value {at}", value)
    page.click("Save metadata")
    page.sees("Metadata was saved.")
    page.run("location.hash = '#/buckets'")
    open_object(page, server, bucket, "a.txt", "metadata")
    page.until("document.querySelectorAll('.pair').length === 4")
    assert dict(names_and_values(page)[-1]) == {"before": "é", **texts}
    assert s3.head_object(Bucket=bucket, Key="a.txt")["Metadata"]["spaces"] == "a   b"
    page.fill("Name 1", "two words")
    page.click("Save metadata")
    page.sees("“two words” is not a valid metadata name")


def test_metadata_and_tags_of_others_are_not_overwritten_unasked(page, server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="a.txt", Body=b"x", Metadata={"a": "1"})
    open_object(page, server, bucket, "a.txt", "metadata")
    page.until("!!document.querySelector('.pair')")
    page.fill("Value 1", "mine")
    theirs = {"CopySource": f"{bucket}/a.txt", "MetadataDirective": "REPLACE", "Metadata": {"a": "theirs"}}
    s3.copy_object(Bucket=bucket, Key="a.txt", **theirs)
    page.click("Save metadata")
    page.sees("Somebody else has changed this")
    assert s3.head_object(Bucket=bucket, Key="a.txt")["Metadata"] == {"a": "theirs"}
    page.click("Load their version")
    page.until("document.querySelector('.pair input:last-of-type').value === 'theirs'")
    page.sees_not("Somebody else has changed this")
    page.fill("Value 1", "mine after all")
    s3.copy_object(Bucket=bucket, Key="a.txt", **{**theirs, "Metadata": {"a": "theirs again"}})
    page.click("Save metadata")
    page.click("Overwrite with mine")
    page.sees("Metadata was saved.")
    assert s3.head_object(Bucket=bucket, Key="a.txt")["Metadata"] == {"a": "mine after all"}

    def tags():
        return {it["Key"]: it["Value"] for it in s3.get_object_tagging(Bucket=bucket, Key="a.txt")["TagSet"]}
    page.click("Add a tag")
    page.run("[...document.querySelectorAll('.pairs')][0].querySelector('input').focus()")
    page.type("team")
    page.click("Save tags")
    page.sees("Tags were saved.")
    assert tags() == {"team": ""}
    page.click("Add a tag")
    page.run("[...document.querySelectorAll('.pairs')][0].querySelectorAll('.pair')[1].querySelector('input').focus()")
    page.type("mine")
    s3.put_object_tagging(Bucket=bucket, Key="a.txt", Tagging={"TagSet": [{"Key": "theirs", "Value": "1"}]})
    page.click("Save tags")
    page.sees("Somebody else has changed this")
    assert tags() == {"theirs": "1"}
    page.click("Overwrite with mine")
    page.sees_not("Somebody else has changed this")
    until(lambda: tags() == {"team": "", "mine": ""}, "the tags were saved")


def test_one_version_is_deleted(page, server, s3, bucket):
    versioned(s3, bucket)
    first, second = (s3.put_object(Bucket=bucket, Key="a.txt", Body=body)["VersionId"] for body in (b"1", b"2"))
    open_object(page, server, bucket, "a.txt", "versions")
    page.click(f"Actions on version {first}")
    # The drawer has a button of that name, too.
    page.until("!!document.querySelector('[role=menu]')")
    page.run("[...document.querySelectorAll('[role=menuitem]')].find((it) => it.innerText === 'Delete').click()")
    page.sees("Delete version")
    page.press("Enter")
    page.sees("The version was deleted.")
    assert [it["VersionId"] for it in s3.list_object_versions(Bucket=bucket)["Versions"]] == [second]


def test_a_copy_that_failed_is_not_told_to_be_one(page, server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="a.txt", Body=b"x")
    open_object(page, server, bucket, "a.txt")
    page.run("navigator.clipboard.writeText = () => Promise.reject(new Error('no')); document.execCommand = () => false; 0")
    page.click("Copy the key")
    page.sees("The browser could not copy it")


def test_pictures_are_shown(page, server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="a.png", Body=PIXEL, ContentType="image/png")
    s3.put_object(Bucket=bucket, Key="b.png", Body=b"no picture", ContentType="image/png")
    open_object(page, server, bucket, "a.png", "preview")
    page.sees("1 × 1")
    page.run("location.hash = '#/buckets'")
    open_object(page, server, bucket, "b.png", "preview")
    page.sees("The browser cannot show this picture.")


def test_json_is_shown_as_it_is_stored(page, server, s3, bucket):
    text = '{"id":12345678901234567891,"one":1.0,"twice":1,"twice":2,"text":"a, \\"{b}\\": [c]","none":{},"list":[1,[],"x"]}'
    s3.put_object(Bucket=bucket, Key="a.json", Body=text.encode(), ContentType="application/json")
    open_object(page, server, bucket, "a.json", "preview")
    page.sees("twice")
    shown = page.run("document.querySelector('pre.preview').textContent")
    assert shown.splitlines() == ["{", '  "id": 12345678901234567891,', '  "one": 1.0,', '  "twice": 1,', '  "twice": 2,',
                                  '  "text": "a, \\"{b}\\": [c]",', '  "none": {},', '  "list": [', "    1,", "    [],", '    "x"', "  ]", "}"]
    same = """import('./lib/json.js').then(({ reindent }) => %s.map((it) => reindent(it) === JSON.stringify(JSON.parse(it), null, 2)))"""
    texts = ["1", '"a b"', "[]", " { } ", '[{"a":[{}]}, null, true, -1.5]', '{"a":\n[\n1\n]}']
    assert page.run(same % json.dumps(texts), wait=True) == [True] * len(texts)


def test_previews_of_many_columns_end(page, server, s3, bucket):
    s3.put_object(Bucket=bucket, Key="a.csv", Body=b"," * 100_000 + b"\n1,2", ContentType="text/csv")
    open_object(page, server, bucket, "a.csv", "preview")
    page.sees("The first 100 of 100,001 columns")
    assert page.run("document.querySelectorAll('[role=tabpanel] th').length") == 100
    table = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({f"c{at}": [1] for at in range(1200)}), table)
    s3.put_object(Bucket=bucket, Key="a.parquet", Body=table.getvalue())
    page.run("location.hash = '#/buckets'")
    open_object(page, server, bucket, "a.parquet", "preview")
    page.sees("the first 1,000 of 1,200 columns")
    rows = "[...document.querySelectorAll('[role=tabpanel] table')].map((it) => [it.caption.innerText, it.rows[0].cells.length, it.tBodies[0].rows.length])"
    assert page.run(rows) == [["Rows", 100, 1], ["Columns", 3, 1000]]


def test_an_object_is_downloaded(page, server, s3, bucket, tmp_path):
    for key in ("a b.txt", "dots/../c.txt"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"downloaded")
    page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=True)
    page.run(f"location.hash = '#/buckets/{bucket}'")
    page.click("Download a b.txt")
    until(lambda: (tmp_path / "a b.txt").exists() and (tmp_path / "a b.txt").read_bytes() == b"downloaded", "the object is there")
    page.run(f"location.hash = '#/buckets/{bucket}?prefix=dots%2F..%2F'")
    page.click("Download c.txt")
    page.sees("A browser cannot request a key with")


def test_one_folder_up_from_any_folder(page, s3, bucket):
    for key in ("/a", "x//y/z", "top"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    for folder, above in [("%2F", ""), ("x%2F%2Fy%2F", "x%2F%2F"), ("x%2F%2F", "x%2F"), ("x%2F", "")]:
        # By another page, so that what is seen is the folder, and not the one before it.
        page.run("location.hash = '#/metrics'")
        page.until("!document.body.innerText.includes('1 entry')")
        page.run(f"location.hash = '#/buckets/{bucket}?prefix={folder}'")
        page.sees("1 entry")
        page.press("Backspace")
        page.until(f"location.hash === '#/buckets/{bucket}{'?prefix=' + above if above else ''}'")
