/** Options of a server. */
export interface ServerOptions {
  /** Directory for the data; default: in memory. */
  dataDir?: string | undefined;
  /** Buckets to create at start, each NAME[:public|download|upload][:versioned|locked]. */
  buckets?: string[] | undefined;
  /** A directory or an archive whose directories become buckets. */
  seed?: string | undefined;
  profile?: "minio" | "localstack" | "s3mock" | undefined;
  accessKeyId?: string | undefined;
  secretAccessKey?: string | undefined;
  /** The only region that the server accepts; default: any is, and clients get us-east-1. */
  region?: string | undefined;
  /** Port of 127.0.0.1 to listen on; default: a free one. */
  port?: number | undefined;
  /** Path of the server binary. */
  binary?: string | undefined;
  /** Additional flags of `liteio server`, but none that is an option here. */
  args?: string[] | undefined;
  /**
   * Additional variables of the server, but none that is an option here. It does not inherit LITEIO_…, MINIO_… and AWS_… of
   * this process.
   */
  environment?: Record<string, string> | undefined;
}

/** Configuration for a client of the AWS SDK. */
export interface ClientConfig {
  endpoint: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  forcePathStyle: boolean;
  useFipsEndpoint: boolean;
  useDualstackEndpoint: boolean;
}

/** A fault rule: the requests, by `operation`, `bucket` and `key` (patterns with * and ?), and the effect on them. */
export interface FaultRule {
  operation?: string | undefined;
  bucket?: string | undefined;
  key?: string | undefined;
  /** Status of the error answer, 400 to 599. */
  status?: number | undefined;
  code?: string | undefined;
  message?: string | undefined;
  /** Delay before the operation. */
  latencyMs?: number | undefined;
  /** Closes the connection after this number of bytes of the answer's body. */
  cutAfterBytes?: number | undefined;
  /** Bytes per second of both bodies. */
  bandwidth?: number | undefined;
  /** Number of requests the rule applies to; default: no limit. */
  times?: number | undefined;
  /** 0 to 1; default: 1. */
  probability?: number | undefined;
}

/** Filter for recorded requests: patterns with * and ?, such as operation "Put*" or status "5??". */
export interface RequestFilter {
  operation?: string | undefined;
  bucket?: string | undefined;
  key?: string | undefined;
  method?: string | undefined;
  status?: number | string | undefined;
  /**
   * The sender: the access key of the owner of the space, or an ARN, `arn:aws:iam::000000000000:user/bob` or
   * `arn:aws:sts::000000000000:assumed-role/ROLE/SESSION`.
   */
  user?: string | undefined;
  /** The first sequence number to match: `last.sequence + 1` for those after `last`. */
  since?: number | undefined;
}

export interface EventFilter {
  bucket?: string | undefined;
  key?: string | undefined;
  /** Such as "s3:ObjectCreated:*". */
  name?: string | undefined;
  /** The first sequence number to match: `last.sequence + 1` for those after `last`. */
  since?: number | undefined;
}

