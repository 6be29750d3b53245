"use strict";
// A space for each Jest test.

const perTest = require("./per-test.cjs");

// Jest resolves this name itself, even if its functions are not globals.
const hooks = require("@jest/globals");

exports.useSpace = (options) => perTest.useSpace(hooks, options);
