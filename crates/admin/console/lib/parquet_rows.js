// The first rows of a Parquet file: the pages of each column, as far as they are needed.

import { decompress } from './decompress.js';
import { Reader } from './thrift.js';
import { readRuns, readValues, textOfValue } from './parquet_values.js';

/** The longest piece of a column that is read for a few rows. */
const COLUMN_BYTES_MAX = 8 << 20;
const FIRST_READ = 256 << 10;
/** A file of this size is read at once. */
const FILE_BYTES_WHOLE = 2 << 20;
const PAGE_BYTES_MAX = 64 << 20;
/** The values of lists that are read for a few rows. */
const LIST_VALUES_MAX = 20_000;
const CELL_CHARACTERS_MAX = 200;

const bits = (most) => (most ? 32 - Math.clz32(most) : 0);

/** The pages of a column, one by one; `bytes(count)` gives as many of its first bytes. */
async function* pages(chunk, bytes) {
  let data = await bytes(Math.min(chunk.size, FIRST_READ));
  for (let at = 0; at < chunk.size;) {
    let head, start;
    for (;;) {
      try {
        const reader = new Reader(data.subarray(at));
        head = reader.struct();
        start = at + reader.at;
        if (start + head[3] <= data.length) break;
      } catch (error) {
        if (data.length >= chunk.size) throw error;
      }
      const wanted = Math.min(chunk.size, Math.max(2 * data.length, (start ?? 0) + (head?.[3] ?? 0)));
      if (data.length >= wanted || wanted > COLUMN_BYTES_MAX) throw new Error('The pages of the column are too large for a preview.');
      data = await bytes(wanted);
    }
    if (!(head[2] >= 0 && head[2] <= PAGE_BYTES_MAX && head[3] >= 0)) throw new Error('The pages of the column are too large for a preview.');
    at = start + head[3];
    yield { head, body: data.subarray(start, at) };
  }
}

/** The levels and values of a page of data, at most `most`. */
async function readPage({ head, body }, leaf, codec, dictionary, most) {
  const [first, second] = [head[5], head[8]];
  const count = Math.min((first ?? second)[1], most);
  let repetitions, definitions, values;
  if (second) {
    const [of, to] = [second[6], second[6] + second[5]];
    repetitions = leaf.rep ? readRuns(body.subarray(0, of), bits(leaf.rep), count) : undefined;
    definitions = leaf.def ? readRuns(body.subarray(of, to), bits(leaf.def), count) : undefined;
    values = second[7] === false ? body.subarray(to) : await decompress(body.subarray(to), codec, head[2] - to);
  } else {
    values = await decompress(body, codec, head[2]);
    const levels = (most) => {
      if (!most) return undefined;
      const length = new DataView(values.buffer, values.byteOffset).getUint32(0, true);
      const read = readRuns(values.subarray(4, 4 + length), bits(most), count);
      values = values.subarray(4 + length);
      return read;
    };
    repetitions = levels(leaf.rep);
    definitions = levels(leaf.def);
  }
  const held = definitions ? definitions.filter((it) => it === leaf.def).length : count;
  return { count, repetitions, definitions, values: held ? readValues(values, (first ?? second)[first ? 2 : 4], leaf, held, dictionary) : [] };
}

/** The texts of the first rows of a column; null for no value. Lists are their values, whatever their depth. */
async function column(leaf, chunk, bytes, rowsMax) {
  const rows = [];
  let dictionary;
  for await (const page of pages(chunk, bytes)) {
    if (page.head[7]) {
      dictionary = readValues(await decompress(page.body, chunk.codec, page.head[2]), 0, leaf, page.head[7][1]);
      continue;
    }
    if (!page.head[5] && !page.head[8]) continue;
    const most = leaf.rep ? LIST_VALUES_MAX : rowsMax - rows.length;
    const { count, repetitions, definitions, values } = await readPage(page, leaf, chunk.codec, dictionary, most);
    for (let i = 0, next = 0; i < count; i++) {
      const isHeld = !definitions || definitions[i] === leaf.def;
      const text = isHeld ? textOfValue(values[next++], leaf) : null;
      if (!repetitions) rows.push(text);
      else if (repetitions[i] === 0) rows.push(isHeld ? [text] : definitions[i] === 0 && leaf.isOptional ? null : []);
      else if (rows.length) rows.at(-1).push(isHeld ? text : 'null');
      // The last list of the page before may go on here.
      if (rows.length > rowsMax) return rows.slice(0, rowsMax);
    }
    if (rows.length >= rowsMax && !repetitions || count === LIST_VALUES_MAX) return rows.slice(0, rowsMax);
  }
  return rows;
}

function shown(cell) {
  const text = Array.isArray(cell) ? `[${cell.join(', ')}]` : cell;
  return text?.length > CELL_CHARACTERS_MAX ? `${text.slice(0, CELL_CHARACTERS_MAX)}…` : text;
}

/**
 * The first rows of the first row group: names of the columns, rows of texts, and the columns that cannot be shown with
 * the reason.
 */
export async function parquetRows(schema, size, read, rowsMax, columnsMax) {
  const [group] = schema.rowGroups;
  if (!group) return { names: [], rows: [], failed: [] };
  const whole = size <= FILE_BYTES_WHOLE ? await read(0, size - 1) : undefined;
  const failed = [];
  const columns = await Promise.all(schema.leaves.slice(0, columnsMax).map(async (leaf, at) => {
    const chunk = group.columns[at];
    const bytes = async (count) => (whole ? whole.subarray(chunk.start, chunk.start + count) : read(chunk.start, chunk.start + count - 1));
    try {
      if (!chunk || chunk.isElsewhere || !(chunk.start >= 0 && chunk.size >= 0 && chunk.start + chunk.size <= size)) throw new Error('The column is not in this file.');
      return [leaf.name, await column(leaf, chunk, bytes, rowsMax)];
    } catch (error) {
      failed.push([leaf.name, error.message]);
      return undefined;
    }
  }));
  const found = columns.filter(Boolean);
  const count = Math.min(rowsMax, Math.max(0, ...found.map(([, cells]) => cells.length)));
  return {
    names: found.map(([name]) => name), failed,
    rows: Array.from({ length: count }, (_, row) => found.map(([, cells]) => shown(cells[row] ?? null))),
  };
}
