// A table: what it is, its columns, snapshots and rows, and its maintenance.

import { html, useRef, useState } from '../../vendor/preact.js';
import { LEVEL, columnsOf, load, objectAt, readMaintenance } from '../../lib/tables.js';
import { dataFiles } from '../../lib/manifests.js';
import { Button, Dialog, Empty, Failure, Head, Menu, Spinner, Tabs } from '../../ui/kit.js';
import { link, useLoad } from '../../ui/hooks.js';
import { Grid } from '../../ui/grid.js';
import { bytes, number, plural, time, timeOf } from '../../lib/format.js';
import { Preview } from '../preview.js';
import { Drop, Facts, Place, Properties, Schema } from './parts.js';

const REFS_MAX = 100;
const TABS = [['overview', 'Overview'], ['schema', 'Schema'], ['snapshots', 'Snapshots'], ['rows', 'Rows'], ['maintenance', 'Maintenance']];

const count = (text) => (text === undefined ? '–' : number(Number(text)));
const withId = (list, key, id) => list?.find((it) => it[key] === id);
const schemaOf = (table) => withId(table.schemas, 'schema-id', table['current-schema-id']) ?? table.schema;
const currentOf = (table) => withId(table.snapshots, 'snapshot-id', table['current-snapshot-id']);

/** The fields of a partition spec or a sort order, as `transform(column)`. */
function fieldsOf(fields, names, more) {
  if (!fields?.length) return 'none';
  return fields.map((it) => {
    const of = [it['source-id'] ?? it['source-ids']].flat().map((id) => names.get(id) ?? `column ${id}`).join(', ');
    return `${it.transform === 'identity' ? of : `${it.transform}(${of})`}${more(it)}`;
  }).join(', ');
}

function Overview({ table, file }) {
  const total = currentOf(table)?.summary ?? {};
  const names = new Map(columnsOf(schemaOf(table)).map((it) => [it.id, it.name]));
  const spec = withId(table['partition-specs'], 'spec-id', table['default-spec-id'])?.fields ?? table['partition-spec'];
  const order = withId(table['sort-orders'], 'order-id', table['default-sort-order-id'])?.fields;
  const refs = Object.entries(table.refs ?? {});
  return html`<div class="stack"><div class="tiles">${[['Rows', count(total['total-records'])], ['Data files', count(total['total-data-files'])], ['Size', total['total-files-size'] === undefined ? '–' : bytes(Number(total['total-files-size']))],
      ['Delete files', count(total['total-delete-files'])]].map(([name, value]) => html`<div class="card tile"><small>${name}</small><b>${value}</b></div>`)}</div>
    <div class="card pad"><${Facts} rows=${[['Location', html`<${Place} at=${table.location} isFolder />`], ['Metadata file', html`<${Place} at=${file} />`], ['Format version', table['format-version']], ['Id', html`<code>${table['table-uuid']}</code>`],
      ['Changed', time(table['last-updated-ms'])], ['Partitioned by', fieldsOf(spec, names, () => '')], ['Sorted by', fieldsOf(order, names, (it) => ` ${it.direction} ${it['null-order']}`)],
      ['Branches and tags', refs.slice(0, REFS_MAX).map(([name, it]) => `${name} (${it.type}, ${it['snapshot-id']})`).join(', ') + (refs.length > REFS_MAX ? ` … of ${number(refs.length)}` : '') || 'none']]} /></div>
    <section class="card pad stack"><h2>Properties</h2><${Properties} of=${table.properties} /></section></div>`;
}

