// Events of a bucket, sent to targets of the server.

import { html } from '../../vendor/preact.js';
import { eventTargetNames, serverParts } from '../../lib/server.js';
import { AreaField, Check, Choice, TextField } from '../../ui/kit.js';
import { useLoad } from '../../ui/hooks.js';
import { compact } from './panel.js';
import { Rules, fromLines, lines } from './rules.js';

/** The kinds of rules, and the member with their target, which may be of any kind. */
const KINDS = [['QueueConfigurations', 'QueueArn'], ['TopicConfigurations', 'TopicArn'], ['LambdaFunctionConfigurations', 'LambdaFunctionArn']];
const COMMON = [
  ['s3:ObjectCreated:*', 'Created'], ['s3:ObjectRemoved:*', 'Removed'], ['s3:ObjectTagging:*', 'Tagged'],
  ['s3:ObjectAcl:Put', 'ACL'], ['s3:LifecycleExpiration:*', 'Expired'],
];

const targetOf = (rule) => rule[KINDS.find(([kind]) => kind === rule.kind)[1]] ?? '';
/** The name of a target: the last part of an ARN of AWS, the last but one of MinIO's, or the name itself. */
const nameOf = (arn) => arn.split(':').at(arn.startsWith('arn:minio:') ? -2 : -1);
const filters = (rule) => rule.Filter?.Key?.FilterRules ?? [];
const filterOf = (rule, name) => filters(rule).find((it) => it.Name.toLowerCase() === name)?.Value ?? '';

function withFilter(rule, name, value) {
  const others = filters(rule).filter((it) => it.Name.toLowerCase() !== name);
  const all = value ? [...others, { Name: name, Value: value }] : others;
  const { Filter: { Key, ...more } = {}, ...rest } = rule;
  const filter = all.length ? { ...more, Key: { ...Key, FilterRules: all } } : more;
  return Object.keys(filter).length ? { ...rest, Filter: filter } : rest;
}

/** The names of the server's targets to choose from; a text where they are not known. */
function Target({ value, onInput }) {
  const { data: names } = useLoad(async () => eventTargetNames(await serverParts()), []);
  const current = nameOf(value);
  if (!names?.length) {
    return html`<${TextField} label="Target" value=${value} onInput=${onInput} hint=${names ? 'The server has no targets: start it with --event-target NAME=URL.'
      : 'Name of the target in the server’s options, or an ARN that ends with it.'} />`;
  }
  const options = names.includes(current) || !current ? names : [...names, current];
  return html`<${Choice} label="Target" value=${current} onChange=${onInput} options=${[['', 'Choose one'], ...options.map((it) => [it, it])]} />`;
}

function Form({ value, change }) {
  const member = KINDS.find(([kind]) => kind === value.kind)[1];
  const events = value.Events ?? [];
  const others = value.others ?? lines(events.filter((it) => !COMMON.some(([name]) => name === it)));
  const toggle = (name, is) => change({ ...value, Events: is ? [...events, name] : events.filter((it) => it !== name) });
  return html`<div class="inputs"><${Target} value=${value[member] ?? ''} onInput=${(text) => change({ ...value, [member]: text })} />
      <${TextField} label="Name of the rule" value=${value.Id ?? ''} onInput=${(Id) => change({ ...value, Id })} hint="Empty: the server generates one." /></div>
    <fieldset class="radios"><legend class="label">Events</legend><div class="row wrap">${COMMON.map(([name, label]) => html`<${Check} label=${label} checked=${events.includes(name)} onChange=${(is) => toggle(name, is)} />`)}</div></fieldset>
    <${AreaField} label="Other events" hint="One per line, such as s3:ObjectCreated:Copy." rows=${2} value=${others} onInput=${(text) => change({ ...value, others: text })} />
    <div class="inputs"><${TextField} label="Prefix" value=${filterOf(value, 'prefix')} onInput=${(text) => change(withFilter(value, 'prefix', text))} />
      <${TextField} label="Suffix" value=${filterOf(value, 'suffix')} onInput=${(text) => change(withFilter(value, 'suffix', text))} /></div>`;
}

/** A rule as it is sent, and its kind. */
function sent({ kind, others, ...rule }) {
  const member = KINDS.find(([it]) => it === kind)[1];
  const arn = (rule[member] ?? '').trim();
  const made = compact({ ...rule, [member]: arn && !arn.startsWith('arn:') ? `arn:aws:sqs:::${arn}` : arn });
  const common = (made.Events ?? []).filter((it) => COMMON.some(([name]) => name === it));
  return others === undefined ? made : { ...made, Events: [...common, ...fromLines(others)] };
}

const read = (value) => KINDS.flatMap(([kind]) => (value?.[kind] ?? []).map((rule) => ({ ...rule, kind })));

function write(value, rules) {
  const made = { ...value };
  for (const [kind] of KINDS) {
    const of = rules.filter((it) => it.kind === kind).map(sent);
    if (of.length) made[kind] = of;
    else delete made[kind];
  }
  return made;
}

export const Events = ({ bucket }) => html`<${Rules} bucket=${bucket} name="notification" title="Events" one="rule" Form=${Form} read=${read} write=${write}
  lead="Sends events of objects to targets of the server, such as webhooks. The server’s options define the targets."
  heads=${['Target', 'Events', 'Keys']} blank=${() => ({ kind: 'QueueConfigurations', Events: ['s3:ObjectCreated:*'] })}
  row=${(rule) => [html`<span title=${targetOf(rule)}>${nameOf(targetOf(rule))}</span>`, html`<span class="lines">${lines(rule.Events)}</span>`,
    filters(rule).length ? filters(rule).map((it) => html`<div>${it.Name.toLowerCase()} <code>${it.Value}</code></div>`) : 'all']} />`;
