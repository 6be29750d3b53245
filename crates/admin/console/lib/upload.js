// Uploads: a queue, parts of large files, repetitions, and a way to end them.

import { ApiError, errorOf, wantsSession } from './api.js';
import { ask, current, onSession } from './session.js';
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

/** Tries again what fails for a while. What the end of the session has stopped goes on with the next one. */
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
  // Parts that a try before has sent are not sent again.
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
  // A few parts of a file in the queue at a time, so that the first failure ends it.
  let ahead = 0;
  const lane = async () => {
    while (ahead < count) {
      const at = ahead++;
      parts.etags[at] ??= await part(at);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  // Of an upload that is complete the server says so again, should the first answer have been lost.
  await repeated(turn, () => completeUpload(bucket, key, parts.id, parts.etags));
  if (upload.parts === parts) upload.parts = undefined;
}

/** Leaves no parts behind. Signed at once: at sign-out the keys are forgotten next. */
function abort({ bucket, key }, { id }) {
  if (id) abortUpload(bucket, key, id).catch(() => {});
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
    if (!turn.stop.signal.aborted) Object.assign(upload, { state: 'failed', error });
    // What was sent stays for another try, unless the server has it no more.
    if (error.code === 'NoSuchUpload' && upload.turn === turn) upload.parts = undefined;
    turn.stop.abort();
  }
  changed();
}

/** Forgets the parts that were sent, here and on the server. */
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

/** Takes what has ended off the list. */
export function clear() {
  const open = uploads.filter((upload) => upload.state === 'sending');
  for (const upload of uploads) if (upload.state === 'failed') dropParts(upload);
  uploads.splice(0, uploads.length, ...open);
  changed();
}

/** Ends everything, at sign-out. */
export function cancelAll() {
  for (const upload of uploads) if (upload.state === 'sending') cancel(upload);
  clear();
  changed();
}

