// Lifecycle rules: automatic deletion.

import { html } from '../../vendor/preact.js';
import { Check, TextField } from '../../ui/kit.js';
import { compact } from './panel.js';
import { Rules } from './rules.js';

const days = (count) => (count === undefined || count === '' ? undefined : `${count} d`);

const prefixOf = (rule) => rule.Prefix ?? rule.Filter?.Prefix ?? rule.Filter?.And?.Prefix ?? '';

/** The rule with another prefix, in the place of the old one. */
export function withPrefix(rule, prefix) {
  if ('Prefix' in rule) return { ...rule, Prefix: prefix };
  const { And, Prefix, ...others } = rule.Filter ?? {};
  if (And) {
    const { Prefix: former, ...rest } = And;
    return { ...rule, Filter: { And: prefix ? { Prefix: prefix, ...rest } : rest } };
  }
  if (!Object.keys(others).length || !prefix) return { ...rule, Filter: prefix || !Object.keys(others).length ? { Prefix: prefix } : others };
  // S3 requires two conditions to be in And.
  const { Tag, ...sizes } = others;
  return { ...rule, Filter: { And: { Prefix: prefix, ...(Tag && { Tags: [Tag] }), ...sizes } } };
}

const KNOWN = ['ID', 'Status', 'Prefix', 'Filter', 'Expiration', 'NoncurrentVersionExpiration', 'AbortIncompleteMultipartUpload'];
const WORDS = {
  Tag: 'a tag', Tags: 'tags', ObjectSizeGreaterThan: 'a minimum size', ObjectSizeLessThan: 'a maximum size', Transitions: 'transitions',
  NoncurrentVersionTransitions: 'transitions of noncurrent versions', Date: 'an expiration date',
};

/** The parts of a rule that the form does not show. */
function more(rule) {
  const { Prefix, And, ...filter } = typeof rule.Filter === 'object' ? rule.Filter : {};
  const { Prefix: inner, ...and } = And ?? {};
  const found = [...Object.keys(filter), ...Object.keys(and), ...Object.keys(rule).filter((it) => !KNOWN.includes(it)),
    ...(rule.Expiration?.Date ? ['Date'] : [])];
  return found.map((it) => WORDS[it] ?? it);
}

function effects(rule) {
  const { Expiration = {}, NoncurrentVersionExpiration: old = {}, AbortIncompleteMultipartUpload: abort = {} } = rule;
  return [
    Expiration.Days !== undefined && `expire after ${days(Expiration.Days)}`, Expiration.Date && `expire on ${Expiration.Date.slice(0, 10)}`,
    Expiration.ExpiredObjectDeleteMarker && 'remove delete markers without versions',
    old.NoncurrentDays !== undefined && `noncurrent versions after ${days(old.NoncurrentDays)}${old.NewerNoncurrentVersions ? `, except the newest ${old.NewerNoncurrentVersions}` : ''}`,
    abort.DaysAfterInitiation !== undefined && `abort uploads after ${days(abort.DaysAfterInitiation)}`,
    rule.Transitions && 'transitions', rule.NoncurrentVersionTransitions && 'transitions of noncurrent versions',
  ].filter(Boolean).join('; ');
}

const scope = (rule) => html`${prefixOf(rule) ? html`<code>${prefixOf(rule)}</code>` : 'whole bucket'}${more(rule).filter((it) => !it.startsWith('transitions')).map((it) => html`${' '}<span class="tag">${it}</span>`)}`;

/** The rule with `next` in one of its parts; an empty part is removed. */
function withPart(rule, part, next) {
  const { [part]: former, ...rest } = rule;
  const made = compact({ ...former, ...next });
  return Object.keys(made).length ? { ...rest, [part]: made } : rest;
}

function Form({ value, change }) {
  const { Expiration = {}, NoncurrentVersionExpiration: old = {}, AbortIncompleteMultipartUpload: abort = {} } = value;
  const count = (label, hint, part, member, more = {}) => html`<${TextField} label=${label} hint=${hint} type="number" min="1"
    value=${value[part]?.[member] ?? ''} onInput=${(text) => change(withPart(value, part, { ...(text && more), [member]: text }))} />`;
  return html`<div class="inputs"><${TextField} label="Name" value=${value.ID ?? ''} onInput=${(ID) => change({ ...value, ID })} hint="Empty: the server generates one." />
      <${TextField} label="Prefix" value=${prefixOf(value)} onInput=${(text) => change(withPrefix(value, text))} hint="Keys with this prefix; empty: all." /></div>
    <${Check} label="Enabled" checked=${value.Status === 'Enabled'} onChange=${(is) => change({ ...value, Status: is ? 'Enabled' : 'Disabled' })} />
    <div class="inputs">${count('Expire objects after days', Expiration.Date ? `Currently on ${Expiration.Date.slice(0, 10)}; days replace the date.` : 'With versioning they become noncurrent.', 'Expiration', 'Days', { Date: undefined, ExpiredObjectDeleteMarker: undefined })}
      ${count('Abort unfinished uploads after days', '', 'AbortIncompleteMultipartUpload', 'DaysAfterInitiation')}</div>
    <div class="inputs">${count('Delete noncurrent versions after days', '', 'NoncurrentVersionExpiration', 'NoncurrentDays')}
      ${count('Noncurrent versions to keep', 'Empty: none.', 'NoncurrentVersionExpiration', 'NewerNoncurrentVersions')}</div>
    <${Check} label="Remove delete markers without versions" disabled=${Expiration.Days !== undefined || Expiration.Date !== undefined} checked=${Expiration.ExpiredObjectDeleteMarker === true}
      onChange=${(is) => change(withPart(value, 'Expiration', { ExpiredObjectDeleteMarker: is || undefined }))} />`;
}

/** A rule as it is sent: without an empty name, but with an empty prefix. */
const sent = ({ ID, ...rule }) => (ID ? { ID, ...rule } : rule);

export const Lifecycle = ({ bucket }) => html`<${Rules} bucket=${bucket} name="lifecycle" title="Lifecycle" one="rule" more=${more}
  lead="Rules run once a day, after midnight UTC. Without versioning, deleted objects cannot be restored."
  read=${(value) => value?.Rules ?? []} write=${(value, rules) => (rules.length ? { ...value, Rules: rules.map(sent) } : undefined)}
  heads=${['Rule', 'Objects', 'Effect', 'State']} Form=${Form} blank=${() => ({ ID: '', Status: 'Enabled', Filter: { Prefix: '' } })}
  row=${(rule, toggle) => [html`<strong>${rule.ID}</strong>`, scope(rule), effects(rule), html`<button type="button" class="tag press ${rule.Status === 'Enabled' ? 'good' : ''}"
    aria-pressed=${rule.Status === 'Enabled'} onClick=${() => toggle({ ...rule, Status: rule.Status === 'Enabled' ? 'Disabled' : 'Enabled' })}>${rule.Status}</button>`]} />`;
