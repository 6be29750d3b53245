// The size of an SVG picture when it is drawn. Elements that refer to each other can draw far more than the file contains: eight
// levels of ten <use> each are a kilobyte and a hundred million elements. The page may not parse documents (Trusted Types), so a
// tokenizer finds elements, ids and references, and sizes are added up along the references, each computed once. Where the effect
// of markup cannot be told exactly, it counts for more than it is.

const BYTES_MAX = 10 << 20;
/** A million takes a browser half a minute. */
const ELEMENTS_MAX = 200_000;
/** Markup and text of the elements, as often as they are drawn: long paths and words take time, too. */
const MARKUP_MAX = 64 << 20;
const ENTITY_MAX = 256;
const SELECTOR_MAX = 1000;

const TOO_LARGE = 'The picture is too large';
const TOO_OFTEN = 'The picture repeats its parts too often';
const TOO_DEEP = 'The parts of the picture are nested too deeply';
const CYCLE = 'The picture refers to itself';
const DECLARATIONS = 'The picture declares entities or attributes of its own';
const EMBEDDED = 'The picture contains another document or style sheet';
const STYLE = 'The styles of the picture have escapes or unusual names';
export const DAMAGED = 'The picture is damaged';

/** Properties that children do not inherit. */
const ONCE = /^(?:filter|clip-path|mask|-webkit-mask|backdrop-filter|mask-image|-webkit-mask-image)$/;
/** Properties that draw at each vertex of a path. */
const PER_VERTEX = /^marker(?:-mid)?$/;
const KINDS = ['once', 'inherited', 'perVertex'];
const ANIMATIONS = new Set(['animate', 'set', 'animateTransform', 'animateMotion', 'animateColor']);
const VALUES = new Set(['values', 'from', 'to', 'by']);
const ENTITIES = Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" });
/** Pictures of pixels and fonts refer to nothing. */
const DOCUMENT = /data:(?!image\/(?:png|jpe?g|gif|webp|avif|bmp)\b|(?:application|font)\/[\w.+-]*(?:font|woff|ttf|otf|opentype|truetype))/i;

/** True for a URL of another document. Browsers leave out tabs and ends of lines. */
const isDocument = (text) => DOCUMENT.test(text.replace(/[\t\n\r]/g, ''));

class Refused extends Error {}
const refuse = (reason) => { throw new Refused(reason); };
const local = (name) => name.slice(name.indexOf(':') + 1);

