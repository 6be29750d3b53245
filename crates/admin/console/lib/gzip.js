// Decompression by the browser.

/** At most 4 MiB of output. */
const GZIP_SLICE_BYTES = 4 << 10;

/**
 * The decompressed chunks, for as long as they are asked for. A browser decompresses all of what it is given before any of it
 * can be read, so the input comes in slices. The last `tailBytes` come one by one: an error that they cause loses nothing.
 */
export async function* inflated(data, stream, sliceBytes = GZIP_SLICE_BYTES, tailBytes = 0) {
  let at = 0;
  const slices = new ReadableStream({
    pull(controller) {
      if (at >= data.length) controller.close();
      else controller.enqueue(data.slice(at, at = Math.min(at + sliceBytes, Math.max(at + 1, data.length - tailBytes))));
    },
  }, { highWaterMark: 0 });
  const reader = slices.pipeThrough(stream).getReader();
  try {
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) yield value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Up to `max` decompressed bytes; `isWhole` if that is all. The input may be cut. */
export async function gunzip(data, max) {
  const chunks = [];
  let size = 0, isWhole = true;
  try {
    for await (const chunk of inflated(data, new DecompressionStream('gzip'))) {
      chunks.push(chunk);
      size += chunk.length;
      if (size < max) continue;
      isWhole = false;
      break;
    }
  } catch (error) {
    // The end of a cut input; without any output it is no gzip.
    if (!size) throw error;
    isWhole = false;
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) { all.set(chunk, at); at += chunk.length; }
  return { data: all.subarray(0, max), isWhole };
}
