// Decompression of Zstandard (RFC 8878): whole frames without a dictionary, as columns of Parquet files are.

const MAGIC = 0xfd2fb528;
const LITERAL_LOG_MAX = 11;
const WEIGHT_LOG_MAX = 6;
/** Blocks of an output, also empty ones, for each of which tables of codes are made; compressors make larger ones. */
const BLOCKS_MAX = 64, BLOCK_BYTES_MIN = 1 << 10;

export const broken = () => new Error('A compressed page of the Parquet file is damaged.');

/** Bits from the first one on; `at` counts bits. */
class Forward {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  bits(count) {
    let value = 0;
    for (let i = 0; i < count; i++, this.at++) {
      const byte = this.bytes[this.at >> 3];
      if (byte === undefined) throw broken();
      value += ((byte >> (this.at & 7)) & 1) * 2 ** i;
    }
    return value;
  }
}

/** Bits from the last one on: a 1 before them marks the end. Bits before the first one are 0. */
class Backward {
  constructor(bytes) {
    const last = bytes.at(-1);
    if (!last) throw broken();
    this.bytes = bytes;
    this.at = 8 * bytes.length - Math.clz32(last) + 23;
  }

  /** The next bits, without taking them. */
  peek(count) {
    const from = this.at - count;
    // The usual case, ten times as fast.
    if (from >= 0 && count <= 24) {
      const { bytes } = this, byte = from >>> 3;
      return ((bytes[byte] | (bytes[byte + 1] << 8) | (bytes[byte + 2] << 16) | (bytes[byte + 3] << 24)) >>> (from & 7)) & ((1 << count) - 1);
    }
    let value = 0;
    for (let byte = Math.floor(from / 8), shift = byte * 8 - from; shift < count; byte++, shift += 8) {
      value += (this.bytes[byte] ?? 0) * 2 ** shift;
    }
    return Math.floor(value) % 2 ** count;
  }

  bits(count) {
    const value = this.peek(count);
    this.at -= count;
    return value;
  }
}

/** The decoding table of an entropy code: symbol, bits and base of the next state, for each state. */
function tableOf(shares, log) {
  const size = 1 << log;
  const symbols = new Uint8Array(size);
  let high = size;
  const next = shares.map((share, symbol) => {
    if (share === -1) symbols[--high] = symbol;
    return Math.abs(share);
  });
  const step = (size >> 1) + (size >> 3) + 3;
  let at = 0;
  shares.forEach((share, symbol) => {
    for (let i = 0; i < share; i++) {
      symbols[at] = symbol;
      do at = (at + step) & (size - 1); while (at >= high);
    }
  });
  const states = Array.from(symbols, (symbol) => {
    const state = next[symbol]++;
    const bits = log - 31 + Math.clz32(state);
    return { symbol, bits, base: (state << bits) - size };
  });
  return { log, states };
}

/** Reads the shares of an entropy code; returns its table and the bytes that it takes. */
function readTable(bytes, logMax) {
  const from = new Forward(bytes);
  const log = from.bits(4) + 5;
  if (log > logMax) throw broken();
  const shares = [];
  for (let left = 1 << log; left > 0;) {
    const bits = 32 - Math.clz32(left + 1);
    const low = (1 << (bits - 1)) - 1, few = (1 << bits) - 2 - left;
    let value = from.bits(bits);
    if ((value & low) < few) {
      from.at--;
      value &= low;
    } else if (value > low) value -= few;
    shares.push(value - 1);
    left -= Math.abs(value - 1);
    if (left < 0 || shares.length > 256) throw broken();
    for (let zeros = value === 1 ? 3 : 0; zeros === 3;) {
      zeros = from.bits(2);
      for (let i = 0; i < zeros; i++) shares.push(0);
      if (shares.length > 256) throw broken();
    }
  }
  return [tableOf(shares, log), Math.ceil(from.at / 8)];
}

/** Weights of a Huffman code that are compressed themselves, by two states in turn. */
function readWeights(bytes) {
  const [table, used] = readTable(bytes, WEIGHT_LOG_MAX);
  const from = new Backward(bytes.subarray(used));
  const weights = [];
  const states = [from.bits(table.log), from.bits(table.log)];
  for (let turn = 0; weights.length < 255; turn ^= 1) {
    const { symbol, bits, base } = table.states[states[turn]];
    weights.push(symbol);
    if (from.at < bits) {
      weights.push(table.states[states[turn ^ 1]].symbol);
      return weights;
    }
    states[turn] = base + from.bits(bits);
  }
  throw broken();
}

