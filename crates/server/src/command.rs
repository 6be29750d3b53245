//! Runs the commands, down to the exit code.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::iter;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::backup::CommandError;
use crate::cli::{
    self, BackupCommand, Command, ExecCommand, HealthArgs, KeyCommand, MetricsTokenArgs,
    ServerArgs, Source, Stop,
};
use crate::config::environment::{self, Variables};
use crate::config::{
    Config, ConfigError, DEFAULT_ACCESS_KEY, DEFAULT_SECRET_KEY, Profile, resolve_health_url,
    resolve_keys,
};
use crate::init_scripts::{self, Scripts};
use crate::notify::Notifier;
use crate::output::{print, print_bytes};
use crate::platform::{
    Terminal, disable_huge_pages, hide_memory, left_by_root, raise_file_limit, reload_signal,
    scrub_signal,
};
use crate::server::{Server, ServerError, ServerHandle};
use crate::{
    about, backup, cluster, credentials_command, exec, give_back, health, keys, own_pages, repair,
    verify,
};
use liteio_client::scraper;
use liteio_import as import;
use liteio_observe::telemetry::{self, LogGuard};
use liteio_store::{Clock as _, DEFAULT_DIRECTORY, SystemClock, silence_panics_of_damage};
use liteio_wire::serve::StopSignals;

/// Exit code: the server cannot start or is not ready, or its data is damaged.
const FAILED: u8 = 1;
/// Exit code: the arguments are invalid.
const USAGE: u8 = 2;
/// Until then, the first requests come, which need pages that the start has read.
const START_LASTS: Duration = Duration::from_secs(1);

/// Runs the command with these arguments, of which the first is the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    silence_panics_of_damage();
    match cli::parse(arguments) {
        Ok(Command::Server(arguments)) => serve(&arguments.server),
        Ok(Command::Exec(arguments)) => execute(&arguments),
        Ok(Command::Environment) => {
            print(&environment::table());
            ExitCode::SUCCESS
        }
        Ok(Command::Health(arguments)) => ask_health(&arguments),
        Ok(Command::MetricsToken(arguments)) => make_metrics_token(&arguments),
        Ok(Command::Client(arguments)) => {
            let program = OsString::from("liteio client");
            liteio_client::run(iter::once(program).chain(arguments.arguments))
        }
        Ok(Command::Verify(arguments)) => look_at_files(|| verify::run(&arguments)),
        Ok(Command::Key(command)) => {
            let code = match keys::run(&command) {
                Ok(text) => {
                    print(&text);
                    ExitCode::SUCCESS
                }
                Err(reason) => fail(FAILED, &reason),
            };
            if let KeyCommand::Rewrap(arguments) = &*command {
                tell_of_root(arguments.data_dir.as_deref());
            }
            code
        }
        Ok(Command::Credentials(command)) => match credentials_command::run(&command) {
            Ok(text) => {
                print(&text);
                ExitCode::SUCCESS
            }
            Err(reason) => fail(FAILED, &reason),
        },
        Ok(Command::Repair(arguments)) => {
            let code = look_at_files(|| repair::run(&arguments));
            tell_of_root(arguments.data_dir.as_deref());
            code
        }
        Ok(Command::Import(command)) => {
            let code = look_at_files(|| {
                import::run(&command, |arguments| {
                    keys::open(&resolve_keys(arguments).map_err(|error| error.to_string())?)
                })
            });
            tell_of_root(command.data_dir());
            code
        }
        Ok(Command::Backup(command)) => {
            let command = command.0.command();
            let code = use_backup(|| backup::run(&command));
            match &command {
                BackupCommand::Copy(arguments) => {
                    tell_of_root(arguments.data_dir.as_deref());
                    tell_of_root(Some(&arguments.directory));
                }
                BackupCommand::Now(arguments) => tell_of_root(arguments.data_dir.as_deref()),
                BackupCommand::List(_)
                | BackupCommand::Status(_)
                | BackupCommand::Verify(_)
                | BackupCommand::Prune(_) => {}
            }
            code
        }
        Ok(Command::Restore(arguments)) => {
            let code = use_backup(|| match &arguments.to {
                Some(to) => give_back::run(&arguments, to),
                None => backup::restore_all(&arguments),
            });
            if let Some(directory) = &arguments.directory {
                tell_of_root(Some(directory));
            }
            code
        }
        // Parsed as the server that it is.
        Ok(Command::Standby(_)) => ExitCode::from(USAGE),
        Ok(Command::Promote(arguments)) => use_backup(|| backup::promote(&arguments)),
        Ok(Command::Cluster(command)) => {
            // A move has many files of a directory open.
            raise_file_limit();
            match cluster::run(&command) {
                Ok((text, is_well)) => {
                    print(&text);
                    if is_well { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
                }
                Err(reason) => fail(FAILED, &reason),
            }
        }
        Ok(Command::Version(arguments)) => {
            print(&about::version(&arguments));
            ExitCode::SUCCESS
        }
        Ok(Command::Completion(arguments)) => {
            print_bytes(&about::completion(&arguments));
            ExitCode::SUCCESS
        }
        Ok(Command::Man(arguments)) => match about::man(&arguments) {
            Ok(page) => {
                print(&page);
                ExitCode::SUCCESS
            }
            Err(reason) => fail(FAILED, &reason),
        },
        Err(Stop::Help(text)) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(Stop::Usage(line)) => fail(USAGE, &line),
        Err(Stop::Commands(text)) => {
            let _ = io::stderr().write_all(text.as_bytes());
            ExitCode::from(USAGE)
        }
    }
}