/** Number of requests or events to wait for (1), and the limit of the wait in milliseconds (4,000). */
export interface WaitOptions {
  count?: number | undefined;
  timeout?: number | undefined;
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
/** The server binary was not found. */
export class BinaryNotFound extends LiteIOError {}
/** The server ended during its start, or did not become ready. */
export class StartFailed extends LiteIOError {}
/** The test API rejected a call. */
export class TestApiError extends LiteIOError {
  readonly status: number;
  readonly code: string;
}
/** The server has no test API. */
export class TestApiMissing extends TestApiError {}
/** The awaited request or event did not arrive in time. */
export class WaitTimeout extends LiteIOError {}

/** A rule, active until it is removed. */
export class Fault {
  private constructor();
  readonly id: string;
  readonly rule: FaultRule;
  /** Number of requests that matched the rule. */
  hits(): Promise<number>;
  /** No effect if it is removed already, such as by clearFaults() or reset(). */
  remove(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The clock of a space; it continues to run after it is set. */
export class Clock {
  private constructor();
  now(): Promise<Date>;
  /** Its lead over the clock of the machine, in milliseconds. */
  offset(): Promise<number>;
  set(moment: Date | string | number): Promise<Date>;
  advance(ms: number): Promise<Date>;
  reset(): Promise<Date>;
}

/** A space: its own buckets, vector buckets and users, selected by its credentials. */
export class Space {
  protected constructor();
  /** `"main"` for the main space of a server. Requests without a signature reach a space by the header `x-liteio-space`. */
  readonly name: string;
  readonly endpoint: string;
  readonly testEndpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  /** Configuration for AWS SDK clients: `new S3Client(space.config)`. */
  readonly config: ClientConfig;
  /** Variables that point AWS SDKs and the AWS CLI at this space. */
  readonly env: Record<string, string>;
  readonly clock: Clock;
  /**
   * Restores the initial state of this space: the buckets and the seed of the server, without users, faults, clock
   * changes, requests and events. Snapshots stay. With `bucket`, only that bucket is as it was created.
   */
  reset(options?: { bucket: string }): Promise<void>;
  /** Saves the complete state under a name, in memory. It replaces a snapshot of that name. */
  snapshot(name: string): Promise<void>;
  restore(name: string): Promise<void>;
  snapshots(): Promise<string[]>;
  deleteSnapshot(name: string): Promise<void>;
  fault(rule: FaultRule): Promise<Fault>;
  faults(): Promise<Fault[]>;
  clearFaults(): Promise<void>;
  /** Recorded requests. A request is recorded shortly after its answer: use waitForRequest() right after a request. */
  requests(filter?: RequestFilter & { limit?: number | undefined }): Promise<RecordedRequest[]>;
  clearRequests(): Promise<void>;
  /** Waits for `count` (1) matching requests, including earlier ones; `timeout` is in milliseconds (4,000). */
  waitForRequest(filter?: RequestFilter, options?: WaitOptions): Promise<[RecordedRequest, ...RecordedRequest[]]>;
  /** Waits for `count` (1) matching events, including earlier ones; `timeout` is in milliseconds (4,000). */
  waitForEvent(filter?: EventFilter, options?: WaitOptions): Promise<[RecordedEvent, ...RecordedEvent[]]>;
  delete(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The main space of a server. */
export class MainSpace extends Space {
  /** Creates a space, isolated from the others. A name is generated if none is given. */
  space(name?: string): Promise<Space>;
  /** Names of all spaces except the main one. */
  spaces(): Promise<string[]>;
  /** The log of a `Server`; of one that belongs to another process there is none, which the error says. */
  logged(): Promise<string>;
  /** Shuts the server down, if it is a `Server`: one that connect() has reached belongs to another process. */
  stop?(): Promise<void>;
}

/** A server, and its main space. */
export class Server extends MainSpace {
  /** Last lines of the server log: warnings; with `args: ["--log", "debug"]` also the reasons of refusals. */
  readonly log: string;
  /** The same with the lines of all requests answered so far, which the server writes some milliseconds after the answers. */
  logged(): Promise<string>;
  /** Shuts the server down and waits for it. */
  stop(): Promise<void>;
}

/** Starts a server on a free port of this machine, or on `port`. It ends with stop(), or when this process ends for any reason. */
export function startServer(options?: ServerOptions): Promise<Server>;

/** Connects to a running server. Missing options come from the variables of `liteio exec`. */
export function connect(options?: {
  endpoint?: string | undefined;
  accessKeyId?: string | undefined;
  secretAccessKey?: string | undefined;
  region?: string | undefined;
}): MainSpace;

/** Path of the server binary. */
export function findBinary(given?: string): string;

/** Points the variables AWS_… of this process at a space; returns a function that restores them. */
export function useEnvironment(space: Space): () => void;
