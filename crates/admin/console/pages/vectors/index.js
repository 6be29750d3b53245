// Vector buckets, and the indexes of one.

import { html, useMemo, useState } from '../../vendor/preact.js';
import { createIndex, createVectorBucket, deleteIndex, deleteVectorBucket, getIndex, listIndexes, listVectorBuckets } from '../../lib/vectors.js';
import { Button, Choice, Confirm, Dialog, Empty, Failure, Head, Menu, Search, Spinner, TextField, toast } from '../../ui/kit.js';
import { go, link, useAction, useLoad, useShortcuts } from '../../ui/hooks.js';
import { number, plural, time } from '../../lib/format.js';
import { VectorIndex } from './vector_index.js';

/** Maximum number of indexes whose dimension is requested. */
const DETAILS_MAX = 100;

export const LANGUAGES = [['', 'Any language'], ['en', 'English'], ['fr', 'French'], ['es', 'Spanish'], ['pt', 'Portuguese'], ['it', 'Italian'], ['de', 'German'],
  ['nl', 'Dutch'], ['zh', 'Chinese'], ['ja', 'Japanese'], ['ko', 'Korean']];

const words = (text) => text.split(/[\s,]+/).filter(Boolean);

function CreateBucket({ onClose }) {
  const [name, setName] = useState('');
  const [run, isBusy, error] = useAction(async () => { await createVectorBucket(name); toast(`Vector bucket ${name} was created.`); onClose(name); });
  return html`<${Dialog} title="New vector bucket" onClose=${() => onClose()} onSubmit=${() => name && !isBusy && run()}>
    <${TextField} label="Name" value=${name} onInput=${setName} hint="3 to 63 lower-case letters, digits and hyphens." /><${Failure} error=${error} />
    <footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!name || isBusy}>Create<//></footer><//>`;
}

function CreateIndex({ bucket, onClose }) {
  const [form, setForm] = useState({ name: '', dimension: '', metric: 'cosine', nonFilterable: '', texts: '', language: '' });
  const set = (name) => (value) => setForm((it) => ({ ...it, [name]: value }));
  const [run, isBusy, error] = useAction(async () => {
    await createIndex(bucket, { ...form, dimension: Number(form.dimension), nonFilterable: words(form.nonFilterable), texts: words(form.texts) });
    toast(`Index ${form.name} was created.`);
    onClose(form.name);
  });
  const isReady = form.name && Number(form.dimension) > 0 && !isBusy;
  return html`<${Dialog} title="New index" kind="wide" onClose=${() => onClose()} onSubmit=${() => isReady && run()}>
    <${TextField} label="Name" value=${form.name} onInput=${set('name')} hint="3 to 63 lower-case letters, digits, hyphens and dots." />
    <div class="inputs"><${TextField} label="Dimension" type="number" min="1" max="4096" value=${form.dimension} onInput=${set('dimension')} hint="Elements of each vector, 1 to 4096, as defined by the embedding model." />
      <${Choice} label="Distance" value=${form.metric} onChange=${set('metric')} options=${[['cosine', 'Cosine'], ['euclidean', 'Euclidean']]} hint="Elements are 32-bit floats." /></div>
    <${TextField} label="Non-filterable metadata keys" value=${form.nonFilterable} onInput=${set('nonFilterable')} hint="Separated by commas. Their values may be longer, such as the embedded text." />
    <div class="inputs"><${TextField} label="Metadata keys with text search" value=${form.texts} onInput=${set('texts')} hint="Separated by commas. Queries find the words in their values." />
      <${Choice} label="Language of the texts" value=${form.language} onChange=${set('language')} options=${LANGUAGES} /></div>
    <p class="muted">Only the text search settings can be changed later.</p><${Failure} error=${error} />
    <footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!isReady}>Create<//></footer><//>`;
}

function DeleteBucket({ bucket, onClose }) {
  const [count, setCount] = useState(0);
  return html`<${Confirm} title="Delete vector bucket" word=${bucket} action="Delete bucket and indexes" onClose=${onClose} busy=${html`<p role="status">${plural(count, 'index', 'indexes')} deleted</p>`}
    run=${async (signal) => { await deleteVectorBucket(bucket, signal, setCount); toast(`Vector bucket ${bucket} was deleted.`); }}>
    <p><strong>${bucket}</strong> is deleted with every index and vector in it. This cannot be undone.</p><//>`;
}

