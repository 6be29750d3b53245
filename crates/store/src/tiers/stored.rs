//! Reading the stored bytes of a version: ciphertext, if it is encrypted.

use bytes::{Bytes, BytesMut};

use crate::error::StoreError;
use crate::meta::content::Content;
use crate::meta::upload::PartRecord;
use crate::name::UploadId;
use crate::object::{ObjectReader, OpenError};
use crate::process::{Kept, Opened};
use crate::store::Store;

/// A reader of the stored bytes of a version, parts one after another.
#[derive(Debug)]
pub(super) struct StoredReader {
    store: Store,
    current: Option<ObjectReader>,
    rest: Bytes,
    /// The list of the parts, the next one, and their number.
    parts: Option<(UploadId, u32, u32)>,
    _kept: Kept,
}

impl StoredReader {
    /// Opens the content of a version. The caller is in the section of
    /// [`Cluster::reading`](crate::process::Cluster::reading) in which it was read.
    pub(super) fn open(store: &Store, content: &Content) -> Result<Self, StoreError> {
        let kept = store.shared().cluster.keep(content, Opened::Begun);
        let (current, parts) = match content {
            Content::Parts { list, count, .. } => (None, Some((*list, 1, *count))),
            content => (Some(open(store, content)?), None),
        };
        Ok(Self { store: store.clone(), current, rest: Bytes::new(), parts, _kept: kept })
    }

    /// The next `bytes_max` bytes, fewer at the end only; none behind it.
    pub(super) fn next(&mut self, bytes_max: u64) -> Result<Bytes, StoreError> {
        let mut piece = BytesMut::new();
        while (piece.len() as u64) < bytes_max {
            if self.rest.is_empty() {
                match self.some()? {
                    Some(bytes) => self.rest = bytes,
                    None => break,
                }
            }
            let room = usize::try_from(bytes_max).unwrap_or(usize::MAX) - piece.len();
            let taken = self.rest.split_to(self.rest.len().min(room));
            piece.extend_from_slice(&taken);
        }
        Ok(piece.freeze())
    }

    fn some(&mut self) -> Result<Option<Bytes>, StoreError> {
        loop {
            if let Some(reader) = &mut self.current {
                match reader.next()? {
                    Some(bytes) => return Ok(Some(bytes)),
                    None => self.current = None,
                }
            }
            let Some((list, next, count)) = &mut self.parts else { return Ok(None) };
            if *next > *count {
                return Ok(None);
            }
            let missing = || StoreError::corrupt("a part is missing");
            let number = u16::try_from(*next).map_err(|_| missing())?;
            let part = PartRecord::read(&self.store.snapshot()?, list, number)?;
            *next += 1;
            self.current = Some(open(&self.store, &part.ok_or_else(missing)?.content)?);
        }
    }
}

/// A reader of content in one record, without decryption.
fn open(store: &Store, content: &Content) -> Result<ObjectReader, StoreError> {
    let bytes = content.bytes().unwrap_or_default();
    let opened = ObjectReader::open_body(store, content, bytes, 0..bytes, None);
    opened.map_err(OpenError::into_inner)
}
