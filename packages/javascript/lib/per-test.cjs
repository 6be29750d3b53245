"use strict";
// A space for each test, or a server that is reset before each, through the hooks of a test runner.

const { LiteIOError, StartFailed } = require("./errors.cjs");
const { checkOptions, shown } = require("./names.cjs");
const { OPTIONS, startServer, connect } = require("./server.cjs");
const { Space, localAlias } = require("./space.cjs");

// Variable that passes the server from the global setup to the workers.
const SHARED = "LITEIO_SHARED_SERVER";
// Name under which the global setup provides it, where the runner has this for each of its projects.
const PROVIDED = "liteio";
// They would choose other credentials or another endpoint than those that are set, or be refused beside these.
const REMOVED = [
  "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_ROLE_ARN",
  "AWS_CREDENTIAL_EXPIRATION", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT",
];

/** Points the variables AWS_… of this process at a space; returns a function that restores them. */
function useEnvironment(space) {
  const values = space?.env;
  if (!values) {
    throw new TypeError(`useEnvironment takes a server or a space, not ${shown(space)}: useEnvironment(await startServer())`);
  }
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

/**
 * The server that the global setup passes on, unless there are options: its address and keys, and the profile. `provided` is what
 * the runner has passed on by itself, if it does.
 */
function sharedServer(options, provided = () => undefined) {
  const shared = options === undefined ? (provided() ?? process.env[SHARED]) : undefined;
  return shared && JSON.parse(shared);
}

/** The server of the global setup, or without one a server of its own. */
async function serverOf(shared, options, start = startServer) {
  if (shared) {
    const { profile, ...connection } = shared;
    return { server: connect(connection) };
  }
  const owned = await start(options);
  return { server: owned, owned };
}

// It begins like the key of a space, about which the server tells more.
const NO_KEY = "LITEIO-NO-SPACE-BEFORE-THE-FIRST-TEST";

/** Variables of a server without the keys of a space, so that a request is refused there instead of reaching AWS. */
function withoutSpace(server) {
  const { env } = server;
  const local = localAlias(env.AWS_ENDPOINT_URL, NO_KEY, NO_KEY);
  return { env: { ...env, AWS_ACCESS_KEY_ID: NO_KEY, AWS_SECRET_ACCESS_KEY: NO_KEY, MC_HOST_local: local } };
}

/**
 * An address where nothing listens, until a server has started. If it does not, Jest still runs the user's afterEach, and all
 * runners the afterAll: a cleanup there would empty buckets at AWS.
 */
const NOWHERE = new Space(undefined, {
  endpoint: "http://127.0.0.1:1", accessKeyId: NO_KEY, secretAccessKey: NO_KEY, region: "us-east-1",
});

// Number of helpers whose tests have begun and not ended: more than one where a `describe` inside has a helper of its own.
let entered = 0;

/**
 * Takes the variables for the tests of a helper; returns a function that restores those before. It does not where each file has
 * variables of its own and an afterAll of the user may follow: its cleanup fails then without a server, where it would reach AWS.
 * Inside the tests of another helper it restores them nevertheless, to the server of that one.
 */
function enterEnvironment({ endsWithFile = false }) {
  const isInside = entered > 0;
  entered += 1;
  const putBack = useEnvironment(NOWHERE);
  return () => {
    entered -= 1;
    if (isInside || !endsWithFile) {
      putBack();
    }
  };
}

/**
 * Registers the hooks; returns an object that represents the space of the running test. The note tells where this
 * runner has no space.
 *
 * Jest and node:test, and Vitest by its settings, run a later registered afterEach of the user after the one of this function.
 * The space of a test and the variables therefore stay until the next beforeEach, or afterAll: the cleanup of a test would
 * reach AWS otherwise. What runs before the beforeEach of this function is refused there by the name of its test, where the runner
 * tells that (`nameOfTest`).
 *
 * Vitest and node:test skip the remaining hooks of a test after one that has failed, the afterEach of this function among them. There
 * `atEnd` registers what runs at the end of the test nevertheless.
 */
function useSpace({ beforeAll, beforeEach, afterEach, afterAll, ...runner }, options, note = "") {
  checkOptions("the argument of useSpace", options, OPTIONS);
  const shared = sharedServer(options, runner.provided);
  if ((options ?? shared)?.profile === "localstack") {
    throw new TypeError(
      'useSpace separates tests by their keys, and with the profile "localstack" unknown keys, such as `test`, reach the same ' +
        "space in all tests: use useServer",
    );
  }
  let server;
  let owned;
  let leaveEnvironment;
  // The running test, by the name of its runner; undefined between tests.
  let running;
  // The space of the running test, or between tests of the last one.
  let space;
  // The name of that test.
  let nameOfLast;
  const nameOfTest = runner.nameOfTest ?? (() => undefined);
  // Also called for a rejected test.
  const release = (test) => {
    if (running?.test === test) {
      running = undefined;
    }
  };
  const endSpace = async () => {
    const ended = space;
    space = undefined;
    await ended?.delete().catch((error) => {
      // The test has deleted it.
      if (error.status !== 404) {
        throw error;
      }
    });
  };
  beforeAll(async () => {
    leaveEnvironment = enterEnvironment(runner);
    ({ server, owned } = await serverOf(shared, options));
    useEnvironment(withoutSpace(server));
  });
  // Vitest and node:test tell the test. For Jest a function with a named parameter would wait for a callback.
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
    given[0]?.atEnd?.(() => release(mine.test));
    await endSpace();
    const made = await server.space();
    if (running !== mine) {
      // The runner did not wait for the hook.
      await made.delete();
      return;
    }
    space = made;
    nameOfLast = nameOfTest();
    useEnvironment(space);
  });
  afterEach((...given) => release(given[0]?.task));
  afterAll(async () => {
    leaveEnvironment?.();
    await (owned ? owned.stop() : endSpace());
  });
  const current = () => {
    if (!space) {
      throw new LiteIOError(
        "the space exists in a test, in beforeEach and in afterEach, not in beforeAll (use `buckets`, `seed` or beforeEach), " +
          `and not while tests are defined: call useSpace() outside of tests${note}`,
      );
    }
    // Of concurrent tests the name is that of the last one to begin.
    if (!running && nameOfTest() !== nameOfLast) {
      throw new LiteIOError(
        `this test has no space yet, and that of the test before (${nameOfLast}) is not its own: useSpace() makes one in its ` +
          `beforeEach, so call it before the beforeEach that uses it${note}`,
      );
    }
    return space;
  };
  return representing(() => server, current);
}

