// The text format of metrics, and values for charts.

import { send } from './api.js';

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const unescape = (text) => text.replace(/\\(.)/g, (_, it) => (it === 'n' ? '\n' : it));

export function parseMetrics(text) {
  const series = new Map();
  for (const line of text.split('\n')) {
    if (!line || line[0] === '#') continue;
    const found = line.match(LINE);
    if (!found) continue;
    const [, name, inner = '', number] = found;
    const labels = Object.fromEntries([...inner.matchAll(LABEL)].map(([, label, value]) => [label, unescape(value)]));
    const value = number === '+Inf' ? Infinity : number === '-Inf' ? -Infinity : Number(number);
    if (!series.has(name)) series.set(name, []);
    series.get(name).push({ labels, value });
  }
  const all = (name) => series.get(name) ?? [];
  return {
    all,
    names: () => [...series.keys()],
    /** The sum over all labels, or over the labels selected by `choose`. */
    sum: (name, choose = () => true) =>
      (series.has(name) ? all(name).filter((it) => choose(it.labels)).reduce((sum, it) => sum + it.value, 0) : undefined),
  };
}

export async function readMetrics(signal) {
  const response = await send({ path: '/_liteio/metrics', signal });
  return parseMetrics(await response.text());
}

/** The buckets of a histogram by their bound, summed: `[[bound, count]]`. */
export function buckets(metrics, name, choose = () => true) {
  const counts = new Map();
  for (const { labels, value } of metrics.all(`${name}_bucket`)) {
    if (!choose(labels)) continue;
    const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

/** The quantile of the counts between two samples of a histogram; undefined without counts. */
export function quantile(before, after, share) {
  const former = new Map(before);
  const counts = after.map(([bound, count]) => [bound, count - (former.get(bound) ?? 0)]);
  const total = counts.length ? counts[counts.length - 1][1] : 0;
  if (!(total > 0)) return undefined;
  const rank = share * total;
  let [low, below] = [0, 0];
  for (const [bound, count] of counts) {
    if (count >= rank) {
      if (bound === Infinity) return low;
      return low + (bound - low) * ((rank - below) / (count - below || 1));
    }
    [low, below] = [bound, count];
  }
  return low;
}
