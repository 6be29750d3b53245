// A role: who may assume it, and its policies.

import { html, useState } from '../../vendor/preact.js';
import { createRole, deleteRole, getRole, putTrust } from '../../lib/iam.js';
import { Button, Confirm, CopyButton, Dialog, Failure, Head, Menu, Spinner, TextField, toast } from '../../ui/kit.js';
import { JsonEditor, pretty } from '../../ui/editor.js';
import { reindent } from '../../lib/json.js';
import { go, useAction, useDraft, useLoad } from '../../ui/hooks.js';
import { time } from '../../lib/format.js';
import { current } from '../../lib/session.js';
import { Refused, Section } from './parts.js';
import { Policies } from './policies_of.js';

/** The users of one's own account, as a first text. */
const trust = () => pretty({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Principal: { AWS: (current()?.arn ?? '').replace(/:[^:]*$/, ':root') }, Action: 'sts:AssumeRole' }] });

export function NewRole({ hint, onClose }) {
  const [name, setName] = useState('');
  const [text, setText] = useState(trust);
  const [run, isBusy, error] = useAction(async () => { await createRole(name, text); go(['users', 'role', name]); });
  return html`<${Dialog} title="New role" kind="wide" onClose=${() => !isBusy && onClose()} onSubmit=${() => name && !isBusy && run()}>
    <${TextField} label="Name" hint=${hint} value=${name} onInput=${setName} /><${JsonEditor} label="Who may assume it" value=${text} onInput=${setText} hint="Users of the account also need a policy that allows sts:AssumeRole." />
    <${Failure} error=${error} /><footer><${Button} onClick=${onClose}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!name || isBusy}>Create<//></footer><//>`;
}

function Trust({ name, text, onSaved }) {
  const [typed, setTyped] = useDraft(`role ${name}`);
  const [run, isBusy, error] = useAction(async () => { await putTrust(name, typed); setTyped(); toast('The trust policy was saved.'); onSaved(); });
  return html`<${Section} title="Trust policy"><${JsonEditor} label="Who may assume it" value=${typed ?? text} onInput=${setTyped} /><${Failure} error=${error} />
    <footer class="row"><${Button} kind="primary" disabled=${typed === undefined || isBusy} onClick=${run}>Save<//>${typed !== undefined && html`<${Button} kind="quiet" disabled=${isBusy} onClick=${() => setTyped()}>Discard<//>`}
    <span class="muted" role="status">${typed !== undefined ? 'Not saved yet.' : ''}</span></footer><//>`;
}

export function Role({ name }) {
  const { data, error, loading, reload } = useLoad(() => getRole(name), [name]);
  const [isRemoving, setRemoving] = useState(false);
  return html`<${Head} crumbs=${[['Users', '#/users'], ['Roles', '#/users/roles'], name]}>${data && html`<${Menu} label="Actions on the role" kind="" items=${[['trash', 'Delete', () => setRemoving(true)]]} />`}<//>
    <div class="content"><div class="stack">${!data && loading && html`<${Spinner} />`}<${Refused} error=${error} what="see this role" retry=${reload} />
    ${data && html`<section class="card panel section" aria-label="Role"><dl class="facts"><dt>ARN</dt><dd><span class="row"><code class="grow">${data.arn}</code><${CopyButton} text=${data.arn} label="Copy the ARN" /></span></dd>
      <dt>Created</dt><dd>${time(data.created)}</dd><dt>Session</dt><dd>at most ${data.hours} h</dd></dl></section>
      <${Trust} name=${name} text=${reindent(data.trust)} onSaved=${reload} /><${Policies} kind="Role" name=${name} />`}</div></div>
    ${isRemoving && html`<${Confirm} title="Delete the role" onClose=${(done) => { setRemoving(false); if (done) { toast(`Role ${name} was deleted.`); go(['users', 'roles']); } }} run=${() => deleteRole(name)}>
      <p><strong>${name}</strong> is deleted with its policies. Its sessions are refused from then on.</p><//>`}`;
}
