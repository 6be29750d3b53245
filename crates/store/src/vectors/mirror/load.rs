//! Making a mirror anew, and removing it.

use std::sync::Arc;

use liteio_blob::{BlobStore, ExtentReader};
use liteio_kv::{Read as _, Write as _};

use super::follow::{BYTES_AT_ONCE, CHANGES_AT_ONCE, Failure, Progress};
use crate::error::StoreError;
use crate::indexes::{Index, VectorName};
use crate::meta::content::Content;
use crate::meta::vector::{IndexRecord, VectorBucketRecord};
use crate::meta::vector_log::{Change, LogPosition, LogSnapshot};
use crate::meta::{Owner, space};
use crate::name::{BucketId, IndexId};
use crate::object::reader::to_blob_extent;
use crate::pending::Committed;
use crate::process::{Kept, Opened};
use crate::store::Store;

/// The vector bucket of all mirrors.
pub(super) const BUCKET: BucketId = BucketId(0);
const BUCKET_NAME: &str = "mirrors";
/// Bytes of a snapshot that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// The names of the vector bucket and of the index of a mirror.
pub(super) fn names_of(id: IndexId) -> Result<(VectorName, VectorName), StoreError> {
    Ok((VectorName::bucket(BUCKET_NAME)?, VectorName::index(format!("index-{:08x}", id.0))?))
}

impl Store {
    /// Makes a mirror in this store anew, from a snapshot if there is one.
    pub(super) fn load(
        &self,
        index: &Index,
        snapshot: Option<Entries>,
    ) -> Result<Progress, Failure> {
        let prepared = self.remove_mirror(index.id).and_then(|()| self.create_mirror(index));
        prepared.map_err(Failure::Mirror)?;
        let mut progress = Progress { position: LogPosition::default(), bytes: 0 };
        let Some(mut entries) = snapshot else { return Ok(progress) };
        progress.position = entries.position;
        loop {
            let batch = entries.next_batch()?;
            if batch.is_empty() {
                return Ok(progress);
            }
            batch.iter().try_for_each(|change| change.check(index.dimension))?;
            let applied = self.apply_changes(index, batch, progress, false);
            progress = applied.map_err(Failure::Mirror)?;
        }
    }

    /// Writes the rows of a mirror without vectors.
    fn create_mirror(&self, index: &Index) -> Result<(), StoreError> {
        let (bucket, name) = names_of(index.id)?;
        let record = IndexRecord {
            id: index.id,
            created_ms: index.created_ms,
            dimension: index.dimension,
            metric: index.metric,
            // Requests bring the other settings, which change.
            non_filterable: Vec::new(),
            text_search: Vec::new(),
            mode: index.mode,
            encryption: None,
        };
        let created = self.update(move |write, _| {
            let parent = VectorBucketRecord {
                id: BUCKET,
                created_ms: 0,
                owner: Owner::default(),
                encryption: None,
                default_mode: record.mode,
            };
            parent.write(write, bucket.as_str())?;
            record.write(write, BUCKET, name.as_str())?;
            Ok(Committed::new(()))
        });
        created.wait()
    }

    /// Removes the rows and files of a mirror, if there is one.
    pub(super) fn remove_mirror(&self, id: IndexId) -> Result<(), StoreError> {
        let (_, name) = names_of(id)?;
        let place = space::index(BUCKET, name.as_str());
        let removed = self.update_freeing(move |write, _| {
            let is_there = write.get(&place)?.is_some();
            if is_there {
                write.delete(&place)?;
                write.delete(&space::mirror(id))?;
                write.put(&space::index_deletion(id), &[])?;
            }
            Ok(Committed::new(is_there))
        });
        if removed.wait()? {
            // Before the same index is made anew: it would lose the files that it has then.
            self.reclaim()?;
        }
        Ok(())
    }
}

/// The entries of a snapshot.
pub(crate) struct Entries {
    index: IndexId,
    /// The position of the snapshot.
    position: LogPosition,
    /// Number of entries that are left.
    left: u64,
    reader: ExtentReader,
    /// Bytes that were read and not taken yet.
    rest: Vec<u8>,
    /// Keeps the blobs while they are read.
    _kept: Option<Kept>,
}

impl Entries {
    /// Opens a snapshot. The caller holds a section of reads since before it has read that.
    ///
    /// # Errors
    /// The errors of opening a blob.
    pub(crate) fn open(
        store: &Store,
        index: IndexId,
        snapshot: &LogSnapshot,
    ) -> Result<Self, StoreError> {
        let content = Content::Extents(snapshot.extents.clone());
        let kept = store.shared().cluster.keep(&content, Opened::Begun);
        Ok(Self { _kept: Some(kept), ..Self::of(&store.shared().blobs, index, snapshot)? })
    }

    /// Opens a snapshot that nobody deletes.
    ///
    /// # Errors
    /// The errors of opening a blob.
    pub(crate) fn of(
        blobs: &Arc<dyn BlobStore>,
        index: IndexId,
        snapshot: &LogSnapshot,
    ) -> Result<Self, StoreError> {
        let extents = snapshot.extents.iter().map(to_blob_extent).collect();
        let reader = ExtentReader::open(Arc::clone(blobs), extents)?;
        let (position, left) = (snapshot.position, snapshot.vectors);
        Ok(Self { index, position, left, reader, rest: Vec::new(), _kept: None })
    }

    /// The next entries; none at the end.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`]; the errors of reading a blob.
    pub(crate) fn next_batch(&mut self) -> Result<Vec<Change>, StoreError> {
        let (mut batch, mut size) = (Vec::new(), 0);
        loop {
            let mut taken = 0;
            while batch.len() < CHANGES_AT_ONCE
                && size < BYTES_AT_ONCE
                && let Some((change, bytes)) = Change::take_entry(self.index, &self.rest[taken..])?
            {
                let short = || StoreError::corrupt("a snapshot of vectors has too many of them");
                self.left = self.left.checked_sub(1).ok_or_else(short)?;
                batch.push(change);
                (taken, size) = (taken + bytes, size + bytes);
            }
            self.rest.drain(..taken);
            if batch.len() >= CHANGES_AT_ONCE || size >= BYTES_AT_ONCE {
                return Ok(batch);
            }
            match self.reader.next(PIECE_BYTES)? {
                Some(piece) => self.rest.extend_from_slice(&piece),
                None if self.rest.is_empty() && (self.left == 0 || !batch.is_empty()) => {
                    return Ok(batch);
                }
                None => return Err(StoreError::corrupt("a snapshot of vectors is cut off")),
            }
        }
    }
}
