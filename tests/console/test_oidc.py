"""Signing in by an issuer: the whole way, and what is refused."""

import json

import pytest
from browser import until
from conftest import client, start
from issuer import CLIENT, SECRET, Issuer
from test_sessions import ask

PEOPLE = {
    "reader": {"sub": "reader", "email": "reader@example.com", "groups": ["unknown", "readers"]},
    "second": {"sub": "second", "email": "second@example.com", "groups": ["readers"]},
    "stranger": {"sub": "stranger", "email": "stranger@example.com", "groups": ["staff"]},
    "idle": {"sub": "idle", "email": "idle@example.com", "groups": ["idle"]},
}


@pytest.fixture
def issuer():
    started = Issuer(PEOPLE)
    yield started
    started.shutdown()


@pytest.fixture
def server(issuer, tmp_path):
    """A server that knows the issuer, with a role that may read and one that may nothing; the test moves its clock."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET + "\n")
    with start() as other:
        account = client(other, "sts").get_caller_identity()["Account"]
    with start("--oidc-issuer", f"{issuer.url},{CLIENT}", "--console-oidc", f"{issuer.url},{CLIENT}", "--test-api",
               "--console-oidc-role", f"arn:aws:iam::{account}:role/{{groups}}", "--console-oidc-secret-file", secret) as endpoint:
        iam, s3 = client(endpoint, "iam"), client(endpoint)
        trust = {"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
            "Principal": {"Federated": f"arn:aws:iam::{account}:oidc-provider/{issuer.name}"}}]}
        for role in ("readers", "idle"):
            iam.create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps(trust))
        iam.attach_role_policy(RoleName="readers", PolicyArn="arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess")
        s3.create_bucket(Bucket="photos")
        s3.put_object(Bucket="photos", Key="a.txt", Body=b"x")
        yield endpoint


@pytest.fixture
def page(browser, server):
    opened = browser.page(f"{server}/_liteio/console/")
    yield opened
    opened.close()


def sign_in(page, issuer, name):
    page.click(f"Sign in with {issuer.name.removesuffix('/realm')}")
    choose(page, name)


def choose(page, name):
    page.until("document.title === 'Issuer'")
    page.run(f"[...document.querySelectorAll('a')].find((it) => it.innerText === '{name}').click()")


def test_a_person_signs_in_by_the_issuer_returns_to_the_page_and_again_after_the_session(page, server, issuer):
    page.sees("Sign in with")
    page.run("location.hash = '#/buckets/photos'")
    sign_in(page, issuer, "reader")
    page.sees("1 entry")
    page.sees("a.txt")
    assert page.run("document.querySelector('.who .name').innerText") == "reader@example.com"
    # Neither the code nor the flow stay, and the secret was never here.
    assert page.run("location.search === '' && sessionStorage.length === 0")
    assert page.run("location.hash") == "#/buckets/photos"
    assert SECRET not in json.dumps(page.events)
    assert page.run("document.cookie") == ""
    # It may read, and not write.
    page.run("location.hash = '#/home'")
    page.sees("You are signed in by an issuer")
    # The page takes keys a moment after it is drawn.
    until(lambda: page.press("n") or page.run("!!document.querySelector('dialog[open]')"), "the dialog opens")
    page.fill("Name", "more")
    page.click("Create")
    page.sees("AccessDenied")
    page.press("Escape")
    # The role ends its sessions after an hour.
    ask(server, "PUT", "/clock", {"advance_ms": 2 * 3600 * 1000})
    issuer.clock += 2 * 3600
    page.run("location.hash = '#/buckets/photos?key=a.txt'")
    page.sees("The session has ended. Sign in again to continue.")
    page.sees("Uploads and input stay on this page.")
    # A browser that opens no tab leaves the page, and comes back to it.
    page.run("window.open = () => null; 0")
    page.click("Sign in with")
    page.sees("The browser has blocked the tab of the issuer.")
    page.click("Sign in on this page")
    choose(page, "reader")
    page.sees("ETag")
    assert page.run("location.hash") == "#/buckets/photos?key=a.txt"
    assert page.complaints() == []


def end_session(server, issuer):
    """The role ends its sessions after an hour."""
    ask(server, "PUT", "/clock", {"advance_ms": 2 * 3600 * 1000})
    issuer.clock += 2 * 3600


def open_draft(page, issuer):
    page.run("location.hash = '#/buckets/photos/settings/tags'")
    sign_in(page, issuer, "reader")
    page.click("Add a tag")
    page.fill("Name 1", "typed before the end")


def test_a_session_is_renewed_in_a_tab_and_input_and_running_work_stay(browser, page, server, issuer):
    open_draft(page, issuer)
    end_session(server, issuer)
    page.run("window.stays = 'here'")
    page.click("Save")
    page.sees("The session has ended.")
    # A tab that is closed without an answer changes nothing; the next one counts.
    for name in (None, "reader"):
        page.click("Sign in with")
        tab = browser.opened(lambda url: url.startswith(issuer.url))
        if name:
            choose(tab, name)
        else:
            tab.close()
    page.until("!document.querySelector('dialog[open]')")
    # The same page, with the input; saving is decided anew: this role may only read.
    assert page.run("window.stays") == "here"
    assert page.run("[...document.querySelectorAll('input')].some((it) => it.value === 'typed before the end')")
    page.click("Save")
    page.sees("AccessDenied")
    assert page.run("sessionStorage.length") == 0
    assert page.complaints() == []


def test_a_tab_that_signs_in_another_person_or_nobody_shows_them_nothing_of_the_input(browser, page, server, issuer):
    open_draft(page, issuer)
    end_session(server, issuer)
    page.click("Save")
    page.sees("The session has ended.")
    page.click("Sign in with")
    choose(browser.opened(lambda url: url.startswith(issuer.url)), "nobody")
    page.sees("did not let you in (access_denied)")
    # An answer to no sign-in of this page, such as a link that somebody has sent, changes nothing.
    other = browser.page(f"{server}/_liteio/console/?code=stolen&state=planted")
    other.sees("This sign-in did not begin in this tab.")
    other.close()
    page.click("Sign in with")
    choose(browser.opened(lambda url: url.startswith(issuer.url)), "second")
    page.until("!document.querySelector('dialog[open]') && document.querySelector('.who .name')?.innerText === 'second@example.com'")
    assert "typed before the end" not in page.run("document.body.innerText + [...document.querySelectorAll('input')].map((it) => it.value)")


def test_a_person_without_rights_is_told_why_on_the_page(page, server, issuer):
    for name, words in [
        ("stranger", "stranger@example.com is signed in at"), ("stranger", "no role of this server lets them in"),
        ("idle", "the role idle has no policy"), ("nobody", "did not let you in (access_denied)"),
    ]:
        sign_in(page, issuer, name)
        page.sees(words)
        assert page.run("!!document.querySelector('main.signin') && location.search") == ""
    issuer.nonce = "of another sign-in"
    sign_in(page, issuer, "reader")
    page.sees("does not belong to this sign-in (nonce)")
    issuer.nonce = None
    issuer.clock = 3600
    sign_in(page, issuer, "reader")
    page.sees("the clocks of the server and of the issuer differ")
    issuer.clock = 0
    # An answer that this tab did not ask for, such as a link that somebody else has sent.
    page.open(f"{server}/_liteio/console/?code=stolen&state=planted#/buckets")
    page.sees("This sign-in did not begin in this tab.")
    assert page.run("location.search") == ""
    page.open(f"{server}/_liteio/console/?error=<b>bold</b>&error_description=Call+us")
    page.sees("This sign-in did not begin in this tab.")
    page.fill("Access key", "liteio")
    page.fill("Secret key", "liteio123")
    page.click("Sign in")
    page.sees("New bucket")
    assert page.complaints() == []


def test_an_issuer_that_is_down_is_told_and_keys_still_work(browser):
    with start("--oidc-issuer", "http://127.0.0.1:9/realm,console", "--console-oidc", "http://127.0.0.1:9/realm,console",
               "--console-oidc-role", "{role}") as endpoint:
        page = browser.page(f"{endpoint}/_liteio/console/")
        page.click("Sign in with 127.0.0.1:9")
        page.sees("The issuer 127.0.0.1:9 does not answer")
        page.fill("Access key", "liteio")
        page.fill("Secret key", "liteio123")
        page.click("Sign in")
        page.sees("New bucket")
        page.close()


def test_there_is_no_button_without_an_issuer(browser):
    with start() as endpoint:
        page = browser.page(f"{endpoint}/_liteio/console/")
        page.sees("Secret key")
        assert "Sign in with" not in page.run("document.body.innerText")
        page.close()
