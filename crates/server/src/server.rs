//! Starts and controls servers, for the command, for tests and for programs that embed one.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use liteio_store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::backup::{Backup, Copies, OpenedTarget, Pair, Standby, check_apart, lazy, prepare};
use crate::banner::{self, Encryption};
use crate::cluster::{self, watch::Over};
use crate::condition;
use crate::config::{
    AuditSettings, BackupSettings, CertificateFiles, Config, ConfigError, ConsoleAddress,
    CredentialsSource, Durability, EventSettings, InitialBucket, KeySources, ListenAddress,
    MetricsAuth, ObjectOwnership, OidcIssuer, OtlpSettings, ReplicationSettings, SignInSettings,
    Storage, TestAccess, TierSettings, TlsSettings,
};
use crate::dispatch::{ConsoleSettings, Dispatch};
use crate::made_credentials::MadeCredentials;
use crate::minio_volume;
use crate::open::OpenError;
use crate::platform::Grant;
use crate::spaces::{self, OpenedSpaces};
use liteio_space::Space;
#[cfg(feature = "testkit")]
use liteio_testkit::TestControl;
use liteio_wire::front::limits::Limits;
use liteio_wire::front::{Front, Handler};
use liteio_wire::origin::{Domains, Entrance};
use liteio_wire::proxy::{Network, Proxies};
use liteio_wire::serve::{self, Listener};
use liteio_wire::tls::{Certificates, ServerTls, fingerprint};

/// The reason why a server did not start. No request was served.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A setting is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Listening on the address failed.
    #[error("cannot listen on {address}: {source}; choose another with {option} HOST:PORT")]
    Listen {
        /// The address.
        address: ListenAddress,
        /// The option that sets it.
        option: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The random source of the system failed.
    #[error("cannot read random bytes from the system: {0}")]
    Random(getrandom::Error),
    /// A certificate or its key is unusable.
    #[error("{0}")]
    Tls(String),
    /// The data cannot be opened: in use, of a newer format, not writable, full, or damaged.
    #[error("{0}")]
    Open(String),
}

impl From<OpenError> for ServerError {
    fn from(error: OpenError) -> ServerError {
        ServerError::Open(error.to_string())
    }
}

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
        spawn(self).await
    }
}

async fn spawn(builder: ServerBuilder) -> Result<ServerHandle, ServerError> {
    let ServerBuilder { mut config, limits, store, handler, .. } = builder;
    if let Some(volume) = minio_volume::find(&config) {
        // A taken port may be MinIO's. While the data are taken over, nobody can connect: that may take long.
        drop(listen(&config.address, "--address").await?);
        minio_volume::take_over(volume, &mut config).await.map_err(ServerError::Open)?;
    }
    // The socket is opened first: if the port is taken, no data directory is created. Clients that
    // connect while the data is being opened wait in the backlog.
    let (socket, address) = listen(&config.address, "--address").await?;
    let plain = match &config.plain_address {
        Some(address) => Some(listen(address, "--plain-address").await?),
        None => None,
    };
    let sites = match &config.website_address {
        Some(address) => Some(listen(address, "--website-address").await?),
        None => None,
    };
    let catalog = match &config.iceberg_address {
        Some(address) => Some(listen(address, "--iceberg-address").await?),
        None => None,
    };
    let console = match &config.console_address {
        Some(console) if config.console => listen_for_console(console).await?,
        _ => None,
    };
    // Likewise, unusable certificates must not leave a new data directory behind.
    let given = config.tls.as_ref().filter(|tls| !tls.certificates.is_empty());
    let given = given.map(ServerTls::open).transpose().map_err(ServerError::Tls)?;
    let backup = open_backup(&config)?;
    let mut seed = [0; 24];
    getrandom::fill(&mut seed).map_err(ServerError::Random)?;
    let (mut made_credentials, mut opened_store) = (None, None);
    #[cfg(feature = "testkit")]
    let mut test_control = None;
    let handler = match handler {
        Some(handler) => handler,
        None => {
            if config.is_standby
                && let Some(settings) = &config.backup
            {
                // One that was promoted is a primary, also after a restart.
                config.is_standby = prepare(&config, settings).await.map_err(ServerError::Open)?;
            }
            let endpoint = banner::endpoint(address, config.tls.is_some());
            let data = match (&store, &config.storage) {
                (None, Storage::Directory { path, .. }) => Some(path.clone()),
                _ => None,
            };
            let opened = spaces::open(&config, store, endpoint).await?;
            let OpenedSpaces { spaces, followers, made } = opened;
            made_credentials = made;
            #[cfg(feature = "testkit")]
            {
                test_control = spaces.test_control();
            }
            let pair = match (backup, &config.backup) {
                (Some(opened), Some(settings)) => {
                    start_backup(&spaces.main(), opened, &config, settings).await?
                }
                _ => Pair::primary(None),
            };
            let copies =
                data.and_then(|data| Copies::listen(spaces.main().app.store.clone(), &data));
            opened_store = Some(spaces.main().app.store.clone());
            let console =
                ConsoleSettings { is_on: config.console, sign_in: config.console_sign_in.clone() };
            Arc::new(Dispatch::new(spaces, followers, pair, copies, console))
        }
    };
    // A self-signed certificate is kept in the data directory, which exists and is locked by now.
    let tls = match given {
        None if config.tls.is_some() => Some(self_signed(&config)?),
        given => given,
    };
    let Grant { files, memory_bytes } = Grant::of_process();
    let limits = limits.within(files, memory_bytes, tls.is_some());
    let proxies = Proxies::new(config.trusted_proxies);
    let domains = Domains::new(config.domains, &config.region);
    let front = Arc::new(Front::new(limits, domains, proxies, seed, handler));
    let (stop, stopping) = watch::channel(false);
    let asked_store = opened_store.clone();
    let over = opened_store.and_then(|store| cluster::watch::start(store, stop.subscribe()));
    let handler = Arc::clone(&front.handler);
    let certificates = tls.as_ref().map(|tls| Arc::clone(&tls.certificates));
    if let Some(certificates) = &certificates {
        tokio::spawn(Certificates::watch(Arc::downgrade(certificates)));
    }
    let plain_address = plain.as_ref().map(|(_, address)| *address);
    let website_address = sites.as_ref().map(|(_, address)| *address);
    let console_address = console.as_ref().map(|(_, address)| *address);
    let iceberg_address = catalog.as_ref().map(|(_, address)| *address);
    let (tls, entrance) = (tls.map(Arc::new), Entrance::All);
    let sites =
        sites.map(|(socket, _)| Listener { socket, tls: tls.clone(), entrance: Entrance::Sites });
    let console = console.map(|(socket, _)| Listener { socket, tls: tls.clone(), entrance });
    let catalog = catalog.map(|(socket, _)| Listener {
        socket,
        tls: tls.clone(),
        entrance: Entrance::Catalog,
    });
    let plain = plain.map(|(socket, _)| Listener { socket, tls: None, entrance });
    let mut listeners = vec![Listener { socket, tls, entrance }];
    listeners.extend(plain.into_iter().chain(sites).chain(console).chain(catalog));
    let task = tokio::spawn(serve::run(listeners, front, stopping));
    Ok(ServerHandle {
        address,
        plain_address,
        website_address,
        console_address,
        iceberg_address,
        certificates,
        made_credentials,
        #[cfg(feature = "testkit")]
        test_control,
        handler,
        stop,
        store: asked_store,
        over,
        task: Some(task),
    })
}

