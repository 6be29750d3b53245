"use strict";
// A space: its own buckets, vector buckets and users, selected by its credentials.

const { inspect } = require("node:util");
const { LiteIOError, TestApiError, TestApiMissing, WaitTimeout } = require("./errors.cjs");
const { checkOptions, limitArguments, outward, inward, shown } = require("./names.cjs");

// Names with the kinds of their values.
const RULE = {
  operation: "pattern", bucket: "pattern", key: "pattern", status: "whole", code: "string", message: "string",
  latencyMs: "whole", cutAfterBytes: "whole", bandwidth: "whole", times: "whole", probability: "number",
};
const REQUEST_FILTER = {
  operation: "pattern", bucket: "pattern", key: "pattern", method: "pattern", status: "status", user: "pattern",
  since: "whole",
};
const WAIT = { count: "whole", timeout: "number" };
const EVENT_FILTER = { bucket: "pattern", key: "pattern", name: "pattern", since: "whole" };
// Name of the space of a server itself.
const MAIN = "main";
// Vitest and Jest end a test after 5 s, without a word about what it waited for.
const TIMEOUT_MS = 4000;
// Of the recorded requests or events in the message of a wait that has failed.
const RECORDED_SHOWN = 5;
// Connection timeout in addition to the waiting time of the server.
const WAIT_MARGIN_MS = 10_000;
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** Variables that exclude the server from proxies, in addition to the existing exclusions. */
function noProxy(host) {
  const before = process.env.no_proxy || process.env.NO_PROXY || "";
  const hosts = before.split(",").map((it) => it.trim()).filter((it) => it);
  const direct = (hosts.includes(host) ? hosts : [...hosts, host]).join(",");
  return { NO_PROXY: direct, no_proxy: direct };
}

/** The alias `local` of `liteio client` and mc, which is a server on port 9000 otherwise. */
function localAlias(endpoint, accessKeyId, secretAccessKey) {
  // By a function: a secret may have `$&`, which a replacement has a meaning for.
  return endpoint.replace("://", () => `://${accessKeyId}:${secretAccessKey}@`);
}

/** Path of a snapshot. */
function snapshotPath(method, name) {
  if (typeof name !== "string" || name === "") {
    throw new TypeError(`${method} takes the name of a snapshot, not ${shown(name)}`);
  }
  return `/snapshots/${encodeURIComponent(name)}`;
}

/** What is to be deleted may be gone already: a reset removes rules, too. */
function unlessGone(error) {
  if (!(error instanceof TestApiError) || error instanceof TestApiMissing || error.status !== 404) {
    throw error;
  }
}

class Space {
  constructor(control, { name, endpoint, accessKeyId, secretAccessKey, region }) {
    Object.defineProperty(this, "control", { value: control, enumerable: false });
    this.name = name;
    this.endpoint = endpoint;
    this.accessKeyId = accessKeyId;
    this.secretAccessKey = secretAccessKey;
    this.region = region;
  }

  get testEndpoint() {
    return `${this.endpoint}/_liteio/test`;
  }

  get config() {
    const { accessKeyId, secretAccessKey } = this;
    return {
      endpoint: this.endpoint,
      region: this.region,
      credentials: { accessKeyId, secretAccessKey },
      forcePathStyle: true,
      // With AWS_USE_FIPS_ENDPOINT or AWS_USE_DUALSTACK_ENDPOINT in the shell the SDK refuses a custom endpoint.
      useFipsEndpoint: false,
      useDualstackEndpoint: false,
    };
  }

