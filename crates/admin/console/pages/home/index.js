// The start page: the state of the server, how to reach it, and one's own keys.

import { html, useState } from '../../vendor/preact.js';
import { about, current, formerId, nameOf } from '../../lib/session.js';
import { readHealth, serverInfo } from '../../lib/server.js';
import { snippets } from '../../lib/snippets.js';
import { readMetrics } from '../../lib/prometheus.js';
import { Button, CopyButton, Head, Spinner } from '../../ui/kit.js';
import { Snippets } from '../../ui/snippets.js';
import { go, link, useLoad, useShortcuts } from '../../ui/hooks.js';
import { bytes, number, plural, span } from '../../lib/format.js';
import { CreateBucket } from '../buckets.js';
import { Keys } from '../users/keys.js';
import { OwnKeys } from '../users/own_keys.js';

const Tile = ({ name, value, more, share, kind = '' }) => html`<div class="card tile"><small>${name}</small><b class=${kind}>${value}</b>
  <small>${more ?? ' '}</small>${share !== undefined && html`<div class="progress"><i class=${share > 0.9 ? 'full' : ''} style=${{ width: `${Math.min(100, 100 * share)}%` }} /></div>`}</div>`;

async function load() {
  const [health, info, metrics] = await Promise.all([readHealth(), serverInfo().catch(() => undefined), readMetrics().catch(() => undefined)]);
  return { health, info, metrics };
}

function Tiles({ health, info, metrics }) {
  const free = metrics?.sum('liteio_store_free_bytes');
  const all = metrics?.sum('liteio_store_capacity_bytes');
  const indexes = metrics?.sum('liteio_vector_indexes');
  const uptime = info?.servers?.[0]?.uptime;
  return html`<div class="tiles"><${Tile} name="Health" value=${health.isReady ? 'ready' : 'not ready'} kind=${health.isReady ? 'good' : 'bad'} more=${health.reason ?? 'reads and writes'} />
    <${Tile} name="Version" value=${about().version} more="LiteIO" />
    ${uptime !== undefined && html`<${Tile} name="Up" value=${span(uptime)} more="since the start" />`}
    ${metrics && html`<${Tile} name="Disk" value=${free === undefined ? 'in memory' : bytes(free)} more=${all ? `free of ${bytes(all)}` : 'lost at the end of the server'} share=${all ? 1 - free / all : undefined} />
      <${Tile} name="Stored" value=${bytes(metrics.sum('liteio_stored_bytes'))} more=${`${plural(metrics.sum('liteio_objects'), 'object')} in ${plural(metrics.sum('liteio_buckets'), 'bucket')}`} />
      ${indexes > 0 && html`<${Tile} name="Vector indexes" value=${number(indexes)} more=${`in ${plural(metrics.sum('liteio_vector_buckets'), 'vector bucket')}`} />`}
      <${Tile} name="Requests" value=${number(metrics.sum('liteio_requests_total'))} more="since the start" />`}</div>`;
}

function Connect() {
  const endpoint = location.origin;
  const all = snippets({ endpoint, region: about().region, id: formerId() || 'YOUR_ACCESS_KEY', secret: 'YOUR_SECRET_KEY' });
  return html`<section class="card panel section" aria-label="Connect"><header class="row"><h2 class="grow">Connect</h2></header>
    <dl class="facts"><dt>Endpoint</dt><dd><span class="row"><code class="grow">${endpoint}</code><${CopyButton} text=${endpoint} label="Copy the endpoint" /></span></dd>
      <dt>Region</dt><dd><code>${about().region}</code></dd><dt>Signed in as</dt><dd><code>${current()?.arn}</code></dd></dl>
    <${Snippets} all=${all} first="aws" />
    <p class="muted none">${about().open ? 'This server checks no signatures: any keys will do.' : 'Insert your secret key, or create an access key below or in Users.'}${location.protocol === 'http:' && ' Over plain HTTP everybody on the network can read it: use TLS beyond this machine.'}</p></section>`;
}

/** Users that the IAM API made have keys of their own; those of the configuration have one there. */
function AllKeys() {
  const arn = current()?.arn ?? '';
  if (arn.includes(':user/')) return html`<${Keys} name=${nameOf({ user: arn })} isOwn /><${OwnKeys} />`;
  if (arn.includes(':assumed-role/')) {
    return html`<section class="card panel section" aria-label="Your access keys"><h2>Your access keys</h2>
      <p class="muted none">You are signed in by an issuer, for a time: a role has no access keys.</p></section>`;
  }
  return html`<section class="card panel section" aria-label="Your access keys"><h2>Your access keys</h2>
    <p class="muted none">You are the root user: its key is in the configuration of the server. Create a <a href=${link(['users'])}>user</a> for each program and person.</p></section><${OwnKeys} />`;
}

export function Home() {
  const { data, loading } = useLoad(load, []);
  const [isCreating, setCreating] = useState(false);
  useShortcuts({ n: () => setCreating(true) });
  return html`<${Head} crumbs=${['Home']}><${Button} icon="plus" kind="primary" onClick=${() => setCreating(true)}>New bucket<//><//>
    <div class="content" tabindex="0" role="region" aria-label="Home">${!data && loading && html`<${Spinner} />`}
    ${data && html`<${Tiles} ...${data} />`}<div class="stack"><${Connect} />${!about().open && html`<${AllKeys} />`}</div></div>
    ${isCreating && html`<${CreateBucket} onClose=${(name) => (name ? go(['buckets', name]) : setCreating(false))} />`}`;
}
