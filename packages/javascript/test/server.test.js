// A server as a user of the package meets it: its start, its options, its end.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { EventEmitter } from "node:events";
import http from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock, test } from "node:test";
import { inspect } from "node:util";
import {
  S3Client, CreateBucketCommand, GetBucketVersioningCommand, GetObjectCommand, ListBucketsCommand, PutObjectCommand,
} from "@aws-sdk/client-s3";
import {
  BinaryNotFound, LiteIOError, StartFailed, TestApiMissing, connect, findBinary, startServer, useEnvironment, useServer, useSpace,
} from "liteio";
import { isOpen, text, untilClosed, withServer } from "./harness.js";

async function buckets(space) {
  const { Buckets = [] } = await new S3Client(space.config).send(new ListBucketsCommand({}));
  return Buckets.map(({ Name }) => Name);
}

function inDirectory(name, body) {
  test(name, async () => {
    const directory = mkdtempSync(join(tmpdir(), "liteio-"));
    try {
      await body(directory);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
}

withServer("objects are stored", {}, async (server) => {
  const s3 = new S3Client(server.config);
  await s3.send(new CreateBucketCommand({ Bucket: "photos" }));
  await s3.send(new PutObjectCommand({ Bucket: "photos", Key: "hello.txt", Body: "hello" }));
  assert.equal(await text(await s3.send(new GetObjectCommand({ Bucket: "photos", Key: "hello.txt" }))), "hello");
});

withServer("two servers share nothing", { buckets: ["one-bucket"] }, async (server) => {
  const other = await startServer();
  assert.deepEqual(await buckets(server), ["one-bucket"]);
  assert.deepEqual(await buckets(other), []);
  await other.stop();
});

test("a body that nobody reads does not hold up the stop", async () => {
  const server = await startServer({ buckets: ["photos"] });
  const s3 = new S3Client(server.config);
  await s3.send(new PutObjectCommand({ Bucket: "photos", Key: "large", Body: Buffer.alloc(16 << 20) }));
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: "photos", Key: "large" }));
  Body.on("error", () => {});
  await server.stop();
  assert.match(server.log, /is the body of an answer not read\?/);
});

inDirectory("buckets and a seed are there at the start", async (directory) => {
  mkdirSync(join(directory, "albums"));
  writeFileSync(join(directory, "albums", "a.jpg"), "picture");
  const server = await startServer({ buckets: ["letters:versioned"], seed: directory });
  const s3 = new S3Client(server.config);
  assert.deepEqual(await buckets(server), ["albums", "letters"]);
  assert.equal((await s3.send(new GetBucketVersioningCommand({ Bucket: "letters" }))).Status, "Enabled");
  assert.equal(await text(await s3.send(new GetObjectCommand({ Bucket: "albums", Key: "a.jpg" }))), "picture");
  await server.stop();
});

inDirectory("a data directory keeps its data", async (directory) => {
  for (const expected of [[], ["kept"]]) {
    const server = await startServer({ dataDir: join(directory, "data") });
    assert.deepEqual(await buckets(server), expected);
    if (expected.length === 0) {
      await new S3Client(server.config).send(new CreateBucketCommand({ Bucket: "kept" }));
    }
    await server.stop();
  }
});

const given = { accessKeyId: "tester", secretAccessKey: "tester-secret", region: "eu-west-1" };
withServer("credentials and region are those given", given, async (server) => {
  assert.equal(server.env.AWS_ACCESS_KEY_ID, "tester");
  assert.equal(server.env.AWS_REGION, "eu-west-1");
  assert.equal(server.env.MC_HOST_local, `http://tester:${server.secretAccessKey}@${new URL(server.endpoint).host}`);
  assert.deepEqual(await buckets(server), []);
  const wrong = { ...server.config, credentials: { ...server.config.credentials, secretAccessKey: "another" } };
  await assert.rejects(buckets({ config: wrong }), { name: "SignatureDoesNotMatch" });
});

for (const options of [{}, { profile: "localstack" }]) {
  withServer(`any region is accepted with ${JSON.stringify(options)}`, options, async (server) => {
    assert.equal(server.region, "us-east-1");
    const elsewhere = new S3Client({ ...server.config, region: "eu-central-1" });
    await elsewhere.send(new CreateBucketCommand({ Bucket: "photos" }));
    assert.deepEqual(await buckets(server), ["photos"]);
  });
}

