// The default encryption of new objects.

import { html } from '../../vendor/preact.js';
import { serverParts } from '../../lib/server.js';
import { Check, Choice, TextField } from '../../ui/kit.js';
import { useLoad } from '../../ui/hooks.js';
import { Panel, Radios, useSetting } from './panel.js';

const METHODS = [
  ['', 'None', 'Objects are encrypted only if their upload asks for it.'],
  ['AES256', 'SSE-S3', 'With the master key of the server.'],
  ['aws:kms', 'SSE-KMS', 'With one of the KMS keys of the server.'],
];

export function Encryption({ bucket }) {
  const setting = useSetting(bucket, 'encryption');
  const keys = useLoad(async () => (await serverParts())?.encryption, []).data;
  const [rule = {}, ...others] = setting.value?.Rules ?? [];
  const by = rule.ApplyServerSideEncryptionByDefault ?? {};
  const typed = (next) => setting.change({ ...setting.value, Rules: [{ ...rule, ...next }, ...others] });
  const method = (SSEAlgorithm) => {
    if (!SSEAlgorithm) { setting.change(undefined); return; }
    const { KMSMasterKeyID, ...rest } = by;
    typed({ ApplyServerSideEncryptionByDefault: { ...rest, SSEAlgorithm, ...(SSEAlgorithm === 'aws:kms' && KMSMasterKeyID ? { KMSMasterKeyID } : {}) } });
  };
  const key = (text) => {
    const { KMSMasterKeyID, ...rest } = by;
    typed({ ApplyServerSideEncryptionByDefault: text ? { ...rest, KMSMasterKeyID: text } : rest });
  };
  const current = by.SSEAlgorithm ?? '';
  // What the server has no key for would refuse every upload.
  const lacks = { AES256: keys?.master === false, 'aws:kms': keys?.keys?.length === 0 };
  const known = METHODS.some(([it]) => it === current) ? METHODS : [...METHODS, [current, current]];
  const options = known.map(([it, text, hint]) => [it, text, lacks[it] ? 'The server has no key for it.' : hint, lacks[it] && it !== current]);
  const names = keys?.keys?.length ? [...new Set([...keys.keys, ...(by.KMSMasterKeyID ? [by.KMSMasterKeyID] : [])])] : undefined;
  return html`<${Panel} title="Default encryption" setting=${setting} lead="Encryption of new objects whose upload does not specify one. Existing objects stay unchanged.">
    ${(lacks.AES256 || lacks['aws:kms']) && html`<div class="note">Keys come from the server’s options <code>--master-key-file</code> and <code>--kms-key-file</code>.</div>`}
    <${Radios} legend="Encryption" name="encryption" value=${current} onChange=${method} options=${options} />
    ${current.startsWith('aws:kms') && html`${names ? html`<${Choice} label="KMS key" value=${by.KMSMasterKeyID ?? ''} onChange=${key} options=${[['', `The default, ${keys.keys[0]}`], ...names.map((it) => [it, it])]} />`
      : html`<${TextField} label="KMS key" value=${by.KMSMasterKeyID ?? ''} onInput=${key} hint="Name, alias or ARN; default: the first key of the server." />`}
      <${Check} label="Bucket key" hint="Accepted for compatibility; has no effect." checked=${rule.BucketKeyEnabled === true} onChange=${(BucketKeyEnabled) => typed({ BucketKeyEnabled })} />`}<//>`;
}
