//! Aliases: names of services with credentials, from the file and the environment variables of
//! `mc`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;

/// Supported version of the file.
const VERSION: &str = "10";
const VARIABLE: &str = "MC_HOST_";
/// The keys of a server that was started without any.
const DEFAULT_KEYS: (&str, &str) = ("liteio", "liteio123");
/// Pairs of variables that give a server its keys, themselves or by a file; the first given pair wins.
const KEYS: [(&str, &str); 3] = [
    ("LITEIO_ACCESS_KEY", "LITEIO_SECRET_KEY"),
    ("MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD"),
    ("MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"),
];
/// Values that turn a setting on, in lower case.
const TRUE: [&str; 6] = ["y", "yes", "t", "true", "on", "1"];

/// A service and the keys of a user there.
#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct Alias {
    pub(crate) url: String,
    #[serde(rename = "accessKey", default)]
    pub(crate) access_key: String,
    #[serde(rename = "secretKey", default)]
    pub(crate) secret_key: String,
    #[serde(rename = "sessionToken", default, skip_serializing_if = "Option::is_none")]
    pub(crate) session_token: Option<String>,
    #[serde(default)]
    pub(crate) api: String,
    #[serde(default)]
    pub(crate) path: String,
    /// The server behind the loopback interface: any certificate of it is accepted, since it is rarely one for `localhost`, and
    /// plain HTTP there proves no more.
    #[serde(skip)]
    pub(crate) is_loopback: bool,
    /// Other fields of `mc`, kept as they are.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Path style, in the words of `mc`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum PathStyle {
    Auto,
    #[value(alias = "path")]
    On,
    #[value(alias = "dns")]
    Off,
}

/// Origin of an alias.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    Variable,
    BuiltIn,
}

/// All aliases.
#[derive(Debug)]
pub(crate) struct Aliases {
    directory: Option<PathBuf>,
    file: Configuration,
    /// The alias of this run only.
    given: Option<(&'static str, Alias)>,
}

#[derive(Clone, Default, Deserialize, Serialize)]
struct Configuration {
    version: String,
    #[serde(default)]
    aliases: BTreeMap<String, Alias>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

// Secrets are never shown.
impl std::fmt::Debug for Alias {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Alias").field("url", &self.url).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Configuration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Configuration").finish_non_exhaustive()
    }
}

impl Alias {
    pub(crate) fn new(url: &str, access_key: &str, secret_key: &str, path: PathStyle) -> Alias {
        let path = match path {
            PathStyle::Auto => "auto",
            PathStyle::On => "on",
            PathStyle::Off => "off",
        };
        Alias {
            url: url.to_owned(),
            access_key: access_key.to_owned(),
            secret_key: secret_key.to_owned(),
            api: "S3v4".to_owned(),
            path: path.to_owned(),
            ..Alias::default()
        }
    }

    /// `true` for the `local` without keys that `mc` writes into a new file.
    fn is_template(&self, name: &str) -> bool {
        let fields = [&*self.url, &self.access_key, &self.secret_key];
        name == "local" && fields == ["http://localhost:9000", "", ""]
    }

    /// `http(s)://ACCESSKEY:SECRETKEY[:TOKEN]@HOST`, or a URL without keys.
    fn of_variable(value: &str) -> Result<Alias, String> {
        let (scheme, rest) = value.split_once("://").ok_or("it does not begin with http(s)://")?;
        let (keys, host) =
            rest.rsplit_once('@').map_or((None, rest), |(keys, host)| (Some(keys), host));
        if host.trim_end_matches('/').contains(['/', '?', '#']) {
            return Err(
                "an endpoint has no path, query or fragment, and a bucket comes behind the alias"
                    .to_owned(),
            );
        }
        let Some(keys) = keys else {
            return Ok(Alias::new(value, "", "", PathStyle::Auto));
        };
        let (access_key, secret) = keys.split_once(':').ok_or("there is no secret key")?;
        let (secret_key, token) = match secret.split_once(':') {
            Some((secret_key, token)) => (secret_key, Some(token.to_owned())),
            None => (secret, None),
        };
        let url = format!("{scheme}://{host}");
        let alias = Alias::new(&url, access_key, secret_key, PathStyle::Auto);
        Ok(Alias { session_token: token, ..alias })
    }
}

/// Stars in place of a secret in output; empty without a secret.
pub(crate) fn masked(secret: &str) -> &'static str {
    if secret.is_empty() { "" } else { "********" }
}

