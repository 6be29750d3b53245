// The list of buckets.

import { html, useMemo, useState } from '../vendor/preact.js';
import { createBucket, deleteBucket, listBuckets } from '../lib/s3.js';
import { Deletion, emptyBucket, unreachableUploads } from '../lib/empty.js';
import { readMetrics } from '../lib/prometheus.js';
import { Icon } from '../ui/icons.js';
import { Button, Check, Confirm, Dialog, Empty, Failure, Head, Menu, Search, Spinner, TextField, toast } from '../ui/kit.js';
import { OpenNamed } from '../ui/names.js';
import { go, link, useAction, useLoad, useShortcuts } from '../ui/hooks.js';
import { bytes, number, plural, time } from '../lib/format.js';

export function CreateBucket({ onClose }) {
  const [name, setName] = useState('');
  const [isVersioned, setVersioned] = useState(false);
  const [isLocked, setLocked] = useState(false);
  const [run, isBusy, error] = useAction(async () => {
    await createBucket(name, { locked: isLocked, versioned: isVersioned });
    toast(`Bucket ${name} was created.`);
    onClose(name);
  });
  return html`<${Dialog} title="New bucket" onClose=${() => onClose()} onSubmit=${() => name && !isBusy && run()}>
    <${TextField} label="Name" value=${name} onInput=${setName} hint="3 to 63 lower-case letters, digits, hyphens and dots." />
    <${Check} label="Versioning" hint="Keeps every version of an object." checked=${isVersioned || isLocked} disabled=${isLocked} onChange=${setVersioned} />
    <${Check} label="Object lock" hint="Protects versions against deletion for a retention period. Cannot be turned off." checked=${isLocked} onChange=${setLocked} />
    <${Failure} error=${error} />
    <footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!name || isBusy}>Create<//></footer><//>`;
}

export function DeleteBucket({ bucket, onClose }) {
  const [deleted, setDeleted] = useState();
  const [bypass, setBypass] = useState(false);
  const unreachable = useLoad(() => unreachableUploads(bucket), [bucket]).data ?? [];
  const run = async (signal) => {
    setDeleted(0);
    const deletion = new Deletion(signal, setDeleted);
    await emptyBucket(deletion, bucket, bypass);
    deletion.end(' The bucket stays.');
    deletion.check();
    await deleteBucket(bucket);
    toast(`Bucket ${bucket} was deleted.`);
  };
  const busy = html`<div role="status">${plural(deleted ?? 0, 'version')} deleted<div class="progress"><i style=${{ width: '100%' }} /></div></div>`;
  return html`<${Confirm} title="Delete bucket" word=${bucket} action="Delete bucket and contents" run=${run} busy=${busy} onClose=${onClose}>
    <p><strong>${bucket}</strong> is deleted with every object, version and unfinished upload in it. This cannot be undone.</p>
    ${unreachable.length > 0 && html`<div class="note warn" role="status">The bucket cannot be deleted, only emptied: a browser cannot abort the unfinished upload of${' '}
      <code>${unreachable[0]}</code>${unreachable.length > 1 && ` and ${plural(unreachable.length - 1, 'other')}`}, whose key has a “.” or “..” between slashes. Abort it first with a client such as the AWS CLI.</div>`}
    <${Check} label="Bypass governance retention" hint="Also deletes versions retained in governance mode, if you have the permission." checked=${bypass} onChange=${setBypass} /><//>`;
}

/** Opens a bucket, or a folder of it, by its name, for users who may list no more. */
export function OpenFolder({ bucket }) {
  const [folder, setFolder] = useState('');
  // Policies name a folder with its slash.
  const prefix = folder && !folder.endsWith('/') ? `${folder}/` : folder;
  return html`<${OpenNamed} label="Bucket" hint="You may have access to a single bucket." first=${bucket} open=${(name) => go(['buckets', name], { prefix })}>
    <${TextField} label="Folder" value=${folder} onInput=${setFolder} hint="If you may list a part of the bucket only, such as web/." /><//>`;
}

