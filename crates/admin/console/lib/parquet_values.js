// The values of Parquet: encodings of a page, and the text of a value.

const cut = () => new Error('A page of the Parquet file is truncated.');

/** The values of a dictionary that are read: a preview needs those of the first rows, which come first in it. */
const DICTIONARY_VALUES_MAX = 100_000;
/** The values that a page may claim in its deltas, which are skipped without being made. */
const DELTAS_MAX = 1 << 24;
/** The digits of the widest decimal, of 256 bits. */
const SCALE_MAX = 76;
const DECIMAL_BYTES_MAX = 32;
/** The bytes of a value that are used; more characters than a cell shows. */
const VALUE_BYTES_MAX = 1 << 10;

/** Whole bytes of a page. */
class Bytes {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  take(count) {
    if (!(count >= 0 && count <= this.bytes.length - this.at)) throw cut();
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  view(count) {
    const taken = this.take(count);
    return new DataView(taken.buffer, taken.byteOffset, count);
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const [byte] = this.take(1);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw cut();
  }

  zigzag() {
    const value = this.varint();
    return (value >> 1n) ^ -(value & 1n);
  }
}

/** `count` numbers of `width` bits, the lowest bit first. */
function unpack(bytes, width, count) {
  const values = [];
  let value = 0n, held = 0, at = 0;
  const size = BigInt(width);
  for (let i = 0; i < count; i++) {
    for (; held < width; held += 8) value |= BigInt(bytes[at++] ?? 0) << BigInt(held);
    values.push(BigInt.asUintN(width, value));
    value >>= size;
    held -= width;
  }
  return values;
}

/** Numbers in runs and packed groups of eight (RLE/bit-packing hybrid). */
export function readRuns(bytes, width, count) {
  const from = new Bytes(bytes);
  const values = [];
  while (values.length < count) {
    const head = Number(from.varint());
    const length = Math.floor(head / 2);
    // Without any values there may be as many runs as bytes.
    if (!length) throw cut();
    if (head % 2) {
      const groups = Math.min(length, Math.ceil((count - values.length) / 8));
      for (const value of unpack(from.take(Math.min(length * width, from.bytes.length - from.at)), width, groups * 8)) values.push(Number(value));
    } else {
      let value = 0;
      from.take(Math.ceil(width / 8)).forEach((byte, i) => { value += byte * 2 ** (8 * i); });
      const run = Math.min(length, count - values.length);
      for (let i = 0; i < run; i++) values.push(value);
    }
  }
  return values.slice(0, count);
}

/** DELTA_BINARY_PACKED: the first `count` numbers. All of them are passed, so that what comes behind is found. */
function deltas(from, count) {
  const [block, parts, total] = [Number(from.varint()), Number(from.varint()), Number(from.varint())];
  const size = block / parts;
  if (!(size >= 32 && size <= 65_536 && size % 32 === 0 && total <= DELTAS_MAX && total >= count)) throw cut();
  const values = total ? [from.zigzag()] : [];
  for (let passed = 1; passed < total;) {
    const least = from.zigzag();
    const widths = from.take(parts);
    for (let part = 0; part < parts && passed < total; part++, passed += size) {
      if (widths[part] > 64) throw cut();
      const packed = from.take((size * widths[part]) / 8);
      for (const delta of unpack(packed, widths[part], Math.max(0, Math.min(size, count - values.length)))) {
        values.push(BigInt.asIntN(64, values.at(-1) + least + delta));
      }
    }
  }
  return values.slice(0, count);
}

/** Reads one value after the other. */
function reader(from, leaf) {
  switch (leaf.physical) {
    case 'INT32': return () => from.view(4).getInt32(0, true);
    case 'INT64': return () => from.view(8).getBigInt64(0, true);
    case 'INT96': return () => from.take(12);
    case 'FLOAT': return () => from.view(4).getFloat32(0, true);
    case 'DOUBLE': return () => from.view(8).getFloat64(0, true);
    case 'BYTE_ARRAY': return () => from.take(from.view(4).getUint32(0, true));
    case 'FIXED_LEN_BYTE_ARRAY':
      // Values without bytes would never end.
      if (!(leaf.length > 0)) throw new Error('The column has values of no length.');
      return () => from.take(leaf.length);
    default: throw new Error(`The type ${leaf.physical} is unknown.`);
  }
}

function plain(from, leaf, count) {
  if (leaf.physical === 'BOOLEAN') return unpack(from.take(Math.ceil(count / 8)), 1, count).map(Boolean);
  return Array.from({ length: count }, reader(from, leaf));
}

/** A page of values for indexes, which is read as far as the indexes go. */
export class Dictionary {
  constructor(bytes, leaf, count) {
    this.read = reader(new Bytes(bytes), leaf);
    this.count = count;
    this.values = [];
  }

