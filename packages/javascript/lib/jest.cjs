"use strict";
// A space for each Jest test, or a server that is reset before each.

const { LiteIOError } = require("./errors.cjs");
const perTest = require("./per-test.cjs");

// Jest resolves this name itself, even if its functions are not globals.
const { beforeAll, beforeEach, afterEach, afterAll, expect, test } = globalsOfJest();

function globalsOfJest() {
  try {
    return require("@jest/globals");
  } catch (cause) {
    throw new LiteIOError(
      "liteio/jest is for test files that Jest runs: import liteio/vitest in Vitest, liteio/node-test in node:test",
      { cause },
    );
  }
}

// Jest gives each file a copy of the variables, and runs hooks of the end in the order of their registration.
const hooks = {
  beforeAll,
  beforeEach,
  afterEach,
  afterAll,
  endsWithFile: true,
  nameOfTest: () => expect?.getState?.().currentTestName,
};

const CONCURRENT =
  "Jest runs no hooks for test.concurrent, so that such tests would share the buckets of the test before: put them into a file " +
  "without useSpace() and useServer(), with startServer() in beforeAll and `await server.space()` in each test";

// Bun takes the functions of Jest for its own.
const ANOTHER =
  "liteio/jest is for test files that Jest runs, and this is another runner, such as that of Bun: use startServer() and " +
  'useEnvironment() of liteio there: docs/javascript.md, "Another runner"';

/** Refuses concurrent tests in this file, each of which has its own `test`. */
function refuseConcurrent() {
  // Also for `concurrent.each`, `concurrent.only.each` and the others.
  const refused = new Proxy(() => {}, {
    get: () => refused,
    apply() {
      throw new LiteIOError(CONCURRENT);
    },
  });
  try {
    test.concurrent = refused;
  } catch (cause) {
    throw new LiteIOError(ANOTHER, { cause });
  }
}

exports.useSpace = (options) => {
  refuseConcurrent();
  return perTest.useSpace(hooks, options);
};
exports.useServer = (options) => {
  refuseConcurrent();
  return perTest.useServer(hooks, options);
};
