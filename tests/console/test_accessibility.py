"""Every page with the rules of axe-core for WCAG 2 A and AA, in light and dark."""

import json
import os
import pathlib

import pytest
from conftest import client, sign_in

AXE = pathlib.Path(os.environ["AXE"]).read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
RUN = """axe.run(document, { runOnly: { type: 'tag', values: %s }, resultTypes: ['violations'] }).then(({ violations }) =>
  violations.map((it) => it.id + ': ' + it.nodes.map((node) => node.target.join(' ') + ' ' + (node.any[0]?.message ?? node.failureSummary)).slice(0, 3).join('; ')))"""


def violations(page):
    if not page.run("!!globalThis.axe"):
        page.run(AXE)
    return page.run(RUN % json.dumps(RULES), wait=True)


# A page, what is seen on it when it is there, and what is clicked then.
PAGES = [
    ("home", "Connect", None),
    ("buckets", "New bucket", None), ("buckets", "New bucket", "New bucket"), ("buckets/seen", "a.txt", None),
    ("buckets/seen?versions=1", "current", None), ("buckets/none", "NoSuchBucket", None),
    *[(f"buckets/seen?key=a.txt&tab={tab}", "Overview", None) for tab in ("overview", "preview", "metadata", "share", "versions")],
    *[(f"buckets/seen/settings/{part}", "Versioning", None) for part in ("overview", "quota", "ownership", "website", "versioning", "policy", "lifecycle", "cors", "encryption", "replication", "events", "tags", "public-access")],
    ("users", "New user", None), ("users/groups", "New group", None), ("users/policies", "New policy", None), ("users/roles", "New role", "New role"), ("users", "New user", "New user"), ("users/user/seen-user", "seen-user", None),
    ("vectors", "New vector bucket", None), ("vectors", "New vector bucket", "New vector bucket"), ("vectors/seen", "euclidean", None),
    ("vectors/seen", "euclidean", "New index"), ("vectors/seen/films", "first", None), ("vectors/seen/films", "first", "first"), ("vectors/seen/films", "first", "Put vectors"),
    ("vectors/seen/films?tab=query", "Nearest to", None), ("vectors/seen/films?tab=about", "ARN", None), ("vectors/seen/none", "NotFound", None),
    ("metrics", "Buckets by size", None), ("metrics", "Buckets by size", "Table: Requests per second"),
]


@pytest.fixture(scope="module")
def filled(s3, iam, server):
    s3.create_bucket(Bucket="seen")
    s3.put_bucket_versioning(Bucket="seen", VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket="seen", Key="a.txt", Body=b"text", Metadata={"m": "1"})
    s3.put_object(Bucket="seen", Key="folder/b.json", Body=b"{}")
    iam.create_user(UserName="seen-user")
    s3vectors = client(server, "s3vectors")
    s3vectors.create_vector_bucket(vectorBucketName="seen")
    s3vectors.create_index(vectorBucketName="seen", indexName="films", dataType="float32", dimension=2, distanceMetric="euclidean")
    s3vectors.put_vectors(vectorBucketName="seen", indexName="films", vectors=[{"key": "first", "data": {"float32": [1, 2]}, "metadata": {"a": "b"}}])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_break_no_rule(browser, server, filled, s3, scheme):
    page = browser.page(f"{server}/_liteio/console/")
    page.colours(scheme)
    page.sees("Access key")
    page.until(f"document.documentElement.dataset.theme === '{scheme}'")
    found = {"sign in": violations(page)}
    page.close()
    page = sign_in(browser, server)
    page.colours(scheme)
    page.until(f"document.documentElement.dataset.theme === '{scheme}'")
    for path, words, click in PAGES:
        page.run("location.hash = '#/none'")
        page.until("!document.querySelector('dialog[open]')")
        page.run(f"location.hash = {json.dumps('#/' + path)}")
        page.sees(words)
        if click:
            page.click(click)
        page.until("!document.querySelector('.spinner')")
        found[f"{path} {click or ''}"] = violations(page)
        page.press("Escape")
    page.run("location.hash = '#/trace'")
    page.until("document.querySelector('.top .tag')?.innerText === 'live'")
    s3.get_object(Bucket="seen", Key="a.txt")
    page.sees("seen/a.txt")
    found["trace"] = violations(page)
    page.run("[...document.querySelectorAll('.grid .link')].find((it) => it.textContent === 'GetObject').click()")
    page.sees("Response headers")
    found["request"] = violations(page)
    page.close()
    assert {path: rules for path, rules in found.items() if rules} == {}
