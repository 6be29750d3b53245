//! The segments of a store.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_disk::{Disk, DiskFile, FileIdentity};
use parking_lot::{Mutex, RwLock};

use super::super::buffer::Buffer;
use super::super::{BlobError, BlobId};
use super::active::{Active, Reserved};
use super::dirty::Dirty;
use super::live::Live;
use super::mark;
use super::place::{DIRECTORY, Place, SegmentName};
use super::readers::Readers;
use super::segment::Segment;
use super::unwritten::Unwritten;
use super::walk::{Found, walk};
use super::window::Window;
use super::{BLOCK, Lengths};

/// Segments whose files stay open. One that was written has two descriptors.
const OPEN_FILES_MAX: usize = 128;

/// The segments that give space back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Those that are not appended to: an append would wait for the file system.
    Full,
    /// Also the active one, since nothing is appended.
    Resting,
    /// All, also what has died just now.
    All,
}

/// All segments of a disk.
#[derive(Debug)]
pub(crate) struct Segments {
    disk: Arc<dyn Disk>,
    lengths: Lengths,
    /// By their numbers.
    all: RwLock<HashMap<u32, Arc<Segment>>>,
    /// The number of the first segment that this process can make.
    first_own: u32,
    active: Mutex<Active>,
    /// Held while a segment is made.
    making: Mutex<()>,
    /// `true` if a frame was appended or has died since [`Segments::settle`] was called last.
    was_used: AtomicBool,
    readers: Arc<Readers>,
    /// Numbers of segments with dead ranges.
    dying: Mutex<BTreeSet<u32>>,
    /// Segments that have given back space which is not synced. Numbers of removed ones stay.
    unsynced: Mutex<BTreeSet<u32>>,
    unwritten: Unwritten,
    dirty: Dirty,
    /// Segments with an open file, the longest open first.
    open: Mutex<VecDeque<Arc<Segment>>>,
}

