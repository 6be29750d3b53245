"use strict";
// A server in its own process, and its main space.

const { findBinary } = require("./binary.cjs");
const { Control } = require("./control.cjs");
const { LiteIOError } = require("./errors.cjs");
const { checkNames } = require("./names.cjs");
const { Process } = require("./process.cjs");
const { Space, asyncDispose } = require("./space.cjs");

const OPTIONS = [
  "dataDir", "buckets", "seed", "profile", "accessKeyId", "secretAccessKey", "region", "binary", "args", "environment",
];
const REGION = "us-east-1";
// Prefixes of variables that would be settings of the server.
const FOREIGN = /^(LITEIO|MINIO|AWS|COM_ADOBE)_/;

/** The main space of a server, which another process may have started. */
class MainSpace extends Space {
  async space(name) {
    const made = await this.control.call("POST", "/spaces", { body: { name } });
    return new Space(this.control, {
      name: made.name,
      endpoint: this.endpoint,
      accessKeyId: made.access_key,
      secretAccessKey: made.secret_key,
      region: made.region ?? this.region,
    });
  }

  async spaces() {
    return (await this.control.call("GET", "/spaces")).spaces.map(({ name }) => name);
  }
}

class Server extends MainSpace {
  constructor(process, options) {
    super(new Control(process.endpoint), options);
    Object.defineProperty(this, "process", { value: process, enumerable: false });
  }

  get log() {
    return this.process.log;
  }

  async stop() {
    await this.process.stop();
  }

  async [asyncDispose]() {
    await this.stop();
  }
}

async function startServer(options = {}) {
  checkNames("startServer", options, OPTIONS);
  const { buckets = [], args = [], profile, seed, dataDir, region } = options;
  for (const [name, list] of Object.entries({ buckets, args })) {
    if (!Array.isArray(list)) {
      throw new TypeError(`${name} is a list of strings`);
    }
  }
  const pair = profile === "minio" ? ["minioadmin", "minioadmin"] : ["liteio", "liteio123"];
  const { accessKeyId = pair[0], secretAccessKey = pair[1] } = options;
  const command = [
    findBinary(options.binary), "server", "--address", "127.0.0.1:0",
    ...(region === undefined ? [] : ["--region", region]),
    ...(dataDir === undefined ? ["--memory"] : ["--data-dir", dataDir]),
    ...buckets.flatMap((bucket) => ["--bucket", bucket]),
    ...(seed === undefined ? [] : ["--seed", seed]),
    ...(profile === undefined ? [] : ["--profile", profile]),
    ...args,
  ];
  const inherited = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  const started = await Process.start(command, {
    ...Object.fromEntries(inherited),
    LITEIO_ACCESS_KEY: accessKeyId,
    LITEIO_SECRET_KEY: secretAccessKey,
    LITEIO_LOG: "warn",
    LITEIO_TEST_API: "local",
    ...options.environment,
  });
  return new Server(started, { endpoint: started.endpoint, accessKeyId, secretAccessKey, region: region ?? REGION });
}

function connect(options = {}) {
  checkNames("connect", options, ["endpoint", "accessKeyId", "secretAccessKey", "region"]);
  const { env } = process;
  const endpoint = options.endpoint ?? env.LITEIO_ENDPOINT;
  if (!endpoint) {
    throw new LiteIOError("connect needs an endpoint: pass one, or set LITEIO_ENDPOINT, as `liteio exec` does");
  }
  return new MainSpace(new Control(endpoint), {
    endpoint: new URL(endpoint).origin,
    accessKeyId: options.accessKeyId ?? env.AWS_ACCESS_KEY_ID ?? "liteio",
    secretAccessKey: options.secretAccessKey ?? env.AWS_SECRET_ACCESS_KEY ?? "liteio123",
    region: options.region ?? env.AWS_REGION ?? REGION,
  });
}

module.exports = { MainSpace, Server, startServer, connect };
