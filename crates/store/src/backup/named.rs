//! The blobs that a pair of the key space names.

use liteio_blob::{BlobError, BlobWriter, Seal};

use crate::error::StoreError;
use crate::meta::content::Content;
use crate::meta::object::ObjectRecord;
use crate::meta::space;
use crate::meta::upload::PartRecord;
use crate::meta::vector_log::LogHead;

/// A blob of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackupBlob {
    /// Its name, which no other blob ever has.
    pub id: [u8; 16],
    /// Number of its bytes.
    pub bytes: u64,
}

impl BackupBlob {
    /// Writes the blob from the pieces that `next` returns, and seals it.
    ///
    /// # Errors
    /// Those of `next`; [`StoreError::Corrupt`] if the pieces have another length; the errors of a write.
    pub(crate) fn write<E: From<StoreError>>(
        &self,
        writer: Result<Box<dyn BlobWriter>, BlobError>,
        seal: Seal,
        next: &mut dyn FnMut() -> Result<Option<bytes::Bytes>, E>,
    ) -> Result<(), E> {
        let failed = |error: BlobError| E::from(StoreError::from(error));
        let mut writer = writer.map_err(failed)?;
        let mut bytes = 0;
        while let Some(piece) = next()? {
            bytes += piece.len() as u64;
            writer.append(&piece).map_err(failed)?;
        }
        if bytes != self.bytes {
            let wrong = format!("a blob of {} bytes has {bytes} in the backup", self.bytes);
            return Err(StoreError::corrupt(wrong).into());
        }
        writer.seal(seal).map(drop).map_err(failed)
    }
}

/// The blobs that the value of a key names.
///
/// # Errors
/// [`StoreError::Corrupt`] or [`StoreError::FormatTooNew`] for a record that cannot be read.
pub fn blobs_of(key: &[u8], value: &[u8]) -> Result<Vec<BackupBlob>, StoreError> {
    let is_in = |space: &[u8]| key.starts_with(space);
    let content = if is_in(space::ALL_CURRENT) || is_in(space::ALL_HISTORY) {
        ObjectRecord::decode_manifest(key, value)?
    } else if is_in(space::ALL_PARTS) {
        PartRecord::decode_manifest(key, value)?
    } else if is_in(space::ALL_VECTOR_LOGS) {
        let extents = LogHead::decode(key, value)?.snapshot.map_or_else(Vec::new, |it| it.extents);
        Content::Extents(extents)
    } else {
        return Ok(Vec::new());
    };
    match content {
        Content::Extents(extents) => {
            let blob = |extent: &crate::meta::content::Extent| BackupBlob {
                id: extent.blob,
                bytes: extent.blob_bytes,
            };
            Ok(extents.iter().map(blob).collect())
        }
        // The bytes of a body in a tier are not part of a backup.
        Content::Inline(_) | Content::Parts { .. } | Content::Apart { .. } | Content::Remote(_) => {
            Ok(Vec::new())
        }
    }
}
