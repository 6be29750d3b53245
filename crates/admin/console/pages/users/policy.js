// A managed policy: its document, its versions, and the users, groups and roles that have it.

import { html, useState } from '../../vendor/preact.js';
import {
  createPolicy, deletePolicy, deletePolicyVersion, entitiesOf, getPolicy, getPolicyVersion, isBuiltIn, listPolicyVersions, putPolicy, setDefaultVersion,
} from '../../lib/iam.js';
import { Button, Confirm, CopyButton, Dialog, Failure, Head, Menu, Spinner, TextField, toast } from '../../ui/kit.js';
import { reindent } from '../../lib/json.js';
import { JsonEditor } from '../../ui/editor.js';
import { go, link, useAction, useDraft, useLoad } from '../../ui/hooks.js';
import { time } from '../../lib/format.js';
import { Refused, Rows, Section } from './parts.js';
import { FIRST } from './policies_of.js';

export function NewPolicy({ onClose }) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [text, setText] = useState(FIRST);
  const [run, isBusy, error] = useAction(async () => { const { arn } = await createPolicy(name, text, description); go(['users', 'policy', arn]); });
  return html`<${Dialog} title="New policy" kind="wide" onClose=${() => !isBusy && onClose()} onSubmit=${() => name && !isBusy && run()}>
    <div class="inputs"><${TextField} label="Name" value=${name} onInput=${setName} /><${TextField} label="Description" value=${description} onInput=${setDescription} /></div>
    <${JsonEditor} label="Policy" value=${text} onInput=${setText} /><${Failure} error=${error} />
    <footer><${Button} onClick=${onClose}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!name || isBusy}>Create<//></footer><//>`;
}

/** The document, with an editor for policies of the account. The draft stays until it is saved and loaded. */
function Document({ arn, shown, retry, load, onSaved }) {
  const { text, textError, version, draftKey } = shown;
  const [typed, setTyped] = useDraft(draftKey);
  const [run, isBusy, failed] = useAction(async () => {
    await putPolicy(arn, typed);
    const next = await load();
    setTyped();
    toast('Saved as a new version.');
    onSaved(next);
  });
  const isOwn = !isBuiltIn(arn);
  return html`<${Section} title="Document" error=${textError} what="see the document of this policy" retry=${retry} side=${html`<span class="tag">${version}</span>`}>
    ${text !== undefined && (isOwn ? html`<${JsonEditor} label="Policy" value=${typed ?? text} onInput=${setTyped} hint="Saving creates a new version and removes the oldest one if five exist." />` : html`<pre class="preview" tabindex="0">${text}</pre>`)}
    <${Failure} error=${failed} />
    ${isOwn && text !== undefined && html`<footer class="row"><${Button} kind="primary" disabled=${typed === undefined || isBusy} onClick=${run}>Save<//>${typed !== undefined && html`<${Button} kind="quiet" disabled=${isBusy} onClick=${() => setTyped()}>Discard<//>`}
      <span class="muted" role="status">${typed !== undefined ? 'Not saved yet.' : ''}</span></footer>`}<//>`;
}

function Versions({ arn, shown, onShow, onChange }) {
  const { data, error, reload } = useLoad(() => listPolicyVersions(arn), [arn]);
  const [act, isBusy, failed] = useAction(async (work, words) => { await work(); toast(words); reload(); onChange(); });
  return html`<${Section} title="Versions" error=${error ?? failed} what="change the versions of this policy" retry=${reload}>
    ${data && html`<${Rows} label="Versions" heads=${[['Version'], ['Created', 'num']]} rows=${data.map((it) => html`<tr key=${it.id}><td class="main">${it.id}${' '}${it.isDefault && html`<span class="tag accent">in effect</span>`}</td>
      <td class="num muted">${time(it.created)}</td><td class="actions"><${Menu} small label=${`Actions on ${it.id}`} items=${[it.id !== shown && ['file', 'Show', () => onShow(it.id)],
    !it.isDefault && ['check', 'Activate', () => act(() => setDefaultVersion(arn, it.id), `Version ${it.id} is in effect.`), isBusy],
    !it.isDefault && ['trash', 'Delete', () => act(() => deletePolicyVersion(arn, it.id), `Version ${it.id} was deleted.`), isBusy]]} /></td></tr>`)} />`}<//>`;
}

function Entities({ arn }) {
  const { data, error, reload } = useLoad(() => entitiesOf(arn), [arn]);
  const names = (kind, list) => list.map((it) => html`<a href=${link(['users', kind, it])}>${it}</a>`);
  const rows = data && [['Users', names('user', data.users)], ['Groups', names('group', data.groups)], ['Roles', names('role', data.roles)]].filter(([, list]) => list.length);
  return html`<${Section} title="Attached to" error=${error} what="see the users of this policy" retry=${reload}>
    ${rows && (rows.length ? html`<dl class="facts">${rows.map(([title, list]) => html`<dt>${title}</dt><dd class="row wrap">${list}</dd>`)}</dl>` : html`<p class="muted none">Nobody.</p>`)}<//>`;
}

/** A policy and the document of a version; by default the active one. */
async function loadPolicy(arn, chosen) {
  const policy = await getPolicy(arn);
  const version = chosen ?? policy.version;
  const draftKey = chosen ? `${arn} ${chosen}` : arn;
  try {
    return { policy, version, draftKey, text: reindent(await getPolicyVersion(arn, version)) };
  } catch (textError) {
    return { policy, version, draftKey, textError };
  }
}

export function ManagedPolicy({ arn }) {
  const [chosen, setChosen] = useState();
  const { data: shown, error, loading, reload, set } = useLoad(() => loadPolicy(arn, chosen), [arn, chosen]);
  const data = shown?.policy;
  const [round, setRound] = useState(0);
  const [isRemoving, setRemoving] = useState(false);
  const changed = (next) => {
    setChosen();
    setRound(round + 1);
    if (next) set(next);
    else reload();
  };
  const name = arn.split('/').pop();
  return html`<${Head} crumbs=${[['Users', '#/users'], ['Policies', '#/users/policies'], name]}>${data && !isBuiltIn(arn) && html`<${Menu} label="Actions on the policy" kind="" items=${[['trash', 'Delete', () => setRemoving(true)]]} />`}<//>
    <div class="content"><div class="stack">${!data && loading && html`<${Spinner} />`}<${Refused} error=${error} what="see this policy" retry=${reload} />
    ${data && html`<section class="card panel section" aria-label="Policy"><dl class="facts"><dt>ARN</dt><dd><span class="row"><code class="grow">${arn}</code><${CopyButton} text=${arn} label="Copy the ARN" /></span></dd>
      ${data.description && html`<dt>Description</dt><dd>${data.description}</dd>`}<dt>Kind</dt><dd>${isBuiltIn(arn) ? 'Built-in: it comes with the server and cannot be changed.' : `Own, changed ${time(data.updated)}`}</dd></dl></section>
      <${Document} arn=${arn} shown=${shown} retry=${reload} load=${() => loadPolicy(arn)} onSaved=${changed} /><${Entities} arn=${arn} />
      ${!isBuiltIn(arn) && html`<${Versions} key=${round} arn=${arn} shown=${shown.version} onShow=${setChosen} onChange=${() => changed()} />`}`}</div></div>
    ${isRemoving && html`<${Confirm} title="Delete the policy" onClose=${(done) => { setRemoving(false); if (done) { toast(`Policy ${name} was deleted.`); go(['users', 'policies']); } }} run=${() => deletePolicy(arn)}><p><strong>${name}</strong> is deleted with all of its versions. Detach it from all users, groups and roles first.</p><//>`}`;
}
