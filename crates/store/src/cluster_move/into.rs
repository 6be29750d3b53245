//! [`MoveSource`]: a directory, and its move into a cluster.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::thread;

use liteio_blob::{BlobId, BlobStore, Seal};
use liteio_kv::{Kv, Read as _, Transaction, Write as _};
use parking_lot::Mutex;

use super::pairs::{Pair, Sum, between, first_of, is_counter, page};
use super::vectors::vectors_into;
use super::{Moved, is_of_one_blob, refused};
use crate::backend::ClusterBackend;
use crate::backup::{BackupBlob, blobs_of};
use crate::config::StoreConfig;
use crate::error::StoreError;
use crate::meta::bucket::StoreRecord;
use crate::meta::content::ContentId;
use crate::meta::moving::MovingRecord;
use crate::meta::{server, space};
use crate::open;
use crate::store::Store;

/// Blobs that are copied at a time: each waits for the network.
const BLOBS_AT_ONCE: usize = 8;
/// Time after the last beat of a server from which it answers nothing any more, in milliseconds.
const SILENT_MS: u64 = 60_000;

/// A directory whose data is moved into a cluster. Nobody else may open it meanwhile. Nothing in it is changed.
#[derive(Debug)]
pub struct MoveSource {
    store: Store,
}

impl MoveSource {
    /// Opens the directory of `config`, whose keys are those of the cluster.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if a server uses it; [`StoreError::InvalidRequest`] if it has what a cluster cannot have;
    /// [`StoreError::KeyMissing`] if something in it is encrypted with another key; the errors of [`Store::open_existing`].
    pub fn open(config: StoreConfig) -> Result<Self, StoreError> {
        let store = Store::from_opened(open::open_to_look(config)?);
        let snapshot = store.snapshot()?;
        if snapshot.get(space::STANDBY_KEY)?.is_some() {
            return Err(refused(
                "the data directory belongs to a standby: promote it with `liteio promote`, or move its primary's directory",
            ));
        }
        if first_of(&snapshot, &[space::ALL_OUTSTANDING])?.is_some() {
            return Err(refused(
                "the data directory was restored lazily, and some of its bodies are still in the backup only: let the \
                 server run until /_liteio/health/ready tells that all are there",
            ));
        }
        drop(snapshot);
        if let Some((key, count)) = store.wrapping_keys()?.missing.first_key_value() {
            let key = format!("{key} ({count} objects and uploads)");
            return Err(StoreError::KeyMissing { key });
        }
        Ok(Self { store })
    }

    /// The store, to read it.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Moves everything. The same call goes on where an earlier one was interrupted.
    ///
    /// # Errors
    /// [`StoreError::InvalidRequest`] if the cluster has data, servers, or an unfinished move of another directory, and if
    /// the two sides differ at the end; the errors of reads and writes.
    pub fn move_into(
        &self,
        to: &ClusterBackend,
        progress: &mut dyn FnMut(&Moved),
    ) -> Result<Moved, StoreError> {
        let from = match &*self.store.inner.kv.read() {
            Some(kv) => kv.clone(),
            None => return Err(StoreError::Closed),
        };
        let record = StoreRecord::read(&from.snapshot()?)?
            .ok_or_else(|| StoreError::corrupt("the store's record is missing"))?;
        let source = MovingRecord { created_ms: record.created_ms };
        let kv = Kv::over(Arc::clone(&to.database), open::database_config())?;
        begin(&kv, &source)?;
        let blobs = to.blobs.of_run(to.database.run());
        let mut moved = Moved::default();
        // Blobs with several records, which are copied once.
        let mut shared = HashSet::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = page(&from.snapshot()?, after.as_deref())?;
            moved.pairs += page.pairs.len() as u64;
            let there = between(&kv.snapshot()?, after.as_deref(), page.next.as_deref())?;
            let changes = changes(page.pairs, there);
            self.copy_blobs(&*blobs, &changes, &mut shared, &mut moved)?;
            moved.written += changes.len() as u64;
            apply(&kv, changes)?;
            progress(&moved);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        moved.written += vectors_into(&self.store, &kv, &mut moved)?;
        progress(&moved);
        let same = |_: &_, _: &[u8], value| Ok(value);
        let mut seen = |pairs| {
            moved.compared += pairs;
            progress(&moved);
        };
        let (wanted, found) = (Sum::of(&from, same, &mut seen)?, Sum::of(&kv, same, &mut seen)?);
        let compared = wanted.compare(&found, &mut moved);
        compared.map_err(|differ| refused(format!("{differ}: run the command again")))?;
        // What is left out was told by the first walk.
        let mut again = Moved::default();
        if vectors_into(&self.store, &kv, &mut again)? > 0 {
            return Err(refused("the vectors of the two sides differ: run the command again"));
        }
        moved.pairs += again.pairs;
        moved.pair_bytes += again.pair_bytes;
        let own = record;
        let ended = kv.update(move |write| -> Result<(), StoreError> {
            if MovingRecord::read(write)? != Some(source) {
                return Err(StoreError::ChangedMeanwhile);
            }
            own.write(write)?;
            Ok(write.delete(space::MOVING_KEY)?)
        });
        ended.wait()?;
        Ok(moved)
    }

