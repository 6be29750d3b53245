import type { ClientConfig, MainSpace, ServerOptions, Space } from "./index.cjs";

/** The space of the running test, or the server that is reset before each: its buckets are those of `space`. */
export interface PerTest {
  /** `await logged()` has the last lines of its log. There is none of the server of the global setup, a process of another. */
  readonly server: MainSpace & { readonly log?: string };
  readonly space: Space;
  readonly config: ClientConfig;
  readonly env: Record<string, string>;
}

/**
 * Gives each test of this file or `describe` a space; the variables AWS_… point at it in the test, in `beforeEach` and
 * in `afterEach`. It uses the server of the global setup, or its own server without a global setup or with options. Tests run
 * one after the other.
 */
export function useSpace(options?: ServerOptions): PerTest;

/**
 * Gives the tests of this file or `describe` a server that is reset before each test, with the same keys and endpoint for
 * all: for clients that are made once, outside of the tests. Without options it is a space of the server of the global
 * setup, if there is one. Tests run one after the other.
 */
export function useServer(options?: Omit<ServerOptions, "dataDir">): PerTest;
