//! The settings, checked together before a file or socket is opened.

mod audit;
pub(crate) mod backup;
mod buckets;
pub(crate) mod cluster;
mod console_oidc;
mod credentials;
pub(crate) mod environment;
mod metrics;
mod network;
mod notify_webhooks;
mod otlp;
mod profile;
mod replication;
mod take_over;
pub(crate) mod test_api;
mod tiers;

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

pub use liteio_store::Durability;

pub use self::backup::{BackupSettings, BackupTarget};
#[cfg(feature = "cluster")]
pub(crate) use self::cluster::resolve as resolve_cluster;
pub use self::cluster::{BlobsPlace, ClusterSettings};
pub use self::metrics::MetricsAuth;
pub use self::network::ConsoleAddress;
pub use self::profile::Profile;
pub use self::replication::ReplicationSettings;
pub use self::test_api::TestAccess;
pub use self::tiers::TierSettings;
pub use liteio_iam::settings::{CredentialsSource, OidcIssuer, SignInSettings};
pub use liteio_identity::{DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY};
pub use liteio_import::prepare::settings::{InitialBucket, Preparation, PublicAccess};
pub(crate) use liteio_import::volume::TakeOver;
pub use liteio_observe::audit::settings::{AuditPosts, AuditRotation, AuditSettings, AuditWebhook};
pub use liteio_observe::events::settings::{EventSettings, Webhook};
pub use liteio_observe::otlp_settings::OtlpSettings;
pub use liteio_wire::settings::{CertificateFiles, ConfigError, TlsSettings};

use self::environment::Variables;
use crate::cli::{HealthArgs, KeyArgs, ServerArgs, Source};
use crate::platform;
use liteio_iam::settings::IdentitySettings;
use liteio_observe::telemetry::{self, LogFormat};
use liteio_reports::Settings as ReportSettings;
use liteio_space::no_auth::{HostNames, NoAuth};
use liteio_store::DEFAULT_DIRECTORY;
use liteio_tables::Settings as TableSettings;
use liteio_wire::proxy::Network;
use liteio_wire::settings::error;

const DEFAULT_ADDRESS: &str = "127.0.0.1:9000";
const DEFAULT_PORT: u16 = 9000;
/// The volume of the container image.
pub(crate) const CONTAINER_DATA_DIR: &str = "/data";
const DEFAULT_REGION: &str = "us-east-1";
const DEFAULT_LOG: &str = "info";

/// Virtual-hosted-style domains that need no setting: browsers and resolvers map them to this
/// machine.
const ALWAYS_DOMAINS: [&str; 2] = ["localhost", "s3.localhost"];

const REGION_BYTES_MAX: usize = 63;
const DOMAIN_BYTES_MAX: usize = 253;
const DOMAIN_LABEL_BYTES_MAX: usize = 63;

/// Adds the name of the variable that gave a setting to its error.
fn named_by(arguments: &ServerArgs, setting: &str, error: ConfigError) -> ConfigError {
    match arguments.sources.get(setting) {
        Some(Source::Variable(name)) => ConfigError(format!("{name}: {error}")),
        _ => error,
    }
}

/// The address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    /// An IP address without brackets, or a host name.
    pub host: String,
    /// 0 picks a free port.
    pub port: u16,
}

impl ListenAddress {
    /// Parses `HOST:PORT`; IPv6 addresses are in brackets, an empty host means all IPv4 interfaces.
    ///
    /// # Errors
    /// [`ConfigError`] if the host is neither an IP address nor a host name, or the port is missing.
    pub fn parse(text: &str) -> Result<ListenAddress, ConfigError> {
        ListenAddress::parse_for("--address", text)
    }

