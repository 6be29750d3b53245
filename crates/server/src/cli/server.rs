//! The raw settings of the server.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use super::{BackupArgs, ClusterArgs, ConsoleOidcArgs, KeyArgs, Source, Sources};

/// The arguments of `liteio server`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerCommand {
    /// Directory of all data; the same as --data-dir.
    #[arg(value_name = "DIR")]
    pub(super) directories: Vec<String>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// The raw settings of the server.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerArgs {
    /// Emulate "minio", "localstack" or "s3mock": use its ports, credentials and defaults.
    #[arg(long, value_name = "NAME", env = "LITEIO_PROFILE")]
    pub(crate) profile: Option<String>,
    /// Profile "minio" on a directory of MinIO: "complete" takes over everything or ends, "incomplete" leaves
    /// out items that cannot be taken over, "keep" ignores later changes by MinIO [default: complete].
    #[arg(long, value_name = "HOW", env = "LITEIO_TAKE_OVER")]
    pub(crate) take_over: Option<String>,
    /// Address to listen on; ":PORT" is all interfaces (0.0.0.0), port 0 picks a free port [default:
    /// 127.0.0.1:9000; all interfaces with the profile "minio" and keys that are not the well-known ones].
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_ADDRESS")]
    pub(crate) address: Option<String>,
    /// PEM file with the TLS certificate chain for HTTPS, server certificate first; repeatable,
    /// selected by SNI. Reloaded when it changes.
    #[arg(long, value_name = "FILE", env = "LITEIO_TLS_CERT", value_delimiter = ',')]
    pub(crate) tls_cert: Vec<PathBuf>,
    /// PEM file with the private key of the certificate; one for each --tls-cert, in the same
    /// order.
    #[arg(long, value_name = "FILE", env = "LITEIO_TLS_KEY", value_delimiter = ',')]
    pub(crate) tls_key: Vec<PathBuf>,
    /// Serve HTTPS with a self-signed certificate, created and kept in the data directory.
    #[arg(long, env = "LITEIO_TLS_SELF_SIGNED", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) tls_self_signed: bool,
    /// Address to serve plain HTTP on, in addition to HTTPS.
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_PLAIN_ADDRESS")]
    pub(crate) plain_address: Option<String>,
    /// Address to serve bucket websites on, in addition to BUCKET.s3-website.DOMAIN: the bucket is
    /// the request's host, or its first label.
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_WEBSITE_ADDRESS")]
    pub(crate) website_address: Option<String>,
    /// Second address with the Iceberg REST catalog at its root, for clients that expect it there.
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_ICEBERG_ADDRESS")]
    pub(crate) iceberg_address: Option<String>,
    /// Serve the console at /_liteio/console/ [default: on].
    #[arg(long, value_name = "on|off", env = "LITEIO_CONSOLE", action = ArgAction::Set,
        value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    pub(crate) console: Option<bool>,
    /// Second address for browsers that expect the console there [default: none; port 9001 with the
    /// profile "minio", if it is free].
    #[arg(long, value_name = "HOST:PORT", env = "LITEIO_CONSOLE_ADDRESS")]
    pub(crate) console_address: Option<String>,
    /// Address or network of a trusted proxy, whose Forwarded and X-Forwarded headers are used;
    /// repeatable. With "=for+proto+host" only the X-Forwarded headers named there, which the proxy
    /// sets.
    #[arg(long, value_name = "CIDR", env = "LITEIO_TRUSTED_PROXY", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<String>,
    /// Directory of all data; created if missing [default: ./data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Keep all data in memory; it is lost when the process ends.
    #[arg(long, env = "LITEIO_MEMORY", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) memory: bool,
    /// Durability of acknowledged writes: "fsync" survives a power failure, "os" only the end of
    /// the process [default: fsync].
    #[arg(long, value_name = "LEVEL", env = "LITEIO_DURABILITY")]
    pub(crate) durability: Option<String>,
    /// Memory in MiB for the metadata memtables and cache; more makes many small random writes
    /// cheaper, but leaves more log to replay after a crash [default: 192, or 1/8 of the memory].
    #[arg(long, value_name = "MIB", env = "LITEIO_METADATA_MEMORY")]
    pub(crate) metadata_memory: Option<u32>,
    /// Access key of the root user, 3 to 128 characters [default: liteio].
    #[arg(long, value_name = "KEY", env = "LITEIO_ACCESS_KEY")]
    pub(crate) access_key: Option<String>,
    /// Secret key of the root user, 8 to 128 characters [default: liteio123].
    #[arg(long, value_name = "SECRET", env = "LITEIO_SECRET_KEY", hide_env_values = true)]
    pub(crate) secret_key: Option<String>,
    /// TOML file with any number of users, instead of --access-key and --secret-key.
    #[arg(long, value_name = "FILE", env = "LITEIO_CREDENTIALS_FILE")]
    pub(crate) credentials_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    /// Accept customer-provided keys (SSE-C) over unencrypted connections.
    #[arg(long, env = "LITEIO_ALLOW_INSECURE_SSE_C", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) allow_insecure_sse_c: bool,
    /// Accept Signature Version 2 in the Authorization header of S3 requests, as old clients send
    /// it. It covers neither the body nor most of the query, so use HTTPS.
    #[arg(long, env = "LITEIO_ALLOW_SIGNATURE_V2", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) allow_signature_v2: bool,
    /// Region that requests must be signed for [default: any; buckets are in us-east-1].
    #[arg(long, value_name = "REGION", env = "LITEIO_REGION")]
    pub(crate) region: Option<String>,
    /// Domain for virtual-hosted-style requests (BUCKET.NAME), repeatable; localhost and
    /// s3.localhost always work.
    #[arg(long, value_name = "NAME", env = "LITEIO_DOMAIN", value_delimiter = ',')]
    pub(crate) domain: Vec<String>,
    /// Object ownership of new buckets that specify none: "bucket-owner-enforced" disables ACLs, as
    /// on AWS; "bucket-owner-preferred" and "object-writer" enable them [default:
    /// bucket-owner-enforced].
    #[arg(long, value_name = "OWNERSHIP", env = "LITEIO_OBJECT_OWNERSHIP")]
    pub(crate) object_ownership: Option<String>,
    /// Make new buckets as AWS makes them: objects are encrypted (SSE-S3), by a key of the process if
    /// everything is in memory and no master key is given, and a public access block is set.
    #[arg(long, env = "LITEIO_AWS_DEFAULTS", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) aws_defaults: bool,
    /// Bucket to create at startup if it does not exist, repeatable: public, download (read) and
    /// upload (write) grant anonymous access; versioned enables versioning, locked object lock.
    #[arg(
        long,
        value_name = "NAME[:public|download|upload][:versioned|locked]",
        env = "LITEIO_BUCKET",
        value_delimiter = ','
    )]
    pub(crate) bucket: Vec<String>,
    /// File with more such buckets, one per line.
    #[arg(long, value_name = "FILE", env = "LITEIO_BUCKET_FILE")]
    pub(crate) bucket_file: Option<PathBuf>,
    /// Directory or archive (.tar, .tar.gz, .tgz, .zip) to load at startup: its directories become
    /// buckets and the files in them objects, unless they exist.
    #[arg(long, value_name = "DIR|ARCHIVE", env = "LITEIO_SEED")]
    pub(crate) seed: Option<PathBuf>,
    /// Origin allowed by CORS on buckets without CORS rules, repeatable; * for all.
    #[arg(long, value_name = "ORIGIN", env = "LITEIO_CORS_ORIGIN", value_delimiter = ',')]
    pub(crate) cors_origin: Vec<String>,
    /// Log filter, such as "info", "warn" or "info,liteio::access=off" [default: info].
    #[arg(long, value_name = "FILTER", env = "LITEIO_LOG")]
    pub(crate) log: Option<String>,
    /// Log format: "text" or "json" [default: text].
    #[arg(long, value_name = "FORMAT", env = "LITEIO_LOG_FORMAT")]
    pub(crate) log_format: Option<String>,
    /// Days between scrubs, which read all data to find damage; 0 disables them, SIGUSR1 starts one
    /// [default: 7].
    #[arg(long, value_name = "DAYS", env = "LITEIO_SCRUB_DAYS")]
    pub(crate) scrub_days: Option<u32>,
    /// Scrub rate in MiB per second [default: 8].
    #[arg(long, value_name = "MIB", env = "LITEIO_SCRUB_RATE")]
    pub(crate) scrub_rate: Option<u32>,
    /// Length of a lifecycle day in seconds, for tests that cannot wait for midnight [default:
    /// 86400].
    #[arg(long, value_name = "SECONDS", env = "LITEIO_LIFECYCLE_DAY")]
    pub(crate) lifecycle_day: Option<u32>,
    /// Seconds that a restore of an archived object (RestoreObject) takes, at most 604800 [default:
    /// 1].
    #[arg(long, value_name = "SECONDS", env = "LITEIO_RESTORE_DELAY")]
    pub(crate) restore_delay: Option<u32>,
    /// Bucket whose catalog the Iceberg REST catalog (/_iceberg/v1/) uses for clients that name no
    /// warehouse.
    #[arg(long, value_name = "BUCKET", env = "LITEIO_ICEBERG_WAREHOUSE")]
    pub(crate) iceberg_warehouse: Option<String>,
    /// Gives tables and views of the Iceberg REST catalog a location in their warehouse where clients
    /// ask for one outside of it, which is refused otherwise.
    #[arg(long, env = "LITEIO_ICEBERG_OWN_LOCATIONS")]
    pub(crate) iceberg_own_locations: bool,
    /// Longest time in seconds until a request is in the server access log of its bucket
    /// (PutBucketLogging) [default: 300].
    #[arg(long, value_name = "SECONDS", env = "LITEIO_ACCESS_LOG_INTERVAL")]
    pub(crate) access_log_interval: Option<u32>,
    /// Webhook for event notifications, repeatable (in the variable, separated by spaces): buckets
    /// refer to it by NAME in the ARN of a queue, topic or function.
    #[arg(
        long,
        value_name = "NAME=URL",
        env = "LITEIO_WEBHOOK",
        value_delimiter = ' ',
        hide_env_values = true
    )]
    pub(crate) webhook: Vec<String>,
    /// Target of event notifications of any kind, repeatable (in the variable, separated by spaces):
    /// http://… and https://… for a webhook, sqs+http://… and sqs+https://… for a queue of SQS, redis://… and
    /// rediss://… for a Redis server, nats://… and tls://… for a NATS server.
    #[arg(
        long,
        value_name = "NAME=URL",
        env = "LITEIO_EVENT_TARGET",
        value_delimiter = ' ',
        hide_env_values = true
    )]
    pub(crate) event_target: Vec<String>,
    /// TOML file with more such targets, with their secrets; --webhook-file is the same.
    #[arg(long, value_name = "FILE", env = "LITEIO_EVENT_TARGET_FILE", alias = "webhook-file")]
    pub(crate) event_target_file: Option<PathBuf>,
    /// TOML file with the targets of replication: buckets of other servers, with the users who write
    /// there.
    #[arg(long, value_name = "FILE", env = "LITEIO_REPLICATION_FILE")]
    pub(crate) replication_file: Option<PathBuf>,
    /// TOML file with the tiers that lifecycle rules move bodies to: buckets of other servers, with
    /// the users who write there.
    #[arg(long, value_name = "FILE", env = "LITEIO_TIER_FILE")]
    pub(crate) tier_file: Option<PathBuf>,
    /// Access to the metrics at /_liteio/metrics: "jwt" requires a token from `mc admin prometheus
    /// generate` or a signed request of a user with admin:Prometheus; "public" requires nothing
    /// [default: jwt].
    #[arg(long, value_name = "READERS", env = "LITEIO_METRICS_AUTH")]
    pub(crate) metrics_auth: Option<String>,
    /// File that the audit log is appended to, one line of JSON per request.
    #[arg(long, value_name = "FILE", env = "LITEIO_AUDIT_FILE")]
    pub(crate) audit_file: Option<PathBuf>,
    /// Size in MiB at which the audit file is rotated to FILE.1 [default: no rotation].
    #[arg(long, value_name = "MIB", env = "LITEIO_AUDIT_FILE_SIZE")]
    pub(crate) audit_file_size: Option<u32>,
    /// Number of rotated audit files to keep, FILE.1 to FILE.N; older ones are deleted [default:
    /// 10].
    #[arg(long, value_name = "FILES", env = "LITEIO_AUDIT_FILES_KEPT")]
    pub(crate) audit_files_kept: Option<u32>,
    /// URL that audit log entries are posted to.
    #[arg(long, value_name = "URL", env = "LITEIO_AUDIT_WEBHOOK", hide_env_values = true)]
    pub(crate) audit_webhook: Option<String>,
    /// Bearer token for --audit-webhook.
    #[arg(long, value_name = "TOKEN", env = "LITEIO_AUDIT_WEBHOOK_TOKEN", hide_env_values = true)]
    pub(crate) audit_webhook_token: Option<String>,
    /// URL of an OpenTelemetry collector that request spans are sent to (OTLP over HTTP).
    #[arg(long, value_name = "URL", env = "LITEIO_OTLP_ENDPOINT", hide_env_values = true)]
    pub(crate) otlp_endpoint: Option<String>,
    /// PEM file of certificate authorities to trust for outgoing connections, in addition to the
    /// built-in public ones: targets of events, issuers, the audit log, OTLP, the backup. Those of
    /// replication and tiers are in the file that SSL_CERT_FILE or AWS_CA_BUNDLE names.
    #[arg(long, value_name = "FILE", env = "LITEIO_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) backup: BackupArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// The command is `liteio standby`.
    #[arg(skip)]
    pub(crate) is_standby: bool,
    /// OpenID Connect issuer whose tokens are accepted as web identities
    /// (AssumeRoleWithWebIdentity), with the accepted audiences (*: all); repeatable.
    #[arg(long, value_name = "URL,AUDIENCE…", env = "LITEIO_OIDC_ISSUER", value_delimiter = ' ')]
    pub(crate) oidc_issuer: Vec<String>,
    #[command(flatten)]
    pub(crate) console_oidc: ConsoleOidcArgs,
    /// Enable the test API at /_liteio/test: resets, snapshots, faults, time. "local" accepts
    /// requests from this machine, "any" from everywhere; they need no signature [default: off;
    /// without a value: local].
    #[arg(
        long,
        value_name = "ACCESS",
        env = "LITEIO_TEST_API",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "local"
    )]
    pub(crate) test_api: Option<String>,
    /// Maximum number of queued events per target; further events are lost [default: 100000].
    #[arg(long, value_name = "EVENTS", env = "LITEIO_EVENT_QUEUE")]
    pub(crate) event_queue: Option<u32>,
    /// Delete the events queued for a target that no longer exists; repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) drop_events: Vec<String>,
    /// Treat every request as the root user's; do not check signatures. Allowed only on loopback or
    /// in a container.
    #[arg(long, env = "LITEIO_NO_AUTH", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) no_auth: bool,
    /// The server runs in a container: listen on all interfaces, keep the data in /data, and
    /// generate credentials if none are given.
    #[arg(long, env = "LITEIO_IN_CONTAINER", hide = true, action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) in_container: bool,
    #[command(flatten)]
    pub(crate) minio: MinioArgs,
    /// Host of the address, if --address is not given. For compatibility with earlier versions.
    #[arg(long, value_name = "HOST", hide = true)]
    pub(crate) host: Option<String>,
    /// Port of the address, instead of --address.
    #[arg(long, short, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Data location as in earlier versions: memory:// or local:///DIR.
    #[arg(long, value_name = "DSN", hide = true)]
    pub(crate) driver: Option<String>,
    /// The same as --log warn. For compatibility with earlier versions.
    #[arg(long, hide = true)]
    pub(crate) no_log: bool,
    /// Region reported for buckets if --region is not given.
    #[arg(skip)]
    pub(crate) told_region: Option<String>,
    /// Names of keys of SSE-KMS to make for data in memory.
    #[arg(skip)]
    pub(crate) kms_keys: Vec<String>,
    /// Encrypt objects of buckets without default encryption with the master key.
    #[arg(skip)]
    pub(crate) auto_encryption: bool,
    /// Data directories given as arguments of `liteio server`.
    #[arg(skip)]
    pub(crate) directories: Vec<String>,
    /// Notes about these settings, logged at startup.
    #[arg(skip)]
    pub(crate) notes: Vec<String>,
    #[arg(skip)]
    pub(crate) sources: Sources,
    /// Allow the default credentials on addresses other than loopback.
    #[arg(long, env = "LITEIO_ALLOW_DEFAULT_CREDENTIALS", action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) allow_default_credentials: bool,
}

impl ServerArgs {
    /// The host to listen on if no address is given.
    pub(crate) fn host(&self) -> &str {
        let default = if self.in_container { "0.0.0.0" } else { "127.0.0.1" };
        self.host.as_deref().unwrap_or(default)
    }

    /// True if `setting` was given by a source of higher precedence than the source of `other`.
    pub(crate) fn outranks(&self, setting: &str, other: &str) -> bool {
        let rank = |setting| self.sources.get(setting).map(Source::rank);
        rank(setting) > rank(other)
    }
}

/// Flags of `minio server`: supported ones, and ones that are accepted and ignored so that existing
/// command lines work.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct MinioArgs {
    /// Directory with public.crt and private.key, for HTTPS.
    #[arg(long, short = 'S', value_name = "DIR", hide = true)]
    pub(crate) certs_dir: Option<PathBuf>,
    /// The same as --log-format json.
    #[arg(long, hide = true)]
    pub(crate) json: bool,
    /// Do not print the startup banner.
    #[arg(long, hide = true)]
    pub(crate) quiet: bool,
    /// No effect: the log never contains secrets.
    #[arg(long, hide = true)]
    anonymous: bool,
}
