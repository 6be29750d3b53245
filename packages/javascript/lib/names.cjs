"use strict";
// Names of the test API and their JavaScript names, and the kinds of their values.

const { inspect } = require("node:util");

function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camel(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/** A message of the test API with the names of JavaScript. */
function inJavaScript(message) {
  return message
    .replace(/\b(latency_ms|cut_after_bytes)\b/g, camel)
    .replace("timeout_ms", "timeout")
    .replace("DELETE /faults", "clearFaults()");
}

const shown = (value) => inspect(value, { depth: 1, breakLength: Infinity });
const isWhole = (value) => Number.isInteger(value) && value >= 0;

/** Kinds of values: what is wrong with a value, or undefined. */
const KINDS = {
  any: () => undefined,
  string: (value) => (typeof value === "string" ? undefined : `is a string, not ${shown(value)}`),
  whole: (value) => (isWhole(value) ? undefined : `is a whole number, not ${shown(value)}`),
  number: (value) => (Number.isFinite(value) && value >= 0 ? undefined : `is a number, not ${shown(value)}`),
  status: (value) => (isWhole(value) ? undefined : KINDS.pattern(value)),
  pattern(value) {
    if (typeof value === "string") {
      return undefined;
    }
    const name = typeof value === "function" ? value.name : value.constructor?.name;
    const [, operation] = /^(\w+)Command$/.exec(name) ?? [];
    return operation ? `is a string: give "${operation}"` : `is a string, not ${shown(value)}: patterns have * and ?`;
  },
};

/**
 * Rejects unknown names, which would have no effect, and values of another kind than the known names have. JSON would drop a
 * function, so that the rule would be for everything.
 */
function checkOptions(what, given, known) {
  const names = Object.keys(known);
  if (given !== undefined && given !== null && (typeof given !== "object" || Array.isArray(given))) {
    throw new TypeError(`${what} is an object with ${names.join(", ")}, not ${shown(given)}`);
  }
  for (const [name, value] of Object.entries(given ?? {})) {
    if (!Object.hasOwn(known, name)) {
      throw new TypeError(`${what} has no ${name}: it has ${names.join(", ")}`);
    }
    const wrong = value === undefined || value === null ? undefined : KINDS[known[name]](value);
    if (wrong) {
      throw new TypeError(`${what}: ${name} ${wrong}`);
    }
  }
}

/**
 * Makes methods reject arguments beyond the number that they take, which would have no effect: `clearFaults("1")` would remove
 * all.
 */
function limitArguments(type, numbers, prefix = "") {
  for (const [name, number] of Object.entries(numbers)) {
    const method = type.prototype[name];
    type.prototype[name] = async function (...given) {
      const surplus = given.slice(number).find((it) => it !== undefined);
      if (surplus !== undefined) {
        const taken = ["no argument", "one argument", "two arguments"][number];
        throw new TypeError(`${prefix}${name} takes ${taken}: ${shown(surplus)} would have no effect`);
      }
      return method.apply(this, given);
    };
  }
}

/** Converts a JavaScript object for the test API. */
function outward(what, given, known) {
  checkOptions(what, given, known);
  const pairs = Object.entries(given ?? {}).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(pairs.map(([name, value]) => [snake(name), value]));
}

/** Converts a record of the test API, with times as dates. */
function inward(record) {
  const pairs = Object.entries(record).map(([name, value]) => [camel(name), name === "time" ? new Date(value) : value]);
  return Object.fromEntries(pairs);
}

module.exports = { checkOptions, limitArguments, inJavaScript, outward, inward, shown };