    /// Parses the value of `option`.
    fn parse_for(option: &str, text: &str) -> Result<ListenAddress, ConfigError> {
        let advice = || {
            ConfigError(format!(
                "the address {text:?} is not valid: give {option} HOST:PORT, such as {DEFAULT_ADDRESS}"
            ))
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(advice)?;
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or_else(advice)?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let valid = match bracketed {
            Some(host) => host.parse::<Ipv6Addr>().is_ok(),
            None => host.is_empty() || host.parse::<IpAddr>().is_ok() || is_host_name(host),
        };
        // Without brackets, a colon could belong to the port or to the address.
        if !valid || (bracketed.is_none() && host.contains(':')) {
            return Err(advice());
        }
        let host = if host.is_empty() { "0.0.0.0" } else { bracketed.unwrap_or(host) };
        Ok(ListenAddress { host: host.to_owned(), port })
    }

    /// True if only this machine can connect.
    pub fn is_loopback(&self) -> bool {
        let ip = self.host.parse::<IpAddr>().map(|ip| ip.to_canonical());
        ip.map_or(self.host.eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback())
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(formatter, "[{}]:{}", self.host, self.port),
            false => write!(formatter, "{}:{}", self.host, self.port),
        }
    }
}

/// The location of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In memory of this process.
    Memory,
    /// In a directory.
    Directory {
        /// The directory; created if missing.
        path: PathBuf,
        /// The failures that an acknowledged write survives.
        durability: Durability,
    },
    /// In a database and a place of bodies, which several servers share.
    Cluster(Box<ClusterSettings>),
}

/// The source of the master key.
#[derive(Clone, PartialEq, Eq)]
pub enum MasterKeySource {
    /// A key that is made for this process, for data in memory.
    OfProcess,
    /// The value of a variable: keys in base64, separated by commas; the first one encrypts.
    Text(String),
    /// A file with one key per line; the first one encrypts.
    File(PathBuf),
}

// Written by hand, so that no key is logged.
impl fmt::Debug for MasterKeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MasterKeySource::OfProcess => formatter.write_str("OfProcess"),
            MasterKeySource::Text(_) => formatter.write_str("Text"),
            MasterKeySource::File(path) => formatter.debug_tuple("File").field(path).finish(),
        }
    }
}

/// The encryption keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySources {
    /// The master key of SSE-S3.
    pub master: Option<MasterKeySource>,
    /// The TOML file of the named keys of SSE-KMS.
    pub kms_file: Option<PathBuf>,
}

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

/// The object ownership of a bucket: the owner of objects, and whether ACLs are enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectOwnership {
    /// The bucket owner owns all objects, and ACLs are disabled. AWS's default.
    #[default]
    BucketOwnerEnforced,
    /// The bucket owner owns objects written with the ACL `bucket-owner-full-control`; others
    /// belong to their writers. ACLs are enabled.
    BucketOwnerPreferred,
    /// Objects belong to their writers. ACLs are enabled.
    ObjectWriter,
}

/// Limits of the metadata memory: with less, the memtables would be drained all the time; the
/// tables cannot use more.
const METADATA_MIB_MIN: u32 = 8;
const METADATA_MIB_MAX: u32 = 4_096;

/// A day of 24 hours.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Time that a restore takes: clients see that it is in progress, and tests wait for no hours.
const RESTORE_DELAY: Duration = Duration::from_secs(1);
/// Longest time of a restore. AWS's slowest ones take two days.
const RESTORE_DELAY_SECONDS_MAX: u32 = 7 * 24 * 60 * 60;

/// The background scrub, which reads all data again periodically to find damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrub {
    /// Days between the end of one scrub and the start of the next; 0 for scrubs on request only.
    pub days: u32,
    /// Scrub rate in MiB per second.
    pub mib_per_second: u32,
}

