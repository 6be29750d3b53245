// A bucket at a glance: the state of all its settings, each of which may be refused.

import { readMetrics } from './prometheus.js';
import { getQuota } from './server.js';
import { readSetting } from './settings.js';
import { pathOf, sendForXml } from './api.js';

/** Groups whose grants make a bucket public. */
const EVERYONE = /\/global\/(AllUsers|AuthenticatedUsers)$/;

/** The ACL: `{ owner, grants: [{ who, permission, isPublic }] }`. */
export async function readAcl(bucket) {
  const xml = await sendForXml({ path: pathOf(bucket), query: { acl: '' } });
  const grants = xml.all('AccessControlList/Grant').map((it) => {
    const uri = it.get('Grantee/URI') ?? '';
    const isPublic = EVERYONE.test(uri);
    return { who: isPublic ? (uri.endsWith('AllUsers') ? 'everyone' : 'every signed-in user') : it.get('Grantee/DisplayName') ?? it.get('Grantee/ID') ?? uri.split('/').pop(), permission: it.get('Permission'), isPublic };
  });
  return { owner: xml.get('Owner/DisplayName') ?? xml.get('Owner/ID'), grants };
}

async function policyIsPublic(bucket) {
  try {
    return (await sendForXml({ path: pathOf(bucket), query: { policyStatus: '' } })).get('IsPublic') === 'true';
  } catch (error) {
    if (error.code === 'NoSuchBucketPolicy') return false;
    throw error;
  }
}

/** Why a bucket is public, as far as it is known: a list of reasons, empty if it is private; undefined if unknown. */
export function publicReasons({ isPolicyPublic, acl, block = {}, ownership }) {
  if (isPolicyPublic === undefined && acl === undefined) return undefined;
  const hasAcls = ownership !== 'BucketOwnerEnforced' && block.IgnorePublicAcls !== true;
  return [
    isPolicyPublic && block.RestrictPublicBuckets !== true && 'by its policy',
    hasAcls && acl?.grants.some((it) => it.isPublic) && 'by its ACL',
  ].filter(Boolean);
}

export const ownershipOf = (value) => value?.Rules?.[0]?.ObjectOwnership;

async function usageOf(bucket) {
  const metrics = await readMetrics();
  const of = (name) => metrics.all(`liteio_bucket_${name}`).find((it) => it.labels.bucket === bucket)?.value;
  return { objects: of('objects'), versions: of('versions'), bytes: of('bytes') };
}

const NAMES = ['versioning', 'object-lock', 'lifecycle', 'policy', 'publicAccessBlock', 'cors', 'encryption', 'replication', 'notification', 'tagging', 'website', 'ownershipControls'];

/** All of it; a part without the permission to read it is `undefined`. */
export async function readOverview(bucket) {
  const quiet = (promise) => promise.catch((error) => { if (error.code === 'NoSuchBucket') throw error; return undefined; });
  const [usage, quota, isPolicyPublic, acl, ...settings] = await Promise.all([
    quiet(usageOf(bucket)), quiet(getQuota(bucket)), quiet(policyIsPublic(bucket)), quiet(readAcl(bucket)),
    ...NAMES.map((name) => quiet(readSetting(bucket, name))),
  ]);
  const of = Object.fromEntries(NAMES.map((name, at) => [name, settings[at]]));
  const reasons = publicReasons({ isPolicyPublic, acl, block: of.publicAccessBlock?.value, ownership: ownershipOf(of.ownershipControls?.value) });
  return { usage, quota, acl, reasons, of };
}
