//! Other names of the binary in its image: `minio`, `localstack`, `mc`, `aws`, `awslocal`, `curl` and `wget`.
//!
//! Health checks, compose files and start scripts call these names. A binary that is called `liteio` never reaches
//! them.
//!
//! ```text
//! argv[0] ──► names ──► own (the command `liteio`): minio, localstack, start scripts, unknown names
//!                  ├──► liteio_client: mc, aws, awslocal
//!                  └──► curl, wget, nc, shell
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `names` | The names, and the applet of each |
//! | `curl` | `curl` and `wget`, as far as health checks use them |
//! | `nc` | `nc -z` |
//! | `shell`, `supervise` | `sh` and `bash`, in images that have a shell; signals for all that it starts |
//!
//! The crate must not know the server: [`run`] gets the command `liteio` as a function.
//!
//! ```
//! use std::ffi::OsString;
//! use std::process::ExitCode;
//!
//! let own = |_: Vec<OsString>| ExitCode::from(7);
//! let version = vec!["/usr/bin/mc".into(), "--version".into()];
//! assert_eq!(liteio_applets::run(version, own), ExitCode::SUCCESS);
//! assert_eq!(liteio_applets::run(vec!["/usr/bin/liteio".into()], own), ExitCode::from(7));
//! ```

mod curl;
mod names;
mod nc;
mod shell;
mod supervise;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use self::names::{Applet, applet};

/// Exit code: the arguments are not supported.
const USAGE: u8 = 2;
const PROFILE_VARIABLE: &str = "LITEIO_PROFILE";
/// The refusal of `minio server` without a directory.
const NO_PLACE: &str =
    "the directory of the data is missing: write \"minio server DIR\", or set MINIO_VOLUMES";
/// MinIO's flags that have a value.
const WITH_VALUE: [&str; 6] =
    ["--address", "--certs-dir", "--config-dir", "--console-address", "-C", "-S"];

/// The `liteio` command: gets its arguments, the program's name first.
pub type Own = fn(Vec<OsString>) -> ExitCode;

/// Runs the command that the program was called as, by the file name of the first argument. Unknown
/// names mean `liteio`, which `own` runs.
pub fn run(arguments: Vec<OsString>, own: Own) -> ExitCode {
    let name = arguments.first().and_then(|it| Path::new(it).file_name());
    let applet = name.and_then(|name| applet(name.to_str()?)).unwrap_or(Applet::Own);
    let rest = arguments.get(1..).unwrap_or_default();
    match applet {
        Applet::Own => own(arguments),
        Applet::Minio => minio(rest, own),
        Applet::LocalStack => localstack(rest, own),
        Applet::Entrypoint => entrypoint(rest, own),
        Applet::Client => liteio_client::run(arguments),
        Applet::Aws => liteio_client::run_aws(&arguments),
        Applet::Curl => curl::run(rest),
        Applet::Wget => curl::wget(rest),
        Applet::Nc => nc::run(rest).unwrap_or_else(|reason| fail("nc", &reason)),
        Applet::Shell => {
            let name = name.and_then(|it| it.to_str()).unwrap_or("sh");
            shell::run(name, rest).unwrap_or_else(|reason| fail("sh", &reason))
        }
    }
}

/// `minio [FLAG…] server [FLAG…] DIR`.
fn minio(arguments: &[OsString], own: Own) -> ExitCode {
    let (name, rest) = minio_command(arguments);
    match name.as_ref().map(|it| it.to_str()) {
        Some(Some("server")) if names_no_place(&rest, is_given) => fail("minio", NO_PLACE),
        Some(Some("server")) => own(of_server("minio", rest)),
        Some(Some(name)) => fail("minio", &format!("{name:?}: only \"minio server\" is served")),
        Some(None) => fail("minio", "only \"minio server\" is served"),
        // --version and --help are passed to liteio.
        None if arguments.iter().any(is_question) => {
            own([&[OsString::from("liteio")], arguments].concat())
        }
        // Without a command liteio would serve ./data with its own keys.
        None => fail("minio", "write \"minio server DIR\""),
    }
}

/// `true` if neither the arguments of `minio server` nor variables name a place of the data. MinIO refuses to start so;
/// `./data`, where LiteIO would begin an empty store, is rarely the volume that was forgotten.
fn names_no_place(arguments: &[OsString], is_given: impl Fn(&str) -> bool) -> bool {
    // The file of the variables may have MINIO_VOLUMES.
    const VARIABLES: [&str; 10] = [
        "MINIO_VOLUMES",
        "MINIO_ENDPOINTS",
        "MINIO_ARGS",
        "MINIO_DATA_DIR",
        "MINIO_CONFIG_ENV_FILE",
        "LITEIO_DATA_DIR",
        "LITEIO_DRIVER",
        "LITEIO_MEMORY",
        "LITEIO_IN_MEMORY",
        "LITEIO_METADATA",
    ];
    if VARIABLES.into_iter().any(is_given) {
        return false;
    }
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().unwrap_or_default();
        if WITH_VALUE.contains(&text) {
            let _value = arguments.next();
            continue;
        }
        // Options that only LiteIO has may name the place, and their values look like one.
        let is_of_minio =
            matches!(text, "--quiet" | "-q" | "--json" | "--anonymous" | "--no-compat");
        let has_value = text.split_once('=').is_some_and(|(name, _)| WITH_VALUE.contains(&name));
        if !is_of_minio && !has_value {
            return false;
        }
    }
    true
}

