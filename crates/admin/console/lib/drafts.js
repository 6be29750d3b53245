// Unsaved drafts: they are kept while the user visits other pages, until sign-out.

const drafts = new Map();
const changed = new EventTarget();

export const draft = (key) => drafts.get(key);

export function setDraft(key, value) {
  if (value === undefined) drafts.delete(key);
  else drafts.set(key, value);
  changed.dispatchEvent(new Event('change'));
}

export const draftsChanged = changed;
export const hasDrafts = () => drafts.size > 0;

export function dropDrafts() {
  drafts.clear();
  changed.dispatchEvent(new Event('change'));
}
