// The dialogs of a folder: deleting, copying, moving, restoring and packing what is selected.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { Deletion, deleteBelow } from '../../lib/empty.js';
import { listBuckets } from '../../lib/s3.js';
import { transfer, undelete } from '../../lib/transfer.js';
import { saveBlob, zip, zipList } from '../../lib/zip.js';
import { Button, Check, Choice, Confirm, Dialog, Failure, TextField, toast } from '../../ui/kit.js';
import { useAction, useLoad } from '../../ui/hooks.js';
import { baseName, bytes, number, plural } from '../../lib/format.js';

/** The selection in words. */
function named(chosen, one = 'object') {
  if (chosen.length === 1) return html`<strong>${chosen[0].key}</strong>`;
  const folders = chosen.filter((it) => it.isFolder).length;
  return [folders && plural(folders, 'folder'), chosen.length > folders && plural(chosen.length - folders, one)].filter(Boolean).join(' and ');
}

/** `onChange` is called after every attempt: a failed one may have deleted something, too. */
export function DeleteSelected({ bucket, chosen, versions, onClose, onChange }) {
  const [deleted, setDeleted] = useState(0);
  const folders = chosen.filter((it) => it.isFolder);
  const objects = chosen.filter((it) => !it.isFolder);
  const run = async (signal) => {
    const deletion = new Deletion(signal, setDeleted);
    try {
      await deletion.objects(bucket, objects);
      for (const { key } of folders) await deleteBelow(deletion, bucket, key, versions);
    } finally {
      onChange();
    }
    deletion.end();
    toast('Deleted.');
  };
  return html`<${Confirm} title=${versions ? 'Delete versions' : 'Delete objects'} run=${run} onClose=${onClose} isOnce
    word=${folders.length ? 'delete' : undefined} busy=${html`<p role="status">${number(deleted)} deleted</p>`}>
    <p>${named(chosen, versions ? 'version' : 'object')}${folders.length ? ', with everything below,' : ''} ${chosen.length === 1 ? 'is' : 'are'} deleted.
    ${versions ? ' Versions cannot be restored.' : ' In a bucket with versioning, old versions stay.'}</p><//>`;
}

/** A dialog with a long action: its progress, and a button that cancels it. */
function Work({ title, action, children, run, busy, isReady = true, onClose, onChange }) {
  const stop = useRef();
  useEffect(() => () => stop.current?.abort(), []);
  const [act, isBusy, error] = useAction(async () => {
    stop.current = new AbortController();
    try {
      await run(stop.current.signal);
    } finally {
      onChange?.();
    }
    onClose();
  });
  return html`<${Dialog} title=${title} onClose=${() => !isBusy && onClose()} onSubmit=${() => isReady && !isBusy && act()}>
    ${children}${isBusy && html`<p role="status">${busy}</p>`}<${Failure} error=${error} />
    <footer><${Button} onClick=${() => (isBusy ? stop.current.abort() : onClose())}>Cancel<//>
    <${Button} type="submit" kind="primary" disabled=${!isReady || isBusy}>${action}<//></footer><//>`;
}

export function Transfer({ bucket, folder, chosen, isMove, onClose, onChange }) {
  const buckets = useLoad(async () => (await listBuckets()).map((it) => it.name), []);
  const single = chosen.length === 1 && !chosen[0].isFolder;
  const [toBucket, setBucket] = useState(bucket);
  const [target, setTarget] = useState(single ? chosen[0].key : folder);
  const [replaces, setReplaces] = useState(false);
  const [done, setDone] = useState(0);
  const isSame = toBucket === bucket && (single ? target === chosen[0].key : target === folder);
  const run = async (signal) => {
    const below = target && !target.endsWith('/') ? `${target}/` : target;
    const to = (key, name) => (single ? target : below + name);
    const count = await transfer({ bucket, chosen, toBucket, to, isMove, replaces, signal, onProgress: setDone });
    toast(`${plural(count, 'object')} ${isMove ? 'moved' : 'copied'}.`);
  };
  const names = buckets.data ?? [bucket];
  return html`<${Work} title=${isMove ? single ? 'Move or rename' : 'Move' : 'Copy'} action=${isMove ? 'Move' : 'Copy'} run=${run} busy=${`${number(done)} done`}
    isReady=${!isSame && (!single || Boolean(target))} onClose=${onClose} onChange=${onChange}>
    <p>${named(chosen)}${chosen.some((it) => it.isFolder) && ', with everything below,'} ${chosen.length === 1 ? 'is' : 'are'} copied within the server${isMove ? ', then deleted here' : ''}.</p>
    <${Choice} label="To bucket" value=${toBucket} onChange=${setBucket} options=${(names.includes(bucket) ? names : [bucket, ...names]).map((it) => [it, it])} />
    <${TextField} label=${single ? 'New key' : 'To folder'} value=${target} onInput=${setTarget} autofocus hint=${single ? undefined : 'Empty: the top of the bucket.'} />
    <${Check} label="Replace existing objects" checked=${replaces} onChange=${setReplaces} />
    ${chosen.some((it) => it.size > 5 * 2 ** 30) && html`<div class="note warn">Objects above 5 GiB cannot be copied this way.</div>`}<//>`;
}

export function Undelete({ bucket, chosen, onClose, onChange }) {
  const [done, setDone] = useState(0);
  const run = async (signal) => {
    const count = await undelete(bucket, chosen, { signal, onProgress: setDone });
    toast(count ? `${plural(count, 'object')} restored.` : 'Nothing here is deleted.');
  };
  return html`<${Work} title="Undelete" action="Undelete" run=${run} busy=${`${number(done)} restored`} onClose=${onClose} onChange=${onChange}>
    <p>Deleted objects ${chosen.some((it) => it.isFolder) ? 'of the selection and below its folders' : 'of the selection'} get their last version back: their delete markers are removed.</p><//>`;
}

export function Zip({ bucket, folder, chosen, onClose }) {
  const [done, setDone] = useState(0);
  const list = useLoad(() => zipList(bucket, chosen, folder), []);
  const size = (list.data ?? []).reduce((sum, it) => sum + it.size, 0);
  const name = `${(chosen.length === 1 ? baseName(chosen[0].key) : baseName(folder) || bucket).replace(/\/$/, '').replace(/[^\w.-]+/g, '_') || 'objects'}.zip`;
  const run = async (signal) => {
    saveBlob(await zip(bucket, list.data, { signal, onProgress: setDone }), name);
    toast(`${name} is ready.`);
  };
  return html`<${Work} title="Download as ZIP" action="Download" run=${run} busy=${`${bytes(done)} of ${bytes(size)}`} isReady=${list.data?.length > 0} onClose=${onClose}>
    <${Failure} error=${list.error} /><p role="status">${list.data ? `${plural(list.data.length, 'object')}, ${bytes(size)}, as ${name}.` : !list.error && 'Counting…'}</p>
    <p class="muted">The browser makes the archive in its memory, without compression.</p><//>`;
}

export function NewFolder({ prefix, onClose }) {
  const [name, setName] = useState('');
  return html`<${Dialog} title="Upload to a new folder" onClose=${() => onClose()} onSubmit=${() => name && onClose(`${prefix}${name.replace(/^\/+|\/+$/g, '')}/`)}>
    <${TextField} label="Folder" value=${name} onInput=${setName} hint="A folder is a key prefix: it exists once it contains an object." />
    <footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!name}>Open<//></footer><//>`;
}