    /// Copies the blobs that the new values name.
    fn copy_blobs(
        &self,
        to: &dyn BlobStore,
        changes: &BTreeMap<Vec<u8>, Option<Vec<u8>>>,
        shared: &mut HashSet<BackupBlob>,
        moved: &mut Moved,
    ) -> Result<(), StoreError> {
        let snapshot = self.store.snapshot()?;
        let mut blobs = Vec::new();
        let mut seen = HashSet::new();
        for (key, value) in changes {
            let Some(value) = value else { continue };
            match blobs_of(key, value) {
                Ok(found) => {
                    for blob in found {
                        let references = space::reference(&ContentId::Blob(blob.id));
                        let is_new = match snapshot.get(&references)? {
                            Some(_) => shared.insert(blob),
                            None => seen.insert(blob),
                        };
                        if is_new {
                            blobs.push(blob);
                        }
                    }
                }
                // A damaged record stays for `liteio cluster check`.
                Err(error) if is_of_one_blob(&error) => moved.leave_out(&error),
                Err(error) => return Err(error),
            }
        }
        let (left, results) = (Mutex::new(blobs), Mutex::new((moved, None)));
        let work = || {
            loop {
                let Some(blob) = left.lock().pop() else { return };
                let copied = self.copy_blob(to, &blob);
                let (moved, failure) = &mut *results.lock();
                match copied {
                    Ok(None) => {
                        moved.blobs += 1;
                        moved.blob_bytes += blob.bytes;
                    }
                    Ok(Some(damage)) => moved.leave_out(&damage),
                    Err(error) => {
                        failure.get_or_insert(error);
                        left.lock().clear();
                    }
                }
            }
        };
        thread::scope(|scope| {
            let threads = left.lock().len().min(BLOBS_AT_ONCE);
            (1..threads).for_each(|_| _ = scope.spawn(work));
            work();
        });
        results.into_inner().1.map_or(Ok(()), Err)
    }

    /// Copies a blob, all bytes of which are verified. Returns the reason why it cannot be read, if that is so.
    fn copy_blob(
        &self,
        to: &dyn BlobStore,
        blob: &BackupBlob,
    ) -> Result<Option<StoreError>, StoreError> {
        let id = BlobId(blob.id);
        let told = |error: StoreError| match is_of_one_blob(&error) {
            true => Ok(Some(error)),
            false => Err(error),
        };
        let reader = match self.store.shared().blobs.open(&id, blob.bytes) {
            Ok(reader) => reader,
            Err(error) => return told(error.into()),
        };
        let mut writer = to.begin_as(id)?;
        let mut position = 0;
        while position < blob.bytes {
            let piece = match reader.read(position..blob.bytes) {
                Ok(piece) => piece.freeze(),
                Err(error) => return told(error.into()),
            };
            position += piece.len() as u64;
            writer.append(&piece)?;
        }
        writer.seal(Seal::Now)?;
        Ok(None)
    }
}

/// Checks that the cluster has no data and no servers, and keeps servers from starting.
fn begin(kv: &Kv, source: &MovingRecord) -> Result<(), StoreError> {
    let snapshot = kv.snapshot()?;
    let begun = MovingRecord::read(&snapshot)?;
    match begun {
        // A call that was killed may not have looked whether one had started meanwhile.
        Some(begun) if begun == *source => check_servers(kv)?,
        Some(_) => {
            return Err(refused(
                "a move of another data directory into the cluster has begun: end it first, or create another cluster",
            ));
        }
        None => {
            let data = [space::ALL_BUCKETS, space::ALL_IDENTITIES, space::ALL_VECTOR_BUCKETS];
            if first_of(&snapshot, &data)?.is_some() {
                let there = StoreRecord::read(&snapshot)?;
                return Err(refused(match there {
                    Some(it) if it.created_ms == source.created_ms => {
                        "the cluster has the data of this directory already"
                    }
                    _ => {
                        "the cluster has data already: create another one with `liteio cluster create`"
                    }
                }));
            }
            check_servers(kv)?;
        }
    }
    drop(snapshot);
    if begun.is_none() {
        let source = *source;
        let marked = kv.update(move |write: &mut Transaction<'_>| -> Result<(), StoreError> {
            if MovingRecord::read(write)?.is_some() {
                return Err(StoreError::ChangedMeanwhile);
            }
            write.delete(space::STORE_KEY)?;
            source.write(write)
        });
        marked.wait()?;
        // One that has started in between has seen no mark. Those that start from here on see it.
        if let Err(error) = check_servers(kv) {
            kv.update(|write| write.delete(space::MOVING_KEY)).wait()?;
            return Err(error);
        }
    }
    Ok(())
}

/// Refuses to go on while a server of the cluster runs.
pub(super) fn check_servers(kv: &Kv) -> Result<(), StoreError> {
    let now_ms = kv.moment()?.map_or(0, |moment| moment.now_ms);
    for (run, record, running) in server::all(&kv.snapshot()?)? {
        if running.is_none() {
            continue;
        }
        if record.beat_ms.saturating_add(SILENT_MS) > now_ms {
            return Err(refused(format!(
                "the server {} of the cluster runs: stop all of them first. One that was killed counts for a minute",
                record.name
            )));
        }
        // From here on it commits nothing any more.
        kv.update(move |write| write.delete(&space::running(run))).wait()?;
    }
    Ok(())
}

/// The writes by which `there` becomes `wanted`.
pub(super) fn changes(wanted: Vec<Pair>, there: Vec<Pair>) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
    let mut there: BTreeMap<_, _> = there.into_iter().collect();
    let mut changes = BTreeMap::new();
    for (key, value) in wanted {
        if there.remove(&key).is_none_or(|found| found != value) {
            changes.insert(key, Some(value));
        }
    }
    changes.extend(there.into_keys().map(|key| (key, None)));
    changes
}

pub(super) fn apply(
    kv: &Kv,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let applied = kv.update(move |write: &mut Transaction<'_>| -> Result<(), StoreError> {
        for (key, value) in &changes {
            if is_counter(key) {
                // Nothing is counted beside its row yet.
                write.end_counter(key)?;
            }
            match value {
                Some(value) => write.put(key, value)?,
                None => write.delete(key)?,
            }
        }
        Ok(())
    });
    applied.wait()
}
