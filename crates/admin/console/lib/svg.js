// SVG pictures that draw far more than they contain: ten uses of ten uses of ten uses are a thousand elements.

/** The elements that are drawn more than once. A million takes a browser half a minute. */
const REPEATED_MAX = 100_000;
/** Elements by rules of style sheets, each of which looks at all of them. */
const MATCHES_MAX = 10_000_000;

/** The names behind a `#`; those that are colours name no element. */
function* names(text) {
  if (!text.includes('#')) return;
  for (const [, name] of text.matchAll(/#([^\s"'();,]+)/g)) {
    yield name;
    if (name.includes('%')) try { yield decodeURIComponent(name); } catch { /* It is no encoded name. */ }
  }
}

/** The names in rules of style sheets, by the elements that the rules are for; nothing if that cannot be told. */
function styled(root, count) {
  const found = new Map();
  const rules = [...root.querySelectorAll('style')].flatMap((it) => [...it.textContent.matchAll(/([^{};]*)\{([^{}]*)\}/g)]);
  const naming = rules.filter(([, , body]) => body.includes('#'));
  if (naming.length * count > MATCHES_MAX || rules.some(([all]) => all.includes('\\'))) return undefined;
  for (const [, selector, body] of naming) {
    const targets = [...names(body)].filter((it) => root.getElementById(it));
    if (!targets.length) continue;
    try {
      for (const element of root.querySelectorAll(selector.replace(/\/\*[^]*?\*\//g, ''))) found.set(element, [...(found.get(element) ?? []), ...targets]);
    } catch {
      return undefined;
    }
  }
  return found;
}

/** Whether a picture draws about as many elements as it has, with all that `use`, patterns, masks and the like repeat. */
export function isModest(text) {
  const root = new DOMParser().parseFromString(text, 'image/svg+xml');
  const all = root.querySelectorAll('*');
  const byStyle = styled(root, all.length);
  if (!byStyle) return false;
  const costs = new Map();
  const cost = (element) => {
    if (costs.has(element)) return costs.get(element);
    // A reference to what it is in ends there, as in browsers.
    costs.set(element, 0);
    let own = 1, named = 0;
    for (const child of element.children) own += cost(child);
    const add = (name) => {
      const target = root.getElementById(name);
      if (target) named += cost(target);
    };
    for (const { value } of element.attributes) for (const name of names(value)) add(name);
    byStyle.get(element)?.forEach(add);
    // Children inherit paint.
    const sum = own * (1 + named);
    costs.set(element, sum);
    return sum;
  };
  try {
    if ([...all].some((it) => [...it.attributes].some(({ value }) => /^\s*data:image\/svg/i.test(value)))) return false;
    return cost(root.documentElement) - all.length <= REPEATED_MAX;
  } catch {
    // A chain of references that is too deep to follow.
    return false;
  }
}
