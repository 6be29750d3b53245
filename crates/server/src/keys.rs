//! Encryption keys in files and variables, and `liteio key`.
//!
//! A master key file has one key per line, 32 bytes in base64: the first one encrypts, the others
//! are its predecessors. A KMS key file is TOML:
//!
//! ```toml
//! [[key]]
//! name = "reports"
//! versions = ["…"]
//! ```

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use liteio_store::{
    EncryptionKey, KeyRing, MissingKeys, NamedKey, Rewrapped, Store, StoreConfig, StoreError,
    SystemRandom, WrappingReport,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::cli::{KeyCommand, KeyFileArgs, RewrapArgs};
use crate::config::{KeySources, MasterKeySource, resolve_keys};
use crate::key_text::{master_keys, name_and_keys, parse_key};
use crate::platform::with_advice;
use liteio_iam::reseal_secrets;
use liteio_store::DEFAULT_DIRECTORY;
use liteio_wire::private_file;

/// Longest name of a KMS key.
const NAME_BYTES_MAX: usize = 256;
/// The name of the key of data in memory, AWS's for its own key.
const DEFAULT_KEY: &str = "aws/s3";

/// The contents of a KMS key file.
#[derive(Deserialize, Serialize, Default)]
#[serde(deny_unknown_fields)]
struct KmsFile {
    #[serde(default)]
    key: Vec<KmsKey>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct KmsKey {
    name: String,
    versions: Vec<String>,
}

/// Loads the configured keys.
///
/// # Errors
/// One line with advice, without any key.
pub(crate) fn open(sources: &KeySources) -> Result<KeyRing, String> {
    let mut name_of_master = None;
    let master = match &sources.master {
        None => Vec::new(),
        Some(MasterKeySource::OfProcess(_)) => vec![key_of_process()?],
        Some(MasterKeySource::Text(text)) => {
            let (name, keys) = name_and_keys(text);
            name_of_master = name;
            let keys = master_keys(keys);
            keys.map_err(|error| format!("--master-key (LITEIO_MASTER_KEY): {error}"))?
        }
        Some(MasterKeySource::File(path)) => {
            let keys = private_file::parsed(path, master_keys);
            keys.map_err(|error| format!("--master-key-file (LITEIO_MASTER_KEY_FILE): {error}"))?
        }
    };
    let mut named = match &sources.kms_file {
        None if matches!(sources.master, Some(MasterKeySource::OfProcess(_))) => {
            vec![default_key()?]
        }
        None => Vec::new(),
        Some(path) => {
            let parse = |text: &str| kms_file(text).and_then(|file| named_keys(&file));
            let keys = private_file::parsed(path, parse);
            keys.map_err(|error| format!("--kms-key-file (LITEIO_KMS_KEY_FILE): {error}"))?
        }
    };
    // Behind those of the file, whose first one is the default.
    if let Some(name) = name_of_master
        && check_name(name).is_ok()
        && named.iter().all(|other| other.name != name)
    {
        named.push(NamedKey { name: name.to_owned(), versions: master.clone() });
    }
    if let Some(MasterKeySource::OfProcess(names)) = &sources.master {
        for name in names {
            check_name(name)?;
            if named.iter().all(|other| other.name != *name) {
                named.push(NamedKey { name: name.clone(), versions: master.clone() });
            }
        }
    }
    Ok(KeyRing::new(master, named))
}

/// The key of a backup, in a file with one key.
///
/// # Errors
/// One line with advice, without any key.
pub(crate) fn backup_key(path: &Path) -> Result<[u8; 32], String> {
    let keys = private_file::parsed(path, master_keys)?;
    match &*keys {
        [key] => Ok(*key.expose()),
        // A file that was rotated: a backup would have another key from then on.
        _ => Err(format!(
            "{} has {} keys, but a backup has one for ever: if it is the backup's and was rotated, keep its last line, \
             and remove the first, which `liteio key rotate` has put before it; `liteio key new FILE` creates a file for \
             a new backup",
            path.display(),
            keys.len()
        )),
    }
}

/// The warning about a backup whose key is a master key, too.
pub(crate) fn warning_of_backup_key(key: &[u8; 32], sources: &KeySources) -> Option<String> {
    let ring = open(sources).ok()?;
    let is_master = ring.master().iter().any(|master| master.expose() == key);
    is_master.then(|| {
        "the key of the backup is a master key of the server, too: who has either file can read both, and `liteio key rotate` \
         makes the file useless for the backup, which has one key for ever; `liteio key new FILE` makes a key of its own for a \
         backup at another prefix, or copy the file before it is rotated"
            .to_owned()
    })
}

/// The master key of data in memory, which ends with the process.
fn key_of_process() -> Result<EncryptionKey, String> {
    static KEY: Mutex<Option<EncryptionKey>> = Mutex::new(None);
    generated_once(&KEY)
}

/// The key for SSE-KMS of data in memory, under the name of the one that AWS makes for each account.
fn default_key() -> Result<NamedKey, String> {
    static KEY: Mutex<Option<EncryptionKey>> = Mutex::new(None);
    Ok(NamedKey { name: DEFAULT_KEY.to_owned(), versions: vec![generated_once(&KEY)?] })
}

fn generated_once(key: &Mutex<Option<EncryptionKey>>) -> Result<EncryptionKey, String> {
    let mut key = key.lock();
    if let Some(key) = &*key {
        return Ok(key.clone());
    }
    let new = EncryptionKey::generate(&SystemRandom).map_err(|error| error.to_string())?;
    Ok(key.insert(new).clone())
}

/// Runs `liteio key`, and returns its output.
///
/// # Errors
/// The reason in one line.
pub(crate) fn run(command: &KeyCommand) -> Result<String, String> {
    match command {
        KeyCommand::New(arguments) => new_key(arguments),
        KeyCommand::Rotate(arguments) => rotate(arguments),
        KeyCommand::Rewrap(arguments) => rewrap(arguments),
        KeyCommand::List(arguments) => list(arguments),
    }
}

fn new_key(arguments: &KeyFileArgs) -> Result<String, String> {
    let path = &arguments.file;
    let Some(name) = &arguments.name else {
        if path.exists() {
            return Err(format!(
                "{} exists: `liteio key rotate` adds a new key to a file of master keys; the key of a backup is one \
                 for ever, so choose another file for a new backup",
                path.display()
            ));
        }
        write(path, &format!("{}\n", generate()?))?;
        return Ok(format!(
            "{}: a new key, for --master-key-file or --backup-key-file\n",
            path.display()
        ));
    };
    let mut file = match path.exists() {
        true => private_file::parsed(path, kms_file)?,
        false => KmsFile::default(),
    };
    if file.key.iter().any(|key| key.name == *name) {
        return Err(format!(
            "{} has a key {name:?}: `liteio key rotate --name {name}` gives it a new version",
            path.display()
        ));
    }
    file.key.push(KmsKey { name: name.clone(), versions: vec![generate()?] });
    write_kms(path, &file)?;
    Ok(format!("{}: a new key {name:?}\n", path.display()))
}

fn rotate(arguments: &KeyFileArgs) -> Result<String, String> {
    let path = &arguments.file;
    let text = private_file::read(path)?;
    let in_file = |error: String| format!("{}: {error}", path.display());
    match &arguments.name {
        None => {
            master_keys(&text).map_err(in_file)?;
            write(path, &format!("{}\n{text}", generate()?))?;
        }
        Some(name) => {
            let mut file = kms_file(&text).map_err(in_file)?;
            named_keys(&file).map_err(in_file)?;
            let key = file.key.iter_mut().find(|key| key.name == *name);
            let key = key.ok_or_else(|| in_file(format!("there is no key {name:?}")))?;
            key.versions.insert(0, generate()?);
            write_kms(path, &file)?;
        }
    }
    let backups = match arguments.name {
        None => {
            " This is for master keys: a backup has one key for ever, so remove the first line again from the file of \
             its key."
        }
        Some(_) => "",
    };
    Ok(format!(
        "{}: a new version encrypts after the next start of the server. The former ones are needed until \
         `liteio key rewrap` has run.{backups}\n",
        path.display()
    ))
}

/// The ids of the keys in a file, the newest version of each key first.
fn list(arguments: &KeyFileArgs) -> Result<String, String> {
    let path = &arguments.file;
    let in_file = |error: String| format!("{}: {error}", path.display());
    let text = private_file::read(path)?;
    // Whatever TOML refuses is a file of master keys, or neither.
    let (master, named) = match kms_file(&text).and_then(|file| named_keys(&file)) {
        Ok(named) if !named.is_empty() => (Vec::new(), named),
        _ => (master_keys(&text).map_err(in_file)?, Vec::new()),
    };
    let ids = KeyRing::new(master, named).ids();
    let wanted = |name: &Option<String>| arguments.name.is_none() || *name == arguments.name;
    let ids: Vec<_> = ids.into_iter().filter(|id| wanted(&id.name)).collect();
    let lines = ids.iter().enumerate().map(|(at, id)| {
        let encrypts = ids.iter().position(|it| it.name == id.name) == Some(at);
        format!("{id}{}\n", if encrypts { " (encrypts)" } else { "" })
    });
    Ok(lines.collect())
}

fn rewrap(arguments: &RewrapArgs) -> Result<String, String> {
    let path = arguments.data_dir.as_deref().unwrap_or(Path::new(DEFAULT_DIRECTORY));
    if !path.is_dir() {
        return Err(format!("{} is not a directory: give --data-dir DIR", path.display()));
    }
    let sources = resolve_keys(&arguments.keys).map_err(|error| error.to_string())?;
    let keys: Arc<KeyRing> = open(&sources)?.into();
    let ring = Arc::clone(&keys);
    let config = StoreConfig {
        keys,
        scrub_interval: None,
        // The command must not expire objects.
        lifecycle_day: Duration::from_secs(10 * 365 * 24 * 60 * 60),
        ..StoreConfig::directory(path)
    };
    let named = |reason: String| format!("{}: {reason}", path.display());
    let store = Store::open_existing(config).map_err(|error| match error {
        // It names the directory.
        StoreError::InUse { message } => message,
        error => with_advice(path, named(error.to_string())),
    })?;
    let rewrapped = rewrap_all(&store, &ring);
    let log_end = store.log_end().map(|end| format!("{}: {end}\n", path.display()));
    store.close();
    let told = rewrapped.map_err(named)?;
    Ok(format!("{}{}: {told}\n", log_end.unwrap_or_default(), path.display()))
}

/// Rewraps all data keys and reseals all secrets, or nothing: the former keys are retired after
/// this, so a partial success must not look like success.
fn rewrap_all(store: &Store, ring: &KeyRing) -> Result<String, String> {
    let refused = |missing: &MissingKeys, secrets: Option<String>| {
        let objects = (!missing.is_empty()).then(|| describe_missing(missing));
        let reasons: Vec<String> = objects.into_iter().chain(secrets).collect();
        format!("{}. Nothing was changed. {ADVICE}", reasons.join("; "))
    };
    // Everything is checked before anything is changed, and all reasons are told at once.
    if let Err(error) = reseal_secrets(store, ring, false) {
        let missing = store.wrapping_keys().map_err(|error| error.to_string())?.missing;
        return Err(refused(&missing, Some(error.to_string())));
    }
    let (rewrapped, newest) = match store.rewrap_keys().map_err(|error| error.to_string())? {
        Rewrapped::All { rewrapped, newest } => (rewrapped, newest),
        Rewrapped::Refused(missing) => return Err(refused(&missing, None)),
    };
    reseal_secrets(store, ring, true).map_err(|error| error.to_string())?;
    // Counted again from the records: the claim below must be true.
    let WrappingReport { former, missing, .. } =
        store.wrapping_keys().map_err(|error| error.to_string())?;
    if former > 0 || !missing.is_empty() {
        return Err("the directory was changed meanwhile: repeat the command".to_owned());
    }
    Ok(match rewrapped + newest {
        0 => "no object or upload is encrypted with a key of the server".to_owned(),
        _ => format!(
            "{rewrapped} objects and uploads re-encrypted with the newest keys, {newest} already were. The directory \
             needs no former keys now; backups made before still do"
        ),
    })
}

/// The advice for missing keys.
pub(crate) const ADVICE: &str = "Give all keys of the directory with --master-key-file FILE and --kms-key-file FILE \
     (`liteio key list FILE` prints their ids), or delete what no key opens";

/// Names the keys that are not given, and counts the objects that need them.
pub(crate) fn describe_missing(missing: &MissingKeys) -> String {
    let keys = missing.iter().map(|(key, count)| format!("{key} ({count})"));
    format!(
        "{} encrypted objects, parts or uploads need keys that are not given: {}",
        missing.values().sum::<u64>(),
        keys.collect::<Vec<_>>().join(", ")
    )
}

fn kms_file(text: &str) -> Result<KmsFile, String> {
    // The parser's message quotes the input, which may be a key, so only the line is reported.
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
        format!("line {line} is not valid: a key is [[key]], name = \"…\" and versions = [\"…\"]")
    })
}