  get env() {
    return {
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_ENDPOINT_URL_S3: this.endpoint,
      AWS_ENDPOINT_URL_S3VECTORS: this.endpoint,
      AWS_ENDPOINT_URL_IAM: this.endpoint,
      AWS_ENDPOINT_URL_STS: this.endpoint,
      AWS_ACCESS_KEY_ID: this.accessKeyId,
      AWS_SECRET_ACCESS_KEY: this.secretAccessKey,
      AWS_REGION: this.region,
      AWS_DEFAULT_REGION: this.region,
      LITEIO_ENDPOINT: this.endpoint,
      LITEIO_TEST_ENDPOINT: this.testEndpoint,
      MC_HOST_local: localAlias(this.endpoint, this.accessKeyId, this.secretAccessKey),
      ...noProxy(new URL(this.endpoint).hostname),
    };
  }

  async reset(options) {
    // All is removed only where nothing else can be meant, as with a variable for the bucket that has no value.
    if (options !== undefined && (typeof options?.bucket !== "string" || Object.keys(options).length > 1)) {
      throw new TypeError(`reset takes nothing, for all buckets, or { bucket: "photos" }, for one, not ${shown(options)}`);
    }
    await this.call("POST", "/reset", {}, options);
  }

  async snapshot(name) {
    await this.call("PUT", snapshotPath("snapshot", name));
  }

  async restore(name) {
    await this.call("POST", `${snapshotPath("restore", name)}/restore`);
  }

  async snapshots() {
    return (await this.call("GET", "/snapshots")).snapshots.map(({ name }) => name);
  }

  async deleteSnapshot(name) {
    await this.call("DELETE", snapshotPath("deleteSnapshot", name));
  }

  async fault(rule) {
    const body = { ...outward("a fault", rule, RULE), space: this.name };
    const { id } = await this.control.call("POST", "/faults", { body });
    return new Fault(this, id, { ...rule });
  }

  async faults() {
    const { faults } = await this.call("GET", "/faults");
    return faults.map(({ id, hits, space, ...rule }) => new Fault(this, id, inward(rule)));
  }

  async clearFaults() {
    await this.call("DELETE", "/faults");
  }

  get clock() {
    return new Clock(this);
  }

  async requests(filter = {}) {
    const query = outward("a filter of requests", filter, { ...REQUEST_FILTER, limit: "whole" });
    return (await this.call("GET", "/requests", query)).requests.map(inward);
  }

  async clearRequests() {
    await this.call("DELETE", "/requests");
  }

  async waitForRequest(filter = {}, options = {}) {
    const query = outward("a filter of requests", filter, REQUEST_FILTER);
    checkOptions("the second argument of waitForRequest", options, WAIT);
    return (await this.wait("requests", query, options)).requests.map(inward);
  }

  async waitForEvent(filter = {}, options = {}) {
    const query = outward("a filter of events", filter, EVENT_FILTER);
    checkOptions("the second argument of waitForEvent", options, WAIT);
    return (await this.wait("events", query, options)).events.map(inward);
  }

  /** Deletes the space and its contents. */
  async delete() {
    if (this.name === MAIN) {
      throw new LiteIOError("the main space of a server cannot be deleted: reset() empties it");
    }
    await this.control.call("DELETE", `/spaces/${encodeURIComponent(this.name)}`);
  }

  async [asyncDispose]() {
    await this.delete().catch(unlessGone);
  }

  call(method, path, query = {}, body) {
    return this.control.call(method, path, { query: { ...query, space: this.name }, body });
  }

  async wait(what, filter, { count = 1, timeout = TIMEOUT_MS }) {
    const query = { ...filter, count, space: this.name, timeout_ms: Math.max(1, Math.round(timeout)) };
    try {
      return await this.control.call("GET", `/${what}/wait`, { query, msMax: timeout + WAIT_MARGIN_MS });
    } catch (error) {
      if (!(error instanceof TestApiError) || error.status !== 408) {
        throw error;
      }
      // The server says how many there were: `2 of 3 came within …`.
      const there = Number(/^\d+(?= of \d+ came)/.exec(error.text)?.[0] ?? 0);
      const seen = there > 0 ? `${there} of ${count} ${what} matched` : "nothing matched";
      const recorded = await this.lastRecorded(what, filter?.user !== undefined);
      throw new WaitTimeout(`${seen} ${JSON.stringify(filter)} within ${timeout} ms; recorded: ${recorded}`);
    }
  }

