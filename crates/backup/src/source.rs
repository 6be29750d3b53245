//! [`RepositorySource`]: the blobs that a lazy restore has left in the backup.

use std::sync::Arc;

use liteio_store::backup::{BackupBlob, BackupPlace};
use liteio_store::{BlobSource, StoreError};
use parking_lot::Mutex;

use crate::Error;
use crate::repository::{PackedBlob, Packs, Repository};
use crate::target::{Target, TargetError};

const UNREACHABLE: &str = "The bytes of the object are in a backup only, since it was restored lazily, and that backup \
     cannot be read at the moment. Try again later.";
const IN_ANOTHER: &str = "The bytes of the object are in another backup, since it was restored lazily: start the server with \
     --backup at the location that it was restored from.";

/// A backup that a store reads blobs from. It is opened with the first read.
#[derive(Debug)]
pub struct RepositorySource {
    target: Arc<dyn Target>,
    key: Option<[u8; 32]>,
    opened: Mutex<Option<Repository>>,
    log: fn(&str),
    /// The reason that was logged last.
    logged: Mutex<String>,
}

impl RepositorySource {
    /// The backup at `target`, with the key that encrypts it, if any. `log` takes the reasons why it cannot be read, each when it
    /// is new: they name its place, which errors of a read do not.
    #[must_use]
    pub fn new(target: Arc<dyn Target>, key: Option<[u8; 32]>, log: fn(&str)) -> Self {
        Self { target, key, opened: Mutex::default(), log, logged: Mutex::default() }
    }

    fn repository(&self) -> Result<Repository, Error> {
        let mut opened = self.opened.lock();
        match &*opened {
            Some(repository) => Ok(repository.clone()),
            None => {
                let repository = Repository::open(Arc::clone(&self.target), self.key.as_ref())?;
                Ok(opened.insert(repository).clone())
            }
        }
    }

    fn told(&self, error: Error) -> StoreError {
        match error {
            Error::Store(error) => error,
            Error::Damaged(what) => StoreError::Corrupt { what },
            Error::Seal(error) => StoreError::Corrupt { what: error.to_string() },
            // The place of the backup is not for senders of requests.
            error @ (Error::Target(_) | Error::Refused(_) | Error::Sealing(_) | Error::Stopped) => {
                let reason = error.to_string();
                let mut logged = self.logged.lock();
                if *logged != reason {
                    (self.log)(&reason);
                    *logged = reason;
                }
                StoreError::Suspended { reason: UNREACHABLE.to_owned() }
            }
        }
    }
}

impl BlobSource for RepositorySource {
    fn read(
        &self,
        id: &[u8; 16],
        bytes: u64,
        place: &BackupPlace,
        take: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut read = || -> Result<(), Error> {
            let repository = self.repository()?;
            if place.backup != repository.id {
                let reason = IN_ANOTHER.to_owned();
                return Err(Error::Store(StoreError::Suspended { reason }));
            }
            let mut packs = Packs::new(&repository);
            let mut packed = PackedBlob::new(&mut packs, BackupBlob { id: *id, bytes }, *place);
            loop {
                match packed.next() {
                    Ok(Some(piece)) => take(&piece)?,
                    Ok(None) => return Ok(()),
                    Err(Error::Target(TargetError::NotFound { name })) => {
                        return Err(repository.missing(&name));
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        read().map_err(|error| self.told(error))?;
        self.logged.lock().clear();
        Ok(())
    }
}
