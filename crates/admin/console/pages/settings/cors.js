// CORS: the pages of other origins that may use the bucket in a browser.

import { html } from '../../vendor/preact.js';
import { AreaField, Check, TextField } from '../../ui/kit.js';
import { compact } from './panel.js';
import { Rules, fromLines, lines } from './rules.js';

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'];
const LISTS = ['AllowedOrigins', 'AllowedHeaders', 'ExposeHeaders'];

/** A list as text: the lines stay unchanged until the rule is sent. */
function Form({ value, change }) {
  const area = (label, hint, member) => html`<${AreaField} label=${label} hint=${hint} rows=${3} value=${typeof value[member] === 'string' ? value[member] : lines(value[member])}
    onInput=${(text) => change({ ...value, [member]: text })} />`;
  const methods = value.AllowedMethods ?? [];
  const toggle = (method, is) => change({ ...value, AllowedMethods: is ? [...methods, method] : methods.filter((it) => it !== method) });
  return html`${area('Origins', 'One per line, with scheme and port, or *.', 'AllowedOrigins')}
    <fieldset class="radios"><legend class="label">Methods</legend><div class="row wrap">${METHODS.map((method) => html`<${Check} label=${method} checked=${methods.includes(method)} onChange=${(is) => toggle(method, is)} />`)}</div></fieldset>
    <div class="inputs">${area('Headers that pages may send', 'One per line; * matches any.', 'AllowedHeaders')}${area('Headers that pages may read', 'One per line, such as ETag.', 'ExposeHeaders')}</div>
    <div class="inputs"><${TextField} label="Name" value=${value.ID ?? ''} onInput=${(ID) => change({ ...value, ID })} />
      <${TextField} label="Preflight cache lifetime in seconds" type="number" min="0" value=${value.MaxAgeSeconds ?? ''} onInput=${(MaxAgeSeconds) => change({ ...value, MaxAgeSeconds })} /></div>`;
}

/** A rule as it is sent. */
function sent(rule) {
  const made = compact(rule);
  for (const member of LISTS) if (typeof made[member] === 'string') made[member] = fromLines(made[member]);
  return made;
}

export const Cors = ({ bucket }) => html`<${Rules} bucket=${bucket} name="cors" title="CORS" one="rule" Form=${Form}
  lead="Lets scripts in pages of other origins use the bucket from a browser. CORS grants no access: requests still need a signature."
  read=${(value) => value?.CORSRules ?? []} write=${(value, rules) => (rules.length ? { ...value, CORSRules: rules.map(sent) } : undefined)}
  heads=${['Origins', 'Methods', 'Headers']} blank=${() => ({ AllowedOrigins: [], AllowedMethods: ['GET'] })}
  row=${(rule) => [html`<span class="lines">${lines(rule.AllowedOrigins)}</span>`, (rule.AllowedMethods ?? []).join(', '), html`<span class="lines muted">${lines(rule.AllowedHeaders) || '–'}</span>`]} />`;
