// Scroll positions of a long table: if it is higher than a browser can scroll, several rows share a scroll step.

export const ROW = 34;
/** Maximum element height of browsers. Beyond it, a scroll step is more than one row. */
const HEIGHT_MAX = 12_000_000;

/**
 * The scale of `count` rows in a view of `height` pixels. Both ends of the scroll bar match the ends of the rows: the
 * scroll range is the total height less one view, for the element as for the rows.
 */
export function scaleOf(count, height) {
  const rows = count * ROW;
  const element = Math.min(rows, HEIGHT_MAX);
  const ratio = rows > element ? (rows - height) / (element - height) : 1;
  return {
    /** The height of the element. */
    element,
    /** True if row positions differ from scroll positions. */
    isScaled: ratio !== 1,
    /** Maximum pixels of rows above the view. */
    last: Math.max(0, rows - height),
    /** Converts a scroll position to pixels of rows above the view. */
    above: (top) => top * ratio,
    /** Converts pixels of rows above the view to a scroll position. */
    top: (above) => above / ratio,
    /** Position of a row in the element. */
    offset: (index, top, above) => (ratio === 1 ? index * ROW : top + index * ROW - above),
  };
}
