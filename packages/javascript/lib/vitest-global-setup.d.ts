import type { ServerOptions } from "./index.js";

/** For `globalSetup` of Vitest: one server for all test files. */
declare const setup: () => Promise<() => Promise<void>>;
export default setup;
/** The same with options: `export default withOptions({ profile: "minio" })` in your own file. */
export function withOptions(options: ServerOptions): typeof setup;
