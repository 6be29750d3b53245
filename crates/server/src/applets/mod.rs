//! The other names that the binary answers to in the image, where health checks, compose files and start
//! scripts call them: `minio`, `localstack`, `mc`, `curl`, `sh` and a few small commands. None of it can be
//! reached by a binary that is called `liteio`.

mod builtin;
mod curl;
mod names;
mod shell;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use self::names::{Applet, applet};
use crate::command;

/// The arguments cannot be served.
const USAGE: u8 = 2;
const PROFILE_VARIABLE: &str = "LITEIO_PROFILE";

/// Runs the command that the program was called by: its name is the file name of the first argument.
/// Unknown names are `liteio`.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let name = arguments.first().and_then(|it| Path::new(it).file_name());
    let applet = name.and_then(|name| applet(name.to_str()?)).unwrap_or(Applet::Own);
    let rest = arguments.get(1..).unwrap_or_default();
    match applet {
        Applet::Own => command::run(arguments),
        Applet::Minio => minio(rest),
        Applet::LocalStack => localstack(rest),
        Applet::Entrypoint => entrypoint(rest),
        Applet::Client => liteio_client::run(arguments),
        Applet::Curl => curl::run(rest),
        Applet::Shell => shell::run(rest),
        Applet::Builtin => small(name.and_then(|it| it.to_str()).unwrap_or_default(), rest),
    }
}

/// `minio [FLAG…] server [FLAG…] DIR`.
fn minio(arguments: &[OsString]) -> ExitCode {
    let server = arguments.iter().position(|it| !is_flag(it));
    match server.map(|index| (index, arguments[index].to_str())) {
        Some((index, Some("server"))) => {
            let rest = [&arguments[..index], &arguments[index + 1..]].concat();
            command::run(of_server("minio", rest))
        }
        Some((_, Some(name))) => {
            fail("minio", &format!("{name:?}: only \"minio server\" is served"))
        }
        Some((_, None)) => fail("minio", "only \"minio server\" is served"),
        // --version and --help are those of liteio.
        None => command::run([&[OsString::from("liteio")], arguments].concat()),
    }
}

/// Without a command, or with those that start LocalStack.
fn localstack(arguments: &[OsString]) -> ExitCode {
    match arguments.iter().find(|it| !is_flag(it)).map(|it| it.to_str()) {
        None | Some(Some("start")) => command::run(of_server("localstack", Vec::new())),
        _ => fail("localstack", "only \"localstack start\" is served"),
    }
}

/// The start script: `docker-entrypoint.sh [minio] server DIR` in images of MinIO, without arguments in those of
/// LocalStack. The profile of the image goes before what the arguments look like.
fn entrypoint(arguments: &[OsString]) -> ExitCode {
    let is_minio = match std::env::var(PROFILE_VARIABLE).as_deref() {
        Ok("") | Err(_) => !arguments.is_empty(),
        Ok(profile) => profile == "minio",
    };
    let called = arguments.first().and_then(|it| it.to_str());
    match called.filter(|name| *name != "server").and_then(names::applet_at) {
        // As the scripts do with `minio server …` and `sh -c …`.
        Some(_) => run(arguments.to_vec()),
        None if is_minio => minio(arguments),
        None => localstack(arguments),
    }
}

fn small(name: &str, arguments: &[OsString]) -> ExitCode {
    let arguments = arguments.iter().map(|it| it.to_str().map(str::to_owned));
    let Some(arguments) = arguments.collect::<Option<Vec<_>>>() else {
        return fail(name, "an argument is not UTF-8");
    };
    let Some(builtin) = builtin::find(name) else {
        return fail(name, "there is no such command");
    };
    // Process 1 of a container ignores signals that it does not ask for.
    shell::end_on_signal();
    let print = &mut |text: &str| {
        // A closed standard output is no failure of the command.
        let _ = io::stdout().write_all(text.as_bytes());
    };
    match builtin(&arguments, print) {
        Ok(code) => ExitCode::from(code),
        Err(reason) => fail(name, &reason),
    }
}

fn is_flag(argument: &OsString) -> bool {
    argument.as_encoded_bytes().starts_with(b"-")
}

/// The arguments of `liteio server` with a profile, unless the environment names one.
fn of_server(profile: &str, rest: Vec<OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["liteio".into(), "server".into()];
    if std::env::var_os(PROFILE_VARIABLE).is_none_or(|it| it.is_empty()) {
        arguments.extend(["--profile".into(), profile.into()]);
    }
    arguments.extend(rest);
    arguments
}

fn fail(name: &str, reason: &str) -> ExitCode {
    // If standard error is closed, the exit code remains.
    let _ = writeln!(io::stderr(), "{name}: {reason}");
    ExitCode::from(USAGE)
}

#[cfg(test)]
mod tests;
