// The live trace: requests as they end.

import { html, useEffect, useMemo, useRef, useState } from '../../vendor/preact.js';
import { follow, matcher } from '../../lib/trace.js';
import { onSession } from '../../lib/session.js';
import { Button, Check, Empty, Failure, Head, Search } from '../../ui/kit.js';
import { useShortcuts } from '../../ui/hooks.js';
import { Grid } from '../../ui/grid.js';
import { bytes, clock, number, plural, seconds } from '../../lib/format.js';
import { TraceEntry } from './entry.js';

/** Maximum number of requests that are kept. */
export const ENTRIES_MAX = 2000;
/** Interval between redraws of the table, for any request rate. */
const DRAW_MS = 200;

/** The newest requests and the state of the connection, buffered until the next redraw. */
function useTrace() {
  const kept = useRef({ entries: [], heard: 0, lost: 0, isOpen: false, wasOpen: false });
  const [shown, setShown] = useState(kept.current);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer;
    const draw = () => { timer ??= setTimeout(() => { timer = undefined; setShown({ ...kept.current }); }, DRAW_MS); };
    follow({
      signal: stop.signal,
      onEntries: (entries) => {
        const at = kept.current;
        for (const entry of entries) entry.number = ++at.heard;
        at.entries = [...entries.reverse(), ...at.entries].slice(0, ENTRIES_MAX);
        draw();
      },
      onLost: (count) => { kept.current.lost += count; draw(); },
      onState: ({ isOpen, error }) => {
        const at = kept.current;
        if (at.isOpen && !isOpen) at.gapSince = new Date();
        Object.assign(at, { isOpen, error, wasOpen: at.wasOpen || isOpen });
        draw();
      },
    });
    // After another sign-in the requests belong to another user.
    const end = onSession((session) => { if (session) setRound((it) => it + 1); });
    return () => { stop.abort(); clearTimeout(timer); end(); };
  }, [round]);
  const clear = () => {
    Object.assign(kept.current, { entries: [], lost: 0, gapSince: undefined });
    setShown({ ...kept.current });
  };
  return { ...shown, clear, again: () => setRound((it) => it + 1) };
}

const STATUSES = [['', 'Any status'], ['ok', 'Successes'], ['error', 'Errors'], ['2', '2xx'], ['3', '3xx'], ['4', '4xx'], ['5', '5xx'], ['0', 'Client disconnected']];

const Filter = ({ label, value, onChange, options }) => html`<select class="filter" aria-label=${label} value=${value}
  onChange=${(event) => onChange(event.target.value)}>${options.map(([it, text]) => html`<option value=${it} selected=${it === value}>${text}</option>`)}</select>`;

const Words = ({ label, value, onInput }) => html`<input type="text" class="filter" aria-label=${label} placeholder=${label} value=${value}
  autocomplete="off" spellcheck=${false} onInput=${(event) => onInput(event.target.value)} />`;

export const kindOf = (status) => (status === 0 || status >= 500 ? 'bad' : status >= 400 ? 'warn' : status >= 300 ? 'accent' : 'good');

/** The name in an ARN. */
const shortUser = (user) => (user.startsWith('arn:') ? user.slice(user.lastIndexOf('/') + 1) : user);

function Row({ entry, onOpen }) {
  const target = entry.bucket ? `${entry.bucket}${entry.key ? `/${entry.key}` : ''}` : entry.path;
  return html`<div role="gridcell" class="mono faint wide-only">${clock(entry.time)}</div>
    <div role="gridcell"><span class="tag ${kindOf(entry.status)}" title=${entry.code ?? ''}>${entry.status || 'gone'}</span></div>
    <div role="gridcell" class="mono faint wide-only">${entry.method}</div>
    <div role="gridcell" class="name"><button type="button" class="link" tabindex="-1" onClick=${onOpen}>${entry.operation ?? 'other'}</button></div>
    <div role="gridcell" class="cut wide-only" title=${`${entry.path}${entry.query && `?${entry.query}`}`}>${target}</div>
    <div role="gridcell" class="cut muted wide-only" title=${entry.user ?? ''}>${shortUser(entry.user ?? '')}</div>
    <div role="gridcell" class="num">${seconds(entry.milliseconds / 1000)}</div>
    <div role="gridcell" class="num wide-only">${bytes(entry.bytes_in)}</div><div role="gridcell" class="num wide-only">${bytes(entry.bytes_out)}</div>`;
}

const HEADS = [['Time', 'wide-only'], ['Status'], ['Method', 'wide-only'], ['Operation'], ['Target', 'wide-only'], ['User', 'wide-only'], ['Duration', 'num'],
  ['In', 'num wide-only'], ['Out', 'num wide-only']];

