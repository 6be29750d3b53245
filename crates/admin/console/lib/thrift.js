// The compact protocol of Thrift, in which Parquet's footer and the heads of its pages are.

/** Nested structs and lists; those of Parquet are at most 7 deep. */
const DEPTH_MAX = 32;
/** Fields and elements of lists. An empty struct is one byte of the file, but far more in memory. */
const VALUES_MAX = 1 << 22;

export class Reader {
  constructor(bytes, valuesMax = VALUES_MAX) {
    this.bytes = bytes;
    this.at = 0;
    this.depth = 0;
    this.left = valuesMax;
  }

  byte() {
    if (this.at >= this.bytes.length) throw new Error('The Parquet file is truncated.');
    return this.bytes[this.at++];
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('The Parquet file contains an overlong number.');
  }

  integer() {
    const value = this.varint();
    return Number((value >> 1n) ^ -(value & 1n));
  }

  binary() {
    const length = Number(this.varint());
    if (length > this.bytes.length - this.at) throw new Error('The Parquet file contains an overlong string.');
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
      case 9: case 10: return this.nested(() => this.list());
      case 12: return this.struct();
      default: throw new Error('The Parquet file has an unknown type.');
    }
  }

  nested(read) {
    if (++this.depth > DEPTH_MAX) throw new Error('The Parquet file is nested too deeply.');
    const value = read();
    this.depth--;
    return value;
  }

  count(values) {
    this.left -= values;
    if (this.left < 0) throw new Error('The metadata of the Parquet file is too large for a preview.');
  }

  list() {
    const head = this.byte();
    const count = head >> 4 === 15 ? Number(this.varint()) : head >> 4;
    if (count > this.bytes.length - this.at) throw new Error('The Parquet file contains an overlong list.');
    this.count(count);
    const type = head & 15;
    // A boolean in a list takes one byte.
    return Array.from({ length: count }, () => (type <= 2 ? this.byte() === 1 : this.value(type)));
  }

  /** Fields by their numbers. */
  struct() {
    return this.nested(() => {
      const fields = {};
      for (let id = 0; ;) {
        const head = this.byte();
        if (head === 0) return fields;
        this.count(1);
        id = head >> 4 ? id + (head >> 4) : this.integer();
        fields[id] = this.value(head & 15);
      }
    });
  }
}
