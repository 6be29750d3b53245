// One request of the trace, with its headers.

import { html } from '../../vendor/preact.js';
import { Button, CopyButton, Dialog } from '../../ui/kit.js';
import { link } from '../../ui/hooks.js';
import { bytes, clock, number, seconds, time } from '../../lib/format.js';
import { kindOf } from './index.js';

const Headers = ({ title, headers }) => html`<h3>${title}</h3><div class="card scroll-x" tabindex="0" role="region" aria-label=${title}><table class="headers">
  <thead class="sr"><tr><th>Name</th><th>Value</th></tr></thead><tbody>${headers.map(([name, value]) => html`<tr><td>${name}</td><td>
  ${value === '***' ? html`<span class="muted" title="Secret, removed by the server">hidden</span>` : html`<code>${value}</code>`}</td></tr>`)}</tbody></table></div>`;

export function TraceEntry({ entry, newer, older, onClose }) {
  const { bucket } = entry;
  const rows = [
    ['Time', `${time(entry.time).slice(0, 10)} ${clock(entry.time)}`], ['Operation', entry.operation ?? 'other'],
    ['Request', html`<code>${entry.method} ${entry.path}${entry.query && `?${entry.query}`}</code>`],
    bucket && ['Bucket', html`<a href=${link(['buckets', bucket])}>${bucket}</a>`],
    entry.key && ['Key', html`<a href=${link(['buckets', bucket], { key: entry.key })}>${entry.key}</a>`],
    ['Status', html`<span class="tag ${kindOf(entry.status)}">${entry.status || 'client disconnected'}</span> ${entry.code ?? ''}`],
    ['User', entry.user ?? html`<span class="muted">anonymous</span>`], entry.access_key && ['Access key', html`<code>${entry.access_key}</code>`],
    ['Client', html`<code>${entry.client}</code> <span class="muted">${entry.protocol}</span>`],
    ['Duration', seconds(entry.milliseconds / 1000)],
    ['Received', `${bytes(entry.bytes_in)} (${number(entry.bytes_in)} bytes)`], ['Sent', `${bytes(entry.bytes_out)} (${number(entry.bytes_out)} bytes)`],
    ['Request id', html`<span class="row"><code class="grow">${entry.id}</code><${CopyButton} text=${entry.id} label="Copy the request id" /></span>`],
  ].filter(Boolean);
  return html`<${Dialog} kind="drawer" title=${`${entry.method} ${entry.operation ?? entry.path}`} onClose=${onClose} head=${html`
    <${Button} icon="up" small kind="quiet" label="Newer" disabled=${!newer} onClick=${newer || undefined} /><${Button} icon="down" small kind="quiet" label="Older" disabled=${!older} onClick=${older || undefined} />`}>
    <div class="content stack" tabindex="0">
    ${entry.denied && html`<div class="note bad"><strong>Denied</strong><br />${entry.denied}</div>`}
    <dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
    <${Headers} title="Request headers" headers=${entry.request_headers} />
    <${Headers} title="Response headers" headers=${entry.response_headers} /></div><//>`;
}
