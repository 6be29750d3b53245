// Samples of the server's metrics: they go on while other pages are shown, so that the charts have a past.

import { readMetrics } from './prometheus.js';
import { addReading } from './rates.js';
import { current, onSession } from './session.js';

/** The second sample comes early: a rate needs two. */
const FIRST_MS = 1000;
/** The period while no page shows them. */
const IDLE_SECONDS = 15;

let state = { readings: [] };
let isWanted = false;
let period = 5;
let timer, stop;
const listeners = new Set();

const tell = (next) => {
  state = next;
  for (const listener of listeners) listener();
};

async function read() {
  clearTimeout(timer);
  stop?.abort();
  if (!current() || document.hidden) return;
  const mine = new AbortController();
  stop = mine;
  try {
    const metrics = await readMetrics(mine.signal);
    if (mine.signal.aborted) return;
    tell({ readings: addReading(state.readings, metrics) });
  } catch (error) {
    if (mine.signal.aborted) return;
    tell({ ...state, error });
    // A refused request would be refused again.
    if (error.status >= 400 && error.status < 500) return;
  }
  const seconds = listeners.size ? period : Math.max(period, IDLE_SECONDS);
  timer = setTimeout(read, state.readings.length === 1 ? FIRST_MS : seconds * 1000);
}

document.addEventListener('visibilitychange', () => { if (isWanted) read(); });
// Another user may not see them, and has another past.
let user = '';
onSession((session, reason) => {
  if (session ? session.arn !== user : !reason) {
    user = session?.arn ?? '';
    isWanted = false;
    clearTimeout(timer);
    stop?.abort();
    tell({ readings: [] });
  } else if (session && isWanted) read();
});

/** The samples so far and the last error. */
export const readings = () => state;
/** Reads at once, and from now on. */
export const readAgain = () => { isWanted = true; user = current()?.arn ?? ''; return read(); };
export const setPeriod = (seconds) => { period = seconds; readAgain(); };
export const periodOf = () => period;

/** Calls `listener` after each sample; the first listener begins the samples. */
export function onReadings(listener) {
  listeners.add(listener);
  readAgain();
  return () => listeners.delete(listener);
}
