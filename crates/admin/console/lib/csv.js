// CSV as in RFC 4180, as far as the preview needs it.

/** The first rows; without the last one if the text is truncated. */
export function parseCsv(text, separator, rowsMax, isCut) {
  const rows = [];
  let row = [], cell = '', at = 0;
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  while (at < source.length && rows.length < rowsMax) {
    const it = source[at++];
    if (it === '"' && cell === '') {
      for (; at < source.length; at++) {
        if (source[at] !== '"') cell += source[at];
        else if (source[at + 1] === '"') { cell += '"'; at++; } else break;
      }
      at++;
    } else if (it === separator) { row.push(cell); cell = ''; }
    else if (it === '\n') { row.push(cell.replace(/\r$/, '')); rows.push(row); row = []; cell = ''; }
    else cell += it;
  }
  if ((cell || row.length) && rows.length < rowsMax && !isCut) rows.push([...row, cell]);
  return rows;
}
