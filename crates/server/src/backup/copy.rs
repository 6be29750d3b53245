//! `liteio backup copy`: a copy of a data directory, made by the server that uses it, or, if there is none, by the command.
//!
//! ```text
//!  command ─► DIR/copy.socket ─► server: thread liteio-copy ─► liteio_backup::copy
//!     └─────► DIR, if no server has it ──────────────────────────────┘
//! ```
//! The socket is in the data directory, so that only its user reaches it: no address, no key, and no client of S3.

use std::fs::{File, Permissions, set_permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use liteio_backup::{Copied, copy};
use liteio_store::{DEFAULT_DIRECTORY, Durability, Store, StoreConfig, StoreError};
use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::moment::shown;
use super::progress::Progress;
use super::{CommandError, check_apart};
use crate::cli::CopyArgs;
use crate::config::Storage;
use crate::output::say;

/// The name of the socket in the data directory.
const SOCKET: &str = "copy.socket";
/// Longest request, in bytes.
const REQUEST_BYTES_MAX: u64 = 64 << 10;
/// Time for a request to arrive.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections at a time. There is one copy at a time; the others are told so.
const CONNECTIONS_MAX: u32 = 4;
/// Time between two signs of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// Time that a copy has to end when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest path of a socket that every system takes, in bytes.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// A request of a copy, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// The absolute path of the copy.
    directory: PathBuf,
}

/// An answer, one line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Progress(Copied),
    Done(Copied),
    Failed(String),
}

/// Copies a directory, and prints what was done. `Ok(false)` if something was left out.
pub(super) fn run(arguments: &CopyArgs) -> Result<bool, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let data = arguments.data_dir.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_DIRECTORY));
    if let Some(location) = arguments.directory.to_str().filter(|it| it.contains("://")) {
        return Err(CommandError::Usage(format!(
            "a copy is a directory, and {location} is the location of a backup: `liteio backup now` backs up there"
        )));
    }
    let directory = absolute(&arguments.directory).map_err(|error| failed(&error))?;
    check(&directory, &data).map_err(CommandError::Usage)?;
    if arguments.data_dir.is_none() && !data.exists() {
        return Err(CommandError::Failed(format!(
            "there is no {DEFAULT_DIRECTORY} here: give the data directory with --data-dir DIR"
        )));
    }
    let progress = Progress::new();
    let config = StoreConfig { scrub_interval: None, ..StoreConfig::directory(&data) };
    let copied = match Store::open_existing(config) {
        Ok(store) => {
            let copied = copy(&store, &data, &directory, &mut |copied| {
                progress.set(|| progress_of(copied));
                true
            });
            store.close();
            copied?
        }
        Err(StoreError::InUse { message }) => {
            let copied = ask(&data, &directory, &message, &progress);
            let copied = copied.map_err(CommandError::Failed)?;
            check_seen(&directory).map_err(CommandError::Failed)?;
            copied
        }
        Err(error @ StoreError::Corrupt { .. }) => {
            return Err(CommandError::Failed(format!(
                "{}: {error}. `liteio restore` brings everything back from a backup",
                data.display()
            )));
        }
        Err(error) => return Err(failed(&error)),
    };
    drop(progress);
    for reason in &copied.reasons {
        say!("left out: {reason}");
    }
    say!(
        "{}: copy of {} of {}: {} pairs and {} bytes written, {} blobs linked, {} blobs of {} bytes copied, {} vectors, {} left out",
        directory.display(),
        data.display(),
        shown(copied.time_ms),
        copied.pairs,
        copied.pair_bytes,
        copied.linked,
        copied.copied,
        copied.copied_bytes,
        copied.vectors,
        copied.left_out
    );
    Ok(copied.left_out == 0)
}

fn progress_of(copied: &Copied) -> String {
    let blobs = copied.linked + copied.copied;
    format!("{} pairs, {blobs} blobs, {} bytes", copied.pairs, copied.copied_bytes)
}

/// Refuses a copy within the data directory, and one around it.
fn check(directory: &Path, data: &Path) -> Result<(), String> {
    let path = data.to_owned();
    let storage = Storage::Directory { path, durability: Durability::default() };
    check_apart(&format!("file://{}", directory.display()), &storage)
}

