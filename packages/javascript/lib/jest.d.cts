import type { ClientConfig, MainSpace, ServerOptions, Space } from "./index.cjs";

/** The space of the running test. */
export interface PerTest {
  readonly server: MainSpace;
  readonly space: Space;
  readonly config: ClientConfig;
  readonly env: Record<string, string>;
}

/**
 * Gives each test of this file or `describe` a space; the variables AWS_… point at it meanwhile. It uses the server
 * of the global setup, or its own server without a global setup or with options. Tests run one after the other.
 */
export function useSpace(options?: ServerOptions): PerTest;
