// The policy of a bucket: its text, as it was sent.

import { html, useState } from '../../vendor/preact.js';
import { sendForXml, pathOf } from '../../lib/api.js';
import { Confirm, Menu } from '../../ui/kit.js';
import { JsonEditor, pretty } from '../../ui/editor.js';
import { useLoad } from '../../ui/hooks.js';
import { Panel, useSetting } from './panel.js';

const statement = (bucket, action, resource) => pretty({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: '*', Action: action, Resource: resource.map((it) => `arn:aws:s3:::${bucket}${it}`) }],
});
const TEMPLATES = [
  ['Public read', (bucket) => statement(bucket, 's3:GetObject', ['/*'])],
  ['Public read and list', (bucket) => statement(bucket, ['s3:GetObject', 's3:ListBucket'], ['', '/*'])],
  ['TLS only', (bucket) => pretty({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Deny', Principal: '*', Action: 's3:*', Resource: [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`],
      Condition: { Bool: { 'aws:SecureTransport': 'false' } } }],
  })],
];

/** True if the policy is public; undefined without the permission to ask. */
async function isPublic(bucket) {
  try {
    return (await sendForXml({ path: pathOf(bucket), query: { policyStatus: '' } })).get('IsPublic') === 'true';
  } catch {
    return undefined;
  }
}

export function Policy({ bucket }) {
  const setting = useSetting(bucket, 'policy');
  const status = useLoad(() => (setting.isSet ? isPublic(bucket) : undefined), [bucket, setting.data]);
  const [isRemoving, setRemoving] = useState(false);
  const text = setting.value ?? '';
  const side = html`${status.data === true && html`<span class="tag warn">public</span>`}${status.data === false && html`<span class="tag">not public</span>`}
    <${Menu} label="Templates" small kind="" items=${TEMPLATES.map(([name, make]) => ['file', name, () => setting.change(make(bucket))])}>Templates<//>`;
  const dialog = isRemoving && html`<${Confirm} title="Delete the policy" onClose=${() => setRemoving(false)}
      run=${() => setting.store(undefined, setting.base, 'The policy was deleted.')}><p>The permissions and denials in the policy of <strong>${bucket}</strong> no longer apply.</p><//>`;
  return html`<${Panel} title="Bucket policy" setting=${setting} side=${side} isValid=${text.trim() !== ''} removeWords="Delete the policy" mayRemove=${() => setRemoving(true)} dialog=${dialog}
    lead="Permissions for the bucket and its objects, in addition to user policies.">
    <${JsonEditor} label="Policy" value=${text} onInput=${setting.change} placeholder="No policy is set." /><//>`;
}
