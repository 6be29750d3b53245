// Uploads: a queue, parts of large files, retries and cancellation.

import { ApiError, errorOf, wantsSession } from './api.js';
import { ask, current, onSession } from './session.js';
import { abortUpload, completeUpload, createUpload, preparePut } from './s3.js';

const PART_BYTES_MIN = 8 << 20;
const PARTS_MAX = 10_000;
/** Smaller files take one PUT. */
const WHOLE_BYTES_MAX = 16 << 20;
/** Concurrent requests for all files together. */
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

/** Notifies the listeners, once per frame. */
function changed() {
  if (told) return;
  told = true;
  setTimeout(() => { told = false; for (const listener of listeners) listener(); }, 60);
}

/** Runs `work` when a slot is free. */
function place(work) {
  return new Promise((resolve, reject) => {
    waiting.push(() => work().then(resolve, reject).finally(() => { working--; next(); }));
    next();
  });
}

function next() {
  while (working < AT_A_TIME && waiting.length) { working++; waiting.shift()(); }
}

/** One PUT, with progress, which `fetch` does not report. A turn is one attempt of an upload; it can be cancelled. */
function put(turn, slice, query, type, onBytes) {
  return new Promise((resolve, reject) => {
    const { upload } = turn;
    const { url, headers } = preparePut(upload.bucket, upload.key, slice, query, type);
    const request = new XMLHttpRequest();
    request.open('PUT', url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    const abort = () => request.abort();
    turn.stop.signal.addEventListener('abort', abort);
    const done = () => turn.stop.signal.removeEventListener('abort', abort);
    request.upload.onprogress = (event) => onBytes(event.loaded);
    request.onload = () => {
      done();
      if (request.status === 200) resolve(request.getResponseHeader('etag'));
      else reject(errorOf(request.status, request.responseText, request.getResponseHeader('x-amz-request-id'), headers));
    };
    request.onerror = () => { done(); reject(new ApiError('NetworkError', 'The connection was lost.', 0)); };
    request.onabort = () => { done(); reject(cancelled()); };
    request.send(slice);
  });
}

const cancelled = () => new ApiError('Cancelled', 'Cancelled.', 0);
const mayRepeat = (error) => error.code === 'NetworkError' || error.status >= 500 || error.status === 429
  || ['RequestTimeout', 'RequestTimeTooSkewed'].includes(error.code);
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Waits for the next sign-in, or for the end of the turn. */
function signedIn({ stop: { signal } }) {
  if (current() || signal.aborted) return undefined;
  return new Promise((resolve) => {
    const done = () => { leave(); resolve(); };
    const leave = onSession((session) => { if (session) done(); });
    signal.addEventListener('abort', done);
  });
}

/** Retries temporary failures. Work stopped by the end of the session continues with the next one. */
async function repeated(turn, work) {
  for (let tried = 1; ; tried++) {
    try {
      return await place(async () => {
        if (turn.stop.signal.aborted) throw cancelled();
        return work();
      });
    } catch (error) {
      if (turn.stop.signal.aborted) throw error;
      if (wantsSession(error)) {
        setWaiting(turn, true);
        await signedIn(turn);
        setWaiting(turn, false);
        tried--;
        continue;
      }
      if (tried === TRIES || !mayRepeat(error)) throw error;
      if (error.code === 'RequestTimeTooSkewed') await ask();
      await pause(400 * 2 ** tried);
    }
  }
}

function setWaiting({ upload }, isWaiting) {
  upload.isWaiting = isWaiting;
  changed();
}

async function inParts(turn) {
  const { upload } = turn;
  const { file, bucket, key } = upload;
  const size = partBytes(file.size);
  const count = Math.ceil(file.size / size);
  // Parts sent by an earlier attempt are not sent again.
  const parts = upload.parts ??= { id: '', etags: new Array(count) };
  if (!parts.id) parts.id = await repeated(turn, () => createUpload(bucket, key, upload.type));
  if (turn.stop.signal.aborted) {
    abort(upload, parts);
    throw cancelled();
  }
  const bytesOf = (at) => Math.min(size, file.size - at * size);
  const sent = Array.from(parts.etags, (etag, at) => (etag ? bytesOf(at) : 0));
  const part = async (at) => repeated(turn, () => {
    const slice = file.slice(at * size, (at + 1) * size);
    return put(turn, slice, { partNumber: at + 1, uploadId: parts.id }, undefined, (bytes) => {
      sent[at] = bytes;
      upload.sent = sent.reduce((sum, it) => sum + it, 0);
      changed();
    });
  });
  // Only a few parts of a file are queued at a time, so the first failure ends it quickly.
  let ahead = 0;
  const lane = async () => {
    while (ahead < count) {
      const at = ahead++;
      parts.etags[at] ??= await part(at);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  // Completion is idempotent, in case the first answer was lost.
  await repeated(turn, () => completeUpload(bucket, key, parts.id, parts.etags));
  if (upload.parts === parts) upload.parts = undefined;
}

/** Aborts the upload on the server. Signed at once, because sign-out deletes the keys next. */
function abort({ bucket, key }, { id }) {
  if (id) abortUpload(bucket, key, id).catch(() => {});
}

async function run(turn) {
  const { upload } = turn;
  try {
    if (upload.file.size > WHOLE_BYTES_MAX) await inParts(turn);
    else await repeated(turn, () => put(turn, upload.file, {}, upload.type, (bytes) => { upload.sent = bytes; changed(); }));
    // An upload cancelled after everything was sent exists nevertheless.
    if (upload.turn === turn) Object.assign(upload, { state: 'done', sent: upload.file.size });
    upload.onDone?.();
  } catch (error) {
    if (!turn.stop.signal.aborted) Object.assign(upload, { state: 'failed', error });
    // Sent parts are kept for another attempt, unless the server no longer has them.
    if (error.code === 'NoSuchUpload' && upload.turn === turn) upload.parts = undefined;
    turn.stop.abort();
  }
  changed();
}

/** Forgets the sent parts, here and on the server. */
function dropParts(upload) {
  if (upload.parts) abort(upload, upload.parts);
  upload.parts = undefined;
}

function begin(upload) {
  const turn = { upload, stop: new AbortController() };
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
  upload.turn.stop.abort();
  dropParts(upload);
  changed();
}

export const retry = begin;

/** Removes ended uploads from the list. */
export function clear() {
  const open = uploads.filter((upload) => upload.state === 'sending');
  for (const upload of uploads) if (upload.state === 'failed') dropParts(upload);
  uploads.splice(0, uploads.length, ...open);
  changed();
}

/** Cancels everything at sign-out. */
export function cancelAll() {
  for (const upload of uploads) if (upload.state === 'sending') cancel(upload);
  clear();
  changed();
}

