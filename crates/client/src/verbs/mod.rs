//! The verbs, one file each.

mod absent;
mod admin;
mod age;
mod alias;
mod anonymous;
mod canned;
mod cat;
mod cors;
mod cp;
mod diff;
mod du;
#[cfg(unix)]
mod echo;
mod encrypt;
mod event;
mod eventhold;
mod find;
mod ilm;
mod legalhold;
mod ls;
mod mb;
mod merge;
mod mirror;
mod note;
mod ping;
mod pipe;
mod properties;
mod quota;
mod rb;
mod ready;
mod removal;
mod replicate;
mod retention;
mod rm;
mod rounds;
mod secret;
mod selection;
mod share;
mod stat;
mod tag;
mod text_input;
mod version;
mod watch;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::cli::{Cli, ConfigVerb, Verb};
use crate::error::Error;
use crate::session::{Alias, Options, Session, refusal};
use crate::text::parse_duration;

/// Exit code of every failure, as in `mc`.
const FAILED: u8 = 1;
const INTERRUPTED: u8 = 130;
/// Exit code that a shell reports for a program that SIGTERM has ended.
#[cfg(unix)]
const TERMINATED: u8 = 143;

/// The arguments, as clap has them.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Runs the verb in the arguments. Not generic: every caller would compile all verbs again.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let called = arguments.first().map(|it| Path::new(it).file_stem().unwrap_or_default());
    let program = if called.is_some_and(|it| it == "mc") { "mc" } else { "liteio client" };
    run_as(program, arguments, None)
}

/// Runs the verb in the arguments of a program, which may bring an alias of its own.
pub(crate) fn run_as(
    program: &'static str,
    arguments: Vec<OsString>,
    alias: Option<(&'static str, Alias)>,
) -> ExitCode {
    let command = Cli::command().name(program).bin_name(program);
    let parsed = command.try_get_matches_from(&arguments).and_then(|it| Cli::from_arg_matches(&it));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let is_json = arguments.iter().any(|argument| argument == "--json");
            return match absent::instead(&error, &arguments, program) {
                Some(line) => refuse(program, &line, is_json),
                None => explain(program, &error, is_json),
            };
        }
    };
    match options(&cli, program) {
        Ok(options) => {
            start(Options { alias, ..options }, async |session| act(&session, cli.verb).await)
        }
        Err(reason) => refuse(program, &reason, cli.global.json),
    }
}

/// Runs the work in a session, until it ends or is interrupted.
pub(crate) fn start(
    options: Options,
    work: impl AsyncFnOnce(Arc<Session>) -> Result<(), Error>,
) -> ExitCode {
    let program = options.program;
    let session = match Session::new(options) {
        Ok(session) => Arc::new(session),
        Err(error) => return fail(program, &error.to_string()),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(program, &format!("cannot start threads: {error}")),
    };
    let code = runtime.block_on(until_interrupted(&session, work(session.clone())));
    // A thread may still wait for standard input, which nothing ends.
    runtime.shutdown_timeout(Duration::from_millis(500));
    code
}

async fn until_interrupted(
    session: &Arc<Session>,
    work: impl Future<Output = Result<(), Error>>,
) -> ExitCode {
    let done = tokio::select! {
        result = work => Ok(result),
        code = interrupted() => Err(code),
    };
    match done {
        Err(code) => {
            secret::show();
            session.abort_uploads().await;
            ExitCode::from(code)
        }
        Ok(Ok(())) if !session.output.has_failures() => ExitCode::SUCCESS,
        Ok(Ok(())) => ExitCode::from(FAILED),
        Ok(Err(error)) => {
            session.output.end(&error);
            ExitCode::from(FAILED)
        }
    }
}

/// Waits for a signal, and returns the exit code.
async fn interrupted() -> u8 {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            return tokio::select! {
                _ = tokio::signal::ctrl_c() => INTERRUPTED,
                _ = terminated.recv() => TERMINATED,
            };
        }
    }
    // If the handler cannot be set, the signal ends the process at once.
    let _ = tokio::signal::ctrl_c().await;
    INTERRUPTED
}