const ORDERS = {
  name: (a, b) => (a.name < b.name ? -1 : 1), created: (a, b) => (a.created < b.created ? -1 : 1),
  objects: (a, b) => (a.objects ?? -1) - (b.objects ?? -1), bytes: (a, b) => (a.bytes ?? -1) - (b.bytes ?? -1),
};

export function Buckets() {
  const { data, error, loading, reload } = useLoad(async () => {
    const [buckets, metrics] = await Promise.all([listBuckets(), readMetrics().catch(() => null)]);
    if (!metrics) return buckets;
    const of = (name) => new Map(metrics.all(name).map((it) => [it.labels.bucket, it.value]));
    const [objects, sizes, quotas] = [of('liteio_bucket_objects'), of('liteio_bucket_bytes'), of('liteio_bucket_quota_bytes')];
    return buckets.map((it) => ({ ...it, objects: objects.get(it.name), bytes: sizes.get(it.name), quota: quotas.get(it.name) }));
  }, []);
  const [filter, setFilter] = useState('');
  const [[order, step], setOrder] = useState(['name', 1]);
  const [dialog, setDialog] = useState();
  useShortcuts({ n: () => setDialog('new'), '/': () => document.getElementById('filter')?.focus() });
  const shown = useMemo(() => (data ?? []).filter((it) => it.name.includes(filter))
    .sort((a, b) => step * ORDERS[order](a, b)), [data, filter, order, step]);
  const head = (id, text, kind = '') => html`<th class=${kind} aria-sort=${order === id ? (step > 0 ? 'ascending' : 'descending') : undefined}>
    <button class="sort" onClick=${() => setOrder([id, order === id ? -step : 1])}>${text}
    ${order === id && html`<${Icon} name=${step > 0 ? 'up' : 'down'} />`}</button></th>`;
  const hasUsage = data?.some((it) => it.objects !== undefined);
  const closed = (done) => { setDialog(); if (done) reload(); };
  return html`<${Head} crumbs=${['Buckets']}><${Search} id="filter" label="Filter" value=${filter} onInput=${setFilter} />
    <${Button} icon="plus" kind="primary" onClick=${() => setDialog('new')}>New bucket<//><//>
    <div class="content"><${Failure} error=${error} retry=${reload} />${error?.status === 403 && html`<${OpenFolder} />`}
    ${!data && loading && html`<${Spinner} />`}
    ${data && !data.length && html`<div class="card"><${Empty} icon="bucket" title="No buckets yet">
      <p>A bucket contains objects. Create the first one.</p><${Button} kind="primary" icon="plus" onClick=${() => setDialog('new')}>New bucket<//><//></div>`}
    ${data?.length > 0 && html`<div class="card scroll-x"><table><caption class="sr">Buckets</caption><thead><tr>${head('name', 'Name')}
      ${hasUsage && head('objects', 'Objects', 'num')}${hasUsage && head('bytes', 'Size', 'num')}${head('created', 'Created', 'num wide-only')}
      <th><span class="sr">Actions</span></th></tr></thead>
      <tbody>${shown.map((it) => html`<tr key=${it.name}><td class="main"><a href=${link(['buckets', it.name])}>${it.name}</a></td>
      ${hasUsage && html`<td class="num">${number(it.objects)}</td><td class="num">${bytes(it.bytes)}${it.quota !== undefined && html`<small class=${it.bytes > 0.9 * it.quota ? 'bad' : 'muted'}> of ${bytes(it.quota)}</small>`}</td>`}
      <td class="num wide-only muted">${time(it.created)}</td>
      <td class="actions"><${Menu} small label=${`Actions on ${it.name}`} items=${[
    ['gear', 'Settings', () => go(['buckets', it.name, 'settings'])],
    ['trash', 'Delete', () => setDialog({ remove: it.name })]]} /></td></tr>`)}</tbody></table>
      ${!shown.length && html`<div class="empty">No bucket name contains “${filter}”.</div>`}</div>
      <p class="muted foot-note" role="status">${plural(shown.length, 'bucket')}</p>`}</div>
    ${dialog === 'new' && html`<${CreateBucket} onClose=${(name) => (name ? go(['buckets', name]) : setDialog())} />`}
    ${dialog?.remove && html`<${DeleteBucket} bucket=${dialog.remove} onClose=${closed} />`}`;
}
