// Common UI components.

import { html, useEffect, useLayoutEffect, useRef, useState } from '../vendor/preact.js';
import { Icon } from './icons.js';
import { useAction, useEvent } from './hooks.js';

export function Button({ icon, kind = '', label, children, small, ...rest }) {
  const only = icon && !children;
  return html`<button type="button" class="button ${kind} ${small ? 'small' : ''} ${only ? 'icon-only' : ''}"
    aria-label=${label} title=${label} ...${rest}>${icon && html`<${Icon} name=${icon} />`}${children}</button>`;
}

export const Spinner = ({ label = 'Loading' }) => html`<div class="empty" role="status"><div class="spinner" /><span
  class="sr">${label}</span></div>`;

export const Failure = ({ error, retry }) => error && html`<div class="note bad" role="alert">
  ${error.code && html`<strong>${error.code}</strong>${' '}`}${error.message}
  ${retry && html`${' '}<${Button} small onClick=${retry}>Try again<//>`}</div>`;

/** An error while saving. Changes of others are overwritten only after confirmation. */
export const SaveFailure = ({ error, onLoad, onForce }) => (error?.code === 'Changed'
  ? html`<div class="note warn row wrap" role="alert"><span class="grow">${error.message}</span>
    ${onLoad && html`<${Button} small onClick=${onLoad}>Load their version<//>`}${onForce && html`<${Button} small onClick=${onForce}>Overwrite with mine<//>`}</div>`
  : html`<${Failure} error=${error} />`);

export const Empty = ({ icon, title, children }) => html`<div class="empty"><${Icon} name=${icon} /><h2>${title}</h2>
  ${children}</div>`;

let fieldCount = 0;

/** A label over a control; `control` gets the id. */
export function Field({ label, hint, children }) {
  const id = useRef(`field-${++fieldCount}`).current;
  return html`<div class="field"><label class="label" for=${id}>${label}</label>${children(id)}
    ${hint && html`<span class="hint">${hint}</span>`}</div>`;
}

export const TextField = ({ label, hint, value, onInput, type = 'text', ...rest }) =>
  html`<${Field} label=${label} hint=${hint}>${(id) => html`<input id=${id} type=${type} value=${value}
    autocomplete="off" spellcheck=${false} onInput=${(event) => onInput(event.target.value)} ...${rest} />`}<//>`;

export const AreaField = ({ label, hint, value, onInput, rows = 12, ...rest }) =>
  html`<${Field} label=${label} hint=${hint}>${(id) => html`<textarea id=${id} rows=${rows} value=${value}
    spellcheck=${false} onInput=${(event) => onInput(event.target.value)} ...${rest} />`}<//>`;

export const Choice = ({ label, hint, value, onChange, options, ...rest }) =>
  html`<${Field} label=${label} hint=${hint}>${(id) => html`<select id=${id} value=${value}
    onChange=${(event) => onChange(event.target.value)} ...${rest}>
    ${options.map(([it, text]) => html`<option value=${it} selected=${it === value}>${text}</option>`)}</select>`}<//>`;

export const Check = ({ label, hint, checked, onChange, ...rest }) => html`<label class="check"><input type="checkbox"
  checked=${checked} onChange=${(event) => onChange(event.target.checked)} ...${rest} /><span>${label}
  ${hint && html`<span class="hint">${hint}</span>`}</span></label>`;

export const Search = ({ label, value, onInput, id }) => html`<div class="search"><${Icon} name="search" /><input
  type="search" id=${id} aria-label=${label} placeholder=${label} value=${value} autocomplete="off" spellcheck=${false}
  onInput=${(event) => onInput(event.target.value)} /></div>`;

