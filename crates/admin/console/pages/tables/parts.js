// Parts of the pages of a table and of a view.

import { html, useState } from '../../vendor/preact.js';
import { columnsOf, drop, objectAt } from '../../lib/tables.js';
import { Check, Confirm, CopyButton, toast } from '../../ui/kit.js';
import { Grid } from '../../ui/grid.js';
import { link } from '../../ui/hooks.js';
import { number, plural } from '../../lib/format.js';

const PROPERTIES_MAX = 500;

export const Facts = ({ rows }) => html`<dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value ?? '–'}</dd>`)}</dl>`;

/** A file or a folder of S3 as a link to its page. */
export function Place({ at, isFolder }) {
  const found = objectAt(at);
  const path = found && link(['buckets', found.bucket], isFolder ? { prefix: `${found.key.replace(/\/+$/, '')}/` } : { key: found.key });
  return html`<span class="row"><code class="grow">${path ? html`<a href=${path}>${at}</a>` : at}</code><${CopyButton} text=${at} label="Copy the location" /></span>`;
}

/** Names and values, such as the properties of a table. */
export function Properties({ of = {} }) {
  const all = Object.entries(of);
  if (!all.length) return html`<p class="muted none">None.</p>`;
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="Properties"><table class="headers"><caption class="sr">Properties</caption><thead class="sr"><tr><th>Name</th><th>Value</th></tr></thead>
    <tbody>${all.slice(0, PROPERTIES_MAX).map(([name, value]) => html`<tr><td>${name}</td><td><code>${typeof value === 'string' ? value : JSON.stringify(value)}</code></td></tr>`)}</tbody></table></div>
    ${all.length > PROPERTIES_MAX && html`<p class="muted none">The first ${number(PROPERTIES_MAX)} of ${number(all.length)}.</p>`}`;
}

export function Schema({ schema }) {
  const columns = columnsOf(schema);
  const keys = new Set(schema?.['identifier-field-ids']);
  const row = (at) => {
    const it = columns[at];
    return html`<div role="gridcell" class="cut" style=${{ paddingLeft: `${16 * it.depth}px` }} title=${it.name}>${it.name}</div><div role="gridcell" class="cut mono" title=${it.type}>${it.type}</div>
      <div role="gridcell" class="muted">${keys.has(it.id) ? 'identifier' : it.isRequired ? 'required' : 'optional'}</div><div role="gridcell" class="num wide-only">${it.id}</div><div role="gridcell" class="cut muted wide-only" title=${it.doc}>${it.doc}</div>`;
  };
  return html`<${Grid} label="Columns" columns="cols-schema" count=${columns.length} row=${row} heads=${[['Column'], ['Type'], ['Value'], ['Id', 'num wide-only'], ['Comment', 'wide-only']]}
    foot=${html`<span role="status">${plural(columns.length, 'column or field', 'columns and fields')}</span>`} />`;
}

/** Drops a table, with its files if that is wanted, or a view. */
export function Drop({ bucket, namespace, kind, name, onClose }) {
  const [isPurge, setPurge] = useState(false);
  const what = kind === 'tables' ? 'table' : 'view';
  return html`<${Confirm} title=${`Drop ${what}`} word=${name} action=${isPurge ? 'Drop table and delete files' : `Drop ${what}`} onClose=${onClose}
    run=${async () => { await drop(bucket, namespace, kind, name, isPurge); toast(`The ${what} ${name} was dropped.`); }}>
    <p><strong>${name}</strong> is removed from the catalog. ${isPurge ? 'Every object below its location is deleted. This cannot be undone.' : 'Its files stay.'}</p>
    ${what === 'table' && html`<${Check} label="Delete its files, too" checked=${isPurge} onChange=${setPurge} />`}<//>`;
}
