// An editor of JSON, which tells where the text is none.

import { html, useMemo } from '../vendor/preact.js';
import { reindent } from '../lib/json.js';
import { AreaField, Button } from './kit.js';

/** The error message for a text that is not valid JSON; undefined if it is valid. */
export function wrongJson(text) {
  try {
    JSON.parse(text);
    return '';
  } catch (error) {
    const at = Number(error.message.match(/position (\d+)/)?.[1] ?? NaN);
    if (Number.isNaN(at)) return `Invalid JSON: ${error.message}.`;
    const lines = text.slice(0, at).split('\n');
    return `Invalid JSON at line ${lines.length}, column ${lines[lines.length - 1].length + 1}.`;
  }
}

export const pretty = (value) => JSON.stringify(value, null, 2);

export function JsonEditor({ label, hint, value, onInput, ...rest }) {
  const wrong = useMemo(() => (value.trim() ? wrongJson(value) : ''), [value]);
  const rows = Math.min(26, Math.max(10, value.split('\n').length + 1));
  return html`<div class="stack tight"><${AreaField} label=${label} rows=${rows} value=${value} onInput=${onInput}
    aria-invalid=${wrong ? 'true' : undefined} ...${rest} /><div class="row"><small class="grow muted"><span class="bad" role="status">${wrong}</span>${!wrong && hint}</small>
    <${Button} small kind="quiet" disabled=${!value.trim() || Boolean(wrong)} onClick=${() => onInput(reindent(value))}>Format<//></div></div>`;
}
