// The console: sign-in, the frame around the pages, and the routing.

import { html, render, useEffect, useRef, useState } from './vendor/preact.js';
import { dropDrafts, hasDrafts } from './lib/drafts.js';
import { about, current, endSession, nameOf, now, onSession, signOut, start } from './lib/session.js';
import { cancelAll } from './lib/upload.js';
import { Icon } from './ui/icons.js';
import { Button, Dialog, Failure, Spinner, Toasts } from './ui/kit.js';
import { go, useEvent, useRoute, useShortcuts } from './ui/hooks.js';
import { nextTheme, theme, useTheme } from './ui/theme.js';
import { Renew, SignIn } from './pages/sign_in.js';
import { UploadList } from './pages/upload_list.js';
import { Home } from './pages/home/index.js';
import { Buckets } from './pages/buckets.js';
import { Objects } from './pages/objects/index.js';
import { Settings } from './pages/settings/index.js';
import { Users } from './pages/users/index.js';
import { Tables } from './pages/tables/index.js';
import { Vectors } from './pages/vectors/index.js';
import { Trace } from './pages/trace/index.js';
import { Metrics } from './pages/metrics/index.js';

const PAGES = [
  ['home', 'Home', 'home'],
  ['buckets', 'Buckets', 'bucket'], ['catalogs', 'Tables', 'tables'], ['vectors', 'Vectors', 'vectors'], ['users', 'Users', 'users'], ['trace', 'Trace', 'trace'],
  ['metrics', 'Metrics', 'metrics'],
];

function Page({ route }) {
  const [page = 'home', ...path] = route.path;
  if (page === 'home') return html`<${Home} />`;
  if (page === 'buckets') {
    if (!path.length) return html`<${Buckets} />`;
    if (path[1] === 'settings') return html`<${Settings} key=${path[0]} bucket=${path[0]} part=${path[2]} />`;
    return html`<${Objects} key=${path[0]} bucket=${path[0]} query=${route.query} />`;
  }
  if (page === 'users') return html`<${Users} path=${path} />`;
  if (page === 'catalogs') return html`<${Tables} path=${path} query=${route.query} />`;
  if (page === 'vectors') return html`<${Vectors} path=${path} query=${route.query} />`;
  if (page === 'trace') return html`<${Trace} />`;
  if (page === 'metrics') return html`<${Metrics} />`;
  return html`<${Buckets} />`;
}

function Help({ onClose }) {
  const rows = [
    ['g then h, b, c, v, u, t, m', 'Go to the start page, buckets, catalogs of tables, vectors, users, trace, metrics'], ['p', 'Pause and resume the trace'], ['/', 'Search or filter'],
    ['n', 'New bucket, namespace, …'], ['u', 'Upload files'], ['↑ ↓ PageUp PageDown Home End', 'Move in a table'],
    ['Enter', 'Open the row'], ['Space', 'Select the row; with Shift select a range'], ['Delete', 'Delete the row or the selection'],
    ['Backspace', 'One folder up'], ['Escape', 'Close'], ['d', 'Switch between light, dark and system theme'], ['?', 'Show this help'],
  ];
  return html`<${Dialog} title="Keyboard" onClose=${onClose}><table><thead class="sr"><tr><th>Keys</th><th>Effect</th></tr></thead>
    <tbody>${rows.map(([keys, effect]) => html`<tr><td>
    <kbd>${keys}</kbd></td><td>${effect}</td></tr>`)}</tbody></table><//>`;
}

/** Remaining time of the session, so that its end is no surprise. */
function Remaining({ expires }) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (Date.parse(expires) <= now()) endSession();
      again((it) => it + 1);
    }, 15_000);
    return () => clearInterval(timer);
  }, [expires]);
  const minutes = Math.max(0, Math.round((Date.parse(expires) - now()) / 60_000));
  return html`<small>${minutes >= 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes} min`} left</small>`;
}

/** Uploads end first: aborting their parts needs the keys, which signing out deletes. */
function leave() {
  cancelAll();
  signOut();
}

function Shell({ session }) {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const [isGoing, setGoing] = useState(false);
  const kind = useTheme();
  const letters = Object.fromEntries(PAGES.map(([id]) => [id[0], () => { setGoing(false); go([id]); }]));
  useShortcuts(isGoing ? { ...letters, Escape: () => setGoing(false) }
    : { g: () => setGoing(true), d: nextTheme, '?': () => setHelp(true) });
  useEvent(document, 'keyup', (event) => { if (isGoing && event.key !== 'g') setGoing(false); });
  useEvent(window, 'beforeunload', (event) => { if (hasDrafts()) event.preventDefault(); });
  const page = PAGES.find(([id]) => id === route.path[0])?.[0] ?? (route.path.length ? 'buckets' : 'home');
  const toTitle = (event) => { event.preventDefault(); document.getElementById('title')?.focus(); };
  return html`<a class="sr" href="#title" onClick=${toTitle}>Skip to the page</a><div class="shell"><header class="side">
    <a class="brand" href="#/home"><img src="icon.svg" alt="" />LiteIO</a>
    <nav aria-label="Pages">${PAGES.map(([id, name, icon]) => html`<a href=${`#/${id}`} aria-current=${id === page ? 'page' : undefined}>
      <${Icon} name=${icon} />${name}</a>`)}</nav>
    <div class="who"><div class="about"><div class="name cut" title=${session.arn}>${nameOf(session)}</div>
      <${Remaining} expires=${session.expires} /><div><small>LiteIO ${about().version}</small></div></div>
      <div class="row tools"><${Button} kind="quiet" small icon=${kind === 'dark' ? 'moon' : 'sun'} label=${`Colours: ${theme()}`} onClick=${nextTheme} />
      <span class="wide-only"><${Button} kind="quiet" small icon="help" label="Keyboard shortcuts" onClick=${() => setHelp(true)} /></span>
      <${Button} kind="quiet" small icon="exit" label="Sign out" onClick=${leave} /></div></div></header>
    <main class="main" aria-labelledby="title"><${Page} route=${route} /></main></div>
    <${UploadList} />${help && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

/**
 * When a session ends, the pages of `shown` stay below the dialog to sign in again: input and uploads are kept
 * for the same user.
 */
function App() {
  const [state, setState] = useState({ isStarting: true });
  const shown = useRef(null);
  useTheme();
  const begin = () => start().then((reason) => { shown.current = current(); setState({ reason }); }, (error) => setState({ error }));
  useEffect(() => {
    begin();
    return onSession((session, reason) => {
      if (session ? session.arn !== shown.current?.arn : !reason) {
        cancelAll();
        dropDrafts();
      }
      if (session || !reason) shown.current = session;
      setState({ reason });
    });
  }, []);
  if (state.isStarting) return html`<${Spinner} />`;
  if (state.error) return html`<main class="signin"><div><${Failure} error=${state.error} retry=${begin} /></div></main>`;
  return html`${shown.current ? html`<${Shell} key=${shown.current.arn} session=${shown.current} />${!current() && html`<${Renew} reason=${state.reason} user=${nameOf(shown.current)} />`}`
    : html`<${SignIn} reason=${state.reason} />`}<${Toasts} />`;
}

render(html`<${App} />`, document.getElementById('app'));
