"use strict";
// Client of the test API, with a new connection for each call, without proxy or pool.

const http = require("node:http");
const { LiteIOError, StartFailed, TestApiError, TestApiMissing } = require("./errors.cjs");
const { inJavaScript } = require("./names.cjs");

const MS_MAX = 30_000;
const TEST_API = "/_liteio/test";
const READY = "/_liteio/health/ready";
// Errors of a request to a server that does not listen yet; others do not pass by waiting.
const NOT_YET = ["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT"];
const MOCK_HINT =
  '; if a mock of HTTP blocks requests, let those to 127.0.0.1 pass, such as by nock.enableNetConnect("127.0.0.1"): ' +
  'docs/javascript.md, "With mocks of HTTP"';

class Control {
  /** The function tells why a server that this process has started does not answer. */
  constructor(endpoint, ending = async () => undefined) {
    const url = new URL(endpoint);
    if (url.protocol !== "http:") {
      throw new LiteIOError(`the endpoint ${endpoint} is not plain HTTP, which the test API needs`);
    }
    this.endpoint = endpoint;
    this.host = url.hostname.replace(/^\[|\]$/g, "");
    this.port = Number(url.port || 80);
    this.ending = ending;
  }

  /** JSON of the answer, or undefined without a body. */
  async call(method, path, { query = {}, body, msMax = MS_MAX } = {}) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    const target = TEST_API + path + (parameters && `?${parameters}`);
    const answer = this.exchange(method, target, body && JSON.stringify(body), msMax);
    const { status, text } = await answer.catch(async (error) => {
      const reason = await this.ending();
      if (!reason && error instanceof LiteIOError) {
        throw error;
      }
      const told = reason ?? `no server answers at ${this.endpoint}: ${textOf(error)}${isOfMock(error) ? MOCK_HINT : ""}`;
      throw new LiteIOError(told, { cause: error });
    });
    if (status >= 400) {
      throw errorOf(status, text);
    }
    return text ? JSON.parse(text) : undefined;
  }

  /** The id of a request that is answered now, and that the log has after those before: it is refused, since others are not logged. */
  async mark() {
    const { id } = await this.exchange("GET", `${TEST_API}/mark`, undefined, MS_MAX);
    return id;
  }

  /**
   * The reason why the server is not ready yet; undefined if it is. Throws StartFailed where waiting would not help, as when a
   * mock of HTTP refuses the request.
   */
  async notReady() {
    try {
      const { status } = await this.exchange("GET", READY, undefined, MS_MAX);
      return status === 200 ? undefined : `GET ${READY} answers with status ${status}`;
    } catch (error) {
      if (error instanceof LiteIOError || NOT_YET.includes(error.code)) {
        return textOf(error);
      }
      throw new StartFailed(`the server cannot be reached at ${this.endpoint}: ${textOf(error)}${MOCK_HINT}`, { cause: error });
    }
  }

  exchange(method, path, content, msMax) {
    return new Promise((resolve, reject) => {
      const headers = content
        ? { "content-type": "application/json", "content-length": Buffer.byteLength(content) }
        : {};
      const request = http.request({ host: this.host, port: this.port, method, path, headers, agent: false });
      request.setTimeout(msMax, () => request.destroy(new LiteIOError(`no answer within ${msMax} ms`)));
      request.on("error", reject);
      request.on("response", (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        const { statusCode: status, headers: { "x-amz-request-id": id } } = response;
        response.on("end", () => resolve({ status, id, text: Buffer.concat(chunks).toString() }));
      });
      request.end(content);
    });
  }
}

/** Of a name with several addresses the error has a code only. */
function textOf(error) {
  return error.message || error.code;
}

/** Whether a mock of HTTP has made the error: those of the network have a system call or a code of their own. */
function isOfMock({ code, syscall, errors }) {
  return !syscall && !errors && (code === undefined || code === "ENETUNREACH");
}

function errorOf(status, text) {
  const code = element(text, "Code") ?? "Unknown";
  const message = inJavaScript(element(text, "Message") ?? text);
  if (status === 404 && message.startsWith("The test API is off")) {
    return new TestApiMissing(
      status,
      code,
      "the server has no test API: it is older than this package, or was started without --test-api",
    );
  }
  return new TestApiError(status, code, message);
}

function element(document, name) {
  const text = new RegExp(`<${name}>(.*?)</${name}>`, "s").exec(document)?.[1];
  const entities = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text?.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity) => entities[entity]);
}

module.exports = { Control };