/// Runs a command on a closed data directory.
fn look_at_files(command: impl FnOnce() -> Result<bool, String>) -> ExitCode {
    // Running out of file descriptors would make intact blobs look damaged.
    raise_file_limit();
    match command() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(reason) => fail(FAILED, &reason),
    }
}

/// Runs a command on a backup.
fn use_backup(command: impl FnOnce() -> Result<bool, CommandError>) -> ExitCode {
    raise_file_limit();
    match command() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(CommandError::Usage(reason)) => fail(USAGE, &reason),
        Err(CommandError::Failed(reason)) => fail(FAILED, &reason),
    }
}

/// Tells of files that a command has made as root in a data directory of another user: its server would fail at them later, in
/// front of somebody who does not know the reason.
fn tell_of_root(data_dir: Option<&Path>) {
    if let Some(line) = left_by_root(data_dir.unwrap_or(Path::new(DEFAULT_DIRECTORY))) {
        let _ = writeln!(io::stderr(), "liteio: {line}");
    }
}

/// Prints one line to standard error.
fn fail(code: u8, reason: &dyn std::fmt::Display) -> ExitCode {
    // If standard error is closed, the exit code is still reported.
    let _ = writeln!(io::stderr(), "liteio: {reason}");
    ExitCode::from(code)
}

/// Signs a token for scrapers. A server with keys of its own refuses one that is made with the default pair.
fn make_metrics_token(arguments: &MetricsTokenArgs) -> ExitCode {
    let variables = match Variables::read() {
        Ok(variables) => variables,
        Err(error) => return fail(USAGE, &error),
    };
    let MetricsTokenArgs { access_key, secret_key, days } = arguments;
    // As the server has them.
    let is_in_container = variables.get("LITEIO_IN_CONTAINER").is_some_and(|it| it == "true")
        && variables.get("LITEIO_PROFILE").is_none();
    let mut server = ServerArgs {
        access_key: access_key.clone(),
        secret_key: secret_key.clone(),
        in_container: is_in_container,
        ..ServerArgs::default()
    };
    for (setting, given) in [("access_key", access_key), ("secret_key", secret_key)] {
        if given.is_some() {
            server.sources.note(setting, Source::Flag);
        }
    }
    if let Err(error) = environment::fill_keys(&mut server, &variables) {
        return fail(USAGE, &error);
    }
    let is_given = server.access_key.is_some() || server.secret_key.is_some();
    let file = variables.get("LITEIO_CREDENTIALS_FILE");
    let file = file.or(is_in_container.then_some("credentials.toml of the data directory"));
    if let Some(file) = file.filter(|_| !is_given) {
        let reason = format!(
            "the keys of the server are in {file}: give --access-key and --secret-key (LITEIO_SECRET_KEY) of a user in it \
             who may do admin:Prometheus"
        );
        return fail(USAGE, &reason);
    }
    let access_key = server.access_key.as_deref().unwrap_or(DEFAULT_ACCESS_KEY);
    let secret_key = server.secret_key.as_deref().unwrap_or(DEFAULT_SECRET_KEY);
    match (access_key == DEFAULT_ACCESS_KEY, secret_key == DEFAULT_SECRET_KEY) {
        (true, true) => {
            let _ = writeln!(
                io::stderr(),
                "liteio: made with the default key {access_key}: for a server with a key of its own give --access-key \
                 (LITEIO_ACCESS_KEY) and --secret-key (LITEIO_SECRET_KEY)"
            );
        }
        (false, true) => {
            return fail(USAGE, &"--access-key needs --secret-key (LITEIO_SECRET_KEY): give both");
        }
        (_, false) => {}
    }
    let expires = SystemClock.now_ms() / 1000 + u64::from(*days) * 86_400;
    print(&(scraper::token(access_key, secret_key, expires) + "\n"));
    ExitCode::SUCCESS
}

