//! redb's storage on a file of a [`Disk`](liteio_disk::Disk); the first failure freezes the file.
//!
//! After a failed write redb refuses reads, too. But every page that a snapshot can see is still
//! there, because pages are copied on write, and every acknowledged update is in the log. So the
//! first failed write, resize or sync freezes the file: its bytes stay as they are, and later
//! writes of redb go to an overlay in memory, where redb can read them. The committer checks
//! [`Freeze::reason`] after every step and acknowledges nothing more; reads continue.
//!
//! An unreadable or damaged page must not fail the storage either: redb would refuse everything
//! from then on. It is read as [`DAMAGED`] bytes, which are not a page of any kind, so redb fails
//! only the call that needs it ([`guarded`](super::error::guarded)).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use liteio_disk::DiskFile;
use parking_lot::{RwLock, RwLockUpgradableReadGuard};

use super::error::note_damage;
use super::gather::Gather;
use super::sums::{PAGE_BYTES, Sums};
use crate::KvError;

/// Minimum size of a run for immediate writeback. Shorter runs are left to the sync, which writes
/// many at once: separate requests took a third of the time of a drain.
const WRITEBACK_BYTES_MIN: usize = 128 << 10;
/// Bytes of an overlay block: redb's page. All writes but the header are aligned to it.
const BLOCK_BYTES: usize = PAGE_BYTES;
/// The bytes of a damaged page. The first byte of a page is its kind: 1 or 2.
const DAMAGED: u8 = 0xff;

/// The state of a file: writable, or frozen for a reason. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Freeze {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    is_frozen: AtomicBool,
    /// If set, the next write freezes the file instead of being done.
    is_closed: AtomicBool,
    /// If set, redb's syncs only write.
    syncs_later: AtomicBool,
    overlay: RwLock<Overlay>,
}

#[derive(Debug, Default)]
struct Overlay {
    reason: Option<KvError>,
    /// The length that redb believes the file has.
    bytes: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK_BYTES]>>,
}

impl Freeze {
    /// The failure that froze the file.
    pub(super) fn reason(&self) -> Option<KvError> {
        if !self.is_frozen() {
            return None;
        }
        self.shared.overlay.read().reason.clone()
    }

    /// Makes the next write freeze the file, such as redb's write when it is closed.
    pub(super) fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Release);
    }

    /// Leaves the syncs of a file to its maker, who gives it its name when it is complete.
    pub(super) fn sync_later(&self) {
        self.shared.syncs_later.store(true, Ordering::Release);
    }

    fn is_frozen(&self) -> bool {
        self.shared.is_frozen.load(Ordering::Acquire)
    }
}

/// The length of a storage, as redb set it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Size(Arc<AtomicU64>);

impl Size {
    /// Bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Release);
    }
}

/// A file for redb.
#[derive(Debug)]
pub(super) struct FileBackend {
    file: Box<dyn DiskFile>,
    /// The length of the file as redb set it. If the file were asked instead, and had been replaced
    /// by another, redb would shrink it where it means to grow it, and panic during unwinding.
    size: Size,
    gather: RwLock<Gather>,
    /// `false` if nothing is buffered, so that most reads skip the lock.
    is_gathering: AtomicBool,
    /// The checksums; `None` while redb checks its pages itself.
    sums: Option<Arc<Sums>>,
    freeze: Freeze,
}

impl FileBackend {
    pub(super) fn new(
        file: Box<dyn DiskFile>,
        sums: Option<Arc<Sums>>,
        freeze: Freeze,
    ) -> io::Result<Self> {
        let size = Size::default();
        size.set(file.len()?);
        let (gather, is_gathering) = (RwLock::default(), AtomicBool::new(false));
        Ok(Self { file, size, gather, is_gathering, sums, freeze })
    }

    /// The length of the file, shared.
    pub(super) fn size(&self) -> Size {
        self.size.clone()
    }

    /// Runs `step` on the file. If the file is frozen, or `step` fails and so freezes it, runs
    /// `instead` on the overlay.
    fn write_or_freeze(
        &self,
        step: impl FnOnce(&dyn DiskFile) -> io::Result<()>,
        instead: impl FnOnce(&Self, &mut Overlay) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.freeze.is_frozen() {
            let result = match self.freeze.shared.is_closed.load(Ordering::Acquire) {
                false => step(&*self.file),
                true => Err(io::Error::other("the tree is closed")),
            };
            let Err(error) = result else { return Ok(()) };
            let mut overlay = self.freeze.shared.overlay.write();
            if overlay.reason.is_none() {
                overlay.bytes = self.size.bytes();
                overlay.reason = Some(error.into());
                self.freeze.shared.is_frozen.store(true, Ordering::Release);
            }
            return instead(self, &mut overlay);
        }
        instead(self, &mut self.freeze.shared.overlay.write())
    }

