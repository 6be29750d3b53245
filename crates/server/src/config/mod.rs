//! The settings, checked together before a file or socket is opened.

mod address;
mod audit;
mod background;
pub(crate) mod backup;
mod buckets;
pub(crate) mod cluster;
mod console_oidc;
mod credentials;
mod domains;
pub(crate) mod environment;
mod events;
mod exposure;
mod health_url;
mod keys;
mod log;
mod metrics;
mod network;
mod notify;
mod otlp;
mod ownership;
mod profile;
mod replication;
mod resolve;
mod storage;
mod tables;
mod take_over;
pub(crate) mod test_api;
mod tiers;

use std::time::Duration;

pub use liteio_store::Durability;

pub use self::address::ListenAddress;
pub use self::background::Scrub;
pub use self::backup::{BackupSettings, BackupTarget};
#[cfg(feature = "cluster")]
pub(crate) use self::cluster::resolve as resolve_cluster;
pub use self::cluster::{BlobsPlace, ClusterSettings};
pub(crate) use self::health_url::resolve_health_url;
pub(crate) use self::keys::resolve_keys;
pub use self::keys::{KeySources, MasterKeySource};
pub use self::metrics::MetricsAuth;
pub use self::network::ConsoleAddress;
pub use self::ownership::ObjectOwnership;
pub use self::profile::Profile;
pub use self::replication::ReplicationSettings;
pub(crate) use self::storage::CONTAINER_DATA_DIR;
pub use self::storage::Storage;
pub use self::test_api::TestAccess;
pub use self::tiers::TierSettings;
pub use liteio_iam::settings::{CredentialsSource, OidcIssuer, SignInSettings};
pub use liteio_identity::{DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY};
pub use liteio_import::prepare::settings::{InitialBucket, Preparation, PublicAccess};
pub(crate) use liteio_import::volume::TakeOver;
pub use liteio_observe::audit::settings::{AuditPosts, AuditRotation, AuditSettings, AuditWebhook};
pub use liteio_observe::events::settings::{
    Destination, EventSettings, NatsServer, RedisFormat, RedisServer, SqsQueue, Webhook,
};
pub use liteio_observe::otlp_settings::OtlpSettings;
pub use liteio_wire::settings::{CertificateFiles, ConfigError, TlsSettings};

use self::background::{DAY, RESTORE_DELAY};
use self::domains::{ALWAYS_DOMAINS, DEFAULT_REGION};
use self::log::DEFAULT_LOG;
use crate::cli::{ServerArgs, Source};
use liteio_iam::settings::IdentitySettings;
use liteio_observe::telemetry::LogFormat;
use liteio_reports::Settings as ReportSettings;
use liteio_store::DEFAULT_DIRECTORY;
use liteio_tables::Settings as TableSettings;
use liteio_wire::proxy::Network;
use liteio_wire::settings::error;

