"use strict";
// A space for each test of Jest.

const perTest = require("./per-test.cjs");

// Jest answers this name itself, also where its functions are no globals.
const hooks = require("@jest/globals");

exports.useSpace = (options) => perTest.useSpace(hooks, options);
