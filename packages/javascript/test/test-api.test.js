// Spaces, snapshots, faults, the clock, recorded requests and events.
import assert from "node:assert/strict";
import { test } from "node:test";
import { IAMClient, CreateUserCommand, ListUsersCommand } from "@aws-sdk/client-iam";
import {
  S3Client, CreateBucketCommand, DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, ListBucketsCommand,
  ListObjectsV2Command, PutBucketLifecycleConfigurationCommand, PutObjectCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { LiteIOError, TestApiError, WaitTimeout, startServer } from "liteio";
import { skip, text, withSpace } from "./harness.js";

const once = (space) => new S3Client({ ...space.config, maxAttempts: 1 });
const get = { Bucket: "bucket", Key: "key" };
const HOUR_MS = 3_600_000;

async function put(space, key = "key", body = "body") {
  const s3 = once(space);
  await s3.send(new CreateBucketCommand({ Bucket: "bucket" })).catch((error) => {
    if (error.name !== "BucketAlreadyOwnedByYou") {
      throw error;
    }
  });
  await s3.send(new PutObjectCommand({ Bucket: "bucket", Key: key, Body: body }));
}

async function keys(space) {
  const { Contents = [] } = await once(space).send(new ListObjectsV2Command({ Bucket: "bucket" }));
  return Contents.map(({ Key }) => Key);
}

withSpace("spaces see nothing of each other", async (one, server) => {
  const other = await server.space("other");
  assert.deepEqual((await server.spaces()).sort(), [one.name, "other"].sort());
  await put(one, "of-one");
  await put(other, "of-other");
  await put(server, "of-the-server");
  assert.deepEqual(
    [await keys(one), await keys(other), await keys(server)],
    [["of-one"], ["of-other"], ["of-the-server"]],
  );
  await assert.rejects(server.space("other"), TestApiError);
  await other.delete();
  await one[Symbol.asyncDispose]?.();
  assert.deepEqual(await server.spaces(), []);
  await assert.rejects(server.delete(), /reset\(\) empties it/);
});

withSpace("a reset takes all away", async (space, server) => {
  for (const scope of [space, server]) {
    await put(scope);
    await new IAMClient(scope.config).send(new CreateUserCommand({ UserName: "somebody" }));
    await scope.fault({ operation: "GetObject", status: 500 });
    await scope.reset();
    assert.deepEqual((await once(scope).send(new ListBucketsCommand({}))).Buckets ?? [], []);
    assert.deepEqual((await new IAMClient(scope.config).send(new ListUsersCommand({}))).Users ?? [], []);
    assert.deepEqual(await scope.faults(), []);
  }
});

test("a reset makes the buckets of the start again", { skip }, async () => {
  const server = await startServer({ buckets: ["bucket"] });
  await put(server);
  await server.reset();
  assert.deepEqual(await keys(server), []);
  await server.stop();
});

test("a reset of a bucket leaves the others", { skip }, async () => {
  const server = await startServer({ buckets: ["bucket", "other"] });
  for (const scope of [server, await server.space()]) {
    await put(scope);
    await once(scope).send(new PutObjectCommand({ Bucket: "other", Key: "kept", Body: "body" }));
    const refused = (error) => error instanceof TypeError && /^reset takes nothing, .* or { bucket: "photos" }/.test(error.message);
    for (const options of [{ bucket: undefined }, {}, "bucket", null, { buckets: ["bucket"] }, { bucket: "bucket", key: "key" }]) {
      await assert.rejects(scope.reset(options), refused);
    }
    assert.deepEqual(await keys(scope), ["key"]);
    await scope.reset({ bucket: "bucket" });
    assert.deepEqual(await keys(scope), []);
    await once(scope).send(new HeadObjectCommand({ Bucket: "other", Key: "kept" }));
    await assert.rejects(scope.reset({ bucket: "no-such-bucket" }), { status: 404 });
  }
  await server.stop();
});

test("requests without a signature reach a space by its name", { skip }, async () => {
  const server = await startServer({ buckets: ["bucket:public"] });
  for (const scope of [server, await server.space()]) {
    await put(scope, "key", scope.name);
    const answer = await fetch(`${scope.endpoint}/bucket/key`, { headers: { "x-liteio-space": scope.name } });
    assert.equal(await answer.text(), scope.name);
  }
  assert.equal(server.name, "main");
  await server.stop();
});

withSpace("snapshots", async (space) => {
  await put(space, "before");
  await space.snapshot("one-object");
  assert.deepEqual(await space.snapshots(), ["one-object"]);
  await put(space, "after");
  await space.restore("one-object");
  assert.deepEqual(await keys(space), ["before"]);
  await space.deleteSnapshot("one-object");
  await assert.rejects(space.restore("one-object"), { status: 404 });
  for (const method of ["snapshot", "restore", "deleteSnapshot"]) {
    for (const name of [undefined, "", { name: "one-object" }]) {
      const refused = (error) => error instanceof TypeError && error.message.startsWith(`${method} takes the name of a snapshot, not `);
      await assert.rejects(space[method](name), refused);
    }
  }
  assert.deepEqual(await space.snapshots(), []);
});

withSpace("a fault is in force as often as it says", async (space, server) => {
  await put(space);
  await put(server);
  const rule = { operation: "GetObject", bucket: "bu*", status: 503, code: "SlowDown", message: "slower", times: 2 };
  const fault = await space.fault(rule);
  assert.equal(await text(await once(server).send(new GetObjectCommand(get))), "body");
  for (let time = 0; time < 2; time += 1) {
    await assert.rejects(once(space).send(new GetObjectCommand(get)), { name: "SlowDown", message: "slower" });
  }
  assert.equal(await text(await once(space).send(new GetObjectCommand(get))), "body");
  assert.equal(await fault.hits(), 2);
  await fault.remove();
  await assert.rejects(fault.hits(), /not in force/);
});

withSpace("a fault that is removed already can be removed", async (space) => {
  for (const removeAll of [() => space.clearFaults(), () => space.reset()]) {
    const fault = await space.fault({ status: 503 });
    await removeAll();
    await fault.remove();
  }
  assert.deepEqual(await space.faults(), []);
});

withSpace("the SDK tries again after a fault", async (space) => {
  await put(space);
  await space.fault({ operation: "GetObject", status: 500, times: 1 });
  await new S3Client(space.config).send(new GetObjectCommand(get));
  const requests = await space.waitForRequest({ operation: "GetObject" }, { count: 2 });
  assert.deepEqual(requests.map(({ status }) => status), [500, 200]);
});

withSpace("answers are cut and slow", async (space) => {
  await put(space, "key", "x".repeat(100_000));
  const cut = await space.fault({ operation: "GetObject", cutAfterBytes: 1000 });
  await assert.rejects(async () => text(await once(space).send(new GetObjectCommand(get))));
  await cut.remove();
  await space.fault({ operation: "HeadObject", latencyMs: 200 });
  await once(space).send(new HeadObjectCommand(get));
  const [request] = await space.waitForRequest({ operation: "HeadObject" });
  assert.ok(request.durationMs >= 200, request.durationMs);
  await space.clearFaults();
  assert.deepEqual(await space.faults(), []);
});

withSpace("a fault that makes no sense is refused", async (space) => {
  for (const rule of [{}, { operation: "GetObject" }, { status: 200 }]) {
    await assert.rejects(space.fault(rule), { status: 400 });
  }
  await assert.rejects(space.fault({ latency: 1 }), /a fault has no latency: it has operation/);
  await assert.rejects(space.fault({}), /give status, latencyMs, cutAfterBytes or bandwidth/);
});

withSpace("values of another kind are refused", async (space) => {
  const refused = [
    [{ operation: PutObjectCommand, status: 500 }, /^a fault: operation is a string: give "PutObject"$/],
    [{ operation: new PutObjectCommand(get), status: 500 }, /give "PutObject"$/],
    [{ operation: /Put/, status: 500 }, /operation is a string, not \/Put\/: patterns have \* and \?$/],
    [{ key: () => true, status: 500 }, /key is a string, not \[Function: key\]/],
    [{ bucket: ["photos"], status: 500 }, /bucket is a string, not \[ 'photos' \]/],
    [{ latencyMs: "50" }, /^a fault: latencyMs is a whole number, not '50'$/],
    [{ status: "500" }, /status is a whole number, not '500'/],
    [{ status: 500, probability: NaN }, /probability is a number, not NaN/],
    ["PutObject", /^a fault is an object with operation, .* not 'PutObject'$/],
  ];
  const told = (message) => (error) => error instanceof TypeError && message.test(error.message);
  for (const [rule, message] of refused) {
    await assert.rejects(space.fault(rule), told(message));
  }
  assert.deepEqual(await space.faults(), []);
  for (const ask of [space.requests, space.waitForRequest]) {
    await assert.rejects(ask.call(space, { operation: PutObjectCommand }), told(/filter of requests: .* give "PutObject"$/));
    await assert.rejects(ask.call(space, { key: /jpg$/ }), told(/patterns have \* and \?/));
    await assert.rejects(ask.call(space, { since: new Date(0) }), told(/since is a whole number/));
    await assert.rejects(ask.call(space, "PutObject"), told(/is an object with operation/));
  }
  await assert.rejects(space.waitForEvent({ name: /Created/ }), told(/a filter of events: name is a string/));
  await assert.rejects(space.waitForRequest({}, 500), told(/^the second argument of waitForRequest is an object .* not 500$/));
  await assert.rejects(space.waitForEvent({}, { timeout: "5" }), told(/timeout is a number, not '5'/));
  assert.deepEqual(await space.requests({ status: 404 }), []);
});

withSpace("arguments that a method does not take are refused", async (space, server) => {
  const fault = await space.fault({ operation: "GetObject", status: 500 });
  const refused = [
    [() => space.clearFaults(fault.id), /^clearFaults takes no argument: '1' would have no effect$/],
    [() => space.clearRequests({ bucket: "bucket" }), /^clearRequests takes no argument: { bucket: 'bucket' } would/],
    [() => space.delete("other"), /^delete takes no argument/],
    [() => space.fault({ status: 500 }, { times: 2 }), /^fault takes one argument: { times: 2 } would have no effect$/],
    [() => space.requests({}, { limit: 1 }), /^requests takes one argument/],
    [() => space.waitForRequest({}, {}, 500), /^waitForRequest takes two arguments: 500 would/],
    [() => space.clock.reset(1000), /^clock\.reset takes no argument/],
    [() => fault.remove("1"), /^fault\.remove takes no argument/],
    [() => server.spaces("other"), /^spaces takes no argument/],
    [() => server.space({ buckets: ["photos"] }), /^space takes a name, not { buckets: \[ 'photos' \] }: a space starts with the buckets/],
  ];
  for (const [call, message] of refused) {
    await assert.rejects(call, (error) => error instanceof TypeError && message.test(error.message));
  }
  assert.equal((await space.faults()).length, 1);
  assert.deepEqual(await server.spaces(), [space.name]);
  await space.clearFaults(undefined);
});

withSpace("presigned URLs expire by the clock", async (space) => {
  await put(space);
  const url = await getSignedUrl(once(space), new GetObjectCommand(get), { expiresIn: 3600 });
  assert.equal((await fetch(url)).status, 200);
  await space.clock.advance(2 * HOUR_MS);
  assert.equal((await fetch(url)).status, 403);
  const signingDate = await space.clock.now();
  const now = await getSignedUrl(once(space), new GetObjectCommand(get), { expiresIn: 3600, signingDate });
  assert.equal((await fetch(now)).status, 200);
  await space.clock.reset();
  assert.equal((await fetch(url)).status, 200);
});

withSpace("the clock is set", async (space) => {
  const moment = new Date("2040-02-29T12:00:00.500Z");
  const answered = await space.clock.set(moment);
  assert.ok(answered >= moment && answered - moment < 10_000);
  assert.ok((await space.clock.now()) >= answered);
  assert.ok((await space.clock.advance(1500)) - answered >= 1500);
  assert.ok((await space.clock.offset()) > 365 * 24 * HOUR_MS);
  await space.clock.reset();
  assert.equal(await space.clock.offset(), 0);
});

withSpace("times that are none are refused", async ({ clock }) => {
  const refused = (message) => (error) => error instanceof TypeError && message.test(error.message);
  for (const ms of ["1h", undefined, "1000", NaN]) {
    await assert.rejects(clock.advance(ms), refused(/clock\.advance takes a number of milliseconds, such as 3_600_000/));
  }
  for (const moment of ["tomorrow", undefined, null, true, new Date(NaN)]) {
    await assert.rejects(clock.set(moment), refused(/clock\.set takes a Date, a text such as "2030-01-01T00:00:00Z"/));
  }
  await assert.rejects(clock.set("tomorrow"), /not 'tomorrow'$/);
  assert.equal(await clock.offset(), 0);
  assert.equal((await clock.set("2040-02-29T12:00:00Z")).getUTCFullYear(), 2040);
  await clock.advance(1.5);
});

withSpace("objects expire at once when the clock passes their days", async (space) => {
  await put(space);
  const Rules = [{ ID: "old", Status: "Enabled", Filter: { Prefix: "" }, Expiration: { Days: 30 } }];
  await once(space).send(
    new PutBucketLifecycleConfigurationCommand({ Bucket: "bucket", LifecycleConfiguration: { Rules } }),
  );
  await space.clock.advance(32 * 24 * HOUR_MS);
  await space.waitForEvent({ bucket: "bucket", key: "key", name: "s3:*Expiration:*" });
  await space.clock.reset();
  assert.deepEqual(await keys(space), []);
});

withSpace("requests are recorded", async (space) => {
  await put(space, "a/key with spaces");
  await space.waitForRequest({}, { count: 2 });
  const [request] = await space.requests({ operation: "PutObject", bucket: "bucket", key: "a/*" });
  assert.deepEqual([request.method, request.status, request.key], ["PUT", 200, "a/key with spaces"]);
  assert.ok(Math.abs(request.time - Date.now()) < 300_000);
  assert.ok(!Object.keys(request.headers).some((name) => name.toLowerCase() === "authorization"));
  assert.deepEqual(await space.requests({ status: "4*", operation: "PutObject" }), []);
  assert.equal((await space.requests({ limit: 1 })).length, 1);
  await assert.rejects(space.requests({ operations: "PutObject" }), /has no operations/);
  await space.clearRequests();
  assert.deepEqual(await space.requests(), []);
});

withSpace("requests and events are waited for", async (space) => {
  const writing = put(space, "key", "12345");
  const [request] = await space.waitForRequest({ operation: "PutObject", key: "key" });
  assert.equal(request.key, "key");
  const [event] = await space.waitForEvent({ name: "s3:ObjectCreated:*", bucket: "bucket", key: "key" });
  assert.deepEqual([event.name, event.key, event.size], ["s3:ObjectCreated:Put", "key", 5]);
  await writing;
  await once(space).send(new DeleteObjectCommand(get));
  const [removed] = await space.waitForEvent({ name: "s3:ObjectRemoved:*" });
  assert.ok(removed.sequence > event.sequence);
  const after = await space.waitForEvent({ since: removed.sequence });
  assert.deepEqual(after.map(({ sequence }) => sequence), [removed.sequence]);
  await assert.rejects(space.waitForEvent({ since: removed.sequence + 1 }, { timeout: 50 }), WaitTimeout);
  assert.ok((await space.waitForRequest({}, { count: 3 })).length >= 3);
  assert.equal((await space.waitForEvent({ bucket: "bucket", key: "key" }, { count: 2 })).length, 2);
});

withSpace("waiting ends with an error that names the filters", async (space) => {
  const named = (error) => error instanceof WaitTimeout && /"operation":"PutObject"/.test(error.message);
  await assert.rejects(space.waitForRequest({ operation: "PutObject" }, { timeout: 50 }), named);
  await assert.rejects(space.waitForEvent({ key: "never" }, { timeout: 50 }), WaitTimeout);
  await assert.rejects(space.waitForEvent({}, { counts: 2 }), /waitForEvent has no counts: it has count, timeout/);
});

withSpace("waiting ends before the limit of Vitest and Jest for a test", async (space) => {
  await assert.rejects(space.waitForEvent({ key: "never" }), /^WaitTimeout: nothing matched {"key":"never"} within 4000 ms; recorded: nothing$/);
});

withSpace("waiting for a user ends with the users that came", async (space) => {
  await put(space);
  await space.waitForRequest({ operation: "PutObject" });
  await assert.rejects(space.waitForRequest({ user: "bob" }, { timeout: 50 }), (error) => error.message.endsWith(` 200 by ${space.accessKeyId}`));
});

withSpace("waiting for a client with other keys ends with the main space", async (space, server) => {
  const short = (message) => (error) => error instanceof WaitTimeout && message.test(error.message);
  await put(server);
  await server.waitForRequest({ operation: "PutObject" });
  const there = "in the main space, where a client without the keys of this space gets$";
  await assert.rejects(space.waitForRequest({}, { timeout: 50 }), short(new RegExp(`recorded: nothing, but 2 ${there}`)));
  await assert.rejects(space.waitForEvent({}, { timeout: 50 }), short(new RegExp(`recorded: nothing, but 1 ${there}`)));
  await assert.rejects(server.waitForEvent({ key: "no" }, { timeout: 50 }), short(/recorded: s3:ObjectCreated:Put bucket\/key$/));
});

withSpace("waiting for several ends with an error that says how many there were", async (space) => {
  const short = (message) => (error) => error instanceof WaitTimeout && message.test(error.message);
  await put(space);
  await space.waitForRequest({}, { count: 2 });
  await assert.rejects(
    space.waitForRequest({ bucket: "bucket" }, { count: 3, timeout: 50 }),
    short(/^2 of 3 requests matched {"bucket":"bucket"} within 50 ms; recorded: CreateBucket bucket 200, PutObject bucket\/key 200$/),
  );
  await space.waitForEvent({ key: "key" });
  await assert.rejects(
    space.waitForEvent({ key: "key" }, { count: 2, timeout: 50 }),
    short(/^1 of 2 events matched {"key":"key"} within 50 ms; recorded: s3:ObjectCreated:Put bucket\/key$/),
  );
  await assert.rejects(space.waitForEvent({ key: "no" }, { count: 2, timeout: 50 }), short(/^nothing matched {"key":"no"}/));
});

withSpace("calls to a server that has ended say how it ended", async (space, server) => {
  const told = (message) => (error) => error instanceof LiteIOError && message.test(error.message);
  process.kill(-server.process.child.pid, "SIGKILL");
  for (const scope of [space, server]) {
    await assert.rejects(scope.reset(), told(/^the server has ended, exit code SIGKILL: no output$/));
  }
  await server.stop();
  await assert.rejects(space.requests(), told(/^the server was stopped$/));
});

test("servers and spaces are disposed of", { skip: skip || !Symbol.asyncDispose }, async () => {
  const server = await startServer();
  const space = await server.space();
  // A reset removes the rule before its block ends, and a test may delete its space.
  const fault = await space.fault({ status: 503 });
  await space.reset();
  await fault[Symbol.asyncDispose]();
  await space[Symbol.asyncDispose]();
  await space[Symbol.asyncDispose]();
  assert.deepEqual(await server.spaces(), []);
  await server[Symbol.asyncDispose]();
});