/// Refuses to tell of a copy that the server has made where this command does not see it.
fn check_seen(directory: &Path) -> Result<(), String> {
    let is_empty = match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        // It may belong to the server, and not to this user.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    match is_empty {
        false => Ok(()),
        true => Err(format!(
            "the copy is not at {shown}: the server wrote it to its own {shown}, because it runs in another mount \
             namespace, such as with PrivateTmp=yes; choose a directory that both see",
            shown = directory.display()
        )),
    }
}

/// Adds who writes to the reason of a copy that was not permitted.
fn refused(directory: &Path, error: &liteio_backup::Error) -> String {
    let told = error.to_string();
    let words = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
    // The copy tells some of them in words only.
    let is_refused = match error {
        liteio_backup::Error::Store(StoreError::Io(error)) => words.contains(&error.kind()),
        _ => ["ermission denied", "ead-only file system"].iter().any(|it| told.contains(it)),
    };
    match is_refused {
        false => told,
        true => format!(
            "{told}: the server writes the copy, as user {}: give it the right to write to the directory of {}, and add \
             that to ReadWritePaths= if it is a service of systemd",
            rustix::process::geteuid().as_raw(),
            directory.display()
        ),
    }
}

/// Lets the server that has the directory make the copy. `in_use` says who has it.
fn ask(data: &Path, directory: &Path, in_use: &str, progress: &Progress) -> Result<Copied, String> {
    let silent = |error: &dyn std::fmt::Display| {
        format!("{in_use}, which does not answer at its {SOCKET}: {error}")
    };
    let stream =
        at_socket(data, |path| UnixStream::connect(path)).map_err(|error| silent(&error))?;
    let request = Request { directory: directory.to_owned() };
    let request = serde_json::to_string(&request)
        .map_err(|_| "the path of a copy has to be UTF-8".to_owned())?;
    writeln!(&stream, "{request}").map_err(|error| silent(&error))?;
    for line in BufReader::new(&stream).lines() {
        let line = line.map_err(|error| silent(&error))?;
        match serde_json::from_str(&line) {
            Ok(Answer::Progress(copied)) => progress.set(|| progress_of(&copied)),
            Ok(Answer::Done(copied)) => return Ok(copied),
            Ok(Answer::Failed(reason)) => return Err(reason),
            Err(_) => return Err(silent(&"it is another version of LiteIO")),
        }
    }
    Err("the server ended before the copy was whole: run the same command again".to_owned())
}

/// Calls `call` with the path of the socket of a directory, in a form that is short enough for one.
fn at_socket<T>(data: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = data.join(SOCKET);
    if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return call(&path);
    }
    // Linux has another path of each open directory.
    let directory = File::open(data)?;
    call(&Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(SOCKET))
}

/// Makes copies of the directory of a running server for those who may read it. Dropping it ends it.
pub(crate) struct Copies {
    path: PathBuf,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    store: Store,
    data: PathBuf,
    is_stopped: AtomicBool,
    connections: Arc<Semaphore>,
}

impl Copies {
    /// Listens in the directory of `store`, on the current runtime. `None`, which is logged, if that is not possible.
    pub(crate) fn listen(store: Store, data: &Path) -> Option<Copies> {
        let path = data.join(SOCKET);
        // Of a process that was killed: this one has the lock of the directory.
        let _ = std::fs::remove_file(&path);
        let listening = at_socket(data, |path| {
            let socket = UnixListener::bind(path)?;
            set_permissions(path, Permissions::from_mode(0o600)).map(|()| socket)
        });
        let listener = match listening {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(%error, "`liteio backup copy` does not reach this server");
                return None;
            }
        };
        let shared = Arc::new(Shared {
            store,
            data: absolute(data).unwrap_or_else(|_| data.to_owned()),
            is_stopped: AtomicBool::new(false),
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX as usize)),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Some(Copies { path, shared, accepting })
    }

    /// Ends a copy that is being made, and listens no more.
    pub(crate) async fn stop(&self) {
        self.end();
        let ended = self.shared.connections.acquire_many(CONNECTIONS_MAX);
        if timeout(STOP_TIMEOUT, ended).await.is_err() {
            tracing::warn!("a copy does not end, and is left incomplete");
        }
    }

    fn end(&self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        self.accepting.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        if !self.shared.is_stopped.load(Ordering::Relaxed) {
            self.end();
        }
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Descriptors are short, perhaps.
            tokio::time::sleep(PROGRESS_INTERVAL).await;
            continue;
        };
        // The mode of the socket says the same, but for the moment in which it gets it.
        let own = rustix::process::geteuid().as_raw();
        if !stream.peer_cred().is_ok_and(|peer| [0, own].contains(&peer.uid())) {
            continue;
        }
        let Ok(permit) = Arc::clone(&shared.connections).acquire_owned().await else { return };
        let Ok(stream) = stream.into_std() else { continue };
        let shared = Arc::clone(&shared);
        let thread = thread::Builder::new().name("liteio-copy".to_owned());
        // Without a thread the connection ends, which the command tells.
        let _ = thread.spawn(move || serve(&shared, &stream, permit));
    }
}

