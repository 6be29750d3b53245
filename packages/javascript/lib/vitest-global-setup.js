// The global setup of Vitest: one server for all test files.
import perTest from "./per-test.cjs";

export const withOptions = (options) => () => perTest.setUp(options);
export default () => perTest.setUp();
