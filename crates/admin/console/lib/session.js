// The session: temporary keys that the server created for this address. The secret key of the user is used for one
// request and forgotten. The temporary keys are in the memory of this page. Other documents of this origin, which a tab
// may show next, share its storage: the keys are there only while this page is reloaded.

import { signHeaders } from './sign.js';
import { hex, sha256 } from './hash.js';
import { parseXml } from './xml.js';

const NAME = 'liteio-session';
const PATH = '/_liteio/console/session';
const FLOW = 'liteio-flow';
const OIDC = '/_liteio/console/oidc';
/** Tabs pass answers of the issuer to the page that began the sign-in. Only pages of this origin hear them. */
const RETURNS = 'liteio-returns';
const ACCEPTED_MS_MAX = 2000;

let session = null;
let server = { region: 'us-east-1', address: '', version: '', open: false, issuer: null };
let skew = 0;
let lastId = '';
const listeners = new Set();

export const now = () => new Date(Date.now() + skew);
export const current = () => session;
/** The name of the user, extracted from its ARN for IAM users. */
export const nameOf = ({ user }) => (user.startsWith('arn:') ? user.split('/').pop() : user);
export const about = () => server;
/** The access key of the last sign-in in this page. */
export const formerId = () => lastId;

export function onSession(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next, reason) {
  session = next;
  for (const listener of listeners) listener(next, reason);
}

/** Requests region and time of the server, which signing needs. */
export async function ask() {
  const response = await fetch(PATH, { cache: 'no-store', credentials: 'omit' });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  server = await response.json();
  skew = Date.parse(server.now) - Date.now();
}

/** Takes what this page has left to itself for a reload. */
function takeSaved() {
  const saved = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  try {
    return JSON.parse(saved);
  } catch {
    return null;
  }
}

let isReloading = false;

// Browsers tell of `location.reload()` here, and of the keyboard below, but of their button nowhere: it ends the session.
globalThis.navigation?.addEventListener('navigate', (event) => {
  isReloading = event.navigationType === 'reload';
});
addEventListener('keydown', (event) => {
  if (event.key !== 'F5' && !((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'r')) return;
  isReloading = true;
  setTimeout(() => { isReloading = false; }, 2000);
});
addEventListener('pagehide', () => {
  if (isReloading && session) sessionStorage.setItem(NAME, JSON.stringify(session));
});

/** The answer of the issuer in the address, which forgets it, and the flow that this tab has kept for it. */
function takeAnswer() {
  const kept = JSON.parse(sessionStorage.getItem(FLOW));
  sessionStorage.removeItem(FLOW);
  const answer = new URLSearchParams(location.search);
  if (!answer.has('state') && !answer.has('error')) return null;
  history.replaceState(null, '', location.pathname + (kept?.hash || location.hash));
  return { ...kept, ...Object.fromEntries(['code', 'state', 'iss', 'error'].map((name) => [name, answer.get(name) ?? undefined])) };
}

/** Resumes the session after a reload if it is still valid, or begins that of an issuer's answer. Returns the reason if it is refused. */
export async function start() {
  const saved = takeSaved();
  const answer = takeAnswer();
  await ask();
  if (saved && Date.parse(saved.expires) > now()) session = saved;
  if (!answer) return '';
  if (!answer.flow) {
    if (!await isAccepted(answer)) return 'This sign-in did not begin in this tab. Sign in again.';
    close();
    return 'The page that you signed in for has the answer. Close this tab.';
  }
  try {
    session = await finish(answer);
    return '';
  } catch (failure) {
    return failure.message;
  }
}

/** The session that an answer of the issuer begins. */
async function finish({ flow, code, state, iss, error }) {
  if (!code) throw new Error(`${server.issuer} did not let you in${/^[a-z_]{1,40}$/.test(error) ? ` (${error})` : ''}.`);
  return post(`${OIDC}/finish`, JSON.stringify({ flow, code, state, iss }));
}

/** Offers an answer to the other pages; true if it belongs to the sign-in of one. */
function isAccepted(answer) {
  const channel = new BroadcastChannel(RETURNS);
  return new Promise((done) => {
    channel.onmessage = ({ data }) => { if (data.accepted && data.accepted === answer.state) done(true); };
    channel.postMessage({ answer });
    setTimeout(() => done(false), ACCEPTED_MS_MAX);
  }).finally(() => channel.close());
}

/** Begins a sign-in; its address has the state that the answer must have. */
async function begin() {
  const { url, flow } = await post(`${OIDC}/begin`, '');
  return { url, flow, state: new URL(url).searchParams.get('state') };
}

let waiting;

/**
 * Signs in by the issuer in a tab of its own, so that this page keeps uploads and input. The flow stays here, and so do the keys:
 * the tab only passes the answer. A second call replaces the first.
 */
export async function renewInTab() {
  waiting?.close();
  // The tab gets a copy of what is kept here, and must not end an earlier flow.
  sessionStorage.removeItem(FLOW);
  // A browser opens it during the click only.
  const tab = open('about:blank', '_blank');
  if (!tab) throw new Error('The browser has blocked the tab of the issuer. Allow it, or sign in on this page.');
  const channel = waiting = new BroadcastChannel(RETURNS);
  try {
    const { url, flow, state } = await begin();
    tab.location.replace(url);
    const answer = await new Promise((done) => {
      channel.onmessage = ({ data }) => { if (data.answer?.state === state) done(data.answer); };
    });
    channel.postMessage({ accepted: state });
    const next = await finish({ ...answer, flow });
    // Unless the user has left meanwhile.
    if (waiting === channel) set(next);
  } catch (error) {
    tab.close();
    throw error;
  } finally {
    channel.close();
  }
}

/** Leaves for the issuer, which returns to the same page. The flow stays in this tab: an answer to another one is refused. */
export async function leaveForIssuer() {
  const { url, flow } = await begin();
  sessionStorage.setItem(FLOW, JSON.stringify({ flow, hash: location.hash }));
  location.assign(url);
}

/** The keys that requests are signed with. */
export const keys = () =>
  session && { id: session.access_key, secret: session.secret_key, token: session.token, region: server.region };

/** Begins a session. With a server that checks no signatures, the request is unsigned. */
export async function signIn(id = '', secret = '') {
  await ask();
  const request = { method: 'POST', path: PATH, query: {}, headers: {}, host: location.host, service: 's3' };
  const long = { id: id.trim(), secret, region: server.region };
  const headers = server.open ? {} : signHeaders(long, request, hex(sha256('')), now());
  const begun = await post(PATH, undefined, headers);
  lastId = long.id;
  set(begun);
}

async function post(path, body, headers = {}) {
  const response = await fetch(path, { method: 'POST', headers, body, cache: 'no-store', credentials: 'omit' });
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  const root = parseXml(text);
  const of = (name) => (root.find('Error') ?? root).get(name) ?? '';
  const wrong = ['InvalidAccessKeyId', 'SignatureDoesNotMatch'].includes(of('Code'));
  throw new Error(wrong ? 'The access key or the secret key is wrong.'
    : of('Message') || `The server answered ${response.status}.`);
}

/** Forgets the keys and the pages. */
export function signOut() {
  waiting?.close();
  waiting = undefined;
  lastId = '';
  set(null, '');
}

/**
 * Forgets the expired keys. The pages stay for the next sign-in. An answer to a request of an earlier session, by its
 * token, does not end this one.
 */
export function endSession(token = session?.token) {
  if (session && session.token === token) set(null, 'The session has ended. Sign in again to continue.');
}
