// The S3 Vectors operations that the pages use.

import { ApiError, send } from './api.js';
import { plural } from './format.js';

const PAGE = 500;
const KEYS_MAX = 500;
/** Maximum number of vectors in one PutVectors. */
const PUT_MAX = 500;

async function call(operation, body, signal) {
  const headers = { 'content-type': 'application/json' };
  const response = await send({ service: 's3vectors', method: 'POST', path: `/${operation}`, headers, body: JSON.stringify(body), signal });
  const text = await response.text();
  return text ? JSON.parse(text) : {};
}

async function all(operation, body, name) {
  const found = [];
  let nextToken;
  do {
    const page = await call(operation, { ...body, nextToken });
    found.push(...page[name]);
    nextToken = page.nextToken;
  } while (nextToken);
  return found;
}

/** Times are seconds. */
const made = (it) => new Date(it.creationTime * 1000).toISOString();

export async function listVectorBuckets() {
  const found = await all('ListVectorBuckets', {}, 'vectorBuckets');
  return found.map((it) => ({ name: it.vectorBucketName, created: made(it) }));
}

export async function listIndexes(bucket) {
  const found = await all('ListIndexes', { vectorBucketName: bucket }, 'indexes');
  return found.map((it) => ({ name: it.indexName, created: made(it) }));
}

export const createVectorBucket = (bucket) => call('CreateVectorBucket', { vectorBucketName: bucket });
export const deleteIndex = (bucket, index) => call('DeleteIndex', { vectorBucketName: bucket, indexName: index });

/** Deletes a vector bucket with its indexes; `onProgress` gets the number of deleted ones. */
export async function deleteVectorBucket(bucket, signal, onProgress) {
  const indexes = await listIndexes(bucket);
  for (const [at, { name }] of indexes.entries()) {
    if (signal.aborted) throw new ApiError('Cancelled', `${plural(at, 'index', 'indexes')} were deleted before the cancellation. The rest stays.`, 0);
    await deleteIndex(bucket, name);
    onProgress(at + 1);
  }
  await call('DeleteVectorBucket', { vectorBucketName: bucket });
}

/** `texts`: metadata keys with text search, and their language, if known. */
export function createIndex(bucket, { name, dimension, metric, nonFilterable, texts = [], language }) {
  const metadata = {
    nonFilterableMetadataKeys: nonFilterable.length ? nonFilterable : undefined,
    textSearchConfigurations: texts.length ? texts.map((metadataKey) => ({ metadataKey, language: language || undefined })) : undefined,
  };
  const has = nonFilterable.length || texts.length;
  return call('CreateIndex', {
    vectorBucketName: bucket, indexName: name, dataType: 'float32', dimension, distanceMetric: metric,
    metadataConfiguration: has ? metadata : undefined,
  });
}

export async function getIndex(bucket, index) {
  const { index: it } = await call('GetIndex', { vectorBucketName: bucket, indexName: index });
  const metadata = it.metadataConfiguration ?? {};
  return {
    arn: it.indexArn, dimension: it.dimension, metric: it.distanceMetric, type: it.dataType, mode: it.indexMode, created: made(it),
    nonFilterable: metadata.nonFilterableMetadataKeys ?? [],
    texts: (metadata.textSearchConfigurations ?? []).map(({ metadataKey, language }) => ({ key: metadataKey, language })),
  };
}

/** A page of vectors, with metadata if the user has the permission. */
export async function listVectors(bucket, index, { token, withMetadata = true, signal }) {
  const page = await call('ListVectors', {
    vectorBucketName: bucket, indexName: index, maxResults: PAGE, returnMetadata: withMetadata, nextToken: token,
  }, signal);
  return { vectors: page.vectors, next: page.nextToken };
}

/** One vector with its elements and metadata. */
export async function getVector(bucket, index, key) {
  const { vectors } = await call('GetVectors', {
    vectorBucketName: bucket, indexName: index, keys: [key], returnData: true, returnMetadata: true,
  });
  if (!vectors.length) throw new ApiError('NotFound', `No vector has the key “${key}”.`, 404);
  return { key, elements: vectors[0].data.float32, metadata: vectors[0].metadata ?? {} };
}

export async function putVectors(bucket, index, vectors, onProgress = () => {}) {
  for (let from = 0; from < vectors.length; from += PUT_MAX) {
    await call('PutVectors', { vectorBucketName: bucket, indexName: index, vectors: vectors.slice(from, from + PUT_MAX) });
    onProgress(Math.min(vectors.length, from + PUT_MAX));
  }
}

export async function deleteVectors(bucket, index, keys) {
  for (let from = 0; from < keys.length; from += KEYS_MAX) {
    await call('DeleteVectors', { vectorBucketName: bucket, indexName: index, keys: keys.slice(from, from + KEYS_MAX) });
  }
}

/** The nearest vectors; `texts` is `queryTexts`. */
export async function queryVectors(bucket, index, { elements, texts, filter, topK, signal }) {
  const found = [];
  let nextToken;
  do {
    const page = await call('QueryVectors', {
      vectorBucketName: bucket, indexName: index, topK, filter, nextToken, returnMetadata: true, returnDistance: elements ? true : undefined,
      queryVector: elements && { float32: elements }, queryTexts: texts, returnScores: texts ? true : undefined,
    }, signal);
    found.push(...page.vectors);
    nextToken = page.nextToken;
  } while (nextToken && found.length < topK);
  return found;
}

const wrong = (message) => new ApiError('', message, 0);

function parsed(text, what) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrong(`${what} is not valid JSON: ${error.message}.`);
  }
}

/** The elements of a typed vector: a list of numbers, or the API's form. */
export function parseElements(text, dimension) {
  const value = parsed(text, 'The vector');
  const elements = Array.isArray(value) ? value : value?.float32;
  if (!Array.isArray(elements) || !elements.every((it) => typeof it === 'number')) throw wrong('The vector is not a list of numbers, such as [0.1, -2, 3].');
  if (dimension && elements.length !== dimension) throw wrong(`The vector has ${elements.length} elements; this index needs ${dimension}.`);
  return elements;
}

export function parseFilter(text) {
  if (!text.trim()) return undefined;
  const filter = parsed(text, 'The filter');
  if (filter === null || typeof filter !== 'object' || Array.isArray(filter)) throw wrong('The filter is not an object, such as {"genre": "drama"}.');
  return filter;
}

/** The vectors in a text: one object, or a list of objects, with `key`, `data` and `metadata`. */
export function parseVectors(text, dimension) {
  const value = parsed(text, 'The text');
  const list = Array.isArray(value) ? value : Array.isArray(value?.vectors) ? value.vectors : [value];
  if (!list.length) throw wrong('The list contains no vector.');
  return list.map((it, at) => {
    const name = `Vector ${at + 1}`;
    if (it === null || typeof it !== 'object' || typeof it.key !== 'string' || !it.key) throw wrong(`${name} has no "key".`);
    if (it.data === undefined) throw wrong(`${name} (${it.key}) has no "data".`);
    let elements;
    try {
      elements = parseElements(JSON.stringify(it.data), dimension);
    } catch (error) {
      throw wrong(`${name} (${it.key}): ${error.message}`);
    }
    return { key: it.key, data: { float32: elements }, metadata: it.metadata };
  });
}
