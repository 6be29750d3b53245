// SHA-256 and HMAC. Browsers offer `crypto.subtle` only to secure origins, not to a console on plain HTTP.

const K = new Uint32Array(64);
const START = new Uint32Array(8);
{
  // The constants of FIPS 180-4: fractions of the square and cube roots of the first primes.
  let found = 0;
  const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) >>> 0;
  for (let number = 2; found < 64; number++) {
    let prime = true;
    for (let by = 2; by * by <= number; by++) if (number % by === 0) prime = false;
    if (!prime) continue;
    if (found < 8) START[found] = fraction(Math.sqrt(number));
    K[found++] = fraction(Math.cbrt(number));
  }
}

const encoder = new TextEncoder();
export const bytesOf = (data) => (typeof data === 'string' ? encoder.encode(data) : data);

function compress(state, words, block) {
  for (let i = 0; i < 16; i++) words[i] = block.getUint32(i * 4);
  for (let i = 16; i < 64; i++) {
    const a = words[i - 15], b = words[i - 2];
    const s0 = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
    const s1 = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
    words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + words[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + t1) | 0;
    d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  state[0] += a; state[1] += b; state[2] += c; state[3] += d;
  state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

export function sha256(data) {
  const bytes = bytesOf(data);
  const state = START.slice();
  const words = new Int32Array(64);
  const whole = bytes.length - (bytes.length % 64);
  for (let at = 0; at < whole; at += 64) {
    compress(state, words, new DataView(bytes.buffer, bytes.byteOffset + at, 64));
  }
  const rest = bytes.length - whole;
  const last = new Uint8Array(rest < 56 ? 64 : 128);
  last.set(bytes.subarray(whole));
  last[rest] = 0x80;
  const view = new DataView(last.buffer);
  view.setUint32(last.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(last.length - 4, (bytes.length << 3) >>> 0);
  for (let at = 0; at < last.length; at += 64) compress(state, words, new DataView(last.buffer, at, 64));
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((word, i) => out.setUint32(i * 4, word));
  return digest;
}

export function hmac(key, data) {
  const block = new Uint8Array(64);
  const short = bytesOf(key);
  block.set(short.length > 64 ? sha256(short) : short);
  const body = bytesOf(data);
  const inner = new Uint8Array(64 + body.length);
  const outer = new Uint8Array(96);
  for (let i = 0; i < 64; i++) {
    inner[i] = block[i] ^ 0x36;
    outer[i] = block[i] ^ 0x5c;
  }
  inner.set(body, 64);
  outer.set(sha256(inner), 64);
  return sha256(outer);
}

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
export const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