    /// Reads from the write buffer, and the rest from the file.
    fn read_gathered(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if !self.is_gathering.load(Ordering::Acquire) {
            return self.read_file(offset, out);
        }
        let gather = self.gather.read();
        if !gather.has_any(offset, out.len()) {
            drop(gather);
            return self.read_file(offset, out);
        }
        let mut offset = offset;
        for piece in out.chunks_mut(PAGE_BYTES) {
            match gather.page(offset) {
                Some(page) => piece.copy_from_slice(&page[..piece.len()]),
                None => self.read_file(offset, piece)?,
            }
            offset += PAGE_BYTES as u64;
        }
        Ok(())
    }

    /// Writes the buffered pages. Reads are served from the buffer meanwhile and never wait for the
    /// file: a flush takes milliseconds, and a scan meets many.
    fn flush(&self) -> io::Result<()> {
        if !self.is_gathering.load(Ordering::Acquire) {
            return Ok(());
        }
        let gather = self.gather.upgradable_read();
        let result = gather.write_to(|offset, run| {
            self.write_now(offset, run)?;
            // Start writeback now, so that the next sync, and syncs of other files, have less to
            // wait for.
            if run.len() >= WRITEBACK_BYTES_MIN {
                self.file.start_writeback(offset, run.len() as u64);
            }
            Ok(())
        });
        let mut gather = RwLockUpgradableReadGuard::upgrade(gather);
        gather.clear();
        self.is_gathering.store(false, Ordering::Release);
        result
    }

    fn write_now(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_or_freeze(
            |file| {
                file.write_at(data, offset)?;
                self.sums.iter().for_each(|sums| sums.written(offset, data));
                Ok(())
            },
            |backend, overlay| backend.write_overlay(overlay, offset, data),
        )
    }

    /// Reads from the file. A page that is unreadable or not as written has [`DAMAGED`] bytes.
    fn read_file(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        // Retry once: redb would cache the damaged bytes of a transient failure.
        let read = self.file.read_at(out, offset).or_else(|_| self.file.read_at(out, offset));
        let what = match read {
            Ok(read) if read < out.len() => "are missing".to_owned(),
            Ok(_) if self.sums.as_ref().is_none_or(|sums| sums.verify(offset, out)) => {
                return Ok(());
            }
            Ok(_) => "are not those that were written".to_owned(),
            // Without the header there is no tree, so this error is passed on.
            Err(error) if offset < PAGE_BYTES as u64 => return Err(error),
            Err(error) => format!("cannot be read: {error}"),
        };
        note_damage(format!("its bytes {offset} to {} {what}", offset + out.len() as u64));
        out.fill(DAMAGED);
        Ok(())
    }

    fn write_overlay(&self, overlay: &mut Overlay, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut offset = offset;
        let mut data = data;
        while !data.is_empty() {
            let block = offset / BLOCK_BYTES as u64;
            let start = (offset % BLOCK_BYTES as u64) as usize;
            let piece = data.len().min(BLOCK_BYTES - start);
            let content = match overlay.blocks.entry(block) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let mut content = Box::new([0; BLOCK_BYTES]);
                    if piece < BLOCK_BYTES && block * (BLOCK_BYTES as u64) < self.size.bytes() {
                        self.read_file(block * BLOCK_BYTES as u64, &mut content[..])?;
                    }
                    entry.insert(content)
                }
            };
            content[start..start + piece].copy_from_slice(&data[..piece]);
            offset += piece as u64;
            data = &data[piece..];
        }
        Ok(())
    }
}

impl redb::StorageBackend for FileBackend {
    fn len(&self) -> io::Result<u64> {
        if self.freeze.is_frozen() {
            return Ok(self.freeze.shared.overlay.read().bytes);
        }
        Ok(self.size.bytes())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if !self.freeze.is_frozen() {
            return self.read_gathered(offset, out);
        }
        self.flush()?;
        let overlay = self.freeze.shared.overlay.read();
        if offset + out.len() as u64 > overlay.bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let file_bytes = self.size.bytes();
        let mut offset = offset;
        let mut out = out;
        while !out.is_empty() {
            let block = offset / BLOCK_BYTES as u64;
            let start = (offset % BLOCK_BYTES as u64) as usize;
            let (piece, rest) = out.split_at_mut(out.len().min(BLOCK_BYTES - start));
            match overlay.blocks.get(&block) {
                Some(content) => piece.copy_from_slice(&content[start..start + piece.len()]),
                None if offset >= file_bytes => piece.fill(0),
                None => self.read_file(offset, piece)?,
            }
            offset += piece.len() as u64;
            out = rest;
        }
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.gather.write().truncate(bytes);
        self.write_or_freeze(
            |file| {
                file.set_len(bytes)?;
                self.size.set(bytes);
                self.sums.iter().for_each(|sums| sums.truncate(bytes));
                Ok(())
            },
            |_, overlay| {
                overlay.bytes = bytes;
                Ok(())
            },
        )
    }