fn ask_health(arguments: &HealthArgs) -> ExitCode {
    let variables = match Variables::read() {
        Ok(variables) => variables,
        Err(error) => return fail(USAGE, &error),
    };
    let url = match resolve_health_url(arguments, &variables) {
        Ok(url) => url,
        Err(error) => return fail(USAGE, &error),
    };
    match health::check(&url, arguments.ca_file.as_deref()) {
        Ok(answer) => {
            print(&format!("{answer}\n"));
            ExitCode::SUCCESS
        }
        Err(reason) => fail(FAILED, &reason),
    }
}

/// Ends with the reason why settings are refused, and the variables that are mistyped: one may be what is missing.
fn refuse_settings(error: &ConfigError, variables: &Variables) -> ExitCode {
    let mut told = error.to_string();
    for line in environment::unknown::lines(variables, cli::variables) {
        if line.contains("did you mean") {
            told = format!("{told}; {line}");
        }
    }
    fail(USAGE, &told)
}

fn serve(arguments: &ServerArgs) -> ExitCode {
    let variables = match Variables::read() {
        Ok(variables) => variables,
        Err(error) => return fail(USAGE, &error),
    };
    let (config, notes) = match Config::of_command(arguments, &variables) {
        Ok(resolved) => resolved,
        Err(error) => return refuse_settings(&error, &variables),
    };
    let log = match telemetry::init(&config.log, config.log_format) {
        Ok(log) => log,
        Err(reason) => return fail(FAILED, &reason),
    };
    let unknown = environment::unknown::lines(&variables, cli::variables);
    for note in unknown.into_iter().chain(notes) {
        tracing::warn!("{note}");
    }
    hide_memory();
    raise_file_limit();
    disable_huge_pages();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(FAILED, &format!("cannot start threads: {error}")),
    };
    let result = runtime.block_on(serve_until_told(config, arguments.minio.quiet, &log));
    drop(runtime);
    // Flush the log first, so that the reason for the failure comes after the lines that led to it.
    drop(log);
    match result {
        Ok(None) => ExitCode::SUCCESS,
        // A supervisor starts it again.
        Ok(Some(reason)) => fail(FAILED, &reason),
        Err(ServerError::Config(error)) => fail(USAGE, &error),
        Err(error) => fail(FAILED, &error),
    }
}

/// Runs a command with a server.
fn execute(arguments: &ExecCommand) -> ExitCode {
    let variables = match Variables::read() {
        Ok(variables) => variables,
        Err(error) => return fail(USAGE, &error),
    };
    if let Some(reason) = exec::refusal(&arguments.server) {
        return fail(USAGE, &reason);
    }
    let config = match Config::of_command(&exec::arguments(&arguments.server), &variables) {
        Ok((config, _)) => exec::settings(config),
        Err(error) => return refuse_settings(&error, &variables),
    };
    let log = match telemetry::init(&config.log, config.log_format) {
        Ok(log) => log,
        Err(reason) => return fail(FAILED, &reason),
    };
    for note in environment::unknown::lines(&variables, cli::variables) {
        tracing::warn!("{note}");
    }
    hide_memory();
    raise_file_limit();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(FAILED, &format!("cannot start threads: {error}")),
    };
    let result = runtime.block_on(exec::run(config, &arguments.command));
    runtime.shutdown_background();
    drop(log);
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(error.code(), &error),
    }
}

