//! `liteio exec`: a server in memory for as long as one command runs, whose environment leads to it.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::config::{Config, ConfigError, CredentialsSource, ListenAddress, Storage, TestAccess};
use crate::server::{Server, ServerError, ServerHandle};

/// The command cannot be started, as shells tell it.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

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

/// The settings of the server: in memory, on free ports of this machine, with the test API.
pub(crate) fn settings(config: Config) -> Config {
    let local = || ListenAddress { host: "127.0.0.1".to_owned(), port: 0 };
    Config {
        address: local(),
        plain_address: config.plain_address.as_ref().map(|_| local()),
        website_address: config.website_address.as_ref().map(|_| local()),
        storage: Storage::Memory,
        test_api: config.test_api.or(Some(TestAccess::Local)),
        ..config
    }
}

/// Runs a command beside a server, and returns its exit code.
///
/// # Errors
/// [`ExecError`]; the command has not run then.
pub(crate) async fn run(config: Config, command: &[OsString]) -> Result<u8, ExecError> {
    // Caught before the command starts, so that none is lost.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let server = Server::spawn(config.clone()).await?;
    let child = start(&config, &server, command)?;
    let process = Pid::from_child(&child);
    let mut ended = wait_for(child)?;
    let status = loop {
        tokio::select! {
            status = &mut ended => break status.map_err(io::Error::other)??,
            // A terminal sends it to the command itself.
            Some(()) = interrupt.recv() => {
                if !io::stdin().is_terminal() {
                    pass_on(process, Signal::INT);
                }
            }
            Some(()) = terminate.recv() => pass_on(process, Signal::TERM),
        }
    };
    // Nothing is kept, so that nothing has to be finished.
    drop(server);
    Ok(code_of(status))
}

fn pass_on(process: Pid, signal: Signal) {
    // It may have ended just now.
    let _ = kill_process(process, signal);
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
    child
        .env("AWS_ACCESS_KEY_ID", access_key)
        .env("AWS_SECRET_ACCESS_KEY", secret_key)
        .env("AWS_REGION", &config.region)
        .env("AWS_DEFAULT_REGION", &config.region)
        .env("LITEIO_ENDPOINT", &endpoint)
        .env("LITEIO_TEST_ENDPOINT", format!("{endpoint}/_liteio/test"))
        .env_remove("AWS_PROFILE")
        .env_remove("AWS_SESSION_TOKEN");
    child.spawn().map_err(|source| {
        let command = program.to_string_lossy().into_owned();
        ExecError::Command { command, source }
    })
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
