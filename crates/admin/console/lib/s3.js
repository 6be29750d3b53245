// The S3 operations that the pages use.

import { ApiError, objectUrl, pathOf, prepare, putDocument, send, sendForXml, textOf } from './api.js';
import { encode } from './sign.js';
import { parseXml, writeXml } from './xml.js';

const PAGE = 1000;
const DELETE_MAX = 1000;

/** Decodes a text of a listing with `encoding-type=url`. */
const decoded = (text) => (text === undefined ? undefined : decodeURIComponent(text.replace(/\+/g, ' ')));
const unquoted = (etag) => (etag ?? '').replace(/^"|"$/g, '');

export async function listBuckets() {
  const buckets = [];
  let token;
  do {
    const page = await sendForXml({ query: { 'max-buckets': PAGE, 'continuation-token': token } });
    for (const bucket of page.all('Buckets/Bucket')) {
      buckets.push({ name: bucket.get('Name'), created: bucket.get('CreationDate') });
    }
    token = page.get('ContinuationToken');
  } while (token);
  return buckets;
}

export async function createBucket(name, { locked = false, versioned = false } = {}) {
  const headers = locked ? { 'x-amz-bucket-object-lock-enabled': 'true' } : {};
  await send({ method: 'PUT', path: pathOf(name), headers });
  if (versioned && !locked) await putVersioning(name, 'Enabled');
}

export const deleteBucket = (name) => send({ method: 'DELETE', path: pathOf(name) });

const objectOf = (it) => ({
  key: decoded(it.get('Key')),
  size: Number(it.get('Size') ?? 0),
  modified: it.get('LastModified'),
  etag: unquoted(it.get('ETag')),
  storageClass: it.get('StorageClass'),
});

/** One page of a listing: folders and objects, in the order of their keys. */
export async function listObjects(bucket, { prefix, delimiter, token, max = PAGE, signal }) {
  const page = await sendForXml({
    path: pathOf(bucket), signal,
    query: {
      'list-type': 2, 'encoding-type': 'url', 'max-keys': max, prefix: prefix || undefined,
      delimiter: delimiter || undefined, 'continuation-token': token,
    },
  });
  const folders = page.all('CommonPrefixes').map((it) => ({ key: decoded(it.get('Prefix')), isFolder: true }));
  const entries = [...page.all('Contents').map(objectOf), ...folders];
  entries.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return { entries, next: page.get('IsTruncated') === 'true' ? page.get('NextContinuationToken') : undefined };
}

/** One page of versions and delete markers. `after` is `next` of the previous page. */
export async function listVersions(bucket, { prefix, delimiter, after = {}, max = PAGE, signal }) {
  const page = await sendForXml({
    path: pathOf(bucket), signal,
    query: {
      versions: '', 'encoding-type': 'url', 'max-keys': max, prefix: prefix || undefined,
      delimiter: delimiter || undefined, 'key-marker': after.key, 'version-id-marker': after.version,
    },
  });
  const entries = [];
  for (const it of page.children) {
    if (it.name === 'CommonPrefixes') entries.push({ key: decoded(it.get('Prefix')), isFolder: true });
    if (it.name !== 'Version' && it.name !== 'DeleteMarker') continue;
    entries.push({
      ...objectOf(it), version: it.get('VersionId'), isLatest: it.get('IsLatest') === 'true',
      isMarker: it.name === 'DeleteMarker',
    });
  }
  const next = page.get('IsTruncated') === 'true'
    ? { key: decoded(page.get('NextKeyMarker')), version: page.get('NextVersionIdMarker') } : undefined;
  return { entries, next };
}

