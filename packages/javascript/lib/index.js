// LiteIO for tests: an object store that speaks Amazon S3, started in milliseconds.
import liteio from "./index.cjs";

export const {
  startServer, connect, findBinary, useEnvironment, Server, MainSpace, Space, Fault, Clock,
  LiteIOError, BinaryNotFound, StartFailed, TestApiError, TestApiMissing, WaitTimeout,
  useServer, useSpace,
} = liteio;
