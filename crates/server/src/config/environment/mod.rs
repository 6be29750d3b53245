//! Environment variables of other servers that this one understands: the table, which
//! docs/environment.md quotes, and its evaluation.
//!
//! A variable has effect only if neither a flag nor a variable of our own (`LITEIO_…`) gives the
//! setting.

mod give;
mod table;
pub(crate) mod unknown;

use std::collections::BTreeMap;
use std::path::Path;

pub(crate) use self::give::one_directory;
pub(crate) use self::table::table;

use self::table::{Effect, Program, TABLE};
use super::profile::Profile;
use super::{ConfigError, credentials, error};
use crate::cli::{ServerArgs, Source};
use liteio_identity::DEFAULT_ACCESS_KEY;
use liteio_wire::private_file;

/// Pairs of credential variables; the first given pair wins.
const PAIRS: [(&str, &str); 4] = [
    ("LITEIO_ACCESS_KEY", "LITEIO_SECRET_KEY"),
    ("MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD"),
    ("MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"),
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
];

/// Name prefixes that only one program uses: unknown variables with them are reported.
const PREFIXES: [&str; 2] = ["MINIO_", "COM_ADOBE_TESTING_S3MOCK_"];

/// Variables of LocalStack and S3Mock that a shell has for other programs or for clients, too.
const COMMON_NAMES: [&str; 6] =
    ["root", "EDGE_PORT", "PERSISTENCE", "LOCALSTACK_HOST", "DEBUG", "LS_LOG"];

/// Settings of LocalStack and S3Mock that a variable `LITEIO_…` of the same name gives without a profile.
const SETTINGS_OF_BOTH: [&str; 6] =
    ["bucket", "data_dir", "domain", "cors_origin", "address", "no_auth"];

/// The variables of the process and of the file that one of them names. Empty variables count as
/// unset.
#[derive(Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Reads the variables.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read.
    pub(crate) fn read() -> Result<Variables, ConfigError> {
        let known = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Variables::with_file(known.collect())
    }

    pub(super) fn with_file(mut known: BTreeMap<String, String>) -> Result<Variables, ConfigError> {
        let files = TABLE.iter().filter(|row| matches!(row.effect, Effect::File));
        for name in files.map(|row| row.name) {
            let Some(path) = known.get(name).filter(|path| !path.is_empty()).cloned() else {
                continue;
            };
            let of_minio = private_file::read(Path::new(&path));
            let of_minio = of_minio.map_err(|reason| ConfigError(format!("{name}: {reason}")))?;
            let of_minio = read_variables(&of_minio);
            known.extend(of_minio.into_iter().filter(|(name, _)| name.starts_with("MINIO_")));
        }
        known.retain(|name, value| !is_of_service(name) && !is_address_of_service(name, value));
        Ok(Variables(known))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// The variables with this name prefix.
    pub(super) fn beginning_with<'v>(
        &'v self,
        prefix: &'v str,
    ) -> impl Iterator<Item = (&'v str, &'v str)> {
        let names = self.0.keys().filter(move |name| name.starts_with(prefix));
        names.filter_map(|name| Some((name.as_str(), self.get(name)?)))
    }

    /// These variables.
    #[cfg(test)]
    pub(super) fn of(pairs: &[(&str, &str)]) -> Variables {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Variables(pairs.collect())
    }
}

/// True for a variable of the table.
fn is_known(name: &str) -> bool {
    TABLE.iter().any(|row| row.name == name)
        || super::audit::is_of_minio(name)
        || super::notify::is_of_minio(name)
}

