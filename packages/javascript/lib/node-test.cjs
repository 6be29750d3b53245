"use strict";
// A space for each test of Node.js's own runner, or a server that is reset before each.

const { before, beforeEach, afterEach, after } = require("node:test");
const perTest = require("./per-test.cjs");

/** The hooks, without the calls for subtests, which belong to the test around them. */
function hooksOfTests() {
  let outer;
  const isSubtest = (name) => outer !== undefined && name !== undefined && name.startsWith(`${outer} > `);
  return {
    beforeAll: before,
    beforeEach: (hook) =>
      beforeEach(async (context = {}) => {
        const { fullName } = context;
        if (!isSubtest(fullName)) {
          await hook({ task: fullName, atEnd: (end) => context.after?.(end) });
          outer = fullName;
        }
      }),
    afterEach: (hook) =>
      afterEach(async ({ fullName } = {}) => {
        if (!isSubtest(fullName)) {
          outer = fullName === outer ? undefined : outer;
          await hook({ task: fullName });
        }
      }),
    afterAll: after,
    // Each file has its process, and hooks of the end run in the order of their registration.
    endsWithFile: true,
  };
}

exports.useSpace = (options) => perTest.useSpace(hooksOfTests(), options);
exports.useServer = (options) => perTest.useServer(hooksOfTests(), options);
