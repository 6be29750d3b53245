// The policies of a user or a group: attached managed policies and inline policies.

import { html, useState } from '../../vendor/preact.js';
import { ApiError } from '../../lib/api.js';
import { attach, deleteInline, detach, getInline, isBuiltIn, listAttached, listInline, listPolicies, putInline } from '../../lib/iam.js';
import { Button, Choice, Confirm, Dialog, Failure, SaveFailure, Spinner, TextField, toast } from '../../ui/kit.js';
import { reindent } from '../../lib/json.js';
import { JsonEditor, pretty } from '../../ui/editor.js';
import { link, useAction, useLoad } from '../../ui/hooks.js';
import { Refused, Rows, Section } from './parts.js';

export const FIRST = pretty({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: ['s3:GetObject', 's3:ListBucket'], Resource: ['arn:aws:s3:::BUCKET', 'arn:aws:s3:::BUCKET/*'] }] });

function Attach({ kind, name, attached, onClose }) {
  const { data, error } = useLoad(listPolicies, []);
  const [arn, setArn] = useState('');
  const [run, isBusy, failed] = useAction(async () => { await attach(kind, name, arn); toast('The policy was attached.'); onClose(true); });
  const free = (data ?? []).filter((it) => !attached.includes(it.arn)).sort((a, b) => isBuiltIn(a.arn) - isBuiltIn(b.arn));
  return html`<${Dialog} title="Attach a policy" onClose=${() => onClose()} onSubmit=${() => arn && !isBusy && run()}>
    ${error ? html`<${Refused} error=${error} what="list policies" /><${TextField} label="ARN of the policy" value=${arn} onInput=${setArn} />`
    : !data ? html`<${Spinner} />` : html`<${Choice} label="Policy" value=${arn} onChange=${setArn} options=${[['', 'Choose one'], ...free.map((it) => [it.arn, `${it.name}${isBuiltIn(it.arn) ? ' (built-in)' : ''}`])]} />`}
    <${Failure} error=${failed} /><footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!arn || isBusy}>Attach<//></footer><//>`;
}

/** The editor of an inline policy. The text stays if the server refuses it. */
function Inline({ kind, name, policy, onClose }) {
  const loaded = useLoad(async () => (policy ? getInline(kind, name, policy) : undefined), [policy]);
  const [title, setTitle] = useState(policy ?? '');
  const [typed, setTyped] = useState();
  const text = typed ?? (policy ? reindent(loaded.data ?? '') : FIRST);
  const isLoaded = !policy || loaded.data !== undefined;
  const [run, isBusy, error] = useAction(async (force) => {
    const isThere = policy || (await listInline(kind, name)).includes(title);
    if (!force && isThere && await getInline(kind, name, title) !== loaded.data) {
      throw new ApiError('Changed', policy ? 'Somebody else has changed this since it was loaded. Saving overwrites their change.' : 'A policy of this name exists. Saving overwrites it.', 409);
    }
    await putInline(kind, name, title, text);
    toast('The policy was saved.');
    onClose(true);
  });
  return html`<${Dialog} title=${policy ? 'Edit the policy' : 'New policy'} kind="wide" onClose=${() => !isBusy && onClose()} onSubmit=${() => title && isLoaded && !isBusy && run(false)}>
    <${TextField} label="Name" value=${title} onInput=${setTitle} disabled=${Boolean(policy)} /><${Failure} error=${loaded.error} />
    ${!isLoaded && loaded.loading ? html`<${Spinner} />` : html`<${JsonEditor} label="Policy" value=${text} onInput=${setTyped} />`}
    <${SaveFailure} error=${error} onForce=${() => run(true)} /><footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!title || !isLoaded || isBusy}>Save<//></footer><//>`;
}

export function Policies({ kind, name }) {
  const attached = useLoad(() => listAttached(kind, name), [kind, name]);
  const inline = useLoad(() => listInline(kind, name), [kind, name]);
  const [dialog, setDialog] = useState();
  const closed = (list) => (done) => { setDialog(); if (done) list.reload(); };
  const word = kind.toLowerCase();
  return html`<${Section} title="Attached policies" error=${attached.error} what=${`see the policies of this ${word}`} retry=${attached.reload}
      side=${html`<${Button} small icon="plus" onClick=${() => setDialog('attach')}>Attach<//>`}>
      ${attached.data && html`<${Rows} label="Attached policies" heads=${[['Policy'], ['Kind']]} none="None." rows=${attached.data.map((it) => html`<tr key=${it.arn}><td class="main"><a href=${link(['users', 'policy', it.arn])}>${it.name}</a></td>
        <td><span class="tag ${isBuiltIn(it.arn) ? '' : 'accent'}">${isBuiltIn(it.arn) ? 'built-in' : 'own'}</span></td><td class="actions"><${Button} small kind="danger" label=${`Detach ${it.name}`} onClick=${() => setDialog({ detach: it })}>Detach<//></td></tr>`)} />`}<//>
    <${Section} title="Inline policies" error=${inline.error} what=${`see the policies of this ${word}`} retry=${inline.reload}
      side=${html`<${Button} small icon="plus" onClick=${() => setDialog({ edit: '' })}>Add<//>`}>
      ${inline.data && html`<${Rows} label="Inline policies" heads=${[['Policy']]} none="None." rows=${inline.data.map((it) => html`<tr key=${it}><td class="main">${it}</td>
        <td class="actions"><${Button} small label=${`Edit ${it}`} onClick=${() => setDialog({ edit: it })}>Edit<//>${' '}<${Button} small kind="quiet" icon="trash" label=${`Delete ${it}`} onClick=${() => setDialog({ remove: it })} /></td></tr>`)} />`}<//>
    ${dialog === 'attach' && html`<${Attach} kind=${kind} name=${name} attached=${(attached.data ?? []).map((it) => it.arn)} onClose=${closed(attached)} />`}
    ${dialog?.edit !== undefined && html`<${Inline} kind=${kind} name=${name} policy=${dialog.edit || undefined} onClose=${closed(inline)} />`}
    ${dialog?.detach && html`<${Confirm} title="Detach the policy" action="Detach" onClose=${closed(attached)} run=${() => detach(kind, name, dialog.detach.arn)}><p><strong>${dialog.detach.name}</strong> no longer applies to <strong>${name}</strong>.</p><//>`}
    ${dialog?.remove && html`<${Confirm} title="Delete the policy" onClose=${closed(inline)} run=${() => deleteInline(kind, name, dialog.remove)}><p><strong>${dialog.remove}</strong> of <strong>${name}</strong> is deleted.</p><//>`}`;
}
