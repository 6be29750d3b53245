#!/usr/bin/env node
// The command `liteio`: runs the server binary, with its signals and its exit code.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBinary } from "../lib/index.js";

let binary;
try {
  binary = findBinary();
} catch (error) {
  console.error(`liteio: ${error.message}`);
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit", argv0: "liteio" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`liteio: ${binary}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
