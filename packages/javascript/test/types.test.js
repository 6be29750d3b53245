// The types fit what users write.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as liteio from "liteio";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const USE = `
import { S3Client } from "@aws-sdk/client-s3";
import { connect, startServer, WaitTimeout, type RecordedRequest, type FaultRule } from "liteio";
import { useServer, useSpace } from "liteio/vitest";
import { useServer as onceInJest, useSpace as ofJest } from "liteio/jest";
import { useServer as onceInNode, useSpace as ofNode } from "liteio/node-test";
import { withOptions } from "liteio/vitest/global-setup";
import jestSetup from "liteio/jest/global-setup";

export default withOptions({ profile: "minio" });
export const jestGlobalSetup = jestSetup.withOptions({ buckets: ["photos"] });
export const perTest = [useSpace(), ofJest({ region: "eu-west-1" }), ofNode()];
const log: string | undefined = perTest[0].server.log ?? (await perTest[0].server.logged());
export const perFile = [useServer({ port: 9123 }), onceInJest({ buckets: ["photos"] }), onceInNode().space.config];
const rule: FaultRule = { operation: "PutObject", status: 503, times: 2 };
const running = process.env.LITEIO_ENDPOINT ? connect() : await startServer();
await running.stop?.();
await using server = await startServer({ buckets: ["photos"] });
new S3Client(server.config);
await using fault = await server.fault(rule);
const requests: RecordedRequest[] = await server.waitForRequest({ key: "*.jpg" }, { count: 2, timeout: 1000 });
const milliseconds: number = requests[0].time.getTime() + (await fault.hits());
console.log(log, milliseconds, new WaitTimeout() instanceof Error, (await server.clock.advance(1000)).getTime());
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
// With the flags of `tsc --init` of TypeScript 5.9 and later.
const STRICTER = `
import { connect, startServer, type FaultRule } from "liteio";

const { AWS_REGION: region } = process.env;
const times: number | undefined = region ? 1 : undefined;
const rule: FaultRule = { operation: "PutObject", status: 503, times };
const server = await startServer({ region, dataDir: region, environment: {} });
connect({ region });
await server.fault(rule);
const [request] = await server.waitForRequest({ key: region }, { timeout: times });
const [event] = await server.waitForEvent({ bucket: region });
console.log(request.status, event.key);
`;
const REFUSED = `
import { startServer, useSpace } from "liteio";
import { useServer } from "liteio/vitest";
await startServer({ bucket: "photos" });
useServer({ dataDir: "data" });
await (await startServer()).fault({ latency: 1 });
`;

// The oldest way to look modules up, which CommonJS projects and ts-jest still have, knows no exports of package.json.
const OF_NODE10 = `
import { startServer, type FaultRule } from "liteio";
import { useServer, useSpace } from "liteio/jest";
import { useSpace as ofVitest } from "liteio/vitest";
import { withOptions } from "liteio/vitest/global-setup";
import jestSetup = require("liteio/jest/global-setup");
import jestTeardown = require("liteio/jest/global-teardown");
import { useServer as ofNode } from "liteio/node-test";

const rule: FaultRule = { operation: "PutObject", status: 503 };
const accessKeyId: string = useSpace().config.credentials.accessKeyId;
startServer({ buckets: ["photos"] }).then((server) => server.fault(rule));
console.log(accessKeyId, useServer, ofVitest, withOptions({}), jestSetup.withOptions({}), jestTeardown, ofNode);
`;

// A file of Vitest that tsc takes for CommonJS, since the package.json of the project has no `type`.
const OF_NODE16 = `
import { startServer } from "liteio";
import { useServer } from "liteio/jest";
import { useServer as ofNode } from "liteio/node-test";
import { useSpace, type PerTest } from "liteio/vitest";
import setup, { withOptions } from "liteio/vitest/global-setup";

const s3: PerTest = useSpace({ buckets: ["photos"] });
const setups: typeof setup[] = [setup, withOptions({ profile: "minio" })];
console.log(startServer, useServer, ofNode, s3.config, setups);
`;

