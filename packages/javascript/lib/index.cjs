"use strict";
// LiteIO for tests: an object store that speaks Amazon S3, started in milliseconds.

const { findBinary } = require("./binary.cjs");
const errors = require("./errors.cjs");
const { useEnvironment } = require("./per-test.cjs");
const { startServer, connect, MainSpace, Server } = require("./server.cjs");
const { Space, Fault, Clock } = require("./space.cjs");

module.exports = { startServer, connect, findBinary, useEnvironment, Server, MainSpace, Space, Fault, Clock, ...errors };
