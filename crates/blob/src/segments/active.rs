//! The segment that is appended to, and the ones behind it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_disk::{Disk, DiskFile, FileIdentity, OpenMode};

use super::super::file_path::BLOBS_DIRECTORY;
use super::place::{DIRECTORY, Place, SegmentName};
use super::segment::Segment;
use super::{BLOCK, FREE_SEGMENTS_MIN, Lengths};

/// Dead segments that are kept to be written again.
const SPARES_MAX: usize = 2;

/// The state of appending.
#[derive(Debug)]
pub(crate) struct Active {
    current: Option<Current>,
    /// The segment after the current one, made ahead.
    next: Option<Current>,
    next_number: u32,
    next_bytes: u64,
    /// The length of the first segment.
    first_bytes: u64,
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
    /// The first free block.
    end: u32,
    blocks: u32,
    /// Identity of the file, if the disk has identities.
    identity: Option<FileIdentity>,
}

/// A segment to make.
#[derive(Debug)]
pub(crate) struct Plan {
    name: SegmentName,
    bytes: u64,
    /// The dead segment whose file it gets.
    spare: Option<SegmentName>,
    makes_directory: bool,
}

/// The outcome of [`Plan::make`].
#[derive(Debug)]
pub(crate) enum Made {
    Segment(Arc<Segment>, Arc<dyn DiskFile>, Option<FileIdentity>),
    /// The disk has not enough space.
    NoSpace,
    /// The file system cannot give space back.
    Unable,
}

/// A place for a frame. Dropped before [`Reserved::keep`], its space is given back.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) segment: Arc<Segment>,
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) place: Place,
    is_kept: bool,
}

impl Active {
    /// The state of a process that finds segments up to the number `last`.
    pub(crate) fn new(lengths: Lengths, last: Option<u32>, has_directory: bool) -> Self {
        Self {
            current: None,
            next: None,
            next_number: last.map_or(0, |last| last.saturating_add(1)),
            next_bytes: lengths.first_bytes,
            first_bytes: lengths.first_bytes,
            bytes_max: lengths.bytes,
            spares: Vec::new(),
            has_directory,
            is_off: last == Some(u32::MAX),
        }
    }

    /// Reserves `blocks` blocks behind the last ones; `None` if a segment must be made for them.
    /// `begun` is called with a segment that becomes the current one.
    pub(crate) fn reserve(
        &mut self,
        blocks: u16,
        begun: &dyn Fn(&Arc<Segment>),
    ) -> Option<Reserved> {
        if let Some(reserved) = self.current.as_mut().and_then(|current| current.reserve(blocks)) {
            return Some(reserved);
        }
        let next = self.next.take()?;
        begun(&next.segment);
        if let Some(full) = self.current.replace(next) {
            full.segment.is_active.store(false, Ordering::Release);
        }
        self.current.as_mut()?.reserve(blocks)
    }

    /// `true` if it is time to make the next segment.
    pub(crate) fn wants_next(&self) -> bool {
        let is_half_full = |current: &Current| current.end > current.blocks / 2;
        self.next.is_none() && !self.is_off && self.current.as_ref().is_some_and(is_half_full)
    }

    /// Begins to make the next segment; `None` if there is one, or none can be made. `nonce` is
    /// random. One segment is made at a time.
    pub(crate) fn plan(&mut self, nonce: u64) -> Option<Plan> {
        let is_possible =
            self.next.is_none() && !self.is_off && self.next_number.checked_add(1).is_some();
        is_possible.then(|| {
            let spare = self.spares.pop();
            Plan {
                name: SegmentName { number: self.next_number, nonce },
                bytes: if spare.is_some() { self.bytes_max } else { self.next_bytes },
                spare,
                makes_directory: !self.has_directory,
            }
        })
    }

    /// Ends what [`Active::plan`] has begun.
    pub(crate) fn end(&mut self, plan: &Plan, made: io::Result<Made>) -> io::Result<()> {
        match made {
            Ok(Made::NoSpace) => return Ok(()),
            Ok(Made::Unable) => self.is_off = true,
            Ok(Made::Segment(segment, file, identity)) => {
                let blocks = (plan.bytes / BLOCK as u64) as u32;
                self.has_directory = true;
                self.next_bytes = (2 * plan.bytes).min(self.bytes_max);
                self.next = Some(Current { segment, file, end: 0, blocks, identity });
            }
            Err(error) => {
                self.next_number = plan.name.number.saturating_add(1);
                return Err(error);
            }
        }
        self.next_number = plan.name.number.saturating_add(1);
        Ok(())
    }

