//! Snapshots of the vectors of an index, in blobs.
//!
//! The server that has the lease of the index writes one from its mirror. Puts and deletes go on meanwhile:
//! a vector that they replace may be missing in the snapshot. Their changes are behind its position. A mirror
//! that is made from the snapshot takes these changes, too, before it is read.
//!
//! The commit of a snapshot queues the blobs of the one before for deletion. From then on the log is kept
//! from the position of that one: a server that is less than a snapshot behind need not fetch any.

use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use liteio_blob::{BlobWriter, Seal};
use liteio_kv::{Read as _, Snapshot, Write as _};
use liteio_vector::{Slot, VectorError, View, vector_crc};

use super::{WAIT, busy, mirrored};
use crate::error::StoreError;
use crate::indexes::{Index, OpenIndex};
use crate::limits::RECLAIM_BATCH;
use crate::meta::claim::Claim;
use crate::meta::content::{Content, Extent};
use crate::meta::vector::VectorRecord;
use crate::meta::vector_log::{Change, LogHead, LogPosition, LogSnapshot, LoggedVector};
use crate::meta::{reference, space};
use crate::pending::Committed;
use crate::process::{Background, Calls, Job, StagedBlob, Staging, WakeReclaimer};
use crate::store::{Inner, MirrorStore, Store};

/// Interval at which an index is tried again whose lease another server has.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Bytes that are given to a blob at once.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes of a blob from which the next one begins.
const BLOB_BYTES: u64 = 1 << 30;

