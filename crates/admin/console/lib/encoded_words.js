// Encoded words of RFC 2047, for metadata that headers cannot carry as plain text.

import { base64, bytesOf } from './hash.js';

/** Payload of a word, which has 75 characters at most. */
const BYTES_MAX = 45;
const WORD = /=\?utf-8\?([bq])\?([^?]*)\?=/gi;

/** Encodes the text for a header. */
export function encodeWords(text) {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  const words = [[]];
  for (const character of text) {
    const bytes = bytesOf(character);
    if (words[words.length - 1].length + bytes.length > BYTES_MAX) words.push([]);
    words[words.length - 1].push(...bytes);
  }
  return words.map((bytes) => `=?UTF-8?B?${base64(bytes)}?=`).join(' ');
}

/** Decodes the text of a header. Words without valid UTF-8 stay unchanged. */
export function decodeWords(value) {
  try {
    // Spaces between encoded words are separators, not text.
    return value.replace(/(\?=)\s+(?==\?)/g, '$1').replace(WORD, (_, kind, text) => {
      const bytes = kind.toLowerCase() === 'b' ? atob(text)
        : text.replace(/_/g, ' ').replace(/=([0-9A-F]{2})/gi, (_all, hex) => String.fromCharCode(parseInt(hex, 16)));
      return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes, (it) => it.charCodeAt(0)));
    });
  } catch {
    return value;
  }
}
