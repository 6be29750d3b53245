"use strict";
// A space for each Jest test, or a server that is reset before each.

const perTest = require("./per-test.cjs");

// Jest resolves this name itself, even if its functions are not globals.
const { beforeAll, beforeEach, afterEach, afterAll } = require("@jest/globals");

// Jest gives each file a copy of the variables, and runs hooks of the end in the order of their registration.
const hooks = { beforeAll, beforeEach, afterEach, afterAll, endsWithFile: true };

const NOTE = " (Jest runs no hooks for test.concurrent: make a space in such a test, `await s3.server.space()`)";

exports.useSpace = (options) => perTest.useSpace(hooks, options, NOTE);
exports.useServer = (options) => perTest.useServer(hooks, options);
