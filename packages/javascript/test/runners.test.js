// The helpers for Vitest and Jest, in projects of their own, as users write them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { skip } from "./harness.js";

// They would lead SDKs elsewhere than to the space.
const ELSEWHERE = Object.fromEntries(
  [
    "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CREDENTIAL_EXPIRATION",
    "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_ENDPOINT_URL_S3",
    "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT",
  ].map((name) => [name, "elsewhere"]),
);
const HERE = fileURLToPath(new URL(".", import.meta.url));
const NAMES = "S3Client, CreateBucketCommand, ListBucketsCommand";

const TESTS = `
const s3 = useSpace();
const list = async () => (await new S3Client(s3.config).send(new ListBucketsCommand({}))).Buckets ?? [];

for (const number of [1, 2, 3]) {
  test("each test has a space: " + number, async () => {
    expect(await list()).toEqual([]);
    await new S3Client(s3.config).send(new CreateBucketCommand({ Bucket: "photos" }));
    expect(process.env.AWS_ACCESS_KEY_ID).toBe(s3.space.accessKeyId);
    expect(Object.values(process.env)).not.toContain("elsewhere");
    // As code under test makes it, which knows nothing of a server.
    const { Buckets } = await new S3Client({ forcePathStyle: true }).send(new ListBucketsCommand({}));
    expect(Buckets).toHaveLength(1);
  });
}

test("the server is shared with other files: " + SHARED, () => {
  expect(s3.server.stop === undefined).toBe(SHARED);
});
`;
// As code under test makes a client: once, before any hook has run.
const MADE_ONCE = `
const client = new S3Client({});
const s3 = useServer(OPTIONS);
const list = async () => ((await client.send(new ListBucketsCommand({}))).Buckets ?? []).map(({ Name }) => Name);

for (const number of [1, 2, 3]) {
  test("a client made once sees a new server: " + number, async () => {
    equal(await list(), OPTIONS?.buckets ?? []);
    await client.send(new CreateBucketCommand({ Bucket: "photos" }));
    equal(await s3.space.waitForRequest({ operation: "CreateBucket" }).then((made) => made.length), 1);
    equal(s3.config.credentials.accessKeyId, process.env.AWS_ACCESS_KEY_ID);
    equal(Object.values(process.env).includes("elsewhere"), false);
  });
}
`;
// A cleanup that knows nothing of the server: its hooks are registered after those of the helper.
const CLEANED_UP = `
const client = () => new S3Client({ forcePathStyle: true, maxAttempts: 1 });
const list = async () => ((await client().send(new ListBucketsCommand({}))).Buckets ?? []).map(({ Name }) => Name);
let s3;

describe("with a space", () => {
  s3 = useSpace();
  beforeAll(async () => equal(await list().catch((error) => error.name), "InvalidAccessKeyId"));
  afterEach(async () => {
    equal(await list(), ["photos"]);
    equal((await s3.space.waitForRequest({ operation: "CreateBucket" })).length, 1);
    equal(await s3.server.spaces(), [s3.space.name]);
  });
  for (const number of [1, 2]) {
    test("a test that passes " + number, () => client().send(new CreateBucketCommand({ Bucket: "photos" })));
  }
  test("a test that fails", async () => {
    await client().send(new CreateBucketCommand({ Bucket: "photos" }));
    throw new Error("as it should");
  });
  test("a test after it", () => client().send(new CreateBucketCommand({ Bucket: "photos" })));
});

`;
const RESTORED_IN_VITEST = `
test("afterwards the variables are those of the shell", () => {
  equal([process.env.AWS_PROFILE, process.env.AWS_ENDPOINT_URL_S3, process.env.AWS_ACCESS_KEY_ID], ["elsewhere", "elsewhere", undefined]);
});
`;
// The server has ended with the hooks of the helper.
const ENDED_BEFORE = `
describe("the end", () => {
  const ofTest = useServer();
  afterAll(async () => {
    equal(process.env.AWS_ENDPOINT_URL, ofTest.server.endpoint);
    const error = await client().send(new ListBucketsCommand({})).catch((it) => it);
    equal(["ECONNREFUSED", "InvalidAccessKeyId"].includes(error.code ?? error.name), true);
  });
  test("the server is there", async () => equal(await list(), []));
});
`;
const CLEANED_UP_IN_VITEST = `
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { useSpace } from "liteio/vitest";
const equal = (one, other) => expect(one).toEqual(other);
${CLEANED_UP}${RESTORED_IN_VITEST}`;
const CLEANED_UP_IN_JEST = `
const { ${NAMES} } = require("@aws-sdk/client-s3");
const { useServer, useSpace } = require("liteio/jest");
const equal = (one, other) => expect(one).toEqual(other);
${CLEANED_UP}${ENDED_BEFORE}`;
const CLEANED_UP_IN_NODE = `
import assert from "node:assert/strict";
import { after as afterAll, afterEach, before as beforeAll, describe, test } from "node:test";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { useServer, useSpace } from "liteio/node-test";
const equal = (one, other) => assert.deepEqual(one, other);
${CLEANED_UP}${ENDED_BEFORE}`;
const ONCE_IN_VITEST = (options = "undefined") => `
import { expect, inject, test } from "vitest";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { useServer } from "liteio/vitest";
const OPTIONS = ${options};
const equal = (one, other) => expect(one).toEqual(other);
${MADE_ONCE}`;
const ONCE_IN_JEST = `
const { ${NAMES} } = require("@aws-sdk/client-s3");
const { useServer } = require("liteio/jest");
const OPTIONS = undefined;
const equal = (one, other) => expect(one).toEqual(other);
${MADE_ONCE}`;
const IN_NODE = (helpers) => `
import assert from "node:assert/strict";
import { test } from "node:test";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { ${helpers} } from "liteio/node-test";
const OPTIONS = undefined;
const equal = (one, other) => assert.deepEqual(one, other);
`;
const OF_VITEST = (shared) => `
import { expect, test } from "vitest";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { useSpace } from "liteio/vitest";
const SHARED = ${shared};
${TESTS}`;
const OF_JEST = (shared) => `
const { ${NAMES} } = require("@aws-sdk/client-s3");
const { useSpace } = require("liteio/jest");
const SHARED = ${shared};
${TESTS}`;

