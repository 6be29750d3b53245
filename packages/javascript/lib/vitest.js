// A space for each Vitest test, or a server that is reset before each.
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from "vitest";
import perTest from "./per-test.cjs";

// Beside a test with fixtures (`test.extend`) Vitest reads from the text of a hook which ones it uses, and fails unless the
// argument is destructured.
const hooks = {
  beforeAll,
  beforeEach: (hook) => beforeEach(({ task, onTestFinished }) => hook({ task, atEnd: onTestFinished })),
  // Vitest calls no onTestFinished for a test that has skipped itself.
  afterEach: (hook) => afterEach(({ task }) => hook({ task })),
  afterAll,
  provided: () => inject(perTest.PROVIDED),
  nameOfTest: () => expect.getState().currentTestName,
};

const NOTE =
  " (Vitest starts fixtures with `auto` before beforeEach: use useServer() for these, whose reset empties what they have stored, " +
  "or leave `auto` out and name the fixture in the test)";

export const useSpace = (options) => perTest.useSpace(hooks, options, NOTE);
export const useServer = (options) => perTest.useServer(hooks, options);
