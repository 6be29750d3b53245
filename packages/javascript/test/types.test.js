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

const names = Object.keys(liteio).sort();
const EXPORTED = `import { ${names.join(", ")} } from "liteio";\nconsole.log(${names.join(", ")});\n`;
const FILES = { "use.ts": USE, "use.cts": OF_COMMONJS, "refused.ts": REFUSED, "exported.ts": EXPORTED };
let compiled;

// The errors of a file. All are compiled together: the types of the SDK take ten seconds each time.
function errors(file) {
  compiled ??= compile();
  return compiled.split("\n").filter((line) => line.startsWith(`${file}(`));
}

function compile() {
  const directory = mkdtempSync(join(HERE, "types-"));
  try {
    writeFileSync(join(directory, "package.json"), JSON.stringify({ type: "module" }));
    for (const [file, source] of Object.entries(FILES)) writeFileSync(join(directory, file), source);
    const tsc = join(HERE, "node_modules", "typescript", "bin", "tsc");
    const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,esnext.disposable,dom"];
    const { stdout } = spawnSync(process.execPath, [tsc, ...options, ...Object.keys(FILES)], { cwd: directory, encoding: "utf8" });
    const isOfAFile = (line) => line === "" || line.startsWith(" ") || Object.keys(FILES).some((file) => line.startsWith(`${file}(`));
    assert.deepEqual(stdout.split("\n").filter((line) => !isOfAFile(line)), []);
    return stdout;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("what the documents say has types", () => {
  assert.deepEqual(errors("use.ts"), []);
});

test("they are also those of CommonJS", () => {
  assert.deepEqual(errors("use.cts"), []);
});

test("options that there are not are refused", () => {
  const refused = errors("refused.ts");
  assert.equal(refused.length, 2, refused.join("\n"));
});

test("what is exported is declared", () => {
  assert.deepEqual(errors("exported.ts"), []);
});