    /// The files that are written, or will be, with their identities.
    pub(crate) fn files(&self) -> Vec<(String, FileIdentity)> {
        let all = self.current.iter().chain(&self.next);
        all.filter_map(|it| Some((it.segment.name.path(), it.identity?))).collect()
    }

    /// `true` if segments with this number and later ones may have been made.
    pub(crate) fn has_made(&self, number: u32) -> bool {
        self.next_number > number
    }

    /// Keeps the file of a dead segment with `bytes` bytes, to be written again; `false` if it is to
    /// be removed.
    pub(crate) fn keep(&mut self, segment: &Segment, bytes: u64) -> bool {
        let is_kept = segment.is_ours
            && !self.is_off
            && self.spares.len() < SPARES_MAX
            && bytes == self.bytes_max;
        if is_kept {
            self.spares.push(segment.name);
        }
        is_kept
    }

    /// `true` if [`Active::rest`] has something to give away.
    pub(crate) fn can_rest(&self) -> bool {
        !self.spares.is_empty() || self.current.as_ref().is_some_and(Current::is_dead)
    }

    /// Gives away the files that hold no living frame, which the caller removes. The next segment is
    /// a short one again if nothing is left to append to.
    pub(crate) fn rest(&mut self) -> Vec<SegmentName> {
        let mut unused = std::mem::take(&mut self.spares);
        if let Some(dead) = self.current.take_if(|current| current.is_dead()) {
            dead.segment.is_active.store(false, Ordering::Release);
            unused.push(dead.segment.name);
            unused.extend(self.next.take().map(|next| next.segment.name));
            self.next_bytes = self.first_bytes;
        }
        unused
    }

    /// Ends appending: nothing stays that holds no frame.
    pub(crate) fn close(&mut self, disk: &dyn Disk) -> io::Result<()> {
        self.is_off = true;
        let next = self.next.take().map(|next| next.segment.name);
        for name in next.into_iter().chain(self.spares.drain(..)) {
            disk.remove_if_there(&name.path())?;
        }
        if let Some(Current { segment, file, end, blocks, .. }) = self.current.take() {
            segment.is_active.store(false, Ordering::Release);
            if end < blocks {
                file.set_len(u64::from(end) * BLOCK as u64)?;
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Makes the segment. It waits for the device, so appending goes on meanwhile.
    pub(crate) fn make(&self, disk: &dyn Disk) -> io::Result<Made> {
        let file = match &self.spare {
            Some(spare) => {
                disk.rename(&spare.path(), &self.name.path())?;
                let file = disk.open(&self.name.path(), OpenMode::Write)?;
                // Before the first frame: a power cut must not bring the old name back to it.
                disk.sync_dir(DIRECTORY)?;
                file
            }
            None => {
                if disk.free_bytes()? < self.bytes.saturating_mul(FREE_SEGMENTS_MIN) {
                    return Ok(Made::NoSpace);
                }
                if self.makes_directory {
                    disk.create_dir(DIRECTORY)?;
                    disk.sync_dir(BLOBS_DIRECTORY)?;
                }
                let made = make_file(disk, &self.name, self.bytes);
                if !matches!(made, Ok(Some(_))) {
                    // Without a frame it is no loss, and the next start removes it, too.
                    let _ = disk.remove(&self.name.path());
                }
                match made {
                    Ok(Some(file)) => file,
                    Ok(None) => return Ok(Made::Unable),
                    // The blob gets a file, which needs less space.
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                        return Ok(Made::NoSpace);
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        let file: Arc<dyn DiskFile> = file.into();
        let segment = Arc::new(Segment::made(self.name, Arc::clone(&file)));
        Ok(Made::Segment(segment, file, disk.identity(&self.name.path()).ok()))
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
    /// `true` if frames were appended, and none lives or is being written.
    fn is_dead(&self) -> bool {
        self.end > 0 && self.segment.with_live(|live| live.is_empty()).unwrap_or(false)
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
    pub(crate) fn shorten(&mut self, blocks: u16) {
        let rest = self.place.blocks - blocks;
        if let Ok(start) = u16::try_from(u32::from(self.place.start) + u32::from(blocks)) {
            self.segment.with_live(|live| live.add_dead(start, rest));
        }
        self.place.blocks = blocks;
    }

    /// The frame is written, and lives from now on.
    pub(crate) fn keep(mut self) {
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