    fn sync_data(&self) -> io::Result<()> {
        self.flush()?;
        // The sums first: once this sync is done, the pages may belong to a valid checkpoint.
        let sync = |file: &dyn DiskFile| {
            if self.freeze.shared.syncs_later.load(Ordering::Acquire) {
                return Ok(());
            }
            self.sums.as_ref().map_or(Ok(()), |sums| sums.sync())?;
            file.sync_data()
        };
        self.write_or_freeze(sync, |_, _| Ok(()))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.freeze.is_frozen() || !Gather::takes(offset, data) {
            self.flush()?;
            return self.write_now(offset, data);
        }
        if self.gather.read().is_full(data.len()) {
            self.flush()?;
        }
        let mut gather = self.gather.write();
        gather.add(offset, data);
        self.is_gathering.store(true, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::os::fd::BorrowedFd;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use liteio_disk::{Disk, Fault, OpenMode, SimulatedDisk};
    use parking_lot::Mutex;
    use redb::StorageBackend;

    use super::*;

    /// A file whose writes tell that they begin, and wait for a word.
    #[derive(Debug)]
    struct Slow {
        file: Box<dyn DiskFile>,
        begun: Sender<()>,
        go_on: Mutex<Receiver<()>>,
    }

    impl DiskFile for Slow {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
            self.file.read_at(buf, offset)
        }

        fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
            self.file.try_read_at(buf, offset)
        }

        fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
            self.begun.send(()).map_err(io::Error::other)?;
            self.go_on.lock().recv().map_err(io::Error::other)?;
            self.file.write_at(buf, offset)
        }

        fn len(&self) -> io::Result<u64> {
            self.file.len()
        }

        fn set_len(&self, bytes: u64) -> io::Result<()> {
            self.file.set_len(bytes)
        }

        fn sync_data(&self) -> io::Result<()> {
            self.file.sync_data()
        }

        fn start_writeback(&self, offset: u64, bytes: u64) {
            self.file.start_writeback(offset, bytes);
        }

        fn try_lock(&self) -> io::Result<()> {
            self.file.try_lock()
        }

        fn descriptor(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    #[test]
    fn readers_do_not_wait_while_pages_are_written() {
        const PAGE: u64 = PAGE_BYTES as u64;
        let disk = SimulatedDisk::new(1);
        let file = disk.open("file", OpenMode::CreateOrWrite).expect("opens");
        file.write_at(&[1; 4 * PAGE_BYTES], 0).expect("writes");
        let ((begun, has_begun), (word, go_on)) = (channel(), channel());
        let file = Box::new(Slow { file, begun, go_on: Mutex::new(go_on) });
        let backend = FileBackend::new(file, None, Freeze::default()).expect("backend");
        let backend = Arc::new(backend);
        backend.write(PAGE, &[2; PAGE_BYTES]).expect("gathers");
        let read = |at: u64| {
            let ((told, tells), backend) = (channel(), Arc::clone(&backend));
            std::thread::spawn(move || {
                let mut page = [0; PAGE_BYTES];
                backend.read(at * PAGE, &mut page).expect("reads");
                told.send(page[0])
            });
            tells.recv_timeout(Duration::from_secs(30)).expect("nobody waits")
        };
        std::thread::scope(|scope| {
            let sync = scope.spawn(|| backend.sync_data().expect("syncs"));
            has_begun.recv().expect("is being written");
            assert_eq!([read(1), read(2)], [2, 1], "what is on its way, and what is in the file");
            word.send(()).expect("waits");
            sync.join().expect("ends");
        });
        assert_eq!([read(1), read(2)], [2, 1]);
    }

    #[test]
    fn a_frozen_file_keeps_what_it_has_and_reads_as_if_it_went_on() {
        let disk = SimulatedDisk::new(1);
        let freeze = Freeze::default();
        let file = disk.open("file", OpenMode::CreateOrWrite).expect("opens");
        let backend = FileBackend::new(file, None, freeze.clone()).expect("backend");
        backend.set_len(20_480).expect("grows");
        backend.write(0, &[1; 20_480]).expect("writes");
        assert!(freeze.reason().is_none());

        disk.set_fault(disk.operations(), Fault::NoSpace);
        backend.write(4_000, &[2; 5_000]).expect("goes to memory");
        assert!(matches!(freeze.reason(), Some(KvError::NoSpace)));
        backend.write(10, &[3; 10]).expect("goes to memory");
        backend.set_len(40_960).expect("in memory");
        backend.write(30_000, &[4; 10_960]).expect("goes to memory");
        backend.sync_data().expect("does nothing");

        let mut expected = [&[1; 20_480][..], &[0; 20_480]].concat();
        expected[4_000..9_000].fill(2);
        expected[10..20].fill(3);
        expected[30_000..].fill(4);
        let mut all = vec![9; 40_960];
        backend.read(0, &mut all).expect("reads");
        assert!(all == expected);
        let mut part = vec![9; 3_000];
        backend.read(8_500, &mut part).expect("reads");
        assert!(part == expected[8_500..11_500]);
        assert!(backend.read(40_959, &mut [0; 2]).is_err(), "behind the end");
        assert_eq!(backend.len().expect("length"), 40_960);

        let mut kept = vec![9; 40_960];
        let file = disk.open("file", OpenMode::Read).expect("opens");
        assert_eq!(file.read_at(&mut kept, 0).expect("reads"), 20_480);
        assert!(kept[..20_480] == [1; 20_480]);
    }
}