function check(name, files, command, { status = 0, seen = /Tests:? +8 passed/ } = {}) {
  test(name, { skip }, () => {
    const directory = mkdtempSync(join(HERE, "project-"));
    try {
      for (const [file, content] of Object.entries(files)) {
        writeFileSync(join(directory, file), content);
      }
      const env = { ...process.env, ...ELSEWHERE, CI: "true", NO_COLOR: "1", NODE_TEST_CONTEXT: undefined };
      const [program, ...args] = command;
      const script = program.startsWith("-") ? program : join(HERE, "node_modules", program);
      const done = spawnSync(process.execPath, [script, ...args], { cwd: directory, env, encoding: "utf8" });
      assert.equal(done.status, status, done.stdout + done.stderr);
      assert.match(done.stdout + done.stderr, seen);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
}

const vitest = ["vitest/vitest.mjs", "run", "--root", "."];
check("Vitest", { "a.test.js": OF_VITEST(false), "b.test.js": OF_VITEST(false) }, vitest);
check(
  "Vitest with a server for all files",
  {
    "vitest.config.js": `export default { test: { globalSetup: ["./setup.js"] } };`,
    "setup.js": `export { default } from "liteio/vitest/global-setup";`,
    "a.test.js": OF_VITEST(true),
    "b.test.js": OF_VITEST(true),
  },
  vitest,
);
check(
  "Vitest with options",
  {
    "vitest.config.js": `export default { test: { globalSetup: ["./setup.js"], pool: "threads" } };`,
    "setup.js": `import { withOptions } from "liteio/vitest/global-setup"; export default withOptions({ region: "eu-west-1" });`,
    "a.test.js": OF_VITEST(true),
    "b.test.js": OF_VITEST(true),
  },
  vitest,
);
check(
  "Vitest with a setup that returns the one of the package",
  {
    "vitest.config.js": `export default { test: { globalSetup: ["./setup.js"] } };`,
    "setup.js": `import { withOptions } from "liteio/vitest/global-setup"; export default () => withOptions({});`,
    "a.test.js": OF_VITEST(false),
  },
  vitest,
  { status: 1, seen: /returned by a setup instead of called, so that it has started no server/ },
);
const OF_PROJECT = (bucket) => `
import { expect, test } from "vitest";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { useSpace } from "liteio/vitest";
const s3 = useSpace();
for (const number of [1, 2]) {
  test("the buckets are those of the project: " + number, async () => {
    const { Buckets } = await new S3Client(s3.config).send(new ListBucketsCommand({}));
    expect(Buckets.map(({ Name }) => Name)).toEqual(["${bucket}"]);
  });
}
`;
const SETUP_OF_PROJECT = (bucket) => `
import { withOptions } from "liteio/vitest/global-setup";
export default withOptions({ buckets: ["${bucket}"] });
`;
check(
  "Vitest with projects, one of them with a server of its own",
  {
    "vitest.config.js": `export default {
      test: {
        globalSetup: ["./all.js"],
        projects: [
          { test: { name: "one", include: ["one.test.js"] } },
          { test: { name: "other", include: ["other.test.js"], globalSetup: ["./other.js"] } },
        ],
      },
    };`,
    "all.js": SETUP_OF_PROJECT("photos"),
    "other.js": SETUP_OF_PROJECT("letters"),
    "one.test.js": OF_PROJECT("photos"),
    "other.test.js": OF_PROJECT("letters"),
  },
  vitest,
  { seen: /Tests:? +4 passed/ },
);
// Of two tests at a time one has the space, as if it were alone; the other is told what to do.
check(
  "Vitest with tests at the same time",
  {
    "a.test.js": `
import { afterEach, expect, test } from "vitest";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { useSpace } from "liteio/vitest";
let open;
const gate = new Promise((resolve) => { open = resolve; });
// Runs after that of useSpace: the first test to end is the one that is refused.
afterEach(() => open());
const s3 = useSpace();
for (const name of ["one", "other"]) {
  test.concurrent(name, async () => {
    const client = new S3Client(s3.config);
    await client.send(new CreateBucketCommand({ Bucket: "photos" }));
    await gate;
    expect((await client.send(new ListBucketsCommand({}))).Buckets).toHaveLength(1);
    expect(process.env.AWS_ACCESS_KEY_ID).toBe(s3.space.accessKeyId);
  });
}
test("afterwards nothing is left", async () => {
  expect((await s3.server.spaces()).filter((it) => it !== "main")).toEqual([s3.space.name]);
});
`,
  },
  vitest,
  { status: 1, seen: /one space at a time[^]*startServer\(\) at its top[^]*1 failed \| 2 passed/ },
);

check(
  "Vitest with fixtures",
  Object.fromEntries(["useSpace", "useServer"].map((helper) => [`${helper}.test.js`, `
import { expect, test as plain } from "vitest";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { ${helper} } from "liteio/vitest";
const s3 = ${helper}();
const test = plain.extend({ client: async ({}, use) => { await use(new S3Client(s3.config)); } });
const list = async (client) => ((await client.send(new ListBucketsCommand({}))).Buckets ?? []).map(({ Name }) => Name);
for (const name of ["photos", "letters"]) {
  test(name + " is the only bucket", async ({ client }) => {
    await client.send(new CreateBucketCommand({ Bucket: name }));
    expect(await list(client)).toEqual([name]);
  });
}
test("a test with fixtures needs none", () => { s3.config; });
plain("a plain test beside them", async () => expect(await list(new S3Client(s3.config))).toEqual([]));
`])),
  vitest,
);

check(
  "Vitest with helpers in places where they do not work",
  {
    "a.test.js": `
import { beforeAll, expect, test } from "vitest";
import { useServer, useSpace } from "liteio/vitest";
const s3 = useSpace();
beforeAll(() => {
  expect(() => s3.config).toThrow(/not in beforeAll \\(use \`buckets\`, \`seed\` or beforeEach\\)/);
});
expect(() => useSpace({ bucket: "photos" })).toThrow(/^the argument of useSpace has no bucket: it has dataDir, buckets/);
expect(() => useServer({ seed: 1 })).toThrow(/^the argument of useServer: seed is a string, not 1$/);
expect(() => useSpace({ profile: "localstack" })).toThrow(/reach the same space in all tests: use useServer/);
test("in a test there is a space", () => { s3.config; });
`,
    "b.test.js": `
import { expect, test } from "vitest";
import { useServer, useSpace } from "liteio/vitest";
test("in a test no helper is made", () => {
  expect(() => useSpace().config).toThrow(/call useSpace\\(\\) outside of tests/);
  expect(() => useServer().config).toThrow(/call useServer\\(\\) outside of tests/);
});
`,
    "c.test.js": `
import { expect, test as plain } from "vitest";
import { useServer, useSpace } from "liteio/vitest";
const s3 = useSpace();
const once = useServer();
const fixture = async ({}, use) => {
  expect(() => s3.config).toThrow(/fixtures with \`auto\` before beforeEach: use useServer/);
  await use(once.config);
};
const test = plain.extend({ config: [fixture, { auto: true }] });
test("a fixture that is always made has no space yet", ({ config }) => expect(config).toEqual(once.config));
`,
    "d.test.js": `
import { afterAll, beforeEach, expect, test as plain } from "vitest";
import { useSpace } from "liteio/vitest";
let s3;
const told = [];
const ask = () => { try { told.push(s3.config.credentials.accessKeyId); } catch (error) { told.push(error.message); } };
const test = plain.extend({ always: [async ({}, use) => { ask(); await use(); }, { auto: true }] });
beforeEach(() => ask());
s3 = useSpace();
test("first", () => { s3.config; });
test("second", () => { s3.config; });
afterAll(() => {
  s3.config;
  expect(told).toHaveLength(4);
  for (const each of told.slice(2)) {
    expect(each).toMatch(/^this test has no space yet, and that of the test before \\(first\\) is not its own.*use useServer\\(\\)/);
  }
});
`,
  },
  vitest,
  { seen: /Tests:? +5 passed/ },
);

const jest = ["jest/bin/jest.js", "--rootDir", "."];
const manifest = (jestOptions) => JSON.stringify({ type: "commonjs", jest: jestOptions });
check("Jest", { "package.json": manifest({}), "a.test.js": OF_JEST(false), "b.test.js": OF_JEST(false) }, jest);
check(
  "Jest with a server for all files",
  {
    "package.json": manifest({
      globalSetup: "liteio/jest/global-setup",
      globalTeardown: "liteio/jest/global-teardown",
    }),
    "a.test.js": OF_JEST(true),
    "b.test.js": OF_JEST(true),
  },
  jest,
);

check(
  "Jest with a hook before useSpace",
  {
    "package.json": manifest({}),
    "a.test.js": `
const { useSpace } = require("liteio/jest");
let s3;
const told = [];
beforeEach(() => { try { s3.config; } catch (error) { told.push(error.message); } });
s3 = useSpace();
test("first", () => { s3.config; });
test("second", () => {
  expect(told[1]).toMatch(/that of the test before \\(first\\) is not its own: useSpace\\(\\) makes one in its beforeEach, so call it before/);
});
afterEach(() => { s3.config; });
afterAll(() => { s3.config; });
`,
  },
  jest,
  { seen: /Tests:? +2 passed/ },
);

const SETUP_OF_JEST = `module.exports = require("liteio/jest/global-setup").withOptions({});`;
check(
  "Jest with two projects that start a server for all files",
  {
    "package.json": manifest({
      projects: ["one", "other"].map((name) => ({ displayName: name, globalSetup: `<rootDir>/${name}.js` })),
    }),
    "one.js": SETUP_OF_JEST,
    "other.js": SETUP_OF_JEST,
    "a.test.js": OF_JEST(true),
  },
  ["jest/bin/jest.js"],
  { status: 1, seen: /start one server for all projects, or give useSpace\(\) and useServer\(\) options/ },
);

for (const hooks of ["stack", "list", "parallel"]) {
  // Beside the one of the helper, a beforeAll of the test would still have the variables of the shell.
  const file = hooks === "parallel" ? CLEANED_UP_IN_VITEST.replace(/^ +beforeAll.*$/m, "") : CLEANED_UP_IN_VITEST;
  check(
    `Vitest with the hooks as ${hooks} and a cleanup after each test`,
    {
      "vitest.config.js": `export default {
        test: { globalSetup: ["liteio/vitest/global-setup"], fileParallelism: false, sequence: { hooks: "${hooks}" } },
      };`,
      "a.test.js": file,
      "b.test.js": file,
    },
    vitest,
    { status: 1, seen: /2 failed \| 8 passed/ },
  );
}
check(
  "Jest with a cleanup after each test",
  {
    "package.json": manifest({
      globalSetup: "liteio/jest/global-setup",
      globalTeardown: "liteio/jest/global-teardown",
    }),
    "a.test.js": CLEANED_UP_IN_JEST,
    "b.test.js": CLEANED_UP_IN_JEST,
  },
  [...jest, "--runInBand"],
  { status: 1, seen: /2 failed, 8 passed/ },
);
check(
  "node:test with a cleanup after each test",
  {
    "a.test.mjs": CLEANED_UP_IN_NODE,
    "b.test.mjs": `${IN_NODE("useSpace")}
const s3 = useSpace();
for (const name of ["photos", "letters"]) {
  test(name, async (t) => {
    t.after(async () => equal((await s3.space.waitForRequest({ operation: "CreateBucket" }))[0].bucket, name));
    await new S3Client(s3.config).send(new CreateBucketCommand({ Bucket: name }));
  });
}
`,
  },
  ["--test"],
  { status: 1, seen: /pass 6\n\S+ fail 1/ },
);

// An error of a user's hook keeps Vitest and node:test from calling the hooks after it.
const FAILING_CLEANUP = `
const failsOnce = () => {
  let calls = 0;
  return () => { if (calls++ === 0) throw new Error("my cleanup has failed"); };
};
for (const use of [useSpace, useServer]) {
  describe(use.name, () => {
    use({});
    describe("inside", () => {
      afterEach(failsOnce());
      test("the test whose cleanup fails", () => {});
      test("the next test", () => {});
    });
    test("a test outside of it", () => {});
  });
  describe("its hook beside that of " + use.name, () => {
    use({});
    afterEach(failsOnce());
    for (const number of [1, 2, 3]) test("a test " + number, () => {});
  });
}
`;
check(
  "Vitest with a cleanup that fails after one test",
  {
    "a.test.js": `
import { afterEach, describe, expect, test } from "vitest";
import { useServer, useSpace } from "liteio/vitest";
${FAILING_CLEANUP}
describe("tests that run again", () => {
  const s3 = useSpace({});
  afterEach(failsOnce());
  test("a test that is tried again", { retry: 1 }, () => { s3.config; });
  test("a test that skips itself", ({ skip }) => skip());
  test("a test that is repeated", { repeats: 1 }, () => { s3.config; });
});
`,
  },
  vitest,
  { status: 1, seen: /4 failed \| 10 passed \| 1 skipped/ },
);
check(
  "Jest with a cleanup that fails after one test",
  {
    "package.json": manifest({}),
    "a.test.js": `
const { useServer, useSpace } = require("liteio/jest");
${FAILING_CLEANUP}`,
  },
  jest,
  { status: 1, seen: /4 failed, 8 passed/ },
);
check(
  "node:test with a cleanup that fails after one test",
  {
    "a.test.mjs": `
import { afterEach, describe, test } from "node:test";
import { useServer, useSpace } from "liteio/node-test";
${FAILING_CLEANUP}`,
  },
  ["--test"],
  { status: 1, seen: /pass 8\n\S+ fail 4/ },
);

// The innermost helper has the variables, and the one around it has them back afterwards.
const NESTED = `
const client = () => new S3Client({ maxAttempts: 1 });
const list = async () => (await client().send(new ListBucketsCommand({}))).Buckets.map(({ Name }) => Name);
for (const useOuter of [useSpace, useServer]) {
  for (const useInner of [useSpace, useServer]) {
    describe(useInner.name + " in " + useOuter.name, () => {
      const outer = useOuter({ buckets: ["outer"] });
      afterAll(() => equal(process.env.AWS_ENDPOINT_URL, outer.server.endpoint));
      test("before", async () => equal(await list(), ["outer"]));
      describe("inside", () => {
        useInner({ buckets: ["inner"] });
        for (const number of [1, 2]) test("a test inside " + number, async () => equal(await list(), ["inner"]));
      });
      test("after", async () => equal(await list(), ["outer"]));
      describe("at the end", () => {
        useInner({ buckets: ["last"] });
        test("a test at the end", async () => equal(await list(), ["last"]));
      });
    });
  }
}
`;
check(
  "Vitest with a helper inside of another",
  {
    "a.test.js": `
import { afterAll, describe, expect, test } from "vitest";
import { ${NAMES} } from "@aws-sdk/client-s3";
import { useServer, useSpace } from "liteio/vitest";
const equal = (one, other) => expect(one).toEqual(other);
${NESTED}`,
  },
  vitest,
  { seen: /Tests:? +20 passed/ },
);
check(
  "Jest with a helper inside of another",
  {
    "package.json": manifest({}),
    "a.test.js": `
const { ${NAMES} } = require("@aws-sdk/client-s3");
const { useServer, useSpace } = require("liteio/jest");
const equal = (one, other) => expect(one).toEqual(other);
${NESTED}`,
  },
  jest,
  { seen: /Tests:? +20 passed/ },
);
check(
  "node:test with a helper inside of another",
  { "a.test.mjs": `${IN_NODE("useServer, useSpace")}import { after as afterAll, describe } from "node:test";${NESTED}` },
  ["--test"],
  { seen: /pass 20\n\S+ fail 0/ },
);

// Its cleanups run nevertheless.
const NOT_STARTED = `
for (const [name, use] of Object.entries({ useSpace, useServer })) {
  describe(name, () => {
    use({ binary: "/no/such/program" });
    const clean = (hook) => process.stdout.write(hook + " of " + name + " at " + process.env.AWS_ENDPOINT_URL_S3 + ".\\n");
    afterEach(() => clean("afterEach"));
    afterAll(() => clean("afterAll"));
    test("a test", () => {});
  });
}
`;
const CLEANED_NOWHERE = (hook) => new RegExp(["useSpace", "useServer"].map((use) => `${hook} of ${use} at http://127\\.0\\.0\\.1:1\\.`).join("[^]*"));
check(
  "Vitest with a server that does not start",
  {
    "a.test.js": `
import { afterAll, afterEach, describe, test } from "vitest";
import { useServer, useSpace } from "liteio/vitest";
${NOT_STARTED}`,
  },
  vitest,
  { status: 1, seen: CLEANED_NOWHERE("afterAll") },
);
check(
  "Jest with a server that does not start",
  {
    "package.json": manifest({}),
    "a.test.js": `
const { useServer, useSpace } = require("liteio/jest");
${NOT_STARTED}`,
  },
  jest,
  { status: 1, seen: CLEANED_NOWHERE("afterEach") },
);
check(
  "node:test with a server that does not start",
  {
    "a.test.mjs": `
import { after as afterAll, afterEach, describe, test } from "node:test";
import { useServer, useSpace } from "liteio/node-test";
${NOT_STARTED}`,
  },
  ["--test"],
  { status: 1, seen: CLEANED_NOWHERE("afterAll") },
);

const SIX = { seen: /Tests:? +6 passed/ };
check(
  "Vitest with a client made once",
  { "a.test.js": ONCE_IN_VITEST(), "b.test.js": ONCE_IN_VITEST(`{ buckets: ["letters"] }`) },
  vitest,
  SIX,
);
check(
  "Vitest with a client made once and a server for all files",
  {
    "vitest.config.js": `export default { test: { globalSetup: ["liteio/vitest/global-setup"] } };`,
    "a.test.js": ONCE_IN_VITEST(),
    "b.test.js": ONCE_IN_VITEST(),
  },
  vitest,
  SIX,
);
const IN_A_MODULE = ONCE_IN_VITEST().replace("const client = new S3Client({});", 'import { client } from "./client.js";');
check(
  "Vitest with a client made once for all files",
  {
    "vitest.config.js": `export default { test: { isolate: false, fileParallelism: false } };`,
    "client.js": `
import { S3Client } from "@aws-sdk/client-s3";
export const client = new S3Client({ maxAttempts: 1 });
`,
    "a.test.js": IN_A_MODULE,
    "b.test.js": IN_A_MODULE,
  },
  vitest,
  SIX,
);
// With this profile all keys that the server does not know reach its main space.
check(
  "Vitest with the profile localstack for all files",
  {
    "vitest.config.js": `export default { test: { globalSetup: ["./setup.js"], fileParallelism: false } };`,
    "setup.js": `import { withOptions } from "liteio/vitest/global-setup"; export default withOptions({ profile: "localstack" });`,
    "a.test.js": ONCE_IN_VITEST().replace("new S3Client({})", `new S3Client({
      endpoint: JSON.parse(inject("liteio")).endpoint, credentials: { accessKeyId: "test", secretAccessKey: "test" },
    })`),
    "b.test.js": `
import { expect, test } from "vitest";
import { useServer, useSpace } from "liteio/vitest";
expect(() => useSpace()).toThrow(/reach the same space in all tests: use useServer/);
for (const number of [1, 2, 3]) test("it has no other spaces: " + number, async () => {
  expect(await s3.server.spaces()).toEqual([]);
});
const s3 = useServer();
`,
  },
  vitest,
  SIX,
);
check(
  "Vitest with a client made once and tests at the same time",
  {
    "a.test.js": `
import { afterEach, test } from "vitest";
import { useServer } from "liteio/vitest";
let open;
const gate = new Promise((resolve) => { open = resolve; });
afterEach(() => open());
useServer();
test.concurrent("one", () => gate);
test.concurrent("other", () => gate);
test("afterwards", () => {});
`,
  },
  vitest,
  { status: 1, seen: /resets the server before each test[^]*1 failed \| 2 passed/ },
);
check(
  "Jest with a client made once",
  { "package.json": manifest({}), "a.test.js": ONCE_IN_JEST, "b.test.js": ONCE_IN_JEST },
  jest,
  SIX,
);
// Nothing tells a helper of such a test, and it would find the space of the test before.
for (const [name, define] of Object.entries({
  "test.concurrent": 'test.concurrent("one", async () => {});',
  "it.concurrent.only": 'it.concurrent.only("one", async () => {});',
  "test.concurrent.each": 'require("@jest/globals").test.concurrent.each([[1]])("%i", async () => {});',
})) {
  for (const use of ["useSpace", "useServer"]) {
    check(
      `Jest with ${name} after an ordinary test of ${use}`,
      {
        "package.json": manifest({}),
        "a.test.js": `
require("liteio/jest").${use}();
test("an ordinary test", () => {});
${define}
`,
        "b.test.js": `
const { startServer } = require("liteio");
let server;
beforeAll(async () => { server = await startServer(); });
afterAll(() => server.stop());
test.concurrent("another file has its own spaces", async () => {
  const space = await server.space();
  await space.delete();
});
`,
      },
      jest,
      { status: 1, seen: /Jest runs no hooks for test\.concurrent[^]*without useSpace\(\) and useServer\(\)[^]*Tests: +1 passed, 1 total/ },
    );
  }
}
// Bun has functions of its own under the name of Jest's, and does not let them be changed.
check(
  "Another runner with the helpers of Jest",
  {
    "a.test.cjs": `
const Module = require("node:module");
const load = Module._load;
Module._load = (name, ...rest) => (name === "@jest/globals" ? { test: Object.freeze(() => {}) } : load(name, ...rest));
require("liteio/jest").useSpace();
`,
  },
  ["--test"],
  { status: 1, seen: /another runner, such as that of Bun: use startServer\(\) and useEnvironment\(\) of liteio/ },
);
check(
  "Vitest with the helpers of Jest",
  { "a.test.js": 'import { useSpace } from "liteio/jest"; useSpace();' },
  vitest,
  { status: 1, seen: /liteio\/jest is for test files that Jest runs: import liteio\/vitest in Vitest/ },
);
const node = ["--test"];
check(
  "node:test with a client made once",
  { "a.test.mjs": IN_NODE("useServer") + MADE_ONCE, "b.test.mjs": IN_NODE("useServer") + MADE_ONCE },
  node,
  { seen: /pass 6/ },
);
check(
  "node:test",
  {
    "a.test.mjs": `${IN_NODE("useServer, useSpace")}
import { describe } from "node:test";
for (const use of [useServer, useSpace]) {
  describe(use.name, () => {
    const s3 = use();
    for (const number of [1, 2]) {
      test("each test has its buckets: " + number, async (t) => {
        const client = new S3Client({});
        const count = async () => ((await client.send(new ListBucketsCommand({}))).Buckets ?? []).length;
        equal(await count(), 0);
        await client.send(new CreateBucketCommand({ Bucket: "photos" }));
        await t.test("a part", async () => equal(await count(), 1));
        await t.test("another part", async () => equal(await count(), 1));
        equal(s3.space.accessKeyId, process.env.AWS_ACCESS_KEY_ID);
      });
    }
  });
}
`,
  },
  node,
  { seen: /pass 12\n\S+ fail 0/ },
);
check(
  "node:test with tests at the same time",
  {
    "a.test.mjs": `
import { describe, test } from "node:test";
import { useSpace } from "liteio/node-test";
describe("at the same time", { concurrency: true }, () => {
  const s3 = useSpace();
  for (const name of ["one", "other"]) {
    test(name, () => { s3.config; });
  }
});
`,
  },
  node,
  { status: 1, seen: /one space at a time/ },
);
