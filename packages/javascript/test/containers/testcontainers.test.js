// The module for Testcontainers, with the image that LITEIO_IMAGE names; tests/containers/run makes it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { CreateBucketCommand, GetBucketVersioningCommand, GetObjectCommand, ListBucketsCommand, PutObjectCommand, S3Client,
} from "@aws-sdk/client-s3";
import { LiteIOContainer } from "liteio/testcontainers";

const { LITEIO_IMAGE: IMAGE, LITEIO_PAGE: PAGE } = process.env;
const USE = `
import { S3Client } from "@aws-sdk/client-s3";
import { LiteIOContainer, type StartedLiteIOContainer } from "liteio/testcontainers";

const made: LiteIOContainer = new LiteIOContainer("liteio:0.1.0").withUsername("a-user").withBuckets("a", "b").withReuse();
const container: StartedLiteIOContainer = await made.start();
new S3Client(container.getConfig());
const port: number = container.getPort();
console.log(container.getConnectionUrl(), container.getMappedPort(9000) === port);
`;

async function use(container, check) {
  const started = await container.start();
  try {
    await check(started, new S3Client(started.getConfig()));
  } finally {
    await started.stop();
  }
}

test("an object goes in and comes out", async () => {
  await use(new LiteIOContainer(IMAGE).withBuckets("photos").withBuckets("letters:versioned"), async (container, s3) => {
    assert.equal((await s3.send(new GetBucketVersioningCommand({ Bucket: "letters" }))).Status, "Enabled");
    await s3.send(new PutObjectCommand({ Bucket: "photos", Key: "hello.txt", Body: "hello" }));
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: "photos", Key: "hello.txt" }));
    assert.equal(await Body.transformToString(), "hello");
    assert.equal(container.getConnectionUrl(), `http://${container.getHost()}:${container.getMappedPort(9000)}`);
    assert.deepEqual([container.getUsername(), container.getPassword()], ["testaccess", "testsecret"]);
  });
});

test("credentials and region are those that were given", async () => {
  const made = new LiteIOContainer(IMAGE).withUsername("a-user").withPassword("its-password").withRegion("eu-west-1");
  await use(made, async (container, s3) => {
    assert.deepEqual([container.getUsername(), container.getPassword(), container.getRegion()], ["a-user", "its-password", "eu-west-1"]);
    const configuration = { LocationConstraint: "eu-west-1" };
    await s3.send(new CreateBucketCommand({ Bucket: "photos", CreateBucketConfiguration: configuration }));
    const credentials = { accessKeyId: "a-user", secretAccessKey: "another-password" };
    const stranger = new S3Client({ ...container.getConfig(), credentials });
    await assert.rejects(stranger.send(new ListBucketsCommand({})), { name: "SignatureDoesNotMatch" });
  });
});

test("empty credentials are refused before a container is made", async () => {
  await assert.rejects(new LiteIOContainer("no-such-image").withPassword("").start(), /must not be empty/);
});

// run(NAME, SOURCE, PROGRAM, ARGUMENT…) runs a program on a file of this directory, beside node_modules.
function run(name, source, program, ...options) {
  writeFileSync(name, source);
  try {
    const { status, stdout, stderr } = spawnSync(program, [...options, name], { encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
    return stdout;
  } finally {
    rmSync(name);
  }
}

test("what the documents say has types", () => {
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"];
  run("use.ts", USE, "node_modules/.bin/tsc", ...options);
});

test("the example of the page runs", () => {
  const [, block] = readFileSync(PAGE, "utf8").match(/^```js\n(.*?)^```$/ms);
  assert.match(block, /LiteIOContainer\("liteio:0.1.0"\)/);
  run("example.mjs", block.replace('"liteio:0.1.0"', JSON.stringify(IMAGE)), process.execPath);
});