  /** The last requests or events of this space, each in a few words; requests with their users if the filter has one. */
  async lastRecorded(what, withUsers) {
    const query = { count: 1, timeout_ms: 1 };
    // 408 without any.
    const { [what]: all = [] } = await this.call("GET", `/${what}/wait`, query).catch(() => ({}));
    const shown = all.slice(-RECORDED_SHOWN).map(({ operation, name, method, bucket, key, status, user }) => {
      const target = [bucket, key].filter((it) => it).join("/");
      const by = withUsers && user ? `by ${user}` : "";
      return [operation ?? name ?? method, target, status, by].filter((it) => it).join(" ");
    });
    return [...(all.length > shown.length ? ["…"] : []), ...shown].join(", ") || `nothing${await this.recordedInMain(what)}`;
  }

  /** Their number in the main space: mostly of a client with the keys of the server, or with any keys where a profile takes them. */
  async recordedInMain(what) {
    if (this.name === MAIN) {
      return "";
    }
    const query = { count: 1, timeout_ms: 1 };
    const { [what]: all = [] } = await this.control.call("GET", `/${what}/wait`, { query }).catch(() => ({}));
    return all.length ? `, but ${all.length} in the main space, where a client without the keys of this space gets` : "";
  }
}

class Fault {
  constructor(space, id, rule) {
    Object.defineProperty(this, "space", { value: space, enumerable: false });
    this.id = id;
    this.rule = rule;
  }

  async hits() {
    const { faults } = await this.space.call("GET", "/faults");
    const found = faults.find(({ id }) => id === this.id);
    if (!found) {
      throw new LiteIOError(`the fault ${this.id} is not in force any more`);
    }
    return found.hits;
  }

  async remove() {
    await this.space.call("DELETE", `/faults/${encodeURIComponent(this.id)}`).catch(unlessGone);
  }

  async [asyncDispose]() {
    await this.remove();
  }
}

class Clock {
  constructor(space) {
    Object.defineProperty(this, "space", { value: space, enumerable: false });
  }

  async now() {
    return new Date((await this.space.call("GET", "/clock")).now);
  }

  /** Its lead over the clock of the machine, in milliseconds. */
  async offset() {
    return (await this.space.call("GET", "/clock")).offset_ms;
  }

  async set(moment) {
    // As a Date, null is 1970 and a truth value is a millisecond later.
    const isNone = moment === null || moment === undefined || typeof moment === "boolean";
    const date = new Date(isNone ? NaN : moment);
    if (Number.isNaN(date.getTime())) {
      throw new TypeError(
        `clock.set takes a Date, a text such as "2030-01-01T00:00:00Z" or milliseconds since 1970, not ${inspect(moment)}`,
      );
    }
    return this.put({ now: date.toISOString() });
  }

  async advance(ms) {
    if (!Number.isFinite(ms)) {
      throw new TypeError(`clock.advance takes a number of milliseconds, such as 3_600_000 for an hour, not ${inspect(ms)}`);
    }
    return this.put({ advance_ms: Math.round(ms) });
  }

  reset() {
    return this.put({ reset: true });
  }

  async put(body) {
    return new Date((await this.space.call("PUT", "/clock", {}, body)).now);
  }
}

limitArguments(Space, {
  reset: 1, snapshot: 1, restore: 1, snapshots: 0, deleteSnapshot: 1, fault: 1, faults: 0, clearFaults: 0, requests: 1,
  clearRequests: 0, waitForRequest: 2, waitForEvent: 2, delete: 0,
});
limitArguments(Fault, { hits: 0, remove: 0 }, "fault.");
limitArguments(Clock, { now: 0, offset: 0, set: 1, advance: 1, reset: 0 }, "clock.");

module.exports = { MAIN, Space, Fault, Clock, asyncDispose, localAlias };
