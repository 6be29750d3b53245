// One vector: its elements and its metadata.

import { html, useState } from '../../vendor/preact.js';
import { deleteVectors, getVector } from '../../lib/vectors.js';
import { Button, Confirm, CopyButton, Dialog, Failure, Spinner, toast } from '../../ui/kit.js';
import { pretty } from '../../ui/editor.js';
import { useLoad } from '../../ui/hooks.js';
import { number } from '../../lib/format.js';

/** Maximum number of shown elements; Copy takes all. */
const ELEMENTS_MAX = 64;

export function VectorDrawer({ bucket, index, vectorKey, onClose, onChange, onQuery, onEdit }) {
  const { data, error, reload } = useLoad(() => getVector(bucket, index, vectorKey), [bucket, index, vectorKey]);
  const [isRemoving, setRemoving] = useState(false);
  const text = data && JSON.stringify(data.elements);
  const norm = data && Math.sqrt(data.elements.reduce((sum, it) => sum + it * it, 0));
  const edit = () => onEdit(pretty({ key: vectorKey, data: '…', metadata: data.metadata }).replace('"…"', () => text));
  return html`<${Dialog} kind="drawer" title=${vectorKey} onClose=${onClose} head=${html`<${Button} small icon="vectors" disabled=${!data} onClick=${onQuery}>Similar to this<//>
      <${Button} small disabled=${!data} onClick=${edit}>Edit<//><${Button} icon="trash" small kind="quiet" label="Delete" onClick=${() => setRemoving(true)} />`}>
    <div class="content stack" tabindex="0"><${Failure} error=${error} retry=${reload} />${!data && !error && html`<${Spinner} />`}
    ${data && html`<dl class="facts"><dt>Key</dt><dd><span class="row"><code class="grow">${vectorKey}</code><${CopyButton} text=${vectorKey} label="Copy the key" /></span></dd>
        <dt>Elements</dt><dd>${number(data.elements.length)}</dd><dt>Length</dt><dd>${norm.toPrecision(6)}</dd></dl>
      <h3>Metadata</h3>${Object.keys(data.metadata).length ? html`<pre class="preview wrapped" tabindex="0">${pretty(data.metadata)}</pre>` : html`<div class="note">No metadata.</div>`}
      <div class="row"><h3 class="grow">Vector</h3><${CopyButton} text=${text} label="Copy the vector" /></div>
      <pre class="preview wrapped" tabindex="0">[${data.elements.slice(0, ELEMENTS_MAX).join(', ')}${data.elements.length > ELEMENTS_MAX ? `, … ${number(data.elements.length - ELEMENTS_MAX)} more` : ''}]</pre>`}</div>
    ${isRemoving && html`<${Confirm} title="Delete vector" onClose=${(done) => { setRemoving(false); if (done) { onChange(); onClose(); } }}
      run=${async () => { await deleteVectors(bucket, index, [vectorKey]); toast('Deleted.'); }}><p><strong>${vectorKey}</strong> is deleted and cannot be restored.</p><//>`}<//>`;
}
