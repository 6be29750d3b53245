// Replication of a bucket: its rules (S3), figures and walks (MinIO's operations).

import { pathOf, send, textOf } from './api.js';
import { getDocument } from './s3.js';
import { parseXml } from './xml.js';

const PARTS = [
  ['DeleteMarkerReplication/Status', 'delete markers'], ['DeleteReplication/Status', 'deletions of versions'],
  ['ExistingObjectReplication/Status', 'existing versions'], ['SourceSelectionCriteria/ReplicaModifications/Status', 'changes of copies'],
  ['SourceSelectionCriteria/SseKmsEncryptedObjects/Status', 'SSE-KMS objects'],
];

export function ruleOf(it) {
  const and = it.find('Filter/And') ?? it.find('Filter') ?? it;
  return {
    id: it.get('ID'), priority: it.get('Priority'), isEnabled: it.get('Status') === 'Enabled', target: it.get('Destination/Bucket') ?? '',
    storageClass: it.get('Destination/StorageClass'), prefix: and.get('Prefix') ?? '', tags: and.all('Tag').map((tag) => [tag.get('Key'), tag.get('Value')]),
    also: PARTS.filter(([path]) => it.get(path) === 'Enabled').map(([, words]) => words),
  };
}

async function json(bucket, query) {
  return JSON.parse(await textOf(await send({ path: pathOf(bucket), query })));
}

/** The rules of a bucket with the figures of its targets; null without rules. */
export async function readReplication(bucket) {
  const document = await getDocument(bucket, 'replication');
  if (!document) return null;
  const root = parseXml(document);
  const rules = (root.find('ReplicationConfiguration') ?? root).all('Rule').map(ruleOf);
  const [metrics, resets] = await Promise.all([json(bucket, { 'replication-metrics': '2' }), json(bucket, { 'replication-reset-status': '' })]);
  const targets = Object.entries(metrics.currStats.Stats).map(([arn, it]) => ({
    arn, waiting: it.pendingReplicationCount, oldest: it.oldestPendingSeconds, copied: it.replicationCount, bytes: it.completedReplicationSize,
    failed: it.failed.totals.count, isFailing: it.isFailing,
  }));
  const walks = resets.target.map((it) => ({ target: it.arn, status: it.resyncStatus, queued: it.replicationCount, bytes: it.completedReplicationSize, started: it.startTime }));
  return { rules, targets, walks, enabled: [...new Set(rules.filter((it) => it.isEnabled).map((it) => it.target))] };
}

export const startWalk = (bucket, arn) => send({ method: 'PUT', path: pathOf(bucket), query: { 'replication-reset': '', arn } });
export const cancelWalk = (bucket, arn) => send({ method: 'PUT', path: pathOf(bucket), query: { 'replication-reset-cancel': '', arn } });
