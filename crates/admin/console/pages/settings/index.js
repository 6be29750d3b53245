// The settings of a bucket: one part at a time.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { draft, draftsChanged } from '../../lib/drafts.js';
import { Head } from '../../ui/kit.js';
import { link, useEvent } from '../../ui/hooks.js';
import { Cors } from './cors.js';
import { Encryption } from './encryption.js';
import { Events } from './events.js';
import { Lifecycle } from './lifecycle.js';
import { Overview } from './overview.js';
import { Ownership } from './ownership.js';
import { Policy } from './policy.js';
import { PublicAccess } from './public_access.js';
import { Quota } from './quota.js';
import { Replication } from './replication.js';
import { Tags } from './tags.js';
import { ObjectLock, Versioning } from './versioning.js';
import { Website } from './website.js';

/** The parts: name in the URL, title, component, and key of the draft. */
const PARTS = [
  ['overview', 'Overview', Overview], ['quota', 'Quota', Quota], ['versioning', 'Versioning', Versioning], ['object-lock', 'Object lock', ObjectLock], ['lifecycle', 'Lifecycle', Lifecycle, 'lifecycle as JSON'],
  ['policy', 'Policy', Policy], ['public-access', 'Public access', PublicAccess, 'publicAccessBlock'], ['ownership', 'Ownership and ACL', Ownership, 'ownershipControls'],
  ['cors', 'CORS', Cors, 'cors as JSON'],  ['encryption', 'Encryption', Encryption], ['replication', 'Replication', Replication], ['events', 'Events', Events, 'notification as JSON'], 
  ['website', 'Website', Website], ['tags', 'Tags', Tags, 'tagging'],
];

export function Settings({ bucket, part }) {
  const [, again] = useState(0);
  useEvent(draftsChanged, 'change', () => again((it) => it + 1));
  const nav = useRef();
  useEffect(() => { nav.current.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }); }, [part]);
  const [id, , Part] = PARTS.find(([it]) => it === part) ?? PARTS[0];
  return html`<${Head} crumbs=${[['Buckets', '#/buckets'], [bucket, link(['buckets', bucket])], 'Settings']} />
    <div class="content"><div class="settings"><nav aria-label="Settings" ref=${nav}>${PARTS.map(([it, words, , key = it]) => html`<a href=${link(['buckets', bucket, 'settings', it])}
      aria-current=${it === id ? 'page' : undefined}>${words}${draft(`${bucket}/${key}`) !== undefined && html`<span class="dot" title="Not saved yet"><span class="sr">, not saved yet</span></span>`}</a>`)}</nav>
      <div class="stack"><${Part} key=${`${bucket} ${id}`} bucket=${bucket} /></div></div></div>`;
}
