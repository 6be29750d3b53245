// Creates the package of a platform, such as @liteio/linux-x64, from the server binary:
//
//     node scripts/platform-package.js BINARY DIRECTORY
//
// The platform is read from the binary. The script creates DIRECTORY for `npm publish` or `npm pack`.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PROGRAM_INTERPRETER = 3; // p_type of the segment that names a dynamic linker.

export function platformOf(program, name) {
  if (program.length >= 64 && program.readUInt32BE(0) === 0x7f454c46 && program.readUInt16BE(4) === 0x0201) {
    const cpu = { 0x3e: "x64", 0xb7: "arm64" }[program.readUInt16LE(18)];
    if (cpu) {
      return { os: "linux", cpu, isStatic: !isDynamic(program) };
    }
  }
  if (program.length >= 8 && program.readUInt32LE(0) === 0xfeedfacf) {
    const cpu = { 0x01000007: "x64", 0x0100000c: "arm64" }[program.readUInt32LE(4)];
    if (cpu) {
      return { os: "darwin", cpu, isStatic: true };
    }
  }
  throw new Error(`${name} is not a program for Linux or macOS on x64 or arm64`);
}

function isDynamic(program) {
  const offset = Number(program.readBigUInt64LE(32));
  const [size, count] = [program.readUInt16LE(54), program.readUInt16LE(56)];
  const kinds = Array.from({ length: count }, (_, index) => program.readUInt32LE(offset + size * index));
  return kinds.includes(PROGRAM_INTERPRETER);
}

export function makePackage(binary, directory) {
  const { os, cpu, isStatic } = platformOf(readFileSync(binary), binary);
  if (!isStatic) {
    console.error(`warning: ${binary} is not static, so the package works only on systems like this one`);
  }
  const root = join(dirname(fileURLToPath(import.meta.url)), "..");
  const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const name = `@liteio/${os}-${cpu}`;
  mkdirSync(join(directory, "bin"), { recursive: true });
  copyFileSync(binary, join(directory, "bin", "liteio"));
  chmodSync(join(directory, "bin", "liteio"), 0o755);
  for (const file of ["LICENSE-MIT", "LICENSE-APACHE"]) {
    copyFileSync(join(root, file), join(directory, file));
  }
  const description = `LiteIO binary for ${os} on ${cpu}`;
  const manifest = { name, version, description, license, os: [os], cpu: [cpu], preferUnplugged: true };
  writeFileSync(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return name;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [binary, directory] = process.argv.slice(2);
  if (!binary || !directory) {
    console.error("usage: node scripts/platform-package.js BINARY DIRECTORY");
    process.exit(2);
  }
  try {
    console.log(makePackage(binary, directory));
  } catch (error) {
    console.error(`platform-package: ${error.message}`);
    process.exit(1);
  }
}
