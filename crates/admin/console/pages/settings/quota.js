// The quota of a bucket.

import { html, useState } from '../../vendor/preact.js';
import { Choice, Confirm, TextField } from '../../ui/kit.js';
import { Panel, useSetting } from './panel.js';

const UNITS = [['MiB', 2 ** 20], ['GiB', 2 ** 30], ['TiB', 2 ** 40]];

/** The number and its unit, without a fraction where that is possible. */
function split(size) {
  const [name, factor] = [...UNITS].reverse().find(([, it]) => size && size % it === 0) ?? (size ? ['bytes', 1] : UNITS[1]);
  return { count: size ? String(size / factor) : '', unit: name };
}
const factorOf = (unit) => UNITS.find(([name]) => name === unit)?.[1] ?? 1;

export function Quota({ bucket }) {
  const setting = useSetting(bucket, 'quota');
  const [isRemoving, setRemoving] = useState(false);
  const { count, unit } = setting.value?.typed ?? split(setting.value?.size);
  const size = Math.round(Number(count) * factorOf(unit));
  const typed = (next) => setting.change({ typed: { count, unit, ...next } });
  const dialog = isRemoving && html`<${Confirm} title="Remove the quota" action="Remove" onClose=${() => setRemoving(false)}
    run=${() => setting.store(undefined, setting.base, 'The quota was removed.')}><p><strong>${bucket}</strong> may use all of the disk.</p><//>`;
  return html`<${Panel} title="Quota" setting=${setting} mayRemove=${() => setRemoving(true)} dialog=${dialog} isValid=${Number.isSafeInteger(size) && size > 0} toSave=${() => ({ size })}
    lead="The most bytes that all versions of the bucket may have. A write beyond it is refused; what is there stays.">
    <div class="inputs"><${TextField} label="Size" type="number" min="0" step="any" value=${count} onInput=${(text) => typed({ count: text })} />
      <${Choice} label="Unit" value=${unit} onChange=${(next) => typed({ unit: next })} options=${[...(unit === 'bytes' ? [['bytes', 'bytes']] : []), ...UNITS.map(([name]) => [name, name])]} /></div><//>`;
}
