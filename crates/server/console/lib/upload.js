// Uploads: a queue, parts of large files, repetitions, and a way to end them.

import { ApiError, errorOf } from './api.js';
import { abortUpload, completeUpload, createUpload, preparePut } from './s3.js';

const PART_BYTES_MIN = 8 << 20;
const PARTS_MAX = 10_000;
/** Below it, one PUT. */
const WHOLE_BYTES_MAX = 16 << 20;
/** Requests at a time, of all files together. */
const AT_A_TIME = 4;
const TRIES = 5;

export const partBytes = (size) =>
  Math.max(PART_BYTES_MIN, Math.ceil(size / PARTS_MAX / (1 << 20)) * (1 << 20));

const uploads = [];
const listeners = new Set();
const waiting = [];
let working = 0;
let told = false;

export const all = () => uploads;

export function onUploads(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Tells the listeners, once a frame. */
function changed() {
  if (told) return;
  told = true;
  setTimeout(() => { told = false; for (const listener of listeners) listener(); }, 60);
}

/** Does `work` when there is a free place. */
function place(work) {
  return new Promise((resolve, reject) => {
    waiting.push(() => work().then(resolve, reject).finally(() => { working--; next(); }));
    next();
  });
}

function next() {
  while (working < AT_A_TIME && waiting.length) { working++; waiting.shift()(); }
}

/** One PUT, with progress. `fetch` has none. */
function put(upload, slice, query, type, onBytes) {
  return new Promise((resolve, reject) => {
    if (upload.state === 'cancelled') { reject(cancelled()); return; }
    const { url, headers } = preparePut(upload.bucket, upload.key, slice, query, type);
    const request = new XMLHttpRequest();
    request.open('PUT', url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    const done = () => upload.requests.delete(request);
    request.upload.onprogress = (event) => onBytes(event.loaded);
    request.onload = () => {
      done();
      if (request.status === 200) resolve(request.getResponseHeader('etag'));
      else reject(errorOf(request.status, request.responseText, request.getResponseHeader('x-amz-request-id')));
    };
    request.onerror = () => { done(); reject(new ApiError('NetworkError', 'The connection was lost.', 0)); };
    request.onabort = () => { done(); reject(cancelled()); };
    upload.requests.add(request);
    request.send(slice);
  });
}

const cancelled = () => new ApiError('Cancelled', 'Cancelled.', 0);
const mayRepeat = (error) => error.code === 'NetworkError' || error.status >= 500 || error.status === 429
  || error.code === 'RequestTimeout';
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function repeated(upload, work) {
  for (let tried = 1; ; tried++) {
    try {
      return await place(work);
    } catch (error) {
      if (tried === TRIES || upload.state !== 'sending' || !mayRepeat(error)) throw error;
      await pause(400 * 2 ** tried);
      if (upload.state !== 'sending') throw cancelled();
    }
  }
}

async function inParts(upload) {
  const { file, bucket, key } = upload;
  const size = partBytes(file.size);
  const count = Math.ceil(file.size / size);
  upload.id = await createUpload(bucket, key, upload.type);
  if (upload.state !== 'sending') throw cancelled();
  const sent = new Array(count).fill(0);
  const part = async (at) => repeated(upload, () => {
    if (upload.state !== 'sending') throw cancelled();
    const slice = file.slice(at * size, (at + 1) * size);
    return put(upload, slice, { partNumber: at + 1, uploadId: upload.id }, undefined, (bytes) => {
      sent[at] = bytes;
      upload.sent = sent.reduce((sum, it) => sum + it, 0);
      changed();
    });
  });
  // A few parts of a file in the queue at a time, so that the first failure ends it.
  const etags = new Array(count);
  let at = 0;
  const lane = async () => { while (at < count) { const mine = at++; etags[mine] = await part(mine); } };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  await completeUpload(bucket, key, upload.id, etags);
  upload.id = undefined;
}

async function run(upload) {
  try {
    if (upload.file.size > WHOLE_BYTES_MAX) await inParts(upload);
    else {
      await repeated(upload, async () => {
        if (upload.state !== 'sending') throw cancelled();
        return put(upload, upload.file, {}, upload.type, (bytes) => { upload.sent = bytes; changed(); });
      });
    }
    upload.state = 'done';
    upload.sent = upload.file.size;
    upload.onDone?.();
  } catch (error) {
    if (upload.state === 'sending') {
      upload.state = 'failed';
      upload.error = error;
    }
    for (const request of upload.requests) request.abort();
    if (upload.id) abortUpload(upload.bucket, upload.key, upload.id).catch(() => {});
    upload.id = undefined;
  }
  changed();
}

function begin(upload) {
  Object.assign(upload, { state: 'sending', sent: 0, error: undefined, requests: new Set() });
  run(upload);
  changed();
}

/** Sends files: `[{ file, key }]`. */
export function add(bucket, files, onDone) {
  for (const { file, key } of files) {
    const type = file.type || 'application/octet-stream';
    const upload = { bucket, key, file, type, onDone };
    uploads.unshift(upload);
    begin(upload);
  }
}

export function cancel(upload) {
  upload.state = 'cancelled';
  for (const request of upload.requests) request.abort();
  changed();
}

export const retry = begin;

/** Takes what has ended off the list. */
export function clear() {
  const open = uploads.filter((upload) => upload.state === 'sending');
  uploads.splice(0, uploads.length, ...open);
  changed();
}

/** Ends everything, at sign-out. */
export function cancelAll() {
  for (const upload of uploads) if (upload.state === 'sending') cancel(upload);
  uploads.length = 0;
  changed();
}

/** The files of a drop, with those of directories below the names of these. */
export async function filesOfDrop(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, name: file.name }));
  const found = [];
  const visit = async (entry, above) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
      found.push({ file, name: above + file.name });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const children = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
      if (!children.length) break;
      for (const child of children) await visit(child, `${above}${entry.name}/`);
    }
  };
  for (const entry of entries) await visit(entry, '');
  return found;
}
