// Signing in: long-term keys for temporary ones.

import { html, useState } from '../vendor/preact.js';
import { about, signIn } from '../lib/session.js';
import { Button, Failure, TextField } from '../ui/kit.js';
import { useAction } from '../ui/hooks.js';
import { nextTheme, theme, useTheme } from '../ui/theme.js';

export function SignIn({ reason }) {
  const [id, setId] = useState('');
  const [secret, setSecret] = useState('');
  const kind = useTheme();
  const [run, isBusy, error] = useAction(async () => {
    await signIn(id, secret);
    setSecret('');
  });
  const submit = (event) => {
    event.preventDefault();
    if (id && secret && !isBusy) run();
  };
  document.title = 'Sign in – LiteIO';
  return html`<main class="signin"><div class="theme"><${Button} kind="quiet" icon=${kind === 'dark' ? 'moon' : 'sun'}
    label=${`Colours: ${theme()}`} onClick=${nextTheme} /></div>
    <form class="card" onSubmit=${submit}><div class="brand"><img src="icon.svg" alt="" /><h1>LiteIO</h1></div>
    ${reason && !error && html`<div class="note warn" role="status">${reason}</div>`}
    <${TextField} label="Access key" value=${id} onInput=${setId} name="username" autocomplete="username" autofocus required />
    <${TextField} label="Secret key" type="password" value=${secret} onInput=${setSecret} name="password" autocomplete="current-password" required />
    <${Failure} error=${error} />
    <${Button} type="submit" kind="primary" disabled=${isBusy || !id || !secret}>${isBusy ? 'Signing in…' : 'Sign in'}<//>
    <small class="muted">The keys make a session that works from ${about().address || 'this address'} only and ends by itself. The secret key is not kept.</small>
    </form></main>`;
}
