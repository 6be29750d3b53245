"use strict";
// LiteIO for tests: an object store that speaks Amazon S3, started in milliseconds.

const { findBinary } = require("./binary.cjs");
const errors = require("./errors.cjs");
const { useEnvironment } = require("./per-test.cjs");
const { startServer, connect, MainSpace, Server } = require("./server.cjs");
const { Space, Fault, Clock } = require("./space.cjs");

/** A helper of a test runner, imported from here. The types do not have it, so this is for JavaScript. */
function ofRunner(name) {
  return () => {
    throw new errors.LiteIOError(
      `${name} belongs to a test runner: import it from liteio/vitest, liteio/jest or liteio/node-test instead of liteio`,
    );
  };
}

module.exports = {
  startServer, connect, findBinary, useEnvironment, Server, MainSpace, Space, Fault, Clock, ...errors,
  useServer: ofRunner("useServer"), useSpace: ofRunner("useSpace"),
};
