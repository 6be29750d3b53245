//! [`ServerBuilder`]: collects the settings of a server, and starts it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use liteio_store::Store;

use super::spawn::spawn;
use super::{ServerError, ServerHandle};
use crate::config::{
    AuditSettings, BackupSettings, CertificateFiles, Config, ConsoleAddress, CredentialsSource,
    Durability, EventSettings, InitialBucket, KeySources, ListenAddress, MetricsAuth,
    ObjectOwnership, OidcIssuer, OtlpSettings, ReplicationSettings, SignInSettings, Storage,
    TestAccess, TierSettings, TlsSettings,
};
use liteio_wire::front::Handler;
use liteio_wire::front::limits::Limits;
use liteio_wire::proxy::Network;

/// Starts servers.
#[derive(Clone, Copy, Debug)]
pub struct Server;

impl Server {
    /// A builder for a server. Defaults: data in memory, a free port of 127.0.0.1, the default
    /// credentials.
    pub fn builder() -> ServerBuilder {
        let address = ListenAddress { host: "127.0.0.1".to_owned(), port: 0 };
        ServerBuilder {
            config: Config { address, storage: Storage::Memory, ..Config::default() },
            address: None,
            plain_address: None,
            website_address: None,
            iceberg_address: None,
            console_address: None,
            limits: Limits::default(),
            store: None,
            handler: None,
        }
    }

    /// Starts a server with these settings.
    ///
    /// # Errors
    /// [`ServerError`]; nothing is left running.
    pub async fn spawn(config: Config) -> Result<ServerHandle, ServerError> {
        ServerBuilder { config, ..Server::builder() }.spawn().await
    }
}

/// The settings of a server to start.
#[derive(Clone)]
#[must_use = "a builder does nothing until it is spawned"]
pub struct ServerBuilder {
    config: Config,
    address: Option<String>,
    plain_address: Option<String>,
    website_address: Option<String>,
    iceberg_address: Option<String>,
    console_address: Option<String>,
    limits: Limits,
    store: Option<Store>,
    handler: Option<Arc<dyn Handler>>,
}

impl ServerBuilder {
    /// Keeps all data in memory.
    pub fn memory(mut self) -> ServerBuilder {
        self.config.storage = Storage::Memory;
        self
    }

    /// Keeps all data in a directory, created if missing.
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> ServerBuilder {
        let durability = match self.config.storage {
            Storage::Directory { durability, .. } => durability,
            Storage::Memory | Storage::Cluster(_) => Durability::Fsync,
        };
        self.config.storage = Storage::Directory { path: path.into(), durability };
        self
    }

    /// Sets the failures that an acknowledged write survives. No effect on an in-memory server;
    /// call it after [`ServerBuilder::data_dir`].
    pub fn durability(mut self, level: Durability) -> ServerBuilder {
        if let Storage::Directory { durability, .. } = &mut self.config.storage {
            *durability = level;
        }
        self
    }

    /// Sets the address to listen on, `HOST:PORT`; port 0 picks a free port.
    pub fn address(mut self, address: impl Into<String>) -> ServerBuilder {
        self.address = Some(address.into());
        self
    }

