// Users, groups and policies: three lists, and a page for each of their entries.

import { html, useEffect, useState } from '../../vendor/preact.js';
import { createGroup, isBuiltIn, isEnabled, listGroups, listPolicies, listRoles, listUsers } from '../../lib/iam.js';
import { go, link } from '../../ui/hooks.js';
import { time } from '../../lib/format.js';
import { Group } from './group.js';
import { NewUser } from './new_user.js';
import { List, Named } from './parts.js';
import { NewPolicy, ManagedPolicy } from './policy.js';
import { NewRole, Role } from './role.js';
import { User } from './user.js';

/** Maximum number of users whose state is requested. */
const STATES_MAX = 100;

/** The state of a user in the list, requested separately. */
function State({ name }) {
  const [is, set] = useState();
  useEffect(() => {
    let isCurrent = true;
    isEnabled(name).then((found) => isCurrent && set(found));
    return () => { isCurrent = false; };
  }, [name]);
  return is === undefined ? '' : html`<span class="tag ${is ? 'good' : 'bad'}">${is ? 'enabled' : 'disabled'}</span>`;
}

const NAME = 'Letters, digits and +=,.@_-';

const CreateUser = ({ onClose }) => html`<${NewUser} hint=${NAME} onClose=${onClose} />`;
const CreateRole = ({ onClose }) => html`<${NewRole} hint=${NAME} onClose=${onClose} />`;
const NewGroup = ({ onClose }) => html`<${Named} title="New group" label="Name" hint=${NAME} onClose=${onClose}
  run=${async (name) => { await createGroup(name); go(['users', 'group', name]); }} />`;

const made = ['created', 'Created', 'num wide-only', (it) => html`<span class="muted">${time(it.created)}</span>`];
const entry = (kind) => (it) => html`<a href=${link(['users', kind, it.name])}>${it.name}</a>`;

export function Users({ path: [kind, name] }) {
  if (kind === 'user' && name) return html`<${User} key=${name} name=${name} />`;
  if (kind === 'group' && name) return html`<${Group} key=${name} name=${name} />`;
  if (kind === 'policy' && name) return html`<${ManagedPolicy} key=${name} arn=${name} />`;
  if (kind === 'groups') {
    return html`<${List} key="groups" tab="groups" one="group" load=${listGroups} matches=${(it) => it.name} create=${NewGroup} empty="The policies of a group apply to its members."
      columns=${[['name', 'Name', 'main', entry('group')], ['id', 'Id', 'wide-only', (it) => html`<code class="muted">${it.id}</code>`], made]} />`;
  }
  if (kind === 'role' && name) return html`<${Role} key=${name} name=${name} />`;
  if (kind === 'roles') {
    return html`<${List} key="roles" tab="roles" one="role" load=${listRoles} matches=${(it) => it.name} create=${CreateRole} empty="A role gives temporary permissions to those who may assume it."
      columns=${[['name', 'Name', 'main', entry('role')], ['id', 'Id', 'wide-only', (it) => html`<code class="muted">${it.id}</code>`], made]} />`;
  }
  if (kind === 'policies') {
    return html`<${List} key="policies" tab="policies" one="policy" load=${async () => (await listPolicies()).map((it) => ({ ...it, kind: isBuiltIn(it.arn) ? 'built-in' : 'own' }))}
      matches=${(it) => `${it.name} ${it.kind}`} create=${NewPolicy} empty="A policy defines permissions of users."
      columns=${[['name', 'Name', 'main', (it) => html`<a href=${link(['users', 'policy', it.arn])}>${it.name}</a>`], ['kind', 'Kind', '', (it) => html`<span class="tag ${it.kind === 'own' ? 'accent' : ''}">${it.kind}</span>`],
    ['attachments', 'Attached', 'num', (it) => it.attachments], ['updated', 'Changed', 'num wide-only', (it) => html`<span class="muted">${isBuiltIn(it.arn) ? '' : time(it.updated)}</span>`]]} />`;
  }
  const load = async () => {
    const users = await listUsers();
    // Without the permission for one user, the others are not requested.
    const mayAsk = users.length <= STATES_MAX && users.length > 0 && await isEnabled(users[0].name) !== undefined;
    return users.map((it) => ({ ...it, isAsked: mayAsk }));
  };
  return html`<${List} key="users" tab="users" one="user" load=${load} matches=${(it) => it.name} create=${CreateUser} empty="The root user may do everything. Create a user for each program and person, with only the permissions it needs."
    note="Users of the configuration are not listed." columns=${[['name', 'Name', 'main', entry('user')], ['isAsked', 'State', '', (it) => it.isAsked && html`<${State} name=${it.name} />`],
    ['id', 'Id', 'wide-only', (it) => html`<code class="muted">${it.id}</code>`], made]} />`;
}
