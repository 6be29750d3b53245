// One object: its properties, contents, versions, tags, metadata and links.

import { html, useLayoutEffect, useState } from '../vendor/preact.js';
import { ApiError } from '../lib/api.js';
import { metadataOf, restoreVersion, saveMetadata, saveTags } from '../lib/metadata.js';
import { deleteObject, deleteObjects, getObjectTags, headObject, listVersions } from '../lib/s3.js';
import { share } from '../lib/share.js';
import { Button, Choice, Confirm, CopyButton, Dialog, Failure, Menu, Pairs, SaveFailure, Secret, Spinner, Tabs, TextField, toast } from '../ui/kit.js';
import { useAction, useLoad } from '../ui/hooks.js';
import { baseName, bytes, number, shortVersion, time, timeOf } from '../lib/format.js';
import { ObjectLock } from './object_lock.js';
import { Preview } from './preview.js';

const FACTS = [
  ['cache-control', 'Cache control'], ['content-disposition', 'Disposition'], ['content-encoding', 'Encoding'],
  ['content-language', 'Language'], ['x-amz-storage-class', 'Storage class'], ['x-amz-server-side-encryption', 'Encryption'],
  ['x-amz-server-side-encryption-aws-kms-key-id', 'Encryption key'], ['x-amz-object-lock-mode', 'Retention'],
  ['x-amz-object-lock-retain-until-date', 'Retained until'], ['x-amz-object-lock-event-hold', 'Event hold'], ['x-amz-object-lock-legal-hold', 'Legal hold'], ['x-amz-expiration', 'Expiration'],
  ['x-amz-website-redirect-location', 'Redirect'],
];

