// The files of a drop.

const asked = (ask) => new Promise((resolve, reject) => { ask(resolve, reject); });

/**
 * `found`: files, including files in directories, with paths. `unread`: names of unreadable files and directories;
 * the others are still found.
 */
export async function filesOfDrop(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return { found: [...transfer.files].map((file) => ({ file, name: file.name })), unread: [] };
  const found = [], unread = [];
  const visit = async (entry, above) => {
    const name = above + entry.name;
    try {
      if (entry.isFile) {
        found.push({ file: await asked((...to) => entry.file(...to)), name });
        return;
      }
      const reader = entry.createReader();
      for (;;) {
        const children = await asked((...to) => reader.readEntries(...to));
        if (!children.length) break;
        for (const child of children) await visit(child, `${name}/`);
      }
    } catch {
      unread.push(name);
    }
  };
  for (const entry of entries) await visit(entry, '');
  return { found, unread };
}