withServer("another region than the one given is refused", { region: "eu-west-1" }, async (server) => {
  const elsewhere = { config: { ...server.config, region: "eu-central-1" } };
  await assert.rejects(buckets(elsewhere), { name: "AuthorizationHeaderMalformed" });
});

// As the table for users of LocalStack says it.
const ofAws = [
  ["--aws-defaults", { ServerSideEncryption: "AES256" }, "NotImplemented"],
  ["--aws-defaults", { ServerSideEncryption: "aws:kms" }, "KMS.NotFoundException"],
  ["--object-ownership object-writer", { ACL: "public-read" }, "AccessControlListNotSupported"],
  ["--allow-insecure-sse-c", { SSECustomerAlgorithm: "AES256", SSECustomerKey: Buffer.alloc(32, 1) }, "InvalidRequest"],
];
for (const [args, parameters, code] of ofAws) {
  test(`${Object.keys(parameters)[0]} ${Object.values(parameters)[0]} needs ${args}`, async () => {
    for (const [options, expected] of [[{}, code], [{ args: args.split(" ") }, "stored"]]) {
      const server = await startServer(options);
      const s3 = new S3Client({ ...server.config, maxAttempts: 1 });
      await s3.send(new CreateBucketCommand({ Bucket: "photos" }));
      const put = s3.send(new PutObjectCommand({ Bucket: "photos", Key: "a.jpg", Body: "picture", ...parameters }));
      assert.equal(await put.then(() => "stored", (error) => error.name), expected);
      await server.stop();
    }
  });
}

for (const profile of ["minio", "localstack", "s3mock"]) {
  withServer(`the profile ${profile}`, { profile }, async (server) => {
    assert.equal(server.accessKeyId === "minioadmin", profile === "minio");
    assert.deepEqual(await buckets(server), []);
  });
}

for (const name of ["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"]) {
  withServer(`a client reaches the server with ${name} in the shell`, { buckets: ["photos"] }, async (server) => {
    process.env[name] = "true";
    try {
      assert.deepEqual(await buckets(server), ["photos"]);
    } finally {
      delete process.env[name];
    }
  });
}

test("variables of this process are no settings of the server", async () => {
  process.env.LITEIO_BUCKET = "of-another-server";
  try {
    const server = await startServer();
    assert.deepEqual(await buckets(server), []);
    await server.stop();
    const other = await startServer({ environment: { LITEIO_BUCKET: "of-this-server" } });
    assert.deepEqual(await buckets(other), ["of-this-server"]);
    await other.stop();
  } finally {
    delete process.env.LITEIO_BUCKET;
  }
});

test("a start that fails says why", async () => {
  const starts = [
    [{ buckets: ["B"] }, /"B" is not valid/],
    [{ args: ["--no-such-flag"] }, /--no-such-flag/],
    [{ secretAccessKey: "test" }, /: secretAccessKey: the secret key must have 8.*; for the keys of LocalStack: profile: "localstack"/],
    [{ accessKeyId: "a" }, /: accessKeyId: the access key must have 3/],
    [{ binary: execFileSync("which", ["true"], { encoding: "utf8" }).trim() }, /exit code 0: no output of \/.*true$/],
  ];
  for (const [options, message] of starts) {
    await assert.rejects(startServer(options), (error) => error instanceof StartFailed && message.test(error.message));
  }
});

/** Gives all requests of Node's `http` this error, as a mock of HTTP does. */
async function blocked(error, body, onRequest = () => {}) {
  const { request } = http;
  http.request = () => {
    onRequest();
    const made = Object.assign(new EventEmitter(), { setTimeout() {}, end() {}, destroy() {} });
    process.nextTick(() => made.emit("error", error));
    return made;
  };
  try {
    await body();
  } finally {
    http.request = request;
  }
}

const ofMocks = [
  // Of nock and of MSW.
  Object.assign(new Error('Nock: Disallowed net connect for "127.0.0.1"'), { name: "NetConnectNotAllowedError", code: "ENETUNREACH" }),
  new Error('[MSW] Cannot bypass a request when using the "error" strategy'),
];
for (const error of ofMocks) {
  const tells = (told) => told.cause === error && told.message.includes(error.message) && /With mocks of HTTP/.test(told.message);
  withServer(`a start and a call say what blocks them: ${error.message}`, {}, (server) =>
    blocked(error, async () => {
      await assert.rejects(startServer(), (told) => told instanceof StartFailed && tells(told));
      await assert.rejects(connect({ endpoint: server.endpoint }).reset(), (told) => told instanceof LiteIOError && tells(told));
    }));
}

