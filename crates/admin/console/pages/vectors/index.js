// Vector buckets, and the indexes of one.

import { html, useState } from '../../vendor/preact.js';
import { createIndex, createVectorBucket, deleteIndex, deleteVectorBucket, getIndex, listIndexes, listVectorBuckets } from '../../lib/vectors.js';
import { Button, Choice, Confirm, Dialog, Failure, TextField, toast } from '../../ui/kit.js';
import { go, link, useAction } from '../../ui/hooks.js';
import { CreateNamed, Names, OpenNamed } from '../../ui/names.js';
import { number, plural } from '../../lib/format.js';
import { VectorIndex } from './vector_index.js';

/** Maximum number of indexes whose dimension is requested. */
const DETAILS_MAX = 100;

export const LANGUAGES = [['', 'Any language'], ['en', 'English'], ['fr', 'French'], ['es', 'Spanish'], ['pt', 'Portuguese'], ['it', 'Italian'], ['de', 'German'],
  ['nl', 'Dutch'], ['zh', 'Chinese'], ['ja', 'Japanese'], ['ko', 'Korean']];

const words = (text) => text.split(/[\s,]+/).filter(Boolean);

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

function Indexes({ bucket }) {
  const load = async () => {
    const indexes = await listIndexes(bucket);
    if (indexes.length > DETAILS_MAX) return indexes;
    return Promise.all(indexes.map(async (it) => ({ ...it, about: await getIndex(bucket, it.name).catch(() => undefined) })));
  };
  return html`<${Names} icon="vectors" crumbs=${[['Vectors', '#/vectors'], bucket]} one="index" many="indexes" load=${load} deps=${[bucket]} empty="An index contains vectors of one dimension and finds nearest neighbours."
    href=${(name) => link(['vectors', bucket, name])} create=${(onClose) => html`<${CreateIndex} bucket=${bucket} onClose=${onClose} />`}
    remove=${(name, onClose) => html`<${DeleteIndex} bucket=${bucket} index=${name} onClose=${onClose} />`}
    columns=${[['Dimension', 'num', (it) => number(it.about?.dimension)], ['Distance', '', (it) => it.about?.metric ?? '–'],
    ['Text search', 'wide-only muted', (it) => it.about?.texts.map(({ key }) => key).join(', ') || '']]}
    denied=${html`<${OpenNamed} label="Index" hint="You may have access to a single index." open=${(name) => go(['vectors', bucket, name])} />`} />`;
}

export function Vectors({ path: [bucket, index], query }) {
  if (bucket && index) return html`<${VectorIndex} key=${`${bucket}/${index}`} bucket=${bucket} index=${index} query=${query} onGone=${() => go(['vectors', bucket])} />`;
  if (bucket) return html`<${Indexes} key=${bucket} bucket=${bucket} />`;
  return html`<${Names} key="buckets" icon="vectors" crumbs=${['Vectors']} one="vector bucket" many="vector buckets" load=${listVectorBuckets} deps=${[]} empty="A vector bucket contains vector indexes."
    href=${(name) => link(['vectors', name])} create=${(onClose) => html`<${CreateNamed} what="vector bucket" hint="3 to 63 lower-case letters, digits and hyphens." run=${createVectorBucket} onClose=${onClose} />`} remove=${(name, onClose) => html`<${DeleteBucket} bucket=${name} onClose=${onClose} />`}
    denied=${html`<${OpenNamed} label="Vector bucket" hint="You may have access to a single vector bucket." open=${(name) => go(['vectors', name])} />`} />`;
}
