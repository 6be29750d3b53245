// Copies, moves and restores of many objects, and of everything below a folder.

import { ApiError, isReachable } from './api.js';
import { baseName, plural } from './format.js';
import { copyObject } from './metadata.js';
import { deleteObject, deleteUnchanged, listObjects, listVersions } from './s3.js';

const AT_ONCE = 4;
const ERRORS_MAX = 3;

/** The keys below the entries, each with its key at the target: pages of `[key, target]`. */
async function* targets(bucket, chosen, to) {
  yield chosen.filter((it) => !it.isFolder).map(({ key }) => [key, to(key, baseName(key))]);
  for (const entry of chosen.filter((it) => it.isFolder)) {
    const cut = entry.key.length - baseName(entry.key).length;
    let token;
    do {
      const page = await listObjects(bucket, { prefix: entry.key, token });
      yield page.entries.map(({ key }) => [key, to(key, key.slice(cut))]);
      token = page.next;
    } while (token);
  }
}

/** Runs `work` for all items, some at once. The first errors are reported together. */
async function each(pages, work, { signal, onProgress }) {
  let done = 0, failed = 0;
  const errors = [];
  for await (const page of pages) {
    const waiting = [...page];
    const one = async () => {
      for (let item = waiting.shift(); item; item = waiting.shift()) {
        if (signal.aborted) return;
        try {
          await work(item);
          onProgress(++done);
        } catch (error) {
          failed++;
          if (errors.length < ERRORS_MAX) errors.push(`${item[0]}: ${error.message}`);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    if (signal.aborted) throw new ApiError('Cancelled', `${plural(done, 'object')} were done before the cancellation. The rest is unchanged.`, 0);
  }
  if (failed) throw new ApiError('', `${plural(failed, 'object')} could not be done, ${done} were. ${errors.join(' ')}`, 0);
  return done;
}

/**
 * Copies the chosen entries within the server. `to` makes the new key from the old one and its name below the folder.
 * A move deletes each original after its copy.
 */
export function transfer({ bucket, chosen, toBucket, to, isMove, replaces, signal, onProgress }) {
  const work = async ([key, target]) => {
    if (bucket === toBucket && key === target) throw new ApiError('', 'Source and target are the same.', 0);
    if (!isReachable(target)) throw new ApiError('', `A browser cannot request the key ${target}.`, 0);
    const etag = await copyObject(bucket, key, toBucket, target, replaces);
    // What somebody else has put there since is not in the copy: it stays.
    if (isMove) await deleteUnchanged(bucket, key, etag);
  };
  return each(targets(bucket, chosen, to), work, { signal, onProgress });
}

async function* markers(bucket, chosen) {
  yield chosen.filter((it) => !it.isFolder && it.isMarker && it.isLatest).map(({ key, version }) => [key, version]);
  for (const entry of chosen.filter((it) => it.isFolder)) {
    let after;
    do {
      const page = await listVersions(bucket, { prefix: entry.key, after });
      yield page.entries.filter((it) => it.isMarker && it.isLatest).map(({ key, version }) => [key, version]);
      after = page.next;
    } while (after);
  }
}

/** Restores deleted objects: removes their current delete markers. */
export const undelete = (bucket, chosen, options) =>
  each(markers(bucket, chosen), ([key, version]) => deleteObject(bucket, key, version), options);
