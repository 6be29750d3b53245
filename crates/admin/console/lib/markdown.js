// Markdown as a tree: `[tag, properties, children]`. No markup of the text is kept, and nothing is loaded.

const SPAN = /(`+)([\s\S]*?[^`])\1(?!`)|!\[([^\]]*)\]\([^)]*\)|\[([^\]]+)\]\(([^)\s]+)[^)]*\)|(\*\*|__)(?=\S)([\s\S]*?\S)\6|(\*|_)(?=\S)([\s\S]*?\S)\8(?!\w)|~~(?=\S)([\s\S]*?\S)~~/;
const DEPTH_MAX = 8;

/** The tree of a line of text. Pictures become their description, links only lead to the web. */
export function inline(text, depth = 0) {
  const found = depth < DEPTH_MAX && text.match(SPAN);
  if (!found) return text ? [text] : [];
  const [all, , code, alt, words, href, , strong, , soft, gone] = found;
  const inner = (it) => inline(it, depth + 1);
  const made = code !== undefined ? ['code', {}, [code.trim()]] : alt !== undefined ? ['em', {}, [alt || 'picture']]
    : words !== undefined ? (/^(https?|mailto):/i.test(href) ? ['a', { href, target: '_blank', rel: 'noreferrer noopener' }, inner(words)] : ['span', {}, inner(words)])
      : strong !== undefined ? ['strong', {}, inner(strong)] : soft !== undefined ? ['em', {}, inner(soft)] : ['del', {}, inner(gone)];
  return [...(found.index ? [text.slice(0, found.index)] : []), made, ...inline(text.slice(found.index + all.length), depth)];
}

const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((it) => it.trim().replace(/\\\|/g, '|'));

/** The blocks of a text. */
export function blocks(text, depth = 0) {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const made = [];
  let at = 0;
  const take = (is) => { const from = at; while (at < lines.length && is(lines[at], at)) at++; return lines.slice(from, at); };
  while (at < lines.length) {
    const line = lines[at];
    const fence = line.match(/^\s*(```+|~~~+)/)?.[1];
    const heading = line.match(/^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/);
    if (!line.trim()) at++;
    else if (fence) {
      at++;
      const body = take((it) => !it.trim().startsWith(fence));
      at++;
      made.push(['pre', { class: 'preview' }, [body.join('\n')]]);
    } else if (heading) {
      at++;
      made.push([`h${Math.min(6, heading[1].length + 2)}`, {}, inline(heading[2])]);
    } else if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      at++;
      made.push(['hr', {}, []]);
    } else if (/^\s{0,3}>/.test(line)) {
      const body = take((it) => /^\s{0,3}>/.test(it)).map((it) => it.replace(/^\s{0,3}> ?/, '')).join('\n');
      made.push(['blockquote', {}, depth < DEPTH_MAX ? blocks(body, depth + 1) : [body]]);
    } else if (ITEM.test(line)) made.push(list(take((it) => ITEM.test(it) || /^\s+\S/.test(it)), depth));
    else if (line.includes('|') && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? '')) {
      at += 2;
      const body = take((it) => it.includes('|'));
      const row = (kind) => (it) => ['tr', {}, cells(it).map((cell) => [kind, {}, inline(cell)])];
      made.push(['table', {}, [['thead', {}, [row('th')(line)]], ['tbody', {}, body.map(row('td'))]]]);
    } else {
      const first = at++;
      at = first;
      const body = take((it, i) => it.trim() && (i === first || !(ITEM.test(it) || /^\s{0,3}(#{1,6}\s|>|```|~~~)/.test(it))));
      made.push(['p', {}, inline(body.join('\n'))]);
    }
  }
  return made;
}

/** A list; what is indented deeper is the body of its item. */
function list(lines, depth) {
  const [, base, mark] = lines[0].match(ITEM);
  const items = [];
  for (const line of lines) {
    const found = line.match(ITEM);
    if (found && found[1].length <= base.length) items.push([found[3]]);
    else items[items.length - 1].push(line.slice(Math.min(line.search(/\S/), base.length + 2)));
  }
  const body = ([first, ...rest]) => [...inline(first), ...(rest.length && depth < DEPTH_MAX ? blocks(rest.join('\n'), depth + 1) : [])];
  return [/\d/.test(mark) ? 'ol' : 'ul', {}, items.map((it) => ['li', {}, body(it)])];
}