impl Aliases {
    /// Reads the file `config.json` of a directory. A missing file counts as an empty one.
    ///
    /// # Errors
    /// The file is not a configuration.
    pub(crate) fn read(directory: Option<&Path>) -> Result<Aliases, Error> {
        let directory = directory.map(Path::to_path_buf);
        let path = directory.as_ref().map(|it| it.join("config.json"));
        let text = match path.as_ref().map(std::fs::read_to_string) {
            Some(Ok(text)) => text,
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::refused(format!(
                    "cannot read {}: {error}; make it readable, or name another directory with --config-dir or MC_CONFIG_DIR",
                    path.unwrap_or_default().display()
                )));
            }
            _ => {
                let file =
                    Configuration { version: VERSION.to_owned(), ..Configuration::default() };
                return Ok(Aliases { directory, file, given: None });
            }
        };
        let path = path.unwrap_or_default();
        // The parser's error would show the line with its secrets.
        let file: Configuration = serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            Error::refused(format!(
                "{} is no configuration of mc (line {line}, column {column}); mend or remove it",
                path.display()
            ))
        })?;
        if file.version != VERSION {
            return Err(Error::refused(format!(
                "{} has version {:?}, known is {VERSION}; a current mc brings it there",
                path.display(),
                file.version
            )));
        }
        Ok(Aliases { directory, file, given: None })
    }

    /// The same with an alias of this run only, which hides others of its name.
    pub(crate) fn with(self, given: Option<(&'static str, Alias)>) -> Aliases {
        Aliases { given, ..self }
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The alias with a name: from a variable, from the file, or `local`.
    ///
    /// # Errors
    /// The variable is not valid.
    pub(crate) fn get(&self, name: &str) -> Result<Option<(Alias, Source)>, Error> {
        if name.is_empty() {
            return Ok(None);
        }
        if let Some((_, alias)) = self.given.as_ref().filter(|(given, _)| *given == name) {
            return Ok(Some((alias.clone(), Source::BuiltIn)));
        }
        // Variables cannot have names with other characters.
        if is_name(name)
            && let Ok(value) = std::env::var(format!("{VARIABLE}{name}"))
        {
            let alias = Alias::of_variable(&value).map_err(|reason| {
                Error::refused(format!(
                    "{VARIABLE}{name} is not valid: {reason}; write \
                     http(s)://ACCESSKEY:SECRETKEY@HOST[:PORT]"
                ))
            })?;
            return Ok(Some((alias, Source::Variable)));
        }
        if let Some(alias) = self.file.aliases.get(name).filter(|it| !it.is_template(name)) {
            return Ok(Some((alias.clone(), Source::File(self.path().unwrap_or_default()))));
        }
        let alias = built_in(name).map_err(Error::Refused)?;
        Ok(alias.map(|alias| (alias, Source::BuiltIn)))
    }

    /// All aliases, by name.
    ///
    /// # Errors
    /// A variable is not valid.
    pub(crate) fn all(&self) -> Result<Vec<(String, Alias, Source)>, Error> {
        let mut names: Vec<String> = self.file.aliases.keys().cloned().collect();
        // Without its keys, what it lacks is told where it is used.
        if built_in("local").is_ok() {
            names.push("local".to_owned());
        }
        names.extend(
            std::env::vars_os().filter_map(|(name, _)| {
                name.to_str()?.strip_prefix(VARIABLE).map(ToOwned::to_owned)
            }),
        );
        names.sort();
        names.dedup();
        let mut all = Vec::new();
        for name in names {
            if let Some((alias, source)) = self.get(&name)? {
                all.push((name, alias, source));
            }
        }
        Ok(all)
    }

    /// Writes an alias to the file.
    pub(crate) fn set(&self, name: &str, alias: Alias) -> Result<(), Error> {
        let mut file = self.file.clone();
        file.aliases.insert(name.to_owned(), alias);
        self.write(&file)
    }

    /// Removes an alias from the file; `false` if it is not there.
    pub(crate) fn remove(&self, name: &str) -> Result<bool, Error> {
        let mut file = self.file.clone();
        if file.aliases.remove(name).is_none() {
            return Ok(false);
        }
        self.write(&file).map(|()| true)
    }

    fn path(&self) -> Option<PathBuf> {
        self.directory.as_ref().map(|it| it.join("config.json"))
    }

    /// Replaces the file by one that only its owner can read.
    fn write(&self, file: &Configuration) -> Result<(), Error> {
        let (Some(directory), Some(path)) = (&self.directory, self.path()) else {
            return Err(Error::refused(
                "there is no home directory; name one for the configuration with --config-dir or \
                 MC_CONFIG_DIR",
            ));
        };
        create_private(directory).map_err(Error::file(directory))?;
        let chance = getrandom::u64().unwrap_or_default();
        let beside = directory.join(format!(".config-{chance:016x}.json"));
        let mut text = serde_json::to_string_pretty(file)
            .map_err(|error| Error::refused(format!("the aliases cannot be written: {error}")))?;
        text.push('\n');
        let written = create_private_file(&beside)
            .and_then(|mut out| out.write_all(text.as_bytes()).and_then(|()| out.sync_all()))
            .and_then(|()| std::fs::rename(&beside, &path));
        written.map_err(|error| {
            // The secrets in it must not stay.
            let _ = std::fs::remove_file(&beside);
            Error::file(&path)(error)
        })
    }
}

/// A letter, and then letters, digits, `-` and `_`.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|it| it.is_ascii_alphabetic())
        && bytes.all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
}

