// Markdown as a tree: `[tag, properties, children]`. No markup of the text is kept, and nothing is loaded.

// Every repetition has an end: where nothing closes a span, each start is searched once, and that far only.
const SPAN = /(?<!`)(`{1,10})(?!`)([\s\S]{0,500}?[^`])\1(?!`)|!\[([^[\]]{0,500})\]\([^[)]{0,1000}\)|\[([^[\]]{1,500})\]\(([^[)\s]{1,1000})(?:\s[^[)]{0,500})?\)|(\*\*|__)(?=\S)([\s\S]{0,500}?\S)\6|(\*|_)(?=\S)([\s\S]{0,500}?\S)\8(?!\w)|~~(?=\S)([\s\S]{0,500}?\S)~~/g;
/** Characters at which a span may begin; text with more of them stays as it is. */
const MARKS_MAX = 20_000;
const DEPTH_MAX = 8;
/** The cells of a row. */
const COLUMNS_MAX = 100;
/** More elements would freeze the page: a table of bars has half a million of them. What follows is shown as it is. */
const NODES_MAX = 20_000;

/** The tree of a line of text. Pictures become their description, links only lead to the web. */
function inline(text, budget, depth = 0) {
  const made = [];
  let at = 0;
  const marks = text.match(/[`*_~[]/g)?.length ?? 0;
  const isFormatted = marks <= budget.marks && depth < DEPTH_MAX;
  if (isFormatted) budget.marks -= marks;
  for (const found of isFormatted ? text.matchAll(SPAN) : []) {
    if (--budget.nodes < 0) break;
    const [all, , code, alt, words, href, , strong, , soft, gone] = found;
    const inner = (it) => inline(it, budget, depth + 1);
    if (found.index > at) made.push(text.slice(at, found.index));
    at = found.index + all.length;
    made.push(code !== undefined ? ['code', {}, [code.trim()]] : alt !== undefined ? ['em', {}, [alt || 'picture']]
      : words !== undefined ? (/^(https?|mailto):/i.test(href) ? ['a', { href, target: '_blank', rel: 'noreferrer noopener' }, inner(words)] : ['span', {}, inner(words)])
        : strong !== undefined ? ['strong', {}, inner(strong)] : soft !== undefined ? ['em', {}, inner(soft)] : ['del', {}, inner(gone)]);
  }
  if (at < text.length) made.push(text.slice(at));
  return made;
}

const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map((it) => it.trim().replace(/\\\|/g, '|'));
const isRule = (line) => cells(line).every((it) => /^:?-+:?$/.test(it));

/** The blocks of a text. */
export function blocks(text, depth = 0, budget = { nodes: NODES_MAX, marks: MARKS_MAX }) {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const made = [];
  let at = 0;
  const take = (is) => { const from = at; while (at < lines.length && is(lines[at], at)) at++; return lines.slice(from, at); };
  while (at < lines.length) {
    if (--budget.nodes < 0) {
      made.push(['pre', { class: 'preview wrapped' }, [lines.slice(at).join('\n')]]);
      break;
    }
    const line = lines[at];
    const fence = line.match(/^\s*(```+|~~~+)/)?.[1];
    const heading = line.trimEnd().match(/^\s{0,3}(#{1,6})\s+(\S.*)$/);
    if (!line.trim()) at++;
    else if (fence) {
      at++;
      const body = take((it) => !it.trim().startsWith(fence));
      at++;
      made.push(['pre', { class: 'preview' }, [body.join('\n')]]);
    } else if (heading) {
      at++;
      made.push([`h${Math.min(6, heading[1].length + 2)}`, {}, inline(heading[2].replace(/(?<!#)#+$/, '').trimEnd(), budget)]);
    } else if (/^\s{0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) {
      at++;
      made.push(['hr', {}, []]);
    } else if (/^\s{0,3}>/.test(line)) {
      const body = take((it) => /^\s{0,3}>/.test(it)).map((it) => it.replace(/^\s{0,3}> ?/, '')).join('\n');
      made.push(['blockquote', {}, depth < DEPTH_MAX ? blocks(body, depth + 1, budget) : [body]]);
    } else if (ITEM.test(line)) {
      const first = at;
      made.push(list(take((it, i) => i === first || budget.nodes > 0 && (ITEM.test(it) ? budget.nodes-- : /^\s+\S/.test(it))), depth, budget));
    } else if (line.includes('|') && isRule(lines[at + 1] ?? '')) {
      at += 2;
      const body = take((it) => it.includes('|') && budget.nodes > 0 && (budget.nodes -= cells(it).length));
      const row = (kind) => (it) => ['tr', {}, cells(it).slice(0, COLUMNS_MAX).map((cell) => [kind, {}, inline(cell, budget)])];
      made.push(['table', {}, [['thead', {}, [row('th')(line)]], ['tbody', {}, body.map(row('td'))]]]);
    } else {
      const first = at++;
      at = first;
      const body = take((it, i) => it.trim() && (i === first || !(ITEM.test(it) || /^\s{0,3}(#{1,6}\s|>|```|~~~)/.test(it))));
      made.push(['p', {}, inline(body.join('\n'), budget)]);
    }
  }
  return made;
}

/** A list; what is indented deeper is the body of its item. */
function list(lines, depth, budget) {
  const [, base, mark] = lines[0].match(ITEM);
  const items = [];
  for (const line of lines) {
    const found = line.match(ITEM);
    if (found && found[1].length <= base.length) items.push([found[3]]);
    else items[items.length - 1].push(line.slice(Math.min(line.search(/\S/), base.length + 2)));
  }
  const body = ([first, ...rest]) => [...inline(first, budget), ...(rest.length && depth < DEPTH_MAX ? blocks(rest.join('\n'), depth + 1, budget) : [])];
  return [/\d/.test(mark) ? 'ol' : 'ul', {}, items.map((it) => ['li', {}, body(it)])];
}
