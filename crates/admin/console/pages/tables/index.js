// Catalogs of tables: the list of all, and the namespaces, tables and views of one.

import { html, useEffect, useMemo, useRef, useState } from '../../vendor/preact.js';
import { LEVEL, createNamespace, createTableBucket, dotted, dropNamespace, listCatalogs, listNames, loadNamespace } from '../../lib/tables.js';
import { about, formerId, onSession } from '../../lib/session.js';
import { tableSnippets } from '../../lib/snippets.js';
import { Button, Confirm, Dialog, Empty, Failure, Head, Menu, Search, Spinner, toast } from '../../ui/kit.js';
import { Icon } from '../../ui/icons.js';
import { Grid } from '../../ui/grid.js';
import { CreateNamed, Names, OpenNamed } from '../../ui/names.js';
import { Snippets } from '../../ui/snippets.js';
import { go, link, useLoad, useShortcuts } from '../../ui/hooks.js';
import { plural } from '../../lib/format.js';
import { Table } from './table.js';
import { View } from './view.js';
import { Properties } from './parts.js';

/** Catalogs whose namespaces are counted, and up to how many. */
const COUNTED_MAX = 100;
const ENTRIES_FIRST = 1000;
const KINDS = { namespaces: ['folder', 'Namespace'], tables: ['tables', 'Table'], views: ['file', 'View'] };

export const crumbsOf = (bucket, namespace, last) => {
  const levels = namespace ? namespace.split(LEVEL) : [];
  const above = levels.map((level, at) => [level, link(['catalogs', bucket, levels.slice(0, at + 1).join(LEVEL)])]);
  return [['Tables', '#/catalogs'], [bucket, link(['catalogs', bucket])], ...above, ...(last ? [last] : [])];
};

const Connect = ({ bucket: given }) => {
  // A link may have any text in its place, and this one is to be run.
  const bucket = /^[\w.-]+$/.test(given) ? given : 'BUCKET';
  return html`<${Snippets} first="pyiceberg" all=${tableSnippets({ endpoint: location.origin, bucket, id: formerId() || 'YOUR_ACCESS_KEY', secret: 'YOUR_SECRET_KEY' })} />
  <p class="muted none">${about().open ? 'This server checks no signatures: any keys will do.' : 'Insert your secret key.'}</p>`;
};

async function loadCatalogs() {
  const catalogs = await listCatalogs();
  if (catalogs.length > COUNTED_MAX) return catalogs;
  const counted = await Promise.all(catalogs.map(async (it) => {
    const page = await listNames(it.name, '', 'namespaces', { size: COUNTED_MAX }).catch(() => undefined);
    return { ...it, count: page && (page.next ? `${COUNTED_MAX}+` : page.names.length) };
  }));
  // Every bucket has a catalog: those with namespaces come first.
  return counted.sort((a, b) => !a.count - !b.count);
}

const Catalogs = () => html`<${Names} icon="tables" crumbs=${['Tables']} one="table bucket" many="table buckets" load=${loadCatalogs} deps=${[]} empty="Every bucket has a catalog of Iceberg tables. In table buckets, maintenance is on by default."
  href=${(name) => link(['catalogs', name])} create=${(onClose) => html`<${CreateNamed} what="table bucket" hint="3 to 63 lower-case letters, digits and hyphens." run=${createTableBucket} onClose=${onClose} />`}
  columns=${[['Namespaces', 'num', (it) => it.count ?? '–']]} denied=${html`<${OpenNamed} label="Bucket" hint="You may have access to a single catalog." open=${(name) => go(['catalogs', name])} />`} start=${html`<div class="card pad foot-note"><${Connect} bucket="BUCKET" /></div>`} />`;

/** Namespaces, then tables, then views, loaded while scrolling. A part that is refused leaves the others. */
function useEntries(bucket, namespace) {
  const [state, setState] = useState({ rows: [], errors: [] });
  const [round, setRound] = useState(0);
  const run = useRef();
  const next = async (mine) => {
    if (mine.isBusy || !mine.kinds.length || mine.stop.signal.aborted) return;
    mine.isBusy = true;
    const [kind] = mine.kinds;
    try {
      const page = await listNames(bucket, namespace, kind, { token: mine.token, signal: mine.stop.signal });
      for (const name of page.names) mine.rows.push({ kind, name });
      mine.token = page.next;
    } catch (error) {
      mine.token = undefined;
      if (!mine.errors.some((it) => it.message === error.message)) mine.errors.push(error);
    }
    if (mine.stop.signal.aborted) return;
    mine.isBusy = false;
    if (!mine.token) mine.kinds.shift();
    setState({ rows: mine.rows, count: mine.rows.length, errors: [...mine.errors], isDone: !mine.kinds.length });
    if (mine.rows.length < ENTRIES_FIRST) next(mine);
  };
  useEffect(() => {
    const mine = { rows: [], errors: [], kinds: Object.keys(KINDS).slice(0, namespace ? 3 : 1), stop: new AbortController() };
    run.current = mine;
    setState({ rows: [], errors: [] });
    next(mine);
    return () => mine.stop.abort();
  }, [bucket, namespace, round]);
  const hasFailed = useRef(false);
  hasFailed.current = state.errors.length > 0;
  const reload = () => setRound((it) => it + 1);
  useEffect(() => onSession((session) => { if (session && hasFailed.current) reload(); }), []);
  return { ...state, more: () => next(run.current), reload };
}