/// Prints the line that Testcontainers modules and scripts wait for.
fn tell_that_it_is_ready(profile: Option<Profile>, server: &ServerHandle) {
    match profile {
        Some(Profile::Minio) => {
            // A closed standard error is not an error of the command.
            let _ = writeln!(io::stderr(), "API: {}", server.endpoint());
        }
        Some(Profile::Localstack) => print("Ready.\n"),
        Some(Profile::S3mock) | None => {}
    }
}

/// Returns the reason why the server has ended without a signal, if it has.
async fn serve_until_told(
    config: Config,
    is_quiet: bool,
    log: &LogGuard,
) -> Result<Option<String>, ServerError> {
    let signal = |source| ServerError::Open(format!("cannot listen for signals: {source}"));
    let terminal = Terminal::of_process();
    // Before the start, so that a signal during the start is not lost.
    let mut stop_signals = StopSignals::catch().map_err(signal)?;
    let mut scrub_signal = scrub_signal().map_err(signal)?;
    let mut reload_signal = reload_signal().map_err(signal)?;
    // Before the start: a script that cannot be run leaves nothing behind.
    let scripts = match config.profile {
        Some(Profile::Localstack) => {
            Scripts::find(init_scripts::DIRECTORY.as_ref()).map_err(ServerError::Open)?
        }
        _ => Scripts::default(),
    };
    health::note_scripts(!scripts.is_empty());
    let server = tokio::select! {
        server = Server::spawn(config.clone()) => server?,
        name = stop_signals.recv() => {
            tracing::info!(signal = name, "stopped during startup");
            return Ok(None);
        }
    };
    // Who waits for the banner finds above it what the server has to say of its settings.
    log.flush();
    // Generated credentials are shown even with `--quiet`: nobody could use the server without
    // them.
    if !is_quiet || server.has_new_credentials() {
        print(&server.banner(&config));
    }
    if !scripts.is_empty() {
        let endpoint = server.endpoint();
        let result = tokio::select! {
            result = scripts.run(&endpoint, &config.region) => result,
            name = stop_signals.recv() => {
                tracing::info!(signal = name, "stopped during a startup script");
                server.stop_at_once_if_told(&mut stop_signals).await;
                return Ok(None);
            }
        };
        if let Err(reason) = result {
            server.stop().await;
            return Err(ServerError::Open(reason));
        }
        health::note_scripts(false);
    }
    tell_that_it_is_ready(config.profile, &server);
    let notifier = Notifier::of_environment();
    if let Some(notifier) = &notifier {
        notifier.ready(&server.endpoint());
    }
    let condition = server.condition();
    let pings = async {
        match &notifier {
            Some(notifier) => notifier.keep_pinging(condition).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(pings);
    // By the clock: nothing tells when the first requests have come.
    tokio::spawn(async {
        tokio::time::sleep(START_LASTS).await;
        tokio::task::spawn_blocking(own_pages::give_back).await
    });
    let name = loop {
        tokio::select! {
            name = stop_signals.recv() => break name,
            () = &mut pings => {}
            reason = server.over() => {
                tracing::error!(reason, "stopping");
                server.stop_at_once_if_told(&mut stop_signals).await;
                return Ok(Some(reason));
            }
            Some(()) = scrub_signal.recv() => server.scrub(),
            Some(()) = reload_signal.recv() => match terminal.is_gone() {
                // As any program that is not a service.
                true => break "SIGHUP",
                false => server.reload(),
            },
        }
    };
    tracing::info!(signal = name, "stopping");
    let requests = server.requests_in_flight();
    if requests > 0 {
        let hint = "a second Ctrl-C or SIGTERM cuts them off";
        tracing::info!(requests, "waiting up to 30 s for requests in flight; {hint}");
    }
    if let Some(notifier) = &notifier {
        notifier.stopping();
    }
    server.stop_at_once_if_told(&mut stop_signals).await;
    Ok(None)
}