/// A server's settings, complete and consistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The address to listen on.
    pub address: ListenAddress,
    /// The certificates for HTTPS; `None` for plain HTTP.
    pub tls: Option<TlsSettings>,
    /// The address for plain HTTP in addition to HTTPS.
    pub plain_address: Option<ListenAddress>,
    /// The address for websites only.
    pub website_address: Option<ListenAddress>,
    /// The second address with the Iceberg REST catalog at its root.
    pub iceberg_address: Option<ListenAddress>,
    /// The console is enabled.
    pub console: bool,
    /// The second address of the console.
    pub console_address: Option<ConsoleAddress>,
    /// The trusted proxies, whose `Forwarded` and `X-Forwarded-…` headers are used.
    pub trusted_proxies: Vec<Network>,
    /// The location of the data.
    pub storage: Storage,
    /// Memory of the metadata memtables and cache in bytes; `None` for a share of the process's
    /// memory.
    pub metadata_bytes: Option<usize>,
    /// The users who may sign requests.
    pub credentials: CredentialsSource,
    /// The encryption keys.
    pub keys: KeySources,
    /// Accept customer-provided keys (SSE-C) over unencrypted connections.
    pub allow_insecure_sse_c: bool,
    /// Accept Signature Version 2 in the Authorization header of S3 requests.
    pub allow_signature_v2: bool,
    /// Treat every request as the root user's; do not check signatures.
    pub no_auth: bool,
    /// The region of the server.
    pub region: String,
    /// Accept requests signed for any region, and buckets in any region.
    pub takes_any_region: bool,
    /// The server whose place this one takes.
    pub profile: Option<Profile>,
    /// The answer to data of a MinIO that cannot be taken over.
    pub take_over: TakeOver,
    /// Virtual-hosted-style domains, in lower case, without a port.
    pub domains: Vec<String>,
    /// The object ownership of new buckets that specify none.
    pub object_ownership: ObjectOwnership,
    /// New buckets are as on AWS: encrypted with the master key, and with a public access block.
    pub aws_defaults: bool,
    /// Objects of buckets without default encryption are encrypted with the master key.
    pub auto_encryption: bool,
    /// The buckets and objects to create before the first request.
    pub preparation: Preparation,
    /// Patterns of origins that CORS allows on buckets without CORS rules, and on paths outside
    /// buckets.
    pub cors_origins: Vec<String>,
    /// The filter of the log.
    pub log: String,
    /// The format of the log.
    pub log_format: LogFormat,
    /// The background scrub.
    pub scrub: Scrub,
    /// The length of a lifecycle day.
    pub lifecycle_day: Duration,
    /// Time that a restore of an archived object takes.
    pub restore_delay: Duration,
    /// Access logs and inventories.
    pub reports: ReportSettings,
    /// The Iceberg REST catalog.
    pub tables: TableSettings,
    /// The targets of events.
    pub events: EventSettings,
    /// The targets of replication.
    pub replication: ReplicationSettings,
    /// The tiers that bodies move to.
    pub tiers: TierSettings,
    /// The access to metrics.
    pub metrics_auth: MetricsAuth,
    /// The targets of the audit log.
    pub audit: AuditSettings,
    /// The OpenTelemetry collector.
    pub otlp: Option<OtlpSettings>,
    /// The continuous backup of the data directory.
    pub backup: Option<BackupSettings>,
    /// Follow the backup as a standby, until it is promoted.
    pub is_standby: bool,
    /// The clients that may use the test API, if it is enabled.
    pub test_api: Option<TestAccess>,
    /// The issuers of web identities, in addition to the credentials file's.
    pub oidc_issuers: Vec<OidcIssuer>,
    /// The sign-in to the console by an issuer.
    pub console_sign_in: Option<SignInSettings>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            address: ListenAddress { host: "127.0.0.1".to_owned(), port: 9000 },
            tls: None,
            plain_address: None,
            website_address: None,
            iceberg_address: None,
            console: true,
            console_address: None,
            trusted_proxies: Vec::new(),
            storage: Storage::Directory {
                path: DEFAULT_DIRECTORY.into(),
                durability: Durability::Fsync,
            },
            metadata_bytes: None,
            credentials: CredentialsSource::well_known(),
            keys: KeySources::default(),
            allow_insecure_sse_c: false,
            allow_signature_v2: false,
            no_auth: false,
            region: DEFAULT_REGION.to_owned(),
            takes_any_region: true,
            profile: None,
            take_over: TakeOver::default(),
            domains: ALWAYS_DOMAINS.map(str::to_owned).to_vec(),
            object_ownership: ObjectOwnership::default(),
            aws_defaults: false,
            auto_encryption: false,
            preparation: Preparation::default(),
            cors_origins: Vec::new(),
            log: DEFAULT_LOG.to_owned(),
            log_format: LogFormat::Text,
            scrub: Scrub::default(),
            lifecycle_day: DAY,
            restore_delay: RESTORE_DELAY,
            reports: ReportSettings::default(),
            tables: TableSettings::default(),
            events: EventSettings::default(),
            replication: ReplicationSettings::default(),
            tiers: TierSettings::default(),
            metrics_auth: MetricsAuth::default(),
            audit: AuditSettings::default(),
            otlp: None,
            backup: None,
            is_standby: false,
            test_api: None,
            oidc_issuers: Vec::new(),
            console_sign_in: None,
        }
    }
}

impl Config {
    /// The identity settings.
    pub(crate) fn identity(&self) -> IdentitySettings {
        IdentitySettings {
            credentials: self.credentials.clone(),
            oidc_issuers: self.oidc_issuers.clone(),
            ca_file: self.events.ca_file.clone(),
        }
    }
}

/// Adds the name of the variable that gave a setting to its error.
fn named_by(arguments: &ServerArgs, setting: &str, error: ConfigError) -> ConfigError {
    match arguments.sources.get(setting) {
        Some(Source::Variable(name)) => ConfigError(format!("{name}: {error}")),
        _ => error,
    }
}

#[cfg(test)]
mod command_tests;
#[cfg(test)]
mod tests;
