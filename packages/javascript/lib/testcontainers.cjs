// The module for Testcontainers: a server in a container, with its data in memory.
"use strict";
const { AbstractStartedContainer, GenericContainer, Wait } = require("testcontainers");

const PORT = 9000;

class LiteIOContainer extends GenericContainer {
  #username = "testaccess";
  #password = "testsecret";
  #region = "us-east-1";
  #buckets = [];

  constructor(image) {
    super(image);
    this.withExposedPorts(PORT);
    this.withWaitStrategy(Wait.forHttp("/_liteio/health/ready", PORT));
    this.withEnvironment({ LITEIO_MEMORY: "true" });
  }

  withUsername(username) {
    this.#username = username;
    return this;
  }

  withPassword(password) {
    this.#password = password;
    return this;
  }

  withRegion(region) {
    this.#region = region;
    return this;
  }

  withBuckets(...buckets) {
    // A second call would take the place of the first.
    this.#buckets.push(...buckets);
    return this.withEnvironment({ LITEIO_BUCKET: this.#buckets.join(",") });
  }

  async start() {
    // Without credentials the server would make a pair of its own.
    if (!this.#username || !this.#password) throw new Error("the username and the password must not be empty");
    this.withEnvironment({
      LITEIO_ACCESS_KEY: this.#username,
      LITEIO_SECRET_KEY: this.#password,
      LITEIO_REGION: this.#region,
    });
    return new StartedLiteIOContainer(await super.start(), this.#username, this.#password, this.#region);
  }
}

class StartedLiteIOContainer extends AbstractStartedContainer {
  #username;
  #password;
  #region;

  constructor(container, username, password, region) {
    super(container);
    this.#username = username;
    this.#password = password;
    this.#region = region;
  }

  getPort() {
    return this.getMappedPort(PORT);
  }

  getUsername() {
    return this.#username;
  }

  getPassword() {
    return this.#password;
  }

  getRegion() {
    return this.#region;
  }

  getConnectionUrl() {
    return `http://${this.getHost()}:${this.getPort()}`;
  }

  getConfig() {
    return {
      endpoint: this.getConnectionUrl(),
      region: this.#region,
      credentials: { accessKeyId: this.#username, secretAccessKey: this.#password },
      // The name of the host may be an address, before which no bucket can stand.
      forcePathStyle: true,
      useFipsEndpoint: false,
      useDualstackEndpoint: false,
    };
  }
}

module.exports = { LiteIOContainer, StartedLiteIOContainer };
