// Catalogs of tables: the Iceberg REST catalog, and S3 Tables for table buckets and maintenance.

import { ApiError, isReachable, send, textOf } from './api.js';
import { parseIceberg } from './json.js';
import { about, current } from './session.js';
import { encode } from './sign.js';

const PAGE = 1000;
/** Between the levels of a namespace in paths, also in those of the pages. */
export const LEVEL = '\x1f';
/** A namespace as people write it. */
export const dotted = (namespace) => namespace.replaceAll(LEVEL, '.');

async function call(method, segments, { query, body, signal } = {}) {
  const path = `/${segments.map(encode).join('/')}`;
  if (!isReachable(path)) throw new ApiError('InvalidName', 'A browser cannot request the name "." or "..". Use another client of the catalog.', 0);
  const response = await send({ service: 's3tables', method, path, query, signal,
    headers: body && { 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
  const text = await textOf(response);
  return text ? parseIceberg(text) : {};
}

/** A bucket may have the name of a route, but its URI is none. */
const catalog = (method, bucket, segments, more) => call(method, ['_iceberg', 'v1', `s3://${bucket}`, ...segments], more);

/** One page of names in a catalog or a namespace: `{ names, next }`. `kind`: namespaces, tables or views. */
export async function listNames(bucket, namespace, kind, { token, signal, size = PAGE } = {}) {
  const query = { pageSize: size, pageToken: token };
  if (kind === 'namespaces') {
    const page = await catalog('GET', bucket, [kind], { query: { ...query, parent: namespace || undefined }, signal });
    return { names: page.namespaces.map((levels) => levels.at(-1)), next: page['next-page-token'] };
  }
  const page = await catalog('GET', bucket, ['namespaces', namespace, kind], { query, signal });
  return { names: page.identifiers.map((it) => it.name), next: page['next-page-token'] };
}

export const loadNamespace = (bucket, namespace) => catalog('GET', bucket, ['namespaces', namespace]);
export const createNamespace = (bucket, namespace) => catalog('POST', bucket, ['namespaces'], { body: { namespace: namespace.split(LEVEL) } });
export const dropNamespace = (bucket, namespace) => catalog('DELETE', bucket, ['namespaces', namespace]);

/** A table, with the snapshots of its branches and tags or all of them; or a view. */
export const load = (bucket, namespace, kind, name, snapshots) =>
  catalog('GET', bucket, ['namespaces', namespace, kind, name], { query: { snapshots } });
export const drop = (bucket, namespace, kind, name, isPurge) =>
  catalog('DELETE', bucket, ['namespaces', namespace, kind, name], { query: { purgeRequested: isPurge || undefined } });

/** The catalogs of the account: each bucket has one. */
export async function listCatalogs() {
  const found = [];
  let token;
  do {
    const page = await call('GET', ['buckets'], { query: { maxBuckets: PAGE, continuationToken: token } });
    found.push(...page.tableBuckets.map(({ name, createdAt }) => ({ name, created: createdAt })));
    token = page.continuationToken;
  } while (token);
  return found;
}

export const createTableBucket = (name) => call('PUT', ['buckets'], { body: { name } });

const arn = (bucket) => `arn:aws:s3tables:${about().region}:${current()?.arn.split(':')[4]}:bucket/${bucket}`;

/** The jobs of maintenance of a table, with their settings and last runs. */
export async function readMaintenance(bucket, namespace, table) {
  const of = ['tables', arn(bucket), namespace, table];
  const [all, own, { status }] = await Promise.all([
    call('GET', ['buckets', arn(bucket), 'maintenance']), call('GET', [...of, 'maintenance']), call('GET', [...of, 'maintenance-job-status'])]);
  const configured = { ...all.configuration, ...own.configuration };
  return Object.entries(status).map(([job, run]) => ({
    job, run: run.status, ended: run.lastRunTimestamp, failure: run.failureMessage,
    isOn: configured[job]?.status === 'enabled', settings: Object.values(configured[job]?.settings ?? {})[0] ?? {},
  }));
}

/** The bucket and the key of a location; undefined outside of S3. */
export function objectAt(location) {
  const [, bucket, key] = String(location ?? '').match(/^s3[an]?:\/\/([^/]+)\/(.+)$/s) ?? [];
  return key && { bucket, key };
}

/** The type of a field of a schema in one line; of a struct, list or map only its kind. */
export const typeName = (type) => String(type?.type ?? type);

/** The columns of a schema in the order of a reader, with their depth. */
export function columnsOf(schema) {
  const columns = [];
  const visit = (name, of, depth) => {
    columns.push({ id: of.id, name, type: typeName(of.type), isRequired: of.required === true, doc: of.doc, depth });
    // Deeper ones are in the metadata file.
    if (depth > 32) return;
    const inner = of.type;
    if (inner?.type === 'struct') for (const field of inner.fields) visit(field.name, field, depth + 1);
    if (inner?.type === 'list') visit('element', { id: inner['element-id'], type: inner.element, required: inner['element-required'] }, depth + 1);
    if (inner?.type !== 'map') return;
    visit('key', { id: inner['key-id'], type: inner.key, required: true }, depth + 1);
    visit('value', { id: inner['value-id'], type: inner.value, required: inner['value-required'] }, depth + 1);
  };
  for (const field of schema?.fields ?? []) visit(field.name, field, 0);
  return columns;
}
