//! A PostgreSQL server for tests, in a temporary directory.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tempfile::TempDir;

/// The user `nobody`: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;

/// The role that owns everything.
const ROLE: &str = "liteio";

/// Time for the server to start or stop, on a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server that tests share, which ends with the last of them.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A running server. It ends when this is dropped, or the process ends.
#[derive(Debug)]
pub struct Server {
    directory: TempDir,
    data: PathBuf,
    /// The port at 127.0.0.1, if it listens there.
    port: Option<u16>,
    options: Vec<String>,
    process: Mutex<Option<Child>>,
}

impl Server {
    /// The server that tests share, each with its own cluster: `fsync` is off, and it has a socket only.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock();
        if let Some(server) = shared.upgrade() {
            return server;
        }
        let server = Arc::new(Self::new(None, &["fsync=off", "max_connections=300"]));
        *shared = Arc::downgrade(&server);
        server
    }

    /// Starts a server with these settings. With a port it listens at 127.0.0.1, too.
    ///
    /// # Panics
    /// If PostgreSQL is not installed or does not start.
    #[must_use]
    pub fn new(port: Option<u16>, options: &[&str]) -> Self {
        let server = Self::prepared(port, options);
        let data = server.data.to_str().expect("the path is text");
        let arguments = ["-D", data, "-k", "-U", ROLE, "--no-sync", "--auth-local=trust"];
        let host = ["--auth-host=scram-sha-256", "-E", "UTF8", "--locale=C"];
        server.run("initdb", &[&arguments[..], &host].concat());
        server.start();
        server
    }

    /// A server in an empty directory, not started.
    fn prepared(port: Option<u16>, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        if is_root() {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("the owner changes");
        }
        Self {
            data: directory.path().join("data"),
            directory,
            port,
            options: options.iter().map(|it| (*it).to_owned()).collect(),
            process: Mutex::new(None),
        }
    }

    /// Starts a standby of this server, which streams from it under this name.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn standby(&self, name: &str, port: Option<u16>, options: &[&str]) -> Self {
        let standby = Self::prepared(port, options);
        let data = standby.data.to_str().expect("the path is text");
        let source = format!("{} application_name={name}", self.connection());
        standby.run(
            "pg_basebackup",
            &["-D", data, "-R", "-c", "fast", "-X", "stream", "--no-sync", "-d", &source],
        );
        standby.start();
        standby
    }

    /// Makes a primary of a standby.
    ///
    /// # Panics
    /// If it does not become one.
    pub fn promote(&self) {
        assert_eq!(self.query("SELECT pg_promote(true, 60)"), "t");
    }

    /// Starts it, again.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(&self) {
        let begun = Instant::now();
        loop {
            let log = fs::File::options().append(true).create(true).open(self.log());
            let log = log.expect("the log opens");
            let mut command = program("postgres");
            command.arg("-D").arg(&self.data).arg("-k").arg(self.directory.path());
            let addresses = if self.port.is_some() { "127.0.0.1" } else { "" };
            command.arg(format!("--listen_addresses={addresses}"));
            command.arg(format!("--port={}", self.port.unwrap_or(5432)));
            for option in &self.options {
                command.arg(format!("--{option}"));
            }
            command.stdin(Stdio::null()).stdout(log.try_clone().expect("a handle")).stderr(log);
            let mut child = spawned(command);
            let has_ended = loop {
                if self.answers() {
                    break false;
                }
                if child.try_wait().expect("it is a child").is_some() {
                    break true;
                }
                assert!(begun.elapsed() < PATIENCE, "{}", self.told());
                pause();
            };
            if !has_ended {
                *self.process.lock() = Some(child);
                return;
            }
            // Backends of a killed server end a moment after it.
            assert!(begun.elapsed() < PATIENCE, "it does not start: {}", self.told());
            pause();
        }
    }

    /// Ends it at once, with all of its processes, as a power cut does but for the page cache.
    ///
    /// # Panics
    /// If it does not run.
    pub fn kill(&self) {
        let mut process = self.process.lock().take().expect("it runs");
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", process.id()));
        process.kill().expect("it is killed");
        process.wait().expect("it ends");
        for child in children.unwrap_or_default().split_whitespace() {
            signal("KILL", child);
        }
    }

    /// Turns the checksums of pages off, while it does not run for a moment.
    ///
    /// # Panics
    /// If it does not run.
    pub fn disable_checksums(&self) {
        let mut process = self.process.lock().take().expect("it runs");
        signal("INT", &process.id().to_string());
        process.wait().expect("it ends");
        let data = self.data.to_str().expect("the path is text");
        self.run("pg_checksums", &["--disable", "--no-sync", "-D", data]);
        self.start();
    }

    /// Sends a signal to the process of the server with this id.
    pub fn signal(&self, name: &str, process: &str) {
        signal(name, process);
    }

    /// The output of a query, by the server's own client, over its socket.
    ///
    /// # Panics
    /// If the query fails.
    #[must_use]
    pub fn query(&self, text: &str) -> String {
        let output = self.asked(text);
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn asked(&self, text: &str) -> std::process::Output {
        let mut command = Command::new(directory_of_programs().join("psql"));
        command.args([
            "-X",
            "-A",
            "-t",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            &self.connection(),
            "-c",
            text,
        ]);
        command.output().expect("psql runs")
    }

    /// `true` if it answers.
    fn answers(&self) -> bool {
        self.asked("SELECT 1").status.success()
    }

    /// The URL of its database over its socket.
    #[must_use]
    pub fn url(&self) -> String {
        let port = self.port.unwrap_or(5432);
        format!("postgres://{ROLE}@/postgres?host={}&port={port}", self.directory.path().display())
    }

    /// The path of its socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join(format!(".s.PGSQL.{}", self.port.unwrap_or(5432)))
    }

    /// Its directory of data.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Writes a file below the directory of data, which only the server reads.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.data.join(name);
        fs::write(&path, text).expect("the file is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("only for the owner");
        if is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).expect("the owner changes");
        }
    }

    fn connection(&self) -> String {
        let port = self.port.unwrap_or(5432);
        format!("host={} port={port} user={ROLE} dbname=postgres", self.directory.path().display())
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// The end of its log.
    fn told(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn run(&self, name: &str, arguments: &[&str]) {
        let output = program(name).args(arguments).env("LC_ALL", "C").output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {told}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.lock().take() {
            // Ends all of its processes at once.
            signal("QUIT", &process.id().to_string());
            let _ = process.wait();
        }
        if std::thread::panicking() {
            let mut errors = std::io::stderr();
            let _ = writeln!(errors, "the log of the server ends with\n{}", self.told());
        }
    }
}

/// A PgBouncer in front of a server, in the mode of transactions. It ends when this is dropped, or the process
/// ends.
#[derive(Debug)]
pub struct Pooler {
    directory: TempDir,
    process: Child,
}

impl Pooler {
    /// Starts it, with so many connections to the server.
    ///
    /// # Panics
    /// If PgBouncer is not installed or does not start.
    #[must_use]
    pub fn new(server: &Server, connections: usize) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().display();
        let (host, port) = (server.directory.path().display(), server.port.unwrap_or(5432));
        let settings = format!(
            "[databases]\npostgres = host={host} port={port} dbname=postgres user={ROLE}\n[pgbouncer]\n\
             pool_mode = transaction\nauth_type = any\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {path}\n\
             default_pool_size = {connections}\n"
        );
        let file = directory.path().join("settings.ini");
        fs::write(&file, settings).expect("the settings are written");
        if is_root() {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).expect("the owner changes");
        }
        let found = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(PathBuf::from);
        let found =
            std::env::var_os("LITEIO_PGBOUNCER").map(PathBuf::from).into_iter().chain(found);
        let program = found.into_iter().find(|it| it.exists());
        let program = program.expect("PgBouncer is not installed: `apt-get install pgbouncer`");
        let mut command = unprivileged(&program);
        command.arg("-q").arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        let pooler = Self { process: spawned(command), directory };
        let begun = Instant::now();
        while !pooler.directory.path().join(".s.PGSQL.6432").exists() {
            assert!(begun.elapsed() < PATIENCE, "PgBouncer does not start");
            pause();
        }
        pooler
    }

    /// The URL of the server's database through it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{ROLE}@/postgres?host={}&port=6432", self.directory.path().display())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that is free.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

