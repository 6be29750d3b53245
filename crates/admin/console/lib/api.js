// Requests signed by the session.

import { base64, bytesOf, hex, sha256 } from './hash.js';
import { UNSIGNED, canonicalQuery, encode, encodeKey, presign, signHeaders } from './sign.js';
import { ask, endSession, keys, now } from './session.js';
import { parseXml } from './xml.js';

/** An error of the server, with its message. */
export class ApiError extends Error {
  constructor(code, message, status, requestId) {
    super(message);
    Object.assign(this, { code, status, requestId });
  }
}

const SESSION_IS_OVER = ['ExpiredToken', 'InvalidToken', 'InvalidClientTokenId', 'ExpiredTokenException', 'AuthenticationTimeoutException'];
/** The error for saving over an unseen change. */
export const changed = () => new ApiError('Changed', 'Somebody else has changed this since it was loaded. Saving overwrites their change.', 409);

const NOT_SIGNED_IN = 'NotSignedIn';
/** True if a request failed because the session had ended, and may be repeated with the next one. */
export const wantsSession = ({ code }) => code === NOT_SIGNED_IN || SESSION_IS_OVER.includes(code);

/** The error in an answer to a request with these headers. */
export function errorOf(status, text, requestId, headers = {}) {
  let code = '', message = '';
  if (text.trimStart().startsWith('{')) {
    try {
      const sent = JSON.parse(text);
      // Of the Iceberg REST catalog, or of a service of AWS.
      const body = sent.error ?? sent;
      code = String(body.__type ?? body.type ?? body.code ?? body.Code ?? '').replace(/^.*#/, '');
      message = body.message ?? body.Message ?? '';
    } catch { /* Not JSON after all. */ }
  } else if (text) {
    const root = parseXml(text);
    const error = root.find('Error') ?? root;
    code = error.get('Code') ?? '';
    message = error.get('Message') ?? '';
  }
  if (SESSION_IS_OVER.includes(code)) endSession(headers['x-amz-security-token']);
  return new ApiError(code || `HTTP ${status}`, message || `The server answered ${status}.`, status, requestId);
}

/** Browsers resolve `.` and `..` between slashes, even if they are escaped. */
export const isReachable = (key) => !key.split('/').some((part) => part === '.' || part === '..');

/** The path of a bucket or object. */
export function pathOf(bucket, key) {
  if (key === undefined) return `/${encode(bucket)}`;
  if (!isReachable(key)) {
    throw new ApiError('InvalidKey', 'A browser cannot request a key with a "." or ".." between slashes. '
      + 'Use a client such as the AWS CLI.', 0);
  }
  return `/${encode(bucket)}/${encodeKey(key)}`;
}

/** The signed request for `fetch` or `XMLHttpRequest`. The body is hashed if `hash` is not given. */
export function prepare({ service = 's3', method = 'GET', path = '/', query = {}, headers = {}, body, unsigned }) {
  const held = keys();
  if (!held) throw new ApiError(NOT_SIGNED_IN, 'Sign in first.', 403);
  const payload = unsigned ? UNSIGNED : hex(sha256(body ?? ''));
  const request = { service, method, path, query, headers, host: location.host };
  const text = canonicalQuery(query);
  return { url: path + (text && `?${text}`), headers: signHeaders(held, request, payload, now()), method, body };
}

/** Sends a request and returns its answer, or throws its error. After a change of the clock it retries once. */
export async function send(options) {
  try {
    return await sendOnce(options);
  } catch (error) {
    if (error.code !== 'RequestTimeTooSkewed') throw error;
    await ask();
    return sendOnce(options);
  }
}

async function sendOnce(options) {
  const { url, headers, method, body } = prepare(options);
  // `fetch` reports invalid headers as a lost connection, so they are checked first.
  const sent = new Headers(headers);
  let response;
  try {
    response = await fetch(url, {
      method, headers: sent, body, signal: options.signal, cache: 'no-store', credentials: 'omit', redirect: 'error',
    });
  } catch (error) {
    throw lost(error, 'The server cannot be reached.');
  }
  if (response.ok) return response;
  throw errorOf(response.status, await textOf(response), response.headers.get('x-amz-request-id'), headers);
}

const lost = (error, words) => (error.name === 'AbortError' ? error : new ApiError('NetworkError', words, 0));

/** The text of an answer; the connection can also be lost while reading it. */
export async function textOf(response) {
  try {
    return await response.text();
  } catch (error) {
    throw lost(error, 'The connection was lost.');
  }
}

export const sendForXml = async (options) => parseXml(await textOf(await send(options)));

/** Sends a document, with the checksum that some operations ask for. */
export function putDocument(options, document) {
  const checksum = base64(sha256(bytesOf(document)));
  const headers = { ...options.headers, 'x-amz-checksum-sha256': checksum };
  return send({ method: 'PUT', ...options, headers, body: document });
}

/** A presigned URL of an object, valid for some seconds. */
export function objectUrl(bucket, key, { query = {}, seconds = 300, by = keys() } = {}) {
  const path = pathOf(bucket, key);
  const request = { service: 's3', method: 'GET', path, query, host: location.host };
  return `${location.origin}${path}?${presign(by, request, seconds, now())}`;
}