/// Checks the place of the backup, before the data is opened.
fn open_backup(config: &Config) -> Result<Option<OpenedTarget>, ServerError> {
    let Some(backup) = &config.backup else { return Ok(None) };
    let refused = |reason| ServerError::Config(ConfigError(format!("--backup: {reason}")));
    let opened = OpenedTarget::open(&backup.target).map_err(refused)?;
    check_apart(&backup.target.location, &config.storage).map_err(refused)?;
    Ok(Some(opened))
}

/// Starts the backup of a primary, or its standby.
async fn start_backup(
    space: &Arc<Space>,
    opened: OpenedTarget,
    config: &Config,
    settings: &BackupSettings,
) -> Result<Arc<Pair>, ServerError> {
    let store = space.app.store.clone();
    if config.is_standby {
        let users = Arc::clone(&space.users);
        let users_changed = Box::new(move |store: &Store| {
            if let Err(error) = users.read_store_again(store) {
                tracing::error!(%error, "the users of the primary cannot be read");
            }
        });
        let pair = Standby::start(store, opened, config, settings, users_changed);
        return pair.map_err(ServerError::Open);
    }
    lazy::bring(&store).map_err(ServerError::Open)?;
    let backup = Backup::start(store, opened, settings, None).map_err(ServerError::Open)?;
    backup.first_look().await;
    Ok(Pair::primary(Some(backup)))
}

async fn listen(
    address: &ListenAddress,
    option: &'static str,
) -> Result<(TcpListener, SocketAddr), ServerError> {
    let failed = |source| ServerError::Listen { address: address.clone(), option, source };
    let socket = TcpListener::bind((&*address.host, address.port)).await.map_err(failed)?;
    let bound = socket.local_addr().map_err(failed)?;
    Ok((socket, bound))
}

/// Opens the console's socket; `None` if its port is taken and the address is only a default.
async fn listen_for_console(
    console: &ConsoleAddress,
) -> Result<Option<(TcpListener, SocketAddr)>, ServerError> {
    match listen(&console.address, "--console-address").await {
        Ok(listening) => Ok(Some(listening)),
        Err(error) if console.is_given => Err(error),
        Err(error) => {
            tracing::warn!(%error, "the console is served at the main address only");
            Ok(None)
        }
    }
}

fn self_signed(config: &Config) -> Result<ServerTls, ServerError> {
    let directory = match &config.storage {
        Storage::Directory { path, .. } => Some(&**path),
        Storage::Memory | Storage::Cluster(_) => None,
    };
    ServerTls::self_signed(&config.domains, directory).map_err(ServerError::Tls)
}

