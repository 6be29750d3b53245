// Hooks that several pages use, and the route.

import { useCallback, useEffect, useRef, useState } from '../vendor/preact.js';
import { draft, draftsChanged, setDraft } from '../lib/drafts.js';
import { onSession } from '../lib/session.js';

/** The result of `load`, loaded again when `deps` change. */
export function useLoad(load, deps) {
  const [state, setState] = useState({ loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setState((former) => ({ ...former, loading: true, error: undefined }));
    Promise.resolve().then(load).then(
      (data) => isCurrent && setState({ data, loading: false }),
      (error) => isCurrent && error.name !== 'AbortError' && setState({ error, loading: false }),
    );
    return () => { isCurrent = false; };
  }, [...deps, round]);
  // Requests that failed because the session had ended are repeated after the next sign-in.
  const hasFailed = useRef(false);
  hasFailed.current = Boolean(state.error);
  useEffect(() => onSession((session) => { if (session && hasFailed.current) setRound((it) => it + 1); }), []);
  return {
    ...state, reload: useCallback(() => setRound((it) => it + 1), []),
    set: useCallback((data) => setState({ data, loading: false }), []),
  };
}

/** An unsaved draft under a key: `[value, set]`. It outlives the page. */
export function useDraft(key) {
  const [, again] = useState(0);
  const update = () => again((it) => it + 1);
  useEvent(draftsChanged, 'change', update);
  // Input can arrive before the listener, which is added after the first paint.
  return [draft(key), (value) => { setDraft(key, value); update(); }];
}

/** An action with its progress and its error: `[run, isBusy, error]`. */
export function useAction(action) {
  const [state, setState] = useState({});
  const run = async (...args) => {
    setState({ isBusy: true });
    try {
      const result = await action(...args);
      setState({});
      return result;
    } catch (error) {
      setState(error.name === 'AbortError' ? {} : { error });
      return undefined;
    }
  };
  return [run, state.isBusy ?? false, state.error];
}

export function useEvent(target, name, listener) {
  const kept = useRef(listener);
  kept.current = listener;
  useEffect(() => {
    const handle = (event) => kept.current(event);
    target.addEventListener(name, handle);
    return () => target.removeEventListener(name, handle);
  }, [target, name]);
}

const isTyping = (target) => target.closest?.('input, select, textarea, [contenteditable]');

/** Single-key shortcuts; inactive while typing, in a dialog, or with modifier keys. */
export function useShortcuts(shortcuts) {
  useEvent(document, 'keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector('dialog[open]')) return;
    const act = shortcuts[event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}

/** The route in the fragment: path segments and query. */
export function parseRoute(hash = location.hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const decode = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  return { path: path.split('/').filter(Boolean).map(decode), query: Object.fromEntries(new URLSearchParams(query)) };
}

export function link(path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return `#/${path.map(encodeURIComponent).join('/')}${text && `?${text}`}`;
}

export const go = (path, query) => { location.hash = link(path, query); };

export function useRoute() {
  const [route, setRoute] = useState(parseRoute);
  useEvent(window, 'hashchange', () => setRoute(parseRoute()));
  // It may have changed before the listener was added.
  useEffect(() => setRoute(parseRoute()), []);
  return route;
}
