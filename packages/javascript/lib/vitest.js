// A space for each Vitest test.
import * as hooks from "vitest";
import perTest from "./per-test.cjs";

export const useSpace = (options) => perTest.useSpace(hooks, options);
