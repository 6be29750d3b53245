// Testcontainers' modules for MinIO and LocalStack, with the name of this image and nothing else changed.
import assert from "node:assert";
import { test } from "node:test";

import { LocalstackContainer } from "@testcontainers/localstack";
import { MinioContainer } from "@testcontainers/minio";

async function send(url, options) {
  const answer = await fetch(url, options);
  const body = await answer.text();
  assert.strictEqual(answer.status, 200, body);
  return body;
}

test("MinIO", async () => {
  const minio = await new MinioContainer("localhost/liteio-minio:latest").start();
  try {
    await send(`${minio.getConnectionUrl()}/minio/health/live`);
  } finally {
    await minio.stop();
  }
});

test("LocalStack", async () => {
  const localstack = await new LocalstackContainer("localhost/liteio-localstack:latest").start();
  try {
    // Signatures are not checked, and need not be there.
    const bucket = `${localstack.getConnectionUri()}/a-bucket`;
    await send(bucket, { method: "PUT" });
    await send(`${bucket}/a-key`, { method: "PUT", body: "its content" });
    assert.strictEqual(await send(`${bucket}/a-key`), "its content");
  } finally {
    await localstack.stop();
  }
});
