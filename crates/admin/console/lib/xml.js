// XML of S3, IAM and STS: elements and text. No attributes, no custom entities.

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const unescape = (text) => (text.includes('&')
  ? text.replace(/&(#x[0-9a-f]+|#\d+|\w+);/gi, (whole, name) => {
    if (name[0] !== '#') return ENTITIES[name] ?? whole;
    const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  })
  : text);

class Element {
  constructor(name) {
    this.name = name;
    this.children = [];
    this.text = '';
  }

  /** The element at a path like `Owner/ID`. */
  find(path) {
    return path.split('/').reduce((at, name) => at?.children.find((child) => child.name === name), this);
  }

  all(path) {
    const names = path.split('/');
    const last = names.pop();
    const parent = names.length ? this.find(names.join('/')) : this;
    return parent ? parent.children.filter((child) => child.name === last) : [];
  }

  get(path) {
    return this.find(path)?.text;
  }
}

/** The root element of a document. */
export function parseXml(text) {
  const root = new Element('');
  const open = [root];
  for (const [, tag, content] of text.matchAll(/<([^>]*)>|([^<]+)/g)) {
    const top = open[open.length - 1];
    if (content !== undefined) top.text += unescape(content);
    else if (tag[0] === '/') { if (open.length > 1) open.pop(); }
    else if (tag[0] !== '?' && tag[0] !== '!') {
      const child = new Element(tag.match(/^[^\s/]+/)?.[0].replace(/^.*:/, '') ?? '');
      top.children.push(child);
      if (!tag.endsWith('/')) open.push(child);
    }
  }
  return root.children[0] ?? root;
}

/** Text that an XML element can contain. */
export const escapeXml = (text) =>
  String(text).replace(/[&<>"'\u0000-\u001f]/g, (it) => `&#${it.charCodeAt(0)};`);

/** The document of `value`: objects become elements, lists repeated elements. */
export function writeXml(name, value) {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map((item) => writeXml(name, item)).join('');
  if (typeof value !== 'object') return `<${name}>${escapeXml(value)}</${name}>`;
  const inner = Object.entries(value).map(([child, it]) => writeXml(child, it)).join('');
  return `<${name}>${inner}</${name}>`;
}
