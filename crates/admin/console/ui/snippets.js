// Texts to copy, one for each client.

import { html, useState } from '../vendor/preact.js';
import { CopyButton, Tabs } from './kit.js';

/** `all`: `[id, name of the client, text]`. */
export function Snippets({ all, first }) {
  const [kind, setKind] = useState(first);
  const [, name, text] = all.find(([id]) => id === kind);
  return html`<${Tabs} label="Client" current=${kind} onChange=${setKind} tabs=${all} />
    <div class="snippet" role="tabpanel" aria-label=${name}><pre class="preview" tabindex="0">${text}</pre><${CopyButton} text=${text} label=${`Copy for ${name}`} /></div>`;
}