export function Trace() {
  const trace = useTrace();
  const [filters, setFilters] = useState({});
  const [frozen, setFrozen] = useState();
  const [chosen, setChosen] = useState();
  const set = (name) => (value) => setFilters((it) => ({ ...it, [name]: value }));
  const entries = frozen?.entries ?? trace.entries;
  const found = useMemo(() => entries.filter(matcher(filters)), [entries, filters]);
  const waiting = useMemo(() => (frozen ? trace.entries.filter((it) => it.number > frozen.heard).filter(matcher(filters)).length : 0),
    [frozen, trace.entries, filters]);
  const operations = useMemo(() => [...new Set([...entries.map((it) => it.operation ?? 'other'), filters.operation].filter(Boolean))].sort(),
    [entries, filters.operation]);
  const toggle = () => setFrozen(frozen ? undefined : { entries: trace.entries, heard: trace.heard });
  const clear = () => { trace.clear(); setFrozen((it) => it && { entries: [], heard: trace.heard }); };
  useShortcuts({ '/': () => document.getElementById('filter')?.focus(), p: toggle });
  const { error } = trace;
  const state = trace.isOpen ? ['good', 'live'] : error ? ['bad', 'ended'] : trace.wasOpen ? ['warn', 'reconnecting'] : ['', 'connecting'];
  const isFiltered = ['text', 'operation', 'status', 'bucket', 'user'].some((it) => filters[it]);
  const at = chosen ? found.findIndex((it) => it.number === chosen.number) : -1;
  const step = (to) => found[to] && at >= 0 && (() => setChosen(found[to]));
  const foot = html`<span role="status">${plural(found.length, 'request')}${isFiltered ? ` of ${number(entries.length)}` : ''}</span>
    <span class="grow" /><span class="wide-only">This page keeps the newest ${number(ENTRIES_MAX)} only.</span>`;
  return html`<${Head} crumbs=${['Trace']}><span class="tag ${frozen ? 'warn' : state[0]}" role="status">${frozen ? 'paused' : state[1]}</span>
    <${Button} icon=${frozen ? 'play' : 'pause'} onClick=${toggle}>${frozen ? `Resume${waiting ? ` (${number(waiting)} new)` : ''}` : 'Pause'}<//>
    <${Button} icon="trash" onClick=${clear}>Clear<//><//>
    <div class="content fixed">
    ${error?.status === 403 ? html`<div class="note bad" role="alert">The trace needs a policy that allows <code>admin:ServerTrace</code>.<br />${error.message}</div>`
    : html`<${Failure} error=${error} retry=${trace.again} />`}
    ${!(error && !trace.entries.length) && html`<div class="bar" role="search" aria-label="Filters"><${Search} id="filter" label="Text" value=${filters.text ?? ''} onInput=${set('text')} />
      <${Filter} label="Operation" value=${filters.operation ?? ''} onChange=${set('operation')} options=${[['', 'Any operation'], ...operations.map((it) => [it, it])]} />
      <${Filter} label="Status" value=${filters.status ?? ''} onChange=${set('status')} options=${STATUSES} />
      <${Words} label="Bucket" value=${filters.bucket ?? ''} onInput=${set('bucket')} /><${Words} label="User" value=${filters.user ?? ''} onInput=${set('user')} />
      <${Check} label="Show requests of this console" checked=${filters.withOwn ?? false} onChange=${set('withOwn')} /></div>
      ${trace.lost > 0 && html`<div class="note warn slim" role="status">${plural(trace.lost, 'request')} were lost: more ended than this page could receive.</div>`}
      ${trace.gapSince && html`<div class="note warn slim" role="status">The connection ended at ${clock(trace.gapSince)}${trace.isOpen ? ' and is back: requests in between are missing.' : '. Reconnecting…'}</div>`}
      ${found.length ? html`<${Grid} label="Requests" columns="cols-trace" count=${found.length} heads=${HEADS} foot=${foot} 
        first=${found[0].number} placeOf=${(id) => found.findIndex((it) => it.number === id)}
        row=${(index) => found[index] && html`<${Row} entry=${found[index]} onOpen=${() => setChosen(found[index])} />`}
        onOpen=${(index) => setChosen(found[index])} onPick=${(index) => setChosen(found[index])} />`
    : html`<div class="card grow"><${Empty} icon="trace" title=${isFiltered && entries.length ? 'No matching request' : 'Waiting for requests'}>
      <p>${isFiltered && entries.length ? 'No kept request matches the filters.' : 'Completed requests appear here. Earlier requests are not available.'}</p><//></div>`}`}</div>
    ${chosen && html`<${TraceEntry} entry=${chosen} newer=${step(at - 1)} older=${step(at + 1)} onClose=${() => setChosen()} />`}`;
}
