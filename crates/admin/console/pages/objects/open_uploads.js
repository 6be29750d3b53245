// Multipart uploads that were started and not completed.

import { html } from '../../vendor/preact.js';
import { ApiError } from '../../lib/api.js';
import { abortUpload, listUploads } from '../../lib/s3.js';
import { Button, Dialog, Failure, Spinner, toast } from '../../ui/kit.js';
import { useAction, useLoad } from '../../ui/hooks.js';
import { plural, time } from '../../lib/format.js';

export function OpenUploads({ bucket, prefix, onClose }) {
  const { data, error, reload } = useLoad(() => listUploads(bucket, { prefix }), [bucket, prefix]);
  const [abort, isBusy, failed] = useAction(async (uploads) => {
    const failed = [];
    for (const { key, upload } of uploads) {
      try {
        await abortUpload(bucket, key, upload);
      } catch (error) {
        failed.push(`${key}: ${error.message}`);
      }
    }
    reload();
    if (failed.length) throw new ApiError('', `${plural(failed.length, 'upload')} could not be aborted. ${failed.slice(0, 3).join(' ')}`, 0);
    toast('Aborted.');
  });
  const uploads = data?.entries;
  return html`<${Dialog} title="Unfinished uploads" kind="wide" onClose=${onClose}>
    <p class="muted">Multipart uploads that were neither completed nor aborted. Their parts take space.</p>
    <${Failure} error=${error ?? failed} />${!data && !error && html`<${Spinner} />`}
    ${uploads && !uploads.length && html`<div class="note">No unfinished uploads${prefix ? ` below ${prefix}` : ''}.</div>`}
    ${uploads?.length > 0 && html`<div class="scroll-x"><table><caption class="sr">Unfinished uploads</caption><thead><tr><th>Key</th><th class="num">Started</th><th class="wide-only">By</th><th><span class="sr">Actions</span></th></tr></thead>
      <tbody>${uploads.map((it) => html`<tr key=${it.upload}><td class="main">${it.key}</td><td class="num">${time(it.initiated)}</td><td class="wide-only">${it.initiator}</td>
      <td class="actions"><${Button} small kind="danger" disabled=${isBusy} onClick=${() => abort([it])}>Abort<//></td></tr>`)}</tbody></table></div>
      ${data.next && html`<div class="note">Only the first ${uploads.length} are shown.</div>`}
      <footer><${Button} kind="danger" disabled=${isBusy} onClick=${() => abort(uploads)}>Abort all ${uploads.length}<//></footer>`}<//>`;
}
