// JSON with other whitespace: values stay as written, also numbers too large for JavaScript.

/** Deeper values stay on the line of their parent. */
const DEPTH_MAX = 32;

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The text with an element on each line, if it is JSON. */
export function reindent(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  // Of a hundred thousand brackets, the spaces before each would be gigabytes.
  let depth = 0, former = '';
  const parts = [];
  const line = () => { if (depth <= DEPTH_MAX) parts.push('\n', '  '.repeat(depth)); };
  for (const [token] of text.matchAll(TOKEN)) {
    const isClosing = token === '}' || token === ']';
    if (isClosing) depth--;
    const isFirst = former === '{' || former === '[';
    if (former === ',' || isFirst !== isClosing && (isFirst || isClosing)) line();
    parts.push(token === ':' ? ': ' : token);
    if (token === '{' || token === '[') depth++;
    former = token;
  }
  return parts.join('');
}

/** Keys of ids with 64 bits. In a string the quotes would be escaped. */
const IDS = /("[a-z-]*snapshot-id"\s*:\s*)(-?\d+)(?![\d.eE])/g;

/** The value of a text of Iceberg. Ids of snapshots are strings: JavaScript would round them. */
export const parseIceberg = (text) => JSON.parse(text.replace(IDS, '$1"$2"'));
