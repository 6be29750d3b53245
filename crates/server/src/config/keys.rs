//! The sources of the encryption keys.

use std::fmt;
use std::path::PathBuf;

use super::{ConfigError, error};
use crate::cli::KeyArgs;

/// The source of the master key.
#[derive(Clone, PartialEq, Eq)]
pub enum MasterKeySource {
    /// A key that is made for this process, for data in memory. It is also the keys of SSE-KMS with these names.
    OfProcess(Vec<String>),
    /// The value of a variable: keys in base64, separated by commas; the first one encrypts. `NAME:KEY` makes it the key NAME of
    /// SSE-KMS, too, as in a MinIO.
    Text(String),
    /// A file with one key per line; the first one encrypts.
    File(PathBuf),
}

// Written by hand, so that no key is logged.
impl fmt::Debug for MasterKeySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MasterKeySource::OfProcess(names) => {
                formatter.debug_tuple("OfProcess").field(names).finish()
            }
            MasterKeySource::Text(_) => formatter.write_str("Text"),
            MasterKeySource::File(path) => formatter.debug_tuple("File").field(path).finish(),
        }
    }
}

/// The encryption keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySources {
    /// The master key of SSE-S3.
    pub master: Option<MasterKeySource>,
    /// The TOML file of the named keys of SSE-KMS.
    pub kms_file: Option<PathBuf>,
}

/// Resolves the sources of the encryption keys.
///
/// # Errors
/// [`ConfigError`] if they contradict each other.
pub(crate) fn resolve_keys(arguments: &KeyArgs) -> Result<KeySources, ConfigError> {
    let master = match (&arguments.master_key_file, &arguments.master_key) {
        (Some(_), Some(_)) => {
            return error(
                "--master-key-file and --master-key (LITEIO_MASTER_KEY) contradict each other: remove \
                 one of them",
            );
        }
        (Some(path), None) => Some(MasterKeySource::File(path.clone())),
        (None, Some(text)) => Some(MasterKeySource::Text(text.clone())),
        (None, None) => None,
    };
    Ok(KeySources { master, kms_file: arguments.kms_key_file.clone() })
}
