"use strict";
// The global teardown of Jest, the counterpart of its global setup.

module.exports = async () => {
  await globalThis[Symbol.for("liteio.stop")]?.();
};
