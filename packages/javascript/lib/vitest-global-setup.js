// The global setup of Vitest: one server for all test files, of one project if it is in the configuration of one.
import perTest from "./per-test.cjs";

// A setup of the user may call this one without the project.
const setUp = (options, project) =>
  perTest.setUp(options, project?.provide && ((shared) => project.provide(perTest.PROVIDED, shared)));

export const withOptions = (options) => (project) => setUp(options, project);
export default (project) => setUp(undefined, project);