const DeleteNamespace = ({ bucket, namespace, onClose }) => html`<${Confirm} title="Delete namespace" onClose=${onClose}
  run=${async () => { await dropNamespace(bucket, namespace); toast(`Namespace ${dotted(namespace)} was deleted.`); }}>
  <p><strong>${dotted(namespace)}</strong> is deleted if it is empty.</p><//>`;

function NamespaceProperties({ bucket, namespace, onClose }) {
  const { data, error, reload } = useLoad(() => loadNamespace(bucket, namespace), [bucket, namespace]);
  return html`<${Dialog} kind="wide" title=${`Properties of ${dotted(namespace)}`} onClose=${onClose}><${Failure} error=${error} retry=${reload} />${!data && !error && html`<${Spinner} />`}
    ${data && html`<${Properties} of=${data.properties} />`}<//>`;
}

function Contents({ bucket, namespace = '' }) {
  const list = useEntries(bucket, namespace);
  const [filter, setFilter] = useState('');
  const [dialog, setDialog] = useState();
  const shown = useMemo(() => (filter ? list.rows.filter((it) => it.name.includes(filter)) : list.rows), [list.rows, list.count, filter]);
  // The rows that are looked for may be on a later page.
  useEffect(() => { if (filter) list.more(); }, [filter, list.count]);
  const crumbs = crumbsOf(bucket, namespace);
  const up = () => { location.hash = crumbs.at(-2)[1]; };
  useShortcuts({ n: () => setDialog('new'), '/': () => document.getElementById('filter')?.focus(), Backspace: up });
  const below = (name) => (namespace ? `${namespace}${LEVEL}${name}` : name);
  const pathOf = ({ kind, name }) => ['catalogs', bucket, ...(kind === 'namespaces' ? [below(name)] : [namespace, kind, name])];
  const row = (at) => html`<div role="gridcell" class="name"><${Icon} name=${KINDS[shown[at].kind][0]} className=${shown[at].kind === 'namespaces' ? 'folder' : ''} />
    <a class="link" tabindex="-1" title=${shown[at].name} href=${link(pathOf(shown[at]))}>${shown[at].name}</a></div><div role="gridcell" class="muted">${KINDS[shown[at].kind][1]}</div>`;
  const closed = (done) => { setDialog(); if (done) up(); };
  return html`<${Head} crumbs=${crumbs}><${Search} id="filter" label="Filter" value=${filter} onInput=${setFilter} />
      <${Button} icon="plus" kind="primary" onClick=${() => setDialog('new')}>New namespace<//>
      <${Menu} label="More actions" kind="" items=${[['refresh', 'Reload', list.reload], ['link', 'Connect a client', () => setDialog('connect')], ['bucket', 'Objects of the bucket', () => go(['buckets', bucket])],
    namespace && ['edit', 'Properties', () => setDialog('properties')], namespace && ['trash', 'Delete namespace', () => setDialog('remove')]]} /><//>
    <div class="content ${list.count ? 'fixed' : ''}">${list.errors.map((error) => html`<${Failure} error=${error} retry=${list.reload} />`)}${!list.isDone && !list.count && html`<${Spinner} />`}
    ${list.isDone && !list.count && !list.errors.length && html`<div class="card"><${Empty} icon="tables" title=${namespace ? 'Nothing in this namespace yet' : 'No namespaces yet'}><p>${namespace ? 'Create a table with a client.' : 'A namespace contains tables and views. Create one here or with a client.'}</p><//></div>
      <div class="card pad foot-note stack"><${Connect} bucket=${bucket} /></div>`}
    ${list.count > 0 && html`<${Grid} label=${`Contents of ${dotted(namespace) || bucket}`} columns="cols-names" count=${shown.length} total=${list.isDone ? shown.length + 1 : -1} heads=${[['Name'], ['Kind']]} row=${row} onNearEnd=${list.more} onOpen=${(at) => go(pathOf(shown[at]))}
      foot=${html`<span role="status">${filter ? `${plural(shown.length, 'name')} of ` : ''}${plural(list.count, 'entry', 'entries')}${list.isDone ? '' : ' loaded, more available'}</span>`} />`}</div>
    ${dialog === 'new' && html`<${CreateNamed} what="namespace" hint=${namespace ? `A level below ${dotted(namespace)}.` : 'S3 Tables allows lower-case letters, digits and underscores.'} run=${(name) => createNamespace(bucket, below(name))} onClose=${(name) => { setDialog(); if (name) list.reload(); }} />`}
    ${dialog === 'connect' && html`<${Dialog} kind="wide" title="Connect a client" onClose=${() => setDialog()}><div class="stack"><${Connect} bucket=${bucket} /></div><//>`}
    ${dialog === 'properties' && html`<${NamespaceProperties} bucket=${bucket} namespace=${namespace} onClose=${() => setDialog()} />`}
    ${dialog === 'remove' && html`<${DeleteNamespace} bucket=${bucket} namespace=${namespace} onClose=${closed} />`}`;
}

export function Tables({ path: [bucket, namespace, kind, name], query }) {
  if (!bucket) return html`<${Catalogs} />`;
  const of = { bucket, namespace, name, crumbs: crumbsOf(bucket, namespace, name), onGone: () => go(['catalogs', bucket, namespace]) };
  if (name) return html`<${kind === 'views' ? View : Table} key=${JSON.stringify([bucket, namespace, name])} ...${of} tab=${query.tab} />`;
  return html`<${Contents} key=${JSON.stringify([bucket, namespace])} bucket=${bucket} namespace=${namespace} />`;
}
