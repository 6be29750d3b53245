"""The site: links, requests, search, colours."""

import subprocess
import sys

import pytest

from markdown import ROOT, builder
from pages import Site


def test_no_link_of_the_site_is_dead(site):
    assert len(site.pages) > 40
    assert site.dead() == []


def test_no_page_loads_anything_from_elsewhere(site):
    assert site.external() == []


def test_markers_of_examples_are_left_out(directory):
    assert "<!-- example" not in "".join(file.read_text() for file in directory.rglob("*.html"))


def test_what_is_dead_or_from_elsewhere_is_found(tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here"></a><a href="other.html#there"></a><a href="gone.html"></a><img src="gone.png">'
        '<script src="https://example.com/x.js"></script><link rel="stylesheet" href="//example.com/x.css">'
        '<p style="background: url(http://example.com/x.png)"><style>@import "https://example.com/y.css";</style>')
    (tmp_path / "other.html").write_text('<h1 id="here"></h1><a href="https://example.com/">followed by a person</a>')
    (tmp_path / "x.css").write_text("a { background: url('https://example.com/z.png') } /* url(https://example.com/none) */")
    site = Site(tmp_path)
    assert site.dead()[:3] == ["index.html: other.html#there", "index.html: gone.html", "index.html: gone.png"]
    assert site.external() == [
        "index.html: https://example.com/x.js", "index.html: //example.com/x.css", "index.html: http://example.com/x.png",
        "index.html: https://example.com/y.css", "x.css: https://example.com/z.png"]


@pytest.mark.parametrize("text, told", [
    ("[a](tests/site/run)", None),
    ("[a](tests/site)", None),
    ("[a](fuzz/README.md)", "fuzz/README.md is no page: add it to docs/SUMMARY.md"),
    ("[a](nothing.md)", "nothing.md is no file"),
])
def test_the_site_is_not_built_with_a_link_that_leads_nowhere(tmp_path, text, told):
    pages = builder.Pages(tmp_path)
    if told:
        with pytest.raises(SystemExit, match=told):
            pages.adapted("README.md", text)
    else:
        pages.adapted("README.md", text)


def test_links_work_from_the_folder_of_the_page(tmp_path):
    pages = builder.Pages(tmp_path)
    text = "[a](../../docs/cluster.md#failover) [b](../../packaging/helm/liteio) [c](../../tests/site) [d](single.yaml) `[e](f.md)`"
    assert pages.adapted("deploy/compose/README.md", text) == (
        "[a](../../cluster.md#failover) [b](../../packaging/helm/liteio/index.md) c [d](single.yaml) `[e](f.md)`")
    assert (tmp_path / "deploy/compose/single.yaml").exists()


def test_a_name_of_a_file_becomes_the_title_of_the_page(tmp_path):
    pages = builder.Pages(tmp_path)
    assert pages.adapted("docs/tls.md", "[proxies.md](proxies.md), [docs/tls.md](tls.md), [more](proxies.md#nginx)") == (
        "[Reverse proxies](proxies.md), [HTTPS and HTTP/2](tls.md), [more](proxies.md#nginx)")


def test_a_program_that_is_not_there_is_named_in_one_line(tmp_path):
    done = subprocess.run([sys.executable, ROOT / ".ci/site", tmp_path / "site"], env={"MDBOOK": "/nothing"}, text=True, capture_output=True)
    assert done.returncode == 1 and done.stderr == "MDBOOK names no program: /nothing\n"


def watched(browser, url):
    """A page whose requests are noted from the first on."""
    page = browser.page("about:blank")
    page.watch_network()
    page.open(url)
    return page


@pytest.mark.parametrize("name", ["index.html", "vectors.html", "deploy/compose/index.html", "404.html"])
def test_a_page_in_a_browser_asks_nobody_else(browser, address, name):
    page = watched(browser, f"{address}/{name}")
    requests = [it for it in page.requests() if not it.startswith("data:")]
    assert len(requests) > 5 and all(it.startswith(address) or name == "404.html" for it in requests), requests
    assert all("127.0.0.1" in it for it in requests), requests
    if name != "404.html":
        assert page.complaints() == []
    page.close()


def test_words_are_found(browser, address):
    page = watched(browser, f"{address}/index.html?search=standby")
    page.until("document.querySelectorAll('#mdbook-searchresults li').length > 3")
    assert "backup.html" in page.run("[...document.querySelectorAll('#mdbook-searchresults a')].map(it => it.href).join(' ')")
    assert all(it.startswith((address, "data:")) for it in page.requests())
    page.close()


@pytest.mark.parametrize("scheme, theme", [("light", "light"), ("dark", "navy")])
def test_colours_are_those_of_the_system(browser, address, scheme, theme):
    page = browser.page()
    page.colours(scheme)
    page.open(f"{address}/backup.html")
    assert page.run("document.documentElement.classList.contains('%s')" % theme)
    page.close()


def test_no_page_is_wider_than_a_phone(browser, address, site):
    """Tables and code scroll in themselves."""
    page = browser.page()
    page.size(390, 844)
    wide = []
    for name in sorted(site.pages):
        if name not in ("404.html", "toc.html"):
            page.open(f"{address}/{name}")
            if page.run("document.documentElement.scrollWidth > innerWidth"):
                wide.append(name)
    page.close()
    assert wide == []