function Snapshots({ loading, current }) {
  const [chosen, setChosen] = useState();
  const { data, error, reload } = loading;
  if (!data) return error ? html`<${Failure} error=${error} retry=${reload} />` : html`<${Spinner} />`;
  const all = data.metadata.snapshots ?? [];
  if (!all.length) return html`<div class="card"><${Empty} icon="history" title="No snapshots yet"><p>The table has no rows: each commit of rows makes a snapshot.</p><//></div>`;
  const at = (row) => all[all.length - 1 - row];
  const row = (index) => {
    const { summary: it = {}, ...of } = at(index);
    const change = (what) => html`<div role="gridcell" class="num wide-only">${count(it[`added-${what}`])}</div><div role="gridcell" class="num wide-only">${count(it[`deleted-${what}`])}</div>`;
    return html`<div role="gridcell" class="cut"><button type="button" class="link" tabindex="-1" onClick=${() => setChosen(index)}>${timeOf(of['timestamp-ms'])}</button></div><div role="gridcell" class="cut">${it.operation}${of['snapshot-id'] === current && html` <span class="tag accent">current</span>`}</div>
      ${change('records')}${change('data-files')}<div role="gridcell" class="num">${count(it['total-records'])}</div><div role="gridcell" class="cut mono muted wide-only" title=${of['snapshot-id']}>${of['snapshot-id']}</div>`;
  };
  const { summary, ...about } = chosen === undefined ? {} : at(chosen);
  return html`<${Grid} label="Snapshots" columns="cols-snapshots" count=${all.length} row=${row} onOpen=${setChosen} foot=${html`<span role="status">${plural(all.length, 'snapshot')}</span>`}
      heads=${[['Time'], ['Operation'], ['Rows added', 'num wide-only'], ['Rows removed', 'num wide-only'], ['Files added', 'num wide-only'], ['Files removed', 'num wide-only'], ['Rows', 'num'], ['Snapshot', 'wide-only']]} />
    ${chosen !== undefined && html`<${Dialog} kind="drawer" title=${`Snapshot ${about['snapshot-id']}`} onClose=${() => setChosen()}><div class="content stack" tabindex="0">
      <${Facts} rows=${[['Time', timeOf(about['timestamp-ms'])], ['Parent', about['parent-snapshot-id']], ['Manifest list', html`<${Place} at=${about['manifest-list']} />`], ['Schema', about['schema-id']]]} />
      <h3>Summary</h3><${Properties} of=${summary} /></div><//>`}`;
}

function Rows({ snapshot }) {
  const { data, error, reload } = useLoad(() => snapshot && dataFiles(snapshot), []);
  const [chosen, setChosen] = useState(0);
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (snapshot && !data) return html`<${Spinner} />`;
  if (!data?.files.length) return html`<div class="card"><${Empty} icon="file" title="No data files"><p>${data?.isCut ? 'The first manifests of the current snapshot have none.' : 'The current snapshot has none.'}</p><//></div>`;
  const [file, at] = [data.files[chosen], objectAt(data.files[chosen].path)];
  return html`<div class="stack">${data.hasDeletes && html`<div class="note warn">Delete files remove rows of these files. The preview still shows them.</div>`}
    <div class="card scroll-x files" tabindex="0" role="region" aria-label="Data files"><table><caption class="sr">Data files</caption><thead><tr><th>Data file</th><th class="wide-only">Format</th><th class="num">Rows</th><th class="num">Size</th></tr></thead>
      <tbody>${data.files.map((it, index) => html`<tr aria-current=${index === chosen}><td class="main"><button type="button" class="link-button" onClick=${() => setChosen(index)}>${it.path.split('/').pop()}</button></td><td class="wide-only">${it.format}</td><td class="num">${number(it.rows)}</td><td class="num">${bytes(it.bytes)}</td></tr>`)}</tbody></table></div>
    ${data.isCut && html`<p class="muted none">The first ${plural(data.files.length, 'file')} of the current snapshot.</p>`}
    <${Place} at=${file.path} />
    ${at ? html`<div class="preview-of" key=${file.path}><${Preview} bucket=${at.bucket} objectKey=${at.key} as=${file.format === 'PARQUET' ? 'parquet' : 'unknown'} head=${{ size: file.bytes, type: file.format === 'PARQUET' ? 'application/vnd.apache.parquet' : file.format, headers: {} }} /></div>`
    : html`<div class="note">The file is not in S3.</div>`}</div>`;
}

