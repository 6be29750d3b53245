// The live trace: a stream of JSON lines, with reconnection.

import { send } from './api.js';
import { current } from './session.js';

/** The first and the longest delay before a reconnection. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 10_000;
/** A line is sent at least every five seconds: a silent connection is lost. */
const SILENCE_MS_MAX = 20_000;

/** Reads the non-empty lines of a body as JSON. `onLines` gets lines that arrive together. */
async function readLines(body, signal, onSign, onLines) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const stop = () => reader.cancel().catch(() => {});
  signal.addEventListener('abort', stop);
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onSign();
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      const found = lines.filter(Boolean).map((line) => JSON.parse(line));
      if (found.length) onLines(found);
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** S3 Vectors operations have their names as paths, and paths below `/_liteio/` are not S3: neither has a bucket. */
const withTarget = (it) =>
  (it.path === `/${it.operation}` || it.path.startsWith('/_liteio/') ? { ...it, bucket: '', key: '' } : it);

const pause = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal.addEventListener('abort', () => { clearTimeout(timer); done(); }, { once: true });
});

/**
 * Listens until `signal` is aborted. `onEntries` gets completed requests; `onLost` the number of requests not sent
 * because this page was too slow; `onState` gets `{ isOpen }`, and an `error` if a retry is useless.
 */
export async function follow({ signal, onEntries, onLost, onState }) {
  let wait = PAUSE_MS;
  while (!signal.aborted) {
    const mine = new AbortController();
    const end = () => mine.abort();
    signal.addEventListener('abort', end);
    let timer;
    const heard = () => { clearTimeout(timer); timer = setTimeout(end, SILENCE_MS_MAX); };
    try {
      heard();
      const response = await send({ path: '/_liteio/trace', signal: mine.signal });
      onState({ isOpen: true });
      wait = PAUSE_MS;
      await readLines(response.body, mine.signal, heard, (lines) => {
        const entries = lines.filter((it) => it.lost === undefined).map(withTarget);
        const lost = lines.reduce((sum, it) => sum + (it.lost ?? 0), 0);
        if (entries.length) onEntries(entries);
        if (lost) onLost(lost);
      });
    } catch (error) {
      // Permanently refused. All other errors may be temporary.
      if (error.status >= 400 && error.status < 500) {
        if (!signal.aborted) onState({ isOpen: false, error });
        return;
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
    if (signal.aborted) return;
    onState({ isOpen: false });
    await pause(wait, signal);
    wait = Math.min(PAUSE_MS_MAX, wait * 2);
  }
}

/** True for requests of this tab: requests of its session, and requests for the pages. */
export const isOfConsole = (it) =>
  it.access_key === current()?.access_key || it.path.startsWith('/_liteio/console/');

const CLASSES = {
  ok: (it) => it.status >= 200 && it.status < 400, error: (it) => it.status >= 400 || it.status === 0,
  2: (it) => it.status >= 200 && it.status < 300, 3: (it) => it.status >= 300 && it.status < 400,
  4: (it) => it.status >= 400 && it.status < 500, 5: (it) => it.status >= 500, 0: (it) => it.status === 0,
};

const textOf = (it) => [it.method, it.path, it.query, it.operation, it.bucket, it.key, it.user, it.access_key, it.client,
  it.id, it.code, it.denied, it.status].join('\n').toLowerCase();

/** `true` for a request that matches all filters; an empty filter matches all. */
export function matcher({ text = '', operation = '', status = '', bucket = '', user = '', withOwn = false }) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const [bucketPart, userPart] = [bucket.trim().toLowerCase(), user.trim().toLowerCase()];
  return (it) => (withOwn || !isOfConsole(it))
    && (!operation || (it.operation ?? 'other') === operation)
    && (!status || CLASSES[status](it))
    && (!bucketPart || it.bucket.toLowerCase().includes(bucketPart))
    && (!userPart || `${it.user ?? ''}\n${it.access_key ?? ''}`.toLowerCase().includes(userPart))
    && (!words.length || ((all) => words.every((word) => all.includes(word)))(textOf(it)));
}
