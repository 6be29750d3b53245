//! The continuous backup: servers that are backed up, commands on backups, servers on what was restored.

mod authorities;
mod commands;
mod copies;
mod lazy;
mod moments;
mod outages;
mod refusals;
mod restored;
mod roles;
mod standby;
mod writers;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use crate::command::{Running, liteio};
use crate::harness::{ALICE, RawRequest, User};
use crate::metrics::samples;
use crate::reply::Reply;

/// Nothing in these tests takes this long unless it hangs.
const LONG: Duration = Duration::from_secs(60);

/// The root user of a server without settings.
const ROOT: User = User { access_key: "liteio", secret_key: "liteio123", ..ALICE };

/// A server with its data in a directory, or in memory, in a process of its own.
struct Served {
    running: Running,
    address: SocketAddr,
}

impl Served {
    /// A server with these arguments, on a free port.
    fn start(directory: &tempfile::TempDir, arguments: &[&str]) -> Served {
        Served::at(directory, "127.0.0.1:0", arguments)
    }

    fn at(directory: &tempfile::TempDir, address: &str, arguments: &[&str]) -> Served {
        let mut command = liteio(directory);
        command.args(["--address", address, "--metrics-auth", "public"]);
        command.args(["--log", "info,liteio::access=off"]);
        let running = Running::start(command.args(arguments));
        let address = running.endpoint().strip_prefix("http://").expect("a URL");
        let address = address.parse().expect("an address");
        Served { running, address }
    }

    /// A server on `data` that is backed up each tenth of a second.
    fn backed_up(directory: &tempfile::TempDir, data: &str, backup: &[&str]) -> Served {
        let interval = ["--data-dir", data, "--backup-interval", "100ms"];
        Served::start(directory, &[&interval[..], backup].concat())
    }

    fn request(&self, method: &'static str, path: &str) -> RawRequest<'static> {
        RawRequest::of_s3(self.address, "us-east-1", method, path).by(ROOT)
    }

    async fn get(&self, path: &str) -> Reply {
        self.request("GET", path).send().await
    }

    async fn put(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.request("PUT", path).body(body).send().await.expect_status(200)
    }

    async fn delete(&self, path: &str) -> Reply {
        self.request("DELETE", path).send().await.expect_status(204)
    }

    async fn vectors(&self, operation: &str, body: &str) -> Reply {
        let request = RawRequest::of_vectors(self.address, "us-east-1", operation, body);
        request.by(ROOT).send().await.expect_status(200)
    }

    async fn iam(&self, form: &str) -> Reply {
        RawRequest::of_form(self.address, "iam", form).by(ROOT).send().await.expect_status(200)
    }

    /// The metrics of the backup.
    async fn figures(&self) -> BTreeMap<String, f64> {
        let page = self.request("GET", "/_liteio/metrics").anonymous().send().await;
        let mut found = samples(&page.expect_status(200).text());
        found.retain(|name, _| name.starts_with("liteio_backup_"));
        found
    }

    /// The time before which everything can be restored, in milliseconds; `None` before the first base.
    async fn kept_ms(&self) -> Option<u64> {
        let asked_ms = now_ms();
        let figures = self.figures().await;
        figures.get("liteio_backup_last_base_timestamp_seconds")?;
        let behind = figures["liteio_backup_seconds_behind"];
        let behind_ms = (behind * 1000.0).ceil() as u64;
        Some(asked_ms.saturating_sub(behind_ms))
    }

    /// Waits until everything that was acknowledged so far can be restored. Returns a time by which it is.
    async fn kept(&self) -> u64 {
        let since_ms = now_ms();
        let begun = Instant::now();
        loop {
            match self.kept_ms().await {
                Some(kept_ms) if kept_ms > since_ms => return kept_ms,
                kept_ms => assert!(begun.elapsed() < LONG, "{kept_ms:?} of {since_ms}"),
            }
        }
    }

    /// Waits until a metric of the backup is at least 1.
    async fn counts(&self, name: &str) {
        let begun = Instant::now();
        while self.figures().await[name] < 1.0 {
            assert!(begun.elapsed() < LONG, "{name} stays 0");
        }
    }

    /// Ends it in order, and returns its log.
    fn end(self) -> String {
        let (code, log) = self.running.signal("TERM");
        assert_eq!(code, Some(0), "{log}");
        log
    }
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// The location `backup` in the directory.
fn location(directory: &tempfile::TempDir) -> String {
    format!("file://{}", directory.path().join("backup").display())
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).expect("after 1970")
}

/// A time for `--at`.
fn at(ms: u64) -> String {
    let ms = i64::try_from(ms).expect("a time");
    jiff::Timestamp::from_millisecond(ms).expect("a time").to_string()
}

/// Runs a command in the directory.
fn run(directory: &tempfile::TempDir, arguments: &[&str]) -> Output {
    liteio(directory).args(arguments).output().expect("it runs")
}

/// The standard output of a command that ends with this code.
#[track_caller]
fn told(directory: &tempfile::TempDir, code: i32, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    let stdout = String::from_utf8(output.stdout.clone()).expect("text");
    let stderr = crate::command::stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stdout}{stderr}");
    stdout
}

/// The one line of a command that is refused with this code.
#[track_caller]
fn refused(directory: &tempfile::TempDir, code: i32, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    let stderr = crate::command::stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
    assert!(stderr.starts_with("liteio: ") && stderr.lines().count() == 1, "{stderr}");
    stderr
}

/// Restores into `restored`, verifies that, and serves it.
fn serve_restored(directory: &tempfile::TempDir, location: &str, more: &[&str]) -> Served {
    let restore = [&["restore", location, "restored"], more].concat();
    told(directory, 0, &restore);
    told(directory, 0, &["verify", "--data-dir", "restored"]);
    Served::start(directory, &["--data-dir", "restored"])
}

/// The files below a directory whose path contains `part`.
fn files(directory: &Path, part: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("readable") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(files(&path, part)),
            false if path.to_string_lossy().contains(part) => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}
