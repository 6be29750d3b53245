// The schema of a Parquet file: its footer, in the compact protocol of Thrift.

const FOOTER_BYTES_MAX = 16 << 20;
const FIRST_READ = 64 << 10;

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

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.depth = 0;
  }

  byte() {
    if (this.at >= this.bytes.length) throw new Error('The footer of the Parquet file is truncated.');
    return this.bytes[this.at++];
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('The footer of the Parquet file contains an overlong number.');
  }

  integer() {
    const value = this.varint();
    return Number((value >> 1n) ^ -(value & 1n));
  }

  binary() {
    const length = Number(this.varint());
    if (length > this.bytes.length - this.at) throw new Error('The footer of the Parquet file contains an overlong string.');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  value(type) {
    switch (type) {
      case 1: return true;
      case 2: return false;
      case 3: return this.byte();
      case 4: case 5: case 6: return this.integer();
      case 7: this.at += 8; return 0;
      case 8: return this.binary();
      case 9: case 10: return this.list();
      case 12: return this.struct();
      default: throw new Error('The footer of the Parquet file has an unknown type.');
    }
  }

  list() {
    const head = this.byte();
    const count = head >> 4 === 15 ? Number(this.varint()) : head >> 4;
    if (count > this.bytes.length - this.at) throw new Error('The footer of the Parquet file contains an overlong list.');
    const type = head & 15;
    // A boolean in a list takes one byte.
    return Array.from({ length: count }, () => (type <= 2 ? this.byte() === 1 : this.value(type)));
  }

  /** Fields by their numbers. */
  struct() {
    if (++this.depth > 32) throw new Error('The footer of the Parquet file is nested too deeply.');
    const fields = {};
    for (let id = 0; ;) {
      const head = this.byte();
      if (head === 0) break;
      id = head >> 4 ? id + (head >> 4) : this.integer();
      fields[id] = this.value(head & 15);
    }
    this.depth--;
    return fields;
  }
}

const textOf = (bytes) => (bytes ? new TextDecoder().decode(bytes) : '');

function typeOf(element) {
  if (element[5]) return 'group';
  const logical = element[10] ? LOGICAL[Object.keys(element[10])[0]] : CONVERTED[element[6]];
  const physical = TYPES[element[1]] ?? 'unknown';
  if (logical === 'DECIMAL') return `DECIMAL(${element[8] ?? element[10]?.[5]?.[2]}, ${element[7] ?? element[10]?.[5]?.[1] ?? 0})`;
  if (physical === 'FIXED_LEN_BYTE_ARRAY') return `${logical ? `${logical}, ` : ''}${physical}(${element[2]})`;
  return logical ? `${logical}, ${physical}` : physical;
}

/** The contents of a footer. */
export function parseFooter(bytes) {
  const file = new Reader(bytes).struct();
  const elements = file[2] ?? [];
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
  return { version: file[1], rows: file[3] ?? 0, groups: (file[4] ?? []).length, createdBy: textOf(file[6]), columns };
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
