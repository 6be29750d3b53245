// The tables of metrics: operations, buckets, and background work.

import { html } from '../../vendor/preact.js';
import { buckets, quantile } from '../../lib/prometheus.js';
import { isUnset, labelsOf } from '../../lib/rates.js';
import { link } from '../../ui/hooks.js';
import { bytes, number, plural, seconds, short, time } from '../../lib/format.js';

const DURATION = 'liteio_request_duration_seconds';
const BUCKETS_MAX = 20;

/** All operations since the start; rates and latencies come from the samples of this page. */
export function Operations({ readings }) {
  const [first, last] = [readings[0], readings[readings.length - 1]];
  const { metrics } = last;
  const span = Math.max(0.001, (last.at - first.at) / 1000);
  const rows = labelsOf(metrics, 'liteio_requests_total', 'operation').map((operation) => {
    const of = (it) => it.operation === operation;
    const total = metrics.sum('liteio_requests_total', of);
    const before = readings.length > 1 ? buckets(first.metrics, DURATION, of) : [];
    const latency = (share) => seconds(quantile(before, buckets(metrics, DURATION, of), share));
    return { operation, total, rate: Math.max(0, total - (first.metrics.sum('liteio_requests_total', of) ?? 0)) / span,
      errors: metrics.sum('liteio_request_errors_total', (it) => of(it) && !isUnset(it)) ?? 0, latency,
      received: metrics.sum('liteio_received_bytes_total', of), sent: metrics.sum('liteio_sent_bytes_total', of) };
  });
  return html`<section class="card scroll-x listing" tabindex="0" role="region" aria-label="Operations"><h2>Operations</h2><table><caption class="sr">Operations</caption>
    <thead><tr><th>Operation</th><th class="num">Requests</th><th class="num">Per second</th><th class="num">Errors</th><th class="num">Median</th><th class="num">99 %</th><th class="num">Received</th><th class="num">Sent</th></tr></thead>
    <tbody>${rows.map((it) => html`<tr key=${it.operation} data-operation=${it.operation}><td class="main">${it.operation}</td><td class="num">${number(it.total)}</td><td class="num">${short(it.rate)}</td>
      <td class="num ${it.errors ? 'bad' : 'muted'}">${number(it.errors)}</td><td class="num">${it.latency(0.5)}</td><td class="num">${it.latency(0.99)}</td>
      <td class="num">${bytes(it.received ?? 0)}</td><td class="num">${bytes(it.sent ?? 0)}</td></tr>`)}</tbody></table>
    <p class="muted foot-line">Requests, errors and bytes since the server start; rates and latencies since the console’s first sample. A setting that is not set is no error.</p></section>`;
}

export function BucketSizes({ metrics }) {
  const sizes = labelsOf(metrics, 'liteio_bucket_bytes', 'bucket');
  if (!sizes.length) return null;
  const of = (name, bucket) => metrics.sum(name, (it) => it.bucket === bucket) ?? 0;
  const most = Math.max(1, of('liteio_bucket_bytes', sizes[0]));
  // Bytes of buckets count from the first request to each.
  const sent = (bucket) => metrics.sum('liteio_bucket_sent_bytes_total', (it) => it.bucket === bucket) ?? 0;
  const received = (bucket) => metrics.sum('liteio_bucket_received_bytes_total', (it) => it.bucket === bucket) ?? 0;
  const quota = (bucket) => metrics.all('liteio_bucket_quota_bytes').find(({ labels }) => labels.bucket === bucket)?.value;
  return html`<section class="card scroll-x listing" tabindex="0" role="region" aria-label="Buckets by size"><h2>Buckets by size</h2><table><caption class="sr">Buckets by size</caption>
    <thead><tr><th>Bucket</th><th class="num">Objects</th><th class="num wide-only">Versions</th><th class="num">Size</th><th class="num wide-only">Quota</th><th class="num wide-only">Received</th><th class="num wide-only">Sent</th><th class="wide-only share"><span class="sr">Share of the largest</span></th></tr></thead>
    <tbody>${sizes.slice(0, BUCKETS_MAX).map((bucket) => html`<tr key=${bucket}><td class="main">${bucket === '_others' ? 'all others' : html`<a href=${link(['buckets', bucket])}>${bucket}</a>`}</td>
      <td class="num">${number(of('liteio_bucket_objects', bucket))}</td><td class="num wide-only">${number(of('liteio_bucket_versions', bucket))}</td><td class="num">${bytes(of('liteio_bucket_bytes', bucket))}</td>
      <td class="num wide-only ${quota(bucket) && of('liteio_bucket_bytes', bucket) > 0.9 * quota(bucket) ? 'bad' : 'muted'}">${quota(bucket) === undefined ? '–' : bytes(quota(bucket))}</td><td class="num wide-only">${bytes(received(bucket))}</td><td class="num wide-only">${bytes(sent(bucket))}</td>
      <td class="wide-only share"><div class="progress"><i style=${{ width: `${(100 * of('liteio_bucket_bytes', bucket)) / most}%` }} /></div></td></tr>`)}</tbody></table>
    ${sizes.length > BUCKETS_MAX && html`<p class="muted foot-line">The ${BUCKETS_MAX} largest of ${plural(sizes.length, 'bucket')}.</p>`}</section>`;
}

