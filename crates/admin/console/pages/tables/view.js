// A view: its text and its columns.

import { html, useState } from '../../vendor/preact.js';
import { load } from '../../lib/tables.js';
import { Button, Failure, Head, Spinner } from '../../ui/kit.js';
import { useLoad } from '../../ui/hooks.js';
import { number, time } from '../../lib/format.js';
import { Drop, Facts, Place, Properties } from './parts.js';

const SQL_CHARACTERS_MAX = 100_000;
const COLUMNS_MAX = 1000;

export function View({ bucket, namespace, name, crumbs, onGone }) {
  const { data, error, reload } = useLoad(() => load(bucket, namespace, 'views', name), []);
  const [isDropping, setDropping] = useState(false);
  const view = data?.metadata;
  const version = view?.versions.find((it) => it['version-id'] === view['current-version-id']);
  const fields = view?.schemas.find((it) => it['schema-id'] === version?.['schema-id'])?.fields ?? [];
  return html`<${Head} crumbs=${crumbs}><${Button} icon="trash" onClick=${() => setDropping(true)}>Drop<//><//>
    <div class="content" tabindex="0" role="region" aria-label="View"><div class="stack"><${Failure} error=${error} retry=${reload} />${!data && !error && html`<${Spinner} />`}
    ${version && html`<div class="card pad"><${Facts} rows=${[['Columns', `${fields.slice(0, COLUMNS_MAX).map((it) => it.name).join(', ')}${fields.length > COLUMNS_MAX ? ` … of ${number(fields.length)}` : ''}`], ['Version', `${version['version-id']}, ${time(version['timestamp-ms'])}`],
      ['Location', html`<${Place} at=${view.location} isFolder />`], ['Metadata file', html`<${Place} at=${data['metadata-location']} />`]]} /></div>
      ${version.representations.map((it) => html`<section class="card pad stack"><h2>${it.dialect ?? it.type}</h2><pre class="preview wrapped" tabindex="0">${it.sql?.slice(0, SQL_CHARACTERS_MAX)}</pre></section>`)}
      <section class="card pad stack"><h2>Properties</h2><${Properties} of=${view.properties} /></section>`}</div></div>
    ${isDropping && html`<${Drop} bucket=${bucket} namespace=${namespace} kind="views" name=${name} onClose=${(done) => (done ? onGone() : setDropping(false))} />`}`;
}
