// Signature Version 4, in headers and in the query.

import { hex, hmac, sha256 } from './hash.js';

export const UNSIGNED = 'UNSIGNED-PAYLOAD';

export const encode = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (it) => '%' + it.charCodeAt(0).toString(16).toUpperCase());
export const encodeKey = (key) => key.split('/').map(encode).join('/');

const byName = ([a], [b]) => (a < b ? -1 : a > b ? 1 : 0);

/** The query in canonical form, as it is sent. */
export function canonicalQuery(query) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return pairs.map(([name, value]) => [encode(name), encode(String(value))]).sort(byName)
    .map(([name, value]) => `${name}=${value}`).join('&');
}

const stamp = (time) => time.toISOString().replace(/[-:]|\.\d+/g, '');

let kept = { id: '', key: null };

function signingKey(secret, day, region, service) {
  const id = [secret, day, region, service].join('\n');
  if (kept.id !== id) {
    const key = [region, service, 'aws4_request'].reduce(hmac, hmac('AWS4' + secret, day));
    kept = { id, key };
  }
  return kept.key;
}

function signature(keys, request, headers, names, payload, time) {
  const date = stamp(time);
  const scope = `${date.slice(0, 8)}/${keys.region}/${request.service}/aws4_request`;
  // Other services than S3 encode the path again.
  const path = request.service === 's3' ? request.path : request.path.replaceAll('%', '%25');
  const canonical = [
    request.method, path, canonicalQuery(request.query),
    ...names.map((name) => `${name}:${headers[name].replace(/ +/g, ' ')}`), '', names.join(';'), payload,
  ].join('\n');
  const text = ['AWS4-HMAC-SHA256', date, scope, hex(sha256(canonical))].join('\n');
  const key = signingKey(keys.secret, date.slice(0, 8), keys.region, request.service);
  return hex(hmac(key, text));
}

const scopeOf = (keys, service, date) =>
  `${keys.id}/${date.slice(0, 8)}/${keys.region}/${service}/aws4_request`;

/** The headers of a signed request. `keys`: id, secret, token, region. */
export function signHeaders(keys, request, payload, time) {
  const date = stamp(time);
  const headers = { 'x-amz-date': date, 'x-amz-content-sha256': payload };
  for (const [name, value] of Object.entries(request.headers)) {
    headers[name.toLowerCase()] = String(value).trim();
  }
  if (keys.token) headers['x-amz-security-token'] = keys.token;
  const signed = { ...headers, host: request.host };
  const names = Object.keys(signed).sort();
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${scopeOf(keys, request.service, date)},`
    + `SignedHeaders=${names.join(';')},Signature=${signature(keys, request, signed, names, payload, time)}`;
  return headers;
}

/** The query of a presigned request. */
export function presign(keys, request, seconds, time) {
  const date = stamp(time);
  const query = {
    ...request.query,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': scopeOf(keys, request.service, date),
    'X-Amz-Date': date,
    'X-Amz-Expires': seconds,
    'X-Amz-SignedHeaders': 'host',
  };
  if (keys.token) query['X-Amz-Security-Token'] = keys.token;
  const headers = { host: request.host };
  query['X-Amz-Signature'] = signature(keys, { ...request, query }, headers, ['host'], UNSIGNED, time);
  return canonicalQuery(query);
}
