// Who owns new objects, whether ACLs count, and the ACL of the bucket.

import { html, useState } from '../../vendor/preact.js';
import { pathOf, send } from '../../lib/api.js';
import { ownershipOf, readAcl } from '../../lib/overview.js';
import { Button, Choice, Confirm, Failure, Spinner, toast } from '../../ui/kit.js';
import { useAction, useLoad } from '../../ui/hooks.js';
import { Panel, Radios, useSetting } from './panel.js';

const OWNERSHIPS = [
  ['BucketOwnerEnforced', 'Bucket owner enforced', 'ACLs have no effect: policies alone decide. Recommended.'],
  ['BucketOwnerPreferred', 'Bucket owner preferred', 'ACLs count. The bucket owner owns objects uploaded with bucket-owner-full-control.'],
  ['ObjectWriter', 'Object writer', 'ACLs count. The uploading account owns its objects.'],
];
const CANNED = [
  ['private', 'Private'], ['public-read', 'Public read: everyone may list it'], ['public-read-write', 'Public read and write'],
  ['authenticated-read', 'Every signed-in user may list it'], ['log-delivery-write', 'Access logs may be written to it'],
];

function Acl({ bucket, isEnforced }) {
  const { data, error, reload } = useLoad(() => readAcl(bucket), [bucket]);
  const [canned, setCanned] = useState('');
  const [run, isBusy, failed] = useAction(async () => {
    await send({ method: 'PUT', path: pathOf(bucket), query: { acl: '' }, headers: { 'x-amz-acl': canned } });
    toast('The ACL was set.');
    setCanned('');
    reload();
  });
  const submit = (event) => { event.preventDefault(); if (canned && !isBusy) run(); };
  return html`<form class="card panel" onSubmit=${submit} aria-label="ACL"><header class="row"><h2 class="grow">ACL</h2></header>
    <p class="lead">Grants of the bucket itself, from the time before policies.</p><${Failure} error=${error} retry=${reload} />${!data && !error && html`<${Spinner} />`}
    ${data && html`<div class="scroll-x bleed"><table class="stacked"><caption class="sr">Grants</caption><thead><tr><th>To</th><th>Permission</th></tr></thead><tbody>${data.grants.map((it) => html`<tr><td class="main">${it.who}${' '}${it.isPublic && html`<span class="tag warn">public</span>`}</td><td><code>${it.permission}</code></td></tr>`)}</tbody></table></div>
    ${isEnforced ? html`<div class="note">ACLs have no effect while the bucket owner is enforced.</div>` : html`<${Choice} label="Replace it by" value=${canned} onChange=${setCanned} options=${[['', 'Choose one'], ...CANNED]} />
      <${Failure} error=${failed} /><footer class="row"><${Button} type="submit" kind="primary" disabled=${!canned || isBusy}>Set the ACL<//></footer>`}`}</form>`;
}

export function Ownership({ bucket }) {
  const setting = useSetting(bucket, 'ownershipControls');
  const [isRemoving, setRemoving] = useState(false);
  const current = ownershipOf(setting.value) ?? '';
  const dialog = isRemoving && html`<${Confirm} title="Remove the ownership" action="Remove" onClose=${() => setRemoving(false)}
    run=${() => setting.store(undefined, setting.base, 'The ownership was removed.')}><p>ACLs of <strong>${bucket}</strong> and its objects count as they do without the setting.</p><//>`;
  return html`<${Panel} title="Object ownership" setting=${setting} mayRemove=${() => setRemoving(true)} dialog=${dialog} lead="The owner of new objects, and whether ACLs have an effect.">
      <${Radios} legend="Object ownership" name="ownership" value=${current} options=${OWNERSHIPS} onChange=${(ObjectOwnership) => setting.change({ ...setting.value, Rules: [{ ...setting.value?.Rules?.[0], ObjectOwnership }] })} /><//>
    <${Acl} key=${ownershipOf(setting.set)} bucket=${bucket} isEnforced=${ownershipOf(setting.set) === 'BucketOwnerEnforced'} />`;
}
