"""Sessions that end on the server, and servers that need none."""

import json
import urllib.request

import pytest
from browser import until
from conftest import client, sign_in, start, user_with


def ask(server, method, path, document=None):
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(f"{server}/_liteio/test{path}", data=body, method=method)
    with urllib.request.urlopen(request) as response:
        return response.read()


@pytest.fixture
def clock():
    """A server whose time the test moves: no other test shares it."""
    with start("--test-api") as server:
        yield server


def test_a_session_that_has_ended_asks_to_sign_in_again_and_loses_nothing(browser, clock):
    s3 = client(clock)
    s3.create_bucket(Bucket="kept")
    s3.put_object(Bucket="kept", Key="a.txt", Body=b"x")
    page = sign_in(browser, clock)
    page.run("location.hash = '#/buckets/kept/settings/policy'")
    page.sees("Bucket policy")
    policy = json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::kept/*"}]})
    page.fill("Policy", policy)
    ask(clock, "PUT", "/clock", {"advance_ms": 9 * 3600 * 1000})
    page.click("Save")
    page.sees("The session has ended.")
    assert page.run("sessionStorage.length") == 0
    # Neither Escape nor the page behind lead past the question.
    for _ in range(4):
        page.press("Escape")
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))", wait=True)
    page.until("!!document.querySelector('dialog[open]')")
    page.fill("Secret key", "wrong")
    page.click("Sign in")
    page.sees("The access key or the secret key is wrong.")
    page.fill("Secret key", "liteio123")
    page.click("Sign in")
    page.until("!document.querySelector('dialog[open]')")
    assert page.run("document.querySelector('textarea').value") == policy
    page.click("Save")
    page.sees_not("Not saved yet.")
    assert s3.get_bucket_policy(Bucket="kept")["Policy"] == policy
    # What was asked for after the end comes by itself.
    ask(clock, "PUT", "/clock", {"advance_ms": 9 * 3600 * 1000})
    page.run("location.hash = '#/buckets/kept?key=a.txt'")
    page.sees("The session has ended.")
    page.fill("Secret key", "liteio123")
    page.click("Sign in")
    page.sees("ETag")
    page.sees("1 entry")
    assert page.complaints() == []
    page.close()


def test_a_late_answer_to_the_session_before_ends_no_other_one(browser, clock):
    s3 = client(clock)
    s3.create_bucket(Bucket="slow")
    page = sign_in(browser, clock)
    page.watch_network()
    ended = {"status": 400, "code": "ExpiredToken", "times": 1}
    ask(clock, "POST", "/faults", {**ended, "operation": "GetBucketCors", "latency_ms": 3000})
    ask(clock, "POST", "/faults", {**ended, "operation": "GetBucketTagging"})
    page.run("window.late = import('./lib/s3.js').then((s3) => s3.getDocument('slow', 'cors')).catch((error) => error.code); 0")
    until(lambda: any("?cors=" in url for url in page.requests()), "the slow request was sent")
    page.run("location.hash = '#/buckets/slow/settings/tags'")
    page.sees("The session has ended.")
    page.fill("Secret key", "liteio123")
    page.click("Sign in")
    page.until("!document.querySelector('dialog[open]')")
    assert page.run("window.late", wait=True) == "ExpiredToken"
    page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))", wait=True)
    assert not page.run("!!document.querySelector('dialog[open]')") and page.run("import('./lib/session.js').then((it) => !!it.current())", wait=True)
    page.close()


@pytest.mark.parametrize("end", ["deleted", "disabled"])
def test_a_user_that_is_gone_is_asked_to_sign_in_and_another_one_sees_nothing_of_what_was_typed(browser, server, iam, page, s3, end):
    bucket, name = f"typed-{end}", f"leaver-{end}"
    s3.create_bucket(Bucket=bucket)
    theirs = sign_in(browser, server, *user_with(iam, name, "s3:*"))
    theirs.run(f"location.hash = '#/buckets/{bucket}/settings/tags'")
    theirs.click("Add a tag")
    theirs.fill("Name 1", "typed by the one before")
    if end == "deleted":
        iam.delete_user_policy(UserName=name, PolicyName="rights")
        (key,) = iam.list_access_keys(UserName=name)["AccessKeyMetadata"]
        iam.delete_access_key(UserName=name, AccessKeyId=key["AccessKeyId"])
        iam.delete_user(UserName=name)
    else:
        page.run("import('./lib/api.js').then((api) => api.send({ method: 'PUT', path: '/minio/admin/v3/set-user-status',"
                 f" query: {{ accessKey: '{name}', status: 'disabled' }} }})).then(() => true)", wait=True)
    theirs.click("Save")
    theirs.sees("The session has ended.")
    theirs.fill("Access key", "liteio")
    theirs.fill("Secret key", "liteio123")
    theirs.click("Sign in")
    theirs.until("!document.querySelector('dialog[open]') && document.querySelector('.who .name')?.innerText === 'liteio'")
    theirs.sees("Add a tag")
    assert "typed by the one before" not in theirs.run("document.body.innerText + [...document.querySelectorAll('input')].map((it) => it.value)")
    assert theirs.complaints() == []
    theirs.close()


def test_leaving_instead_of_signing_in_again_leaves_nothing(browser, clock):
    page = sign_in(browser, clock)
    ask(clock, "PUT", "/clock", {"advance_ms": 9 * 3600 * 1000})
    page.run("location.hash = '#/buckets/none'")
    page.click("Leave")
    page.until("!!document.querySelector('main.signin') && !document.querySelector('.shell')")
    page.close()


def test_a_server_without_signatures_needs_no_keys(browser):
    with start("--no-auth") as server:
        page = browser.page(f"{server}/_liteio/console/")
        page.sees("This server checks no signatures")
        assert page.run("document.querySelectorAll('input').length") == 0
        page.click("Open the console")
        page.click("New bucket")
        page.fill("Name", "open")
        page.click("Create")
        page.sees("Nothing here yet")
        assert page.complaints() == []
        page.close()


def test_a_user_of_one_folder_opens_it_by_its_name(browser, server, s3, iam):
    bucket = "with-a-folder-of-a-user"
    s3.create_bucket(Bucket=bucket)
    client(server, "s3vectors").create_vector_bucket(vectorBucketName=bucket)
    s3.put_object(Bucket=bucket, Key="web/index.html", Body=b"x")
    s3.put_object(Bucket=bucket, Key="private/a.txt", Body=b"x")
    keys = user_with(iam, "user-of-a-folder")
    rights = {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": f"arn:aws:s3:::{bucket}",
              "Condition": {"StringLike": {"s3:prefix": "web/*"}}}
    iam.put_user_policy(UserName="user-of-a-folder", PolicyName="rights",
                        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [rights]}))
    theirs = sign_in(browser, server, *keys)
    theirs.run("location.hash = '#/buckets'")
    theirs.sees("s3:ListAllMyBuckets")
    theirs.fill("Bucket", bucket)
    theirs.click("Open")
    # The form there has the bucket already.
    theirs.sees("s3:ListBucket")
    theirs.fill("Folder", "web")
    theirs.click("Open")
    theirs.sees("index.html")
    assert theirs.complaints() == []
    theirs.run("location.hash = '#/vectors'")
    theirs.fill("Vector bucket", bucket)
    theirs.click("Open")
    theirs.fill("Index", "films")
    theirs.click("Open")
    theirs.until(f"location.hash === '#/vectors/{bucket}/films'")
    theirs.close()
