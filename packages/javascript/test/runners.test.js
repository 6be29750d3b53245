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
const NAMES = "S3Client, CreateBucketCommand, ListBucketsCommand";
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
      const script = join(HERE, "node_modules", program);
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
  { status: 1, seen: /one space at a time[^]*1 failed \| 2 passed/ },
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
