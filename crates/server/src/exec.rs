//! `liteio exec`: runs a command with an in-memory server, which its environment variables point
//! to.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::tcgetpgrp;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::cli::{BackupArgs, ServerArgs, Source};
use crate::config::{Config, ConfigError, CredentialsSource, test_api};
use crate::platform::is_ignored;
use crate::server::{Server, ServerError, ServerHandle};

/// Exit code if the command cannot be started, as in shells.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Variables that are removed: they would make SDKs and commands of this program use other
/// credentials or another endpoint, or be rejected in combination with the ones set here.
const REMOVED: [&str; 15] = [
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
    "LITEIO_HOST",
    "LITEIO_PORT",
    "LITEIO_ACCESS_KEY_FILE",
    "LITEIO_SECRET_KEY_FILE",
    "LITEIO_CREDENTIALS_FILE",
];

/// Variables that are removed where the command gets an endpoint with plain HTTP.
const REMOVED_WITHOUT_TLS: [&str; 3] =
    ["LITEIO_TLS_CERT", "LITEIO_TLS_KEY", "LITEIO_TLS_SELF_SIGNED"];

/// The reason why a command was not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    /// A setting is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server did not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Listening for signals or waiting for the command failed.
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
    /// The exit code for this error.
    pub(crate) fn code(&self) -> u8 {
        match self {
            ExecError::Config(_) | ExecError::Server(ServerError::Config(_)) => 2,
            ExecError::Server(_) | ExecError::System(_) => 1,
            ExecError::Command { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_EXECUTABLE,
            },
        }
    }
}

/// The server's arguments: in memory, on free ports of this machine, logging warnings only.
pub(crate) fn arguments(given: &ServerArgs) -> ServerArgs {
    let local = || Some("127.0.0.1:0".to_owned());
    let mut sources = given.sources.clone();
    // Variables such as MINIO_ADDRESS describe another server, which may be running. They only fill
    // settings that are not given, so these settings are marked as given.
    for setting in ["address", "console_address"] {
        sources.note(setting, Source::Flag);
    }
    // A self-signed certificate would be in memory only, where the command cannot trust it. A flag
    // that asks for one is refused by `refusal`, and a variable is for another server.
    let tls_self_signed = given.tls_self_signed && given.plain_address.is_some();
    ServerArgs {
        memory: true,
        data_dir: None,
        durability: None,
        address: local(),
        host: None,
        port: None,
        tls_self_signed,
        plain_address: given.plain_address.as_ref().and_then(|_| local()),
        iceberg_address: given.iceberg_address.as_ref().and_then(|_| local()),
        website_address: given.website_address.as_ref().and_then(|_| local()),
        // The console is served at the main address as well.
        console_address: None,
        // The variables are for a data directory.
        backup: BackupArgs::default(),
        // The output belongs to the command, so the server logs warnings only.
        log: given.log.clone().or_else(|| Some("warn".to_owned())),
        sources,
        ..given.clone()
    }
}

/// The reason why these arguments are not for a server of a command.
pub(crate) fn refusal(given: &ServerArgs) -> Option<&'static str> {
    let is_flag = |setting| given.sources.get(setting) == Some(&Source::Flag);
    if is_flag("data_dir") {
        return Some("the server of `liteio exec` is in memory: remove --data-dir");
    }
    (is_flag("tls_self_signed") && given.plain_address.is_none()).then_some(
        "the command could not trust the certificate of --tls-self-signed, which is in memory: remove the option, give a \
         certificate (--tls-cert, --tls-key), or also serve plain HTTP for the command (--plain-address 127.0.0.1:0)",
    )
}

/// The server's settings, with the test API enabled, if this build has it.
pub(crate) fn settings(config: Config) -> Config {
    Config { test_api: config.test_api.or(test_api::OF_EXEC), ..config }
}

/// Runs a command with a server, and returns its exit code.
///
/// # Errors
/// [`ExecError`]; the command was not run.
pub(crate) async fn run(config: Config, command: &[OsString]) -> Result<u8, ExecError> {
    // Signals are caught before the command starts, so that none is lost.
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
    // In-memory data needs no orderly shutdown.
    drop(server);
    Ok(code_of(status))
}

/// A signal that is forwarded to the command. An ignored signal, as under `nohup`, is not caught:
/// the command inherits the disposition "ignored", whereas a caught signal would be reset to the
/// default.
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
    // The process may have ended in the meantime.
    let _ = kill_process(process, signal);
}

/// Forwards a signal, unless the terminal has already sent it.
///
/// For a key such as Ctrl-C, the terminal signals the whole foreground process group, to which the
/// command belongs.
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

/// Waits for the command on a separate thread.
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
    // A proxy cannot reach this machine's loopback interface.
    let direct = direct(|name| std::env::var(name).ok());
    let (scheme, address) = endpoint.split_once("://").unwrap_or(("http", endpoint.as_str()));
    if scheme == "http" {
        for name in REMOVED_WITHOUT_TLS {
            child.env_remove(name);
        }
    }
    child
        // The alias `local` of `liteio client` and `mc`: without it, it is the server of the
        // variables below, unless a configuration file has another one of this name.
        .env("MC_HOST_local", format!("{scheme}://{access_key}:{secret_key}@{address}"))
        .env("LITEIO_ADDRESS", address)
        .env("LITEIO_ACCESS_KEY", &access_key)
        .env("LITEIO_SECRET_KEY", &secret_key)
        .env("AWS_ACCESS_KEY_ID", access_key)
        .env("AWS_SECRET_ACCESS_KEY", secret_key)
        .env("AWS_REGION", &config.region)
        .env("AWS_DEFAULT_REGION", &config.region)
        // Clients with the crate object_store, such as delta-rs, refuse plain HTTP without it.
        .env("AWS_ALLOW_HTTP", "true")
        .env("LITEIO_ENDPOINT", &endpoint)
        .env("LITEIO_TEST_ENDPOINT", format!("{endpoint}/_liteio/test"))
        .env("NO_PROXY", &direct)
        .env("no_proxy", &direct);
    child.spawn().map_err(|source| {
        let command = program.to_string_lossy().into_owned();
        ExecError::Command { command, source }
    })
}

/// The hosts that clients access without a proxy (`NO_PROXY`): the given ones, and the server's.
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