/// A running server. Dropping it stops the server without waiting for it.
#[must_use = "dropping the handle stops the server"]
pub struct ServerHandle {
    address: SocketAddr,
    plain_address: Option<SocketAddr>,
    website_address: Option<SocketAddr>,
    iceberg_address: Option<SocketAddr>,
    console_address: Option<SocketAddr>,
    certificates: Option<Arc<Certificates>>,
    made_credentials: Option<MadeCredentials>,
    #[cfg(feature = "testkit")]
    test_control: Option<TestControl>,
    handler: Arc<dyn Handler>,
    stop: watch::Sender<bool>,
    /// The store of the main space, to ask for its condition.
    store: Option<Store>,
    /// Of one of several servers.
    over: Option<Over>,
    task: Option<JoinHandle<()>>,
}

impl ServerHandle {
    /// The address that it listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL to give to an S3 client on this machine.
    pub fn endpoint(&self) -> String {
        banner::endpoint(self.address, self.certificates.is_some())
    }

    /// The address of plain HTTP, if served in addition to HTTPS.
    pub fn plain_address(&self) -> Option<SocketAddr> {
        self.plain_address
    }

    /// The address for websites only, if there is one.
    pub fn website_address(&self) -> Option<SocketAddr> {
        self.website_address
    }

    /// The second address with the Iceberg REST catalog at its root, if there is one.
    pub fn iceberg_address(&self) -> Option<SocketAddr> {
        self.iceberg_address
    }

    /// The second address of the console, if there is one.
    pub fn console_address(&self) -> Option<SocketAddr> {
        self.console_address
    }

    /// The current chain of the first certificate in DER, server certificate first; `None` without
    /// TLS. A client that trusts it as an authority trusts a server with a self-signed certificate.
    pub fn certificate(&self) -> Option<Vec<Vec<u8>>> {
        self.certificates.as_ref().map(|certificates| certificates.first_chain())
    }

    /// The control of the test API, if enabled.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use liteio::{FaultRule, Server, TestAccess};
    ///
    /// let server = Server::builder().memory().test_api(TestAccess::Local).spawn().await?;
    /// let tests = server.test_control().expect("it has the test API");
    /// tests.snapshot("empty").await?;
    /// // The next two uploads fail.
    /// let rule = FaultRule {
    ///     operation: Some("PutObject".to_owned()),
    ///     status: Some(503),
    ///     times: Some(2),
    ///     ..FaultRule::default()
    /// };
    /// tests.add_fault(rule)?;
    /// // … requests …
    /// tests.restore("empty").await?;
    /// tests.reset().await?;
    /// server.stop().await;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "testkit")]
    pub fn test_control(&self) -> Option<TestControl> {
        self.test_control.clone()
    }

    /// The credentials generated at this start.
    pub(crate) fn made_pair(&self) -> Option<(String, String)> {
        self.made_credentials.as_ref().and_then(|made| made.pair.clone())
    }

    /// True if credentials were generated at this start, which the banner must show.
    pub(crate) fn has_new_credentials(&self) -> bool {
        self.made_credentials.as_ref().is_some_and(|made| made.pair.is_some())
    }

    /// The startup banner.
    pub(crate) fn banner(&self, config: &Config) -> String {
        let encryption = self.certificates.as_ref().map(|certificates| {
            let chain = certificates.first_chain();
            let sum = fingerprint(chain.first().map_or(&[], |first| first));
            let file = certificates.first_file().map(|it| format!("{}, ", it.display()));
            let certificate = format!("{}SHA-256 {sum}", file.unwrap_or_default());
            Encryption { certificate, plain_address: self.plain_address }
        });
        let credentials = banner::credentials(config, self.made_credentials.as_ref());
        banner::banner(
            config,
            self.address,
            &credentials,
            encryption.as_ref(),
            self.website_address,
            self.console_address,
        )
    }

    /// Starts a scrub: reads all data in the background, at a bounded rate, to find damage.
    /// `/_liteio/health/ready` reports it.
    pub fn scrub(&self) {
        self.handler.scrub();
    }

    /// Reloads the credentials file. The server also does so a second after a change; when this
    /// call returns, the change is in effect. If the file is invalid, the users stay unchanged.
    pub fn reload(&self) {
        self.handler.reload();
    }

    /// Describes the state of the store in a few words. It reads, so it returns only if the store answers.
    pub(crate) fn condition(&self) -> impl Fn() -> String + Clone + Send + use<> {
        condition::of(self.store.clone())
    }

    /// Waits until the other servers of its cluster have ended this one, which then can never serve again.
    /// Returns the reason.
    pub(crate) async fn over(&self) -> String {
        if let Some(mut over) = self.over.clone()
            && let Ok(reason) = over.wait_for(Option::is_some).await
        {
            return reason.clone().unwrap_or_default();
        }
        std::future::pending().await
    }

    /// Stops accepting connections, finishes the requests in flight (for 30 seconds at most), and
    /// closes the data.
    pub async fn stop(mut self) {
        self.store = None;
        self.stop.send_replace(true);
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the server did not stop cleanly");
        }
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerHandle")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}
