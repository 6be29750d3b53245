// Settings of a bucket: read, and written unless somebody else has changed them meanwhile.

import { changed } from './api.js';
import { deleteSetting, getDocument, putSetting } from './s3.js';
import { SHAPES, fromXml, toXml } from './shape.js';
import { parseXml } from './xml.js';

/** A setting: its document, and this as JSON; a policy is its text. Neither if it is not set. */
export async function readSetting(bucket, name) {
  const document = await getDocument(bucket, name);
  if (document === null) return { document: null };
  return { document, value: name === 'policy' ? document : fromXml(parseXml(document), SHAPES[name][1]) };
}

const written = (name, value) => (name === 'policy' ? value : toXml(SHAPES[name][0], value, SHAPES[name][1]));

/** The documents that are emptied, not deleted. */
const EMPTIED = ['notification'];

/** Sets `value`, or takes the setting away if there is none. `base` is the document that was changed. */
export async function saveSetting(bucket, name, value, base) {
  if (base !== undefined && await getDocument(bucket, name) !== base) throw changed();
  if (value !== undefined) await putSetting(bucket, name, written(name, value));
  else if (EMPTIED.includes(name)) await putSetting(bucket, name, written(name, {}));
  else await deleteSetting(bucket, name);
  return readSetting(bucket, name);
}