impl Default for Scrub {
    fn default() -> Scrub {
        Scrub { days: 7, mib_per_second: 8 }
    }
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

impl ServerArgs {
    /// The port to listen on if no address is given.
    fn port(&self, profile: Option<Profile>) -> u16 {
        self.port.or(profile.map(Profile::port)).unwrap_or(DEFAULT_PORT)
    }
}

impl Config {
    /// Checks the arguments, individually and together. Opens no file and no socket.
    ///
    /// # Errors
    /// [`ConfigError`] with advice.
    pub(crate) fn resolve(arguments: &ServerArgs) -> Result<Config, ConfigError> {
        let named = |setting| move |error| named_by(arguments, setting, error);
        let profile = arguments.profile.as_deref().map(Profile::parse).transpose();
        let profile = profile.map_err(named("profile"))?;
        let address = match &arguments.address {
            Some(address) => ListenAddress::parse(address).map_err(named("address"))?,
            None => {
                let port = arguments.port(profile);
                ListenAddress::parse(&format!("{}:{port}", arguments.host()))
                    .map_err(named("host"))?
            }
        };
        let tls = network::resolve_tls(arguments)?;
        let region = arguments.region.as_deref().map(|region| (region, "region"));
        let told = arguments.told_region.as_deref().map(|region| (region, "told_region"));
        let (region, setting) = region.or(told).unwrap_or((DEFAULT_REGION, "region"));
        let plain_address = network::resolve_plain_address(arguments, tls.is_some());
        let console_address = network::resolve_console_address(arguments, profile, &address);
        let storage = resolve_storage(arguments)?;
        let mut keys = resolve_keys(&arguments.keys)?;
        // A key that ends with the process is for data that ends with it.
        if arguments.aws_defaults && storage == Storage::Memory && keys.master.is_none() {
            keys.master = Some(MasterKeySource::OfProcess);
        }
        let config = Config {
            address,
            console: arguments.console.unwrap_or(true),
            console_address: console_address.map_err(named("console_address"))?,
            plain_address: plain_address.map_err(named("plain_address"))?,
            tls,
            website_address: network::resolve_website_address(arguments)
                .map_err(named("website_address"))?,
            iceberg_address: network::resolve_iceberg_address(arguments)
                .map_err(named("iceberg_address"))?,
            trusted_proxies: network::resolve_proxies(&arguments.trusted_proxy)
                .map_err(named("trusted_proxy"))?,
            storage,
            metadata_bytes: resolve_metadata_memory(arguments.metadata_memory)
                .map_err(named("metadata_memory"))?,
            credentials: credentials::resolve(arguments, profile)?,
            keys,
            allow_insecure_sse_c: arguments.allow_insecure_sse_c,
            allow_signature_v2: arguments.allow_signature_v2,
            no_auth: arguments.no_auth,
            region: resolve_region(region).map_err(named(setting))?,
            takes_any_region: arguments.region.is_none(),
            profile,
            take_over: take_over::resolve(arguments).map_err(named("take_over"))?,
            domains: resolve_domains(&arguments.domain).map_err(named("domain"))?,
            object_ownership: resolve_ownership(arguments.object_ownership.as_deref())
                .map_err(named("object_ownership"))?,
            aws_defaults: arguments.aws_defaults,
            preparation: buckets::resolve_preparation(arguments, profile)
                .map_err(named("bucket"))?,
            cors_origins: buckets::resolve_cors_origins(&arguments.cors_origin)
                .map_err(named("cors_origin"))?,
            log: resolve_log(arguments.log.as_deref().unwrap_or(DEFAULT_LOG))
                .map_err(named("log"))?,
            log_format: resolve_log_format(arguments).map_err(named("log_format"))?,
            scrub: resolve_scrub(arguments)?,
            lifecycle_day: resolve_lifecycle_day(arguments.lifecycle_day)?,
            restore_delay: resolve_restore_delay(arguments.restore_delay)?,
            reports: resolve_reports(arguments.access_log_interval)?,
            tables: resolve_tables(arguments)?,
            events: resolve_events(arguments)?,
            replication: ReplicationSettings {
                targets: Vec::new(),
                file: arguments.replication_file.clone(),
            },
            tiers: TierSettings { tiers: Vec::new(), file: arguments.tier_file.clone() },
            metrics_auth: arguments
                .metrics_auth
                .as_deref()
                .map_or(Ok(MetricsAuth::default()), MetricsAuth::parse)
                .map_err(named("metrics_auth"))?,
            audit: audit::resolve(arguments)?,
            otlp: None,
            backup: None,
            is_standby: arguments.is_standby,
            test_api: test_api::resolve(arguments.test_api.as_deref())
                .map_err(named("test_api"))?,
            oidc_issuers: arguments.oidc_issuer.iter().map(|it| OidcIssuer::parse(it)).collect(),
            console_sign_in: None,
        };
        config.check_exposure(arguments)?;
        Ok(config)
    }