/// The directory of the programs of PostgreSQL, of the newest version: below `/usr/lib/postgresql`, or as
/// `LITEIO_POSTGRES_BIN` says.
fn directory_of_programs() -> PathBuf {
    if let Some(directory) = std::env::var_os("LITEIO_POSTGRES_BIN") {
        return directory.into();
    }
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let found =
        versions.map(|entry| entry.path()).filter(|path| path.join("bin/postgres").exists());
    let newest = found.max_by_key(number).expect(
        "PostgreSQL is not installed: `apt-get install postgresql-15`, or name the directory of its programs in LITEIO_POSTGRES_BIN",
    );
    newest.join("bin")
}

fn is_root() -> bool {
    let mut status = String::new();
    let file = fs::File::open("/proc/self/status");
    let read = file.and_then(|mut it| it.read_to_string(&mut status));
    read.is_ok() && status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

/// A program of PostgreSQL, as a user that it accepts. It ends with the thread that starts it.
fn program(name: &str) -> Command {
    unprivileged(&directory_of_programs().join(name))
}

fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    command.args(["--pdeathsig=QUIT", "--"]).arg(program);
    command.current_dir("/");
    command
}

/// Starts a program in a thread that lives as long as the process.
fn spawned(mut command: Command) -> Child {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = sender.send(command.spawn());
        loop {
            thread::park();
        }
    });
    receiver.recv().expect("the thread answers").expect("it starts")
}

fn signal(name: &str, process: &str) {
    // One that has ended is fine.
    let _ =
        Command::new("kill").args([&format!("-{name}"), process]).stderr(Stdio::null()).status();
}

/// A pause until the next look at another process.
fn pause() {
    thread::park_timeout(Duration::from_millis(20));
}