function Overview({ bucket, objectKey, head }) {
  const rows = [
    ['Key', html`<span class="row"><code class="grow">${objectKey}</code><${CopyButton} text=${objectKey} label="Copy the key" /></span>`],
    ['URI', html`<span class="row"><code class="grow">s3://${bucket}/${objectKey}</code><${CopyButton} text=${`s3://${bucket}/${objectKey}`} label="Copy the URI" /></span>`],
    ['Size', `${bytes(head.size)} (${number(head.size)} bytes)`], ['Type', head.type], ['Modified', time(head.modified)],
    ['ETag', html`<code>${head.etag}</code>`], head.version && ['Version', html`<code>${head.version}</code>`],
    ...FACTS.filter(([name]) => head.headers[name]).map(([name, text]) => [text, head.headers[name]]),
    ...Object.entries(head.headers).filter(([name]) => name.startsWith('x-amz-checksum-') && name !== 'x-amz-checksum-type')
      .map(([name, value]) => [`Checksum ${name.slice(15).toUpperCase()}`, html`<code>${value}</code>`]),
    ...metadataOf(head),
  ].filter(Boolean);
  return html`<dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function Metadata({ bucket, objectKey, version, head, onChange }) {
  const [type, setType] = useState(head.type);
  const [pairs, setPairs] = useState(() => metadataOf(head));
  const tags = useLoad(() => getObjectTags(bucket, objectKey, version), [objectKey, version]);
  const [set, setTags] = useState();
  const shown = set ?? tags.data;
  const [tag, isTagging, tagError] = useAction((work) => work());
  const storeTags = async (base) => {
    const next = shown.filter(([name]) => name);
    await saveTags(bucket, objectKey, version, next, base);
    tags.set(next);
    setTags();
    toast('Tags were saved.');
  };
  const loadTags = async () => { tags.set(await getObjectTags(bucket, objectKey, version)); setTags(); };
  // A new head comes from saving, or from discarding the input. Layout effect: after the paint the user could already
  // have typed.
  useLayoutEffect(() => { setType(head.type); setPairs(metadataOf(head)); }, [head]);
  const [act, isBusy, error] = useAction((work) => work());
  const store = async (base) => {
    await saveMetadata(bucket, objectKey, pairs.filter(([name]) => name), type, base);
    toast('Metadata was saved.');
    onChange();
  };
  // Tags that load later would move the controls under the pointer.
  if (tags.loading && !shown) return html`<${Spinner} />`;
  return html`<div class="stack"><h3>Tags</h3><${Failure} error=${tags.error} /><${SaveFailure} error=${tagError} onLoad=${() => tag(loadTags)} onForce=${() => tag(() => storeTags())} />
    ${shown && html`<${Pairs} pairs=${shown} onChange=${setTags} add="Add a tag" /><div><${Button} disabled=${isTagging} onClick=${() => tag(() => storeTags(tags.data))}>Save tags<//></div>`}
    <h3>Metadata</h3>
    ${version ? html`<div class="note">Metadata of an old version cannot be changed.</div>` : html`
      <${TextField} label="Content type" value=${type} onInput=${setType} /><${Pairs} pairs=${pairs} onChange=${setPairs} add="Add metadata" />
      <p class="muted">Saving copies the object onto itself: with versioning this creates a new version. Objects above 5 GiB cannot be copied this way.</p>
      <${SaveFailure} error=${error} onLoad=${() => act(async () => onChange())} onForce=${() => act(() => store())} /><div><${Button} disabled=${isBusy} onClick=${() => act(() => store(head))}>Save metadata<//></div>`}</div>`;
}

/** All versions of one key. */
async function versionsOf(bucket, key) {
  const found = [];
  let after;
  do {
    const page = await listVersions(bucket, { prefix: key, after });
    found.push(...page.entries.filter((it) => it.key === key));
    // Keys are sorted: after another key, no version of this key follows.
    after = page.entries.some((it) => it.key !== key) ? undefined : page.next;
  } while (after);
  return found;
}

function Versions({ bucket, objectKey, at, onChange, download }) {
  const { data, error, reload } = useLoad(() => versionsOf(bucket, objectKey), [bucket, objectKey]);
  const [removing, setRemoving] = useState();
  const done = (text) => { toast(text); reload(); onChange(); };
  const [act, isBusy, failed] = useAction(async (work, text) => { await work(); done(text); });
  return html`<${Failure} error=${error ?? failed} />${!data && !error && html`<${Spinner} />`}
    ${data && html`<table><caption class="sr">Versions of ${objectKey}</caption><thead><tr><th>Version</th><th class="num">Size</th><th class="num">Modified</th><th><span class="sr">Actions</span></th></tr></thead>
    <tbody>${data.map((it) => html`<tr key=${it.version}><td>${it.isMarker ? html`<span class="tag">delete marker</span>`
      : html`<a href=${at({ key: objectKey, version: it.version })} title=${it.version}><code>${shortVersion(it.version)}</code></a>`}
      ${it.isLatest && html`${' '}<span class="tag accent">current</span>`}</td><td class="num">${it.isMarker ? '' : bytes(it.size)}</td><td class="num muted">${timeOf(it.modified)}</td>
      <td class="actions"><${Menu} small label=${`Actions on version ${it.version}`} items=${[
    !it.isMarker && ['download', 'Download', () => download(it)],
    !it.isMarker && !it.isLatest && ['history', 'Restore', () => act(() => restoreVersion(bucket, objectKey, it.version), 'The version was restored.'), isBusy],
    it.isMarker && it.isLatest && ['history', 'Undelete', () => act(() => deleteObject(bucket, objectKey, it.version), 'The object was restored.')],
    ['trash', 'Delete', () => setRemoving(it)]]} /></td></tr>`)}</tbody></table>`}
    ${removing && html`<${Confirm} title="Delete version" onClose=${(ok) => { setRemoving(); if (ok) done('The version was deleted.'); }}
      run=${async () => {
    const errors = await deleteObjects(bucket, [removing]);
    if (errors.length) throw new ApiError('', errors[0].message, 0);
  }}><p>Version <code>${removing.version}</code> of <strong>${objectKey}</strong> is deleted and cannot be restored.</p><//>`}`;
}

const SPANS = [['3600', '1 hour'], ['28800', '8 hours'], ['86400', '1 day'], ['259200', '3 days'], ['604800', '7 days']];

function Share({ bucket, objectKey, version }) {
  const [span, setSpan] = useState('3600');
  const [made, setMade] = useState();
  const [run, isBusy, error] = useAction(async () => setMade(await share(bucket, objectKey, version, Number(span))));
  return html`<div class="stack"><p>Everyone with the link can read this object, until the link expires or its creator loses the permission to read the object.</p>
    <${Choice} label="Expires after" value=${span} onChange=${(it) => { setSpan(it); setMade(); }} options=${SPANS} />
    <div><${Button} kind="primary" icon="link" disabled=${isBusy} onClick=${run}>Create a link<//></div><${Failure} error=${error} />
    ${made && html`<${Secret} label="Link" text=${made.url} /><p class="muted">Valid until ${time(made.expires)}.</p>`}</div>`;
}

export function ObjectDrawer({ bucket, objectKey, version, tab = 'overview', isVersioned, at, onClose, onChange, download }) {
  const head = useLoad(() => headObject(bucket, objectKey, version), [bucket, objectKey, version]);
  const [removing, setRemoving] = useState(false);
  const changed = () => { head.reload(); onChange(); };
  const choose = (next) => { history.replaceState(null, '', at({ key: objectKey, version, tab: next })); setTab(next); };
  const [current, setTab] = useState(tab);
  const gone = head.error && [404, 405].includes(head.error.status);
  const tabs = [['overview', 'Overview'], ['preview', 'Preview'], isVersioned && ['versions', 'Versions'], ['metadata', 'Tags and metadata'], isVersioned && ['lock', 'Lock'], ['share', 'Share']].filter(Boolean);
  const shown = gone && isVersioned ? 'versions' : current;
  const props = { bucket, objectKey, version, head: head.data, at, onChange: changed, download };
  const content = { overview: Overview, preview: Preview, versions: Versions, metadata: Metadata, lock: ObjectLock, share: Share }[shown] ?? Overview;
  return html`<${Dialog} kind="drawer" title=${baseName(objectKey)} onClose=${onClose} head=${html`
    <${Button} icon="download" small disabled=${!head.data} onClick=${() => download({ key: objectKey, version })}>Download<//>
    <${Button} icon="trash" small kind="quiet" label="Delete" onClick=${() => setRemoving(true)} />`}>
    <${Tabs} label="About the object" tabs=${tabs} current=${shown} onChange=${choose} />
    <div class="content" role="tabpanel" aria-label=${tabs.find(([id]) => id === shown)?.[1]}>
    ${version && html`<p><span class="tag warn">selected version</span> <a href=${at({ key: objectKey })}>Show the current one</a></p>`}
    ${head.error && shown !== 'versions' && html`<${Failure} error=${head.error} />`}
    ${head.loading && !head.data && html`<${Spinner} />`}
    ${(head.data || shown === 'versions') && html`<${content} ...${props} key=${shown + (head.data?.etag ?? '')} />`}</div>
    ${removing && html`<${Confirm} title=${version ? 'Delete version' : 'Delete object'} onClose=${(ok) => { setRemoving(false); if (ok) { onChange(); onClose(); } }}
      run=${() => deleteObject(bucket, objectKey, version)}><p><strong>${objectKey}</strong> is deleted${version ? ' in this version. It cannot be restored.' : isVersioned ? '; its versions stay.' : '. It cannot be restored.'}</p><//>`}<//>`;
}
