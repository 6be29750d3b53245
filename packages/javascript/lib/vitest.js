// A space for each Vitest test, or a server that is reset before each.
import * as hooks from "vitest";
import perTest from "./per-test.cjs";

export const useSpace = (options) => perTest.useSpace(hooks, options);
export const useServer = (options) => perTest.useServer(hooks, options);
