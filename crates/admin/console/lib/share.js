// Links that work for others: signed with keys that can read one object and nothing else.

import { objectUrl, send } from './api.js';
import { about } from './session.js';

/** A link to an object, or to a version of it: the keys are good for all versions, the address names one. */
export async function share(bucket, key, version, seconds) {
  const body = JSON.stringify({ bucket, key, seconds });
  const headers = { 'content-type': 'application/json' };
  const response = await send({ method: 'POST', path: '/_liteio/console/share', headers, body });
  const made = await response.json();
  const by = { id: made.access_key, secret: made.secret_key, token: made.token, region: about().region };
  return { url: objectUrl(bucket, key, { query: version ? { versionId: version } : {}, seconds, by }), expires: made.expires };
}