impl Segments {
    /// Finds the segments of `disk`. Nothing is changed.
    ///
    /// # Errors
    /// The errors of [`Disk::list`].
    pub(crate) fn open(disk: Arc<dyn Disk>, lengths: Lengths) -> io::Result<Self> {
        let (entries, has_directory) = match disk.list(DIRECTORY) {
            Ok(entries) => (entries, true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), false),
            Err(error) => return Err(error),
        };
        let names = entries.iter().filter_map(|entry| SegmentName::parse(&entry.name));
        let all: HashMap<u32, Arc<Segment>> =
            names.map(|name| (name.number, Arc::new(Segment::found(name)))).collect();
        let last = all.keys().max().copied();
        Ok(Self {
            disk,
            lengths,
            first_own: last.map_or(0, |last| last.saturating_add(1)),
            all: RwLock::new(all),
            active: Mutex::new(Active::new(lengths, last, has_directory)),
            making: Mutex::default(),
            was_used: AtomicBool::new(false),
            readers: Arc::default(),
            dying: Mutex::default(),
            unsynced: Mutex::default(),
            unwritten: Unwritten::default(),
            dirty: Dirty::default(),
            open: Mutex::default(),
        })
    }

    /// Largest body in a segment; 0 if every new blob gets a file.
    pub(crate) fn body_bytes_max(&self) -> u64 {
        self.lengths.body_bytes_max
    }

    /// Cuts off what the last process allocated behind its frames. Call it while nobody writes.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn trim(&self) -> io::Result<()> {
        /// The segments that a process appends to, or has made ahead, are its last ones.
        const SEGMENTS: usize = 3;
        let mut numbers: Vec<u32> = self.all.read().keys().copied().collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        for number in numbers.into_iter().take(SEGMENTS) {
            let Some(segment) = self.all.read().get(&number).cloned() else { continue };
            let file = self.file(&segment)?;
            let length = file.len()?;
            if length == 0 || !length.is_multiple_of(self.lengths.first_bytes) {
                // Cut already.
                continue;
            }
            let mut end = 0;
            walk(&*file, segment.name, &mut |found| {
                end = end.max(match found {
                    Found::Frame(place) => place.end(),
                    // It may be of a frame whose mark is damaged.
                    Found::Stray(block) => block + 1,
                });
            })?;
            if end == 0 {
                self.disk.remove_if_there(&segment.name.path())?;
                self.forget(&segment);
            } else if u64::from(end) * (BLOCK as u64) < length {
                file.set_len(u64::from(end) * BLOCK as u64)?;
            }
        }
        Ok(())
    }

    /// Reserves a place; `None` if the blob must get a file. `nonce` is random.
    pub(crate) fn reserve(&self, blocks: u16, nonce: u64) -> io::Result<Option<Reserved>> {
        let reserve = || self.reserve_now(blocks);
        if let Some(reserved) = reserve() {
            return Ok(Some(reserved));
        }
        let _alone = self.making.lock();
        // Another one may have made a segment meanwhile.
        if let Some(reserved) = reserve() {
            return Ok(Some(reserved));
        }
        self.make_next(nonce)?;
        Ok(reserve())
    }

    /// `true` if it is time to make the next segment, and nobody makes it.
    pub(crate) fn is_room_low(&self) -> bool {
        self.active.try_lock().is_some_and(|active| active.wants_next()) && !self.making.is_locked()
    }

    /// Reserves a place where a segment has room; `None` if one must be made, or the blob must get a
    /// file.
    pub(crate) fn reserve_now(&self, blocks: u16) -> Option<Reserved> {
        self.was_used.store(true, Ordering::Relaxed);
        self.active.lock().reserve(blocks, &|segment| self.begun(segment))
    }

    fn begun(&self, segment: &Arc<Segment>) {
        self.all.write().insert(segment.name.number, Arc::clone(segment));
        self.opened(segment);
    }

    /// Makes the next segment ahead if it is time. An error is no one's: the one that needs the
    /// segment meets it.
    pub(crate) fn prepare(&self, nonce: u64) {
        if self.is_room_low()
            && let Some(_alone) = self.making.try_lock()
        {
            let _ = self.make_next(nonce);
        }
    }

    /// Makes the next segment, if there is none. The caller holds `making`.
    fn make_next(&self, nonce: u64) -> io::Result<()> {
        let Some(plan) = self.active.lock().plan(nonce) else { return Ok(()) };
        let made = plan.make(&*self.disk);
        self.active.lock().end(&plan, made)
    }

    /// The files that are written, with their identities.
    pub(crate) fn written_files(&self) -> Vec<(String, FileIdentity)> {
        self.active.lock().files()
    }

    /// The frame of a blob with a body of `body_bytes`, as a file; `None` if the id names no segment.
    ///
    /// # Errors
    /// [`BlobError::NotFound`] if the blob was deleted, [`BlobError::Corrupt`] if it has another
    /// length, [`BlobError::Io`].
    pub(crate) fn window(&self, id: &BlobId, body_bytes: u64) -> Result<Option<Window>, BlobError> {
        let Some((segment, place)) = self.find(id) else { return Ok(None) };
        let reader = self.readers.begin(*id).ok_or(BlobError::NotFound { id: *id })?;
        // After the reader was counted: a deletion sees the reader, or is seen here.
        if segment.has_died(&place) {
            return Err(BlobError::NotFound { id: *id });
        }
        if mark::frame_blocks(body_bytes) != Some(place.blocks) {
            let what = "its place has another length";
            return Err(BlobError::Corrupt { id: *id, what });
        }
        let file = self.file(&segment).map_err(|error| BlobError::from_read(*id, error))?;
        let bytes = mark::file_bytes(body_bytes);
        Ok(Some(Window { file, offset: place.offset(), bytes, _reader: reader }))
    }

    /// Deletes a blob; `false` if the id names no segment. A crash, and an end without
    /// [`Segments::close`], may bring it back.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn delete(&self, id: &BlobId) -> io::Result<bool> {
        let Some((segment, place)) = self.find(id) else { return Ok(false) };
        if self.unwritten.forget(&place) {
            return Ok(true);
        }
        if !self.readers.delete_later(id) {
            self.bury(&segment, &place)?;
        }
        Ok(true)
    }

    /// `true` if the id is of a blob that this process has written.
    pub(crate) fn is_own(&self, id: &BlobId) -> bool {
        self.find(id).is_some_and(|(segment, _)| segment.name.number >= self.first_own)
    }

    /// Calls `found` with every blob that is known to live.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn scan(&self, found: &mut dyn FnMut(BlobId)) -> io::Result<()> {
        let mut all: Vec<_> = self.all.read().values().cloned().collect();
        all.sort_unstable_by_key(|segment| segment.name);
        for segment in all {
            let file = match self.file(&segment) {
                // Removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let mut places = Vec::new();
            walk(&*file, segment.name, &mut |found| {
                if let Found::Frame(place) = found {
                    places.push(place);
                }
            })?;
            // Of a segment of this process only what is sealed.
            let is_there = |place: &Place| match segment.is_ours {
                true => segment.with_live(|live| live.contains(place.start)).unwrap_or(false),
                false => !segment.has_died(place),
            };
            places.retain(is_there);
            let ids = places.iter().map(Place::id);
            ids.filter(|id| !self.readers.is_deleted(id)).for_each(&mut *found);
        }
        Ok(())
    }

    /// Copies the file that the blob would have; `None` if the id names no segment, or no frame.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn contents(&self, id: &BlobId) -> io::Result<Option<Vec<u8>>> {
        let Some((segment, place)) = self.find(id) else { return Ok(None) };
        let file = self.file(&segment)?;
        let mut frame = vec![0; place.bytes() as usize];
        let count = file.read_at(&mut frame, place.offset())?;
        let mark = frame[..count].last_chunk().and_then(mark::decode);
        Ok(mark.filter(|(found, _)| *found == place).map(|(_, body_bytes)| {
            frame.truncate(mark::file_bytes(body_bytes) as usize);
            frame
        }))
    }

    /// `true` if a frame may wait for the commit of its record.
    pub(crate) fn has_room_for_unwritten(&self) -> bool {
        self.unwritten.has_room()
    }

    /// Takes a frame, the first `bytes` bytes of `buffer`, which [`Segments::write`] will write.
    pub(crate) fn write_later(&self, reserved: Reserved, buffer: Buffer, bytes: usize) {
        self.unwritten.add(reserved, buffer, bytes);
    }

    /// Notes a frame that is not synced.
    pub(crate) fn add_dirty(&self, reserved: &Reserved) {
        self.dirty.add(&reserved.segment, &reserved.file, reserved.place.bytes());
    }

    /// Notes a whole blob that a crash may have left unsynced; `false` if the id names no segment.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn recovered(&self, id: &BlobId, body_bytes: u64) -> io::Result<bool> {
        let Some((segment, place)) = self.find(id) else { return Ok(false) };
        let file = self.file(&segment)?;
        // A power cut may have kept the blob and lost its mark, without which its place looks free.
        let mark = mark::encode(&place, body_bytes);
        let offset = place.offset() + place.bytes() - mark.len() as u64;
        let mut found = [0; mark::MARK_BYTES];
        if file.read_at(&mut found, offset)? < found.len() || found != mark {
            file.write_at(&mark, offset)?;
        }
        self.dirty.add(&segment, &file, place.bytes());
        Ok(true)
    }

    /// Writes the frame of a blob again, from the file that it would have; `false` if the id names
    /// no segment. A frame of another length is left as it is. Call it before anything is deleted.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn restore(
        &self,
        id: &BlobId,
        body_bytes: u64,
        contents: &[u8],
    ) -> io::Result<bool> {
        let Some((segment, place)) = self.find(id) else { return Ok(false) };
        let is_its_length = mark::frame_blocks(body_bytes) == Some(place.blocks)
            && mark::file_bytes(body_bytes) == contents.len() as u64;
        if is_its_length {
            let mut frame = vec![0; place.bytes() as usize];
            frame[..contents.len()].copy_from_slice(contents);
            let mark = frame.len() - mark::MARK_BYTES;
            frame[mark..].copy_from_slice(&mark::encode(&place, body_bytes));
            self.file(&segment)?.write_at(&frame, place.offset())?;
        }
        Ok(true)
    }

    /// Bytes that wait for [`Segments::sync`].
    pub(crate) fn unsynced_bytes(&self) -> u64 {
        self.dirty.bytes()
    }

    /// Writes those of `blobs` that wait for their record, which is about to be appended.
    ///
    /// # Errors
    /// Any error of the disk. All of these blobs are lost then, since their record is not appended.
    pub(crate) fn write(&self, blobs: &[BlobId]) -> io::Result<()> {
        self.unwritten.write(blobs, &self.dirty)
    }

    /// Writes all frames that wait for their records.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn write_all(&self) -> io::Result<()> {
        self.unwritten.write_all(&self.dirty)
    }

    /// Makes every frame durable that was sealed before the call.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.write_all()?;
        self.sync_written()
    }

    /// Makes every frame durable that was written before the call.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn sync_written(&self) -> io::Result<()> {
        self.dirty.sync()
    }

    /// Gives back the space of dead frames: at once where a whole segment is dead, otherwise if
    /// none has died in the segment since the last call. If nothing at all has happened since then,
    /// also what is kept for appends. `true` if some is left.
    ///
    /// # Errors
    /// Any error of the disk. The space stays dead.
    pub(crate) fn settle(&self) -> io::Result<bool> {
        let is_idle = !self.was_used.swap(false, Ordering::Relaxed);
        if is_idle {
            self.rest()?;
        }
        self.give_back(if is_idle { Scope::Resting } else { Scope::Full })?;
        let can_rest = self.active.lock().can_rest();
        Ok(can_rest || !self.dying.lock().is_empty() || self.readers.has_deleted())
    }

    /// Removes the files that are kept for appends and have no living frame.
    fn rest(&self) -> io::Result<()> {
        // Who makes a segment appends soon.
        let Some(_alone) = self.making.try_lock() else { return Ok(()) };
        let unused = self.active.lock().rest();
        for segment in unused {
            let number = segment.number;
            if let Some(segment) = self.get(number) {
                self.forget(&segment);
            }
            self.unsynced.lock().insert(number);
            self.disk.remove_if_there(&segment.path())?;
        }
        Ok(())
    }

    /// Ends writing: gives back all space that holds no living frame, and makes that durable.
    /// `false` if a reader keeps a deleted blob.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(crate) fn close(&self) -> io::Result<bool> {
        let making = self.making.lock();
        self.active.lock().close(&*self.disk)?;
        drop(making);
        self.give_back(Scope::All)?;
        let changed: Vec<u32> = self.unsynced.lock().iter().copied().collect();
        for segment in changed.iter().filter_map(|number| self.get(*number)) {
            segment.sync(&*self.file(&segment)?)?;
        }
        if self.active.lock().has_made(self.first_own) || !changed.is_empty() {
            self.disk.sync_dir(DIRECTORY)?;
        }
        self.unsynced.lock().clear();
        Ok(!self.readers.has_deleted())
    }

    fn give_back(&self, scope: Scope) -> io::Result<()> {
        for id in self.readers.take_ended() {
            if let Some((segment, place)) = self.find(&id) {
                self.bury(&segment, &place)?;
            }
        }
        let numbers: Vec<u32> = self.dying.lock().iter().copied().collect();
        for number in numbers {
            let Some(segment) = self.get(number) else {
                self.dying.lock().remove(&number);
                continue;
            };
            let is_active = segment.is_active();
            if is_active && scope == Scope::Full {
                continue;
            }
            let is_settled = |live: &mut Live| scope == Scope::All || live.settles();
            if !is_active && segment.with_live(|live| live.is_empty()).unwrap_or(false) {
                self.retire(&segment)?;
                self.unsynced.lock().insert(number);
            } else if segment.with_live(is_settled).unwrap_or(false) {
                segment.discard_dead(&*self.file(&segment)?)?;
                self.unsynced.lock().insert(number);
            } else {
                continue;
            }
            self.dying.lock().remove(&number);
        }
        Ok(())
    }

    /// Keeps the file of a segment without living frames for the next one, or removes it.
    fn retire(&self, segment: &Arc<Segment>) -> io::Result<()> {
        let bytes = self.file(segment)?.len()?;
        self.forget(segment);
        if !self.active.lock().keep(segment, bytes) {
            // Not under the lock: freeing a long file takes some time.
            self.disk.remove_if_there(&segment.name.path())?;
        }
        Ok(())
    }

    fn bury(&self, segment: &Arc<Segment>, place: &Place) -> io::Result<()> {
        let file = self.file(segment)?;
        let has_dead = segment.with_counted(&*file, |live| {
            live.bury(place.start, place.blocks);
            live.has_dead() || live.is_empty()
        })?;
        if !has_dead {
            // Deleted before, and its space was given back.
            return Ok(());
        }
        self.was_used.store(true, Ordering::Relaxed);
        self.dying.lock().insert(segment.name.number);
        Ok(())
    }

    fn forget(&self, segment: &Arc<Segment>) {
        self.all.write().remove(&segment.name.number);
        self.open.lock().retain(|other| !Arc::ptr_eq(other, segment));
    }

    fn get(&self, number: u32) -> Option<Arc<Segment>> {
        self.all.read().get(&number).cloned()
    }

    /// The segment and the place that an id names.
    fn find(&self, id: &BlobId) -> Option<(Arc<Segment>, Place)> {
        let place = Place::of(id);
        let segment = self.get(place.segment.number)?;
        (segment.name == place.segment).then_some((segment, place))
    }

    fn file(&self, segment: &Arc<Segment>) -> io::Result<Arc<dyn DiskFile>> {
        let (file, is_new) = segment.file(&*self.disk)?;
        if is_new {
            self.opened(segment);
        }
        Ok(file)
    }

    /// Counts an open file, and closes the one that has been open longest if there are too many.
    fn opened(&self, segment: &Arc<Segment>) {
        let mut open = self.open.lock();
        open.push_back(Arc::clone(segment));
        if open.len() > OPEN_FILES_MAX
            && let Some(oldest) = open.pop_front()
        {
            oldest.close_file();
        }
    }
}
