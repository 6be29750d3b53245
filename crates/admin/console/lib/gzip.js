// The first bytes of compressed contents.

/** Up to `max` decompressed bytes; `isWhole` if that is all. The input may be cut. */
export async function gunzip(data, max) {
  const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const chunks = [];
  let size = 0, isWhole = false;
  try {
    while (size < max) {
      const { done, value } = await reader.read();
      if (done) { isWhole = true; break; }
      chunks.push(value);
      size += value.length;
    }
    if (!isWhole) reader.cancel().catch(() => {});
  } catch (error) {
    // The end of a cut input; without any output it is no gzip.
    if (!size) throw error;
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) { all.set(chunk, at); at += chunk.length; }
  return { data: all.subarray(0, max), isWhole };
}