/** Targets of replication, the one with the oldest waiting row first. */
export function Replication({ metrics }) {
  const of = (name, target) => metrics.sum(`liteio_replication_${name}`, (it) => it.target === target) ?? 0;
  const targets = metrics.all('liteio_replication_waiting').map(({ labels }) => labels.target);
  if (!targets.length) return null;
  targets.sort((a, b) => of('oldest_seconds', b) - of('oldest_seconds', a));
  return html`<section class="card scroll-x listing" tabindex="0" role="region" aria-label="Replication"><h2>Replication</h2><table><caption class="sr">Targets of replication</caption>
    <thead><tr><th>Target</th><th class="num">Waiting</th><th class="num">Oldest</th><th class="num">Copied</th><th class="num wide-only">Bytes</th><th class="num">Failures</th></tr></thead>
    <tbody>${targets.slice(0, BUCKETS_MAX).map((target) => html`<tr key=${target} data-target=${target}><td class="main" title=${target}>${target.split(':').pop()}${of('failing', target) > 0 && html` <small class="bad">failing</small>`}</td>
      <td class="num">${number(of('waiting', target))}</td><td class="num ${of('failing', target) ? 'bad' : ''}">${of('waiting', target) ? seconds(of('oldest_seconds', target)) : '–'}</td>
      <td class="num">${number(of('copied_total', target))}</td><td class="num wide-only">${bytes(of('copied_bytes_total', target))}</td>
      <td class="num ${of('failures_total', target) ? 'bad' : 'muted'}">${number(of('failures_total', target))}</td></tr>`)}</tbody></table>
    ${targets.length > BUCKETS_MAX && html`<p class="muted foot-line">${BUCKETS_MAX} of ${plural(targets.length, 'target')}: those that are furthest behind.</p>`}</section>`;
}

/** A backup that is further behind would lose more than its settings promise. */
const BEHIND_SECONDS = 60;

function backupOf(of, count, bad) {
  const behind = of('liteio_backup_seconds_behind');
  const moment = (name, none) => (of(name) === undefined ? none : time(of(name) * 1000));
  const damaged = of('liteio_backup_verified_damaged');
  const verified = moment('liteio_backup_verified_timestamp_seconds', 'never, or not known yet');
  return ['Backup', [
    ['Behind', bad(behind - BEHIND_SECONDS, seconds(behind))], ['Last base', moment('liteio_backup_last_base_timestamp_seconds', 'none since the start')],
    ['Verified', damaged > 0 ? html`<span class="bad">${verified}, ${count('liteio_backup_verified_damaged')} damaged</span>` : verified],
    ['Sent', `${plural(of('liteio_backup_sent_objects_total'), 'object')}, ${bytes(of('liteio_backup_sent_bytes_total'))}`], ['Failures', count('liteio_backup_failures_total')],
    ['Damaged here', bad(of('liteio_backup_unreadable'), count('liteio_backup_unreadable'))], ['Kept for it', plural(of('liteio_reclaimer_held') ?? 0, 'deleted file')]]];
}

export function Facts({ metrics }) {
  const of = (name) => metrics.sum(name);
  const count = (name) => number(of(name));
  const state = (name) => (of(name) === 1 ? 'running' : 'idle');
  const ended = of('liteio_scrub_ended_timestamp_seconds');
  const bad = (value, text) => (value > 0 ? html`<span class="bad">${text}</span>` : text);
  const groups = [
    ['Store', [
      ['Damaged reads', bad(of('liteio_store_damaged_reads_total'), count('liteio_store_damaged_reads_total'))],
      ['Tables in memory', `${count('liteio_store_tables')} (${bytes(of('liteio_store_table_bytes'))})`], ['Sorted runs', `${count('liteio_store_runs')} (${bytes(of('liteio_store_run_bytes'))})`],
      ['Drains, spills, merges', `${count('liteio_store_drains_total')}, ${count('liteio_store_spills_total')}, ${count('liteio_store_merges_total')}`],
      ['Sync time', of('liteio_store_syncs_total') ? `${seconds(of('liteio_store_sync_seconds_total') / of('liteio_store_syncs_total'))} on average` : '–']]],
    ['Background', [
      ['To be reclaimed', plural(of('liteio_reclaimer_waiting') ?? 0, 'file')], ['Reclaimed', plural(of('liteio_reclaimer_deleted_total') ?? 0, 'file')],
      ['Lifecycle', `${state('liteio_lifecycle_running')}, ${count('liteio_lifecycle_ended')} of ${count('liteio_lifecycle_examined')} ended`],
      ['Scrub', `${state('liteio_scrub_running')}, ${plural(of('liteio_scrub_records') ?? 0, 'record')}${ended ? `, ended ${time(ended * 1000)}` : ''}`],
      ['Damage found', bad(of('liteio_scrub_damaged'), count('liteio_scrub_damaged'))],
      ['Events', `${count('liteio_events_waiting')} waiting, ${count('liteio_events_lost_total')} lost`]]],
    ['Tables', [
      ['Snapshots expired', count('liteio_table_snapshots_expired_total')], ['Files deleted', `${count('liteio_table_files_deleted_total')} (${bytes(of('liteio_table_deleted_bytes_total'))})`],
      ['Failures', bad(of('liteio_table_maintenance_failures_total'), count('liteio_table_maintenance_failures_total'))]]],
    ['Vectors', [
      ['Vector buckets', count('liteio_vector_buckets')], ['Indexes', `${count('liteio_vector_indexes')}, ${count('liteio_vector_open_indexes')} in use`],
      ['Vectors in use', count('liteio_vector_open_vectors')], ['Being prepared', count('liteio_vector_preparing')],
      ['Lowest recall', of('liteio_vector_recall') === undefined ? 'not measured' : `${(100 * of('liteio_vector_recall')).toFixed(1)} %`]]],
  ];
  if (of('liteio_backup_seconds_behind') !== undefined) groups.splice(2, 0, backupOf(of, count, bad));
  return html`<div class="facts-of">${groups.map(([title, rows]) => html`<section class="card pad" aria-label=${title}><h2>${title}</h2><dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>`)}</div>`;
}