/** Reads a Huffman code; returns it and the bytes that it takes. */
function readHuffman(bytes) {
  const [head] = bytes;
  const isPacked = head < 128;
  const used = 1 + (isPacked ? head : Math.ceil((head - 127) / 2));
  if (!(used <= bytes.length)) throw broken();
  const weights = isPacked ? readWeights(bytes.subarray(1, used))
    : Array.from({ length: head - 127 }, (_, i) => (i & 1 ? bytes[1 + (i >> 1)] & 15 : bytes[1 + (i >> 1)] >> 4));
  const sum = weights.reduce((all, weight) => all + (weight && 2 ** (weight - 1)), 0);
  const log = 32 - Math.clz32(sum);
  const rest = 2 ** log - sum;
  if (!sum || log > LITERAL_LOG_MAX || rest & (rest - 1)) throw broken();
  weights.push(32 - Math.clz32(rest));
  const code = { log, symbols: new Uint8Array(1 << log), lengths: new Uint8Array(1 << log) };
  let at = 0;
  for (let weight = 1; weight <= log; weight++) {
    weights.forEach((it, symbol) => {
      if (it !== weight) return;
      const end = at + 2 ** (weight - 1);
      code.symbols.fill(symbol, at, end);
      code.lengths.fill(log + 1 - weight, at, end);
      at = end;
    });
  }
  return [code, used];
}

function readStream(code, bytes, output) {
  const from = new Backward(bytes);
  for (let i = 0; i < output.length; i++) {
    const index = from.peek(code.log);
    output[i] = code.symbols[index];
    from.at -= code.lengths[index];
  }
  if (from.at !== 0) throw broken();
}

