// Replication of a bucket: its rules, the figures of its targets, and the walks over existing versions.

import { html } from '../../vendor/preact.js';
import { cancelWalk, readReplication, startWalk } from '../../lib/replication.js';
import { Button, Failure, Spinner, toast } from '../../ui/kit.js';
import { useAction, useLoad } from '../../ui/hooks.js';
import { bytes, number, plural, seconds, time } from '../../lib/format.js';

/** The last part of an ARN, which names the bucket at the target. */
const short = (arn) => arn.split(':').pop();

const Filter = ({ rule }) => html`${rule.prefix ? html`<div>prefix <code>${rule.prefix}</code></div>` : !rule.tags.length && 'all'}
  ${rule.tags.map(([key, value]) => html`<div>tag <code>${key}=${value}</code></div>`)}`;

const RuleTable = ({ rules }) => html`<div class="scroll-x bleed"><table class="stacked"><caption class="sr">Rules</caption>
  <thead><tr><th>Rule</th><th>Target</th><th>Keys</th><th>Also copies</th></tr></thead>
  <tbody>${rules.map((rule) => html`<tr><td>${rule.id || '–'}${!rule.isEnabled && html` <small class="muted">(disabled)</small>`}<div><small class="muted">priority ${rule.priority ?? '–'}</small></div></td>
    <td><span title=${rule.target}>${short(rule.target)}</span>${rule.storageClass && html`<div><small>as ${rule.storageClass}</small></div>`}</td>
    <td><${Filter} rule=${rule} /></td><td>${rule.also.length ? rule.also.map((it) => html`<div>${it}</div>`) : 'new versions only'}</td></tr>`)}</tbody></table></div>`;

const TargetTable = ({ targets }) => html`<h3>Targets</h3><div class="scroll-x bleed" tabindex="0" role="region" aria-label="Targets"><table><caption class="sr">Targets</caption>
  <thead><tr><th>Target</th><th class="num">Waiting</th><th class="num">Oldest</th><th class="num">Copied</th><th class="num">Bytes</th><th class="num">Failures</th></tr></thead>
  <tbody>${targets.map((it) => html`<tr data-target=${it.arn}><td><span title=${it.arn}>${short(it.arn)}</span>${it.isFailing && html`<div class="bad"><small>does not take what it gets</small></div>`}</td>
    <td class="num">${number(it.waiting)}</td><td class="num ${it.isFailing ? 'bad' : ''}">${it.waiting ? seconds(it.oldest) : '–'}</td><td class="num">${number(it.copied)}</td>
    <td class="num">${bytes(it.bytes)}</td><td class="num ${it.failed ? 'bad' : 'muted'}">${number(it.failed)}</td></tr>`)}</tbody></table></div>
  <p class="muted">Of all buckets that use a target. Copies, bytes and failures since the server start.</p>`;

function Walk({ walk, target, bucket, reload }) {
  const [run, isBusy, failed] = useAction(async (action, words) => { await action(bucket, target); toast(words); reload(); });
  const isOngoing = walk?.status === 'Ongoing';
  return html`<div class="row wrap"><span class="grow"><span title=${target}>${short(target)}</span>: ${walk
    ? `${walk.status.toLowerCase()}, ${plural(walk.queued, 'version')} queued (${bytes(walk.bytes)}), ${isOngoing ? 'since' : 'begun'} ${time(walk.started)}` : 'never begun'}</span>
    ${isOngoing ? html`<${Button} small kind="danger" disabled=${isBusy} onClick=${() => run(cancelWalk, 'The walk was cancelled.')}>Cancel<//>`
    : html`<${Button} small disabled=${isBusy} onClick=${() => run(startWalk, 'All versions are queued again.')}>Copy everything again<//>`}</div><${Failure} error=${failed} />`;
}

export function Replication({ bucket }) {
  const { data, error, loading, reload } = useLoad(() => readReplication(bucket), [bucket]);
  return html`<section class="card panel" aria-label="Replication"><header class="row"><h2 class="grow">Replication</h2>
      <${Button} small onClick=${reload} disabled=${loading}>Refresh<//></header>
    <p class="lead">Copies versions to buckets of other servers. Rules and targets are set by the AWS CLI or <code>mc replicate add</code>.</p>
    <${Failure} error=${error} retry=${reload} />${!data && loading && html`<${Spinner} />`}
    ${data === null && html`<div class="note">No rules.</div>`}
    ${data && html`<${RuleTable} rules=${data.rules} />${data.targets.length > 0 && html`<${TargetTable} targets=${data.targets} />`}
      ${data.enabled.length > 0 && html`<h3>Existing versions</h3>${data.enabled.map((target) => html`<${Walk} key=${target} bucket=${bucket} target=${target}
        walk=${data.walks.find((it) => it.target === target)} reload=${reload} />`)}`}`}</section>`;
}
