// A query: by the vector of a key, by a typed vector, or by words; with a filter.

import { html, useEffect, useState } from '../../vendor/preact.js';
import { getVector, parseElements, parseFilter, queryVectors } from '../../lib/vectors.js';
import { ApiError } from '../../lib/api.js';
import { AreaField, Button, Choice, Failure, Spinner, TextField } from '../../ui/kit.js';
import { useAction } from '../../ui/hooks.js';
import { plural } from '../../lib/format.js';
import { brief } from './vector_index.js';

const TOP_K_MAX = 10_000;

const digits = (value) => (value === undefined ? '' : Number(value).toPrecision(6));

function Results({ found, ms, onOpen, onSimilar }) {
  const hasScores = found.some((it) => it.scores);
  return html`<p class="muted" role="status">${plural(found.length, 'result')} in ${ms.toFixed(0)} ms</p>
    ${found.length > 0 && html`<div class="card scroll-x"><table><caption class="sr">Results</caption><thead><tr><th class="num">#</th><th>Key</th><th class="num">Distance</th>${hasScores && html`<th class="num">Score</th>`}<th class="wide-only">Metadata</th><th><span class="sr">Actions</span></th></tr></thead>
    <tbody>${found.map((it, at) => html`<tr key=${it.key}><td class="num muted">${at + 1}</td><td class="main"><button type="button" class="link-button" onClick=${() => onOpen(it.key)}>${it.key}</button></td>
      <td class="num">${digits(it.distance ?? it.scores?.vectorDistance)}</td>${hasScores && html`<td class="num">${digits(it.scores?.fused ?? it.scores?.bm25Scores?.reduce((sum, { score }) => sum + score, 0))}</td>`}
      <td class="wide-only mono muted metadata">${brief(it.metadata)}</td><td class="actions"><${Button} small kind="quiet" icon="vectors" label=${`Similar to ${it.key}`} onClick=${() => onSimilar(it.key)} /></td></tr>`)}</tbody></table></div>`}`;
}

export function Query({ bucket, index, about, example, onOpen, onSimilar }) {
  const [form, setForm] = useState({ by: about.texts.length ? 'text' : 'key', key: '', vector: '', text: '', textKey: about.texts[0]?.key ?? '', filter: '', topK: '10' });
  const [answer, setAnswer] = useState();
  const set = (name) => (value) => setForm((it) => ({ ...it, [name]: value }));
  const [run, isBusy, error] = useAction(async (asked) => {
    // A refused query must not leave the results of another one below its error.
    setAnswer(undefined);
    const topK = Number(asked.topK);
    if (!Number.isInteger(topK) || topK < 1 || topK > TOP_K_MAX) throw new ApiError('', `The number of results is 1 to ${TOP_K_MAX}.`, 0);
    const filter = parseFilter(asked.filter);
    const byVector = asked.by === 'vector' || (asked.by === 'both' && asked.vector.trim());
    const elements = asked.by === 'key' ? (await getVector(bucket, index, asked.key)).elements : byVector ? parseElements(asked.vector, about.dimension) : undefined;
    const texts = asked.by === 'text' || asked.by === 'both' ? [{ metadataKey: asked.textKey, text: asked.text }] : undefined;
    const begun = performance.now();
    const found = await queryVectors(bucket, index, { elements, texts, filter, topK });
    setAnswer({ found, ms: performance.now() - begun });
  });
  useEffect(() => {
    if (!example) return;
    const asked = { ...form, by: 'key', key: example.key };
    setForm(asked);
    run(asked);
  }, [example]);
  const kinds = [...(about.texts.length ? [['text', 'Words'], ['both', 'Words and a vector']] : []), ['key', 'A vector of the index'], ['vector', 'A vector as JSON']];
  const isReady = { key: form.key, vector: form.vector.trim(), text: form.text, both: form.text && form.vector.trim() }[form.by];
  const submit = (event) => { event.preventDefault(); if (isReady && !isBusy) run(form); };
  const usesText = form.by === 'text' || form.by === 'both';
  return html`<form class="card pad stack query" onSubmit=${submit}><div class="inputs"><${Choice} label="Nearest to" value=${form.by} onChange=${set('by')} options=${kinds} />
      ${form.by === 'key' && html`<${TextField} label="Key" value=${form.key} onInput=${set('key')} />`}
      ${usesText && html`<${TextField} label="Words" value=${form.text} onInput=${set('text')} />`}
      ${usesText && about.texts.length > 1 && html`<${Choice} label="In" value=${form.textKey} onChange=${set('textKey')} options=${about.texts.map(({ key }) => [key, key])} />`}
      <${TextField} label="Results" type="number" min="1" max=${TOP_K_MAX} value=${form.topK} onInput=${set('topK')} /></div>
    ${(form.by === 'vector' || form.by === 'both') && html`<${AreaField} label="Vector" rows=${3} value=${form.vector} onInput=${set('vector')} placeholder="[0.1, -0.2, …]" hint=${`A list of ${plural(about.dimension, 'number')}.`} />`}
    <${AreaField} label="Filter by metadata" rows=${2} value=${form.filter} onInput=${set('filter')} placeholder='{"genre": "drama", "year": {"$gte": 2000}}' hint="Optional JSON. $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $startsWith, $exists, $and, $or." />
    <${Failure} error=${error} /><div><${Button} type="submit" kind="primary" icon="search" disabled=${!isReady || isBusy}>Query<//></div></form>
    ${isBusy ? html`<${Spinner} />` : answer && html`<${Results} ...${answer} onOpen=${onOpen} onSimilar=${onSimilar} />`}`;
}
