// One index: its vectors, queries and properties.

import { html, useEffect, useRef, useState } from '../../vendor/preact.js';
import { deleteVectors, getIndex, listVectors } from '../../lib/vectors.js';
import { Button, Confirm, CopyButton, Empty, Failure, Head, Menu, Spinner, Tabs, toast } from '../../ui/kit.js';
import { link, useLoad, useShortcuts } from '../../ui/hooks.js';
import { Grid } from '../../ui/grid.js';
import { number, plural, time } from '../../lib/format.js';
import { DeleteIndex } from './index.js';
import { PutVectors } from './put_vectors.js';
import { Query } from './query.js';
import { VectorDrawer } from './vector.js';

/** Metadata in a line. */
export const brief = (metadata) => (metadata && Object.keys(metadata).length ? JSON.stringify(metadata) : '');

/** Vectors, loaded while scrolling; without metadata if the user has no permission for it. */
function useVectors(bucket, index) {
  const [state, setState] = useState({ vectors: [] });
  const [round, setRound] = useState(0);
  const run = useRef();
  const load = async (mine) => {
    if (mine.isBusy || mine.isDone || mine.stop.signal.aborted) return;
    mine.isBusy = true;
    try {
      const ask = () => listVectors(bucket, index, { token: mine.next, withMetadata: mine.withMetadata, signal: mine.stop.signal });
      const page = await ask().catch((error) => {
        if (error.status !== 403 || !mine.withMetadata) throw error;
        mine.withMetadata = false;
        return ask();
      });
      if (mine.stop.signal.aborted) return;
      for (const it of page.vectors) mine.vectors.push(it);
      mine.next = page.next;
      mine.isDone = !page.next;
      setState({ vectors: mine.vectors, count: mine.vectors.length, isDone: mine.isDone, isWithout: !mine.withMetadata });
    } catch (error) {
      if (!mine.stop.signal.aborted) setState({ vectors: mine.vectors, count: mine.vectors.length, error });
    } finally {
      mine.isBusy = false;
    }
  };
  useEffect(() => {
    const mine = { vectors: [], withMetadata: true, stop: new AbortController() };
    run.current = mine;
    load(mine);
    return () => mine.stop.abort();
  }, [bucket, index, round]);
  return {
    ...state, more: () => !state.error && load(run.current), reload: () => setRound((it) => it + 1),
    again: () => { setState((it) => ({ ...it, error: undefined })); load(run.current); },
  };
}

