//! Starts a server: opens its sockets, its data and its backup, then serves.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use liteio_store::{DirectoryUse, Store};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use super::{ServerError, ServerHandle};
use crate::backup::{
    Backup, Copies, OpenedTarget, Pair, Standby, check_apart, contact, lazy, prepare,
};
use crate::banner;
use crate::cluster;
use crate::config::{BackupSettings, Config, ConfigError, ConsoleAddress, ListenAddress, Storage};
use crate::dispatch::{ConsoleSettings, Dispatch};
use crate::keys;
use crate::minio_volume;
use crate::platform::Grant;
use crate::spaces::{self, OpenedSpaces};
use liteio_space::Space;
use liteio_wire::front::limits::Limits;
use liteio_wire::front::{Front, Handler};
use liteio_wire::origin::{Domains, Entrance};
use liteio_wire::proxy::Proxies;
use liteio_wire::serve::{self, Listener};
use liteio_wire::tls::{Certificates, ServerTls};

/// Starts a server with these settings, over `store` or one that it opens. With `handler` it opens no data.
///
/// # Errors
/// [`ServerError`]; nothing is left running.
pub(super) async fn spawn(
    mut config: Config,
    limits: Limits,
    store: Option<Store>,
    handler: Option<Arc<dyn Handler>>,
) -> Result<ServerHandle, ServerError> {
    if let Some(volume) = minio_volume::find(&config) {
        // A taken port may be MinIO's. While the data are taken over, nobody can connect: that may take long.
        drop(listen(&config.address, "--address").await?);
        minio_volume::take_over(volume, &mut config).await.map_err(ServerError::Open)?;
    }
    // The socket is opened first: if the port is taken, no data directory is created. Clients that
    // connect while the data is being opened wait in the backlog.
    let (socket, address) = listen(&config.address, "--address")
        .await
        .map_err(|error| perhaps_started_twice(error, &config.storage))?;
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
    let given = given.map(ServerTls::open).transpose().map_err(refused_certificate)?;
    let backup = open_backup(&config, address).await?;
    let mut seed = [0; 24];
    getrandom::fill(&mut seed).map_err(ServerError::Random)?;
    let (mut made_credentials, mut opened_store, mut condition) = (None, None, None);
    let mut counters = None;
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
            // A line below tells of a new one: where data is expected, its disk is not mounted.
            let new = data.clone().filter(|path| !path.join("format").exists());
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
            if let Some(path) = new {
                tracing::info!(path = %path.display(), "new data directory");
            }
            let copies =
                data.and_then(|data| Copies::listen(spaces.main().app.store.clone(), &data));
            opened_store = Some(spaces.main().app.store.clone());
            let console =
                ConsoleSettings { is_on: config.console, sign_in: config.console_sign_in.clone() };
            let dispatch = Dispatch::new(spaces, followers, pair, copies, console);
            condition = Some(dispatch.condition());
            counters = Some(dispatch.counters());
            Arc::new(dispatch)
        }
    };
    // A self-signed certificate is kept in the data directory, which exists and is locked by now.
    let tls = match given {
        None if config.tls.is_some() => Some(self_signed(&config)?),
        given => given,
    };
    let Grant { files, memory_bytes } = Grant::of_process();
    if let Some(warning) = limits.warning_of_files(files) {
        tracing::warn!("{warning}");
    }
    let limits = limits.within(files, memory_bytes, tls.is_some());
    let proxies = Proxies::new(config.trusted_proxies);
    let domains = Domains::new(config.domains, &config.region);
    let front = Arc::new(Front::new(limits, domains, proxies, seed, handler));
    let (stop, stopping) = watch::channel(false);
    if let Some(store) = &opened_store {
        crate::watch::start(store.clone(), stop.subscribe());
    }
    let over = opened_store.and_then(|store| cluster::watch::start(store, stop.subscribe()));
    let handler = Arc::clone(&front.handler);
    let certificates = tls.as_ref().map(|tls| Arc::clone(&tls.certificates));
    if let Some(certificates) = &certificates {
        tokio::spawn(Certificates::watch(Arc::downgrade(certificates)));
        if let Some(counters) = &counters {
            counters.watch_certificates(certificates);
        }
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
    let (budget, cut) = (Arc::clone(&front.budget), Arc::new(Notify::new()));
    let task = tokio::spawn(serve::run(listeners, front, stopping, Arc::clone(&cut)));
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
        budget,
        stop,
        cut,
        condition,
        over,
        task: Some(task),
    })
}

/// Checks the place of the backup of the server at this address, before the data is opened.
async fn open_backup(
    config: &Config,
    address: SocketAddr,
) -> Result<Option<OpenedTarget>, ServerError> {
    let Some(backup) = &config.backup else { return Ok(None) };
    let opened = OpenedTarget::open(&backup.target).map_err(refused_backup)?;
    check_apart(&backup.target.location, &config.storage).map_err(refused_backup)?;
    if let Some(endpoint) = &backup.target.endpoint {
        contact::check_other_server(endpoint, address).await.map_err(refused_backup)?;
    }
    if let Some(key) = &opened.key
        && let Some(warning) = keys::warning_of_backup_key(key, &config.keys)
    {
        tracing::warn!("{warning}");
    }
    if !config.is_standby {
        contact::before_the_data(&opened, &config.storage).await.map_err(refused_place)?;
    }
    Ok(Some(opened))
}

/// Not the error of an invalid setting, after which systemd does not start the server again: a clock may be wrong until it is
/// set by the network, and a bucket may be made behind the start.
fn refused_place(reason: String) -> ServerError {
    ServerError::Open(format!("--backup: {reason}"))
}

fn refused_certificate(reason: String) -> ServerError {
    let flags = "--tls-cert (LITEIO_TLS_CERT) and --tls-key (LITEIO_TLS_KEY)";
    ServerError::Config(ConfigError(format!("{flags}: {reason}")))
}

fn refused_backup(reason: String) -> ServerError {
    ServerError::Config(ConfigError(format!("--backup: {reason}")))
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
    contact::first(&store, &opened).await.map_err(refused_place)?;
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

/// The error for a port that is taken, also by a server with the same data directory: then this server was started twice.
fn perhaps_started_twice(error: ServerError, storage: &Storage) -> ServerError {
    match (error, storage) {
        (ServerError::Listen { address, option, source }, Storage::Directory { path, .. })
            if source.kind() == io::ErrorKind::AddrInUse
                && matches!(Store::use_of(path), Ok(DirectoryUse::Writer(_))) =>
        {
            let told = format!(
                "{source}, and the data directory {} is in use, too: maybe this server runs already",
                path.display()
            );
            ServerError::Listen { address, option, source: io::Error::new(source.kind(), told) }
        }
        (error, _) => error,
    }
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