/// Answers one request. An answer that nobody takes ends the copy.
fn serve(shared: &Shared, stream: &UnixStream, _permit: OwnedSemaphorePermit) {
    let send = |answer: &Answer| {
        let line = serde_json::to_string(answer).map_err(io::Error::other)?;
        let mut stream = stream;
        writeln!(stream, "{line}")
    };
    let answer = match read(stream).and_then(|directory| make(shared, &directory, &send)) {
        Ok(copied) => Answer::Done(copied),
        Err(reason) => Answer::Failed(reason),
    };
    let _ = send(&answer);
}

fn read(stream: &UnixStream) -> Result<PathBuf, String> {
    let told = |error: &dyn std::fmt::Display| format!("the request cannot be read: {error}");
    stream.set_nonblocking(false).map_err(|error| told(&error))?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT)).map_err(|error| told(&error))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT)).map_err(|error| told(&error))?;
    let mut line = String::new();
    let read = BufReader::new(stream.take(REQUEST_BYTES_MAX)).read_line(&mut line);
    read.map_err(|error| told(&error))?;
    let request: Request = serde_json::from_str(&line).map_err(|error| told(&error))?;
    Ok(request.directory)
}

fn make(
    shared: &Shared,
    directory: &Path,
    send: &dyn Fn(&Answer) -> io::Result<()>,
) -> Result<Copied, String> {
    check(directory, &shared.data)?;
    let shown = directory.display().to_string();
    tracing::info!(directory = shown, "making a copy of the data directory");
    let mut told = Instant::now();
    let copied = copy(&shared.store, &shared.data, directory, &mut |copied| {
        if told.elapsed() >= PROGRESS_INTERVAL {
            told = Instant::now();
            if send(&Answer::Progress(copied.clone())).is_err() {
                return false;
            }
        }
        !shared.is_stopped.load(Ordering::Relaxed)
    });
    match &copied {
        Ok(copied) => {
            tracing::info!(directory = shown, left_out = copied.left_out, "the copy is whole")
        }
        Err(error) => tracing::warn!(directory = shown, %error, "the copy is not whole"),
    }
    copied.map_err(|error| refused(directory, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_not_seen_is_not_told_as_made() {
        let directory = tempfile::tempdir().expect("a directory");
        let refused = check_seen(&directory.path().join("copy")).expect_err("missing");
        assert!(refused.contains("another mount namespace"), "{refused}");
        check_seen(directory.path()).expect_err("empty");
        std::fs::write(directory.path().join("format"), "1").expect("written");
        check_seen(directory.path()).expect("seen");
    }

    #[test]
    fn a_copy_without_the_right_to_write_names_the_user_of_the_server() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let store = liteio_backup::Error::Store(StoreError::Io(Arc::new(denied)));
        let words = liteio_backup::Error::Refused(
            "cannot make the copy /x: Read-only file system (os error 30)".to_owned(),
        );
        for error in [store, words] {
            let told = refused(Path::new("/x"), &error);
            let user = rustix::process::geteuid().as_raw();
            assert!(told.contains(&format!("as user {user}: give it the right")), "{told}");
            assert!(told.contains("ReadWritePaths="), "{told}");
        }
        let other = liteio_backup::Error::Refused("it is not empty".to_owned());
        assert_eq!(refused(Path::new("/x"), &other), "it is not empty");
    }
}
