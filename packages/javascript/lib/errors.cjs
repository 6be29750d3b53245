"use strict";

/** The base of the errors of this package. */
class LiteIOError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** There is no binary of the server. */
class BinaryNotFound extends LiteIOError {}

/** The server has ended, or is not ready, at its start. */
class StartFailed extends LiteIOError {}

/** The test API has refused a call. */
class TestApiError extends LiteIOError {
  constructor(status, code, text) {
    super(`${code} (${status}): ${text}`);
    this.status = status;
    this.code = code;
  }
}

/** The server has no test API. */
class TestApiMissing extends TestApiError {}

/** That which was waited for did not come in time. */
class WaitTimeout extends LiteIOError {}

module.exports = { LiteIOError, BinaryNotFound, StartFailed, TestApiError, TestApiMissing, WaitTimeout };
