/** Options of a server. */
export interface ServerOptions {
  /** A directory for the data; without it they are in memory. */
  dataDir?: string;
  /** Buckets to make at the start, each NAME[:public|download|upload][:versioned]. */
  buckets?: string[];
  /** A directory or an archive whose directories become buckets. */
  seed?: string;
  profile?: "minio" | "localstack" | "s3mock";
  accessKeyId?: string;
  secretAccessKey?: string;
  /** us-east-1 if it is not given. */
  region?: string;
  /** The path of the server's binary. */
  binary?: string;
  /** More flags of `liteio server`. */
  args?: string[];
  /** More variables of the server; LITEIO_…, MINIO_… and AWS_… of this process are not handed on. */
  environment?: Record<string, string>;
}

/** What a client of the AWS SDK takes. */
export interface ClientConfig {
  endpoint: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  forcePathStyle: boolean;
}

/** Requests that match `operation`, `bucket` and `key` (patterns with * and ?), and what happens to them. */
export interface FaultRule {
  operation?: string;
  bucket?: string;
  key?: string;
  /** They fail with this status, 400 to 599. */
  status?: number;
  code?: string;
  message?: string;
  /** They wait. */
  latencyMs?: number;
  /** The connection is closed after so many bytes of the answer's body. */
  cutAfterBytes?: number;
  /** Bytes per second of bodies. */
  bandwidth?: number;
  /** So often; always if it is not given. */
  times?: number;
  /** 0 to 1; 1 if it is not given. */
  probability?: number;
}

/** Filters of recorded requests: patterns with * and ?, such as operation "Put*" or status "5??". */
export interface RequestFilter {
  operation?: string;
  bucket?: string;
  key?: string;
  method?: string;
  status?: number | string;
  user?: string;
  /** A sequence number. */
  since?: number;
}

export interface EventFilter {
  bucket?: string;
  key?: string;
  /** Such as "s3:ObjectCreated:*". */
  name?: string;
  since?: number;
}

export interface RecordedRequest {
  id: string;
  sequence: number;
  time: Date;
  space?: string | null;
  method: string;
  operation?: string | null;
  bucket?: string | null;
  key?: string | null;
  query?: string | null;
  status: number;
  code?: string | null;
  user?: string | null;
  bytesIn: number;
  bytesOut: number;
  durationMs: number;
  userAgent?: string | null;
  headers?: Record<string, string> | null;
}

export interface RecordedEvent {
  sequence: number;
  name: string;
  bucket: string;
  key: string;
  versionId?: string | null;
  size?: number | null;
  etag?: string | null;
  time: Date;
}

export class LiteIOError extends Error {}
/** There is no binary of the server. */
export class BinaryNotFound extends LiteIOError {}
/** The server has ended, or is not ready, at its start. */
export class StartFailed extends LiteIOError {}
/** The test API has refused a call. */
export class TestApiError extends LiteIOError {
  readonly status: number;
  readonly code: string;
}
/** The server has no test API. */
export class TestApiMissing extends TestApiError {}
/** That which was waited for did not come in time. */
export class WaitTimeout extends LiteIOError {}

/** A rule that is in force until it is removed. */
export class Fault {
  private constructor();
  readonly id: string;
  readonly rule: FaultRule;
  /** The number of requests that it was applied to. */
  hits(): Promise<number>;
  remove(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The clock that a space goes by; it goes on running from where it is set. */
export class Clock {
  private constructor();
  now(): Promise<Date>;
  /** Milliseconds that it is ahead of the machine's. */
  offset(): Promise<number>;
  set(moment: Date | string | number): Promise<Date>;
  advance(ms: number): Promise<Date>;
  reset(): Promise<Date>;
}

/** Buckets, vector buckets and users of its own, chosen by its credentials. */
export class Space {
  protected constructor();
  /** Undefined for the main space of a server. */
  readonly name: string | undefined;
  readonly endpoint: string;
  readonly testEndpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  /** For clients of the AWS SDK: `new S3Client(space.config)`. */
  readonly config: ClientConfig;
  /** The variables by which AWS SDKs and the AWS CLI find this space. */
  readonly env: Record<string, string>;
  readonly clock: Clock;
  /**
   * Puts this space back to its start, which has the buckets and the seed that the server was given, and nothing else:
   * no users, faults, moves of the clock, requests and events. Snapshots stay.
   */
  reset(): Promise<void>;
  /** Keeps all there is under a name, in memory. */
  snapshot(name: string): Promise<void>;
  restore(name: string): Promise<void>;
  snapshots(): Promise<string[]>;
  deleteSnapshot(name: string): Promise<void>;
  fault(rule: FaultRule): Promise<Fault>;
  faults(): Promise<Fault[]>;
  clearFaults(): Promise<void>;
  /** Those that were recorded, shortly after their answers: right behind one, waitForRequest() is what to ask. */
  requests(filter?: RequestFilter & { limit?: number }): Promise<RecordedRequest[]>;
  clearRequests(): Promise<void>;
  /** The requests that match, once there are `count` (1); `timeout` is in milliseconds (10,000). */
  waitForRequest(filter?: RequestFilter, options?: { count?: number; timeout?: number }): Promise<RecordedRequest[]>;
  /** The events that match, once there is one; `timeout` is in milliseconds (10,000). */
  waitForEvent(filter?: EventFilter, options?: { timeout?: number }): Promise<RecordedEvent[]>;
  delete(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The main space of a server. */
export class MainSpace extends Space {
  /** A new space, which sees nothing of the others. Without a name it gets one. */
  space(name?: string): Promise<Space>;
  /** The names of the spaces beside the main one. */
  spaces(): Promise<string[]>;
}

/** A server, and its main space. */
export class Server extends MainSpace {
  /** The last lines that the server wrote: warnings, unless `environment` has another LITEIO_LOG. */
  readonly log: string;
  /** Stops the server in order, and waits for it. */
  stop(): Promise<void>;
}

/** Starts a server on a free port of this machine. It ends with stop(), or with this process, in whatever way. */
export function startServer(options?: ServerOptions): Promise<Server>;

/** A server that runs, such as that of `liteio exec`, whose variables are taken for what is not given. */
export function connect(options?: {
  endpoint?: string;
  accessKeyId?: string;
  secretAccessKey?: string;
  region?: string;
}): MainSpace;

/** The path of the server's binary. */
export function findBinary(given?: string): string;

/** Points the variables AWS_… of this process at a space; returns what puts them back. */
export function useEnvironment(space: Space): () => void;
