"use strict";
// Finds the server binary: LITEIO_BINARY, the package of this platform, or PATH, in this order.

const fs = require("node:fs");
const path = require("node:path");
const { BinaryNotFound } = require("./errors.cjs");

// Platforms with a package.
const PLATFORMS = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"];

let hasWarned = false;

function findBinary(given) {
  const named = given ?? process.env.LITEIO_BINARY;
  if (named) {
    if (isProgram(named)) {
      return path.resolve(named);
    }
    // In a workspace of several packages, a relative path is one of the package.
    const found = path.isAbsolute(named) ? "" : ` (${path.resolve(named)}): give an absolute path`;
    throw new BinaryNotFound(`${given ? "binary" : "LITEIO_BINARY"}: ${named} is not an executable file${found}`);
  }
  const platform = `${process.platform}-${process.arch}`;
  let found;
  try {
    // Where npm has linked this package, its own directory does not lead to the packages beside the link.
    found = require.resolve(`@liteio/${platform}/bin/liteio`, { paths: [__dirname, process.cwd()] });
  } catch {
    // The package is not installed.
  }
  if (found) {
    warnOfVersion(platform, found);
    return found;
  }
  for (const directory of (process.env.PATH ?? "").split(path.delimiter)) {
    const candidate = path.join(directory || ".", "liteio");
    if (isProgram(candidate) && !isScript(candidate)) {
      return path.resolve(candidate);
    }
  }
  const install = PLATFORMS.includes(platform)
    ? `install the package @liteio/${platform} of the same version, which docs/javascript.md makes from a clone`
    : `packages exist for ${PLATFORMS.join(", ")}, and this is ${platform} (on Windows use WSL)`;
  throw new BinaryNotFound(
    `the LiteIO binary was not found: ${install}, set LITEIO_BINARY to its path, or put the program ` +
      "`liteio` on PATH",
  );
}

/** A program of another version may lack what this package asks for. */
function warnOfVersion(platform, program) {
  const { version } = require("../package.json");
  const other = require(path.join(program, "..", "..", "package.json")).version;
  if (other !== version && !hasWarned) {
    hasWarned = true;
    process.emitWarning(`liteio ${version} uses @liteio/${platform} ${other}: install the same version of both`);
  }
}

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** A script of this name is the command of a LiteIO package, which would search for the binary again. */
function isScript(file) {
  try {
    const start = Buffer.alloc(2);
    const opened = fs.openSync(file, "r");
    try {
      fs.readSync(opened, start, 0, 2, 0);
    } finally {
      fs.closeSync(opened);
    }
    return start.toString() === "#!";
  } catch {
    return true;
  }
}

module.exports = { findBinary };
