//! `liteio exec`: a server in memory for as long as one command runs, whose environment leads to it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::cli::{ServerArgs, Source};
use crate::config::{Config, ConfigError, CredentialsSource, TestAccess};
use crate::platform::is_ignored;
use crate::server::{Server, ServerError, ServerHandle};

/// The command cannot be started, as shells tell it.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Variables that would lead SDKs to other credentials or to another endpoint than those that are set, or that SDKs
/// refuse beside these.
const REMOVED: [&str; 10] = [
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];

/// The reason for which a command was not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    /// A setting is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server did not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Signals cannot be listened for, or the command cannot be waited for.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The command cannot be started.
    #[error("cannot run {command}: {source}")]
    Command {
        /// Its name.
        command: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl ExecError {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            ExecError::Config(_) => 2,
            ExecError::Server(_) | ExecError::System(_) => 1,
            ExecError::Command { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_EXECUTABLE,
            },
        }
    }
}

/// The arguments of the server: in memory, at free ports of this machine, with warnings alone in its log.
pub(crate) fn arguments(given: &ServerArgs) -> ServerArgs {
    let local = || Some("127.0.0.1:0".to_owned());
    let mut sources = given.sources.clone();
    // Variables such as MINIO_ADDRESS are about another server, which may run. They fill what was not given, so these
    // settings count as given.
    for setting in ["address", "console_address"] {
        sources.note(setting, Source::Flag);
    }
    ServerArgs {
        memory: true,
        data_dir: None,
        durability: None,
        address: local(),
        plain_address: given.plain_address.as_ref().and_then(|_| local()),
        website_address: given.website_address.as_ref().and_then(|_| local()),
        // It is served at the address of all else, too.
        console_address: None,
        // What the server prints is the command's own.
        log: given.log.clone().or_else(|| Some("warn".to_owned())),
        sources,
        ..given.clone()
    }
}

/// The settings of the server, which has the test API.
pub(crate) fn settings(config: Config) -> Config {
    Config { test_api: config.test_api.or(Some(TestAccess::Local)), ..config }
}

/// Runs a command beside a server, and returns its exit code.
///
/// # Errors
/// [`ExecError`]; the command has not run then.
pub(crate) async fn run(config: Config, command: &[OsString]) -> Result<u8, ExecError> {
    // Caught before the command starts, so that none is lost.
    let mut interrupt = Caught::new(SignalKind::interrupt())?;
    let mut quit = Caught::new(SignalKind::quit())?;
    let mut terminate = Caught::new(SignalKind::terminate())?;
    let mut hang_up = Caught::new(SignalKind::hangup())?;
    let server = Server::spawn(config.clone()).await?;
    let child = start(&config, &server, command)?;
    let process = Pid::from_child(&child);
    let mut ended = wait_for(child)?;
    let status = loop {
        tokio::select! {
            status = &mut ended => break status.map_err(io::Error::other)??,
            () = interrupt.next() => pass_on_unless_typed(process, Signal::INT),
            () = quit.next() => pass_on_unless_typed(process, Signal::QUIT),
            () = terminate.next() => pass_on(process, Signal::TERM),
            () = hang_up.next() => pass_on(process, Signal::HUP),
        }
    };
    // Nothing is kept, so that nothing has to be finished.
    drop(server);
    Ok(code_of(status))
}

/// Signal that is passed on to the command. One that is ignored, as below `nohup`, is not listened for: the command
/// inherits the disposition "ignored", whereas that of a caught signal would become the default again.
struct Caught(Option<tokio::signal::unix::Signal>);

impl Caught {
    fn new(kind: SignalKind) -> io::Result<Caught> {
        let listened = (!is_ignored(kind)).then(|| signal(kind)).transpose();
        listened.map(Caught)
    }

    async fn next(&mut self) {
        let received = match &mut self.0 {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if received.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

fn pass_on(process: Pid, signal: Signal) {
    // It may have ended just now.
    let _ = kill_process(process, signal);
}

/// Passes on a signal that a terminal also sends for a key.
///
/// It sends it to all processes in its foreground, of which the command is one as this one is: it has it already.
fn pass_on_unless_typed(process: Pid, signal: Signal) {
    let foreground = File::open("/dev/tty").and_then(|tty| Ok(tcgetpgrp(tty)?));
    if !foreground.is_ok_and(|group| group == getpgrp()) {
        pass_on(process, signal);
    }
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Waits on a thread of its own.
fn wait_for(mut child: Child) -> io::Result<oneshot::Receiver<io::Result<ExitStatus>>> {
    let (sender, receiver) = oneshot::channel();
    let thread = std::thread::Builder::new().name("liteio-exec".to_owned());
    thread.spawn(move || sender.send(child.wait()))?;
    Ok(receiver)
}

fn start(config: &Config, server: &ServerHandle, command: &[OsString]) -> Result<Child, ExecError> {
    let (access_key, secret_key) = credentials(config, server)?;
    let endpoint = match server.plain_address() {
        Some(address) => format!("http://{address}"),
        None => server.endpoint(),
    };
    let [program, arguments @ ..] = command else {
        return Err(ConfigError("give the command to run behind --".to_owned()).into());
    };
    let mut child = Command::new(program);
    child.args(arguments);
    let endpoints = ["", "_S3", "_S3VECTORS", "_IAM", "_STS"];
    for service in endpoints {
        child.env(format!("AWS_ENDPOINT_URL{service}"), &endpoint);
    }
    for name in REMOVED {
        child.env_remove(name);
    }
    // A proxy does not reach this machine's loopback.
    let direct = direct(|name| std::env::var(name).ok());
    child
        .env("AWS_ACCESS_KEY_ID", access_key)
        .env("AWS_SECRET_ACCESS_KEY", secret_key)
        .env("AWS_REGION", &config.region)
        .env("AWS_DEFAULT_REGION", &config.region)
        .env("LITEIO_ENDPOINT", &endpoint)
        .env("LITEIO_TEST_ENDPOINT", format!("{endpoint}/_liteio/test"))
        .env("NO_PROXY", &direct)
        .env("no_proxy", &direct);
    child.spawn().map_err(|source| {
        let command = program.to_string_lossy().into_owned();
        ExecError::Command { command, source }
    })
}

/// The hosts that clients ask without a proxy: those that are set, and the server's.
fn direct(variable: impl Fn(&str) -> Option<String>) -> String {
    let set = variable("no_proxy").or_else(|| variable("NO_PROXY")).unwrap_or_default();
    let server = ["localhost", "127.0.0.1"];
    let hosts = set.split(',').map(str::trim).filter(|host| !host.is_empty());
    let more = server.iter().copied().filter(|host| !set.split(',').any(|it| it.trim() == *host));
    hosts.chain(more).collect::<Vec<_>>().join(",")
}

fn credentials(config: &Config, server: &ServerHandle) -> Result<(String, String), ExecError> {
    match (&config.credentials, server.made_pair()) {
        (CredentialsSource::Pair { access_key, secret_key }, _) => {
            Ok((access_key.clone(), secret_key.clone()))
        }
        (_, Some(pair)) => Ok(pair),
        (_, None) => {
            let message = "the command needs one pair of credentials: give --access-key and --secret-key instead of \
                           --credentials-file";
            Err(ConfigError(message.to_owned()).into())
        }
    }
}