fn built_in(name: &str) -> Result<Option<Alias>, String> {
    (name == "local").then(|| local(|name| std::env::var(name).ok())).transpose()
}

/// The keys of the server on this machine.
///
/// # Errors
/// The file of one cannot be read, or they are in a file of users.
pub(crate) fn local_keys() -> Result<(String, String), String> {
    let Alias { access_key, secret_key, .. } = local(|name| std::env::var(name).ok())?;
    Ok((access_key, secret_key))
}

/// A server on this machine, with the variables that it takes its own settings from.
fn local(variable: impl Fn(&str) -> Option<String>) -> Result<Alias, String> {
    let given = |name: &str| {
        let value = variable(name).map(|value| value.trim().to_owned());
        value.filter(|value| !value.is_empty())
    };
    let mut keys = None;
    for (access, secret) in KEYS {
        // The server would refuse one without the other.
        if let (Some(own_access), Some(own_secret)) = (key(access, given)?, key(secret, given)?) {
            keys = Some((own_access, own_secret));
            break;
        }
    }
    if let (None, Some(file)) = (&keys, given("LITEIO_CREDENTIALS_FILE")) {
        return Err(format!(
            "the keys of the server are in {file}: give those of a user in it by \
             MC_HOST_local=http(s)://ACCESSKEY:SECRETKEY@HOST[:PORT]"
        ));
    }
    let default = || (DEFAULT_KEYS.0.to_owned(), DEFAULT_KEYS.1.to_owned());
    let (access_key, secret_key) = keys.unwrap_or_else(default);
    let address = given("LITEIO_ADDRESS").unwrap_or_else(|| {
        let host = given("LITEIO_HOST").unwrap_or_default();
        // Kubernetes makes a variable of this name for a Service.
        let port = given("LITEIO_PORT").filter(|port| !port.contains("://"));
        format!("{host}:{}", port.as_deref().unwrap_or("9000"))
    });
    let (host, port) = address.rsplit_once(':').unwrap_or((address.as_str(), "9000"));
    let host = match host {
        // It listens everywhere, and so here.
        "" | "0.0.0.0" | "[::]" | "*" | "127.0.0.1" => "localhost",
        host => host,
    };
    let is_true = |value: String| TRUE.contains(&value.to_lowercase().as_str());
    let is_encrypted =
        given("LITEIO_TLS_CERT").is_some() || given("LITEIO_TLS_SELF_SIGNED").is_some_and(is_true);
    let scheme = if is_encrypted { "https" } else { "http" };
    let url = format!("{scheme}://{host}:{port}");
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_loopback = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
    let alias = Alias::new(&url, &access_key, &secret_key, PathStyle::Auto);
    Ok(Alias { is_loopback, ..alias })
}

/// The value of a variable, or of the file that the variable with `_FILE` behind its name names.
fn key(name: &str, given: impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
    if let Some(value) = given(name) {
        return Ok(Some(value));
    }
    let name = format!("{name}_FILE");
    let Some(path) = given(&name) else { return Ok(None) };
    // As the server does it: container engines mount secrets there.
    let secret = Path::new("/run/secrets").join(&path);
    let path = if secret.is_file() { secret } else { PathBuf::from(path) };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) => Err(format!(
            "cannot read {} of the variable {name}: {error}; run the command as the user of the server, or give the \
             keys by MC_HOST_local=http(s)://ACCESSKEY:SECRETKEY@HOST[:PORT]",
            path.display()
        )),
    }
}

