// One's own access keys with an end, or with fewer rights: service accounts.

import { html, useState } from '../../vendor/preact.js';
import { changeOwnKey, createOwnKey, deleteOwnKey, listOwnKeys, ownKey } from '../../lib/own_keys.js';
import { Button, Choice, Confirm, CopyButton, Dialog, Failure, Menu, Spinner, TextField } from '../../ui/kit.js';
import { JsonEditor } from '../../ui/editor.js';
import { useAction, useLoad } from '../../ui/hooks.js';
import { time } from '../../lib/format.js';
import { Refused, Rows, Section } from './parts.js';
import { NewKey } from './keys.js';

const DAY = 86_400_000;
const ENDS = [['', 'Never'], ['1', 'In a day'], ['7', 'In 7 days'], ['30', 'In 30 days'], ['90', 'In 90 days'], ['365', 'In a year']];
const RIGHTS = [['', 'All of yours'], ['read', 'Read all buckets'], ['bucket', 'One bucket'], ['policy', 'A policy']];
const allow = (Action, Resource) => ({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action, Resource }] });

const policyOf = (rights, bucket, text) => ({
  read: () => allow(['s3:Get*', 's3:List*'], 'arn:aws:s3:::*'),
  bucket: () => allow('s3:*', [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`]),
  policy: () => JSON.parse(text),
}[rights]?.());

function Create({ onClose }) {
  const [name, setName] = useState('');
  const [days, setDays] = useState('90');
  const [rights, setRights] = useState('');
  const [bucket, setBucket] = useState('');
  const [text, setText] = useState(() => JSON.stringify(allow('s3:GetObject', 'arn:aws:s3:::BUCKET/*'), null, 2));
  const [run, isBusy, error] = useAction(async () => onClose(await createOwnKey({
    name, expiration: days && new Date(Date.now() + days * DAY).toISOString(), policy: policyOf(rights, bucket, text),
  })));
  const isWhole = rights !== 'bucket' || bucket;
  return html`<${Dialog} title="New service account" onClose=${() => onClose()} onSubmit=${() => isWhole && !isBusy && run()}>
    <${TextField} label="Name" value=${name} onInput=${setName} maxlength="32" pattern="[A-Za-z][A-Za-z0-9_\\-]*" hint="Letters, digits, - and _; optional." />
    <${Choice} label="Ends" value=${days} onChange=${setDays} options=${ENDS} />
    <${Choice} label="Rights" value=${rights} onChange=${setRights} options=${RIGHTS} hint="A key never has more rights than you." />
    ${rights === 'bucket' && html`<${TextField} label="Bucket" value=${bucket} onInput=${setBucket} required />`}
    ${rights === 'policy' && html`<${JsonEditor} label="Policy" value=${text} onInput=${setText} />`}
    <${Failure} error=${error} /><footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${isBusy || !isWhole}>Create<//></footer><//>`;
}

function Policy({ id, onClose }) {
  const { data, error } = useLoad(() => ownKey(id), [id]);
  return html`<${Dialog} title="Rights of the access key" onClose=${onClose}><p><code>${id}</code></p><${Failure} error=${error} />${!data && !error && html`<${Spinner} />`}
    ${data && (data.impliedPolicy ? html`<p>It has all of your rights.</p>` : html`<p>It has your rights as far as this policy allows.</p>
      <pre class="preview" tabindex="0">${JSON.stringify(JSON.parse(data.policy), null, 2)}</pre>`)}
    <footer><${Button} kind="primary" onClick=${onClose}>Done<//></footer><//>`;
}

export function OwnKeys() {
  const { data, error, reload } = useLoad(listOwnKeys, []);
  const [dialog, setDialog] = useState();
  const [act, isBusy, failed] = useAction(async (work) => { await work(); reload(); });
  const closed = () => { setDialog(); reload(); };
  const state = (it) => (it.expiration && Date.parse(it.expiration) < Date.now() ? ['bad', 'ended'] : it.accountStatus === 'on' ? ['good', 'active'] : ['bad', 'disabled']);
  const created = (made) => setDialog(made && { made });
  return html`<${Section} title="Your service accounts" error=${error} what="see your service accounts" retry=${reload}
    side=${html`<${Button} small icon="plus" onClick=${() => setDialog({ isNew: true })}>Create<//>`}>
    <p class="muted">Access keys for programs that act for you, with an end or fewer rights. They cannot sign in to the console.</p><${Refused} error=${failed} what="change your service accounts" />
    ${data && html`<${Rows} label="Your service accounts" heads=${[['Key'], ['Name', 'wide-only'], ['Rights', 'wide-only'], ['State'], ['Ends', 'num wide-only']]} none="None." rows=${data.map((it) => html`<tr key=${it.accessKey}>
      <td><span class="row"><code>${it.accessKey}</code><${CopyButton} text=${it.accessKey} label=${`Copy ${it.accessKey}`} /></span></td><td class="wide-only">${it.name}</td>
      <td class="wide-only">${it.impliedPolicy ? 'all of yours' : 'a policy'}</td><td><span class="tag ${state(it)[0]}">${state(it)[1]}</span></td><td class="num wide-only muted">${it.expiration ? time(it.expiration) : 'never'}</td>
      <td class="actions"><${Menu} small label=${`Actions on ${it.accessKey}`} items=${[['key', 'Rights', () => setDialog({ policy: it.accessKey })],
    [it.accountStatus === 'on' ? 'pause' : 'play', it.accountStatus === 'on' ? 'Disable' : 'Enable', () => act(() => changeOwnKey(it.accessKey, { newStatus: it.accountStatus === 'on' ? 'disabled' : 'enabled' })), isBusy],
    ['trash', 'Delete', () => setDialog({ remove: it.accessKey })]]} /></td></tr>`)} />`}<//>
    ${dialog?.isNew && html`<${Create} onClose=${created} />`}${dialog?.made && html`<${NewKey} made=${dialog.made} onClose=${closed} />`}
    ${dialog?.policy && html`<${Policy} id=${dialog.policy} onClose=${() => setDialog()} />`}
    ${dialog?.remove && html`<${Confirm} title="Delete the access key" onClose=${closed} run=${() => deleteOwnKey(dialog.remove)}><p>Requests with <code>${dialog.remove}</code> are refused from now on.</p><//>`}`;
}
