//! The places of blobs in a backup: rows that spare a later backup their bytes.

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
