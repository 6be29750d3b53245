import type { ServerOptions } from "./index.cjs";

/** For `globalSetup` of Jest: one server for all test files. */
declare const setup: (() => Promise<void>) & {
  /** The same with options: `module.exports = withOptions({ profile: "minio" })` in your own file. */
  withOptions(options: ServerOptions): () => Promise<void>;
};
export = setup;
