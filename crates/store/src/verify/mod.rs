//! Verification: every record is compared with the bytes that it references.

mod annotations;
mod bodies;
mod objects;
mod report;
mod usage;
mod vectors;
mod verifier;

use std::ops::Bound;
use std::sync::Arc;

use liteio_disk::{Disk, RealDisk};
use liteio_kv::{Read, check_tree};

use crate::config::{Backend, StoreConfig};
use crate::error::StoreError;
use crate::meta::key::successor;
use crate::meta::space;
use crate::open::{self, KEY_SPACE_FILE};
use crate::store::{Opened, Store};

pub(crate) use report::Remedy;
pub use report::{Damage, VerifyProgress, VerifyReport};
pub(crate) use verifier::Verifier;

impl Store {
    /// Opens the store that `config` describes, [verifies](Store::verify) it and closes it. It is
    /// only read: changes made by opening, such as the replay of the log, stay in memory. The files
    /// may be read-only.
    ///
    /// # Errors
    /// The errors of [`Store::open`], with two exceptions: a directory without a store is
    /// [`StoreError::NotADataDirectory`], and damage that prevents opening is in the report.
    pub fn verify_closed(
        config: StoreConfig,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<VerifyReport, StoreError> {
        let disk = match &config.backend {
            Backend::Directory(path) => Some(RealDisk::open_existing(path)?),
            _ => None,
        };
        let opened = open::open_to_look(config);
        // Of a store that is too damaged to be opened, no more is known of the lock.
        let is_unlocked =
            disk.is_some() && opened.as_ref().is_ok_and(|opened| opened.directory_lock.is_none());
        let report = verify_opened(opened, disk.as_ref().map(|disk| disk as _), progress)?;
        Ok(VerifyReport { is_unlocked, ..report })
    }

    /// [`Store::verify_closed`] on `disk`. The backend in `config` is ignored.
    ///
    /// # Errors
    /// The errors of [`Store::verify_closed`].
    pub fn verify_closed_on(
        disk: Arc<dyn Disk>,
        config: StoreConfig,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<VerifyReport, StoreError> {
        let opened = open::open_to_look_on(Arc::clone(&disk), config);
        verify_opened(opened, Some(&*disk), progress)
    }

    /// Reads every object, every part of an upload and every vector, and verifies their checksums.
    /// It changes nothing. Data written or deleted meanwhile may or may not be included.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the disk cannot be read. Damage is in the report, not an error.
    pub fn verify(
        &self,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<VerifyReport, StoreError> {
        let mut unpaced = |_| Ok(());
        let mut verifier = Verifier::new(self, &mut unpaced)?;
        let total = match self.count_records() {
            // The readable ones are counted as they come.
            Err(StoreError::Corrupt { .. }) => 0,
            total => total?,
        };
        let mut state = VerifyProgress { done: 0, total };
        progress(state);
        for space in SPACES {
            let result = verifier.verify_space(space, &mut || {
                state.done += 1;
                state.total = state.total.max(state.done);
                progress(state);
            });
            verifier.report.or_damage(result)?;
        }
        let result = verifier.verify_usage();
        verifier.report.or_damage(result)?;
        let mut report = verifier.into_report();
        self.count_blobs(&mut report)?;
        report.lost = self.lost_paths()?;
        Ok(report)
    }

    fn count_records(&self) -> Result<u64, StoreError> {
        let mut total = 0;
        let snapshot = self.snapshot()?;
        for space in SPACES {
            self.walk(&snapshot, space, &mut |_, _| {
                total += 1;
                Ok(())
            })?;
        }
        Ok(total)
    }

    fn count_blobs(&self, report: &mut VerifyReport) -> Result<(), StoreError> {
        let mut orphans = 0;
        let scanned = self.scan_orphans(&mut |_| {
            orphans += 1;
            Ok(())
        });
        match scanned {
            Ok(blobs) => (report.blobs, report.orphans) = (blobs, orphans),
            // The blobs that a damaged record references are unknown, so no blob can be called an
            // orphan.
            Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => {
                self.shared().blobs.scan(&mut |_| report.blobs += 1)?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// A batch of records of a key space. Its snapshot is dropped before blobs are read, because a
    /// long-lived one keeps replaced pages alive.
    pub(crate) fn read_batch(
        &self,
        space: &[u8],
        position: &Bound<Vec<u8>>,
    ) -> Result<Vec<Pair>, StoreError> {
        let end = successor(space).unwrap_or_default();
        let snapshot = self.snapshot()?;
        let lower = position.as_ref().map(Vec::as_slice);
        let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Some((key, value)) = cursor.next()?
        {
            batch.push((key.to_vec(), value.to_vec()));
        }
        Ok(batch)
    }
}

/// Verifies a store that was opened to look, and the tree on its `disk` itself: what the store writes stays in memory.
fn verify_opened(
    opened: Result<Opened, StoreError>,
    disk: Option<&dyn Disk>,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<VerifyReport, StoreError> {
    let opened = match opened {
        // Damage found before anything could be read.
        Err(error @ StoreError::Corrupt { .. }) => {
            let damaged = vec![Damage::of_store(&error)];
            return Ok(VerifyReport { damaged, ..VerifyReport::default() });
        }
        opened => opened?,
    };
    let log_end = opened.log_end.clone();
    let cache_bytes = opened.config.cache_bytes;
    let store = Store::from_opened(opened);
    let report = store.verify(progress);
    let tree = disk.map_or(Ok(()), |disk| check_tree(disk, KEY_SPACE_FILE, cache_bytes));
    store.close();
    let mut report = report?;
    report.or_damage(tree.map_err(StoreError::from))?;
    Ok(VerifyReport { log_end, ..report })
}

/// The key spaces whose records are verified one by one.
pub(crate) const SPACES: [&[u8]; 36] = [
    space::ALL_DOCUMENTS,
    space::OUTBOX_KEY,
    space::ALL_EVENTS,
    space::REPLICATION_KEY,
    space::ALL_REPLICATION_ROWS,
    space::ALL_QUEUES,
    space::ALL_RESYNCS,
    space::ALL_TIER_MOVES,
    space::ALL_REMOTE_DELETIONS,
    space::ALL_IDENTITIES,
    space::ALL_USAGE,
    space::ALL_CURRENT,
    space::ALL_HISTORY,
    space::ALL_NULL_VERSIONS,
    space::ALL_BODIES,
    // Behind the versions, which tell what is lost.
    space::ALL_ANNOTATION_SETS,
    space::ALL_ANNOTATIONS,
    space::ALL_PAYLOADS,
    space::ALL_ANNOTATION_DELETIONS,
    space::ALL_RESTORES,
    space::ALL_UPLOADS,
    space::ALL_PARTS,
    space::ALL_VECTORS,
    space::ALL_VECTOR_SLOTS,
    space::ALL_VECTOR_LOGS,
    space::ALL_VECTOR_CHANGES,
    space::ALL_NAMESPACES,
    space::ALL_TABLES,
    space::ALL_VIEWS,
    space::ALL_TABLE_SETTINGS,
    space::ALL_TABLE_IDS,
    space::ALL_UNREFERENCED,
    space::ALL_CATALOG_CHANGES,
    space::ALL_ANSWERS,
    space::ALL_ANSWER_TIMES,
    space::ALL_PURGES,
];

/// A key with its value.
type Pair = (Vec<u8>, Vec<u8>);

/// Records per batch. A record may have an inline body.
const BATCH: usize = 128;
