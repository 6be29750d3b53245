// The packages that hold the binary.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { platformOf } from "./platform-package.js";

function elf(machine, ...segments) {
  const header = Buffer.alloc(64);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]).copy(header);
  header.writeUInt16LE(machine, 18);
  header.writeBigUInt64LE(64n, 32);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(segments.length, 56);
  const programs = segments.map((kind) => {
    const program = Buffer.alloc(56);
    program.writeUInt32LE(kind);
    return program;
  });
  return Buffer.concat([header, ...programs]);
}

test("the platform is read from the binary", () => {
  const macho = Buffer.alloc(32);
  macho.writeUInt32LE(0xfeedfacf);
  macho.writeUInt32LE(0x0100000c, 4);
  assert.deepEqual(platformOf(elf(0x3e, 1), "it"), { os: "linux", cpu: "x64", isStatic: true });
  assert.deepEqual(platformOf(elf(0xb7, 1, 6), "it"), { os: "linux", cpu: "arm64", isStatic: true });
  assert.deepEqual(platformOf(macho, "it"), { os: "darwin", cpu: "arm64", isStatic: true });
});

test("a binary that is not there is told in one line", () => {
  const script = fileURLToPath(new URL("platform-package.js", import.meta.url));
  const run = spawnSync(process.execPath, [script, "/no/where", "/no/place"], { encoding: "utf8" });
  assert.deepEqual([run.status, run.stderr.split("\n").length], [1, 2], run.stderr);
  assert.match(run.stderr, /^platform-package: ENOENT: .*\/no\/where/);
});

test("a binary that is not static is known", () => {
  assert.equal(platformOf(elf(0x3e, 1, 3), "it").isStatic, false);
});

test("what is no program is refused", () => {
  for (const program of [Buffer.alloc(0), Buffer.from("#!/bin/sh\n"), elf(0x28), Buffer.from("MZ")]) {
    assert.throws(() => platformOf(program, "it"), /not a program for Linux or macOS/);
  }
});

// A package of theirs that nobody has published could be anybody's.
test("the package brings nothing from the registry", () => {
  const manifest = createRequire(import.meta.url)("liteio/package.json");
  assert.deepEqual(Object.keys(manifest).filter((name) => /dependencies/i.test(name)), []);
});
