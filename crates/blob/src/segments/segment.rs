//! One segment.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_disk::{Disk, DiskFile, OpenMode};
use parking_lot::Mutex;

use super::super::group_sync::GroupSync;
use super::BLOCK;
use super::live::Live;
use super::place::{Place, SegmentName};
use super::walk::{Found, walk};

/// A file of frames.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) name: SegmentName,
    /// `true` if this process has made it, so that its file has no other name.
    pub(crate) is_ours: bool,
    /// `true` while frames are appended. Its space is not given back meanwhile: the file system
    /// would let the appends wait.
    pub(crate) is_active: AtomicBool,
    /// The open file; `None` until it is needed.
    file: Mutex<Option<Arc<dyn DiskFile>>>,
    sync: GroupSync,
    /// `None` until the frames have been counted.
    live: Mutex<Option<Live>>,
    /// Held while they are counted, which takes too long to let readers wait for `live`.
    counting: Mutex<()>,
}

impl Segment {
    /// A segment that an earlier process has left.
    pub(crate) fn found(name: SegmentName) -> Self {
        Self {
            name,
            is_ours: false,
            is_active: AtomicBool::new(false),
            file: Mutex::new(None),
            sync: GroupSync::default(),
            live: Mutex::new(None),
            counting: Mutex::new(()),
        }
    }

    /// A new segment without frames.
    pub(crate) fn made(name: SegmentName, file: Arc<dyn DiskFile>) -> Self {
        Self {
            is_ours: true,
            is_active: AtomicBool::new(true),
            file: Mutex::new(Some(file)),
            live: Mutex::new(Some(Live::default())),
            ..Self::found(name)
        }
    }

    /// The open file, and whether it was opened just now.
    pub(crate) fn file(&self, disk: &dyn Disk) -> io::Result<(Arc<dyn DiskFile>, bool)> {
        let mut file = self.file.lock();
        if let Some(file) = &*file {
            return Ok((Arc::clone(file), false));
        }
        let opened: Arc<dyn DiskFile> = disk.open(&self.name.path(), OpenMode::Write)?.into();
        *file = Some(Arc::clone(&opened));
        Ok((opened, true))
    }

    /// Closes the file when its last user ends.
    pub(crate) fn close_file(&self) {
        *self.file.lock() = None;
    }

    /// Makes every frame durable that was written through `file` before the call.
    pub(crate) fn sync(&self, file: &dyn DiskFile) -> io::Result<()> {
        self.sync.sync(|| file.sync_data())
    }

    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Acquire)
    }

    /// Changes the living frames, if they are counted.
    pub(crate) fn with_live<T>(&self, change: impl FnOnce(&mut Live) -> T) -> Option<T> {
        self.live.lock().as_mut().map(change)
    }

    /// Changes the living frames, which are counted first if they are not.
    pub(crate) fn with_counted<T>(
        &self,
        file: &dyn DiskFile,
        change: impl FnOnce(&mut Live) -> T,
    ) -> io::Result<T> {
        // Nothing changes the frames of an uncounted segment: it is not ours, and a deletion counts
        // them first.
        let _alone = self.counting.lock();
        if self.live.lock().is_none() {
            let mut counted = Live::default();
            walk(file, self.name, &mut |found| match found {
                Found::Frame(place) => counted.insert(place.start),
                Found::Stray(_) => counted.has_strays = true,
            })?;
            *self.live.lock() = Some(counted);
        }
        Ok(change(self.live.lock().get_or_insert_default()))
    }

    /// `true` if the blob is known to be deleted.
    pub(crate) fn has_died(&self, place: &Place) -> bool {
        self.with_live(|live| live.has_died(place.start)).unwrap_or(false)
    }

    /// Gives the space of dead ranges back; what could not be given back stays dead.
    pub(crate) fn discard_dead(&self, file: &dyn DiskFile) -> io::Result<()> {
        let ranges = self.with_live(Live::take_dead).unwrap_or_default();
        let mut result = Ok(());
        for (start, end) in ranges {
            let blocks = end - u32::from(start);
            if result.is_ok() {
                let bytes = u64::from(blocks) * BLOCK as u64;
                // A file system that cannot is no error: it gets the space back with the file.
                result = file.discard(u64::from(start) * BLOCK as u64, bytes).map(drop);
            }
            if result.is_err() {
                self.with_live(|live| live.put_back_dead(start, end));
            }
        }
        result
    }
}