// They throw an error that names the module to import.
const OF_RUNNERS = ["useServer", "useSpace"];
const names = Object.keys(liteio).filter((name) => !OF_RUNNERS.includes(name)).sort();
const EXPORTED = `import { ${names.join(", ")} } from "liteio";\nconsole.log(${names.join(", ")});\n`;
// Fixtures need types that a file of JavaScript does not have, as the page says.
const page = readFileSync(join(HERE, "javascript.md"), "utf8");
const NEEDS_TYPES = /\.extend\(/;
const examples = [...page.matchAll(/^```js\n(import .*?)^```$/gms)].map(([, block]) => block).filter((block) => !NEEDS_TYPES.test(block));
const EXAMPLES = Object.fromEntries(examples.map((block, number) => [`example${number + 1}.ts`, block]));
const FILES = { "use.ts": USE, "use.cts": OF_COMMONJS, "refused.ts": REFUSED, "exported.ts": EXPORTED, ...EXAMPLES };
let compiled;

// The errors of a file. All are compiled together: the types of the SDK take ten seconds each time.
function errors(file) {
  compiled ??= compile();
  return compiled.split("\n").filter((line) => line.startsWith(`${file}(`));
}

function compile() {
  return tsc(FILES, "--target", "es2022", "--module", "nodenext", "--lib", "es2022,esnext.disposable,dom");
}

function tsc(files, ...options) {
  return tscIn({ type: "module" }, files, ...options);
}

function tscIn(manifest, files, ...options) {
  const directory = mkdtempSync(join(HERE, "types-"));
  try {
    writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
    for (const [file, source] of Object.entries(files)) writeFileSync(join(directory, file), source);
    const program = join(HERE, "node_modules", "typescript", "bin", "tsc");
    const args = [program, "--noEmit", "--strict", ...options, ...Object.keys(files)];
    const { stdout } = spawnSync(process.execPath, args, { cwd: directory, encoding: "utf8" });
    const isOfAFile = (line) => line === "" || line.startsWith(" ") || Object.keys(files).some((file) => line.startsWith(`${file}(`));
    assert.deepEqual(stdout.split("\n").filter((line) => !isOfAFile(line)), []);
    return stdout;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("what the documents say has types", () => {
  assert.deepEqual(errors("use.ts"), []);
});

test("the examples can be saved as TypeScript", () => {
  assert.ok(examples.length > 5);
  assert.deepEqual(Object.keys(EXAMPLES).flatMap(errors), []);
});

test("they are also those of CommonJS", () => {
  assert.deepEqual(errors("use.cts"), []);
});

test("they fit the flags of a new project", () => {
  const flags = ["--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--skipLibCheck"];
  assert.equal(tsc({ "stricter.ts": STRICTER }, "--target", "es2022", "--module", "nodenext", "--types", "node", ...flags), "");
});

test("options and exports that there are not are refused", () => {
  const refused = errors("refused.ts");
  assert.equal(refused.length, 4, refused.join("\n"));
});

test("what is exported is declared", () => {
  assert.deepEqual(errors("exported.ts"), []);
});

test("they are found without the exports of package.json", () => {
  const options = ["--target", "es2022", "--module", "commonjs", "--moduleResolution", "node10", "--types", "node"];
  assert.equal(tsc({ "use.ts": OF_NODE10 }, ...options), "");
});

test("they are those of a project whose package.json has no type", () => {
  const options = ["--target", "es2022", "--module", "node16", "--types", "node"];
  const setup = `export { default } from "liteio/vitest/global-setup";`;
  assert.equal(tscIn({}, { "a.test.ts": OF_NODE16, "liteio.setup.ts": setup }, ...options), "");
});

test("each module has its types in both ways", () => {
  const { exports, typesVersions } = createRequire(import.meta.url)("liteio/package.json");
  const modules = Object.keys(exports).filter((name) => !/^\.$|json$/.test(name));
  const expected = modules.map((name) => [name.slice(2), [exports[name].types ?? exports[name].default.types]]);
  assert.deepEqual(Object.entries(typesVersions["*"]).sort(), expected.sort());
});
