import type { ClientConfig, MainSpace, ServerOptions, Space } from "./index.cjs";

/** The space of the test that runs. */
export interface PerTest {
  readonly server: MainSpace;
  readonly space: Space;
  readonly config: ClientConfig;
  readonly env: Record<string, string>;
}

/**
 * A space for each test of this file or `describe`; the variables AWS_… point at it meanwhile. The server is that of
 * the global setup, or one of its own where there is none, or where options are given. Tests run one after the other.
 */
export function useSpace(options?: ServerOptions): PerTest;
