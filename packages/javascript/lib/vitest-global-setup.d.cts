import type { ServerOptions } from "./index.cjs";

/**
 * For `globalSetup` of Vitest: one server for all test files, of one project if it is in the configuration of one. A setup of yours
 * that calls it passes its argument on.
 */
declare const setup: (project: object) => Promise<() => Promise<void>>;
export default setup;
/** The same with options: `export default withOptions({ profile: "minio" })` in your own file. */
export function withOptions(options: ServerOptions): typeof setup;
