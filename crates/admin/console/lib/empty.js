// Bulk deletion: everything below a prefix, or everything in a bucket, with every version, marker and upload.

import { ApiError, isReachable } from './api.js';
import { abortUpload, deleteObjects, listObjects, listUploads, listVersions } from './s3.js';
import { number, plural } from './format.js';

const ERRORS_MAX = 5;

/** A deletion with many requests: the number of deleted objects, and the errors of others. */
export class Deletion {
  constructor(signal, onProgress) {
    Object.assign(this, { signal, onProgress, deleted: 0, failed: 0, errors: [] });
  }

  /** Cancels between two requests, never within one, so the reported number is exact. */
  check() {
    if (!this.signal.aborted) return;
    throw new ApiError('Cancelled', `${plural(this.deleted, 'object or version', 'objects or versions')} were deleted before the cancellation. The rest stays.`, 0);
  }

  fail(key, message) {
    this.failed++;
    if (this.errors.length < ERRORS_MAX) this.errors.push(`${key}: ${message}`);
  }

  /** Objects or versions, in batches. */
  async objects(bucket, objects, bypass) {
    const before = this.deleted;
    const errors = await deleteObjects(bucket, objects, {
      bypass, check: () => this.check(), onProgress: (done) => { this.deleted = before + done; this.onProgress(this.deleted); },
    });
    for (const { key, message } of errors) this.fail(key, message);
  }

  /** Deletes the entries of all pages of a listing. */
  async listed(bucket, list, { prefix = '', bypass } = {}) {
    let next;
    do {
      this.check();
      const page = await list(bucket, prefix, next);
      next = page.next;
      if (page.entries.length) await this.objects(bucket, page.entries, bypass);
    } while (next);
  }

  /** Throws an error if objects could not be deleted. */
  end(words = '') {
    if (!this.failed) return;
    throw new ApiError('', `${number(this.failed)} could not be deleted: ${this.errors.join(' ')}${words}`, 0);
  }
}

const versionsBelow = (bucket, prefix, after) => listVersions(bucket, { prefix, after });
const objectsBelow = (bucket, prefix, token) => listObjects(bucket, { prefix, token });

/** Every object below `prefix` as it is now, or every version. */
export const deleteBelow = (deletion, bucket, prefix, isVersions) =>
  deletion.listed(bucket, isVersions ? versionsBelow : objectsBelow, { prefix });

/** Every version, marker and upload of a bucket. */
export async function emptyBucket(deletion, bucket, bypass) {
  await deletion.listed(bucket, versionsBelow, { bypass });
  for await (const { key, upload } of uploadsOf(bucket)) {
    deletion.check();
    try {
      await abortUpload(bucket, key, upload);
    } catch (error) {
      if (isReachable(key)) throw error;
      deletion.fail(key, error.message);
    }
  }
}

/** Unfinished uploads whose keys a browser cannot request: their bucket cannot be deleted. */
export async function unreachableUploads(bucket) {
  const keys = [];
  for await (const { key } of uploadsOf(bucket)) if (!isReachable(key)) keys.push(key);
  return keys;
}

async function* uploadsOf(bucket) {
  let after;
  do {
    const page = await listUploads(bucket, { after });
    yield* page.entries;
    after = page.next;
  } while (after);
}
