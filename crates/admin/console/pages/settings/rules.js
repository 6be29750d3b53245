// Settings that are lists of rules: a table with a form for each rule, and the JSON.

import { html, useState } from '../../vendor/preact.js';
import { Button, Confirm, Dialog, Failure, SaveFailure, Spinner, Tabs } from '../../ui/kit.js';
import { JsonEditor, pretty, wrongJson } from '../../ui/editor.js';
import { useAction } from '../../ui/hooks.js';
import { Panel, useSetting } from './panel.js';

/** The dialog of one rule. The input stays if the server refuses it. */
function RuleDialog({ title, rule, Form, more, store, onClose }) {
  const [value, setValue] = useState(rule);
  const [run, isBusy, error] = useAction(async (force) => { await store(value, force); onClose(); });
  return html`<${Dialog} title=${title} kind="wide" onClose=${() => !isBusy && onClose()} onSubmit=${() => !isBusy && run()}>
    <${Form} value=${value} change=${setValue} />
    ${more?.(value).length > 0 && html`<div class="note">This rule also has ${more(value).join(', ')}. The form keeps these unchanged; edit them as JSON.</div>`}
    <${SaveFailure} error=${error} onForce=${() => run(true)} />
    <footer><${Button} onClick=${onClose} disabled=${isBusy}>Cancel<//><${Button} type="submit" kind="primary" disabled=${isBusy}>Save<//></footer><//>`;
}

/** All rules as JSON. The text is kept as typed, valid or not. */
function Json({ title, lead, bucket, name, side }) {
  const setting = useSetting(bucket, name, `${name} as JSON`);
  const text = setting.isDirty ? setting.value : setting.set === undefined ? '' : pretty(setting.set);
  const toSave = () => (text.trim() ? JSON.parse(text) : undefined);
  return html`<${Panel} title=${title} lead=${lead} side=${side} setting=${setting} toSave=${toSave} isValid=${!text.trim() || !wrongJson(text)}>
    <${JsonEditor} label="JSON of the AWS CLI" value=${text} onInput=${setting.change} hint="An empty text removes all rules." /><//>`;
}

/**
 * A list of rules. `read` returns the rules of a document, `write` the document with other rules (`undefined`: none).
 * `more` names the parts of a rule that its form does not show.
 */
export function Rules({ bucket, name, title, lead, one, read, write, heads, row, blank, Form, more }) {
  const setting = useSetting(bucket, name);
  const [view, setView] = useState('rules');
  const [dialog, setDialog] = useState();
  const rules = read(setting.set);
  const base = setting.data?.document;
  const store = (next, force, words) => setting.store(write(setting.set, next), force ? undefined : base, words);
  const [toggle, isBusy, failed] = useAction((at, rule) => store(rules.with(at, rule)));
  const closed = () => { setDialog(); setting.reload(); };
  const side = html`<${Tabs} label="View" current=${view} onChange=${(to) => { setView(to); if (to === 'rules') setting.reload(); }} tabs=${[['rules', 'Rules'], ['json', 'JSON']]} />`;
  if (view === 'json') return html`<${Json} title=${title} lead=${lead} bucket=${bucket} name=${name} side=${side} />`;
  return html`<section class="card panel" aria-label=${title}><header class="row"><h2 class="grow">${title}</h2>${side}</header><p class="lead">${lead}</p>
    <${Failure} error=${setting.loadError} retry=${setting.reload} /><${SaveFailure} error=${failed} onLoad=${setting.reload} />
    ${!setting.data && setting.loading && html`<${Spinner} />`}
    ${setting.data && (rules.length ? html`<div class="scroll-x bleed"><table class="stacked"><caption class="sr">${title}</caption><thead><tr>${heads.map((it) => html`<th>${it}</th>`)}<th><span class="sr">Actions</span></th></tr></thead>
      <tbody>${rules.map((rule, at) => html`<tr>${row(rule, (next) => !isBusy && toggle(at, next)).map((cell) => html`<td>${cell}</td>`)}
      <td class="actions"><${Button} small label=${`Edit rule ${at + 1}`} onClick=${() => setDialog({ at })}>Edit<//>${' '}<${Button} small kind="quiet" icon="trash" label=${`Delete rule ${at + 1}`} onClick=${() => setDialog({ remove: at })} /></td></tr>`)}</tbody></table></div>`
    : html`<div class="note">No rules.</div>`)}
    ${setting.data && html`<footer class="row"><${Button} icon="plus" onClick=${() => setDialog({ at: rules.length })}>Add a rule<//></footer>`}</section>
    ${dialog?.at !== undefined && html`<${RuleDialog} title=${dialog.at < rules.length ? `Edit the ${one}` : `New ${one}`} rule=${rules[dialog.at] ?? blank()} Form=${Form} more=${more}
      store=${(rule, force) => store(dialog.at < rules.length ? rules.with(dialog.at, rule) : [...rules, rule], force)} onClose=${closed} />`}
    ${dialog?.remove !== undefined && html`<${Confirm} title=${`Delete the ${one}`} onClose=${closed}
      run=${() => store(rules.filter((_, at) => at !== dialog.remove), false, 'The rule was deleted.')}><p>The ${one} ${rules[dialog.remove]?.ID ?? rules[dialog.remove]?.Id ?? dialog.remove + 1} no longer applies.</p><//>`}`;
}

/** A text area with one item per line, as a list. Empty lines are ignored. */
export const lines = (list) => (list ?? []).join('\n');
export const fromLines = (text) => text.split('\n').map((it) => it.trim()).filter(Boolean);
