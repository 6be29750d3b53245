// The public access block of a bucket.

import { html, useState } from '../../vendor/preact.js';
import { Check, Confirm } from '../../ui/kit.js';
import { Panel, useSetting } from './panel.js';

const PARTS = [
  ['BlockPublicAcls', 'Refuse public ACLs', 'Requests that set a public ACL are refused.'],
  ['IgnorePublicAcls', 'Ignore public ACLs', 'Existing public ACLs have no effect.'],
  ['BlockPublicPolicy', 'Refuse public policies', 'A bucket policy that makes the bucket public is refused.'],
  ['RestrictPublicBuckets', 'Restrict a public bucket', 'An existing public policy applies only to users of the owner’s account.'],
];

export function PublicAccess({ bucket }) {
  const setting = useSetting(bucket, 'publicAccessBlock');
  const [isRemoving, setRemoving] = useState(false);
  const value = setting.value ?? {};
  const dialog = isRemoving && html`<${Confirm} title="Remove the public access block" action="Remove" onClose=${() => setRemoving(false)}
      run=${() => setting.store(undefined, setting.base, 'The public access block was removed.')}>
      <p>Policies and ACLs that make <strong>${bucket}</strong> public take effect again.</p><//>`;
  return html`<${Panel} title="Public access block" setting=${setting} mayRemove=${() => setRemoving(true)} dialog=${dialog}
    lead="Keeps a bucket private regardless of its policy and ACLs. Without it a bucket is private until its policy or an ACL makes it public.">
    <div class="stack tight">${PARTS.map(([part, label, hint]) => html`<${Check} label=${label} hint=${hint} checked=${value[part] === true}
      onChange=${(is) => setting.change({ ...value, [part]: is })} />`)}</div><//>`;
}