    /// Resolves the settings of a command: the arguments, then `variables`, then the profile's
    /// defaults. Reads the files that variables name. Also returns warnings to log.
    ///
    /// # Errors
    /// [`ConfigError`] with advice.
    pub(crate) fn of_command(
        arguments: &ServerArgs,
        variables: &Variables,
    ) -> Result<(Config, Vec<String>), ConfigError> {
        let mut arguments = arguments.clone();
        let profile = arguments.profile.as_deref().map(Profile::parse).transpose();
        let profile = profile.map_err(|error| named_by(&arguments, "profile", error))?;
        take_directory(&mut arguments)?;
        environment::fill(&mut arguments, profile, variables)?;
        network::take_minio_certificates(&mut arguments, profile, variables);
        if let Some(profile) = profile {
            profile.fill(&mut arguments);
        }
        let mut config = Config::resolve(&arguments)?;
        let cluster = cluster::resolve(&arguments.cluster)?;
        config.storage = cluster.map_or(config.storage, |it| Storage::Cluster(Box::new(it)));
        config.audit.webhooks.extend(audit::of_minio(variables)?);
        notify_webhooks::add_minios(&mut config.events, variables)?;
        config.otlp = otlp::resolve(arguments.otlp_endpoint.as_deref(), variables)?;
        config.backup = backup::resolve(&arguments, variables, &config.storage)?;
        backup::check_standby(&config)?;
        cluster::check(&config, &arguments)?;
        config.console_sign_in = console_oidc::resolve(&arguments.console_oidc)?;
        let mut notes = arguments.notes;
        notes.extend(config.warnings());
        Ok((config, notes))
    }

    /// Warnings about insecure settings, which only a profile, a container or a flag allows.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let open =
            self.exposed().map_or(String::new(), |address| format!(", and {address} is open"));
        if self.no_auth {
            warnings
                .push(format!("signatures are not checked: every client has full access{open}"));
        } else if self.credentials.is_well_known() && self.exposed().is_some() {
            warnings
                .push(format!("the default credentials are publicly known{open}: set your own"));
        }
        if test_api::is_open(self.test_api) {
            warnings.push(
                "the test API is on: every client can delete all data without a signature"
                    .to_owned(),
            );
        }
        warnings
    }

    /// The identity settings.
    pub(crate) fn identity(&self) -> IdentitySettings {
        IdentitySettings {
            credentials: self.credentials.clone(),
            oidc_issuers: self.oidc_issuers.clone(),
            ca_file: self.events.ca_file.clone(),
        }
    }

    /// The rules for unsigned requests, if signatures are not checked.
    pub(crate) fn without_signatures(&self) -> Option<NoAuth> {
        let CredentialsSource::Pair { access_key, .. } = &self.credentials else { return None };
        let names = || HostNames {
            domains: self.domains.clone(),
            of_container: self.exposed().map(|_| platform::host_names()),
        };
        self.no_auth.then(|| NoAuth::new(access_key.clone(), &self.cors_origins, names()))
    }

