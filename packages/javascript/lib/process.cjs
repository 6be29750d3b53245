"use strict";
// The process of a server. It always ends with the process that started it.
//
// The server runs under a small shell that holds the reading end of a pipe. The kernel closes the pipe when this process has ended
// for any reason. Then the shell sends SIGTERM to the server. stop() writes a line, which is the first SIGTERM, and closes the pipe,
// which is the second: the server cuts off the requests in flight.

const { spawn } = require("node:child_process");
const { StartFailed } = require("./errors.cjs");
const { Control } = require("./control.cjs");
const { inOptions } = require("./settings.cjs");

const START_MS_MAX = 30_000;
const STOP_MS_MAX = 10_000;
// For the requests in flight: those of a test that has ended wait for a client that does not read.
const IN_FLIGHT_MS_MAX = 1000;
// What the server logs, and what that is in a test.
const CUT_OFF = "requests still in flight are cut off";
const OPEN_HINT = "requests were still open at the stop, which waited a second for them: is the body of an answer not read?";
// Of the log, unless the user gives one.
const LOG_FILTER = "warn";
// Between the last connection of a server that was killed and the end of its process.
const END_MS_MAX = 1000;
const READY_POLL_MS = 5;
const LOG_LINES_MAX = 1000;
// The server gathers lines for 10 ms. Where the log has no lines of requests there is none to wait for: warnings come at once.
const LOG_MS_MAX = 2000;
const LOG_MS_WITHOUT_REQUESTS = 50;
// Of a server that has ended; the log has the others.
const LOG_LINES_SHOWN = 20;
const WATCH = `
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{ read -r _ && kill -s TERM "$server" && read -r _; kill -s TERM "$server"; } <&3 >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$server"
code=$?
kill "$watch" 2>/dev/null
exit "$code"
`;

class Process {
  static async start(command, environment) {
    const started = new Process(command, environment);
    try {
      started.endpoint = await started.waitUntilReady();
    } catch (error) {
      await started.stop();
      throw error;
    }
    started.hold(false);
    return started;
  }

  constructor(command, environment) {
    this.lines = [];
    // By the id of a request whose line is awaited.
    this.awaited = new Map();
    this.logsRequests = command.some((it) => /^--log(=|$)/.test(it)) || environment.LITEIO_LOG !== LOG_FILTER;
    [this.program] = command;
    this.child = spawn("/bin/sh", ["-c", WATCH, "liteio", ...command], {
      env: environment,
      stdio: ["pipe", "pipe", "pipe"],
      detached: true, // Ctrl-C ends the tests first, and they the server.
    });
    this.child.stdin.on("error", () => {});
    this.ended = new Promise((resolve) => {
      this.child.on("error", (error) => resolve(error.message));
      this.child.on("close", (code, signal) => resolve(`exit code ${code ?? signal}`));
    });
    this.announced = new Promise((resolve) => {
      readLines(this.child.stdout, (line) => {
        const found = /^\s*Endpoint\s+(\S+)/.exec(line);
        if (found) {
          resolve(found[1]);
        }
      });
    });
    readLines(this.child.stderr, (line) => {
      const [, found] = [...this.awaited].find(([id]) => line.includes(id)) ?? [];
      if (found) {
        return found();
      }
      this.lines.push(line);
      if (this.lines.length > LOG_LINES_MAX) {
        this.lines.shift();
      }
    });
  }

  get log() {
    return this.lines.join("\n");
  }

  /** Waits for the line of a request, after which the log has those of the requests before, and drops it. */
  async logged(id) {
    const late = timer(this.logsRequests ? LOG_MS_MAX : LOG_MS_WITHOUT_REQUESTS);
    const found = new Promise((resolve) => this.awaited.set(id, resolve));
    const place = this.lines.findIndex((line) => line.includes(id));
    if (place >= 0) {
      this.lines.splice(place, 1);
    } else {
      await Promise.race([found, late.passed, this.ended]);
    }
    this.awaited.delete(id);
    late.cancel();
  }

  /** Shuts the server down and waits for it; a second call has no effect. */
  async stop() {
    this.hold(true);
    if (!this.isStopped) {
      this.isStopped = true;
      this.child.stdin.write("\n");
    }
    await this.endsWithin(IN_FLIGHT_MS_MAX);
    this.child.stdin.end();
    if (this.child.pid && !(await this.endsWithin(STOP_MS_MAX))) {
      process.kill(-this.child.pid, "SIGKILL");
    }
    await this.ended;
    this.hold(false);
    if (this.log.includes(CUT_OFF) && !this.lines.includes(OPEN_HINT)) {
      this.lines.push(OPEN_HINT);
    }
  }

  /** How the server has ended; undefined after so many milliseconds. */
  async endsWithin(ms) {
    const late = timer(ms);
    const end = await Promise.race([this.ended, late.passed]);
    late.cancel();
    return end;
  }

  async waitUntilReady() {
    const late = timer(START_MS_MAX);
    try {
      const endpoint = await Promise.race([this.announced, this.failure(), late.passed]);
      const control = endpoint && new Control(endpoint);
      let reason = "it has not told its endpoint";
      while (endpoint && !late.over) {
        reason = await control.notReady();
        if (!reason) {
          return endpoint;
        }
        const pause = timer(READY_POLL_MS);
        await Promise.race([this.failure(), pause.passed]);
      }
      throw new StartFailed(`the server was not ready within ${START_MS_MAX} ms: ${[reason, ...this.lines].join("\n")}`);
    } finally {
      late.cancel();
    }
  }

  async failure() {
    const end = await this.ended;
    throw new StartFailed(`the server has ended, ${end}: ${inOptions(this.log) || `no output of ${this.program}`}`);
  }

  /** The reason why the server does not answer; undefined if it should. */
  async ending() {
    if (this.isStopped) {
      return "the server was stopped";
    }
    const end = await this.endsWithin(END_MS_MAX);
    return end && `the server has ended, ${end}: ${this.lines.slice(-LOG_LINES_SHOWN).join("\n") || "no output"}`;
  }

  /** A running server does not keep this process alive; its start and its shutdown do. */
  hold(held) {
    for (const handle of [this.child, this.child.stdin, this.child.stdout, this.child.stderr]) {
      held ? handle.ref?.() : handle.unref?.();
    }
  }
}

function readLines(stream, take) {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    lines.forEach((line) => take(line.trimEnd()));
  });
  stream.on("end", () => rest && take(rest));
}

function timer(ms) {
  const made = { over: false };
  made.passed = new Promise((resolve) => {
    const timeout = setTimeout(() => {
      made.over = true;
      resolve(undefined);
    }, ms);
    made.cancel = () => clearTimeout(timeout);
  });
  return made;
}

module.exports = { LOG_FILTER, Process };
