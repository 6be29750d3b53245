"""Every page with the rules of axe-core for WCAG 2 A and AA, in light and dark."""

import json
import os
import pathlib

import pytest
from conftest import sign_in
from pages import PAGES

AXE = pathlib.Path(os.environ["AXE"]).read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
RUN = """axe.run(document, { runOnly: { type: 'tag', values: %s }, resultTypes: ['violations'] }).then(({ violations }) =>
  violations.map((it) => it.id + ': ' + it.nodes.map((node) => node.target.join(' ') + ' ' + (node.any[0]?.message ?? node.failureSummary)).slice(0, 3).join('; ')))"""


def violations(page):
    if not page.run("!!globalThis.axe"):
        page.run(AXE)
    return page.run(RUN % json.dumps(RULES), wait=True)


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
