// Versioning and object lock.

import { html, useState } from '../../vendor/preact.js';
import { getDocument, getVersioning, putVersioning } from '../../lib/s3.js';
import { Button, Choice, Confirm, TextField } from '../../ui/kit.js';
import { useLoad } from '../../ui/hooks.js';
import { Panel, Radios, compact, useSetting } from './panel.js';

export function Versioning({ bucket }) {
  const setting = useSetting(bucket, 'versioning');
  const lock = useLoad(() => getDocument(bucket, 'object-lock').catch(() => null), [bucket]);
  const status = setting.value?.Status ?? '';
  const former = setting.set?.Status;
  const isLocked = Boolean(lock.data);
  return html`<${Panel} title="Versioning" setting=${setting} lead="A bucket with versioning keeps every version of an object, also of deleted objects.">
    <${Radios} legend="Versioning" name="versioning" value=${status} onChange=${(Status) => setting.change({ ...setting.value, Status })} options=${[
    !former && ['', 'Off', 'A new upload replaces the object.'],
    ['Enabled', 'Enabled', 'Every upload creates a version, every delete a delete marker.'],
    ['Suspended', 'Suspended', 'Versions stay; new uploads replace the version “null”.', isLocked]].filter(Boolean)} />
    ${isLocked && html`<div class="note">Object lock needs versioning: it cannot be suspended here.</div>`}<//>`;
}

const UNITS = [['Days', 'days'], ['Years', 'years']];

export function ObjectLock({ bucket }) {
  const setting = useSetting(bucket, 'object-lock');
  const [isEnabling, setEnabling] = useState(false);
  const { value, isSet } = setting;
  const { DefaultRetention: kept = {}, ...rule } = value?.Rule ?? {};
  const unit = 'Years' in kept ? 'Years' : 'Days';
  const typed = (next) => setting.change({ ...value, Rule: next && { ...rule, DefaultRetention: next } });
  const toSave = (it) => {
    const { Rule, ...rest } = it;
    return Rule?.DefaultRetention ? { ...rest, Rule: { ...Rule, DefaultRetention: compact(Rule.DefaultRetention) } } : rest;
  };
  return html`<${Panel} title="Object lock" setting=${setting} isShown=${isSet} toSave=${toSave}
    dialog=${isEnabling && html`<${Enable} setting=${setting} onClose=${() => setEnabling(false)} />`}
    lead="Locked versions cannot be deleted or replaced until their retention ends and their legal hold is removed.">
    ${!isSet ? html`<div class="note">Object lock is not enabled on this bucket.</div><div><${Button} onClick=${() => setEnabling(true)}>Enable object lock<//></div>` : html`
      <${Choice} label="Default retention of new objects" value=${kept.Mode ?? ''} onChange=${(Mode) => typed(Mode ? { Days: 1, ...kept, Mode } : undefined)}
        options=${[['', 'None'], ['GOVERNANCE', 'Governance: users with permission may bypass it'], ['COMPLIANCE', 'Compliance: nobody can shorten it']]} />
      ${kept.Mode && html`<div class="inputs"><${TextField} label="Retention" type="number" min="1" value=${kept[unit] ?? ''}
        onInput=${(text) => typed({ ...kept, [unit]: text })} />
        <${Choice} label="Unit" value=${unit} options=${UNITS} onChange=${(next) => { const { [unit]: count, ...more } = kept; typed({ ...more, [next]: count }); }} /></div>`}`}<//>`;
}

const Enable = ({ setting, onClose }) => html`<${Confirm} title="Enable object lock" action="Enable" onClose=${onClose}
  run=${async () => {
    if (await getVersioning(setting.bucket) !== 'Enabled') await putVersioning(setting.bucket, 'Enabled');
    await setting.store({ ObjectLockEnabled: 'Enabled' }, setting.base, 'Object lock is enabled.');
  }}><p>Object lock stays enabled as long as the bucket exists. Versioning, which it needs, is enabled, too.</p><//>`;
