// A ZIP archive of objects, stored without compression.

import { ApiError } from './api.js';
import { bytes, plural } from './format.js';
import { bytesOf } from './hash.js';
import { listObjects, streamObject } from './s3.js';

/** The archive is in the memory of the browser, and sizes have 32 bits. */
export const ZIP_BYTES_MAX = 2 ** 31;
export const ZIP_FILES_MAX = 20_000;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 of more bytes. */
export function crc32(chunk, crc = 0) {
  let value = ~crc;
  for (let at = 0; at < chunk.length; at++) value = TABLE[(value ^ chunk[at]) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}

/** Little-endian fields: `[bytes, value]`. */
function fields(list) {
  const view = new DataView(new ArrayBuffer(list.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of list) {
    if (size === 4) view.setUint32(at, value, true);
    else view.setUint16(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

/** A time in the form of MS-DOS: date and time. */
function stamp(text) {
  const at = new Date(text);
  const year = Math.max(0, at.getFullYear() - 1980);
  return [(at.getHours() << 11) | (at.getMinutes() << 5) | (at.getSeconds() >> 1), (year << 9) | ((at.getMonth() + 1) << 5) | at.getDate()];
}

const [LOCAL, CENTRAL, END, UTF8] = [0x04034b50, 0x02014b50, 0x06054b50, 1 << 11];

/** Names of files: unpacking must not leave the directory. */
export const safeName = (name) => name.split('/').filter((part) => part && part !== '.' && part !== '..').join('/').replace(/\\/g, '_');

/** The objects below the entries: `{ key, name, size, modified }`, at most as many as an archive takes. */
export async function zipList(bucket, chosen, folder) {
  const found = [];
  let size = 0;
  const add = (it) => {
    if (it.key.endsWith('/') && !it.size) return;
    size += it.size;
    found.push({ ...it, name: safeName(it.key.slice(folder.length)) || 'object' });
    if (size > ZIP_BYTES_MAX || found.length > ZIP_FILES_MAX) {
      throw new ApiError('', `An archive takes at most ${bytes(ZIP_BYTES_MAX)} and ${plural(ZIP_FILES_MAX, 'object')}. Use a client such as the AWS CLI.`, 0);
    }
  };
  for (const entry of chosen) {
    if (!entry.isFolder) { add(entry); continue; }
    let token;
    do {
      const page = await listObjects(bucket, { prefix: entry.key, token });
      page.entries.forEach(add);
      token = page.next;
    } while (token);
  }
  return found;
}

/** The archive as a blob. Its parts are blobs, which browsers keep on disk if they are large. */
export async function zip(bucket, list, { signal, onProgress }) {
  const parts = [], central = [];
  let offset = 0, done = 0;
  for (const { key, version, name, modified } of list) {
    if (signal.aborted) throw new ApiError('Cancelled', 'The archive was cancelled.', 0);
    const chunks = [];
    let crc = 0, size = 0;
    for await (const chunk of streamObject(bucket, key, { version, signal })) {
      crc = crc32(chunk, crc);
      size += chunk.length;
      done += chunk.length;
      chunks.push(chunk);
      onProgress(done);
    }
    const text = bytesOf(name);
    const common = [[2, 20], [2, UTF8], [2, 0], ...stamp(modified).map((it) => [2, it]), [4, crc], [4, size], [4, size], [2, text.length], [2, 0]];
    const head = fields([[4, LOCAL], ...common]);
    parts.push(head, text, new Blob(chunks));
    central.push(fields([[4, CENTRAL], [2, 20], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]), text);
    offset += head.length + text.length + size;
  }
  const length = central.reduce((sum, it) => sum + it.length, 0);
  const end = fields([[4, END], [2, 0], [2, 0], [2, list.length], [2, list.length], [4, length], [4, offset], [2, 0]]);
  return new Blob([...parts, ...central, end], { type: 'application/zip' });
}

/** Offers a blob as a download. */
export function saveBlob(blob, name) {
  const anchor = document.createElement('a');
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
}
