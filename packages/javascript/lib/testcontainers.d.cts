import { AbstractStartedContainer, GenericContainer, type StartedTestContainer } from "testcontainers";

/**
 * A container of LiteIO, with its data in memory. Other settings of the server are variables, which `withEnvironment` sets:
 * `LITEIO_MEMORY: "false"` keeps the data in `/data` of the container.
 */
export class LiteIOContainer extends GenericContainer {
  constructor(image: string);
  /** Sets the access key of the root user; default: `testaccess`. */
  withUsername(username: string): this;
  /** Sets the secret key of the root user, of at least 8 characters; default: `testsecret`. */
  withPassword(password: string): this;
  /** Sets the region of the server; default: `us-east-1`. */
  withRegion(region: string): this;
  /** Creates buckets at start, each NAME[:public|download|upload][:versioned|locked]. */
  withBuckets(...buckets: string[]): this;
  /** Starts the container; resolves once the server is ready. */
  start(): Promise<StartedLiteIOContainer>;
}

export class StartedLiteIOContainer extends AbstractStartedContainer {
  constructor(container: StartedTestContainer, username: string, password: string, region: string);
  getPort(): number;
  getUsername(): string;
  getPassword(): string;
  getRegion(): string;
  /** URL of the endpoint, as this machine reaches it. */
  getConnectionUrl(): string;
  /** Settings of a client of the AWS SDK, such as `new S3Client(container.getConfig())`. */
  getConfig(): {
    endpoint: string;
    region: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
    forcePathStyle: boolean;
    useFipsEndpoint: boolean;
    useDualstackEndpoint: boolean;
  };
}