/** The entities of a document type, which editors write for their namespaces. */
function entitiesOf(subset) {
  const entities = new Map(ENTITIES);
  const rest = subset.replace(/<!--[^]*?(?:-->|$)/g, (it) => (it.endsWith('-->') ? '' : it)).replace(/<!ENTITY\s+([^\s%"'>]+)\s+(?:"([^"]*)"|'([^']*)')\s*>/g, (all, name, one, two) => {
    const value = one ?? two;
    if (/[<&%#]/.test(value) || value.length > ENTITY_MAX) refuse(DECLARATIONS);
    if (!entities.has(name)) entities.set(name, value);
    return '';
  });
  return rest.trim() ? refuse(DECLARATIONS) : entities;
}

/** The ids that the fragment of a URL may mean. */
function idsOf(url) {
  const at = url.indexOf('#');
  if (at < 0) return [];
  const id = url.slice(at + 1).trim();
  try { return [...new Set([id, decodeURIComponent(id)])]; } catch { return [id]; }
}

/** A style without comments, and without strings and URLs that refer to nothing. */
function plainStyle(text) {
  if (text.includes('\\')) refuse(STYLE);
  return text.replace(/\/\*[^]*?(?:\*\/|$)|"[^"]*(?:"|$)|'[^']*(?:'|$)|url\(\s*[^"'\s)][^)]*(?:\)|$)/gi, (token) => {
    if (token.startsWith('/*')) return ' ';
    if (!token.includes('#')) return /^u/i.test(token) ? 'none' : '""';
    return /[{};]|\/\*/.test(token) ? refuse(STYLE) : token;
  });
}

const urls = (style) => [...style.matchAll(/url\(\s*(?:"([^"]*)"|'([^']*)'|([^)]*))/gi)].flatMap(([, one, two, three]) => idsOf(one ?? two ?? three));

/** A node of the graph: an element, or the rules for a tag, a class or an id, with its references by how often they are drawn. */
const node = (tag, parent) => ({ tag, parent, children: [], keys: [], markup: 0, once: [], inherited: [], perVertex: [] });

function addDeclaration(to, name, value, isInherited) {
  const ids = urls(value);
  if (!ids.length) return;
  if (PER_VERTEX.test(name)) to.perVertex.push(...ids);
  (ONCE.test(name) && !isInherited ? to.once : to.inherited).push(...ids);
}

function addDeclarations(to, style, isInherited) {
  for (const declaration of style.split(';')) {
    const at = declaration.indexOf(':');
    if (at >= 0) addDeclaration(to, declaration.slice(0, at).trim().toLowerCase(), declaration.slice(at + 1), isInherited);
  }
}

/** Selectors without arguments, which only narrow what they stand behind. */
const withoutArguments = (selectors) => selectors.replace(/\([^()]*\)/g, '').replace(/\([^()]*\)/g, '');

/** The id, class or tag that an element of a selector has at least; `*` for any. */
function keyOf(selector) {
  if (selector.length > SELECTOR_MAX || /["'()&]/.test(selector)) return '*';
  const last = selector.replace(/\[[^\]]*\]/g, '').trim().split(/[\s>+~|]+/).pop();
  return last.match(/[#.][^.#:*]+/)?.[0] ?? last.match(/^[^.#:*]+/)?.[0] ?? '*';
}

/** Reads a style sheet. A rule that may be for any element is one that all inherit from the root. */
function addRules(rules, sheet, isInherited) {
  const text = plainStyle(sheet);
  if (/@import/i.test(text)) refuse(EMBEDDED);
  const isSimple = !/@(?!media|font-face|charset|namespace|supports)/i.test(text);
  const open = [];
  let from = 0;
  for (const { 0: mark, index } of text.matchAll(/[{};]/g)) {
    const piece = text.slice(from, index);
    from = index + 1;
    if (mark === '{') {
      open.push({ selectors: piece, body: [] });
      continue;
    }
    open.at(-1)?.body.push(piece);
    const closed = mark === '}' && open.pop();
    const body = closed ? closed.body.join(';') : '';
    if (!/url\(/i.test(body)) continue;
    for (const key of isSimple && !closed.selectors.includes('@') ? new Set(withoutArguments(closed.selectors).split(',').map(keyOf)) : ['*']) {
      if (!rules.has(key)) rules.set(key, node(key));
      addDeclarations(rules.get(key), body, isInherited || key === '*');
    }
  }
}

/** The elements of a document, with their ids and references, and the rules for them. */
function read(text) {
  // The paint of the element at which a marker is drawn.
  if (/context-(?:fill|stroke)/i.test(text)) refuse(STYLE);
  const root = node('');
  const ids = new Map(), rules = new Map(), sheets = [], animations = [];
  const isInherited = /\binherit\b/i.test(text);
  let entities = new Map(ENTITIES);
  const decode = (value) => value.replace(/&(#x[0-9a-f]+|#\d+|[^;&\s]+);/gi, (all, name) => {
    // A browser may know it, as those of HTML with a document type of XHTML.
    if (name[0] !== '#') return entities.get(name) ?? refuse(DECLARATIONS);
    const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
  let place = root, at = 0, count = 0;
  /** Matches here, and goes on behind it. */
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  const skip = (end) => {
    const until = text.indexOf(end, at);
    at = until < 0 ? text.length : until + end.length;
  };
  const addText = (from, inner) => {
    place.markup += at - from;
    if (place.tag === 'style') (place.words ??= []).push(inner());
  };
  const TEXT = /[^<]+/y, DOCTYPE = /<!DOCTYPE(?:[^[\]<>"']|"[^"]*"|'[^']*')*(?:\[((?:[^\]"']|"[^"]*"|'[^']*')*)\]\s*)?>/y;
  const END = /<\/[^>]*>/y, START = /<([^\s/>!?]+)/y, ATTRIBUTE = /\s+([^\s=/>"'<]+)\s*=\s*("[^"<]*"|'[^'<]*')/y, CLOSE = /\s*(\/?)>/y;
  while (at < text.length) {
    const from = at;
    if (take(TEXT)) addText(from, () => decode(text.slice(from, at)));
    else if (text.startsWith('<!--', at)) skip('-->');
    else if (text.startsWith('<![CDATA[', at)) {
      skip(']]>');
      addText(from, () => text.slice(from + 9, at - 3));
    } else if (text.startsWith('<?', at)) {
      skip('?>');
      if (text.startsWith('<?xml-stylesheet', from)) refuse(EMBEDDED);
    } else if (text.startsWith('<!', at)) {
      const [, subset] = take(DOCTYPE) ?? refuse(DECLARATIONS);
      if (subset) entities = entitiesOf(subset);
    } else if (take(END)) {
      if (place.words) sheets.push(place.words.join(''));
      place = place.parent ?? root;
    } else {
      const tag = local((take(START) ?? refuse(DAMAGED))[1]);
      if (++count > ELEMENTS_MAX) refuse('The picture has too many elements');
      const element = node(tag, place);
      element.keys.push(tag);
      place.children.push(element);
      const href = [], moved = [];
      for (let found; (found = take(ATTRIBUTE));) {
        const name = local(found[1]), value = decode(found[2].slice(1, -1));
        if (isDocument(value)) refuse(EMBEDDED);
        if (name === 'href') href.push(...idsOf(value));
        // Attributes of editors and the like.
        else if (name !== found[1]) continue;
        else if (name === 'id') {
          if (!ids.has(value)) ids.set(value, []);
          ids.get(value).push(element);
          element.keys.push(`#${value}`);
        } else if (name === 'class') element.keys.push(...value.split(/\s+/).filter(Boolean).map((it) => `.${it}`));
        else if (name === 'style') addDeclarations(element, plainStyle(value), isInherited);
        else if (ANIMATIONS.has(tag) && VALUES.has(name)) moved.push(...value.split(';').flatMap((it) => [...idsOf(it), ...urls(it)]));
        else if (/[\\(]/.test(value)) addDeclaration(element, name, plainStyle(value), isInherited);
      }
      const [, isEmpty] = take(CLOSE) ?? refuse(DAMAGED);
      element.markup += at - from;
      if (!ANIMATIONS.has(tag)) element.once.push(...(tag === 'a' ? [] : href));
      else if (moved.length) animations.push({ parent: place, href, moved });
      if (!isEmpty) place = element;
    }
  }
  for (const sheet of sheets) {
    if (isDocument(sheet)) refuse(EMBEDDED);
    addRules(rules, sheet, isInherited);
  }
  // An animation gives its values to its parent, or to the element that it names.
  for (const { parent, href, moved } of animations) {
    for (const key of href.map((it) => `#${it}`)) {
      if (!rules.has(key)) rules.set(key, node(key));
      rules.get(key).inherited.push(...moved);
    }
    if (!href.length) parent.inherited.push(...moved);
  }
  root.keys.push('*');
  return { root, ids, rules };
}

const NOTHING = { elements: 0, markup: 0 };
function sum(sizes) {
  const all = { elements: 0, markup: 0 };
  for (const it of sizes) {
    all.elements += it.elements;
    all.markup += it.markup;
  }
  return all;
}

/** Computes a value for each key once. A value that needs itself is a reference in a circle. */
function computed(make) {
  const done = new Map();
  return (key) => {
    const known = done.get(key);
    if (known) return known === CYCLE ? refuse(CYCLE) : known;
    done.set(key, CYCLE);
    const made = make(key);
    done.set(key, made);
    return made;
  };
}

/** The number of elements that are drawn, and the length of their markup. */
function sizeOf({ root, ids, rules }) {
  const named = computed((id) => sum((ids.get(id) ?? []).map((it) => referred(it))));
  const [once, inherited, perVertex] = KINDS.map((kind) => computed((it) => (it[kind].length ? sum(it[kind].map((id) => named(id))) : NOTHING)));
  const all = (of, element) => sum((rules.size ? [element, ...element.keys.map((key) => rules.get(key)).filter(Boolean)] : [element]).map((it) => of(it)));
  /** The paint of an element, which its children inherit. */
  const paint = computed((element) => ({ each: all(inherited, element), vertex: all(perVertex, element) }));
  const around = computed(({ parent }) => {
    if (!parent) return { each: NOTHING, vertex: NOTHING };
    const [one, two] = [paint(parent), around(parent)];
    return { each: sum([one.each, two.each]), vertex: sum([one.vertex, two.vertex]) };
  });
  const painted = (own, { each, vertex }) => {
    const times = (of) => own[of] + own.elements * each[of] + (vertex[of] && own.markup * vertex[of]);
    return { elements: times('elements'), markup: times('markup') };
  };
  const size = computed((element) => {
    const own = { elements: 1, markup: element.markup };
    return painted(sum([own, ...element.children.map((it) => size(it)), all(once, element)]), paint(element));
  });
  // An element that is referred to inherits from those that it is in. A gradient draws nothing by itself.
  const referred = computed((element) => (/^(?:linear|radial)Gradient$/.test(element.tag) ? NOTHING : painted(size(element), around(element))));
  return size(root);
}

/** The reason not to draw a picture, if there is one. */
export function reasonAgainst(text) {
  if (text.length > BYTES_MAX) return TOO_LARGE;
  try {
    const { elements, markup } = sizeOf(read(text));
    return elements <= ELEMENTS_MAX && markup <= MARKUP_MAX ? undefined : TOO_OFTEN;
  } catch (error) {
    if (error instanceof Refused) return error.message;
    // The stack is too short for the nesting.
    if (error instanceof RangeError) return TOO_DEEP;
    throw error;
  }
}

/** The text of a picture, by its byte order mark or the encoding that it names. */
export function textOf(bytes) {
  const [first, second] = bytes;
  const bom = first === 0xfe && second === 0xff ? 'utf-16be' : first === 0xff && second === 0xfe ? 'utf-16le' : undefined;
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, 256));
  const told = head.match(/^(?:\xef\xbb\xbf)?<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]+)/)?.[1] ?? 'utf-8';
  try { return new TextDecoder(bom ?? (/^utf-?16/i.test(told) ? 'utf-8' : told)).decode(bytes); } catch { return new TextDecoder().decode(bytes); }
}

/** The bytes of a text that a browser reads as the same text, whatever encoding it names. */
export const pictureOf = (text) => new TextEncoder().encode(`\ufeff${text.replace(/^<\?xml\s[^>]*\?>/, '')}`);