    /// The first address that other machines can connect to.
    pub(crate) fn exposed(&self) -> Option<&ListenAddress> {
        let console = self.console_address.as_ref().map(|console| &console.address);
        let iceberg = self.iceberg_address.as_ref();
        let addresses = [Some(&self.address), self.plain_address.as_ref(), console, iceberg];
        addresses.into_iter().flatten().find(|address| !address.is_loopback())
    }

    /// Rejects addresses that other machines can reach if the credentials are the public defaults.
    fn check_exposure(&self, arguments: &ServerArgs) -> Result<(), ConfigError> {
        let Some(address) = self.exposed() else { return Ok(()) };
        if self.no_auth {
            return match arguments.in_container {
                true => Ok(()),
                false => error(format!(
                    "{address} is open to other machines, and signatures are not checked: give \
                     --address 127.0.0.1:{}, or leave --no-auth (LITEIO_NO_AUTH) and the profile out",
                    address.port
                )),
            };
        }
        // A profile's credentials are part of the emulation.
        let is_allowed = arguments.allow_default_credentials || self.profile.is_some();
        match self.credentials.is_well_known() && !is_allowed {
            true => error(format!(
                "{address} is open to other machines, and the default credentials are public: set \
                 LITEIO_ACCESS_KEY and LITEIO_SECRET_KEY (or pass --allow-default-credentials)"
            )),
            false => Ok(()),
        }
    }
}

/// Takes the directory argument of `liteio server` as the data directory.
fn take_directory(arguments: &mut ServerArgs) -> Result<(), ConfigError> {
    if arguments.directories.is_empty() {
        return Ok(());
    }
    if arguments.sources.get("data_dir") == Some(&Source::Flag) {
        return error("DIR and --data-dir are the same setting: give one of them");
    }
    let directory = environment::one_directory(&arguments.directories);
    arguments.data_dir = Some(directory.map_err(ConfigError)?);
    arguments.sources.note("data_dir", Source::Flag);
    Ok(())
}

fn resolve_ownership(ownership: Option<&str>) -> Result<ObjectOwnership, ConfigError> {
    match ownership {
        None | Some("bucket-owner-enforced") => Ok(ObjectOwnership::BucketOwnerEnforced),
        Some("bucket-owner-preferred") => Ok(ObjectOwnership::BucketOwnerPreferred),
        Some("object-writer") => Ok(ObjectOwnership::ObjectWriter),
        Some(other) => error(format!(
            "the object ownership {other:?} is unknown: give bucket-owner-enforced, \
             bucket-owner-preferred or object-writer"
        )),
    }
}

fn resolve_storage(arguments: &ServerArgs) -> Result<Storage, ConfigError> {
    let durability = match arguments.durability.as_deref() {
        None => None,
        Some("fsync") => Some(Durability::Fsync),
        Some("os") => Some(Durability::Os),
        Some(other) => {
            let message = format!("the durability {other:?} is unknown: give fsync or os");
            return Err(named_by(arguments, "durability", ConfigError(message)));
        }
    };
    let is_in_memory = arguments.memory && !arguments.outranks("data_dir", "memory");
    let data_dir = arguments.data_dir.as_ref();
    let data_dir =
        data_dir.filter(|_| !(arguments.memory && arguments.outranks("memory", "data_dir")));
    let durability =
        durability.filter(|_| !(is_in_memory && arguments.outranks("memory", "durability")));
    match (is_in_memory, data_dir, durability) {
        (true, Some(_), _) => error(
            "--memory and --data-dir (LITEIO_DATA_DIR) contradict each other: remove one of them",
        ),
        (true, None, Some(_)) => error(
            "--memory and --durability (LITEIO_DURABILITY) contradict each other: remove one of \
             them",
        ),
        (true, None, None) => Ok(Storage::Memory),
        (false, Some(path), _) if path.as_os_str().is_empty() => {
            error("the data directory is empty: give --data-dir DIR")
        }
        (false, path, durability) => {
            let default =
                if arguments.in_container { CONTAINER_DATA_DIR } else { DEFAULT_DIRECTORY };
            Ok(Storage::Directory {
                path: path.cloned().unwrap_or_else(|| default.into()),
                durability: durability.unwrap_or_default(),
            })
        }
    }
}

