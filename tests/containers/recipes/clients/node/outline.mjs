// What Outline does: uploads of a browser by a presigned form or a presigned PUT, and signed links to what was uploaded.
import assert from "node:assert/strict";
import { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { createPresignedPost } from "@aws-sdk/s3-presigned-post";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";

const { ENDPOINT, ACCESS_KEY, SECRET_KEY, REGION, BUCKET: Bucket, ORIGIN } = process.env;
const credentials = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY };
const s3 = new S3Client({ endpoint: ENDPOINT, region: REGION, credentials, forcePathStyle: true });

const Key = "uploads/3f0c/a picture.png";
const { url, fields } = await createPresignedPost(s3, {
  Bucket,
  Key,
  Conditions: [["content-length-range", 0, 26214400], ["starts-with", "$Content-Type", "image/png"], ["starts-with", "$Cache-Control", ""]],
  Fields: { "Content-Disposition": "attachment", key: Key, acl: "private" },
  Expires: 3600,
});
const form = new FormData();
for (const [name, value] of Object.entries({ ...fields, "Content-Type": "image/png", "Cache-Control": "max-age=31557600" })) form.append(name, value);
form.append("file", new Blob(["picture"]), "a picture.png");
const posted = await fetch(url, { method: "POST", body: form, headers: { Origin: ORIGIN } });
assert.equal(posted.status, 204, await posted.text());
assert.equal(posted.headers.get("access-control-allow-origin"), ORIGIN);
const head = await s3.send(new HeadObjectCommand({ Bucket, Key }));
assert.deepEqual([head.ContentType, head.ContentDisposition, head.CacheControl], ["image/png", "attachment", "max-age=31557600"]);

const put = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: `${Key}-put`, ACL: "private" }), { expiresIn: 3600 });
assert.equal((await fetch(put, { method: "PUT", body: "picture", headers: { Origin: ORIGIN } })).status, 200);
const link = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key, ResponseContentDisposition: "inline" }), { expiresIn: 3600 });
const answer = await fetch(link);
assert.equal(await answer.text(), "picture");
assert.equal(answer.headers.get("content-disposition"), "inline");
assert.equal((await fetch(link.split("?")[0])).status, 403);
for (const each of [Key, `${Key}-put`]) await s3.send(new DeleteObjectCommand({ Bucket, Key: each }));
console.log("passed");
