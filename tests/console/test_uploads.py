"""Uploads: dropped, cancelled, tried again."""

import pytest
from browser import until
from test_sessions import ask

MIB = 1 << 20


@pytest.fixture
def bucket(s3, request, page):
    name = request.node.name.removeprefix("test_").replace("_", "-")[:60].rstrip("-")
    s3.create_bucket(Bucket=name)
    page.run(f"location.hash = '#/buckets/{name}'")
    page.sees("Nothing here yet")
    return name


@pytest.fixture
def faults(server):
    yield lambda **rule: ask(server, "POST", "/faults", rule)
    ask(server, "DELETE", "/faults")


def keys(s3, bucket):
    return [it["Key"] for it in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


def drop(page, paths):
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver"):
        page.send("Input.dispatchDragEvent", type=kind, x=640, y=400, data=data)
    page.sees("Drop to upload to")
    page.send("Input.dispatchDragEvent", type="drop", x=640, y=400, data=data)


def test_files_and_folders_are_dropped(page, s3, bucket, tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "b c.txt").write_text("b")
    (tmp_path / "folder" / "a.txt").write_text("a")
    (tmp_path / "single.txt").write_text("single")
    drop(page, [tmp_path / "folder", tmp_path / "single.txt"])
    page.sees("3 uploads finished")
    page.sees("single.txt")
    page.sees_not("Drop to upload to")
    assert keys(s3, bucket) == ["folder/a.txt", "folder/inner/b c.txt", "single.txt"]
    assert s3.get_object(Bucket=bucket, Key="folder/inner/b c.txt")["Body"].read() == b"b"


def test_an_upload_is_cancelled_and_tried_again(page, s3, bucket, faults, tmp_path):
    faults(operation="UploadPart", bucket=bucket, latency_ms=20_000, times=3)
    film = tmp_path / "film.bin"
    film.write_bytes(bytes(20 * MIB))
    page.give_files("Files to upload", [film])
    until(lambda: s3.list_multipart_uploads(Bucket=bucket).get("Uploads"), "the upload has begun")
    page.click("Cancel film.bin")
    page.sees("1 upload cancelled")
    # Its parts are not left behind.
    until(lambda: not s3.list_multipart_uploads(Bucket=bucket).get("Uploads"), "the upload was aborted", 40)
    assert keys(s3, bucket) == []
    page.click("Retry")
    page.sees("1 upload finished", 60)
    assert s3.head_object(Bucket=bucket, Key="film.bin")["ContentLength"] == 20 * MIB


def test_an_upload_repeats_what_fails_for_a_while(page, s3, bucket, faults, tmp_path):
    faults(operation="PutObject", bucket=bucket, status=503, code="SlowDown", times=2)
    note = tmp_path / "note.txt"
    note.write_text("A note.")
    page.give_files("Files to upload", [note])
    page.sees("1 upload finished", 30)
    assert s3.get_object(Bucket=bucket, Key="note.txt")["Body"].read() == b"A note."


def test_uploads_that_are_refused_say_why_and_can_be_tried_again(page, server, s3, bucket, faults, tmp_path):
    faults(operation="PutObject", bucket=bucket, status=403, code="AccessDenied", message="Not today.")
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    for file in files:
        file.write_text(file.name)
    page.give_files("Files to upload", files)
    page.sees("2 uploads failed")
    page.sees("Not today.")
    ask(server, "DELETE", "/faults")
    page.click("Retry all")
    page.sees("2 uploads finished")
    assert keys(s3, bucket) == ["a.txt", "b.txt"]
