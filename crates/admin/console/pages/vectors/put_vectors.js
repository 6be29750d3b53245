// The dialog that puts vectors from JSON.

import { html, useState } from '../../vendor/preact.js';
import { parseVectors, putVectors } from '../../lib/vectors.js';
import { Button, Dialog, Failure, toast } from '../../ui/kit.js';
import { JsonEditor } from '../../ui/editor.js';
import { useAction } from '../../ui/hooks.js';
import { plural } from '../../lib/format.js';

export function PutVectors({ bucket, index, about, text: given, onClose }) {
  const [text, setText] = useState(given);
  const [done, setDone] = useState(0);
  const [run, isBusy, error] = useAction(async () => {
    const vectors = parseVectors(text, about?.dimension);
    await putVectors(bucket, index, vectors, setDone);
    toast(`${plural(vectors.length, 'vector')} stored.`);
    onClose(true);
  });
  const example = `[\n  { "key": "first", "data": [${Array.from({ length: Math.min(3, about?.dimension ?? 3) }, (_, i) => `0.${i + 1}`).join(', ')}${about?.dimension > 3 ? ', …' : ''}], "metadata": { "genre": "drama" } }\n]`;
  return html`<${Dialog} title="Put vectors" kind="wide" onClose=${() => !isBusy && onClose()} onSubmit=${() => text.trim() && !isBusy && run()}>
    <p class="muted">A vector, or a list of vectors, with a key, ${plural(about?.dimension ?? 0, 'number')} and optional metadata. Vectors with the same keys are replaced.</p>
    <${JsonEditor} label="Vectors as JSON" value=${text} onInput=${setText} placeholder=${example} />
    ${isBusy && done > 0 && html`<p role="status">${plural(done, 'vector')} put</p>`}<${Failure} error=${error} />
    <footer><${Button} onClick=${() => onClose()}>Cancel<//><${Button} type="submit" kind="primary" disabled=${!text.trim() || isBusy}>Put<//></footer><//>`;
}
