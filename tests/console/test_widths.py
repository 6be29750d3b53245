"""Pages at the width of a phone, in dark: nothing scrolls sideways but tables, no control is out of reach or under another."""

import json

import pytest
from conftest import sign_in
from pages import PAGES
from test_accessibility import violations

# Boxes that scroll sideways by themselves, such as a wide table.
SCROLLS = ".scroll-x, .tabs, pre, .settings nav, textarea"

WIDE = """(() => {
  const open = [...document.querySelectorAll('dialog[open]')].pop() ?? document.body;
  const name = (it) => `${it.tagName.toLowerCase()}.${it.className.baseVal ?? it.className} ${(it.getAttribute('aria-label') ?? it.innerText ?? '').slice(0, 40)}`;
  const shown = [...open.querySelectorAll('*')].filter((it) => it.checkVisibility() && !it.closest('.sr, %s') && it.getClientRects().length);
  const found = [];
  if (document.scrollingElement.scrollWidth > innerWidth) found.push(`the document is ${document.scrollingElement.scrollWidth} wide`);
  for (const it of shown) {
    const { overflowX } = getComputedStyle(it);
    if ((overflowX === 'auto' || overflowX === 'scroll') && it.scrollWidth > it.clientWidth) found.push(`scrolls sideways: ${name(it)}`);
  }
  const controls = shown.filter((it) => it.matches('button, a[href], input, select, textarea'));
  for (const it of controls) {
    const box = it.getBoundingClientRect();
    if (!box.width) continue;
    if (box.left < -1 || box.right > innerWidth + 1) found.push(`beyond the edge: ${name(it)} ${Math.round(box.left)}-${Math.round(box.right)}`);
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    // What is scrolled out of its box is under nothing.
    const view = it.closest('.content, .view, dialog, .side')?.getBoundingClientRect() ?? document.body.getBoundingClientRect();
    if (y < view.top || y >= view.bottom || y >= innerHeight || x < 0 || x >= innerWidth) continue;
    const top = document.elementFromPoint(x, y);
    const other = top?.closest('button, a[href], input, select, textarea');
    if (other && other !== it && !it.contains(other) && !other.contains(it)) found.push(`under another: ${name(it)} / ${name(other)}`);
  }
  return [...new Set(found)].slice(0, 5);
})()""" % SCROLLS


@pytest.fixture(scope="module")
def phone(browser, server, filled):
    page = sign_in(browser, server)
    page.size(390, 844)
    page.colours("dark")
    page.until("document.documentElement.dataset.theme === 'dark'")
    yield page
    assert page.complaints() == []
    page.close()


@pytest.mark.parametrize("path, words, click", PAGES, ids=str)
def test_nothing_is_wider_than_a_phone(phone, path, words, click):
    phone.run("location.hash = '#/none'")
    phone.until("!document.querySelector('dialog[open]')")
    phone.run(f"location.hash = {json.dumps('#/' + path)}")
    phone.sees(words)
    if click:
        phone.click(click)
    phone.until("!document.querySelector('.spinner')")
    found = phone.run(WIDE), violations(phone)
    phone.press("Escape")
    assert found == ([], [])


def test_the_chosen_tab_is_in_view(phone):
    phone.run("location.hash = '#/none'")
    phone.until("!document.querySelector('dialog[open]')")
    for path, words in [("buckets/seen?key=a.txt&tab=share", "Create a link"), ("catalogs/seen-lake/sales/tables/orders?tab=maintenance", "Compaction")]:
        phone.run(f"location.hash = {json.dumps('#/' + path)}")
        phone.sees(words)
        phone.until("[...document.querySelectorAll('[role=tab][aria-selected=true]')].pop().getBoundingClientRect().right <= innerWidth")
