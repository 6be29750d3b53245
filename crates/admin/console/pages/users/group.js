// A group: its members and its policies.

import { html, useState } from '../../vendor/preact.js';
import { deleteGroup, getGroup, join, leave, listUsers } from '../../lib/iam.js';
import { Button, Choice, Confirm, Dialog, Failure, Head, Menu, Spinner, TextField, toast } from '../../ui/kit.js';
import { go, link, useAction, useLoad } from '../../ui/hooks.js';
import { Refused, Rows, Section } from './parts.js';
import { Policies } from './policies_of.js';

function AddMember({ group, members, onClose }) {
  const { data, error } = useLoad(listUsers, []);
  const [user, setUser] = useState('');
  const [run, isBusy, failed] = useAction(async () => { await join(group, user); onClose(true); });
  const free = (data ?? []).filter((it) => !members.includes(it.name));
  return html`<${Dialog} title="Add a member" onClose=${() => onClose()} onSubmit=${() => user && !isBusy && run()}>
    ${error ? html`<${Refused} error=${error} what="list users" /><${TextField} label="User" value=${user} onInput=${setUser} />` : !data ? html`<${Spinner} />`
    : free.length ? html`<${Choice} label="User" value=${user} onChange=${setUser} options=${[['', 'Choose one'], ...free.map((it) => [it.name, it.name])]} />` : html`<div class="note">No other user exists.</div>`}
    <${Failure} error=${failed} /><footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!user || isBusy}>Add<//></footer><//>`;
}

export function Group({ name }) {
  const { data, error, loading, reload } = useLoad(() => getGroup(name), [name]);
  const [dialog, setDialog] = useState();
  const [act, isBusy, failed] = useAction(async (user) => { await leave(name, user); reload(); });
  return html`<${Head} crumbs=${[['Users', '#/users'], ['Groups', '#/users/groups'], name]}>${data && html`<${Menu} label="Actions on the group" kind="" items=${[['trash', 'Delete', () => setDialog('remove')]]} />`}<//>
    <div class="content"><div class="stack">${!data && loading && html`<${Spinner} />`}<${Refused} error=${error} what="see this group" retry=${reload} />
    ${data && html`<${Section} title="Members" error=${failed} what="change this group" side=${html`<${Button} small icon="plus" onClick=${() => setDialog('add')}>Add<//>`}>
      <${Rows} label="Members" heads=${[['User']]} none="None." rows=${data.members.map((it) => html`<tr key=${it.name}><td class="main"><a href=${link(['users', 'user', it.name])}>${it.name}</a></td>
        <td class="actions"><${Button} small disabled=${isBusy} label=${`Remove ${it.name}`} onClick=${() => act(it.name)}>Remove<//></td></tr>`)} /><//>
      <${Policies} kind="Group" name=${name} />`}</div></div>
    ${dialog === 'add' && html`<${AddMember} group=${name} members=${data.members.map((it) => it.name)} onClose=${(done) => { setDialog(); if (done) reload(); }} />`}
    ${dialog === 'remove' && html`<${Confirm} title="Delete the group" onClose=${(done) => { setDialog(); if (done) { toast(`Group ${name} was deleted.`); go(['users', 'groups']); } }} run=${() => deleteGroup(name)}>
      <p><strong>${name}</strong> is deleted with its policies. Its members stay, without its permissions and denials.</p><//>`}`;
}