/** A modal dialog: the browser keeps the focus in it, and Escape closes it unless it must stay open. */
export function Dialog({ title, onClose, children, kind = '', onSubmit, head }) {
  const ref = useRef();
  const isLeaving = useRef(false);
  useLayoutEffect(() => {
    const [dialog, former] = [ref.current, document.activeElement];
    dialog.showModal();
    const first = dialog.querySelector('[autofocus]') ?? dialog.querySelector('form input, form select, form textarea')
      // The first control of a drawer may delete what it shows.
      ?? dialog.querySelector('header [aria-label=Close]');
    first?.focus();
    // Elements outside of an open dialog cannot take the focus.
    return () => { isLeaving.current = true; dialog.close(); if (former?.isConnected) former.focus?.(); };
  }, []);
  const submit = (event) => { event.preventDefault(); onSubmit(event); };
  const header = html`<header><h2 class="grow cut">${title}</h2>${head}
    ${onClose && html`<${Button} icon="close" kind="quiet" label="Close" small onClick=${onClose} />`}</header>`;
  const cancel = (event) => { event.preventDefault(); onClose?.(); };
  // Browsers always close a dialog at the second Escape: a dialog that must stay open is opened again.
  const closed = () => {
    if (isLeaving.current) return;
    onClose?.();
    requestAnimationFrame(() => { if (!isLeaving.current && !ref.current.open) ref.current.showModal(); });
  };
  // The backdrop is the dialog itself, outside of its box.
  const outside = (event) => event.target === ref.current && kind.includes('drawer') && onClose();
  return html`<dialog ref=${ref} class=${kind} aria-label=${title} onCancel=${cancel} onClose=${closed} onMouseDown=${outside}>
    ${kind.includes('drawer') ? html`${header}${children}`
    : onSubmit ? html`<form onSubmit=${submit} novalidate>${header}${children}</form>`
      : html`<div class="body">${header}${children}</div>`}</dialog>`;
}

/**
 * A confirmation before an irreversible action; if `word` is given, the user has to type it. `run` gets a signal,
 * aborted by Cancel and when the page is left; a long action then throws an error that reports its progress. An action
 * with `isOnce` cannot be retried from the dialog after a failure, because a part of it is done.
 */
export function Confirm({ title, children, action = 'Delete', word, onClose, run, busy, isOnce }) {
  const [typed, setTyped] = useState('');
  const [isStopping, setStopping] = useState(false);
  const stop = useRef();
  useEffect(() => () => stop.current?.abort(), []);
  const [act, isBusy, error] = useAction(async () => {
    stop.current = new AbortController();
    setStopping(false);
    await run(stop.current.signal);
    onClose(true);
  });
  const cancel = () => { if (isBusy) { stop.current.abort(); setStopping(true); } else onClose(); };
  const isOver = Boolean(error && isOnce);
  return html`<${Dialog} title=${title} onClose=${() => !isBusy && onClose()} onSubmit=${() => (!word || typed === word) && !isBusy && !isOver && act()}>
    <div>${children}</div>
    ${word && html`<${TextField} label=${`Type ${word} to confirm`} value=${typed} onInput=${setTyped} disabled=${isBusy} />`}
    ${isBusy && busy}
    <${Failure} error=${error} />
    <footer><${Button} disabled=${isBusy && isStopping} onClick=${cancel}>${isOver ? 'Close' : isBusy && isStopping ? 'Cancelling…' : 'Cancel'}<//>
    ${!isOver && html`<${Button} type="submit" kind="primary danger" autofocus=${!word} disabled=${isBusy || (word && typed !== word)}>
    ${action}<//>`}</footer><//>`;
}

