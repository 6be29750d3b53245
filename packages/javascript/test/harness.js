// What the tests of this package share. They need this directory's package.json installed, and `liteio` beside it.
import { execFileSync } from "node:child_process";
import { connect } from "node:net";
import { test } from "node:test";
import { findBinary, startServer } from "liteio";

const REQUIRED = "LITEIO_REQUIRE_TEST_API";
const hasTestApi = execFileSync(findBinary(), ["server", "--help"], { encoding: "utf8" }).includes("--test-api");
export const skip =
  hasTestApi || process.env[REQUIRED] ? false : `the binary has no --test-api (${REQUIRED} makes this fail)`;

/** A test with a server of its own. */
export function withServer(name, options, body) {
  test(name, async () => {
    const server = await startServer(options);
    try {
      await body(server);
    } finally {
      await server.stop();
    }
  });
}

/** A test with a space of a server of its own, for what needs the test API. */
export function withSpace(name, body) {
  test(name, { skip }, async () => {
    const server = await startServer();
    try {
      await body(await server.space(), server);
    } finally {
      await server.stop();
    }
  });
}

export function isOpen(endpoint) {
  const { hostname, port } = new URL(endpoint);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false)).on("close", () => socket.destroy());
    socket.on("connect", () => socket.destroy());
  });
}

export async function untilClosed(endpoint) {
  const deadline = Date.now() + 20_000;
  while (await isOpen(endpoint)) {
    if (Date.now() > deadline) {
      throw new Error(`${endpoint} is still served`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function text(answer) {
  return answer.Body.transformToString();
}
