"""Pages of other origins, and what they get of the console: nothing."""

import http.server
import json
import threading

import pytest


@pytest.fixture
def elsewhere(server):
    """The address of a page on another port: another origin, of the same site."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = f"<!doctype html><title>elsewhere</title><iframe src='{server}/_liteio/console/'></iframe>".encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_address[1]}/"
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_another_origin_reads_nothing(browser, server, elsewhere):
    page = browser.page(elsewhere)
    asked = """Promise.all(%s.map(([method, path]) => fetch(%s + path, { method, headers: method === 'POST' ? { authorization: 'AWS4-HMAC-SHA256 x' } : {} })
      .then((it) => it.text()).then((text) => 'read ' + text, (error) => error.name)))"""
    paths = [["GET", "/_liteio/trace"], ["GET", "/_liteio/metrics"], ["GET", "/_liteio/console/session"], ["POST", "/_liteio/console/session"],
             ["POST", "/_liteio/console/share"], ["GET", "/_liteio/console/"]]
    assert page.run(asked % (json.dumps(paths), json.dumps(server)), wait=True) == ["TypeError"] * len(paths)
    page.close()


def test_another_origin_frames_nothing(browser, server, elsewhere):
    page = browser.page(elsewhere)
    frames = page.send("Page.getFrameTree")["frameTree"]["childFrames"]
    assert [it["frame"].get("unreachableUrl") or it["frame"]["url"] for it in frames] == [f"{server}/_liteio/console/"]
    page.until("true")
    refused = [it for it in page.events if it.get("method") == "Log.entryAdded" and "frame-ancestors" in it["params"]["entry"]["text"]]
    assert refused, page.events
    page.close()


def test_what_another_page_has_put_into_the_cache_does_not_run_as_the_console(browser, server, s3, elsewhere):
    s3.create_bucket(Bucket="cached")
    body = b"<p id=told>waits</p><script>try { told.innerText = 'read ' + sessionStorage.length } catch (e) { told.innerText = e.name }</script>"
    s3.put_object(Bucket="cached", Key="evil.html", Body=body, ContentType="text/html", CacheControl="max-age=3600")
    address = json.dumps(s3.generate_presigned_url("get_object", Params={"Bucket": "cached", "Key": "evil.html"}))
    page = browser.page(elsewhere)
    # An answer to `fetch` has no sandbox: it becomes no document, unless the cache makes it one.
    page.run(f"fetch({address}, {{ mode: 'no-cors' }}).then((it) => it.type)", wait=True)
    page.run(f"location.href = {address}")
    page.until("document.getElementById('told')?.innerText === 'SecurityError'")
    assert page.run("window.origin") == "null"
    page.close()
