// Presigned URLs for others: signed with keys that can only read one object.

import { objectUrl, send } from './api.js';
import { about } from './session.js';

/** A link to an object or a version: the keys are valid for all versions, the URL names one. */
export async function share(bucket, key, version, seconds) {
  const body = JSON.stringify({ bucket, key, seconds });
  const headers = { 'content-type': 'application/json' };
  const response = await send({ method: 'POST', path: '/_liteio/console/share', headers, body });
  const made = await response.json();
  const by = { id: made.access_key, secret: made.secret_key, token: made.token, region: about().region };
  return { url: objectUrl(bucket, key, { query: version ? { versionId: version } : {}, seconds, by }), expires: made.expires };
}
