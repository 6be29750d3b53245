//! The location of the data, and the memory of their metadata.

use std::path::PathBuf;

use super::{ClusterSettings, ConfigError, Durability, environment, error, named_by};
use crate::cli::{ServerArgs, Source};
use liteio_store::DEFAULT_DIRECTORY;

/// The volume of the container image.
pub(crate) const CONTAINER_DATA_DIR: &str = "/data";

/// The location of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In memory of this process.
    Memory,
    /// In a directory.
    Directory {
        /// The directory; created if missing.
        path: PathBuf,
        /// The failures that an acknowledged write survives.
        durability: Durability,
    },
    /// In a database and a place of bodies, which several servers share.
    Cluster(Box<ClusterSettings>),
}

/// Limits of the metadata memory: with less, the memtables would be drained all the time; the
/// tables cannot use more.
const METADATA_MIB_MIN: u32 = 8;
const METADATA_MIB_MAX: u32 = 4_096;

/// Takes the directory argument of `liteio server` as the data directory.
pub(super) fn take_directory(arguments: &mut ServerArgs) -> Result<(), ConfigError> {
    if arguments.directories.is_empty() {
        return Ok(());
    }
    if arguments.sources.get("data_dir") == Some(&Source::Flag) {
        return error("DIR and --data-dir are the same setting: give one of them");
    }
    let directory = environment::one_directory(&arguments.directories);
    arguments.data_dir = Some(directory.map_err(ConfigError)?);
    arguments.sources.note("data_dir", Source::Flag);
    Ok(())
}

pub(super) fn resolve(arguments: &ServerArgs) -> Result<Storage, ConfigError> {
    let durability = match arguments.durability.as_deref() {
        None => None,
        Some("fsync") => Some(Durability::Fsync),
        Some("os") => Some(Durability::Os),
        Some(other) => {
            let message = format!("the durability {other:?} is unknown: give fsync or os");
            return Err(named_by(arguments, "durability", ConfigError(message)));
        }
    };
    let is_in_memory = arguments.memory && !arguments.outranks("data_dir", "memory");
    let data_dir = arguments.data_dir.as_ref();
    let data_dir =
        data_dir.filter(|_| !(arguments.memory && arguments.outranks("memory", "data_dir")));
    let durability =
        durability.filter(|_| !(is_in_memory && arguments.outranks("memory", "durability")));
    match (is_in_memory, data_dir, durability) {
        (true, Some(_), _) => error(
            "--memory and --data-dir (LITEIO_DATA_DIR) contradict each other: remove one of them",
        ),
        (true, None, Some(_)) => error(
            "--memory and --durability (LITEIO_DURABILITY) contradict each other: remove one of \
             them",
        ),
        (true, None, None) => Ok(Storage::Memory),
        (false, Some(path), _) if path.as_os_str().is_empty() => {
            error("the data directory is empty: give --data-dir DIR")
        }
        (false, Some(path), _) if path.starts_with("~") => error(format!(
            "the shell has not replaced ~ in {}: give the whole path, such as $HOME/data",
            path.display()
        )),
        (false, path, durability) => {
            let default =
                if arguments.in_container { CONTAINER_DATA_DIR } else { DEFAULT_DIRECTORY };
            Ok(Storage::Directory {
                path: path.cloned().unwrap_or_else(|| default.into()),
                durability: durability.unwrap_or_default(),
            })
        }
    }
}

pub(super) fn resolve_metadata_memory(mib: Option<u32>) -> Result<Option<usize>, ConfigError> {
    match mib {
        None => Ok(None),
        Some(mib @ METADATA_MIB_MIN..=METADATA_MIB_MAX) => Ok(Some((mib as usize) << 20)),
        Some(mib) => error(format!(
            "{mib} MiB of memory for metadata is not valid: give --metadata-memory {METADATA_MIB_MIN} to \
             {METADATA_MIB_MAX}"
        )),
    }
}
