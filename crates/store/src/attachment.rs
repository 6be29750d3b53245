//! Implements [`Attachments`] for blob files: a record must not survive a crash without the blob it
//! references.

use std::io;
use std::sync::Arc;

use liteio_kv::Attachments;

use liteio_blob::{BlobError, BlobId, FileBlobStore};

/// A note in the log: id of a blob (16 bytes), length of its body (8 bytes, little-endian).
const NOTE_BYTES: usize = 24;

/// The note of the first transaction that references a blob which is not durable yet.
pub(crate) fn note(id: &BlobId, body_bytes: u64) -> [u8; NOTE_BYTES] {
    let mut note = [0; NOTE_BYTES];
    note[..16].copy_from_slice(&id.0);
    note[16..].copy_from_slice(&body_bytes.to_le_bytes());
    note
}

/// An I/O error while a noted blob was recovered.
#[derive(Debug, thiserror::Error)]
#[error("blob {id}: {source}")]
struct Unrecovered {
    id: BlobId,
    source: Arc<io::Error>,
}

/// The blob files of a directory, as attachments of the key space.
#[derive(Debug)]
pub(crate) struct BlobAttachments(pub(crate) Arc<FileBlobStore>);

impl Attachments for BlobAttachments {
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write_with_record(&self, noted: &[&[u8]], is_synced: bool) -> io::Result<()> {
        let ids = noted.iter().filter_map(|note| note.first_chunk::<16>().copied().map(BlobId));
        self.0.write_with_record(&ids.collect::<Vec<_>>(), is_synced)
    }

    fn unsynced_bytes(&self) -> u64 {
        self.0.unsynced_bytes()
    }

    fn recover(&self, attachment: &[u8], contents: &[u8]) -> io::Result<bool> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "a note of no blob");
        // `id` is the first 16 bytes, the rest must be exactly the length.
        let (id, bytes) = attachment.split_first_chunk::<16>().ok_or_else(invalid)?;
        let bytes = u64::from_le_bytes(bytes.try_into().map_err(|_| invalid())?);
        self.0.recover(&BlobId(*id), bytes, contents).map_err(|error| match error {
            BlobError::Io(source) => {
                io::Error::new(source.kind(), Unrecovered { id: BlobId(*id), source })
            }
            other => io::Error::other(other),
        })
    }
}
