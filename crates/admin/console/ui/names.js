// A page of names with filter, creation and deletion, and the dialog that creates one.

import { html, useMemo, useState } from '../vendor/preact.js';
import { Button, Dialog, Empty, Failure, Head, Menu, Search, Spinner, TextField, toast } from './kit.js';
import { useAction, useLoad, useShortcuts } from './hooks.js';
import { plural, time } from '../lib/format.js';

/** Creates what has only a name; `onClose` gets the name. */
export function CreateNamed({ what, hint, run, onClose }) {
  const [name, setName] = useState('');
  const [create, isBusy, error] = useAction(async () => {
    await run(name);
    toast(`${what[0].toUpperCase()}${what.slice(1)} ${name} was created.`);
    onClose(name);
  });
  return html`<${Dialog} title=${`New ${what}`} onClose=${() => onClose()} onSubmit=${() => name && !isBusy && create()}>
    <${TextField} label="Name" value=${name} onInput=${setName} hint=${hint} /><${Failure} error=${error} />
    <footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!name || isBusy}>Create<//></footer><//>`;
}

/** Opens what has a name, for users who may not list the names; `children` is further fields. */
export function OpenNamed({ label, hint, first = '', open, children }) {
  const [name, setName] = useState(first);
  const submit = (event) => { event.preventDefault(); if (name) open(name); };
  return html`<form class="card pad stack foot-note" onSubmit=${submit}><${TextField} label=${label} value=${name} onInput=${setName} hint=${hint} />${children}
    <div><${Button} type="submit" disabled=${!name}>Open<//></div></form>`;
}

/** `remove` may be missing; `start` is shown below an empty list, `denied` below a refusal. */
export function Names({ crumbs, icon, one, many, load, deps, create, remove, empty, href, columns = [], extra, start, denied }) {
  const { data, error, loading, reload } = useLoad(load, deps);
  const [filter, setFilter] = useState('');
  const [dialog, setDialog] = useState();
  useShortcuts({ n: () => setDialog('new'), '/': () => document.getElementById('filter')?.focus() });
  const shown = useMemo(() => (data ?? []).filter((it) => it.name.includes(filter)), [data, filter]);
  const button = html`<${Button} icon="plus" kind="primary" onClick=${() => setDialog('new')}>New ${one}<//>`;
  const closed = (done) => { setDialog(); if (done) reload(); };
  return html`<${Head} crumbs=${crumbs}><${Search} id="filter" label="Filter" value=${filter} onInput=${setFilter} />${button}${extra}<//>
    <div class="content"><${Failure} error=${error} retry=${reload} />${error?.status === 403 && denied}${!data && loading && html`<${Spinner} />`}
    ${data && !data.length && html`<div class="card"><${Empty} icon=${icon} title=${`No ${many} yet`}><p>${empty}</p><//></div>${start}`}
    ${data?.length > 0 && html`<div class="card scroll-x"><table><caption class="sr">${many}</caption><thead><tr><th>Name</th>${columns.map(([head, kind]) => html`<th class=${kind}>${head}</th>`)}
      <th class="num wide-only">Created</th>${remove && html`<th><span class="sr">Actions</span></th>`}</tr></thead>
      <tbody>${shown.map((it) => html`<tr key=${it.name}><td class="main"><a href=${href(it.name)}>${it.name}</a></td>${columns.map(([, kind, cell]) => html`<td class=${kind}>${cell(it)}</td>`)}
      <td class="num wide-only muted">${time(it.created)}</td>${remove && html`<td class="actions"><${Menu} small label=${`Actions on ${it.name}`} items=${[['trash', 'Delete', () => setDialog({ remove: it.name })]]} /></td>`}</tr>`)}</tbody></table>
      ${!shown.length && html`<div class="empty">No name contains “${filter}”.</div>`}</div><p class="muted foot-note" role="status">${plural(shown.length, one, many)}</p>`}</div>
    ${dialog === 'new' && create((name) => (name ? location.assign(href(name)) : setDialog()))}${dialog?.remove && remove(dialog.remove, closed)}`;
}