// Port of the last server of useServer. Where modules outlive a test file, so do this one and the clients of the code under test.
let lastPort;

/** Starts a server at the address of the one before, if that is free, for clients that were made in another file. */
async function startAgain(options) {
  let server;
  if (lastPort !== undefined && !options?.port) {
    server = await startServer({ ...options, port: lastPort }).catch((error) => {
      if (!(error instanceof StartFailed)) {
        throw error;
      }
    });
  }
  server ??= await startServer(options);
  lastPort = Number(new URL(server.endpoint).port);
  return server;
}

/**
 * Registers the hooks for one server, or one space of the server of the global setup, which is reset before each test: the
 * variables stay the same, so that a client that was made once keeps working. Returns an object that represents it.
 */
function useServer({ beforeAll, beforeEach, afterEach, afterAll, ...runner }, options) {
  checkOptions("the argument of useServer", options, OPTIONS);
  if (options?.dataDir !== undefined) {
    throw new TypeError("useServer has no dataDir, which it would empty before each test: use startServer");
  }
  let server;
  let owned;
  let space;
  let leaveEnvironment;
  // The running test of a runner that passes it to its hooks.
  let running;
  // Also called for a rejected test.
  const release = (test) => {
    if (running === test) {
      running = undefined;
    }
  };
  // With this profile unknown keys, such as `test`, reach the main space.
  const shared = sharedServer(options, runner.provided);
  const isMain = shared?.profile === "localstack";
  beforeAll(async () => {
    leaveEnvironment = enterEnvironment(runner);
    ({ server, owned } = await serverOf(shared, options, startAgain));
    space = owned ?? (isMain ? server : await server.space());
    useEnvironment(space);
  });
  beforeEach(async (...given) => {
    if (running) {
      throw new LiteIOError(
        "useServer() resets the server before each test, and another test of this file is running. Run them one after the " +
          "other (no `concurrent`)",
      );
    }
    const test = given[0]?.task;
    running = test;
    given[0]?.atEnd?.(() => release(test));
    await space.reset();
    // The hook of a helper around this one has set its own.
    useEnvironment(space);
  });
  afterEach((...given) => release(given[0]?.task));
  afterAll(async () => {
    leaveEnvironment?.();
    if (owned) {
      await owned.stop();
    } else if (!isMain) {
      await space?.delete();
    }
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

// True while a global setup of this process has its server in the variable.
let isShared = false;

/**
 * Starts one server for all workers; returns a function that stops it. `provide` passes it to those of one project, where the runner
 * has projects with variables in common.
 */
async function setUp(options, provide) {
  if (!provide && isShared) {
    throw new LiteIOError(
      "a global setup has started a server for all files already, and a second one would take its place in both projects: " +
        "start one server for all projects, or give useSpace() and useServer() options in the files that need another",
    );
  }
  checkOptions("the argument of withOptions", options, OPTIONS);
  const server = await startServer(options);
  const { endpoint, accessKeyId, secretAccessKey, region } = server;
  const shared = JSON.stringify({ endpoint, accessKeyId, secretAccessKey, region, profile: options?.profile });
  if (provide) {
    provide(shared);
    return () => server.stop();
  }
  process.env[SHARED] = shared;
  isShared = true;
  return async () => {
    delete process.env[SHARED];
    isShared = false;
    await server.stop();
  };
}

module.exports = { PROVIDED, useSpace, useServer, useEnvironment, setUp };
