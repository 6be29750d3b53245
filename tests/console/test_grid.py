"""The table of a million rows, whose rows are higher than what a browser can scroll."""

import pytest

COUNT = 1_000_000

# A table without a listing behind it, in the place of the page. `more(count)` gives it other rows.
MOUNT = """(async () => {
  const { html, render } = await import('./vendor/preact.js');
  const { Grid } = await import('./ui/grid.js');
  const app = document.getElementById('app');
  render(null, app);
  const host = document.createElement('div');
  host.style.cssText = 'height: 600px; display: flex';
  app.append(host);
  window.more = (count) => render(html`<${Grid} label="Numbers" columns="cols-vectors" count=${count} heads=${[['Number']]}
    row=${(index) => [html`<div role="gridcell">${String(index)}</div>`]} />`, host);
  window.more(%d);
})()"""

# The rows that can be seen in full, by their numbers.
SEEN = """(() => {
  const box = document.querySelector('.grid .view').getBoundingClientRect();
  return [...document.querySelectorAll('.grid .line')].filter((it) => {
    const { top, bottom } = it.getBoundingClientRect();
    return top >= box.top - 1 && bottom <= box.bottom + 1;
  }).map((it) => Number(it.dataset.row));
})()"""
FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture
def grid(page):
    page.run(MOUNT % COUNT, wait=True)
    page.until(f"{SEEN}.length > 10")
    return page


def active(page):
    page.run(FRAME, wait=True)
    number = page.run("Number(document.activeElement.dataset.row ?? -1)")
    assert number in page.run(SEEN), (number, page.run(SEEN))
    return number


def test_the_ends_of_a_million_rows_are_reached(grid):
    grid.run("document.querySelector('.grid .view').scrollTop = 1e9")
    grid.until(f"{SEEN}.includes({COUNT - 1})")
    seen = grid.run(SEEN)
    assert seen == list(range(seen[0], COUNT)) and len(seen) > 10
    grid.run("document.querySelector('.grid .view').scrollTop = 0")
    grid.until(f"{SEEN}.includes(0)")


def test_keys_move_through_a_million_rows_and_keep_the_focus_in_view(grid):
    grid.run("document.querySelector('.grid .line').focus()")
    for key, times, expected in [("ArrowDown", 40, 40), ("End", 1, COUNT - 1), ("ArrowUp", 40, COUNT - 41), ("Home", 1, 0)]:
        for _ in range(times):
            grid.press(key)
            active(grid)
        assert active(grid) == expected, key


def test_what_one_looks_at_stays_when_rows_follow(grid):
    grid.run("document.querySelector('.grid .view').scrollTop = 1e9")
    grid.until(f"{SEEN}.includes({COUNT - 1})")
    before = grid.run(SEEN)
    grid.run(f"window.more({COUNT} + 1000)")
    grid.run(FRAME, wait=True)
    seen = grid.run(SEEN)
    assert abs(seen[0] - before[0]) <= 1 and COUNT + 999 not in seen, seen


@pytest.mark.parametrize("count", [0, 1, 17, 352_941, 352_942, COUNT, 100 * COUNT])
def test_rows_begin_and_end_with_the_scroll_bar(page, count):
    above, last, first = page.run("""import('./ui/scroll.js').then(({ ROW, scaleOf }) => {
      const [count, height] = [%d, 600];
      const scale = scaleOf(count, height);
      const end = Math.max(0, scale.element - height);
      return [scale.above(end) - scale.last, count && scale.offset(count - 1, end, scale.last) + ROW - scale.element, scale.offset(0, 0, 0)];
    })""" % count, wait=True)
    assert abs(above) < 0.01 and abs(last) < 0.01 and first == 0
