// The public access block of a bucket.

import { html, useState } from '../../vendor/preact.js';
import { Check, Confirm } from '../../ui/kit.js';
import { Panel, useSetting } from './panel.js';

const PARTS = [
  ['BlockPublicAcls', 'Refuse public ACLs', 'Puts that would set one are refused.'],
  ['IgnorePublicAcls', 'Ignore public ACLs', 'Those that there are count for nothing.'],
  ['BlockPublicPolicy', 'Refuse public policies', 'A bucket policy that opens the bucket to everybody is refused.'],
  ['RestrictPublicBuckets', 'Restrict a public bucket', 'A public policy that there is counts for users of the owner’s account only.'],
];

export function PublicAccess({ bucket }) {
  const setting = useSetting(bucket, 'publicAccessBlock');
  const [isRemoving, setRemoving] = useState(false);
  const value = setting.value ?? {};
  const dialog = isRemoving && html`<${Confirm} title="Remove the public access block" action="Remove" onClose=${() => setRemoving(false)}
      run=${() => setting.store(undefined, setting.base, 'The public access block was removed.')}>
      <p>Policies and ACLs that open <strong>${bucket}</strong> to everybody count again.</p><//>`;
  return html`<${Panel} title="Public access block" setting=${setting} mayRemove=${() => setRemoving(true)} dialog=${dialog}
    lead="Keeps a bucket private, whatever its policy and ACLs say. Without it a bucket is private until one of these opens it.">
    <div class="stack tight">${PARTS.map(([part, label, hint]) => html`<${Check} label=${label} hint=${hint} checked=${value[part] === true}
      onChange=${(is) => setting.change({ ...value, [part]: is })} />`)}</div><//>`;
}
