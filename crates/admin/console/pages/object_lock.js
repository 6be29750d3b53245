// The lock of an object: retention, legal hold and event hold of one version.

import { html, useLayoutEffect, useRef, useState } from '../vendor/preact.js';
import { getDocument } from '../lib/s3.js';
import { lockOf, putLegalHold, putRetention } from '../lib/lock.js';
import { Button, Check, Choice, Failure, Spinner, TextField, toast } from '../ui/kit.js';
import { useAction, useLoad } from '../ui/hooks.js';
import { time } from '../lib/format.js';

const MODES = [['GOVERNANCE', 'Governance: users with permission may bypass it'], ['COMPLIANCE', 'Compliance: nobody can shorten it']];
const UNITS = [['Days', 'days'], ['Years', 'years']];

/** A time in the form of a `datetime-local` input, which has no time zone. */
const local = (text) => {
  if (!text) return '';
  const date = new Date(text);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

export function ObjectLock({ bucket, objectKey, version, head, onChange }) {
  const enabled = useLoad(() => getDocument(bucket, 'object-lock'), [bucket]);
  const former = lockOf(head);
  const at = version ?? head.version;
  const [edit, setEdit] = useState({});
  const [bypass, setBypass] = useState(false);
  // What was saved is shown until the server's answer replaces it. What was entered since then stays.
  const saved = useRef();
  useLayoutEffect(() => setEdit((it) => (it === saved.current ? {} : it)), [head]);
  useLayoutEffect(() => setEdit({}), [at]);
  const lock = { ...former, ...edit };
  const until = edit.until ?? local(former.until);
  const isMoved = until !== local(former.until);
  const isChanged = isMoved || ['mode', 'event', 'count', 'unit'].some((name) => lock[name] !== former[name]);
  const [save, isSaving, error] = useAction(async (work, words) => { await work(); toast(words); onChange(); });
  const store = async () => {
    await putRetention(bucket, objectKey, at, {
      // A date that was not changed stays as it is: the input has no seconds, and an earlier date is refused. While a hold is on it moves by itself.
      ...lock, until: isMoved ? until && new Date(until).toISOString() : former.event ? '' : former.until,
    }, former, bypass);
    saved.current = edit;
  };
  const change = (part) => setEdit((it) => ({ ...it, ...part }));
  if (enabled.loading && !enabled.data) return html`<${Spinner} />`;
  if (!enabled.data && !enabled.error && !former.mode && !former.legal) {
    return html`<div class="note">Object lock is not enabled on this bucket: its settings enable it.</div>`;
  }
  return html`<div class="stack"><${Failure} error=${error} />
    <h3>Legal hold</h3><p class="muted">A version with a legal hold cannot be deleted until somebody removes the hold.</p>
    <${Check} label="Legal hold" checked=${former.legal} disabled=${isSaving}
      onChange=${(isOn) => save(() => putLegalHold(bucket, objectKey, at, isOn), isOn ? 'The legal hold is on.' : 'The legal hold was removed.')} />
    <h3>Retention</h3>
    <${Choice} label="Mode" value=${lock.mode} onChange=${(mode) => change({ mode, event: Boolean(mode) && lock.event })} options=${[['', 'None'], ...MODES]} />
    ${lock.mode && html`<${Check} label="Event hold" hint="Keeps the version until the hold is released, and for its duration after that." checked=${lock.event}
      onChange=${(event) => change({ event, count: lock.count || '30' })} />
    ${lock.event && html`<div class="inputs"><${TextField} label="Duration after the release" type="number" min="1" value=${lock.count} onInput=${(count) => change({ count })} />
      <${Choice} label="Unit" value=${lock.unit} options=${UNITS} onChange=${(unit) => change({ unit })} /></div>`}
    <${TextField} label=${lock.event ? 'Retained at least until' : 'Retained until'} type="datetime-local" value=${until} onInput=${(it) => change({ until: it })}
      hint=${former.event && lock.event ? `If the hold were released now: ${time(former.until)}.` : undefined} />`}
    ${former.mode === 'GOVERNANCE' && html`<${Check} label="Bypass governance" hint="Shortens or removes the retention, if you have the permission." checked=${bypass} onChange=${setBypass} />`}
    <div><${Button} disabled=${isSaving || !isChanged || (lock.mode && (lock.event ? !lock.count : !until))} onClick=${() => save(store, former.event && !lock.event ? 'The event hold was released.' : 'The retention was saved.')}>Save retention<//></div></div>`;
}
