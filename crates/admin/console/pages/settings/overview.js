// A bucket at a glance.

import { html } from '../../vendor/preact.js';
import { ownershipOf, readOverview } from '../../lib/overview.js';
import { CopyButton, Failure, Spinner } from '../../ui/kit.js';
import { link, useLoad } from '../../ui/hooks.js';
import { bytes, number, plural } from '../../lib/format.js';
import { about } from '../../lib/session.js';

const Tile = ({ name, value, more, kind = '', share }) => html`<div class="card tile"><small>${name}</small><b class=${kind}>${value}</b><small>${more ?? ' '}</small>
  ${share !== undefined && html`<div class="progress"><i class=${share > 0.9 ? 'full' : ''} style=${{ width: `${Math.min(100, 100 * share)}%` }} /></div>`}</div>`;

const UNKNOWN = html`<span class="muted">no permission to see it</span>`;
const count = (setting, list, one) => (list?.length ? plural(list.length, one) : setting ? 'none' : UNKNOWN);

function lockOf(setting) {
  if (!setting) return UNKNOWN;
  if (!setting.value) return 'off';
  const kept = setting.value.Rule?.DefaultRetention;
  return kept ? `on, new objects are kept for ${kept.Years ? plural(kept.Years, 'year') : plural(kept.Days, 'day')} (${kept.Mode.toLowerCase()})` : 'on, without a default retention';
}

function encryptionOf(setting) {
  if (!setting) return UNKNOWN;
  const by = setting.value?.Rules?.[0]?.ApplyServerSideEncryptionByDefault;
  return by ? (by.SSEAlgorithm === 'AES256' ? 'SSE-S3' : `SSE-KMS${by.KMSMasterKeyID ? `, ${by.KMSMasterKeyID}` : ''}`) : 'none';
}

function Tiles({ usage, quota, reasons, of }) {
  const isPublic = reasons?.length > 0;
  const share = quota > 0 && usage?.bytes !== undefined ? usage.bytes / quota : undefined;
  return html`<div class="tiles"><${Tile} name="Access" value=${reasons === undefined ? '–' : isPublic ? 'public' : 'private'} kind=${isPublic ? 'warn' : ''} more=${isPublic ? reasons.join(' and ') : reasons && 'signed requests only'} />
    ${usage?.bytes !== undefined && html`<${Tile} name="Objects" value=${number(usage.objects)} more=${`${plural(usage.versions, 'version')}`} />
      <${Tile} name="Size" value=${bytes(usage.bytes)} more="of all versions" />`}
    ${quota !== undefined && html`<${Tile} name="Quota" value=${quota ? bytes(quota) : 'none'} more=${share === undefined ? quota ? '' : 'no limit' : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} % used`} share=${share} />`}
    <${Tile} name="Versioning" value=${of.versioning ? (of.versioning.value?.Status ?? 'Off').toLowerCase() : '–'} more=${of['object-lock']?.value ? 'object lock is on' : ''} /></div>`;
}

export function Overview({ bucket }) {
  const { data, error, reload } = useLoad(() => readOverview(bucket), [bucket]);
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (!data) return html`<${Spinner} />`;
  const { of, acl } = data;
  const value = (name) => of[name]?.value;
  const events = ['QueueConfigurations', 'TopicConfigurations', 'LambdaFunctionConfigurations'].flatMap((kind) => value('notification')?.[kind] ?? []);
  const uri = `${location.origin}/${bucket}`;
  const rows = [
    ['policy', 'Policy', of.policy ? (value('policy') ? 'set' : 'none') : UNKNOWN],
    ['public-access', 'Public access block', of.publicAccessBlock ? (Object.values(value('publicAccessBlock') ?? {}).some((it) => it === true) ? 'on' : 'off') : UNKNOWN],
    ['ownership', 'Ownership', ownershipOf(value('ownershipControls')) ?? (of.ownershipControls ? 'default of the server' : UNKNOWN)],
    ['ownership', 'ACL', acl ? `${plural(acl.grants.length, 'grant')}` : UNKNOWN],
    ['object-lock', 'Object lock', lockOf(of['object-lock'])], ['encryption', 'Default encryption', encryptionOf(of.encryption)],
    ['lifecycle', 'Lifecycle', count(of.lifecycle, value('lifecycle')?.Rules, 'rule')], ['events', 'Events', count(of.notification, events, 'rule')],
    ['replication', 'Replication', of.replication ? (of.replication.document ? 'on' : 'none') : UNKNOWN],
    ['cors', 'CORS', count(of.cors, value('cors')?.CORSRules, 'rule')], ['website', 'Website', of.website ? (value('website') ? 'on' : 'off') : UNKNOWN],
    ['tags', 'Tags', count(of.tagging, value('tagging')?.TagSet?.Tags, 'tag')],
  ];
  return html`<${Tiles} ...${data} /><section class="card panel section" aria-label="Overview"><dl class="facts">
    <dt>Owner</dt><dd>${acl?.owner ?? UNKNOWN}</dd><dt>Region</dt><dd><code>${about().region}</code></dd>
    <dt>URI</dt><dd><span class="row"><code class="grow">s3://${bucket}</code><${CopyButton} text=${`s3://${bucket}`} label="Copy the URI" /></span></dd>
    <dt>URL</dt><dd><span class="row"><code class="grow">${uri}</code><${CopyButton} text=${uri} label="Copy the URL" /></span></dd>
    ${rows.map(([part, title, text]) => html`<dt><a href=${link(['buckets', bucket, 'settings', part])}>${title}</a></dt><dd>${text}</dd>`)}</dl></section>`;
}