fn named_keys(file: &KmsFile) -> Result<Vec<NamedKey>, String> {
    let mut named: Vec<NamedKey> = Vec::new();
    for KmsKey { name, versions } in &file.key {
        check_name(name)?;
        if named.iter().any(|other| other.name == *name) {
            return Err(format!("the key {name:?} is defined twice"));
        }
        if versions.is_empty() {
            return Err(format!("the key {name:?} has no version"));
        }
        let versions = versions.iter().map(|text| parse_key(text)).collect::<Result<_, _>>();
        let versions = versions.map_err(|error| format!("the key {name:?}: {error}"))?;
        named.push(NamedKey { name: name.clone(), versions });
    }
    Ok(named)
}

/// Checks a key name, which is sent in headers.
fn check_name(name: &str) -> Result<(), String> {
    let is_valid = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic());
    match is_valid {
        true => Ok(()),
        false => Err(format!(
            "the name {name:?} is not valid: give 1 to {NAME_BYTES_MAX} visible \
                              ASCII characters"
        )),
    }
}

fn generate() -> Result<String, String> {
    let key = EncryptionKey::generate(&SystemRandom).map_err(|error| error.to_string())?;
    Ok(base64_simd::STANDARD.encode_to_string(key.expose()))
}

fn write_kms(path: &Path, file: &KmsFile) -> Result<(), String> {
    named_keys(file).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut text = String::new();
    for KmsKey { name, versions } in &file.key {
        let versions = versions.iter().map(|key| format!("    {key:?},\n")).collect::<String>();
        text.push_str(&format!("[[key]]\nname = {name:?}\nversions = [\n{versions}]\n\n"));
    }
    write(path, &text)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let written = private_file::write(path, text);
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_master_key_may_have_the_name_of_a_key_of_sse_kms() {
        const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let names = |text: String| {
            let master = Some(MasterKeySource::Text(text));
            let ring = open(&KeySources { master, kms_file: None }).expect("keys");
            assert_eq!(ring.master().len(), 1);
            ring.names().map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(names(format!("my-key:{KEY}")), ["my-key"]);
        // Nobody could name this key in a header.
        assert_eq!(names(format!("my key:{KEY}")), [""; 0]);
        assert_eq!(names(format!("# of 2026: new\n{KEY}")), [""; 0]);
        assert_eq!(names(KEY.to_owned()), [""; 0]);
    }

    #[test]
    fn keys_are_read_and_no_message_shows_one() {
        let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        assert_eq!(master_keys(&format!("# new\n{key}\n\n{key},{key}\n")).expect("keys").len(), 3);
        for text in ["", "# nothing", "AAAA", "not base64", &key[1..]] {
            let error = master_keys(text).expect_err(text);
            assert!(text.is_empty() || !error.contains(text), "{error}");
        }
        let named = |text: &str| kms_file(text).and_then(|file| named_keys(&file));
        let text = format!("[[key]]\nname = \"a\"\nversions = [\"{key}\"]\n");
        assert_eq!(named(&text).expect("a key")[0].name, "a");
        for text in [
            format!("{text}{text}"),
            "[[key]]\nname = \"a\"\nversions = []".to_owned(),
            "[[key]]\nname = \"a b\"\nversions = [\"x\"]".to_owned(),
            "[[key]]\nname = \"a\"\nversions = [\"sesame\"]".to_owned(),
            "[[key]]\nname = \"a\"\nversions = \"sesame\"".to_owned(),
            "[[key]]\nname = \"a\"\nsecret = \"sesame\"".to_owned(),
            "sesame".to_owned(),
        ] {
            let error = named(&text).expect_err(&text);
            assert!(!error.contains("sesame") && !error.contains(key), "{error}");
        }
    }
}
