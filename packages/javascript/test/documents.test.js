// Every example of docs/javascript.md runs.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { skip } from "./harness.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const page = readFileSync(join(HERE, "javascript.md"), "utf8");
const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, block]) => block);
const OF_TEST_API = /useSpace|useServer|\.fault\(|server\.(space|reset)\(\)/;
// A block of a file that is not run by itself begins with its name.
const NAME = /^\/\/ (\S+\.ts)\n/;
const files = blocks.filter((block) => NAME.test(block)).map((block) => [NAME.exec(block)[1], block]);
const examples = blocks.filter((block) => !NAME.test(block));

/** The program that runs a block, and the name of its file. */
function runner(block) {
  if (block.includes('from "vitest"')) {
    return ["example.test.js", ["vitest/vitest.mjs", "run", "--root", "."]];
  }
  if (block.includes("liteio/jest")) {
    return ["example.test.cjs", ["jest/bin/jest.js", "--rootDir", ".", "--testMatch", "**/*.test.cjs"]];
  }
  return ["example.js", undefined];
}

test("the page has examples", () => assert.ok(blocks.length >= 4));

/** Runs files in a directory beside the installed packages. */
function run(contents, args) {
  const directory = mkdtempSync(join(HERE, "example-"));
  try {
    writeFileSync(join(directory, "package.json"), JSON.stringify({ type: "module" }));
    for (const [file, content] of contents) {
      writeFileSync(join(directory, file), content);
    }
    const env = { ...process.env, CI: "true", NODE_TEST_CONTEXT: undefined };
    const done = spawnSync(process.execPath, args, { cwd: directory, env, encoding: "utf8" });
    assert.equal(done.status, 0, done.stdout + done.stderr);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

examples.forEach((block, number) => {
  test(`example ${number + 1}`, { skip: OF_TEST_API.test(block) && skip }, () => {
    const [file, command] = runner(block);
    run([[file, block]], command ? [join(HERE, "node_modules", command[0]), ...command.slice(1)] : [file]);
  });
});

const SHARED = `
import { S3Client, ListBucketsCommand } from "@aws-sdk/client-s3";
import { useSpace } from "liteio/vitest";
import { expect, test } from "vitest";

const s3 = useSpace();

test("the server is the one of the configuration", async () => {
  const { Buckets } = await new S3Client(s3.config).send(new ListBucketsCommand());
  expect(Buckets.map((each) => each.Name)).toEqual(["letters"]);
});
`;

// The page is read from top to bottom: what follows the configuration has its buckets, too.
const fixtures = examples.filter((block) => block.includes("base.extend")).map((block) => ["fixtures.test.js", block]);

test("the configuration of Vitest starts a server for all files", { skip }, () => {
  assert.deepEqual(files.map(([name]) => name), ["vitest.config.ts", "liteio.setup.ts"]);
  assert.equal(fixtures.length, 1);
  run([...files, ["shared.test.js", SHARED], ...fixtures], [join(HERE, "node_modules", "vitest/vitest.mjs"), "run", "--root", "."]);
});
