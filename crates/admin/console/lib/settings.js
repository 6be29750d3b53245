// Settings of a bucket: read, and written unless somebody else has changed them in between.

import { changed } from './api.js';
import { deleteSetting, getDocument, putSetting } from './s3.js';
import { getQuota, putQuota } from './server.js';
import { SHAPES, fromXml, toXml } from './shape.js';
import { parseXml } from './xml.js';

/** The quota in the same form: its document is its number. */
async function readQuota(bucket) {
  const size = await getQuota(bucket);
  return size ? { document: String(size), value: { size } } : { document: null };
}

/** A setting: its document and its JSON; for a policy its text. Both undefined if not set. */
export async function readSetting(bucket, name) {
  if (name === 'quota') return readQuota(bucket);
  const document = await getDocument(bucket, name);
  if (document === null) return { document: null };
  return { document, value: name === 'policy' ? document : fromXml(parseXml(document), SHAPES[name]?.[1]) };
}

const written = (name, value) => (name === 'policy' ? value : toXml(SHAPES[name][0], value, SHAPES[name][1]));

/** Documents that are emptied instead of deleted. */
const EMPTIED = ['notification'];

/** Sets `value`, or deletes the setting without a value. `base` is the document before the change. */
export async function saveSetting(bucket, name, value, base) {
  if (name === 'quota') {
    if (base !== undefined && (await readQuota(bucket)).document !== base) throw changed();
    await putQuota(bucket, value?.size ?? 0);
    return readQuota(bucket);
  }
  if (base !== undefined && await getDocument(bucket, name) !== base) throw changed();
  if (value !== undefined) await putSetting(bucket, name, written(name, value));
  else if (EMPTIED.includes(name)) await putSetting(bucket, name, written(name, {}));
  else await deleteSetting(bucket, name);
  return readSetting(bucket, name);
}
