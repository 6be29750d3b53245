"use strict";

/** Base class of the errors of this package. */
class LiteIOError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server binary was not found. */
class BinaryNotFound extends LiteIOError {}

/** The server ended during its start, or did not become ready. */
class StartFailed extends LiteIOError {}

/** The test API rejected a call. */
class TestApiError extends LiteIOError {
  constructor(status, code, text) {
    super(`${code} (${status}): ${text}`);
    this.status = status;
    this.code = code;
    Object.defineProperty(this, "text", { value: text, enumerable: false });
  }
}

/** The server has no test API. */
class TestApiMissing extends TestApiError {}

/** The awaited request or event did not arrive in time. */
class WaitTimeout extends LiteIOError {}

module.exports = { LiteIOError, BinaryNotFound, StartFailed, TestApiError, TestApiMissing, WaitTimeout };
