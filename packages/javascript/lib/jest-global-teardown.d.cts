/** For `globalTeardown` of Jest. */
declare const teardown: () => Promise<void>;
export = teardown;
