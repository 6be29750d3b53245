"use strict";
// Names of the test API and their JavaScript names.

function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camel(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/** Rejects unknown names, which would have no effect. */
function checkNames(what, given, known) {
  for (const name of Object.keys(given ?? {})) {
    if (!known.includes(name)) {
      throw new TypeError(`${what} has no ${name}: it has ${known.join(", ")}`);
    }
  }
}

/** Converts a JavaScript object for the test API. */
function outward(what, given, known) {
  checkNames(what, given, known);
  const pairs = Object.entries(given ?? {}).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(pairs.map(([name, value]) => [snake(name), value]));
}

/** Converts a record of the test API, with times as dates. */
function inward(record) {
  const pairs = Object.entries(record).map(([name, value]) => [camel(name), name === "time" ? new Date(value) : value]);
  return Object.fromEntries(pairs);
}

module.exports = { checkNames, outward, inward };
