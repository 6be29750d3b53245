"use strict";
// A server in its own process, and its main space.

const { inspect } = require("node:util");
const { findBinary } = require("./binary.cjs");
const { Control } = require("./control.cjs");
const { LiteIOError } = require("./errors.cjs");
const { checkOptions, limitArguments, shown } = require("./names.cjs");
const { LOG_FILTER, Process } = require("./process.cjs");
const { checkKnown, checkSettings } = require("./settings.cjs");
const { MAIN, Space, asyncDispose } = require("./space.cjs");

// Names with the kinds of their values.
const OPTIONS = {
  dataDir: "string", buckets: "any", seed: "string", profile: "string", accessKeyId: "string", secretAccessKey: "string",
  region: "string", port: "any", binary: "string", args: "any", environment: "any",
};
const OF_CONNECT = { endpoint: "any", accessKeyId: "string", secretAccessKey: "string", region: "string" };
const REGION = "us-east-1";
// Prefixes of variables that would be settings of the server.
const FOREIGN = /^(LITEIO|MINIO|AWS|COM_ADOBE)_/;

/** The main space of a server, which another process may have started. */
class MainSpace extends Space {
  constructor(control, options) {
    super(control, { ...options, name: MAIN });
  }

  async space(name) {
    if (name !== undefined && name !== null && typeof name !== "string") {
      throw new TypeError(`space takes a name, not ${shown(name)}: a space starts with the buckets and the seed of the server`);
    }
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

  async logged() {
    throw new LiteIOError(
      "the log of a server of another process, such as the one for all files, is not available here: give the file options, " +
        'useSpace({ args: ["--log", "debug"] }), for a server of its own',
    );
  }
}

limitArguments(MainSpace, { space: 1, spaces: 0, logged: 0 });

class Server extends MainSpace {
  constructor(process, options) {
    super(new Control(process.endpoint, () => process.ending()), options);
    Object.defineProperty(this, "process", { value: process, enumerable: false });
  }

  get log() {
    return this.process.log;
  }

  async logged() {
    // A server that has ended has logged all.
    const id = await this.control.mark().catch(() => undefined);
    await (id ? this.process.logged(id) : this.process.ending());
    return this.log;
  }

  async stop() {
    await this.process.stop();
  }

  async [asyncDispose]() {
    await this.stop();
  }
}

async function startServer(given) {
  const options = given ?? {};
  checkOptions("the argument of startServer", options, OPTIONS);
  const { buckets = [], args = [], environment = {}, port = 0, profile, seed, dataDir, region } = options;
  for (const [name, list] of Object.entries({ buckets, args })) {
    if (!Array.isArray(list)) {
      throw new TypeError(`${name} is a list of strings`);
    }
  }
  for (const bucket of buckets.filter((it) => typeof it !== "string")) {
    // As s3rver has them.
    const name = typeof bucket?.name === "string" ? bucket.name : "photos";
    throw new TypeError(`buckets is a list of strings: give "${name}" instead of ${shown(bucket)}`);
  }
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new TypeError(`port is a number from 1 to 65535, or 0 for a free one, not ${inspect(port)}`);
  }
  checkSettings({ args, environment, buckets, seed, profile });
  const pair = profile === "minio" ? ["minioadmin", "minioadmin"] : ["liteio", "liteio123"];
  const { accessKeyId = pair[0], secretAccessKey = pair[1] } = options;
  const command = [
    findBinary(options.binary), "server", "--address", `127.0.0.1:${port}`,
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
    LITEIO_LOG: LOG_FILTER,
    LITEIO_TEST_API: "local",
    ...environment,
  });
  try {
    checkKnown(environment, started.lines);
  } catch (error) {
    await started.stop();
    throw error;
  }
  return new Server(started, { endpoint: started.endpoint, accessKeyId, secretAccessKey, region: region ?? REGION });
}

/** The origin of an endpoint, which people also write without `http://`. */
function originOf(endpoint) {
  // `localhost:9000` is a URL, too, with the scheme `localhost`.
  if (/^https?:\/\//i.test(endpoint)) {
    try {
      return new URL(endpoint).origin;
    } catch {
      // The error below tells more.
    }
  }
  const meant = /^[\w.-]+(:\d+)?$/.test(endpoint) ? `http://${endpoint}` : "http://127.0.0.1:9000";
  throw new TypeError(`the endpoint ${inspect(endpoint)} is not a URL of HTTP: give one such as ${meant}`);
}

function connect(given) {
  const options = given ?? {};
  checkOptions("the argument of connect", options, OF_CONNECT);
  const { env } = process;
  const endpoint = options.endpoint ?? env.LITEIO_ENDPOINT;
  if (!endpoint) {
    throw new LiteIOError("connect needs an endpoint: pass one, or set LITEIO_ENDPOINT, as `liteio exec` does");
  }
  const origin = originOf(endpoint);
  return new MainSpace(new Control(origin), {
    endpoint: origin,
    accessKeyId: options.accessKeyId ?? env.AWS_ACCESS_KEY_ID ?? "liteio",
    secretAccessKey: options.secretAccessKey ?? env.AWS_SECRET_ACCESS_KEY ?? "liteio123",
    region: options.region ?? env.AWS_REGION ?? REGION,
  });
}

module.exports = { OPTIONS, MainSpace, Server, startServer, connect };
