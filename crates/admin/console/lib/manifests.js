// The data files of a snapshot: its manifest list, and manifests until there are enough files.

import { avroRecords } from './avro.js';
import { readObject } from './s3.js';
import { objectAt } from './tables.js';

const MANIFEST_BYTES_MAX = 8 << 20;
const MANIFESTS_MAX = 20;
const FILES_MAX = 100;
const DELETED = 2;

async function* records(location) {
  const at = objectAt(location);
  if (!at) throw new Error(`The manifest ${String(location).slice(0, 200)} is not in S3.`);
  yield* avroRecords(await readObject(at.bucket, at.key, { from: 0, to: MANIFEST_BYTES_MAX - 1 }));
}

const filesIn = (manifest) => ['added', 'existing'].reduce((sum, it) => sum + (manifest[`${it}_files_count`] ?? manifest[`${it}_data_files_count`] ?? 1), 0);

async function find(snapshot, found) {
  const manifests = [...snapshot.manifests ?? []];
  if (snapshot['manifest-list']) {
    for await (const it of records(snapshot['manifest-list'])) {
      if (it.content === 1) found.hasDeletes = true;
      else if (filesIn(it)) manifests.push(it.manifest_path);
    }
  }
  for (const [at, manifest] of manifests.entries()) {
    if (at === MANIFESTS_MAX) {
      found.isCut = true;
      return;
    }
    for await (const { status, data_file: file } of records(manifest)) {
      if (status === DELETED || file.content) continue;
      found.isCut = found.files.length === FILES_MAX;
      if (found.isCut) return;
      found.files.push({ path: String(file.file_path), format: String(file.file_format).toUpperCase(), rows: Number(file.record_count), bytes: Number(file.file_size_in_bytes) });
    }
  }
}

/** The first data files; `hasDeletes` if other files delete rows of them, `isCut` if there may be more. */
export async function dataFiles(snapshot) {
  const found = { files: [], hasDeletes: false, isCut: false };
  try {
    await find(snapshot, found);
  } catch (error) {
    // Of a long manifest, the files that were read suffice.
    if (!found.files.length) throw error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError ? new Error('A manifest of the snapshot is damaged.') : error;
    found.isCut = true;
  }
  return found;
}