/** Deletes any number of objects or versions; returns the errors. `check` may throw before each batch. */
export async function deleteObjects(bucket, objects, { bypass = false, onProgress = () => {}, check = () => {} } = {}) {
  const errors = [];
  for (let at = 0; at < objects.length; at += DELETE_MAX) {
    check();
    const batch = objects.slice(at, at + DELETE_MAX);
    const document = writeXml('Delete', {
      Object: batch.map(({ key, version }) => ({ Key: key, VersionId: version })), Quiet: true,
    });
    const headers = bypass ? { 'x-amz-bypass-governance-retention': 'true' } : {};
    const answer = await putDocument(
      { method: 'POST', path: pathOf(bucket), query: { delete: '' }, headers }, document);
    for (const error of parseXml(await textOf(answer)).all('Error')) {
      errors.push({ key: error.get('Key'), version: error.get('VersionId'), message: error.get('Message') });
    }
    onProgress(at + batch.length - errors.length);
  }
  return errors;
}

const versioned = (version) => (version ? { versionId: version } : {});

/** The head of an object: its headers. */
export async function headObject(bucket, key, version) {
  const query = versioned(version);
  let response;
  try {
    response = await send({ method: 'HEAD', path: pathOf(bucket, key), query });
  } catch (error) {
    // The answer to HEAD has no error document.
    if (error.status === 404) throw new ApiError('NoSuchKey', 'The object does not exist.', 404);
    if (error.status === 405) throw new ApiError('MethodNotAllowed', 'This version is a delete marker.', 405);
    if (error.status !== 400 && error.status !== 403) throw error;
    // The answer to GET has one, with the reason.
    await send({ path: pathOf(bucket, key), query, headers: { range: 'bytes=0-0' } });
    throw error;
  }
  const headers = Object.fromEntries(response.headers);
  return {
    size: Number(headers['content-length'] ?? 0),
    type: headers['content-type'] ?? '',
    modified: headers['last-modified'],
    etag: unquoted(headers.etag),
    version: headers['x-amz-version-id'],
    headers,
  };
}

/** Bytes of an object: `from` to `to` inclusive, all, or the `last` ones. */
export async function readObject(bucket, key, { version, from, to, last, signal } = {}) {
  const headers = {};
  if (from !== undefined) headers.range = `bytes=${from}-${to}`;
  if (last !== undefined) headers.range = `bytes=-${last}`;
  const response = await send({ path: pathOf(bucket, key), query: versioned(version), headers, signal });
  return new Uint8Array(await response.arrayBuffer());
}

/** The bytes of an object, piece by piece. */
export async function* streamObject(bucket, key, { version, signal } = {}) {
  const response = await send({ path: pathOf(bucket, key), query: versioned(version), signal });
  const reader = response.body.getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) yield value;
}

export const deleteObject = (bucket, key, version, bypass = false) => send({
  method: 'DELETE', path: pathOf(bucket, key), query: versioned(version),
  headers: bypass ? { 'x-amz-bypass-governance-retention': 'true' } : {},
});

/** Deletes an object if it is still the one with this ETag. */
export const deleteUnchanged = (bucket, key, etag) =>
  send({ method: 'DELETE', path: pathOf(bucket, key), headers: { 'if-match': `"${etag}"` } });

const tagsOf = (xml) => xml.all('TagSet/Tag').map((tag) => [tag.get('Key'), tag.get('Value')]);
const tagging = (tags) => writeXml('Tagging', { TagSet: { Tag: tags.map(([Key, Value]) => ({ Key, Value })) } });

export const getObjectTags = async (bucket, key, version) =>
  tagsOf(await sendForXml({ path: pathOf(bucket, key), query: { tagging: '', ...versioned(version) } }));
export const putObjectTags = (bucket, key, tags, version) =>
  putDocument({ path: pathOf(bucket, key), query: { tagging: '', ...versioned(version) } }, tagging(tags));

/** A setting of a bucket, or undefined. */
async function getSetting(bucket, query, missing) {
  try {
    return await send({ path: pathOf(bucket), query });
  } catch (error) {
    if (missing.includes(error.code)) return null;
    throw error;
  }
}

const MISSING = [
  'NoSuchTagSet', 'NoSuchBucketPolicy', 'NoSuchCORSConfiguration', 'NoSuchLifecycleConfiguration',
  'ServerSideEncryptionConfigurationNotFoundError', 'ObjectLockConfigurationNotFoundError',
  'NoSuchPublicAccessBlockConfiguration', 'NoSuchWebsiteConfiguration', 'OwnershipControlsNotFoundError',
  'ReplicationConfigurationNotFoundError',
];

