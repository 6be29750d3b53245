// The types fit what users write.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as liteio from "liteio";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const USE = `
import { S3Client } from "@aws-sdk/client-s3";
import { startServer, WaitTimeout, type RecordedRequest, type FaultRule } from "liteio";
import { useSpace } from "liteio/vitest";
import { useSpace as ofJest } from "liteio/jest";
import { withOptions } from "liteio/vitest/global-setup";
import jestSetup from "liteio/jest/global-setup";

export default withOptions({ profile: "minio" });
export const jestGlobalSetup = jestSetup.withOptions({ buckets: ["photos"] });
export const perTest = [useSpace(), ofJest({ region: "eu-west-1" })];
const rule: FaultRule = { operation: "PutObject", status: 503, times: 2 };
await using server = await startServer({ buckets: ["photos"] });
new S3Client(server.config);
await using fault = await server.fault(rule);
const requests: RecordedRequest[] = await server.waitForRequest({ key: "*.jpg" }, { count: 2, timeout: 1000 });
const milliseconds: number = requests[0].time.getTime() + (await fault.hits());
console.log(milliseconds, new WaitTimeout() instanceof Error, (await server.clock.advance(1000)).getTime());
`;
const OF_COMMONJS = `
import { startServer, WaitTimeout, type FaultRule } from "liteio";
import { useSpace } from "liteio/jest";
import jestSetup = require("liteio/jest/global-setup");
import whole = require("liteio");

const rule: FaultRule = { operation: "PutObject", status: 503 };
async function use(): Promise<void> {
  const server: whole.Server = await startServer({ buckets: ["photos"] });
  await server.fault(rule);
  console.log(useSpace().config.endpoint, new WaitTimeout() instanceof Error, jestSetup.withOptions({}));
}
void use();
`;
const REFUSED = `
import { startServer } from "liteio";
await startServer({ bucket: "photos" });
await (await startServer()).fault({ latency: 1 });
`;

function compile(source, file = "use.ts") {
  const directory = mkdtempSync(join(HERE, "types-"));
  try {
    writeFileSync(join(directory, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(directory, file), source);
    const tsc = join(HERE, "node_modules", "typescript", "bin", "tsc");
    const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,esnext.disposable,dom"];
    return spawnSync(process.execPath, [tsc, ...options, file], { cwd: directory, encoding: "utf8" }).stdout;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("what the documents say has types", () => {
  assert.equal(compile(USE), "");
});

test("they are also those of CommonJS", () => {
  assert.equal(compile(OF_COMMONJS, "use.cts"), "");
});

test("options that there are not are refused", () => {
  const errors = compile(REFUSED).split("\n").filter((line) => line.startsWith("use.ts"));
  assert.equal(errors.length, 2, errors.join("\n"));
});

test("what is exported is declared", async () => {
  const names = Object.keys(liteio).sort();
  const source = `import { ${names.join(", ")} } from "liteio";\nconsole.log(${names.join(", ")});\n`;
  assert.equal(compile(source), "");
});
