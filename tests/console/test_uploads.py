"""Uploads: dropped, cancelled, tried again."""

import pytest
from browser import until
from conftest import client, sign_in, start
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
    # What has finished makes room: its list closes, and it goes by itself, here sooner.
    page.run("window.ends = []; const later = setTimeout; window.setTimeout = (work, ms, ...more) => (ms === 12000 ? window.ends.push(work) : later(work, ms, ...more)); 0")
    drop(page, [tmp_path / "folder", tmp_path / "single.txt"])
    page.sees("3 uploads finished")
    page.until("!!document.querySelector('.uploads.slim') && !document.querySelector('.uploads li')")
    page.click("Expand")
    page.until("document.querySelectorAll('.uploads li').length === 3")
    page.click("Collapse")
    assert page.run("window.ends.length") == 1
    page.run("window.ends[0]()")
    page.until("!document.querySelector('.uploads')")
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


def test_a_folder_is_chosen_and_progress_is_told(page, s3, bucket, faults, tmp_path):
    (tmp_path / "album" / "inner").mkdir(parents=True)
    for name in ("a.txt", "inner/b.txt"):
        (tmp_path / "album" / name).write_text(name)
    faults(operation="PutObject", bucket=bucket, latency_ms=1500)
    page.give_files("Folder to upload", [tmp_path / "album"])
    page.sees("Uploading 2 files")
    page.until("document.querySelector('[role=progressbar]').getAttribute('aria-valuenow') === '100'")
    page.sees("5 B of 5 B")
    page.sees("2 uploads finished")
    assert keys(s3, bucket) == ["album/a.txt", "album/inner/b.txt"]


def test_a_file_that_cannot_be_read_keeps_no_other_one(page, s3, bucket):
    drop = """(() => {
      const file = (name) => ({ name, isFile: true, file: (done) => done(new File([name], name)) });
      const broken = { name: 'broken.txt', isFile: true, file: (_, failed) => failed(new DOMException('gone', 'NotFoundError')) };
      const folder = (name, children) => ({ name, isFile: false, createReader: () => ({ readEntries: (done) => done(children.splice(0)) }) });
      const entries = [file('a.txt'), broken, folder('album', [broken, file('b.txt')])];
      const event = new Event('drop', { cancelable: true });
      event.dataTransfer = { types: ['Files'], items: entries.map((it) => ({ webkitGetAsEntry: () => it })), files: [] };
      window.dispatchEvent(event);
    })()"""
    page.run(drop)
    page.sees("2 files could not be read and are not uploaded: broken.txt, album/broken.txt")
    page.sees("2 uploads finished")
    assert keys(s3, bucket) == ["a.txt", "album/b.txt"]


def give_film(page, tmp_path):
    film = tmp_path / "film.bin"
    film.write_bytes(bytes(20 * MIB))
    page.give_files("Files to upload", [film])


def test_an_upload_in_parts_repeats_its_first_and_its_last_request(page, s3, bucket, faults, tmp_path):
    for operation in ("CreateMultipartUpload", "CompleteMultipartUpload"):
        faults(operation=operation, bucket=bucket, status=503, code="SlowDown", times=1)
    # The object is there, and the answer that says so is lost.
    faults(operation="CompleteMultipartUpload", bucket=bucket, cut_after_bytes=10, times=1)
    give_film(page, tmp_path)
    page.sees("1 upload finished", 60)
    assert keys(s3, bucket) == ["film.bin"] and not s3.list_multipart_uploads(Bucket=bucket).get("Uploads")


def test_parts_are_kept_for_another_try_and_not_after_it_is_given_up(page, server, s3, bucket, faults, tmp_path):
    faults(operation="CompleteMultipartUpload", bucket=bucket, status=403, code="AccessDenied", message="Not yet.")
    give_film(page, tmp_path)
    page.sees("Not yet.", 60)
    (upload,) = s3.list_multipart_uploads(Bucket=bucket)["Uploads"]
    ask(server, "DELETE", "/faults")
    page.watch_network()
    page.click("Retry")
    page.sees("1 upload finished", 60)
    assert [url for url in page.requests() if "partNumber=" in url] == []
    assert keys(s3, bucket) == ["film.bin"]
    faults(operation="CompleteMultipartUpload", bucket=bucket, status=403, code="AccessDenied", message="Not yet.")
    give_film(page, tmp_path)
    page.sees("Not yet.", 60)
    page.click("Close")
    until(lambda: not s3.list_multipart_uploads(Bucket=bucket).get("Uploads"), "the upload was aborted", 40)


def test_signing_out_leaves_no_parts(browser, server, s3, faults, tmp_path):
    s3.create_bucket(Bucket="left")
    page = sign_in(browser, server)
    page.run("location.hash = '#/buckets/left'")
    page.sees("Nothing here yet")
    faults(operation="UploadPart", bucket="left", latency_ms=20_000)
    give_film(page, tmp_path)
    # Parts are on their way, however many of their bytes the server has taken yet.
    page.until("document.querySelector('.uploads small').innerText.includes('MiB of 20.0 MiB')")
    assert s3.list_multipart_uploads(Bucket="left")["Uploads"]
    page.click("Sign out")
    page.sees("Access key")
    until(lambda: not s3.list_multipart_uploads(Bucket="left").get("Uploads"), "the upload was aborted", 40)
    page.close()


def test_an_upload_goes_on_after_the_session_was_renewed(browser, tmp_path):
    with start("--test-api") as server:
        s3 = client(server)
        s3.create_bucket(Bucket="long")
        page = sign_in(browser, server)
        page.watch_network()
        page.run("location.hash = '#/buckets/long'")
        page.sees("Nothing here yet")
        # All parts arrive, and the last request comes too late.
        ask(server, "POST", "/faults", {"operation": "CompleteMultipartUpload", "status": 400, "code": "ExpiredToken", "times": 1})
        give_film(page, tmp_path)
        page.sees("The session has ended.", 60)
        page.sees("Waiting for you to sign in again")
        page.fill("Secret key", "liteio123")
        page.click("Sign in")
        page.sees("1 upload finished", 60)
        assert s3.head_object(Bucket="long", Key="film.bin")["ContentLength"] == 20 * MIB
        parts = [url for url in page.requests() if "partNumber=" in url]
        assert len(parts) == 3, parts
        page.close()
