// A new user in one form: name, access key, policy and groups.

import { html, useRef, useState } from '../../vendor/preact.js';
import { attach, createKey, createUser, isBuiltIn, join, listGroups, listPolicies } from '../../lib/iam.js';
import { Button, Check, Choice, Dialog, Failure, TextField } from '../../ui/kit.js';
import { go, useAction, useLoad } from '../../ui/hooks.js';
import { NewKey } from './keys.js';

const GROUPS_MAX = 30;

export function NewUser({ hint, onClose }) {
  const policies = useLoad(() => listPolicies().catch(() => []), []);
  const groups = useLoad(() => listGroups().catch(() => []), []);
  const [name, setName] = useState('');
  const [policy, setPolicy] = useState('');
  const [chosen, setChosen] = useState([]);
  const [wantsKey, setWantsKey] = useState(true);
  const [made, setMade] = useState();
  // After a failure, a second try goes on where the first one has ended.
  const done = useRef(new Set());
  const once = async (id, work) => {
    if (done.current.has(id)) return undefined;
    const result = await work();
    done.current.add(id);
    return result;
  };
  const [run, isBusy, error] = useAction(async () => {
    await once('user', () => createUser(name));
    if (policy) await once(policy, () => attach('User', name, policy));
    for (const group of chosen) await once(`group ${group}`, () => join(group, name));
    const key = wantsKey ? await once('key', () => createKey(name)) : undefined;
    if (key) setMade(key);
    else go(['users', 'user', name]);
  });
  if (made) return html`<${NewKey} made=${made} onClose=${() => go(['users', 'user', name])} />`;
  const isMade = done.current.has('user');
  const close = () => (isMade ? go(['users', 'user', name]) : onClose());
  const sorted = [...policies.data ?? []].sort((a, b) => isBuiltIn(a.arn) - isBuiltIn(b.arn));
  const toggle = (group, is) => setChosen(is ? [...chosen, group] : chosen.filter((it) => it !== group));
  return html`<${Dialog} title="New user" onClose=${() => !isBusy && close()} onSubmit=${() => name && !isBusy && run()}>
    <${TextField} label="Name" hint=${hint} value=${name} onInput=${setName} disabled=${isMade} />
    <${Choice} label="Policy" value=${policy} onChange=${setPolicy} options=${[['', 'None yet'], ...sorted.map((it) => [it.arn, `${it.name}${isBuiltIn(it.arn) ? ' (built-in)' : ''}`])]} hint="More policies can be attached later." />
    ${groups.data?.length > 0 && html`<fieldset class="radios"><legend class="label">Groups</legend><div class="row wrap">${groups.data.slice(0, GROUPS_MAX).map((it) => html`<${Check} label=${it.name} checked=${chosen.includes(it.name)} onChange=${(is) => toggle(it.name, is)} />`)}</div></fieldset>`}
    <${Check} label="Create an access key" hint="Its secret is shown once, after Create." checked=${wantsKey} onChange=${setWantsKey} />
    ${isMade && html`<div class="note warn">The user exists; a later step has failed. Try again, or close and go on at the page of the user.</div>`}<${Failure} error=${error} />
    <footer><${Button} onClick=${close} disabled=${isBusy}>${isMade ? 'Close' : 'Cancel'}<//><${Button} type="submit" kind="primary" disabled=${!name || isBusy}>${isMade ? 'Try again' : 'Create'}<//></footer><//>`;
}
