// Emptying a bucket: every version, marker and upload of it.

import { abortUpload, deleteObjects, listUploads, listVersions } from './s3.js';

const ERRORS_MAX = 5;

/** Deletes all below `prefix`; tells `onProgress` how many. Gives the first errors. */
export async function emptyBucket(bucket, { prefix = '', bypass = false, onProgress = () => {}, signal } = {}) {
  const errors = [];
  let deleted = 0;
  let after;
  do {
    const page = await listVersions(bucket, { prefix, after, signal });
    after = page.next;
    if (page.entries.length) {
      const failed = await deleteObjects(bucket, page.entries, { bypass, signal });
      errors.push(...failed.slice(0, ERRORS_MAX - errors.length));
      deleted += page.entries.length - failed.length;
      onProgress(deleted);
    }
  } while (after);
  let from;
  do {
    const page = await listUploads(bucket, { prefix, after: from, signal });
    for (const { key, upload } of page.entries) await abortUpload(bucket, key, upload);
    from = page.next;
  } while (from);
  return { deleted, errors };
}

/** Every object below `prefix`, as they are now. */
export async function deleteBelow(bucket, prefix, { list, onProgress = () => {}, signal }) {
  const errors = [];
  let deleted = 0;
  let token;
  do {
    const page = await list(bucket, { prefix, token, signal });
    token = page.next;
    if (page.entries.length) {
      const failed = await deleteObjects(bucket, page.entries, { signal });
      errors.push(...failed.slice(0, ERRORS_MAX - errors.length));
      deleted += page.entries.length - failed.length;
      onProgress(deleted);
    }
  } while (token);
  return { deleted, errors };
}
