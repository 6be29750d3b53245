//! Credentials that are generated at the first start of a container without configured ones.

use std::io;
use std::path::PathBuf;

use liteio_store::Store;

use crate::config::{CredentialsSource, Storage};
use liteio_iam::other_owner_of_all;
use liteio_identity::{canonical_id_of_key, random_id, random_secret};
use liteio_wire::private_file;

/// The file in the data directory, in the format of credentials files.
pub(crate) const FILE_NAME: &str = "credentials.toml";

/// The generated credentials of a server.
#[derive(Clone, Debug)]
pub(crate) struct MadeCredentials {
    pub(crate) source: CredentialsSource,
    /// The pair, if it was generated at this start: it is shown only once.
    pub(crate) pair: Option<(String, String)>,
    /// The file that stores it.
    pub(crate) path: Option<PathBuf>,
}

impl MadeCredentials {
    /// Loads the data directory's credentials, or generates them; new ones own the existing buckets
    /// in its store. The directory must exist and be locked by this process. In memory, generates
    /// new ones.
    ///
    /// # Errors
    /// One line with advice.
    pub(crate) fn of(storage: &Storage, store: &Store) -> Result<MadeCredentials, String> {
        let path = match storage {
            Storage::Memory | Storage::Cluster(_) => None,
            Storage::Directory { path, .. } => Some(path.join(FILE_NAME)),
        };
        // An unreadable file counts as existing, so that it is not replaced.
        let is_there = |path: &PathBuf| {
            let found = path.symlink_metadata();
            !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        if let Some(path) = path.clone().filter(is_there) {
            let source = CredentialsSource::File(path.clone());
            return Ok(MadeCredentials { source, pair: None, path: Some(path) });
        }
        let access_key = random_id("AKIA").map_err(|error| error.to_string())?;
        let secret_key = random_secret().map_err(|error| error.to_string())?;
        let pair = Some((access_key.clone(), secret_key.clone()));
        let Some(path) = path else {
            let source = CredentialsSource::Pair { access_key, secret_key };
            return Ok(MadeCredentials { source, pair, path: None });
        };
        let owner = other_owner_of_all(store, &access_key).map_err(|error| error.to_string())?;
        // Written even if it is derived from the key: the owner must stay the same if the key is
        // edited.
        let id = owner.unwrap_or_else(|| canonical_id_of_key(&access_key));
        let text = format!(
            "# Generated at the first start. Reloaded when it changes.\n[[user]]\nname = \"root\"\n\
             access_key = \"{access_key}\"\nsecret_key = \"{secret_key}\"\nid = \"{id}\"\n"
        );
        private_file::write(&path, &text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let source = CredentialsSource::File(path.clone());
        Ok(MadeCredentials { source, pair, path: Some(path) })
    }
}

#[cfg(test)]
mod tests {
    use liteio_store::StoreConfig;

    use super::*;
    use crate::config::Durability;

    #[test]
    fn they_are_made_once_and_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().to_owned();
        let storage = Storage::Directory { path, durability: Durability::Os };
        let store = Store::open(StoreConfig::memory()).expect("it opens");
        let made = MadeCredentials::of(&storage, &store).expect("made");
        let (access_key, secret_key) = made.pair.expect("shown");
        let text = std::fs::read_to_string(made.path.expect("a file")).expect("written");
        assert!(text.contains(&access_key) && text.contains(&secret_key));
        assert!(text.contains(&canonical_id_of_key(&access_key)), "the owner of what it makes");
        let kept = MadeCredentials::of(&storage, &store).expect("kept");
        assert!(kept.pair.is_none());
        assert_eq!(kept.source, made.source);
    }

    #[test]
    fn in_memory_they_are_others_each_time() {
        let store = Store::open(StoreConfig::memory()).expect("it opens");
        let made = || MadeCredentials::of(&Storage::Memory, &store).expect("made");
        assert_ne!(made().source, made().source);
    }
}
