// Signing in: long-term keys for temporary ones.

import { html, useState } from '../vendor/preact.js';
import { about, formerId, leaveForIssuer, renewInTab, signIn, signOut } from '../lib/session.js';
import { Button, Dialog, Failure, TextField } from '../ui/kit.js';
import { useAction } from '../ui/hooks.js';
import { nextTheme, theme, useTheme } from '../ui/theme.js';

/** The fields and the function that signs in with them. A server without signature checks needs none. */
function useKeys() {
  const [id, setId] = useState(formerId);
  const [secret, setSecret] = useState('');
  const [run, isBusy, error] = useAction(async () => {
    await signIn(id, secret);
    setSecret('');
  });
  const mayRun = !isBusy && (about().open || Boolean(id && secret));
  const fields = !about().open && html`<${TextField} label="Access key" value=${id} onInput=${setId} name="username" autocomplete="username" autofocus=${!id} required />
    <${TextField} label="Secret key" type="password" value=${secret} onInput=${setSecret} name="password" autocomplete="current-password" autofocus=${Boolean(id)} required />`;
  return { fields: html`${fields}<${Failure} error=${error} />`, run: () => mayRun && run(), isBusy, error, mayRun };
}

const words = (isBusy) => (isBusy ? 'Signing in…' : about().open ? 'Open the console' : 'Sign in');

/** The button for the issuer, if one is configured. `isRenewal` keeps the page and opens a tab. */
function Issuer({ isRenewal }) {
  const [leave, isLeaving, failure] = useAction(leaveForIssuer);
  const [renew, , error] = useAction(renewInTab);
  const { issuer, open } = about();
  if (!issuer || open) return null;
  const here = html`<${Failure} error=${failure} /><${Button} icon="key" disabled=${isLeaving} onClick=${leave}>${isRenewal ? 'Sign in on this page' : `Sign in with ${issuer}`}<//>`;
  return html`<div class="or"><span>or</span></div>${isRenewal ? html`<${Failure} error=${error} />
    <${Button} icon="key" onClick=${renew}>Sign in with ${issuer}<//><small class="muted">It opens a tab. Uploads and input stay on this page.</small>
    ${error && html`${here}<small class="muted">This leaves the page: unsaved input and uploads are lost.</small>`}` : here}`;
}

export function SignIn({ reason }) {
  const kind = useTheme();
  const { fields, run, isBusy, error, mayRun } = useKeys();
  const submit = (event) => { event.preventDefault(); run(); };
  document.title = 'Sign in – LiteIO';
  return html`<main class="signin"><div class="theme"><${Button} kind="quiet" icon=${kind === 'dark' ? 'moon' : 'sun'}
    label=${`Colours: ${theme()}`} onClick=${nextTheme} /></div>
    <form class="card" onSubmit=${submit}><div class="brand"><img src="icon.svg" alt="" /><h1>LiteIO</h1></div>
    ${reason && !error && html`<div class="note warn" role="status">${reason}</div>`}${fields}
    <${Button} type="submit" kind="primary" disabled=${!mayRun}>${words(isBusy)}<//><${Issuer} />
    <small class="muted">${about().open ? 'This server checks no signatures: everyone who can reach it may do everything.'
    : `The keys start a session that works only from ${about().address || 'this address'} and expires. The secret key is not stored.`}</small>
    </form></main>`;
}

/** The dialog to sign in again, above the pages of an ended session. */
export function Renew({ reason, user }) {
  const { fields, run, isBusy, mayRun } = useKeys();
  return html`<${Dialog} title="Sign in again" onSubmit=${run}><div class="note warn" role="status">${reason}</div>${fields}
    <small class="muted">The page is kept for ${user}; another user starts with a new page.</small>
    <${Issuer} isRenewal />
    <footer><${Button} onClick=${() => signOut()}>Leave<//><${Button} type="submit" kind="primary" disabled=${!mayRun}>${words(isBusy)}<//></footer><//>`;
}
