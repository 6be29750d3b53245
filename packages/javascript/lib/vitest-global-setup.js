// The global setup of Vitest: one server for all test files, of one project if it is in the configuration of one.
import perTest from "./per-test.cjs";

// Of a setup that returns this one, Vitest takes it for the teardown, which has no argument.
function setUp(options, project) {
  if (!project) {
    throw new TypeError(
      "the global setup of liteio/vitest/global-setup was called without the argument of Vitest, or returned by a setup instead " +
        "of called, so that it has started no server: `export default withOptions({ … })`, or in a setup of yours " +
        "`export default (project) => withOptions({ … })(project)`",
    );
  }
  return perTest.setUp(options, project.provide && ((shared) => project.provide(perTest.PROVIDED, shared)));
}

export const withOptions = (options) => (project) => setUp(options, project);
export default (project) => setUp(undefined, project);
