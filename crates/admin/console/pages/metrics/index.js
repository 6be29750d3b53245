// Activity of the server: samples of its metrics, as charts and tables.

import { html, useEffect, useState } from '../../vendor/preact.js';
import { onReadings, periodOf, readAgain, readings, setPeriod } from '../../lib/readings.js';
import { errorsOf, gaugesOf, isUnset, labelsOf, lastOf, quantilesOf, ratesOf } from '../../lib/rates.js';
import { Failure, Head, Spinner } from '../../ui/kit.js';
import { Plot } from '../../ui/plot.js';
import { bytes, number, seconds, short } from '../../lib/format.js';
import { BucketSizes, Facts, Operations, Replication } from './tables.js';

const PERIODS = [['2', 'every 2 s'], ['5', 'every 5 s'], ['15', 'every 15 s'], ['60', 'every minute']];
const DURATION = 'liteio_request_duration_seconds';
const CODES_MAX = 4;
/** Status classes, with the colours of their plots. */
const CLASSES = [['2xx', '2xx', 1], ['3xx', '3xx', 4], ['4xx', '4xx', 2], ['5xx', '5xx', 3], ['none', 'client disconnected', 5]];

/** The samples; they go on while other pages are shown. */
export function useReadings() {
  const [, again] = useState(0);
  useEffect(() => onReadings(() => again((it) => it + 1)), []);
  return readings();
}

const perSecond = (value) => (value === undefined ? '–' : short(value));
const bytesPerSecond = (value) => (value === undefined ? '–' : `${bytes(value)}/s`);
const count = (value) => (value === undefined ? '–' : short(value));

const Tile = ({ name, value, more }) => html`<div class="card tile"><small>${name}</small><b>${value}</b><small>${more ?? ' '}</small></div>`;

function Tiles({ readings }) {
  const { metrics } = readings[readings.length - 1];
  const last = (name, choose) => lastOf(ratesOf(readings, name, choose));
  const latency = (share) => seconds(lastOf(quantilesOf(readings, DURATION, share)));
  const errors = lastOf(errorsOf(readings));
  const free = metrics.sum('liteio_store_free_bytes');
  return html`<div class="tiles"><${Tile} name="Requests per second" value=${perSecond(last('liteio_requests_total'))} more=${`${number(metrics.sum('liteio_requests_total'))} since the start`} />
    <${Tile} name="Errors per second" value=${perSecond(errors)} more=${`${perSecond(last('liteio_requests_total', (it) => it.status === '5xx'))} from the server`} />
    <${Tile} name="Latency, median" value=${latency(0.5)} more=${`99 %: ${latency(0.99)}`} />
    <${Tile} name="Stored" value=${bytes(metrics.sum('liteio_stored_bytes'))} more=${`${number(metrics.sum('liteio_objects'))} objects, ${number(metrics.sum('liteio_buckets'))} buckets`} />
    <${Tile} name="Memory" value=${bytes(metrics.sum('process_resident_memory_bytes'))} more=${`${number(metrics.sum('process_open_fds'))} open files`} />
    <${Tile} name="Store" value=${metrics.sum('liteio_store_ready') === 1 ? 'ready' : 'read only'} more=${free === undefined ? 'in memory' : `${bytes(free)} free`} /></div>`;
}

function Plots({ readings }) {
  const [operation, setOperation] = useState('');
  const { metrics } = readings[readings.length - 1];
  const rates = (name, choose) => ratesOf(readings, name, choose);
  const gauge = (name, choose) => gaugesOf(readings, name, choose);
  const codes = labelsOf(metrics, 'liteio_request_errors_total', 'code').filter((code) => !isUnset({ code }));
  const named = codes.slice(0, CODES_MAX);
  const errors = named.map((code) => [code, rates('liteio_request_errors_total', (it) => it.code === code)]);
  if (codes.length > CODES_MAX) errors.push(['others', rates('liteio_request_errors_total', (it) => !named.includes(it.code) && !isUnset(it))]);
  const of = operation ? (it) => it.operation === operation : undefined;
  const of1 = (resource) => (it) => it.resource === resource;
  const limit = (resource) => metrics.sum('liteio_budget_limit', of1(resource));
  return html`<div class="plots">
    <${Plot} title="Requests per second" format=${perSecond} series=${CLASSES.map(([it, name, colour]) => [name, rates('liteio_requests_total', ({ status }) => status === it), colour])} />
    <${Plot} title="Errors per second" format=${perSecond} series=${errors} note=${!errors.length && 'No errors since the start.'} />
    <${Plot} title="Latency" format=${seconds} series=${[['median', 0.5], ['90 %', 0.9], ['99 %', 0.99]].map(([name, share]) => [name, quantilesOf(readings, DURATION, share, of)])}>
      <select class="filter" aria-label="Operation of the latency" value=${operation} onChange=${(event) => setOperation(event.target.value)}><option value="">All operations</option>
        ${labelsOf(metrics, `${DURATION}_count`, 'operation').sort().map((it) => html`<option value=${it}>${it}</option>`)}</select><//>
    <${Plot} title="Bytes per second" unit=${1024} format=${bytesPerSecond} series=${[['received', rates('liteio_received_bytes_total')], ['sent', rates('liteio_sent_bytes_total')]]} />
    <${Plot} title="Connections and requests" format=${count} series=${[['connections', gauge('liteio_budget_used', of1('connections'))], ['active requests', gauge('liteio_budget_used', of1('requests'))]]}
      note=${`At most ${number(limit('connections'))} connections and ${number(limit('requests'))} requests at a time.`} />
    <${Plot} title="Memory" unit=${1024} format=${bytes} series=${[['process', gauge('process_resident_memory_bytes')], ['request bodies', gauge('liteio_budget_used', of1('body_bytes'))], ['answers', gauge('liteio_budget_used', of1('answer_bytes'))]]}
      note=${`At most ${bytes(limit('body_bytes'))} for bodies and ${bytes(limit('answer_bytes'))} for answers.`} />
    <${Plot} title="Writes of the store per second" format=${perSecond} series=${[['updates', rates('liteio_store_updates_total')], ['commits', rates('liteio_store_commits_total')], ['syncs', rates('liteio_store_syncs_total')]]} />
    <${Plot} title="Metadata" unit=${1024} format=${bytes} series=${[['log', gauge('liteio_store_log_bytes')], ['tables', gauge('liteio_store_table_bytes')], ['runs', gauge('liteio_store_run_bytes')], ['tree', gauge('liteio_store_tree_bytes')]]} /></div>`;
}

export function Metrics() {
  const { readings, error } = useReadings();
  const period = String(periodOf());
  const last = readings[readings.length - 1];
  return html`<${Head} crumbs=${['Metrics']}><select class="filter" aria-label="Read the metrics" value=${period} onChange=${(event) => setPeriod(Number(event.target.value))}>
      ${PERIODS.map(([it, text]) => html`<option value=${it} selected=${it === period}>${text}</option>`)}</select><//>
    <div class="content" tabindex="0" role="region" aria-label="Metrics">
    ${error?.status === 403 ? html`<div class="note bad" role="alert">The metrics need a policy that allows <code>admin:Prometheus</code>.<br />${error.message}</div>`
    : html`<${Failure} error=${error} retry=${readAgain} />`}
    ${!last && !error && html`<${Spinner} />`}
    ${last && html`<${Tiles} readings=${readings} /><${Plots} readings=${readings} /><${Operations} readings=${readings} />
      <${BucketSizes} metrics=${last.metrics} /><${Replication} metrics=${last.metrics} /><${Facts} metrics=${last.metrics} />`}</div>`;
}
