"""The live trace and the metrics, as the pages show them."""

import json
import re

import pytest
from botocore.exceptions import ClientError
from browser import Browser
from conftest import client, sign_in, start, user_with


def open_trace(page):
    page.run("location.hash = '#/trace'")
    page.until("document.querySelector('.top .tag')?.innerText === 'live'")


def rows(page):
    return page.run("[...document.querySelectorAll('.grid .line')].map((it) => it.innerText.replace(/\\s+/g, ' '))")


def open_entry(page, words):
    page.run(f"[...document.querySelectorAll('.grid .line')].find((it) => it.innerText.replace(/\\s+/g, ' ').includes({json.dumps(words)})).querySelector('.link').click()")
    page.until("!!document.querySelector('dialog.drawer[open]')")
    return page.run("document.querySelector('dialog[open]').innerText")


def test_the_trace_shows_a_request_with_its_headers_and_no_secret(page, s3):
    open_trace(page)
    s3.create_bucket(Bucket="traced")
    s3.put_object(Bucket="traced", Key="a b.txt", Body=b"five!", Metadata={"colour": "<b>red</b>"})
    page.sees("traced/a b.txt")
    assert any("200 PUT PutObject traced/a b.txt" in it for it in rows(page))
    told = open_entry(page, "PutObject traced/a b.txt")
    for words in ("PUT /traced/a%20b.txt", "x-amz-meta-colour", "<b>red</b>", "x-amz-request-id", "5 B (5 bytes)", "hidden"):
        assert words in told, told
    assert "AWS4-HMAC-SHA256" not in page.run("document.documentElement.innerHTML")
    assert not page.run("document.querySelectorAll('dialog[open] td b').length")


