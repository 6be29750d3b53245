"""Folders: their order, archives, copies, moves, and what was deleted in them."""

import io
import json
import zipfile

import pytest
from botocore.exceptions import ClientError
from browser import until


def names(page):
    return page.run("[...document.querySelectorAll('.grid .line .link')].map((it) => it.innerText)")


def select(page, *rows):
    for row in rows:
        page.until(f"!!document.querySelector('input[aria-label=' + CSS.escape({json.dumps('Select ' + row)}) + ']')")
        page.run(f"document.querySelector('input[aria-label=' + CSS.escape({json.dumps('Select ' + row)}) + ']').click()")
    page.sees(f"{len(rows)} selected")


def keys(s3, bucket):
    return [it["Key"] for it in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


@pytest.fixture
def filled(page, s3, request):
    bucket = request.node.name.removeprefix("test_").replace("_", "-")[:40].rstrip("-")
    s3.create_bucket(Bucket=bucket)
    for key, size in [("zoo/a.txt", 1), ("zoo/deep/b.txt", 2), ("apple.txt", 300), ("banana.txt", 20), ("cherry.txt", 1000)]:
        s3.put_object(Bucket=bucket, Key=key, Body=b"x" * size, Metadata={"of": key.replace("/", "-")}, Tagging="kind=fruit", ContentType="text/plain")
    page.run(f"location.hash = '#/buckets/{bucket}'")
    page.sees("4 entries")
    return bucket


def test_folders_come_first_and_objects_are_sorted(page, filled):
    assert names(page) == ["zoo/", "apple.txt", "banana.txt", "cherry.txt"]
    page.click("Size")
    page.until("[...document.querySelectorAll('.grid .line .link')][1]?.innerText === 'banana.txt'")
    assert names(page) == ["zoo/", "banana.txt", "apple.txt", "cherry.txt"]
    page.click("Size")
    page.until("[...document.querySelectorAll('.grid .line .link')][1]?.innerText === 'cherry.txt'")
    page.click("Modified")
    page.until("document.querySelector('[aria-sort]')?.innerText.includes('Modified')")
    assert sorted(names(page)[1:]) == ["apple.txt", "banana.txt", "cherry.txt"] and names(page)[0] == "zoo/"
    page.click("Name")
    page.click("Name")
    page.until("[...document.querySelectorAll('.grid .line .link')][1]?.innerText === 'cherry.txt'")
    assert names(page) == ["zoo/", "cherry.txt", "banana.txt", "apple.txt"]


def test_a_folder_is_downloaded_as_an_archive(page, s3, filled, tmp_path):
    s3.put_object(Bucket=filled, Key="zoo/\u00e4 \u65e5.bin", Body=bytes(range(256)) * 9000)
    page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=True)
    select(page, "zoo/", "apple.txt")
    page.click("ZIP")
    page.sees("4 objects")
    page.click("Download")
    file = tmp_path / f"{filled}.zip"
    until(lambda: file.exists() and zipfile.is_zipfile(file), "the archive is there")
    archive = zipfile.ZipFile(io.BytesIO(file.read_bytes()))
    assert archive.testzip() is None
    assert sorted(archive.namelist()) == ["apple.txt", "zoo/a.txt", "zoo/deep/b.txt", "zoo/\u00e4 \u65e5.bin"]
    assert archive.read("zoo/\u00e4 \u65e5.bin") == bytes(range(256)) * 9000
    # What unpacks it must not be led out of its directory.
    assert page.run("import('./lib/zip.js').then(({ safeName }) => safeName('/../a/./..//b\\\\c'))", wait=True) == "a/b_c"


def test_objects_are_copied_moved_and_renamed(page, s3, filled):
    select(page, "apple.txt")
    page.click("Move or rename")
    page.fill("New key", "banana.txt")
    page.click("Move")
    page.sees("could not be done")
    assert s3.head_object(Bucket=filled, Key="banana.txt")["ContentLength"] == 20, "nothing is replaced unasked"
    page.fill("New key", "pear.txt")
    page.click("Move")
    page.sees("1 object moved.")
    head = s3.head_object(Bucket=filled, Key="pear.txt")
    assert head["Metadata"] == {"of": "apple.txt"} and head["ContentType"] == "text/plain" and head["ContentLength"] == 300
    assert s3.get_object_tagging(Bucket=filled, Key="pear.txt")["TagSet"] == [{"Key": "kind", "Value": "fruit"}]
    page.sees("pear.txt")
    s3.create_bucket(Bucket=f"{filled}-too")
    select(page, "zoo/")
    page.click("Copy")
    page.until("document.querySelectorAll('dialog[open] option').length > 1")
    page.choose("To bucket", f"{filled}-too")
    page.fill("To folder", "copies")
    page.click("Copy")
    page.sees("2 objects copied.")
    assert keys(s3, f"{filled}-too") == ["copies/zoo/a.txt", "copies/zoo/deep/b.txt"]
    assert keys(s3, filled) == ["banana.txt", "cherry.txt", "pear.txt", "zoo/a.txt", "zoo/deep/b.txt"]
    select(page, "zoo/")
    page.click("Move")
    page.fill("To folder", "moved/")
    page.click("Move")
    page.sees("2 objects moved.")
    assert keys(s3, filled) == ["banana.txt", "cherry.txt", "moved/zoo/a.txt", "moved/zoo/deep/b.txt", "pear.txt"]


def test_deleted_objects_are_restored_together(page, s3, filled):
    s3.put_bucket_versioning(Bucket=filled, VersioningConfiguration={"Status": "Enabled"})
    for key in ("apple.txt", "zoo/a.txt", "zoo/deep/b.txt"):
        s3.delete_object(Bucket=filled, Key=key)
    with pytest.raises(ClientError):
        s3.head_object(Bucket=filled, Key="zoo/a.txt")
    page.run(f"location.hash = '#/buckets/{filled}?versions=1'")
    page.sees("delete marker")
    # Versions of one moment differ by their ids.
    assert len(set(page.run("[...document.querySelectorAll('.grid .line')].map((it) => it.innerText)"))) == 5
    select(page, "zoo/")
    page.run("[...document.querySelectorAll('.grid .line')].find((it) => it.innerText.includes('delete marker')).querySelector('input').click()")
    page.sees("2 selected")
    page.click("Undelete")
    page.click("Undelete")
    page.sees("3 objects restored.")
    assert keys(s3, filled) == ["apple.txt", "banana.txt", "cherry.txt", "zoo/a.txt", "zoo/deep/b.txt"]
