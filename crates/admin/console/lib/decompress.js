// Decompression of Parquet's pages. Sizes come from the file: a page never grows beyond the size that its header tells.

import { inflated } from './gzip.js';
import { broken, zstd } from './zstd.js';

/** The codecs that are decompressed here, by their numbers; the browser may know others. */
const CODECS = ['', 'Snappy', 'GZIP', 'LZO', 'Brotli', 'LZ4', 'Zstandard', 'LZ4'];
const IN_BROWSERS = { 2: 'gzip', 4: 'brotli' };
/** A few bytes of Brotli may be 16 MiB. */
const BROTLI_SLICE_BYTES = 64;

/** Copies `count` bytes from `distance` before `to`, which may overlap. */
function repeat(output, to, distance, count) {
  if (distance < 1 || distance > to || count > output.length - to) throw broken();
  for (let end = to + count; to < end; to++) output[to] = output[to - distance];
}

/** Copies literal bytes. */
function copy(input, from, count, output, to) {
  if (count > input.length - from || count > output.length - to) throw broken();
  output.set(input.subarray(from, from + count), to);
}

function little(input, at, count) {
  if (count > input.length - at) throw broken();
  let value = 0;
  for (let i = 0; i < count; i++) value += input[at + i] * 2 ** (8 * i);
  return value;
}

function snappy(input, output) {
  let at = 0, to = 0;
  let size = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = little(input, at++, 1);
    size += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  if (size !== output.length) throw broken();
  while (at < input.length) {
    const tag = input[at++];
    let count = (tag >> 2) + 1;
    if ((tag & 3) === 0) {
      if (count > 60) {
        const bytes = count - 60;
        count = little(input, at, bytes) + 1;
        at += bytes;
      }
      copy(input, at, count, output, to);
      at += count;
    } else {
      const bytes = [0, 1, 2, 4][tag & 3];
      let distance = little(input, at, bytes);
      at += bytes;
      if (bytes === 1) {
        distance += (tag >> 5) << 8;
        count = ((tag >> 2) & 7) + 4;
      }
      repeat(output, to, distance, count);
    }
    to += count;
  }
  return to;
}

function lz4(input, output) {
  let at = 0, to = 0;
  const more = (count) => {
    if (count < 15) return count;
    let byte;
    do {
      byte = little(input, at++, 1);
      count += byte;
    } while (byte === 255);
    return count;
  };
  while (at < input.length) {
    const token = input[at++];
    const literals = more(token >> 4);
    copy(input, at, literals, output, to);
    at += literals;
    to += literals;
    // The last sequence has literals only.
    if (at >= input.length) break;
    const distance = little(input, at, 2);
    at += 2;
    const count = more(token & 15) + 4;
    repeat(output, to, distance, count);
    to += count;
  }
  return to;
}

async function byBrowser(input, codec, output) {
  let stream;
  try {
    stream = new DecompressionStream(IN_BROWSERS[codec]);
  } catch {
    throw new Error(`The columns are compressed with ${CODECS[codec] ?? `codec ${codec}`}, which this browser cannot decompress.`);
  }
  let to = 0;
  for await (const value of inflated(input, stream, codec === 4 ? BROTLI_SLICE_BYTES : undefined)) {
    if (value.length > output.length - to) throw broken();
    output.set(value, to);
    to += value.length;
  }
  return to;
}

/** The `size` bytes of a page. */
export async function decompress(input, codec, size) {
  if (!codec) return input;
  const output = new Uint8Array(size);
  const ours = { 1: snappy, 6: zstd, 7: lz4 }[codec];
  const written = ours ? ours(input, output) : await byBrowser(input, codec, output);
  if (written !== size) throw broken();
  return output;
}
