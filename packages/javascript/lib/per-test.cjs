"use strict";
// A space for each test, by the hooks of a test runner.

const { LiteIOError } = require("./errors.cjs");
const { startServer, connect } = require("./server.cjs");

// What the global setup hands on to the workers.
const SHARED = "LITEIO_SHARED_SERVER";
// They would choose other credentials or another endpoint than those that are set, or be refused beside these.
const REMOVED = [
  "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_ROLE_ARN",
  "AWS_CREDENTIAL_EXPIRATION", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT",
];

/** Points the variables AWS_… of this process at a space; returns what puts them back. */
function useEnvironment(space) {
  const values = space.env;
  const before = [...Object.keys(values), ...REMOVED].map((name) => [name, process.env[name]]);
  Object.assign(process.env, values);
  REMOVED.forEach((name) => delete process.env[name]);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) {
        delete process.env[name];
      } else {
        process.env[name] = value;
      }
    }
  };
}

/** Registers the hooks; what it returns stands for the space of the test that runs. */
function useSpace({ beforeAll, beforeEach, afterEach, afterAll }, options) {
  let server;
  let owned;
  // The test that runs, as its runner names it, with its space and what puts the environment back.
  let running;
  beforeAll(async () => {
    const shared = process.env[SHARED];
    if (shared && options === undefined) {
      server = connect(JSON.parse(shared));
    } else {
      server = owned = await startServer(options);
    }
  });
  // Vitest hands a context to its hooks. For Jest a function with a named parameter would wait for a callback.
  beforeEach(async (...given) => {
    if (running) {
      throw new LiteIOError(
        "useSpace() has one space at a time, and AWS_… are those of the whole process: another test of this file " +
          "runs. Run them one after the other (no `concurrent`), or let each make a space: await server.space()",
      );
    }
    const mine = { test: given[0]?.task };
    running = mine;
    const space = await server.space();
    if (running !== mine) {
      // The runner did not wait for it.
      await space.delete();
      return;
    }
    Object.assign(mine, { space, putBack: useEnvironment(space) });
  });
  afterEach(async (...given) => {
    // Also called for a test that was refused.
    if (!running || running.test !== given[0]?.task) {
      return;
    }
    const { space, putBack } = running;
    running = undefined;
    putBack?.();
    await space?.delete();
  });
  afterAll(async () => {
    await owned?.stop();
  });
  const current = () => {
    if (!running?.space) {
      throw new LiteIOError("a space is there in a test and in beforeEach, not while tests are defined");
    }
    return running.space;
  };
  return {
    get server() {
      return server;
    },
    get space() {
      return current();
    },
    get config() {
      return current().config;
    },
    get env() {
      return current().env;
    },
  };
}

/** One server for all workers; returns what stops it. */
async function setUp(options) {
  const server = await startServer(options);
  const { endpoint, accessKeyId, secretAccessKey, region } = server;
  process.env[SHARED] = JSON.stringify({ endpoint, accessKeyId, secretAccessKey, region });
  return async () => {
    delete process.env[SHARED];
    await server.stop();
  };
}

module.exports = { useSpace, useEnvironment, setUp };