impl Store {
    /// Writes a snapshot of each index that this server has noted as due, and whose lease it has. Returns their
    /// number. An open store does so by itself.
    ///
    /// # Errors
    /// The first error; the others are tried nevertheless.
    pub fn write_vector_snapshots(&self) -> Result<u64, StoreError> {
        let Some(own) = &self.inner.mirrors else { return Ok(0) };
        let (mut written, mut failure) = (0, None);
        for index in own.mirrors.due() {
            let Some(worker) = self.for_job(Job::Index(index.id.0))? else {
                // Another server writes it, or has done so.
                let head = self.head_of_log(&index);
                if !head.is_ok_and(|it| it.is_snapshot_due(own.mirrors.snapshot_changes)) {
                    own.mirrors.is_done(index.id);
                }
                continue;
            };
            match worker.write_snapshot(own, &index) {
                Ok(is_written) => {
                    own.mirrors.is_done(index.id);
                    written += u64::from(is_written);
                }
                Err(StoreError::NoSuchIndex { .. }) => own.mirrors.is_done(index.id),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(written), Err)
    }

    /// Starts the thread that writes snapshots, where there are any.
    pub(crate) fn start_snapshots(&self) -> Result<(), StoreError> {
        let Some(own) = &self.inner.mirrors else { return Ok(()) };
        let calls = Arc::new(Calls::<()>::default());
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let thread = thread::Builder::new().name("liteio-snapshots".to_owned());
        let thread = thread.spawn({
            let calls = Arc::clone(&calls);
            move || {
                while calls.wait(LOOK_EVERY) {
                    calls.take_call();
                    let Some(inner) = weak.upgrade() else { return };
                    // What fails stays noted.
                    let _ = Self::of(inner).write_vector_snapshots();
                    if calls.pause(LOOK_EVERY).is_err() {
                        return;
                    }
                }
            }
        })?;
        *own.thread.lock() = Some(Background::new(calls, thread));
        Ok(())
    }

    /// Writes a snapshot of an index, if it is due.
    fn write_snapshot(&self, own: &MirrorStore, index: &Index) -> Result<bool, StoreError> {
        let head = self.head_of_log(index)?;
        if !head.is_snapshot_due(own.mirrors.snapshot_changes) {
            return Ok(false);
        }
        let moment = self.moment_of_mirror(own, index)?;
        let (snapshot, blobs) = self.write_entries(index, &moment)?;
        self.commit_snapshot(index, snapshot, blobs)?;
        own.mirrors.counters.snapshots.fetch_add(1, Ordering::Relaxed);
        self.remove_old_changes(index)?;
        Ok(true)
    }

    /// The mirror of an index at one moment, brought up to the head of the log.
    fn moment_of_mirror(&self, own: &MirrorStore, index: &Index) -> Result<Moment, StoreError> {
        let mirrors = self.store_of_mirrors(own)?;
        let mirror = own.mirrors.mirror(index.id);
        self.bring_up(own, &mirrors, index, &mirror, own.mirrors.tick())?;
        // Nobody changes or drops it while the parts are taken.
        let _applying = mirror.applying.try_lock_for(WAIT).ok_or_else(busy)?;
        let position = mirror.state().position.ok_or_else(busy)?;
        let own_index = mirrored(index)?;
        let opened = mirrors.open_index(&own_index).and_then(|open| {
            let view = open.vectors.slots().view();
            let snapshot = mirrors.snapshot()?;
            Ok(Moment { position, mirrors: mirrors.clone(), snapshot, view, _open: open })
        });
        opened.inspect_err(|_| mirror.set(None, mirror.state().bytes))
    }

    /// Writes the entries of a snapshot into blobs.
    fn write_entries(
        &self,
        index: &Index,
        moment: &Moment,
    ) -> Result<(LogSnapshot, Vec<StagedBlob>), StoreError> {
        let mut target =
            Target { store: self, begun: None, extents: Vec::new(), blobs: Vec::new() };
        let (mut vectors, mut piece) = (0, Vec::with_capacity(2 * PIECE_BYTES));
        let prefix = space::vectors_of(index.id);
        let mut rows = space::within(&moment.snapshot, &prefix)?;
        while let Some((place, value)) = rows.next()? {
            let (_, key) = VectorRecord::index_and_key(place)?;
            let record = VectorRecord::decode(value)?;
            let Some(elements) = moment.elements(index, key, &record)? else { continue };
            let vector = Some(LoggedVector { metadata: record.metadata, elements });
            Change { key: key.to_owned(), vector }.append_entry(index.id, &mut piece);
            vectors += 1;
            if piece.len() >= PIECE_BYTES {
                // It also keeps the lease.
                self.check_term()?;
                target.write(&piece)?;
                piece.clear();
            }
        }
        target.write(&piece)?;
        target.seal()?;
        let snapshot = LogSnapshot { position: moment.position, vectors, extents: target.extents };
        Ok((snapshot, target.blobs))
    }

    /// Makes a snapshot the newest one of its index.
    fn commit_snapshot(
        &self,
        index: &Index,
        snapshot: LogSnapshot,
        blobs: Vec<StagedBlob>,
    ) -> Result<(), StoreError> {
        let own = index.clone();
        let committed = self.update_with_blobs(blobs, move |write, shared| {
            write.claim(Claim::Index(own.id))?;
            own.require(write)?;
            let mut head = LogHead::read(write, own.id)?;
            let at = snapshot.position;
            let former = head.snapshot.as_ref().map(|it| it.position).unwrap_or_default();
            // The database may have lost changes that are in it, or another server was faster.
            if at.number <= former.number || !has(write, own.id, &head, &at)? {
                return Err(StoreError::ChangedMeanwhile);
            }
            head.kept_from = former;
            let old = head.snapshot.replace(snapshot.clone());
            head.write(write, own.id)?;
            let Some(old) = old else { return Ok(Committed::new(())) };
            reference::release(&Content::Extents(old.extents), write)?;
            Ok(Committed::with_guard((), WakeReclaimer::new(shared)))
        });
        committed.wait()
    }

    /// Removes the changes that nobody needs any more.
    fn remove_old_changes(&self, index: &Index) -> Result<(), StoreError> {
        loop {
            let (snapshot, head) = self.log_at_once(index)?;
            let lower = space::vector_change(index.id, 0);
            let upper = space::vector_change(index.id, head.kept_from.number + 1);
            let mut rows = snapshot.cursor(Bound::Included(&lower), Bound::Excluded(&upper))?;
            let mut places = Vec::new();
            while places.len() < RECLAIM_BATCH
                && let Some((place, _)) = rows.next()?
            {
                places.push(place.to_vec());
            }
            drop(rows);
            drop(snapshot);
            if places.is_empty() {
                return Ok(());
            }
            // Nobody writes them again, so they are not claimed.
            let removed = self.update_freeing(move |write, _| {
                places.iter().try_for_each(|place| write.delete(place))?;
                Ok(Committed::new(()))
            });
            removed.wait()?;
        }
    }
}

/// `true` if `at` is a position of the log.
fn has(
    from: &impl liteio_kv::Read,
    index: crate::name::IndexId,
    head: &LogHead,
    at: &LogPosition,
) -> Result<bool, StoreError> {
    if at.number <= head.kept_from.number {
        return Ok(*at == head.kept_from);
    }
    let place = space::vector_change(index, at.number);
    let row = from.get(&place)?.map(|value| Change::decode(&place, &value)).transpose()?;
    Ok(row.is_some_and(|(_, commit)| commit == at.commit))
}

/// A mirror at one moment. While it lives, the slots that it has are not overwritten.
struct Moment {
    position: LogPosition,
    mirrors: Store,
    snapshot: Snapshot,
    view: View,
    _open: Arc<OpenIndex>,
}

impl Moment {
    /// The elements of a vector; `None` if it was replaced since.
    fn elements(
        &self,
        index: &Index,
        key: &str,
        record: &VectorRecord,
    ) -> Result<Option<Vec<f32>>, StoreError> {
        let mut elements = vec![0.0; index.dimension as usize];
        match self.view.read_into(Slot::new(record.slot), &mut elements) {
            Ok(()) if vector_crc(&elements) == record.crc => return Ok(Some(elements)),
            Ok(()) => {}
            Err(VectorError::NoSuchSlot(_)) => {
                let now = VectorRecord::read(&self.mirrors.snapshot()?, index.id, key)?;
                if now.is_none_or(|now| now.slot != record.slot) {
                    return Ok(None);
                }
            }
            Err(error) => return Err(error.into()),
        }
        Err(StoreError::corrupt(format!("the elements of the vector {key:?} in the cache")))
    }
}

/// The blobs of a snapshot.
struct Target<'a> {
    store: &'a Store,
    /// The blob that is written, and its bytes.
    begun: Option<(Box<dyn BlobWriter>, StagedBlob, u64)>,
    extents: Vec<Extent>,
    blobs: Vec<StagedBlob>,
}

impl Target<'_> {
    fn write(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        if piece.is_empty() {
            return Ok(());
        }
        if self.begun.is_none() {
            let shared = self.store.shared();
            let blob = Staging::begin(shared)?;
            // Longer than any that is kept together with others.
            let writer = shared.blobs.begin(blob.id(), Some(BLOB_BYTES))?;
            self.begun = Some((writer, blob, 0));
        }
        let Some((writer, _, bytes)) = &mut self.begun else { return Ok(()) };
        writer.append(piece)?;
        *bytes += piece.len() as u64;
        if *bytes >= BLOB_BYTES { self.seal() } else { Ok(()) }
    }

    fn seal(&mut self) -> Result<(), StoreError> {
        let Some((writer, blob, _)) = self.begun.take() else { return Ok(()) };
        let sealed = writer.seal(Seal::Now)?;
        let (id, bytes) = (sealed.blob.id.0, sealed.blob.bytes);
        blob.sealed(sealed);
        self.extents.push(Extent { blob: id, blob_bytes: bytes, offset: 0, bytes });
        self.blobs.push(blob);
        Ok(())
    }
}
