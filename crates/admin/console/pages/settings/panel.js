// The parts of a settings page: the stored value, the draft, and saving.

import { html } from '../../vendor/preact.js';
import { readSetting, saveSetting } from '../../lib/settings.js';
import { Button, Failure, SaveFailure, Spinner, toast } from '../../ui/kit.js';
import { useAction, useDraft, useLoad } from '../../ui/hooks.js';

/**
 * A setting of a bucket. `value` is the draft, or else the stored value; `change` sets the draft.
 * A draft keeps the document it is based on, so that concurrent changes by others are detected.
 */
export function useSetting(bucket, name, key = name) {
  const { data, error, loading, reload, set } = useLoad(() => readSetting(bucket, name), [bucket, name]);
  const [draft, setDraft] = useDraft(`${bucket}/${key}`);
  /** Saves `value`, or deletes the setting. */
  const store = async (value, base, words = 'Saved.') => {
    set(await saveSetting(bucket, name, value, base));
    setDraft();
    toast(words);
  };
  const [save, isBusy, failed] = useAction(store);
  return {
    bucket, data, loading, reload, loadError: error, store, save, isBusy, failed,
    isSet: data?.document !== null && data?.document !== undefined,
    set: data?.value, base: draft ? draft.base : data?.document, value: draft ? draft.value : data?.value, isDirty: draft !== undefined,
    change: (value) => setDraft({ value, base: draft ? draft.base : data.document }),
    discard: () => { setDraft(); reload(); },
  };
}

/** The form of a setting. `children` is shown once it is loaded; `toSave` converts the draft for sending. */
export function Panel({ title, lead, setting, children, toSave = (it) => it, mayRemove, removeWords = 'Remove', isValid = true, side, dialog, isShown = true }) {
  const { value, base, isDirty, isBusy, failed, save } = setting;
  const send = (from) => save(toSave(value), from);
  const submit = (event) => { event.preventDefault(); if (isDirty && isValid && !isBusy) send(base); };
  return html`<form class="card panel" onSubmit=${submit} novalidate aria-label=${title}>
    <header class="row"><h2 class="grow">${title}</h2>${side}</header>${lead && html`<p class="lead">${lead}</p>`}
    <${Failure} error=${setting.loadError} retry=${setting.reload} />
    ${!setting.data && setting.loading && html`<${Spinner} />`}
    ${setting.data && html`${children}
      <${SaveFailure} error=${failed} onLoad=${setting.discard} onForce=${() => send(undefined)} />
      ${isShown && html`<footer class="row wrap"><${Button} type="submit" kind="primary" disabled=${!isDirty || !isValid || isBusy}>${isBusy ? 'Saving…' : 'Save'}<//>
      ${isDirty && html`<${Button} kind="quiet" disabled=${isBusy} onClick=${setting.discard}>Discard<//>`}
      <span class="grow muted" role="status">${isDirty ? 'Not saved yet.' : ''}</span>
      ${mayRemove && setting.isSet && html`<${Button} kind="danger" disabled=${isBusy} onClick=${mayRemove}>${removeWords}<//>`}</footer>`}`}</form>${dialog}`;
}

/** Radio buttons with hints: `[value, text, hint]`. */
export const Radios = ({ legend, name, value, onChange, options }) => html`<fieldset class="radios"><legend class="sr">${legend}</legend>
  ${options.map(([it, text, hint, isDisabled]) => html`<label class="check"><input type="radio" name=${name} value=${it} checked=${it === value} disabled=${isDisabled}
    onChange=${() => onChange(it)} /><span>${text}${hint && html`<span class="hint">${hint}</span>`}</span></label>`)}</fieldset>`;

/** A copy of an object without its empty members. */
export const compact = (value) => Object.fromEntries(Object.entries(value).filter(([, it]) => it !== undefined && it !== '' && !Number.isNaN(it)));
