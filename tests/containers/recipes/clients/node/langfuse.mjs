// What Langfuse does: event files, uploads of exports of unknown length, and presigned uploads of media from a browser.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client, DeleteObjectsCommand } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";

const { ENDPOINT, ACCESS_KEY, SECRET_KEY, REGION, BUCKET: Bucket, ORIGIN } = process.env;
const credentials = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY };
const s3 = new S3Client({ endpoint: ENDPOINT, region: REGION, credentials, forcePathStyle: true });

await s3.send(new PutObjectCommand({ Bucket, Key: "events/a.json", Body: '{"id":1}', ContentType: "application/json" }));
const text = "a line\n".repeat(1 << 20);
await new Upload({ client: s3, params: { Bucket, Key: "exports/a.csv", Body: Readable.from([text.slice(0, 7), text.slice(7)]) } }).done();
const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: "exports/a.csv" }));
assert.equal(await Body.transformToString(), text);

const media = new PutObjectCommand({ Bucket, Key: "media/a.png", ContentType: "image/png", ContentLength: 7 });
const url = await getSignedUrl(s3, media, { expiresIn: 60, signableHeaders: new Set(["content-type", "content-length"]) });
const preflight = await fetch(url, {
  method: "OPTIONS",
  headers: { Origin: ORIGIN, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type" },
});
assert.equal(preflight.status, 200);
assert.equal(preflight.headers.get("access-control-allow-origin"), ORIGIN);
const put = await fetch(url, { method: "PUT", body: "picture", headers: { "content-type": "image/png", Origin: ORIGIN } });
assert.equal(put.status, 200, await put.text());

const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket }));
assert.deepEqual(Contents.map((each) => each.Key), ["events/a.json", "exports/a.csv", "media/a.png"]);
await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: Contents.map(({ Key }) => ({ Key })) } }));
console.log("passed");
