"use strict";
// Flags and variables of the server that are options of startServer. Beside the option they would contradict it, or have
// no effect, and the server object would not know of them.

const PORT = "use the option port";
const ADDRESS = "use the option port; the server always listens on 127.0.0.1";
const ACCESS_KEY = "use the option accessKeyId";
const SECRET_KEY = "use the option secretAccessKey";
const REGION = "use the option region";
const DATA = "use the option dataDir; without it the data are in memory";

const FLAGS = {
  "--port": PORT,
  "-p": PORT,
  "--address": ADDRESS,
  "--host": ADDRESS,
  "--access-key": ACCESS_KEY,
  "--secret-key": SECRET_KEY,
  "--region": REGION,
  "--memory": DATA,
  "--data-dir": DATA,
  "-d": DATA,
};
const VARIABLES = {
  LITEIO_PORT: PORT,
  LITEIO_ADDRESS: ADDRESS,
  LITEIO_HOST: ADDRESS,
  MINIO_ADDRESS: ADDRESS,
  LITEIO_ACCESS_KEY: ACCESS_KEY,
  LITEIO_ACCESS_KEY_FILE: ACCESS_KEY,
  MINIO_ROOT_USER: ACCESS_KEY,
  MINIO_ROOT_USER_FILE: ACCESS_KEY,
  MINIO_ACCESS_KEY: ACCESS_KEY,
  MINIO_ACCESS_KEY_FILE: ACCESS_KEY,
  LITEIO_SECRET_KEY: SECRET_KEY,
  LITEIO_SECRET_KEY_FILE: SECRET_KEY,
  MINIO_ROOT_PASSWORD: SECRET_KEY,
  MINIO_ROOT_PASSWORD_FILE: SECRET_KEY,
  MINIO_SECRET_KEY: SECRET_KEY,
  MINIO_SECRET_KEY_FILE: SECRET_KEY,
  LITEIO_REGION: REGION,
  MINIO_REGION: REGION,
  MINIO_REGION_NAME: REGION,
  MINIO_SITE_REGION: REGION,
  AWS_REGION: REGION,
  AWS_DEFAULT_REGION: REGION,
  COM_ADOBE_TESTING_S3MOCK_REGION: REGION,
  COM_ADOBE_TESTING_S3MOCK_STORE_REGION: REGION,
  LITEIO_MEMORY: DATA,
  LITEIO_IN_MEMORY: DATA,
  LITEIO_DATA_DIR: DATA,
};

// Variables that an option takes the place of, if it is given.
const OF_OPTIONS = {
  LITEIO_BUCKET: "buckets",
  LITEIO_BUCKET_FILE: "buckets",
  MINIO_DEFAULT_BUCKETS: "buckets",
  initialBuckets: "buckets",
  COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS: "buckets",
  COM_ADOBE_TESTING_S3MOCK_DOMAIN_INITIAL_BUCKETS: "buckets",
  LITEIO_SEED: "seed",
  LITEIO_PROFILE: "profile",
};

/**
 * Refuses a flag or a variable that is an option of its own, a variable beside the option or flag that takes its place, and a flag
 * with its value as a shell would have it.
 */
function checkSettings({ args, environment, buckets, seed, profile }) {
  const joined = args.find((it) => /^--?[a-z][^\s=]* /.test(it));
  if (joined) {
    const [flag, ...value] = joined.split(" ");
    throw new TypeError(`args has "${joined}": give ${JSON.stringify(flag)}, ${JSON.stringify(value.join(" "))}, which are two arguments`);
  }
  for (const flag of args.map(flagOf)) {
    if (Object.hasOwn(FLAGS, flag)) {
      throw new TypeError(`args has ${flag}: ${FLAGS[flag]}`);
    }
  }
  for (const name of Object.keys(environment)) {
    if (Object.hasOwn(VARIABLES, name)) {
      throw new TypeError(`environment has ${name}: ${VARIABLES[name]}`);
    }
    const [, setting] = /^LITEIO_(\w+)$/.exec(name) ?? [];
    const flag = setting && `--${setting.toLowerCase().replaceAll("_", "-")}`;
    const option = OF_OPTIONS[name];
    const isGiven = { buckets: buckets.length > 0, seed: seed !== undefined, profile: profile !== undefined }[option];
    if (isGiven || args.some((it) => flagOf(it) === flag)) {
      const beside = isGiven ? `the option ${option}` : `${flag} in args`;
      throw new TypeError(`environment has ${name}, which has no effect beside ${beside}: give one of them`);
    }
  }
}

/** The name of a flag without its value: `--port=1` and `-p1` have one. */
function flagOf(argument) {
  const text = String(argument);
  return text.startsWith("--") ? text.split("=", 1)[0] : text.slice(0, 2);
}

/** Refuses a variable that the server does not know. It tells so in its log, which nobody reads while tests pass. */
function checkKnown(environment, lines) {
  // In the log as text the message ends with the line, in the one as JSON with a quotation mark.
  const told = lines.map((line) => /(\w+) is unknown and has no effect[^"]*/.exec(line)).filter((found) => found);
  const [message] = told.find(([, name]) => Object.hasOwn(environment, name)) ?? [];
  if (message) {
    throw new TypeError(`environment: ${message}`);
  }
}

/** What the server says about its keys and its address, in the words of the options. */
function inOptions(text) {
  return text
    .replace(/\bLITEIO_ACCESS_KEY\b/g, "accessKeyId")
    .replace(/\bLITEIO_SECRET_KEY\b/g, "secretAccessKey")
    .replace(/secret key must have \d+ to \d+ characters$/m, '$&; for the keys of LocalStack: profile: "localstack", without keys')
    .replace(/--address HOST:PORT/g, "the option port");
}

module.exports = { checkSettings, checkKnown, inOptions };
