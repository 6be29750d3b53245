// Where the rows of a long table are: rows beyond what a browser can scroll share the steps of its scroll bar.

export const ROW = 34;
/** Browsers cut off elements that are higher. Above it, a step of the scroll bar is more than one row. */
const HEIGHT_MAX = 12_000_000;

/**
 * The scale of `count` rows in a view of `height` pixels. The ends of the scroll bar are those of the rows: what one
 * scrolls by is all but one view, of the element as of the rows.
 */
export function scaleOf(count, height) {
  const rows = count * ROW;
  const element = Math.min(rows, HEIGHT_MAX);
  const ratio = rows > element ? (rows - height) / (element - height) : 1;
  return {
    /** The height of the element. */
    element,
    /** True if positions among the rows are not those of the scroll bar. */
    isScaled: ratio !== 1,
    /** The most pixels of rows that are above the view. */
    last: Math.max(0, rows - height),
    /** The pixels of rows above the view, of where the scroll bar is. */
    above: (top) => top * ratio,
    /** Where the scroll bar is, of the pixels of rows above the view. */
    top: (above) => above / ratio,
    /** The place of a row in the element. */
    offset: (index, top, above) => (ratio === 1 ? index * ROW : top + index * ROW - above),
  };
}