#[cfg(unix)]
fn create_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(not(unix))]
fn create_private(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)
}

fn create_private_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_of_mc_does_not_hide_the_server_on_this_machine() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = |url: &str, access_key: &str| {
            let local =
                serde_json::json!({ "url": url, "accessKey": access_key, "secretKey": access_key });
            let file = serde_json::json!({ "version": "10", "aliases": { "local": local } });
            std::fs::write(directory.path().join("config.json"), file.to_string())
                .expect("written");
            let aliases = Aliases::read(Some(directory.path())).expect("it is valid");
            aliases.get("local").expect("valid").expect("it is there").1
        };
        assert_eq!(source("http://localhost:9000", ""), Source::BuiltIn);
        for (url, access_key) in [("http://localhost:9000", "key"), ("http://localhost:9100", "")] {
            assert!(matches!(source(url, access_key), Source::File(_)), "{url} {access_key}");
        }
    }

    #[test]
    fn aliases_are_kept_with_what_is_not_understood() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("config.json");
        let text = r#"{"version": "10", "other": 1, "aliases": {"a": {"url": "http://x",
            "accessKey": "k", "secretKey": "s", "api": "s3v4", "path": "auto", "license": "l"}}}"#;
        std::fs::write(&path, text).expect("written");
        let aliases = Aliases::read(Some(directory.path())).expect("it is valid");
        let alias = Alias::new("http://y", "k2", "s2", PathStyle::On);
        aliases.set("b", alias).expect("written");
        let aliases = Aliases::read(Some(directory.path())).expect("it is valid");
        let (alias, _) = aliases.get("b").expect("valid").expect("it is there");
        assert_eq!((alias.url.as_str(), alias.path.as_str()), ("http://y", "on"));
        let written: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).expect("read")).expect("JSON");
        assert_eq!(written["other"], 1);
        assert_eq!(written["aliases"]["a"]["license"], "l");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(aliases.remove("a").expect("written"));
        let aliases = Aliases::read(Some(directory.path())).expect("it is valid");
        assert!(!aliases.remove("a").expect("nothing to write"));
        assert!(aliases.get("local").expect("valid").is_some());
    }

    #[test]
    fn a_file_of_others_is_refused_and_not_shown() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("config.json");
        for text in ["{\"secretKey\": \"hidden\"", "[]", "{\"version\": \"9\", \"x\": \"hidden\"}"]
        {
            std::fs::write(&path, text).expect("written");
            let error = Aliases::read(Some(directory.path())).expect_err("refused").to_string();
            assert!(!error.contains("hidden"), "{error}");
        }
    }

    #[test]
    fn variables_hold_keys_and_a_token() {
        let alias = Alias::of_variable("https://key:se/cr@t:tok+en==@host:9000").expect("valid");
        assert_eq!(alias.url, "https://host:9000");
        assert_eq!(alias.access_key, "key");
        assert_eq!(alias.secret_key, "se/cr@t");
        assert_eq!(alias.session_token.as_deref(), Some("tok+en=="));
        let alias = Alias::of_variable("http://host").expect("valid");
        assert_eq!((alias.url.as_str(), alias.access_key.as_str()), ("http://host", ""));
        assert!(Alias::of_variable("http://key:se/cr@t@host:9000/").is_ok());
        for value in [
            "http://key:secret@host/photos",
            "http://host/photos/",
            "http://host?a=b",
            "http://host#a",
        ] {
            let reason = Alias::of_variable(value).expect_err(value);
            assert!(reason.contains("behind the alias"), "{reason}");
        }
        assert!(Alias::of_variable("host").is_err());
        assert!(Alias::of_variable("http://key@host").is_err());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_with_the_way_around_it() {
        let directory = tempfile::tempdir().expect("a directory");
        // Not by its mode, which root passes over.
        std::fs::create_dir(directory.path().join("config.json")).expect("made");
        let error = Aliases::read(Some(directory.path())).expect_err("refused").to_string();
        assert!(error.contains("config.json") && error.contains("MC_CONFIG_DIR"), "{error}");
    }

    #[test]
    fn keys_in_a_file_of_users_are_not_guessed() {
        let file = ("LITEIO_CREDENTIALS_FILE", "/etc/liteio/users.toml");
        let reason = local_of(&[file]).expect_err("a refusal");
        assert!(reason.contains("are in /etc/liteio/users.toml"), "{reason}");
        assert!(reason.contains("MC_HOST_local="), "{reason}");
        let keys = [("LITEIO_ACCESS_KEY", "mine"), ("LITEIO_SECRET_KEY", "my-secret"), file];
        assert_eq!(local_of(&keys).expect("an alias").access_key, "mine");
    }

    fn local_of(given: &[(&str, &str)]) -> Result<Alias, String> {
        let given: BTreeMap<&str, &str> = given.iter().copied().collect();
        local(|name| given.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn the_server_on_this_machine_is_known_without_a_word() {
        type Given = &'static [(&'static str, &'static str)];
        let default = ["http://localhost:9000", "liteio", "liteio123"];
        let rows: [(Given, [&str; 3]); 12] = [
            (&[], default),
            (
                &[("LITEIO_ACCESS_KEY", "mine"), ("LITEIO_SECRET_KEY", "my-secret")],
                ["http://localhost:9000", "mine", "my-secret"],
            ),
            (
                &[("MINIO_ROOT_USER", "mine"), ("MINIO_ROOT_PASSWORD", "my-secret")],
                ["http://localhost:9000", "mine", "my-secret"],
            ),
            (&[("LITEIO_ACCESS_KEY", "mine")], default),
            (
                &[("LITEIO_ADDRESS", "0.0.0.0:9100")],
                ["http://localhost:9100", "liteio", "liteio123"],
            ),
            (&[("LITEIO_ADDRESS", "[::1]:91")], ["http://[::1]:91", "liteio", "liteio123"]),
            (&[("LITEIO_PORT", "9100")], ["http://localhost:9100", "liteio", "liteio123"]),
            (
                &[("LITEIO_HOST", "10.0.0.7"), ("LITEIO_PORT", "91")],
                ["http://10.0.0.7:91", "liteio", "liteio123"],
            ),
            (&[("LITEIO_PORT", "tcp://10.0.0.7:9000")], default),
            (
                &[("LITEIO_TLS_CERT", "/etc/tls.crt")],
                ["https://localhost:9000", "liteio", "liteio123"],
            ),
            (
                &[("LITEIO_TLS_SELF_SIGNED", "True")],
                ["https://localhost:9000", "liteio", "liteio123"],
            ),
            (&[("LITEIO_TLS_SELF_SIGNED", "false")], default),
        ];
        for (given, expected) in rows {
            let alias = local_of(given).expect("an alias");
            assert_eq!([alias.url, alias.access_key, alias.secret_key], expected, "{given:?}");
        }
    }

    #[test]
    fn the_certificate_of_the_server_on_this_machine_is_not_compared_on_loopback_only() {
        for (address, expected) in [
            ("0.0.0.0:9000", true),
            ("127.0.0.2:9000", true),
            ("[::1]:9000", true),
            ("10.0.0.7:9000", false),
            ("127.example.com:9000", false),
            ("s3.example.com:9000", false),
        ] {
            let alias = local_of(&[("LITEIO_ADDRESS", address)]).expect("an alias");
            assert_eq!(alias.is_loopback, expected, "{address}");
        }
    }

    #[test]
    fn the_keys_of_the_server_on_this_machine_are_read_from_their_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name).display().to_string();
        let (access, secret) = (path("access"), path("secret"));
        std::fs::write(&access, "mine\n").expect("written");
        std::fs::write(&secret, "my-secret\n").expect("written");
        let files = [
            ("LITEIO_ACCESS_KEY_FILE", access.as_str()),
            ("LITEIO_SECRET_KEY_FILE", secret.as_str()),
        ];
        let alias = local_of(&files).expect("an alias");
        assert_eq!((alias.access_key.as_str(), alias.secret_key.as_str()), ("mine", "my-secret"));
        let half = [("LITEIO_ACCESS_KEY", "other"), ("LITEIO_SECRET_KEY_FILE", secret.as_str())];
        let alias = local_of(&half).expect("an alias");
        assert_eq!((alias.access_key.as_str(), alias.secret_key.as_str()), ("other", "my-secret"));
        let missing = [("LITEIO_ACCESS_KEY_FILE", "/nowhere/access")];
        let reason = local_of(&missing).expect_err("no such file");
        assert!(reason.contains("LITEIO_ACCESS_KEY_FILE"), "{reason}");
    }

    #[test]
    fn names_begin_with_a_letter() {
        for (name, expected) in
            [("a", true), ("my-s3_2", true), ("", false), ("2a", false), ("a/b", false)]
        {
            assert_eq!(is_name(name), expected, "{name}");
        }
    }
}
