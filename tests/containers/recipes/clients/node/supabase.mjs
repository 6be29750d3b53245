// What Supabase's storage does: multipart uploads, copies with a condition, ranges, and uploads in parts of its own (TUS).
import assert from "node:assert/strict";
import { CompleteMultipartUploadCommand, CopyObjectCommand, CreateMultipartUploadCommand, DeleteObjectsCommand, GetObjectCommand,
  HeadObjectCommand, ListPartsCommand, S3Client, UploadPartCommand } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";

const { ENDPOINT, ACCESS_KEY, SECRET_KEY, REGION, BUCKET: Bucket } = process.env;
const credentials = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY };
const s3 = new S3Client({ endpoint: ENDPOINT, region: REGION, credentials, forcePathStyle: true });

// Keys as it makes them: tenant, bucket, name, version.
const Key = "stub/photos/a folder/ein Bild.png/7c2b";
const body = Buffer.alloc(11 << 20, "picture");
await new Upload({ client: s3, params: { Bucket, Key, Body: body, ContentType: "image/png", CacheControl: "max-age=3600" } }).done();
const head = await s3.send(new HeadObjectCommand({ Bucket, Key }));
assert.deepEqual([head.ContentLength, head.ContentType, head.CacheControl], [body.length, "image/png", "max-age=3600"]);
const copy = { Bucket, Key: `${Key}-copy`, CopySource: encodeURIComponent(`${Bucket}/${Key}`), CopySourceIfMatch: head.ETag };
await s3.send(new CopyObjectCommand(copy));
const part = await s3.send(new GetObjectCommand({ Bucket, Key: copy.Key, Range: "bytes=0-6", IfNoneMatch: '"other"' }));
assert.equal(await part.Body.transformToString(), "picture");

const upload = { Bucket, Key: `${Key}-tus`, UploadId: (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: `${Key}-tus` }))).UploadId };
const { ETag } = await s3.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: body }));
assert.equal((await s3.send(new ListPartsCommand(upload))).Parts.length, 1);
await s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: [{ ETag, PartNumber: 1 }] } }));
const Objects = [Key, copy.Key, upload.Key].map((each) => ({ Key: each }));
assert.equal((await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))).Deleted.length, 3);
console.log("passed");
