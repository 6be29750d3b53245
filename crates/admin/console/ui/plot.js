// A chart of values over time, also available as a table.

import { html, useLayoutEffect, useRef, useState } from '../vendor/preact.js';

const HEIGHT = 168;
const [RIGHT, TOP, BOTTOM] = [8, 12, 20];
/** Maximum rows of the table, the newest ones. */
const ROWS_MAX = 12;

/** A round upper bound for `value`, and the number of steps up to it. */
export function scaleOf(value, unit) {
  if (!(value > 0)) return [unit === 1024 ? 1024 : 1, 1];
  const power = unit ** Math.floor(Math.log(value) / Math.log(unit));
  const choices = unit === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 2, 4, 5, 10];
  const bound = choices.find((it) => it * power >= value) * power;
  return [bound, bound / power === 5 ? 5 : bound / power === 1 ? 2 : 4];
}

const two = (value) => String(value).padStart(2, '0');
const clock = (ms) => ((at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`)(new Date(ms));

/** The lines of values, interrupted where values are missing. */
function pathOf(points, x, y) {
  let path = '', isDown = false;
  for (const [at, value] of points) {
    if (value === undefined || Number.isNaN(value)) { isDown = false; continue; }
    path += `${isDown ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    // A single value has no line: it is drawn as a dot.
    if (!isDown) path += 'h.01';
    isDown = true;
  }
  return path;
}

const valueAt = (points, at) => points.find(([it]) => it === at)?.[1];

/**
 * `series`: `[name, points, colour]`, each point a time and a value; the default colour follows from the position.
 * `format` formats values; `unit` is 1024 for bytes.
 */
export function Plot({ title, series, format, unit = 10, note, children }) {
  const box = useRef();
  const [width, setWidth] = useState(480);
  const [over, setOver] = useState();
  const [isTable, setTable] = useState(false);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(220, box.current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const left = unit === 1024 ? 72 : 54;
  const colour = (at) => `s${series[at][2] ?? at + 1}`;
  const times = [...new Set(series.flatMap(([, points]) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const values = series.flatMap(([, points]) => points.map(([, value]) => value)).filter((it) => it !== undefined && !Number.isNaN(it));
  const [bound, steps] = scaleOf(Math.max(0, ...values), unit);
  const [from, to] = [times[0] ?? 0, times[times.length - 1] ?? 1];
  const x = (at) => left + ((width - left - RIGHT) * (at - from)) / (to - from || 1);
  const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / bound;
  const hover = (event) => {
    const at = from + (event.clientX - box.current.getBoundingClientRect().left - left) / (width - left - RIGHT) * (to - from);
    setOver(times.reduce((best, it) => (best === undefined || Math.abs(it - at) < Math.abs(best - at) ? it : best), undefined));
  };
  const current = (points) => format(points[points.length - 1]?.[1]);
  const label = `${title}, now: ${series.map(([name, points]) => `${name} ${current(points)}`).join(', ') || 'nothing'}`;
  const rows = times.slice(-ROWS_MAX).reverse();
  const isLeft = over !== undefined && x(over) > width / 2;
  return html`<section class="card plot" aria-label=${title}><header><h2 class="grow">${title}</h2>${children}
      <button type="button" class="button quiet small" aria-pressed=${isTable} aria-label=${`Table: ${title}`} onClick=${() => setTable(!isTable)}>Table</button></header>
    <div class="keys">${series.map(([name, points], i) => html`<span class="key"><i class=${colour(i)} />${name} <b>${current(points)}</b></span>`)}</div>
    <div ref=${box} class="canvas" hidden=${isTable}>
      <svg role="img" aria-label=${label} viewBox=${`0 0 ${width} ${HEIGHT}`} width=${width} height=${HEIGHT} onPointerMove=${hover} onPointerLeave=${() => setOver()}>
      ${Array.from({ length: steps + 1 }, (_, i) => (bound * i) / steps).map((value) => html`<line class="rule" x1=${left} x2=${width - RIGHT} y1=${y(value)} y2=${y(value)} />
        <text x=${left - 8} y=${y(value) + 4} text-anchor="end">${format(value)}</text>`)}
      ${times.length > 1 && html`<text x=${left} y=${HEIGHT - 4}>${clock(from)}</text><text x=${width - RIGHT} y=${HEIGHT - 4} text-anchor="end">${clock(to)}</text>`}
      ${times.length < 1 && html`<text x=${(width + left) / 2} y=${HEIGHT / 2 - 4} text-anchor="middle">waiting for data</text>`}
      ${over !== undefined && html`<line class="cursor" x1=${x(over)} x2=${x(over)} y1=${TOP} y2=${HEIGHT - BOTTOM} />`}
      ${series.map(([, points], i) => html`<path class="line ${colour(i)}" d=${pathOf(points, x, y)} />`)}</svg>
      ${over !== undefined && html`<div class="tip" style=${isLeft ? { right: `${width - x(over) + 10}px` } : { left: `${x(over) + 10}px` }}><div class="muted">${clock(over)}</div>
        ${series.map(([name, points], i) => html`<div class="key"><i class=${colour(i)} />${name} <b>${format(valueAt(points, over))}</b></div>`)}</div>`}</div>
    ${isTable && html`<div class="scroll-x values" tabindex="0" role="region" aria-label=${`Values: ${title}`}><table><caption class="sr">${title}</caption><thead><tr><th>Time</th>${series.map(([name]) => html`<th class="num">${name}</th>`)}</tr></thead>
      <tbody>${rows.map((at) => html`<tr><td>${clock(at)}</td>${series.map(([, points]) => html`<td class="num">${format(valueAt(points, at))}</td>`)}</tr>`)}</tbody></table></div>`}
    ${note && html`<p class="muted note-line">${note}</p>`}</section>`;
}