/// Resolves the sources of the encryption keys.
///
/// # Errors
/// [`ConfigError`] if they contradict each other.
pub(crate) fn resolve_keys(arguments: &KeyArgs) -> Result<KeySources, ConfigError> {
    let master = match (&arguments.master_key_file, &arguments.master_key) {
        (Some(_), Some(_)) => {
            return error(
                "--master-key-file and --master-key (LITEIO_MASTER_KEY) contradict each other: remove \
                 one of them",
            );
        }
        (Some(path), None) => Some(MasterKeySource::File(path.clone())),
        (None, Some(text)) => Some(MasterKeySource::Text(text.clone())),
        (None, None) => None,
    };
    Ok(KeySources { master, kms_file: arguments.kms_key_file.clone() })
}

fn resolve_region(region: &str) -> Result<String, ConfigError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if region.is_empty() || region.len() > REGION_BYTES_MAX || !region.bytes().all(allowed) {
        return error(format!(
            "the region {region:?} is not valid: give 1 to {REGION_BYTES_MAX} letters, digits, - \
             and _, such as {DEFAULT_REGION}"
        ));
    }
    Ok(region.to_owned())
}

fn resolve_domains(names: &[String]) -> Result<Vec<String>, ConfigError> {
    let mut domains = ALWAYS_DOMAINS.map(str::to_owned).to_vec();
    for name in names {
        if !is_host_name(name) || name.parse::<IpAddr>().is_ok() {
            return error(format!(
                "the domain {name:?} is not valid: give --domain a host name without scheme or \
                 port, such as s3.example.com"
            ));
        }
        let name = name.to_ascii_lowercase();
        if !domains.contains(&name) {
            domains.push(name);
        }
    }
    Ok(domains)
}

fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=DOMAIN_LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= DOMAIN_BYTES_MAX && name.split('.').all(is_label)
}

fn resolve_log(filter: &str) -> Result<String, ConfigError> {
    match telemetry::check_filter(filter) {
        Ok(()) => Ok(filter.to_owned()),
        Err(reason) => error(format!(
            "the log filter {filter:?} is not valid ({reason}): give --log LEVEL or \
             --log TARGET=LEVEL,…"
        )),
    }
}

fn resolve_log_format(arguments: &ServerArgs) -> Result<LogFormat, ConfigError> {
    let default = if arguments.minio.json { "json" } else { "text" };
    match arguments.log_format.as_deref().unwrap_or(default) {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        other => error(format!("the log format {other:?} is unknown: give text or json")),
    }
}

fn resolve_lifecycle_day(seconds: Option<u32>) -> Result<Duration, ConfigError> {
    match seconds {
        None => Ok(DAY),
        Some(0) => error("a lifecycle day must not be 0 seconds: give --lifecycle-day 1 or more"),
        Some(seconds) => Ok(Duration::from_secs(seconds.into())),
    }
}

fn resolve_restore_delay(seconds: Option<u32>) -> Result<Duration, ConfigError> {
    match seconds {
        None => Ok(RESTORE_DELAY),
        Some(seconds) if seconds <= RESTORE_DELAY_SECONDS_MAX => {
            Ok(Duration::from_secs(seconds.into()))
        }
        Some(_) => error(format!(
            "a restore must not take more than a week: give --restore-delay 0 to \
             {RESTORE_DELAY_SECONDS_MAX}"
        )),
    }
}

fn resolve_reports(seconds: Option<u32>) -> Result<ReportSettings, ConfigError> {
    match seconds {
        None => Ok(ReportSettings::default()),
        Some(0) => error(
            "the access log interval must not be 0 seconds: give --access-log-interval 1 or more",
        ),
        Some(seconds) => {
            Ok(ReportSettings { access_log_interval: Duration::from_secs(seconds.into()) })
        }
    }
}