function List({ bucket, index, list, onOpen, onPut, onSimilar }) {
  const [chosen, setChosen] = useState(new Set());
  const [removing, setRemoving] = useState();
  const last = useRef(0);
  const { vectors, error } = list;
  const count = list.count ?? 0;
  const toggle = (at, upTo) => {
    const next = new Set(chosen);
    const take = upTo || !chosen.has(vectors[at].key);
    for (let i = upTo ? Math.min(last.current, at) : at; i <= (upTo ? Math.max(last.current, at) : at); i++) next[take ? 'add' : 'delete'](vectors[i].key);
    last.current = at;
    setChosen(next);
  };
  const remove = (at) => setRemoving(chosen.size ? [...chosen] : [vectors[at].key]);
  const closed = (done) => { setRemoving(); if (done) { setChosen(new Set()); list.reload(); } };
  const row = (at) => vectors[at] && html`<div role="gridcell"><input type="checkbox" tabindex="-1" aria-label=${`Select ${vectors[at].key}`} checked=${chosen.has(vectors[at].key)}
      onClick=${(event) => { event.preventDefault(); toggle(at, event.shiftKey); }} /></div>
    <div role="gridcell" class="name"><button type="button" class="link" tabindex="-1" title=${vectors[at].key} onClick=${() => onOpen(vectors[at].key)}>${vectors[at].key}</button></div>
    <div role="gridcell" class="cut mono muted wide-only" title=${brief(vectors[at].metadata)}>${brief(vectors[at].metadata)}</div>
    <div role="gridcell"><${Button} small kind="quiet" icon="vectors" tabindex="-1" label=${`Similar to ${vectors[at].key}`} onClick=${() => onSimilar(vectors[at].key)} /></div>`;
  const foot = html`<span role="status">${plural(count, 'vector')}${list.isDone ? '' : ' loaded, more available'}</span>${list.isWithout && html`<span>Metadata is not shown: you have no permission to read vectors.</span>`}`;
  return html`${chosen.size > 0 && html`<div class="actionbar" role="region" aria-label="Selection"><span class="grow" role="status">${number(chosen.size)} selected</span>
      <${Button} small kind="danger" icon="trash" onClick=${() => remove()}>Delete<//><${Button} small kind="quiet" icon="close" label="Select none" onClick=${() => setChosen(new Set())} /></div>`}
    <${Failure} error=${error} retry=${list.again} />${!error && !list.isDone && !count ? html`<${Spinner} />` : ''}
    ${list.isDone && !count ? html`<div class="card grow"><${Empty} icon="vectors" title="No vectors yet"><p>Put vectors as JSON, or with any S3 Vectors client.</p>
      <${Button} kind="primary" icon="plus" onClick=${onPut}>Put vectors<//><//></div>` : ''}
    ${count > 0 && html`<${Grid} label=${`Vectors in ${index}`} columns="cols-vectors" count=${count} total=${list.isDone ? count + 1 : -1} heads=${[[html`<span class="sr">Selected</span>`], ['Key'], ['Metadata', 'wide-only'], [html`<span class="sr">Similar</span>`]]}
      row=${row} onNearEnd=${list.more} onOpen=${(at) => onOpen(vectors[at].key)} onToggle=${toggle} isSelected=${(at) => vectors[at] && chosen.has(vectors[at].key)} keys=${{ Delete: remove }} foot=${foot} />`}
    ${removing && html`<${Confirm} title="Delete vectors" onClose=${closed} run=${async () => { await deleteVectors(bucket, index, removing); toast('Deleted.'); }}>
      <p>${removing.length === 1 ? html`<strong>${removing[0]}</strong> is` : `${plural(removing.length, 'vector')} are`} deleted and cannot be restored.</p><//>`}`;
}

function About({ about }) {
  const rows = [['ARN', html`<span class="row"><code class="grow">${about.arn}</code><${CopyButton} text=${about.arn} label="Copy the ARN" /></span>`],
    ['Dimension', number(about.dimension)], ['Distance', about.metric], ['Elements', about.type], ['Mode', about.mode], ['Created', time(about.created)],
    ['Non-filterable keys', about.nonFilterable.join(', ') || '–'], ['Text search', about.texts.map((it) => (it.language ? `${it.key} (${it.language})` : it.key)).join(', ') || '–']];
  return html`<div class="card pad"><dl class="facts">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></div>`;
}

export function VectorIndex({ bucket, index, query, onGone }) {
  const [tab, setTab] = useState(query.tab ?? 'vectors');
  const [dialog, setDialog] = useState();
  const [example, setExample] = useState();
  const about = useLoad(() => getIndex(bucket, index), [bucket, index]);
  const list = useVectors(bucket, index);
  useEffect(() => setTab(query.tab ?? 'vectors'), [query.tab]);
  useShortcuts({ n: () => setDialog({ put: '' }) });
  const choose = (next) => { history.replaceState(null, '', link(['vectors', bucket, index], { tab: next })); setTab(next); };
  const ask = (key) => { setExample({ key }); setDialog(); choose('query'); };
  const open = (key) => setDialog({ open: key });
  return html`<${Head} crumbs=${[['Vectors', '#/vectors'], [bucket, link(['vectors', bucket])], index]}>
      ${about.data && html`<span class="tag wide-only">${number(about.data.dimension)} × ${about.data.type}, ${about.data.metric}</span>`}
      <${Button} icon="plus" kind="primary" disabled=${!about.data} onClick=${() => setDialog({ put: '' })}>Put vectors<//>
      <${Menu} label="More actions" kind="" items=${[['refresh', 'Reload', list.reload], ['trash', 'Delete index', () => setDialog('remove')]]} /><//>
    <div class="content fixed"><div class="under-tabs"><${Tabs} label="About the index" tabs=${[['vectors', 'Vectors'], ['query', 'Query'], ['about', 'About']]} current=${tab} onChange=${choose} /></div>
    <${Failure} error=${about.error} retry=${about.reload} />
    <div role="tabpanel" class="tabpanel ${tab === 'vectors' ? 'fixed' : ''}" tabindex=${tab === 'vectors' ? undefined : 0} aria-label=${{ vectors: 'Vectors', query: 'Query', about: 'About' }[tab]}>
    ${tab === 'vectors' && html`<${List} bucket=${bucket} index=${index} list=${list} onOpen=${open} onSimilar=${ask} onPut=${() => setDialog({ put: '' })} />`}
    ${tab === 'query' && about.data && html`<${Query} bucket=${bucket} index=${index} about=${about.data} example=${example} onOpen=${open} onSimilar=${ask} />`}
    ${tab === 'about' && about.data && html`<${About} about=${about.data} />`}</div></div>
    ${dialog?.open !== undefined && html`<${VectorDrawer} key=${dialog.open} bucket=${bucket} index=${index} vectorKey=${dialog.open} onClose=${() => setDialog()} onChange=${list.reload}
      onQuery=${() => ask(dialog.open)} onEdit=${(text) => setDialog({ put: text })} />`}
    ${dialog?.put !== undefined && html`<${PutVectors} bucket=${bucket} index=${index} about=${about.data} text=${dialog.put} onClose=${(done) => { setDialog(); if (done) list.reload(); }} />`}
    ${dialog === 'remove' && html`<${DeleteIndex} bucket=${bucket} index=${index} onClose=${(done) => (done ? onGone() : setDialog())} />`}`;
}
