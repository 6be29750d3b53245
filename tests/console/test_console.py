"""What a person does in the console, and what must not happen meanwhile."""

import gzip
import io
import json
import re
import urllib.request
import wave

import pyarrow
import pyarrow.parquet
import pytest
from botocore.exceptions import ClientError
from conftest import start

MIB = 1 << 20
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" onload="alert(1)"><script>alert(2)</script><rect width="9" height="9"/></svg>'


def open_object(page, server, bucket, key, tab="overview"):
    page.run(f"location.hash = {json.dumps('#/buckets/' + bucket)} + '?tab={tab}&key=' + encodeURIComponent({json.dumps(key)})")
    page.until("!!document.querySelector('dialog.drawer[open]')")


def test_wrong_keys_are_refused_in_words(browser, server):
    page = browser.page(f"{server}/_liteio/console/")
    page.fill("Access key", "liteio")
    page.fill("Secret key", "something else")
    page.click("Sign in")
    page.sees("The access key or the secret key is wrong.")
    page.close()


def test_a_bucket_is_created_filled_browsed_and_deleted_with_its_contents(page, s3, tmp_path):
    page.click("New bucket")
    page.fill("Name", "holiday")
    page.click("Versioning", role="field")
    page.click("Create")
    page.sees("Nothing here yet")
    assert s3.get_bucket_versioning(Bucket="holiday")["Status"] == "Enabled"
    small, large = tmp_path / "note.txt", tmp_path / "film.bin"
    small.write_text("A note.")
    large.write_bytes(bytes(range(256)) * (80 * MIB // 1024))
    page.give_files("Files to upload", [small, large])
    page.sees("2 uploads finished", 60)
    page.sees("film.bin")
    head = s3.head_object(Bucket="holiday", Key="film.bin")
    assert head["ContentLength"] == 20 * MIB and head["ETag"].endswith('-3"')
    assert s3.get_object(Bucket="holiday", Key="film.bin")["Body"].read() == large.read_bytes()
    s3.put_object(Bucket="holiday", Key="2026/may/a.txt", Body=b"x")
    page.click("More actions")
    page.click("Reload")
    page.click("2026/")
    page.click("may/")
    page.sees("a.txt")
    page.click("Buckets")
    # Other tests have left buckets: what tells of the uploads may cover a row at the end of a long list.
    page.sees("New bucket")
    page.fill("Filter", "holiday")
    page.click("Actions on holiday")
    page.click("Delete")
    page.fill("Type holiday to confirm", "holida")
    page.until("document.querySelector('dialog[open] .primary').disabled")
    page.fill("Type holiday to confirm", "holiday")
    page.click("Delete bucket and contents")
    page.sees("Bucket holiday was deleted.")
    with pytest.raises(ClientError, match="404"):
        s3.head_bucket(Bucket="holiday")


def test_versions_are_restored_and_objects_undeleted(page, server, s3):
    s3.create_bucket(Bucket="kept")
    s3.put_bucket_versioning(Bucket="kept", VersioningConfiguration={"Status": "Enabled"})
    first = s3.put_object(Bucket="kept", Key="k.txt", Body=b"first")["VersionId"]
    s3.put_object(Bucket="kept", Key="k.txt", Body=b"second")
    open_object(page, server, "kept", "k.txt")
    page.click("Versions")
    page.click(f"Actions on version {first}")
    page.click("Restore")
    page.sees("The version was restored.")
    assert s3.get_object(Bucket="kept", Key="k.txt")["Body"].read() == b"first"
    marker = s3.delete_object(Bucket="kept", Key="k.txt")["VersionId"]
    page.run("location.hash = '#/buckets/kept'")
    open_object(page, server, "kept", "k.txt")
    page.click(f"Actions on version {marker}")
    page.click("Undelete")
    page.sees("The object was restored.")
    assert s3.get_object(Bucket="kept", Key="k.txt")["Body"].read() == b"first"


def test_contents_are_shown(page, server, s3):
    s3.create_bucket(Bucket="shown")
    table = io.BytesIO()
    columns = {"name": ["a", "b"], "year": pyarrow.array([1, 2], pyarrow.int32()), "tags": [["x"], []]}
    pyarrow.parquet.write_table(pyarrow.table(columns), table)
    rows = [
        ("a.json", b'{"a":[1,2]}', "application/json", '"a": ['), ("t.csv", b'name,year\n"al,ien",1979\n', "text/csv", "al,ien"),
        ("t.parquet", table.getvalue(), "application/octet-stream", "INT32"), ("p.html", b"<b>bold</b>", "text/html", "<b>bold</b>"),
        ("i.svg", b"<svg onload=alert(1)/>", "image/svg+xml", "<svg onload"),
        ("p.svg", PICTURE, "image/svg+xml", "40 \u00d7 30"), ("n.log.gz", gzip.compress(b"first line\n" * 200_000), "application/gzip", "first line"),
        ("n.csv.gz", gzip.compress(b"name,year\nalien,1979\n"), "binary/octet-stream", "the first 1 row"),
        ("r.md", b"# Read *me*\n\n- [one](https://example.org)\n- [two](javascript:alert(1))\n\n<img src=x onerror=alert(1)>\n\n|a|b|\n|-|-|\n|`c`|d|\n", "text/markdown", "Read me"),
    ]
    for key, body, kind, words in rows:
        s3.put_object(Bucket="shown", Key=key, Body=body, ContentType=kind)
        open_object(page, server, "shown", key, "preview")
        page.sees(words)
        if key == "r.md":
            assert page.run("[...document.querySelectorAll('.markdown a')].map((it) => it.href)") == ["https://example.org/"]
            assert page.run("document.querySelector('.markdown td code').innerText") == "c"
            assert not page.run("document.querySelectorAll('.markdown img').length")
        page.press("Escape")
        page.until("!document.querySelector('dialog[open]')")
    assert page.dialogs == [], "no script runs"
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setparams((1, 2, 8000, 8000, "NONE", ""))
        file.writeframes(bytes(16000))
    s3.put_object(Bucket="shown", Key="a.wav", Body=sound.getvalue(), ContentType="binary/octet-stream")
    open_object(page, server, "shown", "a.wav", "preview")
    page.until("document.querySelector('audio')?.duration === 1")
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    s3.put_object(Bucket="shown", Key="a.mp4", Body=b"no film", ContentType="video/mp4")
    open_object(page, server, "shown", "a.mp4", "preview")
    page.sees("The browser cannot play it")
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    s3.put_object(Bucket="shown", Key="a.pdf", Body=b"%PDF-1.4\n", ContentType="text/html")
    open_object(page, server, "shown", "a.pdf", "preview")
    page.until("!!document.querySelector('iframe')")
    address = page.run("document.querySelector('iframe').src")
    answer = urllib.request.urlopen(urllib.request.Request(address, headers={"user-agent": "Mozilla/5.0"}))
    # Exactly this type, whatever the object says: a page would have the origin of the console.
    assert answer.headers["content-type"] == "application/pdf" and answer.headers["x-content-type-options"] == "nosniff"


def test_the_start_page_tells_of_the_server_and_how_to_reach_it(page, server):
    page.run("location.hash = '#/home'")
    page.sees("ready")
    page.sees("in memory")
    tiles = page.run("Object.fromEntries([...document.querySelectorAll('.tile')].map((it) => [it.children[0].innerText, it.children[1].innerText]))")
    assert tiles["Health"] == "ready" and re.fullmatch(r"\d+\.\d+\.\d+", tiles["Version"]) and re.match(r"\d+ (s|min)", tiles["Up"]), tiles
    for tab, words in [(".env", f"AWS_ENDPOINT_URL={server}"), ("AWS CLI", "export AWS_ACCESS_KEY_ID=liteio"), ("boto3", f'endpoint_url="{server}"'),
                       ("JavaScript", "forcePathStyle: true"), ("mc", f"mc alias set liteio {server} liteio")]:
        page.click(tab)
        page.until(f"document.querySelector('.snippet pre').innerText.includes({json.dumps(words)})")
    assert "liteio123" not in page.text()
    page.click("New bucket")
    page.fill("Name", "from-home")
    page.click("Create")
    page.sees("Nothing here yet")


def test_a_link_works_for_others_and_for_one_object_only(page, server, s3):
    s3.create_bucket(Bucket="shared")
    s3.put_object(Bucket="shared", Key="a b+c.txt", Body=b"for everybody")
    open_object(page, server, "shared", "a b+c.txt", "share")
    page.click("Create a link")
    page.sees("Valid until")
    link = page.run("document.querySelector('.secret code').innerText")
    assert urllib.request.urlopen(link).read() == b"for everybody"


def test_a_link_to_a_version_reads_that_version(page, server, s3):
    s3.create_bucket(Bucket="shared-versions")
    s3.put_bucket_versioning(Bucket="shared-versions", VersioningConfiguration={"Status": "Enabled"})
    first = s3.put_object(Bucket="shared-versions", Key="a.txt", Body=b"first")["VersionId"]
    s3.put_object(Bucket="shared-versions", Key="a.txt", Body=b"second")
    page.run(f"location.hash = '#/buckets/shared-versions?key=a.txt&tab=share&version={first}'")
    page.click("Create a link")
    page.sees("Valid until")
    assert urllib.request.urlopen(page.run("document.querySelector('.secret code').innerText")).read() == b"first"


def test_nothing_of_names_and_metadata_runs(page, server, s3):
    script = "<img src=x onerror=\"window.ran=1;alert('ran')\">"
    s3.create_bucket(Bucket="hostile")
    key = script.replace("/", "") + ".html"
    s3.put_object(Bucket="hostile", Key=key, Body=f"<script>{script}</script>".encode(), ContentType="text/html",
                  Metadata={"m": script})
    for tab in ("overview", "preview", "metadata"):
        page.run("location.hash = '#/buckets/hostile'")
        open_object(page, server, "hostile", key, tab)
        page.until("!!document.querySelector('[role=tabpanel]') && !document.querySelector('[role=tabpanel] .spinner')")
        assert page.run("window.ran") is None and not page.run("document.querySelectorAll('[role=tabpanel] img').length")
    assert page.dialogs == []


def test_an_object_that_is_opened_reaches_nothing_of_the_console(page, server, s3):
    s3.create_bucket(Bucket="opened")
    body = b"<p id=told>waits</p><script>try { told.innerText = 'read ' + sessionStorage.length + localStorage.length } catch (e) { told.innerText = e.name }</script>"
    s3.put_object(Bucket="opened", Key="evil.html", Body=body, ContentType="text/html")
    address = s3.generate_presigned_url("get_object", Params={"Bucket": "opened", "Key": "evil.html"})
    # In the tab of the console, whose storage has the keys.
    page.open(address)
    page.until("document.getElementById('told')?.innerText === 'SecurityError'")
    assert page.run("window.origin") == "null"
    page.open(f"{server}/_liteio/console/")
    page.events.clear()


def test_signing_out_leaves_nothing(page):
    assert page.run("sessionStorage.length") == 0
    assert "liteio123" not in page.run("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")
    page.click("Sign out")
    page.sees("Access key")
    assert page.run("sessionStorage.length") == 0 and page.run("document.cookie") == ""


def test_an_ended_session_asks_to_sign_in_again(page):
    # What the page leaves to itself for the reload, with an end in the past.
    page.run("addEventListener('pagehide', () => sessionStorage.setItem('liteio-session', "
             "sessionStorage.getItem('liteio-session').replace(/\"expires\":\"\\d+/, '\"expires\":\"2001')))")
    page.run("window.before = true; location.reload()")
    page.until("!window.before")
    page.sees("Access key")
    assert page.run("sessionStorage.length") == 0


def test_a_reload_keeps_the_session_and_leaves_no_keys(page):
    page.run("window.before = true; location.reload()")
    page.until("!window.before")
    page.sees("New bucket")
    assert page.run("sessionStorage.length") == 0


def test_the_next_document_of_the_tab_finds_no_keys(page, server):
    page.open(f"{server}/_liteio/console/lib/sign.js")
    assert page.run("window.origin") == server
    assert page.run("sessionStorage.length + localStorage.length") == 0 and page.run("document.cookie") == ""


def test_no_other_host_is_asked(browser, server):
    page = browser.page()
    page.watch_network()
    page.open(f"{server}/_liteio/console/")
    page.fill("Access key", "liteio")
    page.fill("Secret key", "liteio123")
    page.click("Sign in")
    page.sees("New bucket")
    asked = page.requests()
    assert len(asked) > 100 and [url for url in asked if not url.startswith((server, "blob:", "data:"))] == []
    page.close()


def test_many_keys_are_loaded_as_one_scrolls_and_few_rows_are_in_the_document(page, s3):
    s3.create_bucket(Bucket="many")
    for number in range(1100):
        s3.put_object(Bucket="many", Key=f"{number:05}", Body=b"")
    page.run("location.hash = '#/buckets/many'")
    page.sees("00000")
    page.run("document.querySelector('.grid .line').focus()")
    for _ in range(4):
        page.press("End")
        page.run("new Promise((done) => setTimeout(done, 300))", wait=True)
    page.until("(document.activeElement.innerText ?? '').includes('01099')")
    assert page.run("document.querySelectorAll('.grid .line').length") < 80


def test_the_keyboard_alone_is_enough(page, s3):
    s3.create_bucket(Bucket="keys")
    for key in ("a.txt", "b.txt"):
        s3.put_object(Bucket="keys", Key=key, Body=b"x")
    page.run("location.hash = '#/buckets/keys'")
    page.sees("b.txt")
    page.run("document.querySelector('.grid .line').focus()")
    page.press("ArrowDown")
    page.press(" ")
    page.sees("1 selected")
    page.press("Delete")
    page.sees("Delete objects")
    page.press("Enter")
    page.sees_not("b.txt")
    assert [it["Key"] for it in s3.list_objects_v2(Bucket="keys")["Contents"]] == ["a.txt"]
    page.press("?")
    page.sees("Show this help")
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")


def test_narrow_and_dark_pages_fit(page, s3):
    page.size(360, 700)
    page.colours("dark")
    page.until("document.documentElement.dataset.theme === 'dark'")
    page.run("location.hash = '#/buckets'")
    page.sees("Buckets")
    assert page.run("document.documentElement.scrollWidth <= 360")
    s3.create_bucket(Bucket="narrow")
    s3.put_object(Bucket="narrow", Key="a-long-name-of-an-object/" + "x" * 200, Body=b"text")
    for path, words in [("buckets/narrow", "a-long-name"), ("buckets/narrow?prefix=a-long-name-of-an-object%2F", "1 entry"),
                        ("home", "Connect"), ("buckets/narrow/settings/overview", "s3://narrow"), ("buckets/narrow/settings/ownership", "FULL_CONTROL"),
                        ("vectors", "New vector bucket"), ("metrics", "Buckets by size"), ("trace", "Pause")]:
        page.run(f"location.hash = '#/{path}'")
        page.sees(words)
        page.until("!document.querySelector('.spinner')")
        assert page.run("document.documentElement.scrollWidth <= 360"), path
        assert page.run("document.documentElement.scrollHeight <= innerHeight"), path
        beyond = "[...document.querySelectorAll('main button, main h1, main input')].filter((it) => !it.closest('.scroll-x') && it.checkVisibility() && it.getClientRects().length && it.getBoundingClientRect().right > 361).map((it) => it.outerHTML)"
        assert page.run(beyond) == [], path


def test_scripts_ask_no_other_host_and_make_no_markup_of_text(page):
    asked = "fetch('http://127.0.0.2:9/').then(() => 'sent', (error) => error.name)"
    assert page.run(asked, wait=True) == "TypeError"
    assert page.run("(() => { try { document.createElement('p').innerHTML = '<b>x</b>'; return 'made'; } catch (error) { return error.name; } })()") == "TypeError"
    page.run("0")
    refused = [it["params"]["entry"]["text"] for it in page.events if it.get("method") == "Log.entryAdded"]
    refused += [str(it["params"]) for it in page.events if it.get("method") == "Runtime.consoleAPICalled"]
    assert any("connect-src" in it or "Content Security Policy" in it for it in refused), refused
    page.events.clear()


def test_the_address_of_the_console_leads_to_it(browser):
    with start("--profile", "minio", "--console-address", "127.0.0.1:0", banner=r"Console\s+(\S+)") as address:
        page = browser.page(address)
        page.sees("Access key")
        assert page.run("location.pathname") == "/_liteio/console/"
        page.close()