function Maintenance({ bucket, namespace, name }) {
  const isNested = namespace.includes(LEVEL);
  const { data, error, reload } = useLoad(() => !isNested && readMaintenance(bucket, namespace, name), []);
  if (isNested) return html`<div class="note">The maintenance API of S3 Tables supports namespaces of one level only. This table uses the settings of its bucket.</div>`;
  if (!data) return error ? html`<${Failure} error=${error} retry=${reload} />` : html`<${Spinner} />`;
  return html`<div class="stack"><div class="card scroll-x jobs" tabindex="0" role="region" aria-label="Jobs"><table><caption class="sr">Jobs of maintenance</caption><thead><tr><th>Job</th><th>Configured</th><th>Settings</th><th>State</th><th class="num">Last run</th></tr></thead>
    <tbody>${data.map((it) => html`<tr key=${it.job}><td class="main">${it.job.replace(/^iceberg/, '').replace(/(?!^)([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`)}</td><td>${it.isOn ? 'on' : 'off'}</td><td class="muted">${Object.entries(it.settings).map(([key, value]) => html`<div>${key}: ${value}</div>`)}</td>
      <td><span class="tag ${{ Successful: 'good', Failed: 'bad' }[it.run] ?? ''}">${it.run.replaceAll('_', ' ').toLowerCase()}</span></td><td class="num">${time(it.ended)}</td></tr>`)}</tbody></table></div>
    ${data.filter((it) => it.failure).map((it) => html`<div class="note ${it.run === 'Failed' ? 'bad' : ''}">${it.failure}</div>`)}
    <p class="muted none">Jobs run once a day. Compaction is never executed. Use the AWS CLI to configure them: <code>aws s3tables put-table-maintenance-configuration</code>.</p></div>`;
}

export function Table({ bucket, namespace, name, crumbs, tab: first = 'overview', onGone }) {
  const [tab, setTab] = useState(TABS.some(([id]) => id === first) ? first : 'overview');
  const [isDropping, setDropping] = useState(false);
  const { data, error, reload } = useLoad(() => load(bucket, namespace, 'tables', name, 'refs'), []);
  // All snapshots may take many megabytes: they are loaded with their tab.
  const wantsAll = useRef(false);
  wantsAll.current ||= tab === 'snapshots';
  const all = useLoad(() => wantsAll.current && load(bucket, namespace, 'tables', name, 'all'), [wantsAll.current, data]);
  const table = data?.metadata;
  const label = TABS.find(([id]) => id === tab)[1];
  const isFixed = tab === 'schema' || tab === 'snapshots';
  return html`<${Head} crumbs=${crumbs}><${Button} icon="trash" onClick=${() => setDropping(true)}>Drop<//>
      <${Menu} label="More actions" kind="" items=${[['refresh', 'Reload', reload]]} /><//>
    <div class="content fixed"><div class="under-tabs"><${Tabs} label="About the table" tabs=${TABS} current=${tab} onChange=${(it) => { setTab(it); history.replaceState(null, '', link(['catalogs', bucket, namespace, 'tables', name], { tab: it })); }} /></div>
    <${Failure} error=${error} retry=${reload} />${!data && !error && html`<${Spinner} />`}
    ${data && html`<div role="tabpanel" key=${data['metadata-location']} class="tabpanel ${isFixed ? 'fixed' : ''}" tabindex=${isFixed ? undefined : 0} aria-label=${label}>
      ${tab === 'overview' && html`<${Overview} table=${table} file=${data['metadata-location']} />`}${tab === 'schema' && html`<${Schema} schema=${schemaOf(table)} />`}
      ${tab === 'snapshots' && html`<${Snapshots} loading=${all} current=${table['current-snapshot-id']} />`}${tab === 'rows' && html`<${Rows} snapshot=${currentOf(table)} />`}
      ${tab === 'maintenance' && html`<${Maintenance} bucket=${bucket} namespace=${namespace} name=${name} />`}</div>`}</div>
    ${isDropping && html`<${Drop} bucket=${bucket} namespace=${namespace} kind="tables" name=${name} onClose=${(done) => (done ? onGone() : setDropping(false))} />`}`;
}
