// The contents of an object, as text or as a picture; scripts in it never run.

import { h, html, useEffect, useMemo, useState } from '../vendor/preact.js';
import { gunzip } from '../lib/gzip.js';
import { blocks } from '../lib/markdown.js';
import { inlineUrl, readObject } from '../lib/s3.js';
import { parseCsv } from '../lib/csv.js';
import { reindent } from '../lib/json.js';
import { DAMAGED, pictureOf, reasonAgainst, textOf } from '../lib/svg.js';
import { parquetSchema } from '../lib/parquet.js';
import { parquetRows } from '../lib/parquet_rows.js';
import { Failure, Spinner } from '../ui/kit.js';
import { useLoad } from '../ui/hooks.js';
import { baseName, bytes, number, plural } from '../lib/format.js';

const TEXT_BYTES_MAX = 512 << 10;
const IMAGE_BYTES_MAX = 24 << 20;
const ROWS_MAX = 200;
const PARQUET_ROWS_MAX = 100;
/** More cells would freeze the page: a line of commas has half a million of them. */
const COLUMNS_MAX = 100;
/** Maximum rows of a schema, one for each column. */
const SCHEMA_ROWS_MAX = 1000;
const IMAGES = { png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', avif: 'image/avif', bmp: 'image/bmp', ico: 'image/x-icon' };
const VIDEOS = { mp4: 'video/mp4', m4v: 'video/mp4', webm: 'video/webm', ogv: 'video/ogg', mov: 'video/mp4' };
const SOUNDS = { mp3: 'audio/mpeg', m4a: 'audio/mp4', aac: 'audio/aac', ogg: 'audio/ogg', oga: 'audio/ogg', opus: 'audio/ogg', wav: 'audio/wav', flac: 'audio/flac' };
const MEDIA = { ...VIDEOS, ...SOUNDS };
const TEXTS = /^(text\/|application\/(json|xml|javascript|x-ndjson|yaml|toml|sql|x-sh|xhtml\+xml)|image\/svg\+xml)|\+(json|xml)\b/;
const ENDINGS = /\.(txt|md|log|json|jsonl|ndjson|xml|html?|xhtml|svg|css|m?js|ts|py|rs|go|java|c|h|cpp|sh|toml|ya?ml|ini|conf|cfg|env|sql|csv|tsv|lock|gitignore)$/i;

/** The way to show an object. */
export function kindOf(key, type, size) {
  const ending = baseName(key).match(/\.([^.]+)$/)?.[1].toLowerCase() ?? '';
  const essence = type.split(';')[0].trim().toLowerCase();
  if (IMAGES[ending] || Object.values(IMAGES).includes(essence)) {
    return size <= IMAGE_BYTES_MAX ? ['image', IMAGES[ending] ?? essence] : ['large'];
  }
  // As a picture, no script of it runs and nothing is loaded for it.
  if (ending === 'svg' || essence === 'image/svg+xml') return size <= IMAGE_BYTES_MAX ? ['svg', 'image/svg+xml'] : ['text'];
  if (MEDIA[ending] || Object.values(MEDIA).includes(essence)) return ['media', MEDIA[ending] ?? essence];
  if (ending === 'pdf' || essence === 'application/pdf') return ['pdf'];
  if (ending === 'md' || ending === 'markdown' || essence === 'text/markdown') return ['markdown'];
  if (ending === 'gz' || ending === 'tgz' || essence === 'application/gzip' || essence === 'application/x-gzip') {
    const [inner, detail] = ending === 'gz' ? kindOf(key.slice(0, -3), '', 0) : ['text'];
    return ['gzip', ['csv', 'json', 'markdown'].includes(inner) ? inner : 'text', detail];
  }
  if (ending === 'parquet' || essence === 'application/vnd.apache.parquet') return ['parquet'];
  if (ending === 'csv' || ending === 'tsv' || essence === 'text/csv') return ['csv', ending === 'tsv' ? '\t' : ','];
  if (ending === 'json' || essence === 'application/json') return ['json'];
  if (TEXTS.test(essence) || ENDINGS.test(key)) return ['text'];
  return ['unknown'];
}

const isText = (data) => !data.subarray(0, 4096).includes(0);

function Text({ data, head, isJson }) {
  const isCut = data.length < head.size;
  const text = new TextDecoder().decode(data);
  return html`${isCut && html`<p class="muted">The first ${bytes(data.length)} of ${bytes(head.size)}.</p>`}<pre class="preview wrapped" tabindex="0">${isJson && !isCut ? reindent(text) : text}</pre>`;
}

function Csv({ data, head, separator }) {
  const rows = parseCsv(new TextDecoder().decode(data), separator, ROWS_MAX + 1, data.length < head.size);
  const [first = [], ...rest] = rows;
  const cells = (row) => row.slice(0, COLUMNS_MAX);
  const columns = first.length > COLUMNS_MAX ? `The first ${number(COLUMNS_MAX)} of ${number(first.length)} columns` : plural(first.length, 'column');
  return html`<p class="muted">${columns}, the first ${plural(rest.length, 'row')}</p><div class="card scroll-x" tabindex="0"><table><thead><tr>${cells(first).map((cell) => html`<th>${cell}</th>`)}</tr></thead>
    <tbody>${rest.map((row) => html`<tr>${cells(row).map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

function Picture({ data, type, name, onFail }) {
  const [url, setUrl] = useState();
  const [size, setSize] = useState('');
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([data], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  if (failed) return html`<div class="note warn">The browser cannot show this picture.</div>`;
  return url && html`<img class="preview-image" src=${url} alt=${name} onError=${() => { setFailed(true); onFail?.(); }}
    onLoad=${(event) => setSize(`${event.target.naturalWidth} × ${event.target.naturalHeight}`)} /><p class="muted">${size}</p>`;
}

/** The first rows of a Parquet file. Columns that cannot be shown have their reason, once for all that share it. */
function ParquetRows({ rows: { names, rows, failed }, schema }) {
  const reasons = Map.groupBy(failed, ([, reason]) => reason);
  const columns = schema.leaves.length > COLUMNS_MAX ? `, the first ${number(COLUMNS_MAX)} of ${number(schema.leaves.length)} columns` : '';
  return html`${[...reasons].map(([reason, of]) => html`<div class="note warn">${of.slice(0, 5).map(([name]) => name).join(', ')}${of.length > 5 && ` and ${of.length - 5} more`}: ${reason}</div>`)}
    ${names.length > 0 && html`<p class="muted">The first ${plural(rows.length, 'row')} of ${number(schema.rows)}${columns}</p><div class="card scroll-x" tabindex="0"><table><caption class="sr">Rows</caption><thead><tr>${names.map((name) => html`<th>${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell ?? html`<span class="muted">null</span>`}</td>`)}</tr>`)}</tbody></table></div>`}`;
}

const Parquet = ({ schema }) => html`<p class="muted">${plural(schema.rows, 'row')} in ${plural(schema.groups, 'row group')}, version ${schema.version}${schema.createdBy && `, by ${schema.createdBy}`}${schema.columns.length > SCHEMA_ROWS_MAX && `; the first ${number(SCHEMA_ROWS_MAX)} of ${number(schema.columns.length)} columns`}</p>
  <div class="card scroll-x"><table><caption class="sr">Columns</caption><thead><tr><th>Column</th><th>Type</th><th>Repetition</th></tr></thead><tbody>${schema.columns.slice(0, SCHEMA_ROWS_MAX).map((it) => html`<tr>
  <td style=${{ paddingLeft: `${12 + 16 * it.depth}px` }} class="main">${it.name}</td><td><code>${it.type}</code></td><td class="muted">${it.repetition}</td></tr>`)}</tbody></table></div>`;

/** Markdown as text with structure; `h` makes elements, so markup of the text stays text. */
function Markdown({ data, head }) {
  const tree = useMemo(() => blocks(new TextDecoder().decode(data)), [data]);
  const node = (it) => (typeof it === 'string' ? it : h(it[0], it[1], ...it[2].map(node)));
  return html`${data.length < head.size && html`<p class="muted">The first ${bytes(data.length)} of ${bytes(head.size)}.</p>`}<div class="markdown" tabindex="0">${tree.map(node)}</div>`;
}

/** Sound and pictures are read as they are played. */
function Media({ url, type, name }) {
  const [failed, setFailed] = useState(false);
  if (failed) return html`<div class="note warn">The browser cannot play it: download it.</div>`;
  const fail = () => setFailed(true);
  return type.startsWith('audio/') ? html`<audio controls preload="metadata" src=${url} aria-label=${name} onError=${fail} />`
    : html`<video class="preview-image" controls preload="metadata" src=${url} aria-label=${name} onError=${fail} />`;
}

export function Preview({ bucket, objectKey, version, head, as }) {
  const [kind, detail, separator] = as ? [as] : kindOf(objectKey, head.type, head.size);
  const [asText, setAsText] = useState(false);
  const shown = asText ? 'text' : kind;
  const { data, error } = useLoad(async () => {
    const read = (range) => (head.size ? readObject(bucket, objectKey, { version, ...range }) : new Uint8Array());
    if (shown === 'parquet') {
      const part = (from, to) => read({ from, to });
      const schema = await parquetSchema(head.size, part);
      return { schema, rows: await parquetRows(schema, head.size, part, PARQUET_ROWS_MAX, COLUMNS_MAX) };
    }
    if (shown === 'image') return { data: await read({}) };
    if (shown === 'svg') {
      // The picture is made of the text that was looked at, so that no encoding shows the browser another one.
      const text = textOf(await read({}));
      const reason = reasonAgainst(text);
      // As where the browser finds that it is no picture.
      if (reason === DAMAGED) {
        setAsText(true);
        return {};
      }
      return { data: pictureOf(text), reason };
    }
    if (shown === 'media' || shown === 'pdf') return { url: inlineUrl(bucket, objectKey, version, detail ?? 'application/pdf') };
    if (shown === 'gzip') return gunzip(await read({ from: 0, to: TEXT_BYTES_MAX - 1 }), TEXT_BYTES_MAX);
    if (shown === 'unknown' || shown === 'large') return {};
    return { data: await read({ from: 0, to: TEXT_BYTES_MAX - 1 }) };
  }, [objectKey, version, shown]);
  if (error) return html`<${Failure} error=${error} />`;
  if (!data) return html`<${Spinner} />`;
  if (shown === 'large') return html`<div class="note">The picture is too large for a preview (${bytes(head.size)}): download it.</div>`;
  if (shown === 'unknown') {
    return html`<div class="note">No preview for ${head.type || 'this type'}.${' '}<button type="button" class="button small" onClick=${() => setAsText(true)}>Show as text</button></div>`;
  }
  const textual = html`<p><button type="button" class="button small" onClick=${() => setAsText(true)}>Show as text</button></p>`;
  if (data.url && shown === 'media') return html`<${Media} url=${data.url} type=${detail} name=${objectKey} />`;
  if (data.url && shown === 'pdf') return html`<iframe class="preview-page" src=${data.url} title=${objectKey} />`;
  if (data.schema) return html`<${ParquetRows} rows=${data.rows} schema=${data.schema} /><${Parquet} schema=${data.schema} />`;
  if (!data.data) return html`<${Spinner} />`;
  if (shown === 'image') return html`<${Picture} data=${data.data} type=${detail} name=${objectKey} />`;
  if (shown === 'svg' && data.reason) return html`<div class="note warn">No preview: ${data.reason[0].toLowerCase()}${data.reason.slice(1)}. Download it to open it elsewhere.</div>${textual}`;
  if (shown === 'svg') return html`<${Picture} data=${data.data} type=${detail} name=${objectKey} onFail=${() => setAsText(true)} />${textual}`;
  if (!isText(data.data)) return html`<div class="note">The contents are not text${head.headers['content-encoding'] ? `, but ${head.headers['content-encoding']}` : ''}.</div>`;
  const inner = shown === 'gzip' ? detail : shown;
  // Of compressed contents, the size is not known: more than what is shown, if there is more.
  const of = shown === 'gzip' ? { ...head, size: data.isWhole ? data.data.length : Math.max(head.size, data.data.length + 1) } : head;
  if (inner === 'csv') return html`<${Csv} data=${data.data} head=${of} separator=${(shown === 'gzip' ? separator : detail) ?? ','} />`;
  if (inner === 'markdown') return html`<${Markdown} data=${data.data} head=${of} />${shown === 'markdown' && textual}`;
  return html`<${Text} data=${data.data} head=${of} isJson=${inner === 'json'} />`;
}