/// `true` if the environment has a variable with a value.
fn is_given(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_question(argument: &OsString) -> bool {
    matches!(argument.to_str(), Some("--version" | "-v" | "-V" | "--help" | "-h"))
}

/// The command in MinIO's arguments, and the remaining arguments. Global flags may stand on both
/// sides of the command.
fn minio_command(arguments: &[OsString]) -> (Option<OsString>, Vec<OsString>) {
    let (mut command, mut rest) = (None, Vec::new());
    let mut config_directory = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if !is_flag(argument) && command.is_none() {
            command = Some(argument.clone());
            continue;
        }
        let text = argument.to_str().unwrap_or_default();
        let (name, glued) = match text.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (text, None),
        };
        let mut value = None;
        if WITH_VALUE.contains(&name) {
            value = glued.clone().or_else(|| arguments.next().cloned());
        }
        match name {
            "--config-dir" | "-C" => config_directory = value,
            _ => {
                rest.push(argument.clone());
                rest.extend(value.filter(|_| glued.is_none()));
            }
        }
    }
    let is_certificates = |it: &OsString| {
        let name = it.to_str().unwrap_or_default();
        name == "-S" || name == "--certs-dir" || name.starts_with("--certs-dir=")
    };
    // Only certificates are read from the configuration directory.
    if let Some(directory) = config_directory.filter(|_| !rest.iter().any(is_certificates)) {
        rest.extend(["--certs-dir".into(), Path::new(&directory).join("certs").into()]);
    }
    (command, rest)
}

/// Runs `localstack` without a command, or with one that starts it.
fn localstack(arguments: &[OsString], own: Own) -> ExitCode {
    match arguments.iter().find(|it| !is_flag(it)).map(|it| it.to_str()) {
        None | Some(Some("start")) => own(of_server("localstack", Vec::new())),
        _ => fail("localstack", "only \"localstack start\" is served"),
    }
}

/// The start script: `docker-entrypoint.sh [minio] server DIR` in MinIO images, without arguments
/// in LocalStack images. The image's profile takes precedence over a guess from the arguments.
fn entrypoint(arguments: &[OsString], own: Own) -> ExitCode {
    let called = arguments.first().and_then(|it| it.to_str());
    if called.filter(|name| *name != "server").and_then(names::applet_at).is_some() {
        // Like the original scripts, for `minio server …` and `sh -c …`.
        return run(arguments.to_vec(), own);
    }
    let profile = std::env::var(PROFILE_VARIABLE).unwrap_or_default();
    match meant(&profile, !arguments.is_empty(), is_given) {
        Ok(Meant::Minio) if arguments.is_empty() => own(of_server("minio", Vec::new())),
        Ok(Meant::Minio) => minio(arguments, own),
        Ok(Meant::LocalStack) => localstack(arguments, own),
        Err(reason) => fail("docker-entrypoint.sh", &reason),
    }
}

/// The server that the start script starts.
#[derive(Debug, PartialEq, Eq)]
enum Meant {
    Minio,
    LocalStack,
}

/// Guesses the server that the start script should start. LocalStack checks no signatures, so it is
/// never guessed if credentials are given.
///
/// # Errors
/// One line.
fn meant(
    profile: &str,
    has_arguments: bool,
    is_given: impl Fn(&str) -> bool,
) -> Result<Meant, String> {
    const OF_MINIO: [&str; 4] =
        ["MINIO_ROOT_USER", "MINIO_ROOT_USER_FILE", "MINIO_ACCESS_KEY", "MINIO_ACCESS_KEY_FILE"];
    const OWN: [&str; 3] =
        ["LITEIO_ACCESS_KEY", "LITEIO_ACCESS_KEY_FILE", "LITEIO_CREDENTIALS_FILE"];
    match profile {
        "minio" => return Ok(Meant::Minio),
        "" => {}
        _ => return Ok(Meant::LocalStack),
    }
    if has_arguments || OF_MINIO.into_iter().any(&is_given) {
        return Ok(Meant::Minio);
    }
    match OWN.into_iter().find(|name| is_given(name)) {
        None => Ok(Meant::LocalStack),
        Some(name) => Err(format!(
            "without arguments this starts LocalStack, which checks no signature, but {name} is set: \
             set {PROFILE_VARIABLE}, or run \"liteio server\""
        )),
    }
}

fn is_flag(argument: &OsString) -> bool {
    argument.as_encoded_bytes().starts_with(b"-")
}

/// The arguments of `liteio server` with a profile, unless a variable selects one.
fn of_server(profile: &str, rest: Vec<OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["liteio".into(), "server".into()];
    if std::env::var_os(PROFILE_VARIABLE).is_none_or(|it| it.is_empty()) {
        arguments.extend(["--profile".into(), profile.into()]);
    }
    arguments.extend(rest);
    arguments
}

fn fail(name: &str, reason: &str) -> ExitCode {
    // If standard error is closed, the exit code is still reported.
    let _ = writeln!(io::stderr(), "{name}: {reason}");
    ExitCode::from(USAGE)
}

#[cfg(test)]
mod tests;
