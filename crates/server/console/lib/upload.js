// Uploads: a queue, parts of large files, repetitions, and a way to end them.

import { ApiError, errorOf } from './api.js';
import { ask } from './session.js';
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

/** One PUT, with progress. `fetch` has none. A turn is one try of an upload, which can be cancelled for good. */
function put(turn, slice, query, type, onBytes) {
  return new Promise((resolve, reject) => {
    const { upload } = turn;
    const { url, headers } = preparePut(upload.bucket, upload.key, slice, query, type);
    const request = new XMLHttpRequest();
    request.open('PUT', url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    const done = () => turn.requests.delete(request);
    request.upload.onprogress = (event) => onBytes(event.loaded);
    request.onload = () => {
      done();
      if (request.status === 200) resolve(request.getResponseHeader('etag'));
      else reject(errorOf(request.status, request.responseText, request.getResponseHeader('x-amz-request-id'), headers));
    };
    request.onerror = () => { done(); reject(new ApiError('NetworkError', 'The connection was lost.', 0)); };
    request.onabort = () => { done(); reject(cancelled()); };
    turn.requests.add(request);
    request.send(slice);
  });
}

const cancelled = () => new ApiError('Cancelled', 'Cancelled.', 0);
const mayRepeat = (error) => error.code === 'NetworkError' || error.status >= 500 || error.status === 429
  || ['RequestTimeout', 'RequestTimeTooSkewed'].includes(error.code);
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function repeated(turn, work) {
  for (let tried = 1; ; tried++) {
    try {
      return await place(async () => {
        if (turn.isOver) throw cancelled();
        return work();
      });
    } catch (error) {
      if (tried === TRIES || turn.isOver || !mayRepeat(error)) throw error;
      if (error.code === 'RequestTimeTooSkewed') await ask();
      await pause(400 * 2 ** tried);
    }
  }
}

async function inParts(turn) {
  const { upload } = turn;
  const { file, bucket, key } = upload;
  const size = partBytes(file.size);
  const count = Math.ceil(file.size / size);
  turn.id = await createUpload(bucket, key, upload.type);
  const sent = new Array(count).fill(0);
  const part = async (at) => repeated(turn, () => {
    const slice = file.slice(at * size, (at + 1) * size);
    return put(turn, slice, { partNumber: at + 1, uploadId: turn.id }, undefined, (bytes) => {
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
  if (turn.isOver) throw cancelled();
  await completeUpload(bucket, key, turn.id, etags);
  turn.id = undefined;
}

async function run(turn) {
  const { upload } = turn;
  try {
    if (upload.file.size > WHOLE_BYTES_MAX) await inParts(turn);
    else await repeated(turn, () => put(turn, upload.file, {}, upload.type, (bytes) => { upload.sent = bytes; changed(); }));
    // One that was cancelled when all had been sent is there all the same.
    if (upload.turn === turn) Object.assign(upload, { state: 'done', sent: upload.file.size });
    upload.onDone?.();
  } catch (error) {
    if (!turn.isOver) Object.assign(upload, { state: 'failed', error });
    end(turn);
    if (turn.id) abortUpload(upload.bucket, upload.key, turn.id).catch(() => {});
  }
  changed();
}

/** Ends a turn: its requests, and those that would follow. */
function end(turn) {
  turn.isOver = true;
  for (const request of turn.requests) request.abort();
}

function begin(upload) {
  const turn = { upload, requests: new Set(), isOver: false };
  Object.assign(upload, { state: 'sending', sent: 0, error: undefined, turn });
  run(turn);
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
  end(upload.turn);
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
