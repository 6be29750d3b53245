// A bucket as a website: its index and its error document.

import { html, useState } from '../../vendor/preact.js';
import { Confirm, TextField } from '../../ui/kit.js';
import { Panel, useSetting } from './panel.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** The address of a website on this machine, or its form. */
const addressOf = (bucket) => (LOOPBACK.includes(location.hostname)
  ? html`<a href=${location.origin.replace(location.hostname, `${bucket}.s3-website.localhost`)} target="_blank" rel="noopener">${bucket}.s3-website.localhost</a>`
  : `${bucket}.s3-website.DOMAIN`);

export function Website({ bucket }) {
  const setting = useSetting(bucket, 'website');
  const [isRemoving, setRemoving] = useState(false);
  const value = setting.value ?? {};
  const { IndexDocument, ErrorDocument, RedirectAllRequestsTo: all, RoutingRules, ...rest } = value;
  const set = (member, part) => (text) => {
    const { [member]: former, ...others } = value;
    setting.change(text ? { ...others, [member]: { ...former, [part]: text } } : others);
  };
  const dialog = isRemoving && html`<${Confirm} title="Remove the website" action="Remove" onClose=${() => setRemoving(false)}
    run=${() => setting.store(undefined, setting.base, 'The website was removed.')}><p><strong>${bucket}</strong> is no longer served as a website. Its objects stay.</p><//>`;
  // The order of the elements is that of S3.
  const toSave = () => ({ ...(IndexDocument && { IndexDocument }), ...(ErrorDocument && { ErrorDocument }), ...(all && { RedirectAllRequestsTo: all }), ...(RoutingRules && { RoutingRules }), ...rest });
  return html`<${Panel} title="Website" setting=${setting} mayRemove=${() => setRemoving(true)} dialog=${dialog} toSave=${toSave} isValid=${Boolean(IndexDocument?.Suffix || all)}
    lead=${html`Serves objects as pages at ${addressOf(bucket)}. Readers need the permission to read: usually a public policy.`}>
    ${all ? html`<div class="note">All requests are redirected to ${all.HostName}. Change that by the AWS CLI.</div>` : html`
      <div class="inputs"><${TextField} label="Index document" value=${IndexDocument?.Suffix ?? ''} onInput=${set('IndexDocument', 'Suffix')} placeholder="index.html" hint="The object that answers for a folder." />
      <${TextField} label="Error document" value=${ErrorDocument?.Key ?? ''} onInput=${set('ErrorDocument', 'Key')} placeholder="404.html" hint="Optional: the answer if there is no object." /></div>`}
    ${RoutingRules && html`<div class="note">The website also has routing rules. The form keeps them unchanged; edit them by the AWS CLI.</div>`}<//>`;
}
