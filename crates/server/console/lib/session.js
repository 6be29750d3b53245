// The session: temporary keys that the server made for this address. The secret key of the user is used for one
// request and forgotten; nothing is kept beyond the tab.

import { signHeaders } from './sign.js';
import { hex, sha256 } from './hash.js';

const NAME = 'liteio-session';
const PATH = '/_liteio/console/session';

let session = null;
let server = { region: 'us-east-1', address: '', version: '' };
let skew = 0;
const listeners = new Set();

export const now = () => new Date(Date.now() + skew);
export const current = () => session;
export const about = () => server;

export function onSession(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next, reason) {
  session = next;
  if (next) sessionStorage.setItem(NAME, JSON.stringify(next));
  else sessionStorage.removeItem(NAME);
  for (const listener of listeners) listener(next, reason);
}

/** Asks the server for what signing needs, and takes up the session of this tab if it is still good. */
export async function start() {
  const response = await fetch(PATH, { cache: 'no-store', credentials: 'omit' });
  if (!response.ok) throw new Error(`The server answers ${response.status}.`);
  server = await response.json();
  skew = Date.parse(server.now) - Date.now();
  try {
    const saved = JSON.parse(sessionStorage.getItem(NAME));
    if (saved && Date.parse(saved.expires) > now()) session = saved;
    else sessionStorage.removeItem(NAME);
  } catch {
    sessionStorage.removeItem(NAME);
  }
}

/** The keys that requests are signed with. */
export const keys = () =>
  session && { id: session.access_key, secret: session.secret_key, token: session.token, region: server.region };

export async function signIn(id, secret) {
  const request = { method: 'POST', path: PATH, query: {}, headers: {}, host: location.host, service: 's3' };
  const long = { id: id.trim(), secret, region: server.region };
  const headers = signHeaders(long, request, hex(sha256('')), now());
  const response = await fetch(PATH, { method: 'POST', headers, cache: 'no-store', credentials: 'omit' });
  const text = await response.text();
  if (!response.ok) {
    const of = (name) => text.match(new RegExp(`<${name}>([^<]*)`))?.[1] ?? '';
    const wrong = ['InvalidAccessKeyId', 'SignatureDoesNotMatch'].includes(of('Code'));
    throw new Error(wrong ? 'The access key or the secret key is wrong.'
      : of('Message') || `The server answers ${response.status}.`);
  }
  set(JSON.parse(text));
}

/** Forgets the keys. `reason` is shown where one signs in again. */
export function signOut(reason = '') {
  set(null, reason);
}
