// Light or dark theme: from the system, or chosen by the user.

import { useEffect, useState } from '../vendor/preact.js';
import { useEvent } from './hooks.js';

const NAME = 'liteio-theme';
const CHOICES = ['system', 'light', 'dark'];
const system = matchMedia('(prefers-color-scheme: dark)');
const changed = new EventTarget();

/** The choice. */
export function theme() {
  try {
    const saved = localStorage.getItem(NAME);
    return CHOICES.includes(saved) ? saved : 'system';
  } catch {
    return 'system';
  }
}

const shown = () => (theme() === 'system' ? (system.matches ? 'dark' : 'light') : theme());

export function nextTheme() {
  const next = CHOICES[(CHOICES.indexOf(theme()) + 1) % CHOICES.length];
  try { localStorage.setItem(NAME, next); } catch { /* The theme of the system is used then. */ }
  changed.dispatchEvent(new Event('change'));
}

/** Applies `light` or `dark` to the document and returns it. */
export function useTheme() {
  const [kind, setKind] = useState(shown);
  const update = () => setKind(shown());
  useEvent(changed, 'change', update);
  useEvent(system, 'change', update);
  useEffect(() => { document.documentElement.dataset.theme = kind; }, [kind]);
  return kind;
}

document.documentElement.dataset.theme = shown();