const extra = (count, ...more) => [...new Array(count).fill(0), ...more];
const basesOf = (bits, first) => bits.reduce((bases, it) => [...bases, bases.at(-1) + 2 ** it], [first]);
const LITERAL_BITS = extra(16, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
const MATCH_BITS = extra(32, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
const LITERAL_BASES = basesOf(LITERAL_BITS, 0), MATCH_BASES = basesOf(MATCH_BITS, 3);
const of = (share, count) => new Array(count).fill(share);
// Codes of lengths of literals, of offsets, of lengths of matches: their predefined shares, and the most bits of their states.
const KINDS = [
  [[4, 3, ...of(2, 11), 1, 1, 1, ...of(2, 9), 3, 2, ...of(1, 5), ...of(-1, 4)], 6, 9],
  [[...of(1, 6), 2, 2, 2, ...of(1, 15), ...of(-1, 5)], 5, 8],
  [[1, 4, 3, ...of(2, 6), ...of(1, 37), ...of(-1, 7)], 6, 9],
];

/** The blocks of one frame, which share codes and offsets. */
class Frame {
  constructor(output, to) {
    this.output = output;
    this.start = to;
    this.to = to;
    this.offsets = [1, 4, 8];
    this.tables = [];
  }

  put(bytes) {
    if (bytes.length > this.output.length - this.to) throw broken();
    this.output.set(bytes, this.to);
    this.to += bytes.length;
  }

  /** The literals of a block, and the bytes that they take. */
  literals(block) {
    const type = block[0] & 3, format = (block[0] >> 2) & 3;
    const head = new Forward(block);
    head.at = 4;
    if (type < 2) {
      if (!(format & 1)) head.at = 3;
      const size = head.bits([5, 12, 5, 20][format]);
      const at = head.at / 8;
      if (type === 1) return [new Uint8Array(size).fill(block[at]), at + 1];
      if (size > block.length - at) throw broken();
      return [block.subarray(at, at + size), at + size];
    }
    const width = [10, 10, 14, 18][format];
    const size = head.bits(width), packed = head.bits(width);
    const start = head.at / 8;
    let bytes = block.subarray(start, start + packed);
    if (bytes.length < packed || size > 1 << 17) throw broken();
    if (type === 2) {
      const [code, used] = readHuffman(bytes);
      this.code = code;
      bytes = bytes.subarray(used);
    }
    if (!this.code) throw broken();
    const output = new Uint8Array(size);
    if (!format) readStream(this.code, bytes, output);
    else {
      const part = Math.ceil(size / 4);
      for (let i = 0, at = 6; i < 4; i++) {
        const end = i < 3 ? at + bytes[2 * i] + (bytes[2 * i + 1] << 8) : bytes.length;
        readStream(this.code, bytes.subarray(at, end), output.subarray(i * part, i < 3 ? (i + 1) * part : size));
        at = end;
      }
    }
    return [output, start + packed];
  }

  /** The tables of the sequences of a block, from `at` on; returns where they end. */
  readTables(block, at) {
    const modes = block[at++];
    KINDS.forEach(([shares, log, logMax], i) => {
      const mode = (modes >> (6 - 2 * i)) & 3;
      if (mode === 0) this.tables[i] = tableOf(shares, log);
      if (mode === 1) this.tables[i] = { log: 0, states: [{ symbol: block[at++], bits: 0, base: 0 }] };
      if (mode === 2) {
        const [table, used] = readTable(block.subarray(at), logMax);
        this.tables[i] = table;
        at += used;
      }
      if (!this.tables[i]) throw broken();
    });
    return at;
  }

  offset(value, literals) {
    const { offsets } = this;
    if (value > 3) {
      this.offsets = [value - 3, offsets[0], offsets[1]];
      return value - 3;
    }
    const index = value - 1 + (literals ? 0 : 1);
    const offset = index === 3 ? offsets[0] - 1 : offsets[index];
    if (index === 1) this.offsets = [offset, offsets[0], offsets[2]];
    if (index > 1) this.offsets = [offset, offsets[0], offsets[1]];
    return offset;
  }

  block(block) {
    const [literals, used] = this.literals(block);
    let at = used;
    let count = block[at++];
    if (count === 255) {
      count = block[at] + (block[at + 1] << 8) + 0x7f00;
      at += 2;
    } else if (count > 127) count = ((count - 128) << 8) + block[at++];
    if (!count) return this.put(literals);
    const from = new Backward(block.subarray(this.readTables(block, at)));
    const [literalTable, offsetTable, matchTable] = this.tables;
    let literalState = from.bits(literalTable.log), offsetState = from.bits(offsetTable.log), matchState = from.bits(matchTable.log);
    let taken = 0;
    for (let i = 0; i < count; i++) {
      const literal = literalTable.states[literalState], offset = offsetTable.states[offsetState], match = matchTable.states[matchState];
      const value = 2 ** offset.symbol + from.bits(offset.symbol);
      const length = MATCH_BASES[match.symbol] + from.bits(MATCH_BITS[match.symbol]);
      const before = LITERAL_BASES[literal.symbol] + from.bits(LITERAL_BITS[literal.symbol]);
      // Not of the last one, whose bits have ended.
      if (i < count - 1) {
        literalState = literal.base + from.bits(literal.bits);
        matchState = match.base + from.bits(match.bits);
        offsetState = offset.base + from.bits(offset.bits);
      }
      if (!(before <= literals.length - taken) || from.at < 0) throw broken();
      this.put(literals.subarray(taken, taken + before));
      taken += before;
      this.repeat(this.offset(value, before), length);
    }
    return this.put(literals.subarray(taken));
  }

  repeat(distance, count) {
    if (!(distance > 0 && distance <= this.to - this.start && count <= this.output.length - this.to)) throw broken();
    for (let end = this.to + count; this.to < end; this.to++) this.output[this.to] = this.output[this.to - distance];
  }
}

/** Decompresses frames into `output`; returns the number of bytes. */
export function zstd(input, output) {
  let at = 0, to = 0, left = BLOCKS_MAX + output.length / BLOCK_BYTES_MIN;
  while (at < input.length) {
    const head = new Forward(input.subarray(at));
    if (head.bits(32) !== MAGIC) throw broken();
    const dictionary = head.bits(2), hasSum = head.bits(1);
    head.bits(2);
    const isSingle = head.bits(1), size = head.bits(2);
    if (dictionary) throw new Error('The columns are compressed with a dictionary.');
    head.bits((isSingle ? 0 : 8) + (size ? 8 << size : isSingle * 8));
    at += head.at / 8;
    const frame = new Frame(output, to);
    for (let isLast = false; !isLast;) {
      if (--left < 0) throw new Error('A compressed page of the Parquet file has too many blocks for a preview.');
      const about = new Forward(input.subarray(at));
      isLast = Boolean(about.bits(1));
      const type = about.bits(2), count = about.bits(21);
      at += 3;
      const block = input.subarray(at, at + (type === 1 ? 1 : count));
      if (block.length < (type === 1 ? 1 : count) || type === 3 || count > 1 << 21) throw broken();
      if (type === 1) frame.put(new Uint8Array(count).fill(block[0]));
      else if (type === 0) frame.put(block);
      else frame.block(block);
      at += block.length;
    }
    to = frame.to;
    at += hasSum * 4;
  }
  return to;
}