async fn act(session: &Arc<Session>, verb: Verb) -> Result<(), Error> {
    match verb {
        Verb::Alias(verb) | Verb::Config(ConfigVerb::Host(verb)) => alias::run(session, verb).await,
        Verb::Mb(arguments) => mb::run(session, &arguments).await,
        Verb::Rb(arguments) => rb::run(session, &arguments).await,
        Verb::Ls(arguments) => ls::run(session, &arguments).await,
        Verb::Cp(arguments) => cp::run(session, &arguments, cp::After::Keep).await,
        Verb::Mv(arguments) => cp::run(session, &arguments, cp::After::Remove).await,
        Verb::Get(arguments) => cp::get(session, arguments).await,
        Verb::Put(arguments) => cp::put(session, arguments).await,
        Verb::Mirror(arguments) => mirror::run(session, &arguments).await,
        Verb::Rm(arguments) => rm::run(session, &arguments).await,
        Verb::Stat(arguments) => stat::run(session, &arguments).await,
        Verb::Share(verb) => share::run(session, verb).await,
        Verb::Version(verb) => version::run(session, verb).await,
        Verb::Anonymous(verb) => anonymous::run(session, verb).await,
        Verb::Ready(arguments) => ready::run(session, &arguments).await,
        Verb::Du(arguments) => du::run(session, &arguments).await,
        Verb::Find(arguments) => find::run(session, &arguments).await,
        Verb::Cat(arguments) => cat::run(session, &arguments).await,
        Verb::Head(arguments) => cat::head(session, &arguments).await,
        Verb::Pipe(arguments) => pipe::run(session, &arguments).await,
        Verb::Diff(arguments) => diff::run(session, &arguments).await,
        Verb::Tag(verb) => tag::run(session, verb).await,
        Verb::Ping(arguments) => ping::run(session, &arguments).await,
        Verb::Quota(verb) => quota::run(session, verb).await,
        Verb::Retention(verb) => retention::run(session, verb).await,
        Verb::Eventhold(verb) => eventhold::run(session, verb).await,
        Verb::Legalhold(verb) => legalhold::run(session, verb).await,
        Verb::Encrypt(verb) => encrypt::run(session, verb).await,
        Verb::Cors(verb) => cors::run(session, verb).await,
        Verb::Ilm(verb) => ilm::run(session, verb).await,
        Verb::Event(verb) => event::run(session, verb).await,
        Verb::Replicate(verb) => replicate::run(session, verb).await,
        Verb::Watch(arguments) => watch::run(session, &arguments).await,
        Verb::Admin(verb) => admin::run(session, *verb).await,
    }
}

/// A new id of a rule: 20 letters and digits, as `mc` makes them.
fn new_id() -> Result<String, Error> {
    let mut bytes = [0; 10];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::refused(format!("no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn elsewhere(verb: &str, instead: &str) -> Error {
    Error::refused(format!("`{verb}` is not part of this client; {instead}"))
}

fn options(cli: &Cli, program: &'static str) -> Result<Options, String> {
    let global = &cli.global;
    let deadline = global.conn_write_deadline.as_ref().unwrap_or(&global.conn_read_deadline);
    let idle = parse_duration(&global.conn_read_deadline)?.max(parse_duration(deadline)?);
    Ok(Options {
        directory: global.config_dir.clone(),
        json: global.json,
        quiet: global.quiet,
        insecure: global.insecure,
        idle: idle.max(Duration::from_millis(1)),
        program,
        alias: None,
    })
}

/// Prints help and version to standard output, and errors in one line to standard error, or as JSON.
fn explain(program: &str, error: &clap::Error, is_json: bool) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed standard output is no failure of the command.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = std::io::stderr().write_all(text.as_bytes());
            ExitCode::from(FAILED)
        }
        _ => {
            let line = absent::in_lines(error).join("; ").replace(":; ", ": ");
            refuse(program, line.strip_prefix("error: ").unwrap_or(&line), is_json)
        }
    }
}

/// Reports arguments that are refused, on standard output if scripts read JSON there.
fn refuse(program: &str, reason: &str, is_json: bool) -> ExitCode {
    if !is_json {
        return fail(program, reason);
    }
    // If standard output is closed, the exit code remains.
    let _ = writeln!(std::io::stdout(), "{}", refusal(reason));
    ExitCode::from(FAILED)
}

pub(crate) fn fail(program: &str, reason: &str) -> ExitCode {
    // If standard error is closed, the exit code remains.
    let _ = writeln!(std::io::stderr(), "{program}: <ERROR> {}", reason.replace(['\n', '\r'], " "));
    ExitCode::from(FAILED)
}

/// Status of every message that is not a failure.
pub(crate) const SUCCESS: &str = "success";
