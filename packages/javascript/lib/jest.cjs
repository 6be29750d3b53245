"use strict";
// A space for each Jest test, or a server that is reset before each.

const perTest = require("./per-test.cjs");

// Jest resolves this name itself, even if its functions are not globals.
const hooks = require("@jest/globals");

const NOTE = " (Jest runs no hooks for test.concurrent: make a space in such a test, `await s3.server.space()`)";

exports.useSpace = (options) => perTest.useSpace(hooks, options, NOTE);
exports.useServer = (options) => perTest.useServer(hooks, options);
