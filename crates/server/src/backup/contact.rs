//! First contact with the place of a backup, before the server answers.
//!
//! A place that refuses a backup which never worked is a wrong setting: a missing bucket, wrong keys, no right to write. The
//! start ends then. A place that does not answer is tried again behind the start, and so is one that refuses a data
//! directory which was backed up there before: a backup that breaks must not keep a server down.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use liteio_backup::{Error, IDENTITY, Repository};
use liteio_store::Store;
use tokio::net::lookup_host;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::OpenedTarget;
use crate::config::Storage;

/// Time for the place to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Refuses this server as the place of its own backup, where each object of the backup would be one to back up. A proxy before
/// this server is not recognized.
///
/// # Errors
/// One line that says what to change.
pub(crate) async fn check_other_server(endpoint: &str, own: SocketAddr) -> Result<(), String> {
    let Ok(uri) = endpoint.parse::<http::Uri>() else { return Ok(()) };
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    // A name that is not known yet may be later, which the backup waits for.
    let Ok(Ok(addresses)) = timeout(ANSWER, lookup_host((host, port))).await else { return Ok(()) };
    for address in addresses {
        if port == own.port() && answers_at(own.ip(), address.ip()) {
            return Err(format!(
                "the endpoint {endpoint} is this server itself: name another server for the backup"
            ));
        }
    }
    Ok(())
}

/// `true` if a socket that is bound to `own` gets the connections to `address`.
fn answers_at(own: IpAddr, address: IpAddr) -> bool {
    // Only an address of this machine can be bound.
    let is_of_machine = || UdpSocket::bind((address, 0)).is_ok();
    own == address
        || own.is_unspecified() && (own.is_ipv6() || address.is_ipv4()) && is_of_machine()
}

/// Asks the place for a backup before a data directory is made, so that a start that ends leaves none behind: a mount
/// point stays empty until its disk is mounted. A directory that exists may have been backed up before, which only its
/// store knows.
///
/// # Errors
/// One line that says what to change.
pub(crate) async fn before_the_data(
    opened: &OpenedTarget,
    storage: &Storage,
) -> Result<(), String> {
    match storage {
        Storage::Directory { path, .. } if !path.join("format").exists() => {
            let (target, path) = (Arc::clone(&opened.target), path.clone());
            ask(move || {
                let mut is_taken = false;
                // Only what a backup has: other directories may be closed to this user.
                target.list(IDENTITY, None, &mut |_| {
                    is_taken = true;
                    ControlFlow::Break(())
                })?;
                match is_taken && is_unmade(&path) {
                    true => Err(Error::Refused(format!(
                        "the backup at {} is of another data directory, and {} has no data yet: is its disk mounted? \
                         To restore the data: `liteio restore`; for a new store choose another prefix",
                        target.shown(),
                        path.display()
                    ))),
                    false => Ok(()),
                }
            })
            .await
        }
        _ => Ok(()),
    }
}

/// `true` if a store would be made in a directory. One that this user may not look into, a restore that is not finished, and a
/// store that has lost its file `format` are told when the data is opened.
fn is_unmade(path: &Path) -> bool {
    let lacks = |name| matches!(path.join(name).try_exists(), Ok(false));
    ["format", "restoring", "meta.redb"].into_iter().all(lacks)
}

/// Opens or makes the backup of a store that was never backed up to this place, which needs the rights to read and to write.
///
/// # Errors
/// One line that says what to change.
pub(crate) async fn first(store: &Store, opened: &OpenedTarget) -> Result<(), String> {
    let known = store.backup_at(&opened.target.shown()).map_err(|error| error.to_string())?;
    if known.is_some() {
        return Ok(());
    }
    let (store, OpenedTarget { target, key }) = (store.clone(), opened.clone());
    ask(move || Repository::of_store(target, key.as_ref(), &store).map(drop)).await
}

/// Calls a place on a thread of its own, which is left behind if it gets no answer.
async fn ask(call: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), String> {
    let (done, answered) = oneshot::channel();
    let thread = thread::Builder::new().name("liteio-contact".to_owned()).spawn(move || {
        // Nobody waits any more.
        let _ = done.send(call());
    });
    thread.map_err(|error| format!("cannot start threads: {error}"))?;
    match timeout(ANSWER, answered).await {
        Ok(Ok(Err(error))) if error.is_refusal() => Err(error.to_string()),
        // The writer of the backup tells of failures that pass.
        _ => Ok(()),
    }
}