test("a start that takes too long says why the server is not ready", { skip: !mock.timers }, async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", syscall: "connect" });
  // After the pause between two tries has begun.
  const isLate = () => setImmediate(() => t.mock.timers.tick(30_000));
  await blocked(refused, () => assert.rejects(startServer(), /within 30000 ms: connect ECONNREFUSED$/), isLate);
});

test("wrong options are refused", async () => {
  await assert.rejects(startServer({ bucket: "photos" }), /startServer has no bucket: it has dataDir, buckets/);
  await assert.rejects(startServer({ buckets: "photos" }), /buckets is a list of strings/);
  const ofS3rver = { buckets: [{ name: "letters" }] };
  await assert.rejects(startServer(ofS3rver), /list of strings: give "letters" instead of { name: 'letters' }$/);
  await assert.rejects(startServer({ seed: ["photos"] }), /startServer: seed is a string, not \[ 'photos' \]$/);
  await assert.rejects(startServer("photos"), /startServer is an object with dataDir, .* not 'photos'$/);
  assert.throws(() => useEnvironment(), /^TypeError: useEnvironment takes a server or a space, not undefined/);
  assert.throws(() => useEnvironment(startServer), /useEnvironment takes a server or a space, not \[AsyncFunction/);
  assert.throws(() => connect(), LiteIOError);
  assert.throws(() => connect(null), LiteIOError);
  assert.throws(() => connect({ endpoint: "https://127.0.0.1:1" }), /plain HTTP/);
});

test("flags and variables that are options are refused with the option", async () => {
  const refused = [
    [{ args: ["--port", "9123"] }, /args has --port: use the option port/],
    [{ args: ["-p9123"] }, /args has -p: use the option port/],
    [{ args: ["--address=0.0.0.0:1"] }, /args has --address: use the option port; the server always listens on 127/],
    [{ args: ["--region", "eu-west-1"] }, /use the option region/],
    [{ args: ["--access-key=a"] }, /use the option accessKeyId/],
    [{ args: ["--secret-key", "a"] }, /use the option secretAccessKey/],
    [{ args: ["--data-dir", "data"] }, /use the option dataDir/],
    [{ args: ["--memory"] }, /use the option dataDir/],
    [{ args: ["--log debug"] }, /args has "--log debug": give "--log", "debug", which are two arguments$/],
    [{ environment: { LITEIO_PORT: "9123" } }, /environment has LITEIO_PORT: use the option port/],
    [{ environment: { LITEIO_ACCESS_KEY: "a" } }, /use the option accessKeyId/],
    [{ environment: { MINIO_SECRET_KEY: "a" } }, /use the option secretAccessKey/],
    [{ environment: { AWS_REGION: "eu-west-1" } }, /environment has AWS_REGION: use the option region/],
    [{ environment: { MINIO_SITE_REGION: "eu-west-1" } }, /use the option region/],
    [{ environment: { LITEIO_DATA_DIR: "data" } }, /use the option dataDir/],
    [
      { environment: { LITEIO_BUCKET: "a" }, buckets: ["b"] },
      /environment has LITEIO_BUCKET, which has no effect beside the option buckets: give one of them/,
    ],
    [{ environment: { MINIO_DEFAULT_BUCKETS: "a" }, buckets: ["b"] }, /beside the option buckets/],
    [{ environment: { LITEIO_SEED: "a" }, seed: "b" }, /beside the option seed/],
    [{ environment: { LITEIO_PROFILE: "minio" }, profile: "minio" }, /beside the option profile/],
    [{ environment: { LITEIO_LOG_FORMAT: "json" }, args: ["--log-format=text"] }, /beside --log-format in args/],
    [{ port: "9123" }, /port is a number from 1 to 65535, or 0 for a free one, not '9123'/],
    [{ port: 65_536 }, /not 65536/],
  ];
  for (const [options, message] of refused) {
    await assert.rejects(startServer(options), (error) => error instanceof TypeError && message.test(error.message));
  }
});

test("the port is the one given", async () => {
  const first = await startServer();
  const port = Number(new URL(first.endpoint).port);
  await first.stop();
  const server = await startServer({ port });
  assert.equal(server.endpoint, `http://127.0.0.1:${port}`);
  assert.deepEqual(await buckets(server), []);
  await server.stop();
});

withServer("a port that is taken is named as an option", {}, async ({ endpoint }) => {
  const port = Number(new URL(endpoint).port);
  await assert.rejects(startServer({ port }), /cannot listen on 127\.0\.0\.1:\d+: .*; choose another with the option port$/);
});

withServer("the log has the reasons of refusals on request", { buckets: ["photos"], args: ["--log", "debug"] }, async (server) => {
  assert.equal((await fetch(`${server.endpoint}/photos/hello.txt`)).status, 403);
  await server.stop();
  assert.match(server.log, /key="hello\.txt" status=403 .*denied="/);
});

for (const settings of [{ args: ["--log", "debug"] }, { environment: { LITEIO_LOG: "info" } }]) {
  withServer(`the log of a running server has the last request: ${inspect(settings)}`, settings, async (server) => {
    for (let number = 0; number < 20; number += 1) {
      await fetch(`${server.endpoint}/photos/${number}.jpg`);
      assert.ok((await server.logged()).includes(`key="${number}.jpg"`));
    }
    assert.doesNotMatch(server.log, /_liteio" key="test/);
    await server.stop();
    assert.match(await server.logged(), /key="19\.jpg"/);
  });
}

withServer("without lines of requests the log is there, too", {}, async (server) => {
  assert.equal(await server.logged(), "");
  await assert.rejects(connect({ endpoint: server.endpoint }).logged(), /another process, .*: give the file options, useSpace/);
});

test("variables that the server does not know are refused", async () => {
  const refused = [
    [{ LITEIO_BUCKETS: "photos" }, /^environment: LITEIO_BUCKETS is unknown and has no effect: did you mean LITEIO_BUCKET\?/],
    [{ LITEIO_BUCKETS: "photos", LITEIO_LOG_FORMAT: "json" }, /did you mean LITEIO_BUCKET\?$/],
    [{ LITEIO_NOTHING_LIKE_IT: "1" }, /^environment: LITEIO_NOTHING_LIKE_IT is unknown/],
  ];
  for (const [environment, message] of refused) {
    await assert.rejects(startServer({ environment }), (error) => error instanceof TypeError && message.test(error.message));
  }
  await (await startServer({ environment: { LITEIO_BUCKET: "photos", TZ: "UTC" } })).stop();
});

test("an endpoint that is no URL is refused with one", () => {
  const refused = [
    ["127.0.0.1:9123", /'127\.0\.0\.1:9123' is not a URL of HTTP: give one such as http:\/\/127\.0\.0\.1:9123$/],
    ["localhost:9123", /such as http:\/\/localhost:9123$/],
    ["http://", /such as http:\/\/127\.0\.0\.1:9000$/],
    [9123, /not a URL/],
  ];
  for (const [endpoint, message] of refused) {
    assert.throws(() => connect({ endpoint }), (error) => error instanceof TypeError && message.test(error.message));
  }
});

test("a call to an address without a server names it", async () => {
  const server = await startServer();
  await server.stop();
  const error = await connect({ endpoint: server.endpoint }).reset().catch((it) => it);
  assert.ok(error instanceof LiteIOError, error);
  assert.ok(error.message.startsWith(`no server answers at ${server.endpoint}: `), error.message);
  assert.equal(error.cause.code, "ECONNREFUSED");
});

test("stopping waits for the server, and can be done twice", async () => {
  const server = await startServer();
  assert.ok(await isOpen(server.endpoint));
  await server.stop();
  assert.ok(!(await isOpen(server.endpoint)));
  await server.stop();
});

withServer("a server of another process can be used", {}, async (server) => {
  const { endpoint, accessKeyId, secretAccessKey } = server;
  const connected = connect({ endpoint: `${endpoint}/`, accessKeyId, secretAccessKey });
  assert.deepEqual(connected.env, server.env);
  assert.deepEqual(await buckets(connected), []);
});

for (const end of ["process.kill(process.pid, 'SIGKILL')", "process.exit(1)", "throw new Error('end')", ""]) {
  test(`the server ends with the process that started it: ${end || "by itself"}`, async () => {
    const program = `import { startServer } from "liteio";
      console.log((await startServer()).endpoint); ${end}`;
    const done = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
    assert.match(done.stdout, /^http:/, done.stderr);
    await untilClosed(done.stdout.trim());
  });
}

withServer("the server ends when the shell above it was killed", {}, async (server) => {
  process.kill(server.process.child.pid, "SIGKILL");
  await server.stop();
  await untilClosed(server.endpoint);
});

withServer("without the test API a call says what is missing", { environment: { LITEIO_TEST_API: "" } },
  async (server) => {
    await assert.rejects(server.clock.now(), (error) => error instanceof TestApiMissing && /--test-api/.test(error));
  });

test("CommonJS has the same functions", async () => {
  const required = createRequire(import.meta.url)("liteio");
  assert.equal(required.startServer, startServer);
});

test("the helpers of test runners say where they are", async () => {
  for (const [name, helper] of Object.entries({ useSpace, useServer })) {
    const told = `${name} belongs to a test runner: import it from liteio/vitest, liteio/jest or liteio/node-test instead of liteio`;
    assert.throws(helper, (error) => error instanceof LiteIOError && error.message === told);
  }
});

inDirectory("the binary is looked for", async (directory) => {
  const program = findBinary();
  const look = (environment, code = "findBinary()") => {
    const script = `import { findBinary } from "liteio"; console.log(${code});`;
    const run = ["--input-type=module", "-e", script];
    const env = { PATH: "", ...environment };
    return spawnSync(process.execPath, run, { encoding: "utf8", env });
  };
  assert.match(look({ LITEIO_BINARY: "/nowhere" }).stderr, /LITEIO_BINARY: \/nowhere is not an executable file/);
  const relative = look({ LITEIO_BINARY: "no/where" }).stderr;
  assert.match(relative, /no\/where is not an executable file \(\/.*\/no\/where\): give an absolute path/);
  assert.match(look({}, "findBinary('/no/where')").stderr, /binary: \/no\/where is not an executable file/);
  assert.equal(look({ LITEIO_BINARY: "/nowhere" }, `findBinary(${JSON.stringify(program)})`).stdout.trim(), program);
  // The package of the platform comes before PATH, and scripts on PATH are passed over.
  mkdirSync(join(directory, "scripts"));
  writeFileSync(join(directory, "scripts", "liteio"), "#!/bin/sh\n", { mode: 0o755 });
  mkdirSync(join(directory, "programs"));
  symlinkSync(program, join(directory, "programs", "liteio"));
  const found = look({ PATH: `${directory}/scripts:${directory}/programs` }).stdout.trim();
  assert.ok(found.includes("@liteio") || found === join(directory, "programs", "liteio"), found);
  assert.ok(new BinaryNotFound("it") instanceof LiteIOError);
});

inDirectory("a binary of another version is used with a warning", async (directory) => {
  const package_ = join(directory, "node_modules", "@liteio", `${process.platform}-${process.arch}`);
  mkdirSync(join(package_, "bin"), { recursive: true });
  writeFileSync(join(package_, "package.json"), JSON.stringify({ version: "0.0.1" }));
  writeFileSync(join(package_, "bin", "liteio"), "");
  const library = createRequire(import.meta.url).resolve("liteio/package.json").replace("/package.json", "");
  cpSync(library, join(directory, "node_modules", "liteio"), { recursive: true });
  const script = "console.log(require('liteio').findBinary(), require('liteio').findBinary())";
  const run = spawnSync(process.execPath, ["-e", script], { encoding: "utf8", cwd: directory, env: { PATH: "" } });
  assert.match(run.stdout, /bin\/liteio/);
  assert.match(run.stderr, /Warning: liteio \S+ uses @liteio\/\S+ 0\.0\.1: install the same version of both/);
  assert.equal(run.stderr.match(/0\.0\.1/g).length, 1, run.stderr);
});

test("the command is the server", () => {
  const command = createRequire(import.meta.url).resolve("liteio/package.json").replace("package.json", "bin/liteio.js");
  const run = (...args) => spawnSync(process.execPath, [command, ...args], { encoding: "utf8" });
  assert.equal(run("--version").stdout, execFileSync(findBinary(), ["--version"], { encoding: "utf8" }));
  const refused = run("--no-such-flag");
  assert.equal(refused.status, 2);
  assert.match(refused.stderr, /--no-such-flag/);
});
