// The objects of a bucket, as folders.

import { html, useEffect, useMemo, useRef, useState } from '../../vendor/preact.js';
import { downloadUrl, getVersioning } from '../../lib/s3.js';
import { filesOfDrop } from '../../lib/drop.js';
import { add } from '../../lib/upload.js';
import { Icon } from '../../ui/icons.js';
import { Button, Empty, Failure, Head, Menu, Search, Spinner, toast } from '../../ui/kit.js';
import { go, link, useEvent, useLoad, useShortcuts } from '../../ui/hooks.js';
import { Grid } from '../../ui/grid.js';
import { baseName, bytes, number, plural, shortVersion, time, timeOf } from '../../lib/format.js';
import { OpenFolder } from '../buckets.js';
import { ObjectDrawer } from '../object.js';
import { DeleteSelected, NewFolder, Transfer, Undelete, Zip } from './dialogs.js';
import { SORTED_MAX, keepPlace, useListing } from './listing.js';
import { OpenUploads } from './open_uploads.js';

const idOf = (entry) => (entry.version ? `${entry.version} ${entry.key}` : entry.key);

export function Objects({ bucket, query }) {
  const { prefix: folder = '', key, versions: asked } = query;
  const isVersions = asked === '1';
  const [filter, setFilter] = useState('');
  const [typed, setTyped] = useState('');
  const [isFlat, setFlat] = useState(false);
  const [chosen, setChosen] = useState(new Map());
  const [dialog, setDialog] = useState();
  const [isOver, setOver] = useState(false);
  const last = useRef(0);
  const files = useRef();
  const directory = useRef();
  const versioning = useLoad(() => getVersioning(bucket), [bucket]);
  const [order, setOrder] = useState(['name', 1]);
  const list = useListing(bucket, folder + filter, isFlat ? '' : '/', isVersions, order);
  const { error, count } = list;
  useEffect(() => { setTyped(''); setFilter(''); }, [folder]);
  useEffect(() => { setChosen(new Map()); }, [folder, filter, isVersions, isFlat]);
  // Debounced: one request after a pause, not one per letter.
  useEffect(() => {
    const timer = setTimeout(() => setFilter(typed), 250);
    return () => clearTimeout(timer);
  }, [typed]);

  const at = (more) => link(['buckets', bucket], { prefix: folder, versions: asked, ...more });
  const open = (index) => {
    const entry = list.at(index);
    if (!entry) return;
    location.hash = entry.isFolder ? at({ prefix: entry.key }) : at({ key: entry.key, version: entry.version });
  };
  const toggle = (index, upTo) => {
    const next = new Map(chosen);
    const [from, to] = upTo ? [Math.min(last.current, index), Math.max(last.current, index)] : [index, index];
    const take = upTo || !chosen.has(idOf(list.at(index)));
    for (let i = from; i <= to; i++) {
      const entry = list.at(i);
      if (take) next.set(idOf(entry), entry);
      else next.delete(idOf(entry));
    }
    last.current = index;
    setChosen(next);
  };
  const up = () => {
    const cut = folder.slice(0, -1).lastIndexOf('/') + 1;
    if (folder) location.hash = at({ prefix: folder.slice(0, cut) });
  };
  const upload = (found) => {
    if (!found.length) return;
    let waiting = found.length;
    let timer;
    add(bucket, found.map(({ file, name }) => ({ file, key: folder + name })), () => {
      waiting--;
      clearTimeout(timer);
      timer = setTimeout(list.reload, waiting ? 1500 : 50);
    });
  };
  const changed = () => { setChosen(new Map()); list.reload(); };
  const remove = (index) => setDialog({ remove: chosen.size ? [...chosen.values()] : [list.at(index)].filter(Boolean) });
  const pick = (event) => {
    upload([...event.target.files].map((file) => ({ file, name: file.webkitRelativePath || file.name })));
    event.target.value = '';
  };
  useShortcuts({
    '/': () => document.getElementById('filter')?.focus(), u: () => files.current.click(), Backspace: up,
    Delete: () => chosen.size && remove(0), Escape: () => setChosen(new Map()),
  });
  const isFile = (event) => event.dataTransfer?.types.includes('Files');
  useEvent(window, 'dragover', (event) => { if (isFile(event)) { event.preventDefault(); setOver(true); } });
  useEvent(window, 'dragleave', (event) => { if (!event.relatedTarget) setOver(false); });
  useEvent(window, 'drop', async (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    setOver(false);
    const { found, unread } = await filesOfDrop(event.dataTransfer);
    if (unread.length) toast(`${plural(unread.length, 'file')} could not be read and ${unread.length === 1 ? 'is' : 'are'} not uploaded: ${unread.slice(0, 3).join(', ')}${unread.length > 3 ? ', …' : ''}`, 'bad');
    upload(found);
  });

  const crumbs = useMemo(() => {
    const parts = folder.split('/').slice(0, folder.endsWith('/') ? -1 : undefined);
    const list = [['Buckets', '#/buckets'], [bucket, link(['buckets', bucket], { versions: asked })]];
    let above = '';
    for (const part of folder ? parts : []) {
      above += `${part}/`;
      list.push([part || '∅', link(['buckets', bucket], { prefix: above, versions: asked })]);
    }
    return list;
  }, [bucket, folder, asked]);

  const download = (entry) => {
    const anchor = document.createElement('a');
    try {
      anchor.href = downloadUrl(bucket, entry.key, entry.version);
    } catch (error) {
      toast(error.message, 'bad');
      return;
    }
    anchor.download = '';
    anchor.rel = 'noreferrer';
    anchor.click();
  };
  const row = (index) => {
    const entry = list.at(index);
    if (!entry) return null;
    const name = isFlat ? entry.key.slice(folder.length) : baseName(entry.key.slice(folder.length)) || entry.key;
    const icon = entry.isFolder ? 'folder' : entry.isMarker ? 'trash' : 'file';
    return [
      html`<div role="gridcell"><input type="checkbox" tabindex="-1" aria-label=${`Select ${name}`} checked=${chosen.has(idOf(entry))}
        onClick=${(event) => { event.preventDefault(); toggle(index, event.shiftKey); }} /></div>`,
      html`<div role="gridcell" class="name"><${Icon} name=${icon} className=${entry.isFolder ? 'folder' : ''} />
        <button type="button" class="link" tabindex="-1" title=${entry.key} onClick=${() => open(index)}>${name}</button>
        ${entry.isMarker && html`<span class="tag wide-only">delete marker</span>`}${isVersions && !entry.isFolder && html`<code class=${entry.isLatest ? 'faint latest' : 'faint'} title=${entry.version}>${shortVersion(entry.version)}</code>`}${isVersions && entry.isLatest && html`<span class="tag accent wide-only">current</span>`}</div>`,
      html`<div role="gridcell" class="num">${entry.isFolder || entry.isMarker ? '' : bytes(entry.size)}</div>`,
      html`<div role="gridcell" class="num wide-only">${entry.isFolder ? '' : isVersions ? timeOf(entry.modified) : time(entry.modified)}</div>`,
      html`<div role="gridcell">${!entry.isFolder && !entry.isMarker && html`<${Button} small kind="quiet" icon="download" tabindex="-1" label=${`Download ${name}`} onClick=${() => download(entry)} />`}</div>`,
    ];
  };
  const allChosen = count > 0 && chosen.size === count;
  const all = html`<input type="checkbox" aria-label="Select all that are loaded" checked=${allChosen} indeterminate=${chosen.size > 0 && !allChosen}
    onClick=${() => setChosen(allChosen ? new Map() : new Map(list.all().map((it) => [idOf(it), it])))} />`;
  const head = (by, text, kind = '') => [html`<button type="button" class="sort" onClick=${() => setOrder([by, order[0] === by ? -order[1] : 1])}>${text}
    ${order[0] === by && html`<${Icon} name=${order[1] > 0 ? 'up' : 'down'} />`}</button>`, kind, { 'aria-sort': order[0] === by ? (order[1] > 0 ? 'ascending' : 'descending') : undefined }];
  const isEmpty = list.isDone && !count;
  const selected = [...chosen.values()];
  const hasFolder = selected.some((it) => it.isFolder);
  const act = (dialog) => () => setDialog({ [dialog]: selected });
  const foot = html`<span role="status">${plural(count, isVersions ? 'version' : 'entry', isVersions ? 'versions' : 'entries')}${list.isDone ? '' : list.isPartial ? ` loaded: only the first ${number(SORTED_MAX)} are in order` : ' loaded, more available'}</span>`;
  return html`<${Head} crumbs=${crumbs}>
      <${Search} id="filter" label="Filter by prefix" value=${typed} onInput=${setTyped} />
      <${Button} icon="upload" kind="primary" onClick=${() => files.current.click()}><span>Upload</span><//>
      <${Button} icon="gear" label="Bucket settings" onClick=${() => go(['buckets', bucket, 'settings'])} />
      <${Menu} label="More actions" kind="" items=${[
    ['folder', 'Upload a folder', () => directory.current.click()],
    ['plus', 'New folder', () => setDialog('folder')],
    ['history', isVersions ? 'Hide versions' : 'Show versions', () => { location.hash = at({ versions: isVersions ? undefined : '1' }); }],
    ['file', isFlat ? 'Show folders' : 'Show all keys', () => setFlat(!isFlat)],
    ['upload', 'Unfinished uploads', () => setDialog('uploads')],
    ['refresh', 'Reload', list.reload]]} /><//>
    <input type="file" multiple hidden ref=${files} onChange=${pick} aria-label="Files to upload" /><input type="file" webkitdirectory hidden ref=${directory} onChange=${pick} aria-label="Folder to upload" />
    <div class="content fixed">
    ${chosen.size > 0 && html`<div class="actionbar" role="region" aria-label="Selection"><span class="grow" role="status">${number(chosen.size)} selected</span>
      ${selected.length === 1 && !hasFolder && !selected[0].isMarker && html`<${Button} small icon="download" onClick=${() => download(selected[0])}>Download<//>`}
      ${!isVersions && (hasFolder || selected.length > 1) && html`<${Button} small icon="download" onClick=${act('zip')}>ZIP<//>`}
      ${!isVersions && html`<${Button} small icon="copy" onClick=${act('copy')}>Copy<//><${Button} small icon="edit" onClick=${act('move')}>${selected.length === 1 && !hasFolder ? 'Move or rename' : 'Move'}<//>`}
      ${isVersions && (hasFolder || selected.some((it) => it.isMarker && it.isLatest)) && html`<${Button} small icon="history" onClick=${act('undelete')}>Undelete<//>`}
      <${Button} small kind="danger" icon="trash" onClick=${() => remove(0)}>Delete<//><${Button} small kind="quiet" icon="close" label="Select none" onClick=${() => setChosen(new Map())} /></div>`}
    <${Failure} error=${error} retry=${list.again} />${error?.status === 403 && !count && html`<${OpenFolder} bucket=${bucket} />`}
    ${!error && !list.isDone && !count ? html`<${Spinner} />` : ''}
    ${isEmpty ? html`<div class="card grow"><${Empty} icon="upload" title=${filter ? 'No matching keys' : 'Nothing here yet'}>
      <p>${filter ? `No key here begins with “${folder}${filter}”.` : 'Drop files or folders here, or press u to choose files.'}</p>
      ${!filter && html`<${Button} icon="upload" kind="primary" onClick=${() => files.current.click()}>Upload files<//>`}<//></div>`
    : count > 0 ? html`<${Grid} label=${`Objects in ${bucket}`} columns="cols-objects" count=${count} total=${list.isDone ? count + 1 : -1}
      heads=${[[all], head('name', 'Name'), head('size', 'Size', 'num'), head('modified', 'Modified', 'num wide-only'), [html`<span class="sr">Download</span>`]]} ...${keepPlace(list)} row=${row}
      onNearEnd=${list.more} onOpen=${open} onToggle=${toggle} isSelected=${(index) => list.at(index) && chosen.has(idOf(list.at(index)))}
      rowClass=${(index) => (list.at(index)?.isMarker ? 'struck' : '')} keys=${{ Delete: remove, Backspace: up }} foot=${foot} />` : ''}
    ${isOver && html`<div class="drop">Drop to upload to ${bucket}/${folder}</div>`}</div>
    ${key !== undefined && html`<${ObjectDrawer} key=${`${key} ${query.version}`} bucket=${bucket} objectKey=${key} version=${query.version} tab=${query.tab}
      isVersioned=${versioning.data !== undefined && versioning.data !== ''} at=${at} onClose=${() => { location.hash = at({}); }} onChange=${list.reload} download=${download} />`}
    ${dialog === 'folder' && html`<${NewFolder} prefix=${folder} onClose=${(to) => { setDialog(); if (to) location.hash = at({ prefix: to }); }} />`}
    ${dialog === 'uploads' && html`<${OpenUploads} bucket=${bucket} prefix=${folder} onClose=${() => setDialog()} />`}
    ${dialog?.zip && html`<${Zip} bucket=${bucket} folder=${folder} chosen=${dialog.zip} onClose=${() => setDialog()} />`}
    ${(dialog?.copy ?? dialog?.move) && html`<${Transfer} bucket=${bucket} folder=${folder} chosen=${dialog.copy ?? dialog.move} isMove=${Boolean(dialog.move)} onClose=${() => setDialog()} onChange=${changed} />`}
    ${dialog?.undelete && html`<${Undelete} bucket=${bucket} chosen=${dialog.undelete} onClose=${() => setDialog()} onChange=${changed} />`}
    ${dialog?.remove?.length > 0 && html`<${DeleteSelected} bucket=${bucket} chosen=${dialog.remove} versions=${isVersions}
      onClose=${() => setDialog()} onChange=${changed} />`}`;
}
