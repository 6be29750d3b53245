// The listing of a folder: pages that load while scrolling, folders before objects, and its order.

import { useEffect, useMemo, useRef, useState } from '../../vendor/preact.js';
import { listObjects, listVersions } from '../../lib/s3.js';
import { onSession } from '../../lib/session.js';

/** Entries that an order other than by name loads: the order is known only with all of them. */
export const SORTED_MAX = 50_000;

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const ORDERS = {
  name: () => 0, size: (a, b) => (a.size ?? 0) - (b.size ?? 0), modified: (a, b) => compare(a.modified, b.modified),
};

/** Folders first, then objects, as the server lists them: `at(index)`. Other orders copy the list. */
function ordered({ folders, objects }, [by, step]) {
  if (by === 'name' && step > 0) return { at: (index) => folders[index] ?? objects[index - folders.length] };
  const rows = by === 'name' ? [...folders.toReversed(), ...objects.toReversed()]
    : [...folders, ...objects.toSorted((a, b) => step * ORDERS[by](a, b))];
  return { at: (index) => rows[index] };
}

export function useListing(bucket, prefix, delimiter, versions, order) {
  // Entries of another folder are discarded: a new listing is empty until its first page.
  const asked = JSON.stringify([bucket, prefix, delimiter, versions]);
  const [kept, setState] = useState({});
  const state = kept.asked === asked ? kept : { asked, folders: [], objects: [] };
  const [round, setRound] = useState(0);
  const run = useRef(null);
  const load = async (mine) => {
    if (mine.isBusy || mine.isDone || mine.stop.signal.aborted) return;
    mine.isBusy = true;
    const { signal } = mine.stop;
    const told = (more) => setState({ asked: mine.asked, folders: mine.folders, objects: mine.objects, count: mine.folders.length + mine.objects.length, ...more });
    try {
      const page = versions ? await listVersions(bucket, { prefix, delimiter, after: mine.next, signal })
        : await listObjects(bucket, { prefix, delimiter, token: mine.next, signal });
      if (signal.aborted) return;
      mine.next = page.next;
      mine.isDone = !page.next;
      // Appended in place: a million entries are not copied for each page.
      for (const entry of page.entries) if (entry.key !== prefix || !entry.isFolder) (entry.isFolder ? mine.folders : mine.objects).push(entry);
      mine.isBusy = false;
      told({ isDone: mine.isDone });
    } catch (error) {
      mine.isBusy = false;
      if (!signal.aborted) told({ error });
    }
  };
  useEffect(() => {
    const mine = { asked, folders: [], objects: [], stop: new AbortController() };
    run.current = mine;
    setState((former) => ({ ...former, error: undefined }));
    load(mine);
    return () => mine.stop.abort();
  }, [bucket, prefix, delimiter, versions, round]);
  const isSorted = order[0] !== 'name' || order[1] < 0;
  const count = state.count ?? 0;
  // An order needs all entries, up to a limit.
  useEffect(() => {
    if (isSorted && count && !state.isDone && !state.error && count < SORTED_MAX) load(run.current);
  }, [isSorted, count, state.isDone, state.error]);
  const hasFailed = useRef(false);
  hasFailed.current = Boolean(state.error);
  useEffect(() => onSession((session) => { if (session && hasFailed.current) setRound((it) => it + 1); }), []);
  const rows = useMemo(() => ordered(state, order), [state.folders, state.objects, count, ...order]);
  return {
    ...state, count, at: rows.at, isPartial: isSorted && !state.isDone && count >= SORTED_MAX,
    all: () => [...state.folders, ...state.objects],
    more: () => run.current && !state.error && load(run.current),
    again: () => { setState((it) => ({ ...it, error: undefined })); load(run.current); },
    reload: () => setRound((it) => it + 1),
  };
}

/** Moves the view with folders that a later page has put before it. */
export const keepPlace = ({ folders }) => ({ first: folders.length, placeOf: (former) => folders.length - former });
