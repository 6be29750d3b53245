"use strict";
// A space for each test, or a server that is reset before each, through the hooks of a test runner.

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

/** The server of the global setup, or without one or with options a server of its own. */
async function serverOf(options) {
  const shared = process.env[SHARED];
  if (shared && options === undefined) {
    return { server: connect(JSON.parse(shared)) };
  }
  const owned = await startServer(options);
  return { server: owned, owned };
}

/**
 * Registers the hooks; returns an object that represents the space of the running test. The note tells what the runner does
 * with tests that run at the same time.
 */
function useSpace({ beforeAll, beforeEach, afterEach, afterAll }, options, note = "") {
  if (options?.profile === "localstack") {
    throw new TypeError(
      'useSpace separates tests by their keys, and with the profile "localstack" unknown keys, such as `test`, reach the same ' +
        "space in all tests: use useServer",
    );
  }
  let server;
  let owned;
  // The running test, by the name of its runner, with its space and a function that restores the environment.
  let running;
  beforeAll(async () => {
    ({ server, owned } = await serverOf(options));
  });
  // Vitest passes a context to its hooks. For Jest a function with a named parameter would wait for a callback.
  beforeEach(async (...given) => {
    if (running) {
      throw new LiteIOError(
        "useSpace() has one space at a time, because AWS_… belong to the whole process: another test of this file " +
          "is running. Run them one after the other (no `concurrent`), or put concurrent tests into a file without " +
          "useSpace(), with startServer() at its top and `await server.space()` in each test",
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
      throw new LiteIOError(
        "the space exists in a test and in beforeEach, not in beforeAll (use `buckets`, `seed` or beforeEach), and not while " +
          `tests are defined: call useSpace() outside of tests${note}`,
      );
    }
    return running.space;
  };
  return representing(() => server, current);
}

/**
 * Registers the hooks for one server, or one space of the server of the global setup, which is reset before each test: the
 * variables stay the same, so that a client that was made once keeps working. Returns an object that represents it.
 */
function useServer({ beforeAll, beforeEach, afterEach, afterAll }, options) {
  if (options?.dataDir !== undefined) {
    throw new TypeError("useServer has no dataDir, which it would empty before each test: use startServer");
  }
  let server;
  let owned;
  let space;
  let putBack;
  // The running test of a runner that passes it to its hooks.
  let running;
  beforeAll(async () => {
    ({ server, owned } = await serverOf(options));
    space = owned ?? (await server.space());
    putBack = useEnvironment(space);
  });
  beforeEach(async (...given) => {
    if (running) {
      throw new LiteIOError(
        "useServer() resets the server before each test, and another test of this file is running. Run them one after the " +
          "other (no `concurrent`)",
      );
    }
    running = given[0]?.task;
    await space.reset();
  });
  afterEach((...given) => {
    // Also called for a rejected test.
    if (running === given[0]?.task) {
      running = undefined;
    }
  });
  afterAll(async () => {
    putBack?.();
    await (owned ? owned.stop() : space?.delete());
  });
  const current = () => {
    if (!space) {
      throw new LiteIOError(
        "the server exists in a test and in the hooks after useServer(), not while tests are defined: call useServer() outside " +
          "of tests",
      );
    }
    return space;
  };
  return representing(() => server, current);
}

/** The object that stands for the server and the space of the running test, which are there later. */
function representing(server, space) {
  return {
    get server() {
      return server();
    },
    get space() {
      return space();
    },
    get config() {
      return space().config;
    },
    get env() {
      return space().env;
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

module.exports = { useSpace, useServer, useEnvironment, setUp };