def test_the_trace_tells_why_access_was_denied(page, server, s3, iam):
    s3.create_bucket(Bucket="closed")
    key, secret = user_with(iam, "traced-user")
    poor = client(server, aws_access_key_id=key, aws_secret_access_key=secret)
    open_trace(page)
    with pytest.raises(ClientError, match="AccessDenied"):
        poor.get_object(Bucket="closed", Key="k")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::closed/*"}]}
    s3.put_bucket_policy(Bucket="closed", Policy=json.dumps(policy))
    with pytest.raises(ClientError, match="AccessDenied"):
        poor.get_object(Bucket="closed", Key="j")
    page.sees("closed/j")
    assert "s3:GetObject: no policy of the user allows it" in open_entry(page, "closed/k")
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    assert "s3:GetObject: denied by the policy of the bucket, statement 1" in open_entry(page, "closed/j")


def test_the_trace_is_filtered_paused_and_cleared(page, s3):
    for bucket in ("sieve-a", "sieve-b"):
        s3.create_bucket(Bucket=bucket)
    open_trace(page)
    for number in range(3):
        s3.put_object(Bucket="sieve-a", Key=f"{number}", Body=b"")
    with pytest.raises(ClientError):
        s3.get_object(Bucket="sieve-b", Key="none")
    page.sees("sieve-b/none")
    page.fill("Bucket", "sieve-a")
    page.sees("3 requests of")
    page.fill("Bucket", "")
    page.choose("Status", "4")
    page.until("[...document.querySelectorAll('.grid .line')].length >= 1")
    assert all(re.search(r" 4\d\d ", it) for it in rows(page))
    page.choose("Status", "")
    page.choose("Operation", "PutObject")
    page.sees("3 requests of")
    page.choose("Operation", "")
    page.fill("Text", "sieve-b NOSUCHKEY")
    page.sees("1 request of")
    page.fill("Text", "")
    # What else the server is asked meanwhile, by the page of another test perhaps, does not count.
    page.fill("Bucket", "sieve-b")
    page.sees("1 request of")
    page.click("Pause")
    s3.put_object(Bucket="sieve-b", Key="late", Body=b"")
    page.sees("Resume (1 new)")
    assert "sieve-b/late" not in page.text()
    page.click("Resume")
    page.sees("sieve-b/late")
    page.fill("Bucket", "")
    page.click("Clear")
    page.sees("Waiting for requests")


def test_the_trace_hides_the_requests_of_its_own_session(page, s3):
    open_trace(page)
    # The sign-in of another tab is not of this session.
    page.run("fetch('/_liteio/console/session')")
    s3.list_buckets()
    page.sees("ListBuckets")
    assert not any("/_liteio/console" in it for it in rows(page))
    page.click("Show requests of this console", role="field")
    page.sees("/_liteio/console/session")


EDGES = "(row) => JSON.stringify([...document.querySelector(row).children].map((it) => Math.round(it.getBoundingClientRect().right)))"


def test_the_head_is_above_its_columns_where_scroll_bars_take_room(server, s3):
    browser = Browser(scroll_bars=True)
    try:
        page = sign_in(browser, server)
        s3.create_bucket(Bucket="wide")
        open_trace(page)
        s3.put_object(Bucket="wide", Key="first", Body=b"")
        page.sees("wide/first")
        taken = "(() => { const it = document.querySelector('.grid .view'); return it.offsetWidth - it.clientWidth; })()"
        assert page.run(taken) == 0
        page.until(f"({EDGES})('.grid .head') === ({EDGES})('.grid .line')")
        for number in range(40):
            s3.put_object(Bucket="wide", Key=f"{number}", Body=b"")
        page.until(f"{taken} > 0")
        page.until(f"({EDGES})('.grid .head') === ({EDGES})('.grid .line')")
        page.run("location.hash = '#/buckets/wide'")
        page.sees("41 entries")
        page.until(f"{taken} > 0 && ({EDGES})('.grid .head') === ({EDGES})('.grid .line')")
        page.close()
    finally:
        browser.close()


def test_few_rows_of_many_are_in_the_document_and_stay_where_they_are(page, s3):
    s3.create_bucket(Bucket="flood")
    open_trace(page)
    for number in range(120):
        s3.put_object(Bucket="flood", Key=f"{number}", Body=b"")
    page.sees("flood/119")
    assert page.run("document.querySelectorAll('.grid .line').length") < 60
    page.fill("Bucket", "flood")
    page.sees("120 requests of")
    page.run("document.querySelector('.grid .view').scrollTop = 1020")
    top = "document.querySelector('.grid .view').getBoundingClientRect().top"
    seen = f"[...document.querySelectorAll('.grid .line')].find((it) => it.getBoundingClientRect().top >= {top} - 1).innerText"
    page.until(f"{seen}.includes('flood/89')")
    s3.put_object(Bucket="flood", Key="one-more", Body=b"")
    page.sees("121 requests of")
    assert "flood/89" in page.run(seen)


def test_the_trace_connects_again_and_says_what_is_missing(page, s3):
    # Between the page and the server: the connection can be cut, and the server says that it has lost some.
    page.run("""(() => {
      const ask = window.fetch;
      window.fetch = async (url, options) => {
        const answer = await ask(url, options);
        if (!url.startsWith('/_liteio/trace')) return answer;
        const { readable, writable } = new TransformStream();
        const stop = new AbortController();
        window.cut = () => stop.abort();
        const writer = writable.getWriter();
        writer.write(new TextEncoder().encode('{"lost":7}\\n'));
        writer.releaseLock();
        answer.body.pipeTo(writable, { signal: stop.signal }).catch(() => {});
        return new Response(readable, { status: answer.status });
      };
    })()""")
    s3.create_bucket(Bucket="gaps")
    open_trace(page)
    s3.put_object(Bucket="gaps", Key="before", Body=b"")
    page.sees("gaps/before")
    page.sees("7 requests were lost")
    page.run("window.cut()")
    page.sees("and is back: requests in between are missing.")
    s3.put_object(Bucket="gaps", Key="after", Body=b"")
    page.sees("gaps/after")
    page.sees("14 requests were lost")
    assert any("gaps/before" in it for it in rows(page))


def test_the_metrics_are_those_of_the_requests(page, s3):
    # Other tests' requests to the same server are counted too: what is asserted are differences.
    s3.create_bucket(Bucket="measured")
    # The table has the largest buckets only: this one must be among them whatever other tests have stored.
    for number in range(7):
        s3.put_object(Bucket="measured", Key=f"{number}", Body=bytes(2**20))
    tagging_of_nothing(s3)
    page.run("location.hash = '#/metrics'")
    page.sees("Buckets by size")
    page.choose("Read the metrics", "2")
    cell = "((name, at) => Number([...document.querySelectorAll(`[data-operation=${name}] td`)][at].innerText.replaceAll(',', '')))"
    puts, requests, errors = (page.run(f"{cell}({of})") for of in ("'PutObject', 1", "'GetObjectTagging', 1", "'GetObjectTagging', 3"))
    assert puts >= 7 and requests >= errors >= 1
    size = page.run("[...document.querySelectorAll('tr')].find((it) => it.innerText.startsWith('measured')).innerText.split('\\t').map((it) => it.trim())")
    assert size[:4] == ["measured", "7", "7", "7.00 MiB"]
    for number in range(5):
        s3.put_object(Bucket="measured", Key=f"more-{number}", Body=b"x")
    tagging_of_nothing(s3)
    s3.get_object_tagging(Bucket="measured", Key="0")
    page.until(f"{cell}('PutObject', 1) === {puts + 5}")
    page.until(f"{cell}('GetObjectTagging', 1) === {requests + 2} && {cell}('GetObjectTagging', 3) === {errors + 1}")
    # The plot has the same figure in words, and its values in a table.
    page.until("/2xx [1-9.]/.test(document.querySelector('[aria-label=\"Requests per second\"] svg').getAttribute('aria-label'))")
    page.click("Table: Requests per second")
    page.until("document.querySelectorAll('[aria-label=\"Requests per second\"] tbody tr').length >= 1")


def test_settings_that_are_not_set_are_no_errors_and_plots_keep_their_past(page, s3):
    s3.create_bucket(Bucket="unset")
    page.run("location.hash = '#/metrics'")
    page.sees("Buckets by size")
    # A rate needs two samples: the second one comes soon.
    page.until("/2xx [0-9.]/.test(document.querySelector('[aria-label=\"Requests per second\"] svg').getAttribute('aria-label'))", 4)
    page.run("location.hash = '#/buckets/unset/settings'")
    page.sees("s3://unset")
    page.run("location.hash = '#/metrics'")
    page.until("!!document.querySelector('[data-operation=GetBucketPolicy]')")
    for operation in ("GetBucketPolicy", "GetBucketCors", "GetBucketLifecycleConfiguration", "GetBucketWebsite"):
        page.until(f"Number(document.querySelector('[data-operation={operation}]')?.cells[1].innerText) >= 1")
        assert page.run(f"document.querySelector('[data-operation={operation}]').cells[3].innerText") == "0", operation
    page.click("Table: Requests per second")
    page.until("document.querySelectorAll('[aria-label=\"Requests per second\"] tbody tr').length >= 2", 4)


def tagging_of_nothing(s3):
    with pytest.raises(ClientError):
        s3.get_object_tagging(Bucket="measured", Key="none")


def test_pages_of_operators_tell_others_what_they_need(browser, server, iam):
    key, secret = user_with(iam, "no-operator", "s3:*")
    page = sign_in(browser, server, key, secret)
    page.run("location.hash = '#/trace'")
    page.sees("admin:ServerTrace")
    page.run("location.hash = '#/metrics'")
    page.sees("admin:Prometheus")
    assert page.complaints() == []
    page.close()


def test_the_metrics_tell_of_a_backup(browser, tmp_path):
    with start("--backup", f"file://{tmp_path}/backup", "--backup-interval", "100ms", data_dir=tmp_path / "data") as endpoint:
        page = sign_in(browser, endpoint)
        page.run("location.hash = '#/metrics'")
        page.until("document.querySelector('section[aria-label=Backup]')?.innerText.includes('Last base')")
        page.until("!document.querySelector('section[aria-label=Backup]').innerText.includes('none since the start')")
        told = page.run("document.querySelector('section[aria-label=Backup]').innerText")
        assert "never, or not known yet" in told and "Behind" in told, told
