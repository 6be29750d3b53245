"use strict";
// The global teardown of Jest, which belongs to its global setup.

module.exports = async () => {
  await globalThis[Symbol.for("liteio.stop")]?.();
};
