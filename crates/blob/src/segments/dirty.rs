//! Segments with frames that are synced later: at [`Durability::Os`](liteio_disk::Durability::Os) all, at
//! [`Durability::Fsync`](liteio_disk::Durability::Fsync) those whose contents the log holds.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use liteio_disk::DiskFile;
use parking_lot::Mutex;

use super::segment::Segment;

/// The segments, with the bytes of each that are not synced.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// Held during a sync. A caller with nothing left to sync still waits for the running one.
    running: Mutex<()>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    segments: BTreeMap<u32, (Arc<Segment>, Arc<dyn DiskFile>, u64)>,
    /// Bytes that the running sync has taken.
    syncing_bytes: u64,
}

impl Waiting {
    fn bytes(&self) -> u64 {
        self.segments.values().map(|(_, _, bytes)| bytes).sum()
    }
}

impl Dirty {
    pub(super) fn add(&self, segment: &Arc<Segment>, file: &Arc<dyn DiskFile>, bytes: u64) {
        let mut waiting = self.waiting.lock();
        let new = || (Arc::clone(segment), Arc::clone(file), 0);
        waiting.segments.entry(segment.name.number).or_insert_with(new).2 += bytes;
    }

    /// Bytes that wait for [`Dirty::sync`] or are being synced.
    pub(super) fn bytes(&self) -> u64 {
        let waiting = self.waiting.lock();
        waiting.bytes() + waiting.syncing_bytes
    }

    /// Makes every frame durable that was added before the call.
    pub(super) fn sync(&self) -> io::Result<()> {
        let _alone = self.running.lock();
        let taken = {
            let mut waiting = self.waiting.lock();
            waiting.syncing_bytes = waiting.bytes();
            std::mem::take(&mut waiting.segments)
        };
        let result = taken.values().try_for_each(|(segment, file, _)| segment.sync(&**file));
        self.waiting.lock().syncing_bytes = 0;
        if result.is_err() {
            // Put back: nothing is known to be durable.
            taken.values().for_each(|(segment, file, bytes)| self.add(segment, file, *bytes));
        }
        result
    }
}
