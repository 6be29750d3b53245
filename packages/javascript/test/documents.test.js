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
const OF_TEST_API = /useSpace|\.fault\(|server\.space\(\)/;

/** The program that runs a block, and the name of its file. */
function runner(block) {
  if (block.includes("liteio/vitest")) {
    return ["example.test.js", ["vitest/vitest.mjs", "run", "--root", "."]];
  }
  if (block.includes("liteio/jest")) {
    return ["example.test.cjs", ["jest/bin/jest.js", "--rootDir", ".", "--testMatch", "**/*.test.cjs"]];
  }
  return ["example.js", undefined];
}

test("the page has examples", () => assert.ok(blocks.length >= 4));

blocks.forEach((block, number) => {
  test(`example ${number + 1}`, { skip: OF_TEST_API.test(block) && skip }, () => {
    const directory = mkdtempSync(join(HERE, "example-"));
    try {
      const [file, command] = runner(block);
      writeFileSync(join(directory, "package.json"), JSON.stringify({ type: "module" }));
      writeFileSync(join(directory, file), block);
      const args = command ? [join(HERE, "node_modules", command[0]), ...command.slice(1)] : [file];
      const env = { ...process.env, CI: "true", NODE_TEST_CONTEXT: undefined };
      const done = spawnSync(process.execPath, args, { cwd: directory, env, encoding: "utf8" });
      assert.equal(done.status, 0, done.stdout + done.stderr);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
