// S3 Vectors (JSON) and IAM (forms).

import { send, sendForXml } from './api.js';
import { encode } from './sign.js';

/** An operation of S3 Vectors. */
export async function vectors(operation, input = {}, signal) {
  const response = await send({
    service: 's3vectors', method: 'POST', path: `/${operation}`, headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input), signal,
  });
  const text = await response.text();
  return text ? JSON.parse(text) : {};
}

/** All items of a list of S3 Vectors. */
export async function allVectors(operation, field, input = {}) {
  const items = [];
  let nextToken;
  do {
    const page = await vectors(operation, { ...input, nextToken });
    items.push(...page[field]);
    nextToken = page.nextToken;
  } while (nextToken);
  return items;
}

/** An operation of IAM; gives the element of its result. */
export async function iam(action, input = {}) {
  const fields = Object.entries({ Action: action, Version: '2010-05-08', ...input });
  const body = fields.filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encode(name)}=${encode(String(value))}`).join('&');
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  const xml = await sendForXml({ service: 'iam', method: 'POST', path: '/', headers, body });
  return xml.find(`${action}Result`) ?? xml;
}

/** All items of a list of IAM. */
export async function allIam(action, list, input = {}) {
  const items = [];
  let marker;
  do {
    const page = await iam(action, { ...input, Marker: marker });
    items.push(...page.all(`${list}/member`));
    marker = page.get('IsTruncated') === 'true' ? page.get('Marker') : undefined;
  } while (marker);
  return items;
}
