//! The places of blobs in a backup: rows that spare a later backup their bytes.

use std::fmt::Debug;

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::{record, space};
use crate::error::StoreError;

/// The place of a blob in a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BackupPlace {
    /// Identity of the backup.
    pub backup: [u8; 16],
    /// The generation whose packs have the blob.
    pub generation: u64,
    /// Number of the pack with the first byte of the blob. The rest is at the beginning of the
    /// packs that follow.
    pub pack: u32,
    /// Offset of the first byte in its pack.
    pub offset: u32,
    /// CRC-32C of the bytes of the blob.
    pub crc: u32,
}

impl BackupPlace {
    pub(crate) fn read(from: &impl Read, blob: &[u8; 16]) -> Result<Option<Self>, StoreError> {
        match from.get(&space::backup_place(blob))? {
            Some(bytes) => record::decode(&bytes, WHAT).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn write(&self, to: &mut impl Write, blob: &[u8; 16]) -> Result<(), StoreError> {
        Ok(to.put(&space::backup_place(blob), &record::encode(1, self))?)
    }
}

const WHAT: &str = "the place of a blob in a backup";

/// The backup that has the blobs which a lazy restore has left there.
pub trait BlobSource: Debug + Send + Sync {
    /// Reads the blob with this id and length, piece by piece, and verifies it. May wait for a
    /// network.
    ///
    /// # Errors
    /// Those of `take`; [`StoreError::Corrupt`] if the backup does not have it whole;
    /// [`StoreError::Suspended`] if the backup does not answer, or is another one.
    fn read(
        &self,
        id: &[u8; 16],
        bytes: u64,
        place: &BackupPlace,
        take: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

/// The row of a blob that is only in a backup.
pub(crate) fn outstanding(id: &[u8; 16], bytes: u64) -> (Vec<u8>, Vec<u8>) {
    (space::outstanding(id), record::encode(1, &bytes))
}

/// The length of a blob in its row.
pub(crate) fn outstanding_bytes(value: &[u8]) -> Result<u64, StoreError> {
    record::decode(value, "an outstanding blob")
}
