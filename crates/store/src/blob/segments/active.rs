//! The segment that is appended to, and the ones behind it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_disk::{Disk, DiskFile, OpenMode};

use super::super::file_path::BLOBS_DIRECTORY;
use super::place::{DIRECTORY, Place, SegmentName};
use super::segment::Segment;
use super::{BLOCK, FREE_SEGMENTS_MIN, Lengths};

/// Dead segments that are kept to be written again.
const SPARES_MAX: usize = 2;

/// The state of appending.
#[derive(Debug)]
pub(super) struct Active {
    current: Option<Current>,
    /// The segment after the current one, made ahead.
    next: Option<Current>,
    next_number: u32,
    next_bytes: u64,
    /// The length of a segment in the long run.
    bytes_max: u64,
    /// Names of dead segments of the full length, whose files have no other name.
    spares: Vec<SegmentName>,
    has_directory: bool,
    /// `true` if the file system cannot give space back, or after [`Active::close`].
    is_off: bool,
}

#[derive(Debug)]
struct Current {
    segment: Arc<Segment>,
    file: Arc<dyn DiskFile>,
    /// The first block that nobody has reserved.
    end: u32,
    blocks: u32,
}

/// A place for a frame. Dropped before [`Reserved::keep`], its space is given back.
#[derive(Debug)]
pub(super) struct Reserved {
    pub(super) segment: Arc<Segment>,
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) place: Place,
    is_kept: bool,
}

impl Active {
    /// The state of a process that finds segments up to the number `last`.
    pub(super) fn new(lengths: Lengths, last: Option<u32>, has_directory: bool) -> Self {
        Self {
            current: None,
            next: None,
            next_number: last.map_or(0, |last| last.saturating_add(1)),
            next_bytes: lengths.first_bytes,
            bytes_max: lengths.bytes,
            spares: Vec::new(),
            has_directory,
            is_off: last == Some(u32::MAX),
        }
    }

    /// Reserves `blocks` blocks behind the last ones; `None` if there is no segment and none can be
    /// made. `made` is called with each new segment. `nonce` is random.
    pub(super) fn reserve(
        &mut self,
        disk: &dyn Disk,
        blocks: u16,
        nonce: u64,
        made: &dyn Fn(&Arc<Segment>),
    ) -> io::Result<Option<Reserved>> {
        if let Some(reserved) = self.current.as_mut().and_then(|current| current.reserve(blocks)) {
            return Ok(Some(reserved));
        }
        let next = match self.next.take() {
            Some(next) => Some(next),
            None => self.make(disk, nonce)?,
        };
        let Some(next) = next else { return Ok(None) };
        made(&next.segment);
        if let Some(full) = self.current.replace(next) {
            full.segment.is_active.store(false, Ordering::Release);
        }
        Ok(self.current.as_mut().and_then(|current| current.reserve(blocks)))
    }

    /// `true` if it is time to make the next segment.
    pub(super) fn wants_next(&self) -> bool {
        let is_half_full = |current: &Current| current.end > current.blocks / 2;
        self.next.is_none() && !self.is_off && self.current.as_ref().is_some_and(is_half_full)
    }

    /// Makes the next segment ahead, so that no body waits for it.
    pub(super) fn make_next(&mut self, disk: &dyn Disk, nonce: u64) -> io::Result<()> {
        if self.wants_next() {
            self.next = self.make(disk, nonce)?;
        }
        Ok(())
    }

    /// `true` if segments with this number and later ones may have been made.
    pub(super) fn has_made(&self, number: u32) -> bool {
        self.next_number > number
    }

    /// Keeps the file of a dead segment, or removes it.
    pub(super) fn retire(&mut self, disk: &dyn Disk, segment: &Segment) -> io::Result<()> {
        let is_spare = segment.is_ours && !self.is_off && self.spares.len() < SPARES_MAX;
        let is_long = || Ok::<_, io::Error>(segment.file(disk)?.0.len()? == self.bytes_max);
        if is_spare && is_long()? {
            self.spares.push(segment.name);
            return Ok(());
        }
        disk.remove_if_there(&segment.name.path())
    }

