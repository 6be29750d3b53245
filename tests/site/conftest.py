"""The site, built once, served on a free port, and a browser."""

import functools
import http.server
import pathlib
import subprocess
import threading

import pytest

from browser import Browser
from pages import Site

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("site") / "liteio"
    subprocess.run([ROOT / ".ci/site", directory], check=True)
    return directory


@pytest.fixture(scope="session")
def site(directory):
    return Site(directory)


@pytest.fixture(scope="session")
def address(directory):
    """As GitHub Pages serves it: below the name of the repository."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=directory.parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{directory.name}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser():
    browser = Browser()
    yield browser
    browser.close()
