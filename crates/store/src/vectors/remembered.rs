//! Remembered columns: the metadata keys with columns, in a file beside the vectors of an index.
//! After a start the columns are made before a filter asks for them.
//!
//! The file is derived and never synced. If it is missing or damaged, a column is made when a
//! filter first wants it.

use std::collections::HashSet;

use liteio_disk::{Disk, OpenMode};

use super::open::{DIRECTORY, path};
use crate::error::StoreError;
use crate::indexes::Index;
use crate::indexes::columns::ColumnEntry;
use crate::limits::{
    METADATA_KEY_CHARACTERS_MAX, OPEN_INDEXES_MAX, REMEMBERED_BYTES_MAX, REMEMBERED_KEYS_MAX,
};
use crate::meta::record::{self, Sealed};
use crate::name::IndexId;
use crate::store::Store;

const ENDING: &str = ".columns";
const VERSION: u8 = 1;
const WHAT: &str = "the keys of columns";

impl Store {
    /// Writes the keys of the ready columns; only the last used ones, if they are many.
    pub(super) fn remember_columns(&self, index: &Index) {
        let Some(disk) = &self.inner.disk else { return };
        let mut keys = self.inner.vectors.columns.ready_keys(index.id);
        // A filter may name keys that are too long for any vector.
        keys.retain(|key| key.chars().count() <= METADATA_KEY_CHARACTERS_MAX);
        keys.truncate(REMEMBERED_KEYS_MAX);
        // Only while the index is open: after the files of a deleted index were removed, nobody
        // would remove this one.
        self.inner.vectors.while_open(index.id, || {
            // Without the file the next start makes no columns.
            let _ = write(&**disk, &remembered_path(index.id), &keys);
        });
    }

    /// Has the columns made that an index had when it was last open. Does nothing if no thread
    /// makes columns: the opening would wait for them.
    pub(super) fn want_remembered(&self, index: &Index) {
        let columns = &self.inner.vectors.columns;
        let Some(disk) = &self.inner.disk else { return };
        if !columns.queue().lock().may_spawn {
            return;
        }
        let keys = read(&**disk, &remembered_path(index.id)).unwrap_or_default();
        let keys = keys.iter().take(REMEMBERED_KEYS_MAX).filter(|key| index.is_filterable(key));
        // The least recently used first. Each call marks its entry as used, so their order stays
        // the same.
        let entries: Vec<ColumnEntry> =
            keys.rev().map(|key| columns.entry(index.id, key)).collect();
        if !entries.is_empty() {
            self.want_columns(index, &entries);
        }
    }

    /// The indexes that had columns, as many as are open at a time.
    ///
    /// # Errors
    /// The errors of reading names and records.
    pub(super) fn with_remembered(&self) -> Result<Vec<Index>, StoreError> {
        let Some(disk) = &self.inner.disk else { return Ok(Vec::new()) };
        if !disk.list("")?.iter().any(|entry| entry.name == DIRECTORY) {
            return Ok(Vec::new());
        }
        let entries = disk.list(DIRECTORY)?;
        let id = |name: &str| u32::from_str_radix(name.strip_suffix(ENDING)?, 16).ok();
        let ids: HashSet<IndexId> =
            entries.iter().filter_map(|entry| id(&entry.name)).map(IndexId).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let indexes = Index::all(self)?.into_values().filter(|index| ids.contains(&index.id));
        Ok(indexes.take(OPEN_INDEXES_MAX).collect())
    }
}

pub(super) fn remembered_path(id: IndexId) -> String {
    format!("{}{ENDING}", path(id))
}

fn write(disk: &dyn Disk, path: &str, keys: &[String]) -> std::io::Result<()> {
    let bytes = record::seal(VERSION, path.as_bytes(), &keys, &[]);
    let file = disk.open(path, OpenMode::CreateOrWrite)?;
    // In place: a crash between the two leaves a file without its checksum, which counts as none.
    file.write_at(&bytes, 0)?;
    file.set_len(bytes.len() as u64)
}

/// The keys in a file; `None` if it is missing, damaged, or of a later version.
fn read(disk: &dyn Disk, path: &str) -> Option<Vec<String>> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    let mut bytes = vec![0; usize::try_from(file.len().ok()?).ok()?.min(REMEMBERED_BYTES_MAX)];
    let read = file.read_at(&mut bytes, 0).ok()?;
    let (version, _) = record::split_version(&bytes[..read], VERSION).ok()?;
    let sealed = Sealed::open(path.as_bytes(), &bytes[..read], WHAT).ok()?;
    (version == VERSION).then(|| sealed.decode(WHAT).ok())?
}
