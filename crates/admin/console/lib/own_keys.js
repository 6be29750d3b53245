// Service accounts of the user who is signed in.

import { send } from './api.js';

const PATH = '/_liteio/console/keys';
const at = (id) => `${PATH}/${encodeURIComponent(id)}`;
const headers = { 'content-type': 'application/json' };

// A list tells the start of 1970 for a key without an end.
const ended = ({ expiration, ...key }) => ({ ...key, expiration: Date.parse(expiration) > 0 ? expiration : undefined });

export const listOwnKeys = async () => (await (await send({ path: PATH })).json()).keys.map(ended);
export const ownKey = async (id) => (await send({ path: at(id) })).json();
export const changeOwnKey = (id, change) => send({ method: 'POST', path: at(id), headers, body: JSON.stringify(change) });
export const deleteOwnKey = (id) => send({ method: 'DELETE', path: at(id) });

/** A new key, with its secret. */
export async function createOwnKey(wanted) {
  const { credentials } = await (await send({ method: 'POST', path: PATH, headers, body: JSON.stringify(wanted) })).json();
  return { id: credentials.accessKey, secret: credentials.secretKey };
}
