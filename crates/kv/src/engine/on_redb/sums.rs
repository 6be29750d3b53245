//! Checksums of the pages of the tree, in a file beside it.
//!
//! redb has a checksum of every page, but compares it only in a repair: a flipped bit in a branch
//! would hide keys, one in a leaf would change a value. Here every page is verified when it is read
//! from the file.
//!
//! # Format
//! Sectors of 512 bytes, integers little-endian. A sector is 126 numbers of 4 bytes, then its own index (4)
//! and the CRC-32C of all that (4). The first sector is the header: magic (8), *begun* (8), *done* (8), bytes
//! of this file (8), zeros. The others are the checksums of the pages of the tree, 4 KiB each: CRC-32C
//! of the page, with its index mixed in; 0 for a page that was never written.
//!
//! # Consistency with the tree after a crash
//! redb never overwrites a page of the last checkpoint, and the sums are synced before the next
//! checkpoint becomes valid. So the sectors may be any mix of old and new ones: the sums of the
//! pages of either checkpoint are the same in both. A sector is written whole or not at all.
//! *Begun* is the number of the checkpoint that the sums were last synced for, *done* the number of
//! a checkpoint that is known to be complete. So the checkpoint in the tree is never below *done*,
//! unless the tree was replaced by an older one, and never above *begun*, unless the sums were.
//!
//! *Identity* distinguishes the tree from a successor: the pages of another tree are not compared
//! with these sums.
//!
//! The file can be rebuilt from a tree that passes redb's own check, which reads all of it.

use std::io::{self, ErrorKind};

use crc_fast::{CrcAlgorithm, checksum};
use liteio_disk::{Disk, DiskFile, OpenMode};
use parking_lot::RwLock;

use crate::KvError;

/// Bytes of a page.
pub(super) const PAGE_BYTES: usize = 4096;
const SECTOR_BYTES: usize = 512;
/// Checksums in a sector.
const SECTOR_SUMS: usize = 126;
const MAGIC: u64 = u64::from_le_bytes(*b"LiteIOs1");
/// Bytes read at once when all pages are read.
const READ_BYTES: usize = 1 << 20;

/// The checksum of a page; never 0.
fn page_sum(index: usize, page: &[u8]) -> u32 {
    let sum = crc(page) ^ (index as u32).wrapping_mul(0x9e37_79b9);
    sum.max(1)
}

