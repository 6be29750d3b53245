"use strict";
// A space for each test, through the hooks of a test runner.

const { LiteIOError } = require("./errors.cjs");
const { startServer, connect } = require("./server.cjs");

// Variable that passes the server from the global setup to the workers.
const SHARED = "LITEIO_SHARED_SERVER";
// They would choose other credentials or another endpoint than those that are set, or be refused beside these.
const REMOVED = [
  "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_ROLE_ARN",
  "AWS_CREDENTIAL_EXPIRATION", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT",
];

/** Points the variables AWS_… of this process at a space; returns a function that restores them. */
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

/** Registers the hooks; returns an object that represents the space of the running test. */
function useSpace({ beforeAll, beforeEach, afterEach, afterAll }, options) {
  let server;
  let owned;
  // The running test, by the name of its runner, with its space and a function that restores the environment.
  let running;
  beforeAll(async () => {
    const shared = process.env[SHARED];
    if (shared && options === undefined) {
      server = connect(JSON.parse(shared));
    } else {
      server = owned = await startServer(options);
    }
  });
  // Vitest passes a context to its hooks. For Jest a function with a named parameter would wait for a callback.
  beforeEach(async (...given) => {
    if (running) {
      throw new LiteIOError(
        "useSpace() has one space at a time, because AWS_… belong to the whole process: another test of this file " +
          "is running. Run them one after the other (no `concurrent`), or create a space in each: await server.space()",
      );
    }
    const mine = { test: given[0]?.task };
    running = mine;
    const space = await server.space();
    if (running !== mine) {
      // The runner did not wait for the hook.
      await space.delete();
      return;
    }
    Object.assign(mine, { space, putBack: useEnvironment(space) });
  });
  afterEach(async (...given) => {
    // Also called for a rejected test.
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
      throw new LiteIOError("the space exists in a test and in beforeEach, not while tests are defined");
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

/** Starts one server for all workers; returns a function that stops it. */
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
