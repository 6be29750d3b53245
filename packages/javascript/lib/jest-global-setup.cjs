"use strict";
// The global setup of Jest: one server for all test files, which the global teardown stops.

const perTest = require("./per-test.cjs");

const withOptions = (options) => async () => {
  globalThis[Symbol.for("liteio.stop")] = await perTest.setUp(options);
};

module.exports = withOptions();
module.exports.withOptions = withOptions;
