"""Deletions of much: what was refused, what was cancelled, and what a browser cannot ask for."""

import datetime
import re

import pytest
from botocore.exceptions import ClientError
from browser import until
from test_uploads import bucket, faults  # noqa: F401

COUNT = 2050


def versioned(s3, bucket):
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def fill(s3, bucket):
    """Delete markers, of which one request makes a thousand."""
    versioned(s3, bucket)
    for first in range(0, COUNT, 1000):
        keys = [{"Key": f"{number:05}"} for number in range(first, min(first + 1000, COUNT))]
        s3.delete_objects(Bucket=bucket, Delete={"Objects": keys})


def versions(s3, bucket):
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
    return sum(len(page.get("Versions", [])) + len(page.get("DeleteMarkers", [])) for page in pages)


def ask_to_delete(page, bucket):
    # The list of buckets is asked for again.
    page.run("location.hash = '#/vectors'")
    page.sees("New vector bucket")
    page.run("location.hash = '#/buckets'")
    page.fill("Filter", bucket)
    page.click(f"Actions on {bucket}")
    page.click("Delete")
    page.fill(f"Type {bucket} to confirm", bucket)


def test_a_deletion_is_cancelled_and_says_what_is_gone(page, s3, bucket, faults):
    fill(s3, bucket)
    # The first of three batches is gone when Cancel is pressed, and the second one is perhaps on its way.
    faults(operation="DeleteObjects", bucket=bucket, latency_ms=1500)
    ask_to_delete(page, bucket)
    page.click("Delete bucket and contents")
    page.sees("1,000 versions deleted")
    page.click("Cancel")
    page.sees("objects or versions were deleted before the cancellation. The rest stays.")
    told = re.search(r"([\d,]+) objects or versions were deleted", page.text())[1]
    assert versions(s3, bucket) == COUNT - int(told.replace(",", "")) > 0
    page.click("Cancel")
    page.until("!document.querySelector('dialog[open]')")
    s3.head_bucket(Bucket=bucket)


def test_leaving_the_page_ends_a_deletion(page, s3, bucket, faults):
    page.watch_network()
    fill(s3, bucket)
    faults(operation="DeleteObjects", bucket=bucket, latency_ms=1500)
    ask_to_delete(page, bucket)
    page.click("Delete bucket and contents")
    page.sees("1,000 versions deleted")
    page.run("location.hash = '#/vectors'")
    page.sees("New vector bucket")
    sent = sum("?delete=" in url for url in page.requests())
    until(lambda: versions(s3, bucket) == COUNT - 1000 * sent, "what was on its way has ended")
    page.run("import('./lib/session.js').then((it) => it.ask())", wait=True)
    assert sum("?delete=" in url for url in page.requests()) == sent
    assert not re.search(r"[?&]versions=", page.requests()[-1])


def test_retained_versions_keep_their_bucket_unless_that_is_bypassed(page, s3):
    s3.create_bucket(Bucket="retained", ObjectLockEnabledForBucket=True)
    tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    s3.put_object(Bucket="retained", Key="locked.txt", Body=b"x", ObjectLockMode="GOVERNANCE", ObjectLockRetainUntilDate=tomorrow)
    s3.put_object(Bucket="retained", Key="free.txt", Body=b"x")
    ask_to_delete(page, "retained")
    page.click("Delete bucket and contents")
    page.sees("1 could not be deleted: locked.txt: ")
    page.sees("The bucket stays.")
    assert versions(s3, "retained") == 1
    page.click("Bypass governance retention", role="field")
    page.click("Delete bucket and contents")
    page.sees("Bucket retained was deleted.")
    with pytest.raises(ClientError, match="404"):
        s3.head_bucket(Bucket="retained")


def test_what_could_not_be_deleted_is_not_deleted_once_more(page, s3, bucket, faults):
    versioned(s3, bucket)
    for key in ("a.txt", "b.txt", "folder/c.txt"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    page.run("location.hash = '#/buckets'")
    page.sees("New bucket")
    page.run(f"location.hash = '#/buckets/{bucket}'")
    page.sees("folder/")
    page.click("Select all that are loaded", role="field")
    page.sees("3 selected")
    faults(operation="ListObjectsV2", bucket=bucket, status=403, code="AccessDenied", message="Not this folder.", times=1)
    page.click("Delete")
    page.fill("Type delete to confirm", "delete")
    page.until("!document.querySelector('dialog[open] [type=submit]').disabled")
    page.run("document.querySelector('dialog[open] form').requestSubmit()")
    page.sees("Not this folder.")
    # What is gone is gone from the list; nothing is selected, and the dialog deletes nothing again.
    page.until("!document.querySelector('.grid').innerText.includes('a.txt') && document.querySelector('.grid').innerText.includes('folder/')")
    page.sees_not("3 selected")
    assert page.run("document.querySelectorAll('dialog[open] [type=submit]').length") == 0
    page.click("Close")
    assert versions(s3, bucket) == 3 + 2


def test_keys_of_another_folder_are_not_shown_below_a_new_heading(page, s3, bucket, faults):
    for key in ("a.txt", "folder/b.txt"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    page.run("location.hash = '#/buckets'")
    page.sees("New bucket")
    page.run(f"location.hash = '#/buckets/{bucket}'")
    page.sees("a.txt")
    faults(operation="ListObjectsV2", bucket=bucket, latency_ms=2000, times=1)
    page.click("folder/")
    page.until("document.getElementById('title').innerText === 'folder'")
    assert "a.txt" not in page.run("document.querySelector('main').innerText")
    page.sees("b.txt")


def test_unfinished_uploads_are_aborted_also_beside_one_that_a_browser_cannot_ask_for(page, s3, bucket):
    for key in ("a.bin", "dots/../b.bin", "z.bin"):
        s3.create_multipart_upload(Bucket=bucket, Key=key)
    s3.put_object(Bucket=bucket, Key="a.txt", Body=b"x")

    def uploads():
        return [it["Key"] for it in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])]
    page.click("More actions")
    page.click("Unfinished uploads")
    page.sees("dots/../b.bin")
    page.run("[...document.querySelectorAll('dialog[open] tr')].find((it) => it.innerText.includes('a.bin')).querySelector('button').click()")
    page.sees("Aborted.")
    assert uploads() == ["dots/../b.bin", "z.bin"]
    s3.create_multipart_upload(Bucket=bucket, Key="a.bin")
    page.click("Close")
    page.click("More actions")
    page.click("Unfinished uploads")
    page.click("Abort all 3")
    page.sees("1 upload could not be aborted. dots/../b.bin")
    assert uploads() == ["dots/../b.bin"]
    page.click("Close")
    s3.create_multipart_upload(Bucket=bucket, Key="z.bin")
    ask_to_delete(page, bucket)
    page.sees("The bucket cannot be deleted, only emptied")
    page.click("Delete bucket and contents")
    page.sees("1 could not be deleted: dots/../b.bin")
    assert uploads() == ["dots/../b.bin"] and versions(s3, bucket) == 0