/** The document of a bucket setting as text, or undefined. */
export async function getDocument(bucket, name) {
  const response = await getSetting(bucket, { [name]: '' }, MISSING);
  return response && textOf(response);
}

export const putSetting = (bucket, name, document) =>
  putDocument({ path: pathOf(bucket), query: { [name]: '' } }, document);
export const deleteSetting = (bucket, name) =>
  send({ method: 'DELETE', path: pathOf(bucket), query: { [name]: '' } });

export async function getVersioning(bucket) {
  const xml = await sendForXml({ path: pathOf(bucket), query: { versioning: '' } });
  return xml.get('Status') ?? '';
}
export const putVersioning = (bucket, status) =>
  putSetting(bucket, 'versioning', writeXml('VersioningConfiguration', { Status: status }));

export async function getBucketTags(bucket) {
  const text = await getDocument(bucket, 'tagging');
  return text ? tagsOf(parseXml(text)) : [];
}
export const putBucketTags = (bucket, tags) =>
  (tags.length ? putSetting(bucket, 'tagging', tagging(tags)) : deleteSetting(bucket, 'tagging'));

export async function listUploads(bucket, { prefix, after = {}, signal }) {
  const page = await sendForXml({
    path: pathOf(bucket), signal,
    query: {
      uploads: '', 'encoding-type': 'url', prefix: prefix || undefined, 'key-marker': after.key,
      'upload-id-marker': after.upload,
    },
  });
  const entries = page.all('Upload').map((it) => ({
    key: decoded(it.get('Key')), upload: it.get('UploadId'), initiated: it.get('Initiated'),
    initiator: it.get('Initiator/DisplayName') ?? it.get('Initiator/ID'),
  }));
  const next = page.get('IsTruncated') === 'true'
    ? { key: decoded(page.get('NextKeyMarker')), upload: page.get('NextUploadIdMarker') } : undefined;
  return { entries, next };
}

export const abortUpload = (bucket, key, upload) =>
  send({ method: 'DELETE', path: pathOf(bucket, key), query: { uploadId: upload } });

export async function createUpload(bucket, key, type) {
  const xml = await sendForXml({
    method: 'POST', path: pathOf(bucket, key), query: { uploads: '' }, headers: { 'content-type': type },
  });
  return xml.get('UploadId');
}

export async function completeUpload(bucket, key, upload, parts) {
  const document = writeXml('CompleteMultipartUpload', {
    Part: parts.map((etag, i) => ({ PartNumber: i + 1, ETag: etag })),
  });
  const xml = await sendForXml(
    { method: 'POST', path: pathOf(bucket, key), query: { uploadId: upload }, body: document });
  if (xml.name === 'Error') throw new ApiError(xml.get('Code'), xml.get('Message'), 500);
}

/** A PUT of a blob, for `XMLHttpRequest`. */
export const preparePut = (bucket, key, body, query, type) => prepare({
  method: 'PUT', path: pathOf(bucket, key), query, body, unsigned: true,
  headers: type === undefined ? {} : { 'content-type': type },
});

export const downloadUrl = (bucket, key, version) => objectUrl(bucket, key, {
  query: { ...versioned(version), 'response-content-disposition': disposition(key) },
});

/** A URL for a preview as this type, good for as long as one looks at it. */
export const inlineUrl = (bucket, key, version, type) => objectUrl(bucket, key, {
  query: { ...versioned(version), 'response-content-disposition': 'inline', 'response-content-type': type }, seconds: 6 * 3600,
});

/** A file name as plain ASCII, and the full name as in RFC 6266. */
function disposition(key) {
  const name = key.replace(/\/+$/, '').split('/').pop() || 'object';
  return `attachment; filename="${name.replace(/[^\x20-\x7e]|["\\%]/g, '_')}"; filename*=UTF-8''${encode(name)}`;
}