/** Tabs with the keys of tabs: arrows, Home and End. */
export function Tabs({ tabs, current, onChange, label }) {
  const ref = useRef();
  // On a phone it may be beyond the edge.
  useEffect(() => ref.current.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [current, tabs.length]);
  const move = (event) => {
    const at = tabs.findIndex(([id]) => id === current);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    onChange(tabs[next][0]);
    event.currentTarget.children[next].focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} ref=${ref} onKeyDown=${move}>${tabs.map(([id, text]) => html`<button
    type="button" role="tab" aria-selected=${id === current} tabindex=${id === current ? 0 : -1}
    onClick=${() => onChange(id)}>${text}</button>`)}</div>`;
}

/** A button that opens a list of actions: `[icon, text, act, isOff]`. One that waits is off: without it, the next one would come under the pointer. */
export function Menu({ label, icon = 'more', items, children, small, kind = 'quiet' }) {
  const [isOpen, setOpen] = useState(false);
  const ref = useRef();
  useEvent(document, 'mousedown', (event) => { if (!ref.current?.contains(event.target)) setOpen(false); });
  // At once: the focus may scroll the list, which must not move under the pointer later.
  useLayoutEffect(() => { if (isOpen) ref.current.querySelector('.list button:enabled')?.focus(); }, [isOpen]);
  const close = () => { setOpen(false); ref.current.querySelector('button').focus(); };
  const move = (event) => {
    if (!isOpen) return;
    if (event.key === 'Escape') { event.preventDefault(); event.stopPropagation(); close(); return; }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...ref.current.querySelectorAll('.list button:enabled')];
    const at = buttons.indexOf(document.activeElement);
    buttons[(at + step + buttons.length) % buttons.length].focus();
  };
  return html`<div class="menu" ref=${ref} onKeyDown=${move}><${Button} icon=${icon} label=${children ? undefined : label} small=${small}
    kind=${kind} aria-haspopup="menu" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${children}<//>
    ${isOpen && html`<div class="list" role="menu" aria-label=${label}>${items.filter(Boolean).map(([name, text, act, isOff]) => html`<button
      type="button" role="menuitem" disabled=${isOff} onClick=${() => { close(); act(); }}><${Icon} name=${name} />${text}</button>`)}</div>`}</div>`;
}

/** Editable names and values. */
export function Pairs({ pairs, onChange, names = ['Name', 'Value'], add = 'Add' }) {
  const set = (at, part, text) => onChange(pairs.map((pair, i) => (i === at ? pair.with(part, text) : pair)));
  return html`<div class="pairs">${pairs.map((pair, at) => html`<div class="pair">
    ${[0, 1].map((part) => html`<input type="text" aria-label=${`${names[part]} ${at + 1}`} placeholder=${names[part]}
      value=${pair[part]} onInput=${(event) => set(at, part, event.target.value)} />`)}
    <${Button} icon="close" kind="quiet" label=${`Remove ${pair[0] || at + 1}`} onClick=${() => onChange(pairs.filter((_, i) => i !== at))} /></div>`)}
    <div><${Button} small icon="plus" onClick=${() => onChange([...pairs, ['', '']])}>${add}<//></div></div>`;
}

/** Copies a text; pages on plain HTTP have only the old copy command. */
export async function copyText(text) {
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    isCopied = document.execCommand('copy');
    area.remove();
  }
  if (isCopied) toast('Copied.');
  else toast('The browser could not copy it: select the text and copy it.', 'bad');
}

export const CopyButton = ({ text, label = 'Copy' }) =>
  html`<${Button} icon="copy" small label=${label} onClick=${() => copyText(text)} />`;

/** A text to copy, such as a secret that is shown once. */
export const Secret = ({ label, text }) => html`<div class="field"><span class="label">${label}</span><div class="secret">
  <code>${text}</code><${CopyButton} text=${text} label=${`Copy ${label}`} /></div></div>`;

let show = () => {};
let count = 0;

/** Shows a short message that needs no answer. */
export const toast = (text, kind = '') => show({ id: ++count, text, kind });

export function Toasts() {
  const [toasts, setToasts] = useState([]);
  const ref = useRef();
  useEffect(() => {
    show = (it) => {
      setToasts((all) => [...all.slice(-3), it]);
      setTimeout(() => setToasts((all) => all.filter(({ id }) => id !== it.id)), it.kind === 'bad' ? 9000 : 3500);
      // Move above a dialog opened in the meantime.
      ref.current.hidePopover?.();
      ref.current.showPopover?.();
    };
  }, []);
  return html`<div class="toasts" popover="manual" role="status" aria-live="polite" ref=${ref}>${toasts.map((it) => html`<div class="toast ${it.kind}"
    key=${it.id}><span class="grow">${it.text}</span><${Button} small kind="quiet" icon="close" label="Dismiss"
    onClick=${() => setToasts((all) => all.filter(({ id }) => id !== it.id))} /></div>`)}</div>`;
}

/** The head of a page: breadcrumbs and actions. */
export function Head({ crumbs, children }) {
  const last = crumbs[crumbs.length - 1];
  const title = typeof last === 'string' ? last : last[0];
  useEffect(() => { document.title = `${title} – LiteIO`; }, [title]);
  return html`<header class="top"><nav class="crumbs grow" aria-label="Path"><ol>${crumbs.slice(0, -1).map(([text, href]) => html`<li><a
    href=${href}>${text}</a></li>`)}<li><h1 tabindex="-1" id="title">${title}</h1></li></ol></nav>${children}</header>`;
}
