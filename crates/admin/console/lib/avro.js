// Avro files, in which Iceberg's manifests are.

import { decompress } from './decompress.js';
import { inflated } from './gzip.js';

const BLOCK_BYTES_MAX = 32 << 20;
/** Values of a file. Some take no bytes. */
const VALUES_MAX = 1_000_000;
/** Decompressed bytes of a file. */
const FILE_BYTES_MAX = 64 << 20;
const DEPTH_MAX = 32;
/** PyIceberg leaves bytes of zlib's checksum behind the blocks, which browsers refuse. */
const CHECKSUM_BYTES = 4;

const broken = () => new Error('The Avro file is damaged.');

class Reader {
  constructor(bytes) {
    Object.assign(this, { bytes, at: 0 });
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  take(count) {
    if (!(count >= 0 && count <= this.bytes.length - this.at)) throw broken();
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  long() {
    let value = 0, factor = 1;
    for (let i = 0; i < 10; i++, factor *= 128) {
      const [byte] = this.take(1);
      value += (byte & 127) * factor;
      if (byte < 128) return value % 2 ? -(value + 1) / 2 : value / 2;
    }
    throw broken();
  }

  text() { return new TextDecoder().decode(this.take(this.long())); }
}

/** Reads values by a schema; `left` counts those that may still be read of the file. */
function valueReader(schema, left) {
  const named = {};
  const collect = (it) => {
    if (Array.isArray(it)) it.forEach(collect);
    if (typeof it !== 'object' || Array.isArray(it)) return;
    if (it.name && it.type !== 'array' && it.type !== 'map') named[it.name] = it;
    [it.items, it.values, it.type].forEach((inner) => inner && typeof inner === 'object' && collect(inner));
    it.fields?.forEach((field) => collect(field.type));
  };
  collect(schema);
  const read = (from, type, depth) => {
    if (!left.values-- || depth > DEPTH_MAX) throw new Error('The Avro file is too large for a preview.');
    const inner = (it) => read(from, it, depth + 1);
    const items = (item) => {
      const found = [];
      for (let count; (count = from.long()) !== 0;) {
        // A negative count has the bytes of the block behind it.
        if (count < 0) from.long();
        for (let i = 0; i < Math.abs(count); i++) found.push(item());
      }
      return found;
    };
    if (Array.isArray(type)) return inner(type[from.long()]);
    switch (type?.type ?? type) {
      case 'null': return null;
      case 'boolean': return from.take(1)[0] === 1;
      case 'int': case 'long': return from.long();
      case 'float': from.take(4); return from.view.getFloat32(from.at - 4, true);
      case 'double': from.take(8); return from.view.getFloat64(from.at - 8, true);
      case 'bytes': return from.take(from.long());
      case 'string': return from.text();
      case 'fixed': return from.take(type.size);
      case 'enum': return type.symbols[from.long()];
      case 'array': return items(() => inner(type.items));
      case 'map': return Object.fromEntries(items(() => [from.text(), inner(type.values)]));
      case 'record': return Object.fromEntries(type.fields.map((field) => [field.name, inner(field.type)]));
      default:
        if (typeof type?.type === 'object') return inner(type.type);
        if (!Object.hasOwn(named, type)) throw broken();
        return inner(named[type]);
    }
  };
  return (from) => read(from, schema, 0);
}

async function opened(block, codec) {
  if (codec === 'null') return block;
  if (codec === 'snappy') {
    let size = 0, at = 0;
    do size += (block[at] & 127) * 128 ** at; while (block[at++] > 127 && at < 5);
    if (size > BLOCK_BYTES_MAX) throw broken();
    return decompress(block.subarray(0, -4), 1, size);
  }
  if (codec !== 'deflate') throw new Error(`The Avro file is compressed with ${codec.slice(0, 40)}, which this page cannot decompress.`);
  const chunks = [];
  let size = 0;
  try {
    for await (const chunk of inflated(block, new DecompressionStream('deflate-raw'), undefined, CHECKSUM_BYTES)) {
      chunks.push(chunk);
      if ((size += chunk.length) > BLOCK_BYTES_MAX) break;
    }
  } catch {
    // What is missing of the records is noticed when they are read.
  }
  if (size > BLOCK_BYTES_MAX) throw broken();
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** The records of a file, one by one, as far as its `bytes` reach: they may be its beginning. */
export async function* avroRecords(bytes) {
  const from = new Reader(bytes);
  const left = { values: VALUES_MAX };
  if (String.fromCharCode(...from.take(4)) !== 'Obj\x01') throw new Error('This is not an Avro file.');
  const about = valueReader({ type: 'map', values: 'string' }, left)(from);
  const read = valueReader(JSON.parse(about['avro.schema']), left);
  from.take(16);
  let size = 0;
  while (from.at < bytes.length) {
    let count, block;
    try {
      count = from.long();
      block = from.take(from.long());
    } catch {
      return;
    }
    if (!(count > 0)) throw broken();
    const data = await opened(block, about['avro.codec'] ?? 'null');
    size += data.length;
    if (size > FILE_BYTES_MAX) throw broken();
    // The page goes on between blocks.
    await new Promise((done) => { setTimeout(done); });
    const inner = new Reader(data);
    for (let i = 0; i < count; i++) yield read(inner);
    if (bytes.length - from.at < 16) return;
    from.take(16);
  }
}
