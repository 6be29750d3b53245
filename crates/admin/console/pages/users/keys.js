// The access keys of a user, or one's own.

import { html, useState } from '../../vendor/preact.js';
import { createKey, deleteKey, listKeys, setKeyActive } from '../../lib/iam.js';
import { about } from '../../lib/session.js';
import { credentialsFile, snippets } from '../../lib/snippets.js';
import { saveBlob } from '../../lib/zip.js';
import { Button, Confirm, CopyButton, Dialog, Secret } from '../../ui/kit.js';
import { useAction, useLoad } from '../../ui/hooks.js';
import { time } from '../../lib/format.js';
import { Refused, Rows, Section } from './parts.js';

/** A new key. The secret is shown once, to copy or as a file. */
export function NewKey({ made, onClose }) {
  const key = { endpoint: location.origin, region: about().region, ...made };
  const file = (text, name) => () => saveBlob(new Blob([text], { type: 'application/octet-stream' }), name);
  return html`<${Dialog} title="New access key" onClose=${onClose}>
    <div class="note warn">The secret key is shown now and never again.</div><${Secret} label="Access key" text=${made.id} /><${Secret} label="Secret key" text=${made.secret} />
    <div class="row wrap"><${Button} small icon="download" onClick=${file(snippets(key)[0][2], 'liteio.env')}>.env<//>
      <${Button} small icon="download" onClick=${file(credentialsFile(key), 'credentials')}>AWS credentials<//>
      <${CopyButton} text=${snippets(key)[0][2]} label="Copy as .env" /></div>
    <footer><${Button} kind="primary" onClick=${onClose}>Done<//></footer><//>`;
}

export function Keys({ name, isOwn }) {
  const title = isOwn ? 'Your access keys' : 'Access keys';
  const { data, error, reload } = useLoad(() => listKeys(name), [name]);
  const [dialog, setDialog] = useState();
  const [act, isBusy, failed] = useAction(async (work) => { await work(); reload(); });
  const create = () => act(async () => setDialog({ made: await createKey(name) }));
  const closed = () => { setDialog(); reload(); };
  const whose = isOwn ? 'your keys' : 'the keys of this user';
  // A user of the configuration is no user of the IAM API.
  if (isOwn && error?.code === 'NoSuchEntity') return html`<${Section} title=${title}><p class="muted none">Your key is in the configuration of the server.</p><//>`;
  return html`<${Section} title=${title} error=${error} what=${`see ${whose}`} retry=${reload} side=${html`<${Button} small icon="plus" disabled=${isBusy} onClick=${create}>Create<//>`}>
    <${Refused} error=${failed} what=${`change ${whose}`} />
    ${data && html`<${Rows} label=${title} heads=${[['Key'], ['State'], ['Created', 'num wide-only']]} none="None: the user cannot sign a request." rows=${data.map((it) => html`<tr key=${it.id}><td><span class="row"><code>${it.id}</code><${CopyButton} text=${it.id} label=${`Copy ${it.id}`} /></span></td>
      <td><span class="tag ${it.isActive ? 'good' : 'bad'}">${it.isActive ? 'active' : 'inactive'}</span></td><td class="num wide-only muted">${time(it.created)}</td>
      <td class="actions"><${Button} small disabled=${isBusy} label=${`${it.isActive ? 'Deactivate' : 'Activate'} ${it.id}`} onClick=${() => act(() => setKeyActive(name, it.id, !it.isActive))}>${it.isActive ? 'Deactivate' : 'Activate'}<//>
      ${' '}<${Button} small kind="quiet" icon="trash" label=${`Delete ${it.id}`} onClick=${() => setDialog({ remove: it.id })} /></td></tr>`)} />`}<//>
    ${dialog?.made && html`<${NewKey} made=${dialog.made} onClose=${closed} />`}
    ${dialog?.remove && html`<${Confirm} title="Delete the access key" onClose=${closed} run=${() => deleteKey(name, dialog.remove)}><p>Requests with <code>${dialog.remove}</code> are refused from now on.</p><//>`}`;
}