#[expect(clippy::cast_possible_truncation, reason = "a CRC of 32 bits")]
fn crc(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

#[derive(Debug, Default)]
struct State {
    /// The checksum of each page.
    sums: Vec<u32>,
    /// The changed sectors, without the header.
    is_changed: Vec<bool>,
    begun: u64,
    done: u64,
    identity: u64,
}

/// The checksums of the pages of one file.
#[derive(Debug)]
pub(super) struct Sums {
    file: Box<dyn DiskFile>,
    state: RwLock<State>,
}

impl Sums {
    /// Reads the file; `None` if it is missing or damaged.
    pub(super) fn load(disk: &dyn Disk, path: &str) -> Result<Option<Self>, KvError> {
        let file = match disk.open(path, OpenMode::Write) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let bytes = usize::try_from(file.len()?).map_err(io::Error::other)?;
        let mut content = vec![0; bytes];
        let read = file.read_at(&mut content, 0);
        if !matches!(read, Ok(read) if read == bytes) {
            return Ok(None);
        }
        Ok(State::decode(&content).map(|state| Self { file, state: RwLock::new(state) }))
    }

    /// Creates the file anew, for all pages of `tree`, whose checkpoint has this number and
    /// identity.
    pub(super) fn create(
        disk: &dyn Disk,
        path: &str,
        tree: &dyn DiskFile,
        number: u64,
        identity: u64,
    ) -> Result<Self, KvError> {
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        file.set_len(0)?;
        let state = State { begun: number, done: number, identity, ..State::default() };
        let sums = Self { file, state: RwLock::new(state) };
        let mut piece = vec![0; READ_BYTES];
        let mut offset = 0;
        loop {
            let read = tree.read_at(&mut piece, offset)?;
            if read == 0 {
                return Ok(sums);
            }
            sums.written(offset, &piece[..read]);
            offset += read as u64;
        }
    }

    /// Notes a write to the tree. The lock is taken for each page, so that readers of other pages
    /// do not wait for checksums.
    pub(super) fn written(&self, offset: u64, data: &[u8]) {
        for (index, page) in pages(offset, data) {
            // Only the header is written in parts of pages; it has checksums of its own.
            let is_whole = page.len() == PAGE_BYTES && index > 0;
            let sum = if is_whole { page_sum(index, page) } else { 0 };
            self.state.write().set(index, sum);
        }
    }

    /// `true` if the bytes read at `offset` are the bytes that were written.
    pub(super) fn verify(&self, offset: u64, data: &[u8]) -> bool {
        pages(offset, data).all(|(index, page)| {
            let sum = self.state.read().sums.get(index).copied().unwrap_or(0);
            sum == 0 || page.len() < PAGE_BYTES || page_sum(index, page) == sum
        })
    }

    /// Forgets the pages behind a tree's new end of `bytes`.
    pub(super) fn truncate(&self, bytes: u64) {
        let mut state = self.state.write();
        let first = usize::try_from(bytes / PAGE_BYTES as u64).unwrap_or(usize::MAX);
        for index in first..state.sums.len() {
            state.set(index, 0);
        }
    }

    /// Announces that the next sync is for the checkpoint `number` of the tree with this identity.
    pub(super) fn begin(&self, number: u64, identity: u64) {
        let mut state = self.state.write();
        (state.begun, state.identity) = (number, identity);
    }

    /// Notes that the checkpoint `number` is in the tree. Not synced: it only narrows the check of
    /// the next start.
    pub(super) fn finish(&self, number: u64) {
        let header = {
            let mut state = self.state.write();
            state.done = number;
            state.header()
        };
        // A failed write only leaves the check wider.
        let _ = self.file.write_at(&header, 0);
    }

    /// Makes the changed sectors durable. Readers continue meanwhile. After a failure nothing more
    /// is written: the tree is frozen.
    pub(super) fn sync(&self) -> io::Result<()> {
        let runs = self.state.write().take_changed();
        if runs.is_empty() {
            return Ok(());
        }
        for (offset, bytes) in runs {
            self.file.write_at(&bytes, offset)?;
        }
        self.file.sync_data()
    }

    /// The number of a checkpoint that is or was in the tree.
    pub(super) fn newest_known(&self) -> u64 {
        self.state.read().done
    }

    /// `true` if a tree with the checkpoint `number` and this identity may belong to these sums.
    pub(super) fn are_of(&self, number: u64, identity: u64) -> bool {
        let state = self.state.read();
        state.identity == identity && (state.done..=state.begun).contains(&number)
    }

    /// The identity of their tree.
    pub(super) fn identity(&self) -> u64 {
        self.state.read().identity
    }
}

impl State {
    fn set(&mut self, index: usize, sum: u32) {
        if index >= self.sums.len() {
            self.sums.resize(index + 1, 0);
            self.is_changed.resize(self.sums.len().div_ceil(SECTOR_SUMS), true);
        }
        self.sums[index] = sum;
        self.is_changed[index / SECTOR_SUMS] = true;
    }

    /// The runs of sectors changed since the last call, with their offsets, followed by the header;
    /// empty if none changed.
    fn take_changed(&mut self) -> Vec<(u64, Vec<u8>)> {
        let mut runs = Vec::new();
        let mut first = 0;
        for run in self.is_changed.chunk_by(|one, next| one == next) {
            if run[0] {
                let sectors = first..first + run.len();
                let offset = (first + 1) * SECTOR_BYTES;
                runs.push((offset as u64, sectors.flat_map(|at| self.sector(at)).collect()));
            }
            first += run.len();
        }
        if !runs.is_empty() {
            runs.push((0, self.header().to_vec()));
        }
        self.is_changed.fill(false);
        runs
    }

    fn header(&self) -> [u8; SECTOR_BYTES] {
        let bytes = (1 + self.is_changed.len()) * SECTOR_BYTES;
        let mut sector = [0; SECTOR_BYTES];
        let fields = [MAGIC, self.begun, self.done, bytes as u64, self.identity];
        for (field, value) in fields.iter().enumerate() {
            sector[field * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        sealed(sector, 0)
    }

    fn sector(&self, index: usize) -> [u8; SECTOR_BYTES] {
        let mut sector = [0; SECTOR_BYTES];
        let sums = self.sums[index * SECTOR_SUMS..].iter().take(SECTOR_SUMS);
        for (bytes, sum) in sector.chunks_exact_mut(4).zip(sums) {
            bytes.copy_from_slice(&sum.to_le_bytes());
        }
        sealed(sector, index + 1)
    }

    fn decode(content: &[u8]) -> Option<Self> {
        let mut state = Self::default();
        let mut bytes = 0;
        for (index, sector) in content.chunks(SECTOR_BYTES).enumerate() {
            let sector = sector.try_into().ok().filter(|sector| sealed(*sector, index) == *sector);
            let Some(sector) = sector else {
                // Behind the size in the header, a crash may leave anything.
                if index > 0 && index * SECTOR_BYTES >= bytes {
                    break;
                }
                return None;
            };
            if index == 0 {
                let field =
                    |at: usize| u64::from_le_bytes(std::array::from_fn(|i| sector[at * 8 + i]));
                if field(0) != MAGIC || field(3) > content.len() as u64 {
                    return None;
                }
                (state.begun, state.done, bytes) = (field(1), field(2), field(3) as usize);
                state.identity = field(4);
                continue;
            }
            let sums = sector.chunks_exact(4).take(SECTOR_SUMS);
            state.sums.extend(sums.map(|sum| u32::from_le_bytes(std::array::from_fn(|i| sum[i]))));
            state.is_changed.push(false);
        }
        (!content.is_empty()).then_some(state)
    }
}

/// The sector with its index and its checksum.
#[expect(clippy::cast_possible_truncation, reason = "2^32 sectors are for 2^51 bytes of tree")]
fn sealed(mut sector: [u8; SECTOR_BYTES], index: usize) -> [u8; SECTOR_BYTES] {
    sector[SECTOR_BYTES - 8..SECTOR_BYTES - 4].copy_from_slice(&(index as u32).to_le_bytes());
    let sum = crc(&sector[..SECTOR_BYTES - 4]);
    sector[SECTOR_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
    sector
}

/// The pages of `data` at `offset`, with their indexes; the first and the last may be incomplete.
fn pages(offset: u64, data: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = data;
    let mut at = offset as usize;
    std::iter::from_fn(move || {
        let bytes = rest.len().min(PAGE_BYTES - at % PAGE_BYTES);
        let (page, behind) = rest.split_at(bytes);
        let index = at / PAGE_BYTES;
        rest = behind;
        at += bytes;
        (!page.is_empty()).then_some((index, page))
    })
}

#[cfg(test)]
mod tests {
    use liteio_disk::SimulatedDisk;

    use super::*;

    const PAGES: usize = 300;

    fn page(index: usize) -> Vec<u8> {
        vec![index as u8 ^ 0x5a; PAGE_BYTES]
    }

    fn written(disk: &SimulatedDisk) -> Sums {
        let tree = disk.open("tree", OpenMode::CreateOrWrite).expect("opens");
        let sums = Sums::create(disk, "sums", &*tree, 7, 0).expect("creates");
        for index in 1..PAGES {
            sums.written((index * PAGE_BYTES) as u64, &page(index));
        }
        sums
    }

    #[test]
    fn a_page_is_what_was_written_where_it_was_written_or_it_is_damaged() {
        let disk = SimulatedDisk::new(1);
        let sums = written(&disk);
        sums.sync().expect("syncs");
        for sums in [sums, Sums::load(&disk, "sums").expect("reads").expect("whole")] {
            for index in 1..PAGES {
                let mut content = page(index);
                let offset = (index * PAGE_BYTES) as u64;
                assert!(sums.verify(offset, &content));
                assert!(!sums.verify(offset + PAGE_BYTES as u64, &content) || index + 1 == PAGES);
                content[index * 13] ^= 4;
                assert!(!sums.verify(offset, &content));
            }
            let both = [page(8), page(9)].concat();
            assert!(sums.verify(8 * PAGE_BYTES as u64, &both), "a page of a higher order");
            assert!(!sums.verify(7 * PAGE_BYTES as u64, &both));
            sums.truncate(200 * PAGE_BYTES as u64);
            assert!(sums.verify(200 * PAGE_BYTES as u64, &[0; PAGE_BYTES]), "never written");
            assert!(!sums.verify(199 * PAGE_BYTES as u64, &[0; PAGE_BYTES]));
        }
    }

    #[test]
    fn every_changed_byte_and_every_other_length_is_found() {
        let disk = SimulatedDisk::new(1);
        let sums = written(&disk);
        sums.sync().expect("syncs");
        let bytes = sums.file.len().expect("a length");
        for at in 0..bytes {
            let mut byte = [0];
            sums.file.read_at(&mut byte, at).expect("reads");
            sums.file.write_at(&[byte[0] ^ 0x20], at).expect("writes");
            assert!(Sums::load(&disk, "sums").expect("reads").is_none(), "byte {at}");
            sums.file.write_at(&byte, at).expect("writes");
        }
        assert!(Sums::load(&disk, "sums").expect("reads").is_some());
        for shorter in [0, 1, 511, 512, bytes - 512, bytes - 1] {
            sums.file.set_len(shorter).expect("truncates");
            assert!(Sums::load(&disk, "sums").expect("reads").is_none(), "{shorter} bytes");
        }
        assert!(Sums::load(&disk, "missing").expect("reads").is_none());
    }

    #[test]
    fn the_numbers_tell_which_tree_they_are_of() {
        let disk = SimulatedDisk::new(1);
        let sums = written(&disk);
        let of = |sums: &Sums| (0..20).filter(|number| sums.are_of(*number, 0)).collect::<Vec<_>>();
        assert_eq!(of(&sums), [7]);
        sums.begin(9, 0);
        sums.sync().expect("syncs");
        assert_eq!(of(&Sums::load(&disk, "sums").expect("reads").expect("whole")), [7, 8, 9]);
        sums.finish(9);
        let sums = Sums::load(&disk, "sums").expect("reads").expect("whole");
        assert_eq!((of(&sums), sums.newest_known()), (vec![9], 9));
    }
}