  at(index) {
    if (!(index < this.count)) throw cut();
    if (index >= DICTIONARY_VALUES_MAX) throw new Error('The dictionary of the column is too large for a preview.');
    while (this.values.length <= index) this.values.push(this.read());
    return this.values[index];
  }
}

const SIZES = { INT32: 4, INT64: 8, FLOAT: 4, DOUBLE: 8 };

/** `count` values of a page. A `dictionary` has those that indexes of the page name. */
export function readValues(bytes, encoding, leaf, count, dictionary) {
  const from = new Bytes(bytes);
  const numbers = (values) => (leaf.physical === 'INT32' ? values.map(Number) : values);
  switch (encoding) {
    case 0: return plain(from, leaf, count);
    case 2: case 8: {
      if (!dictionary) throw cut();
      const [width] = from.take(1);
      if (width > 32) throw cut();
      return readRuns(bytes.subarray(1), width, count).map((at) => dictionary.at(at));
    }
    case 3: return readRuns(from.take(from.view(4).getUint32(0, true)), 1, count).map(Boolean);
    case 5: return numbers(deltas(from, count));
    case 6: return deltas(from, count).map((length) => from.take(Number(length)));
    case 7: {
      const shared = deltas(from, count);
      const lengths = deltas(from, count);
      let former = new Uint8Array();
      return lengths.map((length, i) => {
        // A long value that all others begin with would be copied for each of them.
        const start = former.subarray(0, Math.min(Number(shared[i]), VALUE_BYTES_MAX));
        const end = from.take(Number(length)).subarray(0, VALUE_BYTES_MAX);
        former = new Uint8Array(start.length + end.length);
        former.set(start);
        former.set(end, start.length);
        return former;
      });
    }
    case 9: {
      const size = SIZES[leaf.physical] ?? leaf.length;
      if (!(size > 0)) throw cut();
      // All values of the page are there, also those that are not asked for.
      const all = Math.floor(bytes.length / size);
      if (all < count) throw cut();
      const joined = new Uint8Array(count * size);
      for (let i = 0; i < joined.length; i++) joined[i] = bytes[(i % size) * all + Math.floor(i / size)];
      return plain(new Bytes(joined), leaf, count);
    }
    default: throw new Error(`The encoding ${encoding} is unknown.`);
  }
}

const hex = (bytes) => Array.from(bytes, (it) => it.toString(16).padStart(2, '0')).join('');
const bigEndian = (bytes) => (bytes.length ? BigInt.asIntN(8 * bytes.length, BigInt(`0x${hex(bytes)}`)) : 0n);

function decimal(value, scale) {
  // The zeros before a small value are as many as the file says.
  if (!(Number.isInteger(scale) && scale >= 0 && scale <= SCALE_MAX)) throw new Error('The scale of the decimals is invalid.');
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}${scale ? `.${digits.slice(-scale)}` : ''}`;
}

/** A time in nanoseconds since 1970. */
function instant(nanos, isUtc) {
  const second = nanos / 1_000_000_000n - (nanos % 1_000_000_000n < 0n ? 1n : 0n);
  const date = new Date(Number(second) * 1000);
  if (Number.isNaN(date.getTime())) return String(nanos);
  const rest = String(nanos - second * 1_000_000_000n).padStart(9, '0').replace(/(000)+$/, '');
  return date.toISOString().replace('T', ' ').slice(0, -5) + (rest ? `.${rest}` : '') + (isUtc ? 'Z' : '');
}

const NANOS = { MILLIS: 1_000_000n, MICROS: 1_000n, NANOS: 1n };

function half(bytes) {
  const bits = bytes[0] | (bytes[1] << 8);
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent === 31 ? (fraction ? NaN : Infinity) : exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
  return bits & 0x8000 ? -size : size;
}

const TEXTS = ['STRING', 'UTF8', 'ENUM', 'JSON'];
const BYTES_SHOWN = 32;

/** A value as text. */
export function textOfValue(value, leaf) {
  const { logical, unit, isUtc, scale, isUnsigned } = leaf;
  if (leaf.physical === 'INT96') {
    const view = new DataView(value.buffer, value.byteOffset, 12);
    return instant(BigInt(view.getUint32(8, true) - 2_440_588) * 86_400_000_000_000n + view.getBigInt64(0, true), false);
  }
  if (value instanceof Uint8Array) {
    if (TEXTS.includes(logical)) return new TextDecoder().decode(value.subarray(0, VALUE_BYTES_MAX));
    if (logical === 'DECIMAL' && value.length <= DECIMAL_BYTES_MAX) return decimal(bigEndian(value), scale);
    if (logical === 'UUID' && value.length === 16) return hex(value).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    if (logical === 'FLOAT16' && value.length === 2) return String(half(value));
    return `0x${hex(value.subarray(0, BYTES_SHOWN))}${value.length > BYTES_SHOWN ? '…' : ''}`;
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    if (logical === 'DATE') return instant(BigInt(value) * 86_400_000_000_000n, false).slice(0, -9);
    if (logical === 'TIMESTAMP') return instant(BigInt(value) * NANOS[unit], isUtc);
    if (logical === 'TIME') return instant(BigInt(value) * NANOS[unit], isUtc).slice(11);
    if (logical === 'DECIMAL') return decimal(BigInt(value), scale);
    if (isUnsigned) return String(BigInt.asUintN(leaf.physical === 'INT32' ? 32 : 64, BigInt(value)));
  }
  // A float has fewer digits than the number that holds it.
  if (leaf.physical === 'FLOAT' && Number.isFinite(value)) return String(Number(value.toPrecision(8)));
  return String(value);
}
