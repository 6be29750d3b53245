// Active uploads, in a corner of every page.

import { html, useEffect, useRef, useState } from '../vendor/preact.js';
import { all, cancel, clear, onUploads, retry } from '../lib/upload.js';
import { Icon } from '../ui/icons.js';
import { Button } from '../ui/kit.js';
import { baseName, bytes, plural } from '../lib/format.js';
import { useEvent } from '../ui/hooks.js';

const SHOWN = 200;
/** Time that finished uploads stay. */
const GONE_MS = 12_000;

export function UploadList() {
  const [, again] = useState(0);
  const [isOpen, setOpen] = useState(true);
  const timer = useRef();
  useEffect(() => onUploads(() => again((it) => it + 1)), []);
  const uploads = all();
  const open = uploads.filter((it) => it.state === 'sending');
  const done = uploads.filter((it) => it.state === 'done').length;
  const failed = uploads.filter((it) => it.state === 'failed');
  // What has finished makes room: first its list closes, then the rest.
  const isOver = uploads.length > 0 && done === uploads.length;
  useEffect(() => {
    setOpen(!isOver);
    if (isOver) timer.current = setTimeout(clear, GONE_MS);
    return () => clearTimeout(timer.current);
  }, [isOver, uploads.length]);
  useEvent(window, 'beforeunload', (event) => { if (open.length) event.preventDefault(); });
  if (!uploads.length) return null;
  const size = uploads.reduce((sum, it) => sum + it.file.size, 0);
  const sent = uploads.reduce((sum, it) => sum + (it.state === 'sending' ? it.sent : it.file.size), 0);
  const title = open.length ? `Uploading ${plural(open.length, 'file')}`
    : failed.length ? `${plural(failed.length, 'upload')} failed` : done ? `${plural(done, 'upload')} finished` : `${plural(uploads.length, 'upload')} cancelled`;
  const rank = { failed: 0, sending: 1, done: 2, cancelled: 3 };
  const shown = [...uploads].sort((a, b) => rank[a.state] - rank[b.state]).slice(0, SHOWN);
  const words = (it) => ({
    sending: it.isWaiting ? 'Waiting for you to sign in again' : `${bytes(it.sent)} of ${bytes(it.file.size)}`, done: `Done, ${bytes(it.file.size)}`,
    failed: it.error?.message, cancelled: 'Cancelled',
  }[it.state]);
  return html`<section class=${`uploads ${isOver && !isOpen ? 'slim' : ''}`} aria-label="Uploads"><header><strong class="grow" role="status">${title}</strong>
    <${Button} small kind="quiet" icon=${isOpen ? 'down' : 'up'} label=${isOpen ? 'Collapse' : 'Expand'} onClick=${() => { clearTimeout(timer.current); setOpen(!isOpen); }} />
    ${open.length ? html`<${Button} small onClick=${() => open.forEach(cancel)}>Cancel all<//>`
 : failed.length > 1 ? html`<${Button} small onClick=${() => failed.forEach(retry)}>Retry all<//>` : ''}
    ${!open.length && html`<${Button} small kind="quiet" icon="close" label="Close" onClick=${clear} />`}</header>
    ${open.length > 0 && html`<div class="progress" role="progressbar" aria-label="All uploads" aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${Math.floor((100 * sent) / (size || 1))}><i style=${{ width: `${(100 * sent) / (size || 1)}%` }} /></div>`}
    ${isOpen && html`<ul>${shown.map((it) => html`<li key=${it.key}><div class="row"><span class="grow cut" title=${it.key}>${baseName(it.key)}</span>
      ${it.state === 'done' && html`<${Icon} name="check" label="Done" />`}
      ${it.state === 'sending' && html`<${Button} small kind="quiet" icon="close" label=${`Cancel ${baseName(it.key)}`} onClick=${() => cancel(it)} />`}
      ${(it.state === 'failed' || it.state === 'cancelled') && html`<${Button} small onClick=${() => retry(it)}>Retry<//>`}</div>
      <small class=${it.state === 'failed' ? 'bad' : ''}>${words(it)}</small>
      ${it.state === 'sending' && html`<div class="progress"><i style=${{ width: `${(100 * it.sent) / (it.file.size || 1)}%` }} /></div>`}</li>`)}</ul>`}
    </section>`;
}
