// The schema of a Parquet file: its footer.

import { Reader } from './thrift.js';

const FOOTER_BYTES_MAX = 16 << 20;
const FIRST_READ = 64 << 10;
/** The elements of a schema: columns and groups. */
const ELEMENTS_MAX = 100_000;
/** Bytes of a name that are shown. */
const NAME_BYTES_MAX = 1 << 10;

const TYPES = ['BOOLEAN', 'INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE', 'BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY'];
const REPETITIONS = ['required', 'optional', 'repeated'];
const CONVERTED = [
  'UTF8', 'MAP', 'MAP_KEY_VALUE', 'LIST', 'ENUM', 'DECIMAL', 'DATE', 'TIME_MILLIS', 'TIME_MICROS', 'TIMESTAMP_MILLIS',
  'TIMESTAMP_MICROS', 'UINT_8', 'UINT_16', 'UINT_32', 'UINT_64', 'INT_8', 'INT_16', 'INT_32', 'INT_64', 'JSON', 'BSON', 'INTERVAL',
];
const LOGICAL = {
  1: 'STRING', 2: 'MAP', 3: 'LIST', 4: 'ENUM', 5: 'DECIMAL', 6: 'DATE', 7: 'TIME', 8: 'TIMESTAMP', 10: 'INTEGER', 11: 'NULL',
  12: 'JSON', 13: 'BSON', 14: 'UUID', 15: 'FLOAT16', 16: 'VARIANT', 17: 'GEOMETRY', 18: 'GEOGRAPHY',
};

const textOf = (bytes) => (bytes ? new TextDecoder().decode(bytes.subarray(0, NAME_BYTES_MAX)) : '');
/** A number of the file, which may have a list or a text in its place. */
const numberOf = (it) => (typeof it === 'number' ? it : undefined);

function typeOf(element) {
  if (element[5]) return 'group';
  const logical = element[10] ? LOGICAL[Object.keys(element[10])[0]] : CONVERTED[element[6]];
  const physical = TYPES[element[1]] ?? 'unknown';
  if (logical === 'DECIMAL') return `DECIMAL(${numberOf(element[8] ?? element[10]?.[5]?.[2])}, ${numberOf(element[7] ?? element[10]?.[5]?.[1]) ?? 0})`;
  if (physical === 'FIXED_LEN_BYTE_ARRAY') return `${logical ? `${logical}, ` : ''}${physical}(${numberOf(element[2])})`;
  return logical ? `${logical}, ${physical}` : physical;
}

/** The contents of a footer. */
export function parseFooter(bytes) {
  const file = new Reader(bytes).struct();
  const elements = file[2] ?? [];
  if (elements.length > ELEMENTS_MAX) throw new Error('The schema of this Parquet file has too many columns for a preview.');
  const columns = [];
  let at = 1;
  const visit = (count, depth) => {
    for (let i = 0; i < count && at < elements.length && depth < 64; i++) {
      const element = elements[at++];
      const logical = element[5] && (element[10] ? LOGICAL[Object.keys(element[10])[0]] : CONVERTED[element[6]]);
      columns.push({ name: textOf(element[4]), type: logical || typeOf(element), repetition: REPETITIONS[element[3]] ?? '', depth });
      if (element[5]) visit(element[5], depth + 1);
    }
  };
  visit(elements[0]?.[5] ?? 0, 0);
  return {
    version: numberOf(file[1]), rows: numberOf(file[3]) ?? 0, groups: (file[4] ?? []).length, createdBy: textOf(file[6]), columns,
    leaves: leavesOf(elements), rowGroups: (file[4] ?? []).slice(0, 1).map((group) => ({ columns: (group[1] ?? []).map(chunkOf) })),
  };
}

/** Where the pages of a column are. */
function chunkOf({ 1: path, 3: about, 8: crypto }) {
  if (!about || crypto) return undefined;
  return { isElsewhere: Boolean(path), codec: numberOf(about[4]), size: numberOf(about[7]), start: Math.min(about[11] || about[9], about[9]) };
}

const UNITS = { 1: 'MILLIS', 2: 'MICROS', 3: 'NANOS' };

/** The path of a column without the groups that make a list, whose names are nobody's. */
export const nameOf = (path) => path.replace(/\.(list\.(element|item)|bag\.array_element)(?=\.|$)/g, '').slice(0, NAME_BYTES_MAX);

/** A column of values: its path, its type, and the most that its levels can be. */
function leafOf(element, path, def, rep, isOptional) {
  const [kind] = Object.keys(element[10] ?? {});
  const about = element[10]?.[kind] ?? {};
  const converted = CONVERTED[element[6]] ?? '';
  const old = converted.match(/^(TIME|TIMESTAMP)_(.+)$/);
  const [number] = Object.keys(about[2] ?? {});
  return {
    path, def, rep, isOptional, physical: TYPES[element[1]], length: numberOf(element[2]), logical: kind ? LOGICAL[kind] : old?.[1] ?? converted,
    unit: kind ? UNITS[number] : old?.[2], isUtc: kind ? about[1] === true : Boolean(old), scale: element[7] ?? about[1] ?? 0,
    isUnsigned: kind ? LOGICAL[kind] === 'INTEGER' && about[2] === false : converted.startsWith('UINT'),
  };
}

function leavesOf(elements) {
  const leaves = [];
  let at = 1;
  const visit = (count, depth, path, def, rep, of) => {
    for (let i = 0; i < count && at < elements.length && depth < 64; i++) {
      const element = elements[at++];
      // The outermost group decides if a row has no value at all.
      const optional = of ?? element[3] === 1;
      // Strings are joined by the browser when they are read: paths of all columns may be far longer than the file.
      const name = path + (depth ? '.' : '') + textOf(element[4]);
      const [deeper, longer] = [def + (element[3] ? 1 : 0), rep + (element[3] === 2 ? 1 : 0)];
      if (element[5]) visit(element[5], depth + 1, name, deeper, longer, optional);
      else leaves.push(leafOf(element, name, deeper, longer, optional));
    }
  };
  visit(elements[0]?.[5] ?? 0, 0, '', 0, 0);
  return leaves;
}

/** The schema of a file of `size` bytes; `read(from, to)` gives bytes of it, both inclusive. */
export async function parquetSchema(size, read) {
  if (size < 12) throw new Error('This is not a Parquet file: it is too short.');
  let tail = await read(Math.max(0, size - FIRST_READ), size - 1);
  const mark = textOf(tail.subarray(-4));
  if (mark === 'PARE') throw new Error('The footer of this Parquet file is encrypted.');
  if (mark !== 'PAR1') throw new Error('This is not a Parquet file: it does not end with PAR1.');
  const length = new DataView(tail.buffer, tail.byteOffset + tail.length - 8, 4).getUint32(0, true);
  if (length > size - 12 || length > FOOTER_BYTES_MAX) throw new Error('The footer of this Parquet file is too long.');
  if (length + 8 > tail.length) tail = await read(size - 8 - length, size - 1);
  return parseFooter(tail.subarray(tail.length - 8 - length, tail.length - 8));
}
