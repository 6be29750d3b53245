// The server as its administrators see it: information, health, and quotas of buckets.

import { ApiError, send, textOf } from './api.js';
import { onSession } from './session.js';

const ADMIN = '/minio/admin/v3';

let kept;
// Another user may see other targets of events.
onSession(() => { kept = undefined; });

/** Version, uptime, targets of events and keys; undefined without the permission `admin:ServerInfo`. */
export async function serverInfo() {
  try {
    return JSON.parse(await textOf(await send({ path: `${ADMIN}/info` })));
  } catch (error) {
    if (error.status === 403 || error.status === 501) return undefined;
    throw error;
  }
}

/** The same, as it was at the first question: targets and keys do not change while the server runs. */
export const serverParts = () => (kept ??= serverInfo().catch((error) => { kept = undefined; throw error; }));

/** Names of the targets of events; undefined if unknown. */
export const eventTargetNames = (info) => info?.sqsARN?.map((arn) => arn.split(':').at(-2));

/** The health of the server: `ready` or the reason why it is not. */
export async function readHealth() {
  const response = await fetch('/_liteio/health/ready', { cache: 'no-store', credentials: 'omit' });
  if (response.ok) return { isReady: true };
  const text = await textOf(response);
  try {
    const { reason, status } = JSON.parse(text);
    return { isReady: false, reason: reason ?? status };
  } catch {
    return { isReady: false, reason: `HTTP ${response.status}` };
  }
}

/** The quota of a bucket in bytes; 0 if there is none. */
export async function getQuota(bucket) {
  const { size, quota } = JSON.parse(await textOf(await send({ path: `${ADMIN}/get-bucket-quota`, query: { bucket } })));
  return size || quota || 0;
}

export async function putQuota(bucket, size) {
  if (!Number.isSafeInteger(size) || size < 0) throw new ApiError('', 'A quota is a positive number.', 0);
  await send({ method: 'PUT', path: `${ADMIN}/set-bucket-quota`, query: { bucket }, body: JSON.stringify({ size, quotatype: 'hard' }) });
}