fn resolve_tables(arguments: &ServerArgs) -> Result<TableSettings, ConfigError> {
    let settings = match arguments.iceberg_warehouse.as_deref().map(TableSettings::with_warehouse) {
        None => TableSettings::default(),
        Some(Ok(settings)) => settings,
        Some(Err(reason)) => return error(format!("--iceberg-warehouse: {reason}")),
    };
    Ok(TableSettings { own_locations: arguments.iceberg_own_locations, ..settings })
}

fn resolve_events(arguments: &ServerArgs) -> Result<EventSettings, ConfigError> {
    let waiting_max = match arguments.event_queue {
        None => liteio_store::limits::EVENTS_WAITING_MAX,
        Some(0) => return error("the event queue must not be 0: give --event-queue 1 or more"),
        Some(events) => u64::from(events),
    };
    let webhooks = arguments.webhook.iter().map(|text| Webhook::parse(text));
    Ok(EventSettings {
        webhooks: webhooks.collect::<Result<_, _>>()?,
        turned_off: Vec::new(),
        webhook_file: arguments.webhook_file.clone(),
        ca_file: arguments.ca_file.clone(),
        waiting_max,
        dropped: arguments.drop_events.clone(),
    })
}

fn resolve_metadata_memory(mib: Option<u32>) -> Result<Option<usize>, ConfigError> {
    match mib {
        None => Ok(None),
        Some(mib @ METADATA_MIB_MIN..=METADATA_MIB_MAX) => Ok(Some((mib as usize) << 20)),
        Some(mib) => error(format!(
            "{mib} MiB of memory for metadata is not valid: give --metadata-memory {METADATA_MIB_MIN} to \
             {METADATA_MIB_MAX}"
        )),
    }
}

fn resolve_scrub(arguments: &ServerArgs) -> Result<Scrub, ConfigError> {
    let default = Scrub::default();
    let days = arguments.scrub_days.unwrap_or(default.days);
    let mib_per_second = arguments.scrub_rate.unwrap_or(default.mib_per_second);
    match mib_per_second {
        0 => error("the scrub rate must not be 0: give --scrub-rate 1 or more"),
        _ => Ok(Scrub { days, mib_per_second }),
    }
}

/// The URL for `liteio health`: the given one, or the URL of a server that is started with these
/// variables.
///
/// # Errors
/// [`ConfigError`] if the address is invalid.
pub(crate) fn resolve_health_url(
    arguments: &HealthArgs,
    variables: &Variables,
) -> Result<String, ConfigError> {
    if let Some(url) = &arguments.url {
        return Ok(url.clone());
    }
    let mut server = ServerArgs {
        address: arguments.address.clone(),
        tls_self_signed: arguments.tls_self_signed,
        tls_cert: arguments.tls_cert.iter().cloned().collect(),
        ..ServerArgs::default()
    };
    let profile = arguments.profile.as_deref().map(Profile::parse).transpose()?;
    if server.address.is_some() {
        server.sources.note("address", Source::Flag);
    }
    environment::fill_address(&mut server, profile, variables)?;
    network::take_minio_certificates(&mut server, profile, variables);
    let default = format!("{}:{}", server.host(), server.port(profile));
    let mut address = ListenAddress::parse(server.address.as_deref().unwrap_or(&default))?;
    // A server on all interfaces is reached over the loopback interface.
    match address.host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) if ip.is_unspecified() => address.host = "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(ip)) if ip.is_unspecified() => address.host = "::1".to_owned(),
        _ => {}
    }
    let is_encrypted = !server.tls_cert.is_empty() || server.tls_self_signed;
    let scheme = if is_encrypted { "https" } else { "http" };
    Ok(format!("{scheme}://{address}"))
}

#[cfg(test)]
mod command_tests;
#[cfg(test)]
mod tests;