    /// Adds a certificate for HTTPS, with its key: PEM files, reloaded when they change. The first
    /// one is used for clients whose SNI name matches no other.
    pub fn tls_certificate(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> ServerBuilder {
        let files = CertificateFiles { certificate: certificate.into(), key: key.into() };
        let tls = self.config.tls.get_or_insert(TlsSettings { certificates: Vec::new() });
        tls.certificates.push(files);
        self
    }

    /// Serves HTTPS with a self-signed certificate, kept in the data directory, or in memory for an
    /// in-memory server. [`ServerHandle::certificate`] returns it.
    pub fn tls_self_signed(mut self) -> ServerBuilder {
        self.config.tls = Some(TlsSettings { certificates: Vec::new() });
        self
    }

    /// Sets the address for plain HTTP in addition to HTTPS, `HOST:PORT`; port 0 picks a free port.
    pub fn plain_address(mut self, address: impl Into<String>) -> ServerBuilder {
        self.plain_address = Some(address.into());
        self
    }

    /// Sets an address for websites only, `HOST:PORT`, where the bucket is the request's host or
    /// its first label; port 0 picks a free port.
    pub fn website_address(mut self, address: impl Into<String>) -> ServerBuilder {
        self.website_address = Some(address.into());
        self
    }

    /// Sets a second address, `HOST:PORT`, with the Iceberg REST catalog at its root (`/v1/`); port 0 picks a free port.
    pub fn iceberg_address(mut self, address: impl Into<String>) -> ServerBuilder {
        self.iceberg_address = Some(address.into());
        self
    }

    /// Enables or disables the console at `/_liteio/console/`.
    pub fn console(mut self, is_served: bool) -> ServerBuilder {
        self.config.console = is_served;
        self
    }

    /// Sets a second address where browsers find the console, `HOST:PORT`; port 0 picks a free
    /// port.
    pub fn console_address(mut self, address: impl Into<String>) -> ServerBuilder {
        self.console_address = Some(address.into());
        self
    }

    /// Adds a network of trusted proxies, whose `Forwarded` and `X-Forwarded-…` headers are used.
    pub fn trusted_proxy(mut self, network: Network) -> ServerBuilder {
        self.config.trusted_proxies.push(network);
        self
    }

    /// Sets the credentials of the root user.
    pub fn credentials(
        mut self,
        access_key: impl Into<String>,
        secret_key: impl Into<String>,
    ) -> ServerBuilder {
        let (access_key, secret_key) = (access_key.into(), secret_key.into());
        self.config.credentials = CredentialsSource::Pair { access_key, secret_key };
        self
    }

    /// Treats every request as the root user's; signatures are not checked.
    pub fn no_auth(mut self) -> ServerBuilder {
        self.config.no_auth = true;
        self
    }

    /// Takes the users from a TOML file.
    pub fn credentials_file(mut self, path: impl Into<PathBuf>) -> ServerBuilder {
        self.config.credentials = CredentialsSource::File(path.into());
        self
    }

    /// Sets the encryption keys.
    pub fn keys(mut self, keys: KeySources) -> ServerBuilder {
        self.config.keys = keys;
        self
    }

    /// Accepts customer-provided keys (SSE-C) over unencrypted connections.
    pub fn allow_insecure_sse_c(mut self) -> ServerBuilder {
        self.config.allow_insecure_sse_c = true;
        self
    }

    /// Accepts Signature Version 2 in the Authorization header of S3 requests.
    pub fn allow_signature_v2(mut self) -> ServerBuilder {
        self.config.allow_signature_v2 = true;
        self
    }

    /// Sets the object ownership of new buckets that specify none.
    pub fn object_ownership(mut self, ownership: ObjectOwnership) -> ServerBuilder {
        self.config.object_ownership = ownership;
        self
    }

    /// Makes new buckets as AWS makes them: encrypted with the master key, if there is one, and with a
    /// public access block.
    pub fn aws_defaults(mut self) -> ServerBuilder {
        self.config.aws_defaults = true;
        self
    }

    /// Adds a bucket to create before the first request.
    pub fn bucket(mut self, bucket: InitialBucket) -> ServerBuilder {
        self.config.preparation.buckets.push(bucket);
        self
    }

    /// Sets a file with more such buckets, one per line.
    pub fn bucket_file(mut self, path: impl Into<PathBuf>) -> ServerBuilder {
        self.config.preparation.bucket_file = Some(path.into());
        self
    }

    /// Sets a directory or archive whose directories become buckets, and the files in them objects,
    /// before the first request, unless they exist.
    pub fn seed(mut self, path: impl Into<PathBuf>) -> ServerBuilder {
        self.config.preparation.seed = Some(path.into());
        self
    }

    /// Creates buckets for the empty directories in the data directory that have a valid bucket
    /// name.
    pub fn directories_are_buckets(mut self) -> ServerBuilder {
        self.config.preparation.directories_are_buckets = true;
        self
    }

    /// Adds a pattern of origins that CORS allows on buckets without CORS rules; `*` for all.
    pub fn cors_origin(mut self, origin: impl Into<String>) -> ServerBuilder {
        self.config.cors_origins.push(origin.into());
        self
    }

    /// Sets the access to metrics.
    pub fn metrics_auth(mut self, auth: MetricsAuth) -> ServerBuilder {
        self.config.metrics_auth = auth;
        self
    }

    /// Sets the targets of events.
    pub fn events(mut self, events: EventSettings) -> ServerBuilder {
        self.config.events = events;
        self
    }

    /// Sets the tiers that bodies move to.
    pub fn tiers(mut self, tiers: TierSettings) -> ServerBuilder {
        self.config.tiers = tiers;
        self
    }

    /// Sets the targets of replication.
    pub fn replication(mut self, replication: ReplicationSettings) -> ServerBuilder {
        self.config.replication = replication;
        self
    }

    /// Sets the targets of the audit log.
    pub fn audit(mut self, audit: AuditSettings) -> ServerBuilder {
        self.config.audit = audit;
        self
    }

    /// Sets the OpenTelemetry collector. No effect without the feature `otlp`.
    pub fn otlp(mut self, otlp: OtlpSettings) -> ServerBuilder {
        self.config.otlp = Some(otlp);
        self
    }

    /// Sets the longest time until a request is in the server access log of its bucket. The default is 5 minutes.
    pub fn access_log_interval(mut self, interval: Duration) -> ServerBuilder {
        self.config.reports.access_log_interval = interval;
        self
    }

    /// Sets the warehouse of requests to the Iceberg REST catalog that name none: the name of a bucket. Without it they
    /// are refused.
    pub fn iceberg_warehouse(mut self, bucket: impl Into<String>) -> ServerBuilder {
        self.config.tables.warehouse = Some(bucket.into());
        self
    }

    /// Gives tables and views of the Iceberg REST catalog a location in their warehouse where clients ask for one
    /// outside of it. Otherwise such requests are refused.
    pub fn iceberg_own_locations(mut self) -> ServerBuilder {
        self.config.tables.own_locations = true;
        self
    }

    /// Sets the time that a restore of an archived object takes. The default is 1 second.
    pub fn restore_delay(mut self, delay: Duration) -> ServerBuilder {
        self.config.restore_delay = delay;
        self
    }

    /// Backs the data directory up continuously.
    pub fn backup(mut self, backup: BackupSettings) -> ServerBuilder {
        self.config.backup = Some(backup);
        self
    }

    /// Enables the test API for these clients.
    pub fn test_api(mut self, access: TestAccess) -> ServerBuilder {
        self.config.test_api = Some(access);
        self
    }

    /// Adds an issuer of web identities.
    pub fn oidc_issuer(mut self, issuer: OidcIssuer) -> ServerBuilder {
        self.config.oidc_issuers.push(issuer);
        self
    }

    /// Lets people sign in to the console by an issuer of web identities.
    pub fn console_sign_in(mut self, settings: SignInSettings) -> ServerBuilder {
        self.config.console_sign_in = Some(settings);
        self
    }

    /// Sets the region of the server; requests signed for another region are then rejected. Without
    /// it, any region is accepted.
    pub fn region(mut self, region: impl Into<String>) -> ServerBuilder {
        self.config.region = region.into();
        self.config.takes_any_region = false;
        self
    }

    /// Adds a domain for virtual-hosted-style requests, in addition to `localhost` and
    /// `s3.localhost`.
    pub fn domain(mut self, name: &str) -> ServerBuilder {
        self.config.domains.push(name.to_ascii_lowercase());
        self
    }

    /// Sets the limits of connections, requests and bodies.
    pub fn limits(mut self, limits: Limits) -> ServerBuilder {
        self.limits = limits;
        self
    }

    /// Serves this store instead of opening one.
    #[cfg(feature = "test-util")]
    pub fn store(mut self, store: Store) -> ServerBuilder {
        self.store = Some(store);
        self
    }

    /// Serves `handler` instead of the S3 service; no data is opened.
    #[cfg(test)]
    pub(crate) fn handler(mut self, handler: impl Handler) -> ServerBuilder {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Starts the server on the current tokio runtime. Returns once it accepts requests.
    ///
    /// # Errors
    /// [`ServerError`]; nothing is left running.
    pub async fn spawn(mut self) -> Result<ServerHandle, ServerError> {
        if let Some(address) = self.address.take() {
            self.config.address = ListenAddress::parse(&address)?;
        }
        if let Some(address) = self.plain_address.take() {
            self.config.plain_address = Some(ListenAddress::parse(&address)?);
        }
        if let Some(address) = self.console_address.take() {
            let address = ListenAddress::parse(&address)?;
            self.config.console_address = Some(ConsoleAddress { address, is_given: true });
        }
        if let Some(address) = self.website_address.take() {
            self.config.website_address = Some(ListenAddress::parse(&address)?);
        }
        if let Some(address) = self.iceberg_address.take() {
            self.config.iceberg_address = Some(ListenAddress::parse(&address)?);
        }
        let ServerBuilder { config, limits, store, handler, .. } = self;
        spawn(config, limits, store, handler).await
    }
}
