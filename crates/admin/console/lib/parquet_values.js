// The values of Parquet: encodings of a page, and the text of a value.

const cut = () => new Error('A page of the Parquet file is truncated.');

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
    if (head & 1) {
      const groups = Math.min(head >> 1, Math.ceil((count - values.length) / 8));
      values.push(...unpack(from.take(Math.min((head >> 1) * width, from.bytes.length - from.at)), width, groups * 8).map(Number));
    } else {
      let value = 0;
      from.take(Math.ceil(width / 8)).forEach((byte, i) => { value += byte * 2 ** (8 * i); });
      const run = Math.min(head >> 1, count - values.length);
      if (!run) throw cut();
      for (let i = 0; i < run; i++) values.push(value);
    }
  }
  return values.slice(0, count);
}

/** DELTA_BINARY_PACKED: the numbers, and where they end. */
function deltas(from, count) {
  const [block, parts, total] = [Number(from.varint()), Number(from.varint()), Number(from.varint())];
  const size = block / parts;
  if (!(size >= 1 && size <= 65_536 && total <= 1 << 24)) throw cut();
  const values = total ? [from.zigzag()] : [];
  // All of them, so that what comes behind is found.
  while (values.length < total) {
    const least = from.zigzag();
    const widths = from.take(parts);
    for (let part = 0; part < parts && values.length < total; part++) {
      if (widths[part] > 64) throw cut();
      for (const delta of unpack(from.take((size * widths[part]) / 8), widths[part], size)) {
        if (values.length < total) values.push(BigInt.asIntN(64, values.at(-1) + least + delta));
      }
    }
  }
  if (total < count) throw cut();
  return values;
}

function plain(from, leaf, count) {
  const many = (read) => Array.from({ length: count }, read);
  switch (leaf.physical) {
    case 'BOOLEAN': return unpack(from.take(Math.ceil(count / 8)), 1, count).map(Boolean);
    case 'INT32': return many(() => from.view(4).getInt32(0, true));
    case 'INT64': return many(() => from.view(8).getBigInt64(0, true));
    case 'INT96': return many(() => from.take(12));
    case 'FLOAT': return many(() => from.view(4).getFloat32(0, true));
    case 'DOUBLE': return many(() => from.view(8).getFloat64(0, true));
    case 'BYTE_ARRAY': return many(() => from.take(from.view(4).getUint32(0, true)));
    case 'FIXED_LEN_BYTE_ARRAY': return many(() => from.take(leaf.length));
    default: throw new Error(`The type ${leaf.physical} is unknown.`);
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
      return readRuns(bytes.subarray(1), width, count).map((at) => dictionary[at]);
    }
    case 3: return readRuns(from.take(from.view(4).getUint32(0, true)), 1, count).map(Boolean);
    case 5: return numbers(deltas(from, count)).slice(0, count);
    case 6: return deltas(from, count).slice(0, count).map((length) => from.take(Number(length)));
    case 7: {
      const shared = deltas(from, count);
      const lengths = deltas(from, count);
      let former = new Uint8Array();
      return lengths.slice(0, count).map((length, i) => {
        const start = former.subarray(0, Number(shared[i])), end = from.take(Number(length));
        former = new Uint8Array(start.length + end.length);
        former.set(start);
        former.set(end, start.length);
        return former;
      });
    }
    case 9: {
      const size = SIZES[leaf.physical] ?? leaf.length;
      // All values of the page are there, also those that are not asked for.
      const all = Math.floor(bytes.length / size);
      const joined = new Uint8Array(all * size);
      for (let i = 0; i < joined.length; i++) joined[i] = bytes[(i % size) * all + Math.floor(i / size)];
      return plain(new Bytes(joined), leaf, Math.min(count, all));
    }
    default: throw new Error(`The encoding ${encoding} is unknown.`);
  }
}

const hex = (bytes) => Array.from(bytes, (it) => it.toString(16).padStart(2, '0')).join('');
const bigEndian = (bytes) => (bytes.length ? BigInt.asIntN(8 * bytes.length, BigInt(`0x${hex(bytes)}`)) : 0n);

function decimal(value, scale) {
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
    if (TEXTS.includes(logical)) return new TextDecoder().decode(value);
    if (logical === 'DECIMAL') return decimal(bigEndian(value), scale);
    if (logical === 'UUID') return hex(value).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    if (logical === 'FLOAT16') return String(half(value));
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
