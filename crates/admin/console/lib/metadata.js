// Metadata of objects. S3 changes it by a copy of the object onto itself, which has to repeat all values to keep.

import { ApiError, changed, pathOf, send, textOf } from './api.js';
import { decodeWords, encodeWords } from './encoded_words.js';
import { getObjectTags, headObject, putObjectTags } from './s3.js';
import { encode, encodeKey } from './sign.js';

/** A copy takes these only from the request, else from the defaults of the bucket, or has none. */
const OF_COPY = [
  'x-amz-server-side-encryption', 'x-amz-server-side-encryption-aws-kms-key-id',
  'x-amz-server-side-encryption-bucket-key-enabled', 'x-amz-storage-class',
];
/** Replacing the metadata also replaces these. */
const OF_METADATA = [
  'cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires', 'x-amz-website-redirect-location',
];
const PREFIX = 'x-amz-meta-';
/** A valid header name. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const kept = (head, names) => Object.fromEntries(names.filter((name) => head.headers[name]).map((name) => [name, head.headers[name]]));

/** The metadata of a head: `[name, value]`. */
export const metadataOf = (head) => Object.entries(head.headers).filter(([name]) => name.startsWith(PREFIX))
  .map(([name, value]) => [name.slice(PREFIX.length), decodeWords(value)]);

async function copy(bucket, key, version, headers, [toBucket, toKey] = [bucket, key]) {
  const source = `${encode(bucket)}/${encodeKey(key)}${version ? `?versionId=${encode(version)}` : ''}`;
  const response = await send({ method: 'PUT', path: pathOf(toBucket, toKey), headers: { 'x-amz-copy-source': source, ...headers } });
  if ((await textOf(response)).includes('<Error>')) throw new ApiError('InternalError', 'The copy failed.', 500);
}

/** Makes a version the current one, by a copy of it. */
export async function restoreVersion(bucket, key, version) {
  await copy(bucket, key, version, kept(await headObject(bucket, key, version), OF_COPY));
}

/** Copies an object to another key or bucket, with its metadata, tags, encryption and storage class. Returns the ETag of what was copied. */
export async function copyObject(bucket, key, toBucket, toKey, replaces) {
  const head = await headObject(bucket, key);
  const only = replaces ? {} : { 'if-none-match': '*' };
  await copy(bucket, key, undefined, { ...kept(head, OF_COPY), ...only, 'x-amz-copy-source-if-match': `"${head.etag}"` }, [toBucket, toKey]);
  return head.etag;
}

/** Values that are equal in two heads of the same object with the same metadata. */
const stateOf = (head) => JSON.stringify([head.etag, head.version, head.type, metadataOf(head), kept(head, [...OF_COPY, ...OF_METADATA])]);

/** Replaces metadata and content type of an object, if it is unchanged since `base` (if given). */
export async function saveMetadata(bucket, key, metadata, type, base) {
  for (const [name] of metadata) {
    if (!NAME.test(name)) throw new ApiError('', `“${name}” is not a valid metadata name: use letters, digits and hyphens.`, 0);
  }
  const head = await headObject(bucket, key);
  if (base && stateOf(head) !== stateOf(base)) throw changed();
  await copy(bucket, key, undefined, {
    ...kept(head, [...OF_COPY, ...OF_METADATA]), 'content-type': type, 'x-amz-metadata-directive': 'REPLACE',
    'x-amz-copy-source-if-match': `"${head.etag}"`,
    ...Object.fromEntries(metadata.map(([name, value]) => [PREFIX + name, encodeWords(value)])),
  });
}

const inOrder = (tags) => JSON.stringify([...tags].sort());

/** Sets the tags of an object or version, if they are unchanged since `base` (if given). */
export async function saveTags(bucket, key, version, tags, base) {
  if (base && inOrder(await getObjectTags(bucket, key, version)) !== inOrder(base)) throw changed();
  await putObjectTags(bucket, key, tags, version);
}