export const DeleteIndex = ({ bucket, index, onClose }) => html`<${Confirm} title="Delete index" word=${index} action="Delete index and vectors" onClose=${onClose}
  run=${async () => { await deleteIndex(bucket, index); toast(`Index ${index} was deleted.`); }}><p><strong>${index}</strong> is deleted with every vector in it. This cannot be undone.</p><//>`;

/** A table of names with filter, creation and deletion. */
function Names({ crumbs, one, many, load, deps, create, remove, empty, href, columns = [], extra }) {
  const { data, error, loading, reload } = useLoad(load, deps);
  const [filter, setFilter] = useState('');
  const [dialog, setDialog] = useState();
  useShortcuts({ n: () => setDialog('new'), '/': () => document.getElementById('filter')?.focus() });
  const shown = useMemo(() => (data ?? []).filter((it) => it.name.includes(filter)), [data, filter]);
  const button = html`<${Button} icon="plus" kind="primary" onClick=${() => setDialog('new')}>New ${one}<//>`;
  const closed = (done) => { setDialog(); if (done) reload(); };
  return html`<${Head} crumbs=${crumbs}><${Search} id="filter" label="Filter" value=${filter} onInput=${setFilter} />${button}${extra}<//>
    <div class="content"><${Failure} error=${error} retry=${reload} />${!data && loading && html`<${Spinner} />`}
    ${data && !data.length && html`<div class="card"><${Empty} icon="vectors" title=${`No ${many} yet`}><p>${empty}</p><//></div>`}
    ${data?.length > 0 && html`<div class="card scroll-x"><table><caption class="sr">${many}</caption><thead><tr><th>Name</th>${columns.map(([head, kind]) => html`<th class=${kind}>${head}</th>`)}
      <th class="num wide-only">Created</th><th><span class="sr">Actions</span></th></tr></thead>
      <tbody>${shown.map((it) => html`<tr key=${it.name}><td class="main"><a href=${href(it.name)}>${it.name}</a></td>${columns.map(([, kind, cell]) => html`<td class=${kind}>${cell(it)}</td>`)}
      <td class="num wide-only muted">${time(it.created)}</td><td class="actions"><${Menu} small label=${`Actions on ${it.name}`} items=${[['trash', 'Delete', () => setDialog({ remove: it.name })]]} /></td></tr>`)}</tbody></table>
      ${!shown.length && html`<div class="empty">No name contains “${filter}”.</div>`}</div><p class="muted" role="status">${plural(shown.length, one, many)}</p>`}</div>
    ${dialog === 'new' && create((name) => (name ? location.assign(href(name)) : setDialog()))}${dialog?.remove && remove(dialog.remove, closed)}`;
}

function Indexes({ bucket }) {
  const load = async () => {
    const indexes = await listIndexes(bucket);
    if (indexes.length > DETAILS_MAX) return indexes;
    return Promise.all(indexes.map(async (it) => ({ ...it, about: await getIndex(bucket, it.name).catch(() => undefined) })));
  };
  return html`<${Names} crumbs=${[['Vectors', '#/vectors'], bucket]} one="index" many="indexes" load=${load} deps=${[bucket]} empty="An index contains vectors of one dimension and finds nearest neighbours."
    href=${(name) => link(['vectors', bucket, name])} create=${(onClose) => html`<${CreateIndex} bucket=${bucket} onClose=${onClose} />`}
    remove=${(name, onClose) => html`<${DeleteIndex} bucket=${bucket} index=${name} onClose=${onClose} />`}
    columns=${[['Dimension', 'num', (it) => number(it.about?.dimension)], ['Distance', '', (it) => it.about?.metric ?? '–'],
    ['Text search', 'wide-only muted', (it) => it.about?.texts.map(({ key }) => key).join(', ') || '']]} />`;
}

export function Vectors({ path: [bucket, index], query }) {
  if (bucket && index) return html`<${VectorIndex} key=${`${bucket}/${index}`} bucket=${bucket} index=${index} query=${query} onGone=${() => go(['vectors', bucket])} />`;
  if (bucket) return html`<${Indexes} key=${bucket} bucket=${bucket} />`;
  return html`<${Names} key="buckets" crumbs=${['Vectors']} one="vector bucket" many="vector buckets" load=${listVectorBuckets} deps=${[]} empty="A vector bucket contains vector indexes."
    href=${(name) => link(['vectors', name])} create=${(onClose) => html`<${CreateBucket} onClose=${onClose} />`} remove=${(name, onClose) => html`<${DeleteBucket} bucket=${name} onClose=${onClose} />`} />`;
}