    /// Ends appending: nothing stays that holds no frame.
    pub(super) fn close(&mut self, disk: &dyn Disk) -> io::Result<()> {
        self.is_off = true;
        let next = self.next.take().map(|next| next.segment.name);
        for name in next.into_iter().chain(self.spares.drain(..)) {
            disk.remove_if_there(&name.path())?;
        }
        if let Some(Current { segment, file, end, blocks }) = self.current.take() {
            segment.is_active.store(false, Ordering::Release);
            if end < blocks {
                file.set_len(u64::from(end) * BLOCK as u64)?;
            }
        }
        Ok(())
    }

    fn make(&mut self, disk: &dyn Disk, nonce: u64) -> io::Result<Option<Current>> {
        let Some(following) = self.next_number.checked_add(1).filter(|_| !self.is_off) else {
            return Ok(None);
        };
        let name = SegmentName { number: self.next_number, nonce };
        if let Some(spare) = self.spares.pop() {
            self.next_number = following;
            disk.rename(&spare.path(), &name.path())?;
            let file = disk.open(&name.path(), OpenMode::Write)?;
            // Before the first frame: a power cut must not bring the old name back to it.
            disk.sync_dir(DIRECTORY)?;
            return Ok(Some(Current::new(name, file, self.bytes_max)));
        }
        let bytes = self.next_bytes;
        if disk.free_bytes()? < bytes.saturating_mul(FREE_SEGMENTS_MIN) {
            return Ok(None);
        }
        if !self.has_directory {
            disk.create_dir(DIRECTORY)?;
            disk.sync_dir(BLOBS_DIRECTORY)?;
            self.has_directory = true;
        }
        self.next_number = following;
        let made = make_file(disk, &name, bytes);
        if !matches!(made, Ok(Some(_))) {
            // Without a frame it is no loss, and the next start removes it, too.
            let _ = disk.remove(&name.path());
        }
        match made {
            Ok(Some(file)) => {
                self.next_bytes = (2 * bytes).min(self.bytes_max);
                Ok(Some(Current::new(name, file, bytes)))
            }
            Ok(None) => {
                self.is_off = true;
                Ok(None)
            }
            // The blob gets a file, which needs less space.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A new file of `bytes` bytes, with its space and a durable name; `None` if the file system could
/// not give its space back.
fn make_file(
    disk: &dyn Disk,
    name: &SegmentName,
    bytes: u64,
) -> io::Result<Option<Box<dyn DiskFile>>> {
    let file = disk.open(&name.path(), OpenMode::CreateOrWrite)?;
    file.set_len(bytes)?;
    if !file.discard(0, BLOCK as u64)? {
        return Ok(None);
    }
    file.reserve(0, bytes);
    file.sync_data()?;
    disk.sync_dir(DIRECTORY)?;
    Ok(Some(file))
}

impl Current {
    fn new(name: SegmentName, file: Box<dyn DiskFile>, bytes: u64) -> Self {
        let file: Arc<dyn DiskFile> = file.into();
        let segment = Arc::new(Segment::made(name, Arc::clone(&file)));
        Self { segment, file, end: 0, blocks: (bytes / BLOCK as u64) as u32 }
    }

    fn reserve(&mut self, blocks: u16) -> Option<Reserved> {
        let end = self.end + u32::from(blocks);
        let start = u16::try_from(self.end).ok().filter(|_| end <= self.blocks)?;
        self.end = end;
        let segment = Arc::clone(&self.segment);
        segment.with_live(|live| live.unsealed += 1);
        let place = Place { segment: segment.name, start, blocks };
        Some(Reserved { segment, file: Arc::clone(&self.file), place, is_kept: false })
    }
}

impl Reserved {
    /// Cuts the place to `blocks`, at most as many as it has.
    pub(super) fn shorten(&mut self, blocks: u16) {
        let rest = self.place.blocks - blocks;
        if let Ok(start) = u16::try_from(u32::from(self.place.start) + u32::from(blocks)) {
            self.segment.with_live(|live| live.add_dead(start, rest));
        }
        self.place.blocks = blocks;
    }

    /// The frame is written, and lives from now on.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
        self.segment.with_live(|live| live.insert(self.place.start));
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Place { start, blocks, .. } = self.place;
        self.segment.with_live(|live| {
            live.unsealed -= 1;
            if !self.is_kept {
                live.add_dead(start, blocks);
            }
        });
    }
}
