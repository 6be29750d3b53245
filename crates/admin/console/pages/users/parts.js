// Common parts of the pages of users, groups and policies.

import { html, useMemo, useState } from '../../vendor/preact.js';
import { Icon } from '../../ui/icons.js';
import { Button, Dialog, Empty, Failure, Head, Search, Spinner, TextField } from '../../ui/kit.js';
import { link, useAction, useLoad, useShortcuts } from '../../ui/hooks.js';
import { plural } from '../../lib/format.js';
import { current, nameOf } from '../../lib/session.js';

const TABS = [['users', 'Users'], ['groups', 'Groups'], ['roles', 'Roles'], ['policies', 'Policies']];
/** Maximum number of rows that a table shows. */
const ROWS_MAX = 500;

/** An error; a missing permission has advice. */
export const Refused = ({ error, what, retry }) => (error?.status === 403 && error.code === 'AccessDenied'
  ? html`<div class="note warn" role="alert"><p><strong>You may not ${what}.</strong> An administrator of this account can allow it with a policy.</p><p>${error.message}</p>
    ${current() && html`<a href=${link(['users', 'user', nameOf(current())])}>Show your own user</a>`}</div>`
  : html`<${Failure} error=${error} retry=${retry} />`);

/**
 * One of the lists. `columns`: `[id, text, class, cell]`; `order` compares by the id of a column.
 */
export function List({ tab, one, load, columns, matches, create, empty, note }) {
  const { data, error, loading, reload } = useLoad(load, []);
  const [filter, setFilter] = useState('');
  const [[by, step], setOrder] = useState([columns[0][0], 1]);
  const [isCreating, setCreating] = useState(false);
  useShortcuts({ n: () => setCreating(true), '/': () => document.getElementById('filter')?.focus() });
  const found = useMemo(() => {
    const text = filter.toLowerCase();
    const compare = (a, b) => (a[by] === b[by] ? 0 : (typeof a[by] === 'string' ? a[by].toLowerCase() < String(b[by]).toLowerCase() : a[by] < b[by]) ? -1 : 1);
    return (data ?? []).filter((it) => matches(it).toLowerCase().includes(text)).sort((a, b) => step * compare(a, b));
  }, [data, filter, by, step]);
  const shown = found.slice(0, ROWS_MAX);
  const Create = create;
  return html`<${Head} crumbs=${['Users']}><${Search} id="filter" label="Filter" value=${filter} onInput=${setFilter} />
    <${Button} icon="plus" kind="primary" onClick=${() => setCreating(true)}>New ${one}<//><//>
    <div class="content"><nav class="tabs under" aria-label="Kinds">${TABS.map(([id, text]) => html`<a href=${link(['users', ...(id === 'users' ? [] : [id])])} aria-current=${id === tab ? 'page' : undefined}>${text}</a>`)}</nav>
    <${Refused} error=${error} what=${`list ${tab}`} retry=${reload} />${!data && loading && html`<${Spinner} />`}
    ${data && !data.length && html`<div class="card"><${Empty} icon="users" title=${`No ${tab} yet`}><p>${empty}</p><${Button} kind="primary" icon="plus" onClick=${() => setCreating(true)}>New ${one}<//><//></div>`}
    ${data?.length > 0 && html`<div class="card scroll-x"><table><caption class="sr">${TABS.find(([id]) => id === tab)[1]}</caption><thead><tr>${columns.map(([id, text, kind = '']) => html`<th class=${kind}
      aria-sort=${by === id ? (step > 0 ? 'ascending' : 'descending') : undefined}><button class="sort" onClick=${() => setOrder([id, by === id ? -step : 1])}>${text}
      ${by === id && html`<${Icon} name=${step > 0 ? 'up' : 'down'} />`}</button></th>`)}</tr></thead>
      <tbody>${shown.map((it) => html`<tr key=${it.arn}>${columns.map(([, , kind = '', cell]) => html`<td class=${kind}>${cell(it)}</td>`)}</tr>`)}</tbody></table>
      ${!shown.length && html`<div class="empty">No entry contains “${filter}”.</div>`}</div>
      <p class="muted foot-note" role="status">${plural(found.length, one, tab)}${shown.length < found.length ? `, the first ${ROWS_MAX} are shown: use the filter` : ''}. ${note ?? ''}</p>`}</div>
    ${isCreating && html`<${Create} onClose=${() => setCreating(false)} />`}`;
}

/** The dialog that creates an entity with a name. */
export function Named({ title, label, hint, run, onClose }) {
  const [name, setName] = useState('');
  const [act, isBusy, error] = useAction(() => run(name));
  return html`<${Dialog} title=${title} onClose=${onClose} onSubmit=${() => name && !isBusy && act()}>
    <${TextField} label=${label} hint=${hint} value=${name} onInput=${setName} /><${Failure} error=${error} />
    <footer><${Button} onClick=${onClose}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!name || isBusy}>Create<//></footer><//>`;
}

/** A card of a page: a title, a button or two, a table or a note. */
export const Section = ({ title, side, error, what, retry, children }) => html`<section class="card panel section" aria-label=${title}><header class="row"><h2 class="grow">${title}</h2>${side}</header>
  <${Refused} error=${error} what=${what} retry=${retry} />${children}</section>`;

/** A table in a card, or a text if it is empty. */
export const Rows = ({ label, heads, rows, none }) => (rows.length
  ? html`<div class="scroll-x bleed"><table class="stacked"><caption class="sr">${label}</caption><thead><tr>${heads.map(([text, kind = '']) => html`<th class=${kind}>${text}</th>`)}<th><span class="sr">Actions</span></th></tr></thead>
    <tbody>${rows}</tbody></table></div>` : html`<p class="muted none">${none}</p>`);