/// True for the name of a variable that Kubernetes makes of a Service in the namespace: those of one named `liteio` would
/// pass for unknown settings.
fn is_of_service(name: &str) -> bool {
    // LITEIO_SERVICE_HOST, LITEIO_SERVICE_PORT, LITEIO_SERVICE_PORT_S3
    let is_of_itself = name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_");
    // LITEIO_PORT_9000_TCP, LITEIO_PORT_9000_TCP_ADDR
    is_of_itself
        || name.rsplit_once("_PORT_").is_some_and(|(_, port)| {
            let (port, protocol) = port.split_once('_').unwrap_or((port, ""));
            let is_protocol = ["TCP", "UDP", "SCTP"].iter().any(|it| protocol.starts_with(it));
            is_protocol && port.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// True for the variable of a Service that has the name of a setting: `LITEIO_PORT=tcp://10.0.0.7:9000`.
fn is_address_of_service(name: &str, value: &str) -> bool {
    name.ends_with("_PORT")
        && ["tcp://", "udp://", "sctp://"].iter().any(|it| value.starts_with(it))
}

/// Fills in settings that are not given from the variables, in table order.
///
/// # Errors
/// [`ConfigError`] with the name of the variable.
pub(crate) fn fill(
    arguments: &mut ServerArgs,
    profile: Option<Profile>,
    variables: &Variables,
) -> Result<(), ConfigError> {
    if let Some(driver) = arguments.driver.clone() {
        let is_directory = give::driver(&driver, arguments);
        if is_directory.map_err(|reason| ConfigError(format!("--driver: {reason}")))? {
            arguments.sources.note("data_dir", Source::Flag);
        }
    }
    if arguments.no_log && arguments.sources.get("log").is_none() {
        arguments.log = Some("warn".to_owned());
        arguments.sources.note("log", Source::Flag);
    }
    fill_credentials(arguments, profile, variables)?;
    fill_some(arguments, profile, variables, |_| true)?;
    for program in [Program::S3Mock, Program::LocalStack] {
        let told = unread(program, arguments, profile, variables);
        arguments.notes.extend(told);
    }
    Ok(())
}

/// Lines about the variables that only the profile of this program reads, if it is not selected: a container that takes the place
/// of the other one would start without its buckets, and without a word. The packages for tests show lines with `has no effect`.
fn unread(
    program: Program,
    arguments: &ServerArgs,
    profile: Option<Profile>,
    variables: &Variables,
) -> Vec<String> {
    let Some((_, name)) = program.profile().filter(|(its, _)| profile != Some(*its)) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for row in TABLE.iter().filter(|row| row.program == program) {
        let Some(value) = variables.get(row.name) else { continue };
        let is_common = match row.name {
            "SERVICES" => !value.split(',').any(|service| service.trim() == "s3"),
            other => COMMON_NAMES.contains(&other),
        };
        let setting = match row.effect {
            Effect::Gives(setting, _) => setting,
            Effect::Credentials | Effect::File | Effect::Nothing => "",
        };
        // A setting that is given otherwise is no loss.
        if is_common || arguments.sources.get(setting).is_some() {
            continue;
        }
        let instead = match SETTINGS_OF_BOTH.contains(&setting) {
            true => format!("; LITEIO_{} gives this setting", setting.to_ascii_uppercase()),
            false => String::new(),
        };
        lines.push(format!(
            "{} has no effect without the profile of {}, LITEIO_PROFILE={name} or --profile {name}{instead}",
            row.name,
            program.name()
        ));
    }
    lines
}

/// The same for the listen address only.
///
/// # Errors
/// [`ConfigError`] with the name of the variable.
pub(super) fn fill_address(
    arguments: &mut ServerArgs,
    profile: Option<Profile>,
    variables: &Variables,
) -> Result<(), ConfigError> {
    let is_of_address = |setting: &str| matches!(setting, "address" | "host" | "port");
    fill_some(arguments, profile, variables, is_of_address)
}

/// The same for the credentials only, outside of a container and without a profile.
///
/// # Errors
/// [`ConfigError`] with the name of the variable.
pub(crate) fn fill_keys(
    arguments: &mut ServerArgs,
    variables: &Variables,
) -> Result<(), ConfigError> {
    fill_credentials(arguments, None, variables)
}

fn fill_some(
    arguments: &mut ServerArgs,
    profile: Option<Profile>,
    variables: &Variables,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), ConfigError> {
    for row in TABLE {
        let Effect::Gives(setting, give) = row.effect else { continue };
        if !is_wanted(setting) {
            continue;
        }
        let is_read = row.program.profile().is_none_or(|(its, _)| profile == Some(its));
        let Some(value) = variables.get(row.name).filter(|_| is_read) else { continue };
        if arguments.sources.get(setting).is_some() {
            continue;
        }
        let named = |reason| ConfigError(format!("{}: {reason}", row.name));
        if give(value, arguments).map_err(named)? {
            arguments.sources.note(setting, Source::Variable(row.name.to_owned()));
        }
    }
    Ok(())
}

fn fill_credentials(
    arguments: &mut ServerArgs,
    profile: Option<Profile>,
    variables: &Variables,
) -> Result<(), ConfigError> {
    let [(access, secret), ..] = PAIRS;
    for name in [access, secret] {
        let file = format!("{name}_FILE");
        // An old secret must not count beside a new file.
        if variables.get(name).is_some() && variables.get(&file).is_some() {
            return error(format!("{name} and {file} are both set: remove one of them"));
        }
    }
    let is_given = |name| arguments.sources.get(name).is_some();
    if is_given("credentials_file") {
        return refuse_beside_file(variables);
    }
    let has = (is_given("access_key"), is_given("secret_key"));
    if has == (true, true) {
        return Ok(());
    }
    if has != (false, false) {
        return fill_other_half(arguments, has.0, variables);
    }
    for (access, secret) in PAIRS {
        let is_aws = access.starts_with("AWS_");
        // Session credentials are useless without their token, and a profile promises other
        // credentials.
        let is_skipped =
            is_aws && (variables.get("AWS_SESSION_TOKEN").is_some() || profile.is_some());
        if is_skipped {
            continue;
        }
        // A container has them for its server. A shell has them for AWS itself, and a developer must not
        // find his real pair in a server that he tries.
        if is_aws && !arguments.in_container {
            let own = arguments.access_key.as_deref().unwrap_or(DEFAULT_ACCESS_KEY);
            // A shell whose clients use this server already needs no advice.
            if variables.get(access).is_some_and(|key| key != own) {
                arguments.notes.push(format!(
                    "{access} is for clients: this server does not take it as its own key; give one with \
                     --access-key and --secret-key"
                ));
            }
            continue;
        }
        match (credential(access, variables)?, credential(secret, variables)?) {
            (None, None) => {}
            (Some((_, key)), Some((_, secret_key)))
                if is_aws && !credentials::is_usable(&key, &secret_key) =>
            {
                let told =
                    format!("{access} and {secret} are not used: their values are too short");
                arguments.notes.push(told);
            }
            (Some((from, key)), Some((secret_from, secret_key))) => {
                if is_aws {
                    arguments.notes.push(format!("the access key is the value of {access}"));
                }
                arguments.access_key = Some(key);
                arguments.secret_key = Some(secret_key);
                arguments.sources.note("access_key", Source::Variable(from));
                arguments.sources.note("secret_key", Source::Variable(secret_from));
                return Ok(());
            }
            (Some(_), None) | (None, Some(_)) if is_aws => {}
            (Some((from, _)), None) => return error(format!("{from} needs {secret}: set both")),
            (None, Some((from, _))) => return error(format!("{from} needs {access}: set both")),
        }
    }
    Ok(())
}

/// Refuses variables with a key of this server beside a credentials file, which would have no effect. Those of AWS are for
/// clients, too.
fn refuse_beside_file(variables: &Variables) -> Result<(), ConfigError> {
    let own = PAIRS.into_iter().filter(|(access, _)| !access.starts_with("AWS_"));
    for name in own.flat_map(|(access, secret)| [access, secret]) {
        for name in [name.to_owned(), format!("{name}_FILE")] {
            if variables.get(&name).is_some() {
                return error(format!(
                    "--credentials-file (LITEIO_CREDENTIALS_FILE) and {name} contradict each other: \
                     move the key into the file or remove one of them"
                ));
            }
        }
    }
    Ok(())
}

/// Takes the half of a pair that neither a flag nor a variable gives from the file that our own variable names.
fn fill_other_half(
    arguments: &mut ServerArgs,
    has_access_key: bool,
    variables: &Variables,
) -> Result<(), ConfigError> {
    let [(access, secret), ..] = PAIRS;
    let (name, setting, place) = match has_access_key {
        true => (secret, "secret_key", &mut arguments.secret_key),
        false => (access, "access_key", &mut arguments.access_key),
    };
    if let Some((from, value)) = credential(name, variables)? {
        *place = Some(value);
        arguments.sources.note(setting, Source::Variable(from));
    }
    Ok(())
}

/// The value of a variable, or of the file that its `_FILE` sibling names, with the name of the
/// variable that gave it.
fn credential(name: &str, variables: &Variables) -> Result<Option<(String, String)>, ConfigError> {
    if let Some(value) = variables.get(name) {
        return Ok(Some((name.to_owned(), value.to_owned())));
    }
    let file = format!("{name}_FILE");
    let Some(path) = variables.get(&file).filter(|_| is_known(&file)) else { return Ok(None) };
    match private_file::read_mounted_secret(Path::new(path)) {
        Ok(secret) => Ok(Some((file, secret))),
        Err(reason) => error(format!("{file}: {reason}")),
    }
}

/// Parses the lines `NAME=VALUE`, `export NAME=VALUE` and `NAME="VALUE"` of a file.
fn read_variables(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.trim_start_matches("export ").split_once('='));
    let unquoted = |value: &str| {
        let value = value.trim();
        let inner = ['"', '\''].iter().find_map(|it| value.strip_prefix(*it)?.strip_suffix(*it));
        inner.unwrap_or(value).to_owned()
    };
    pairs.map(|(name, value)| (name.trim().to_owned(), unquoted(value))).collect()
}
