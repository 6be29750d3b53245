// A user: its state, access keys, groups and policies.

import { html, useState } from '../../vendor/preact.js';
import { deleteUser, getUser, groupsOf, isEnabled, join, leave, listGroups, setEnabled } from '../../lib/iam.js';
import { current } from '../../lib/session.js';
import { Button, Choice, Confirm, CopyButton, Dialog, Failure, Head, Menu, Spinner, toast } from '../../ui/kit.js';
import { go, link, useAction, useLoad } from '../../ui/hooks.js';
import { time } from '../../lib/format.js';
import { Keys } from './keys.js';
import { Refused, Rows, Section } from './parts.js';
import { Policies } from './policies_of.js';

function Join({ name, groups, onClose }) {
  const { data, error } = useLoad(listGroups, []);
  const [group, setGroup] = useState('');
  const [run, isBusy, failed] = useAction(async () => { await join(group, name); onClose(true); });
  const free = (data ?? []).filter((it) => !groups.includes(it.name));
  return html`<${Dialog} title="Add to a group" onClose=${() => onClose()} onSubmit=${() => group && !isBusy && run()}><${Refused} error=${error} what="list groups" />
    ${!data && !error && html`<${Spinner} />`}
    ${data && (free.length ? html`<${Choice} label="Group" value=${group} onChange=${setGroup} options=${[['', 'Choose one'], ...free.map((it) => [it.name, it.name])]} />` : html`<div class="note">No other group exists.</div>`)}
    <${Failure} error=${failed} /><footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!group || isBusy}>Add<//></footer><//>`;
}

function Groups({ name }) {
  const { data, error, reload } = useLoad(() => groupsOf(name), [name]);
  const [isAdding, setAdding] = useState(false);
  const [act, isBusy, failed] = useAction(async (group) => { await leave(group, name); reload(); });
  return html`<${Section} title="Groups" error=${error} what="see the groups of this user" retry=${reload} side=${html`<${Button} small icon="plus" onClick=${() => setAdding(true)}>Add<//>`}>
    <${Refused} error=${failed} what="change groups" />
    ${data && html`<${Rows} label="Groups" heads=${[['Group']]} none="None." rows=${data.map((it) => html`<tr key=${it.name}><td class="main"><a href=${link(['users', 'group', it.name])}>${it.name}</a></td>
      <td class="actions"><${Button} small disabled=${isBusy} label=${`Remove from ${it.name}`} onClick=${() => act(it.name)}>Remove<//></td></tr>`)} />`}<//>
    ${isAdding && html`<${Join} name=${name} groups=${(data ?? []).map((it) => it.name)} onClose=${(done) => { setAdding(false); if (done) reload(); }} />`}`;
}

export function User({ name }) {
  const { data, error, loading, reload } = useLoad(async () => ({ ...await getUser(name), is: await isEnabled(name) }), [name]);
  const [isRemoving, setRemoving] = useState(false);
  const [toggle, isBusy, failed] = useAction(async (is) => {
    await setEnabled(name, is);
    toast(is ? 'The user is enabled.' : 'The user is disabled.');
    reload();
  });
  const isOwn = current()?.arn === data?.arn;
  const items = [data?.is !== undefined && (data.is ? ['pause', 'Disable', () => toggle(false), isBusy] : ['play', 'Enable', () => toggle(true), isBusy]), ['trash', 'Delete', () => setRemoving(true)]];
  return html`<${Head} crumbs=${[['Users', '#/users'], name]}>${data && html`<${Menu} label="Actions on the user" kind="" items=${items} />`}<//>
    <div class="content"><div class="stack">${!data && loading && html`<${Spinner} />`}<${Refused} error=${error} what="see this user" retry=${reload} /><${Refused} error=${failed} what="enable and disable users" />
    ${data && html`<section class="card panel section" aria-label="User"><dl class="facts"><dt>ARN</dt><dd><span class="row"><code class="grow">${data.arn}</code><${CopyButton} text=${data.arn} label="Copy the ARN" /></span></dd><dt>Id</dt><dd><code>${data.id}</code></dd>
      ${Date.parse(data.created) > 0 && html`<dt>Created</dt><dd>${time(data.created)}</dd>`}${data.is !== undefined && html`<dt>State</dt><dd><span class="tag ${data.is ? 'good' : 'bad'}">${data.is ? 'enabled' : 'disabled'}</span>${!data.is && ' Its keys and sessions are refused.'}</dd>`}</dl></section>
      <${Keys} name=${name} /><${Groups} name=${name} /><${Policies} kind="User" name=${name} />`}</div></div>
    ${isRemoving && html`<${Confirm} title="Delete the user" onClose=${(done) => { setRemoving(false); if (done) { toast(`User ${name} was deleted.`); go(['users']); } else reload(); }} run=${() => deleteUser(name)}>
      <p><strong>${name}</strong> is deleted with its access keys and policies. Its keys and sessions are refused from then on.</p>${isOwn && html`<div class="note warn">You are signed in as this user.</div>`}<//>`}`;
}
