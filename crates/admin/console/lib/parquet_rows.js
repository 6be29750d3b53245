// The first rows of a Parquet file: the pages of each column, as far as they are needed.

import { decompress } from './decompress.js';
import { Reader } from './thrift.js';
import { nameOf } from './parquet.js';
import { Dictionary, readRuns, readValues, textOfValue } from './parquet_values.js';

/** The longest piece of a column that is read for a few rows. */
const COLUMN_BYTES_MAX = 8 << 20;
const FIRST_READ = 256 << 10;
/** A file of this size is read at once. */
const FILE_BYTES_WHOLE = 2 << 20;
const PAGE_BYTES_MAX = 64 << 20;
/** What is decompressed of all columns: a page and a dictionary of the usual 1 MiB for each of a hundred. */
const FILE_BYTES_MAX = 256 << 20;
/** The pages of a column, which may be empty. */
const PAGES_MAX = 2_000;
/** The fields of the head of a page; Parquet knows thirty. */
const HEAD_VALUES_MAX = 200;
/** The values of lists that are read for a few rows: of a page, of a column, and of all columns. */
const PAGE_VALUES_MAX = 20_000;
const COLUMN_VALUES_MAX = 100_000;
const FILE_VALUES_MAX = 1_000_000;
const CELL_CHARACTERS_MAX = 200;
/** The values of a list that a cell can show: each takes two characters at least. */
const LIST_VALUES_SHOWN = CELL_CHARACTERS_MAX / 2 + 1;

const tooLarge = () => new Error('The pages of the column are too large for a preview.');

/** What may still be read of a file. Columns may share their pages, so it is counted for all of them. */
class Budget {
  constructor() {
    this.bytes = FILE_BYTES_MAX;
    this.values = FILE_VALUES_MAX;
  }

  async decompress(input, codec, size) {
    if (!codec) return input;
    if (!(size >= 0 && size <= PAGE_BYTES_MAX)) throw tooLarge();
    if (size > this.bytes) throw new Error('The columns before decompress to more than a preview takes.');
    this.bytes -= size;
    return decompress(input, codec, size);
  }
}

const bits = (most) => (most ? 32 - Math.clz32(most) : 0);

/** The pages of a column, one by one, from its `first` bytes on; `bytes(count)` gives more of them. */
async function* pages(chunk, first, bytes) {
  let data = await first;
  for (let at = 0, count = 0; at < chunk.size; count++) {
    if (count === PAGES_MAX) throw new Error('The column has too many pages for a preview.');
    let head, start;
    for (;;) {
      try {
        const reader = new Reader(data.subarray(at), HEAD_VALUES_MAX);
        head = reader.struct();
        start = at + reader.at;
        if (start + head[3] <= data.length) break;
      } catch (error) {
        if (data.length >= chunk.size) throw error;
      }
      const wanted = Math.min(chunk.size, Math.max(2 * data.length, (start ?? 0) + (head?.[3] ?? 0)));
      if (data.length >= wanted || wanted > COLUMN_BYTES_MAX) throw tooLarge();
      data = await bytes(wanted);
    }
    if (![head[2], head[3]].every((size) => Number.isInteger(size) && size >= 0) || head[2] > PAGE_BYTES_MAX) throw tooLarge();
    at = start + head[3];
    yield { head, body: data.subarray(start, at) };
  }
}

/** The levels and values of a page of data, at most `most`. */
async function readPage({ head, body }, leaf, codec, dictionary, most, budget) {
  const [first, second] = [head[5], head[8]];
  const count = Math.min((first ?? second)[1], most);
  if (!(Number.isInteger(count) && count >= 0)) throw new Error('A page of the column has no number of values.');
  let repetitions, definitions, values;
  if (second) {
    const [of, to] = [second[6], second[6] + second[5]];
    repetitions = leaf.rep ? readRuns(body.subarray(0, of), bits(leaf.rep), count) : undefined;
    definitions = leaf.def ? readRuns(body.subarray(of, to), bits(leaf.def), count) : undefined;
    values = second[7] === false ? body.subarray(to) : await budget.decompress(body.subarray(to), codec, head[2] - to);
  } else {
    values = await budget.decompress(body, codec, head[2]);
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
async function column(leaf, { chunk, first, bytes }, rowsMax, budget) {
  const rows = [];
  let dictionary, left = COLUMN_VALUES_MAX;
  for await (const page of pages(chunk, first, bytes)) {
    if (page.head[7]) {
      if (dictionary) throw new Error('The column has more than one dictionary.');
      dictionary = new Dictionary(await budget.decompress(page.body, chunk.codec, page.head[2]), leaf, page.head[7][1]);
      continue;
    }
    if (!page.head[5] && !page.head[8]) continue;
    if (leaf.rep && !budget.values) throw new Error('The lists of the columns before are too long for a preview.');
    const most = leaf.rep ? Math.min(PAGE_VALUES_MAX, left, budget.values) : rowsMax - rows.length;
    const { count, repetitions, definitions, values } = await readPage(page, leaf, chunk.codec, dictionary, most, budget);
    if (leaf.rep) {
      left -= count;
      budget.values -= count;
    }
    for (let i = 0, next = 0; i < count; i++) {
      const isHeld = !definitions || definitions[i] === leaf.def;
      const value = isHeld ? values[next++] : undefined;
      const text = () => (isHeld ? textOfValue(value, leaf) : null);
      if (!repetitions) rows.push(text());
      else if (repetitions[i] === 0) rows.push(isHeld ? [text()] : definitions[i] === 0 && leaf.isOptional ? null : []);
      else if (rows.at(-1)?.length < LIST_VALUES_SHOWN) rows.at(-1).push(text() ?? 'null');
      // The last list of the page before may go on here.
      if (rows.length > rowsMax) return rows.slice(0, rowsMax);
    }
    if (rows.length >= rowsMax && !repetitions || repetitions && count === most) return rows.slice(0, rowsMax);
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
  const leaves = schema.leaves.slice(0, columnsMax);
  const opened = leaves.map((leaf, at) => {
    const chunk = group.columns[at];
    if (!chunk || chunk.isElsewhere || !(chunk.start >= 0 && chunk.size >= 0 && chunk.start + chunk.size <= size)) return undefined;
    const bytes = async (count) => (whole ? whole.subarray(chunk.start, chunk.start + count) : read(chunk.start, chunk.start + count - 1));
    const first = bytes(Math.min(chunk.size, FIRST_READ));
    // It is awaited in the turn of its column.
    first.catch(() => {});
    return { chunk, first, bytes };
  });
  const budget = new Budget();
  const failed = [], found = [];
  // Requests run side by side, but one column at a time is decompressed, and the page may be drawn in between.
  for (const [at, leaf] of leaves.entries()) {
    const name = nameOf(leaf.path);
    try {
      if (!opened[at]) throw new Error('The column is not in this file.');
      found.push([name, (await column(leaf, opened[at], rowsMax, budget)).map(shown)]);
    } catch (error) {
      failed.push([name, error.message.slice(0, CELL_CHARACTERS_MAX)]);
    }
    await globalThis.scheduler?.yield?.();
  }
  const count = Math.min(rowsMax, Math.max(0, ...found.map(([, cells]) => cells.length)));
  return {
    names: found.map(([name]) => name), failed,
    rows: Array.from({ length: count }, (_, row) => found.map(([, cells]) => cells[row] ?? null)),
  };
}
