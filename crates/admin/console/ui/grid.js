// A virtual table of any length: only the visible rows are in the document.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../vendor/preact.js';
import { ROW, scaleOf } from './scroll.js';

const AHEAD = 8;

/**
 * `count` rows of `row(index)` (cells), under `heads` (`[text, class]`).
 * `onNearEnd` is called when the last rows come into view. `keys` handles a key on a row.
 * If rows are inserted before others, `first` is the id of the first row, and `placeOf` the index of an id: the visible
 * rows then keep their position.
 */
export function Grid({ label, columns, heads, count, row, onNearEnd, onOpen, onToggle, isSelected, keys = {}, foot, total, rowClass, stick, first, placeOf, onPick }) {
  const view = useRef();
  const [{ top, height, bar }, setView] = useState({ top: 0, height: 600, bar: 0 });
  const [active, setActive] = useState(0);
  const moved = useRef(false);
  const scale = scaleOf(count, height);
  // Browsers round scroll positions, so the exact position is stored separately; it also survives a change of rows.
  const place = useRef({ top: 0, above: 0 });
  const above = scale.isScaled && place.current.top === top ? Math.min(place.current.above, scale.last) : scale.above(top);
  const measure = () => {
    const { scrollTop, clientHeight, offsetWidth, clientWidth } = view.current;
    const next = { top: scrollTop, height: clientHeight, bar: offsetWidth - clientWidth };
    setView((it) => (Object.keys(next).every((name) => it[name] === next[name]) ? it : next));
  };
  const scrollTo = (next) => {
    view.current.scrollTop = scale.top(next);
    place.current = { top: view.current.scrollTop, above: next };
    measure();
  };
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(view.current);
    // A scroll bar appears with the number of rows, not with the size of the box.
    observer.observe(view.current.firstElementChild);
    return () => observer.disconnect();
  }, []);
  const start = Math.floor(above / ROW);
  const shown = Math.ceil(height / ROW);
  const from = Math.max(0, start - AHEAD);
  const to = Math.min(count, start + shown + AHEAD);
  useEffect(() => { if (to >= count - 3 * shown) onNearEnd?.(); }, [to, count]);
  useEffect(() => { if (active >= count) setActive(Math.max(0, count - 1)); }, [count]);
  useLayoutEffect(() => { if (stick && view.current.scrollTop) { view.current.scrollTop = 0; measure(); } }, [stick]);
  useLayoutEffect(() => { place.current = { top, above }; });
  useLayoutEffect(() => { if (scale.isScaled) scrollTo(above); }, [count]);
  const former = useRef(first);
  useLayoutEffect(() => {
    const more = placeOf?.(former.current);
    former.current = first;
    if (!(more > 0)) return;
    if (view.current.contains(document.activeElement)) {
      moved.current = true;
      setActive((it) => Math.min(count - 1, it + more));
    }
    const { scrollTop } = view.current;
    if (scrollTop) scrollTo((scale.isScaled ? place.current.above : scrollTop) + more * ROW);
  }, [first]);
  useLayoutEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    view.current.querySelector(`[data-row="${active}"]`)?.focus({ preventScroll: true });
  });
  const moveTo = (index) => {
    const next = Math.max(0, Math.min(count - 1, index));
    moved.current = true;
    setActive(next);
    const [from, to] = [next * ROW, (next + 1) * ROW - view.current.clientHeight];
    if (from < above) scrollTo(from);
    else if (to > above) scrollTo(to);
  };
  const onKeyDown = (event) => {
    if (event.target !== event.currentTarget && !event.target.matches('[role=row]')) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: shown - 1, PageUp: 1 - shown, Home: -count, End: count }[event.key];
    if (step !== undefined) moveTo(active + step);
    else if (event.key === 'Enter' && onOpen) onOpen(active);
    else if (event.key === ' ' && onToggle) onToggle(active, event.shiftKey);
    else if (keys[event.key]) keys[event.key](active);
    else return;
    event.preventDefault();
  };
  const lines = [];
  for (let index = from; index < to; index++) {
    lines.push(html`<div class="line ${columns} ${onPick ? 'picks' : ''} ${rowClass?.(index) ?? ''}" role="row" key=${index} data-row=${index}
      aria-rowindex=${index + 2} aria-selected=${isSelected ? isSelected(index) : undefined} tabindex=${index === active ? 0 : -1}
      style=${{ top: `${scale.offset(index, top, above)}px` }} onFocus=${() => setActive(index)} onDblClick=${() => onOpen?.(index)}
      onClick=${onPick && (() => onPick(index))}>
      ${row(index)}</div>`);
  }
  return html`<div class="grid card"><div class="rows" role="grid" aria-label=${label} aria-rowcount=${total ?? count + 1} aria-multiselectable=${isSelected ? 'true' : undefined}>
    <div class="head ${columns}" role="row" aria-rowindex="1" style=${{ paddingRight: `${12 + bar}px` }}>${heads.map(([text, kind = '', more = {}]) => html`<div role="columnheader" class=${kind} ...${more}>${text}</div>`)}</div>
    <div class="view" role="rowgroup" ref=${view} onScroll=${measure} onKeyDown=${onKeyDown}>
      <div class="space" role="presentation" style=${{ height: `${scale.element}px` }}>${lines}</div></div></div>
    ${foot && html`<div class="foot">${foot}</div>`}</div>`;
}
