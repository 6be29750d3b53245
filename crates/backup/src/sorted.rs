//! [`SortedPlaces`]: the places of blobs in the order of packs, in bounded memory.
//!
//! Places are collected in memory. When they are too many, they are sorted and appended to a file as a run; when runs are
//! too many, they are merged into one, without what is there twice, as it is in every base.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use liteio_disk::{Disk, DiskFile};
use liteio_store::backup::{BackupBlob, BackupPlace};

use crate::place::Placed;

/// Bytes of a place: generation, pack, offset, CRC, id, length, all big-endian, so that their order is that of packs.
const BYTES: usize = 44;
/// Places in memory.
const IN_MEMORY: usize = 1 << 20;
/// Runs of a file.
const RUNS_MAX: usize = 16;
/// Places of a run that are read at once.
const READ_AT_ONCE: usize = 4096;

type Key = [u8; BYTES];

/// Collects places.
#[derive(Debug)]
pub(crate) struct SortedPlaces {
    /// The place of files without names; `None` to keep all in memory.
    scratch: Option<Arc<dyn Disk>>,
    in_memory: usize,
    waiting: Vec<Key>,
    file: Option<Box<dyn DiskFile>>,
    runs: Vec<Range<u64>>,
}

impl SortedPlaces {
    pub(crate) fn new(scratch: Option<Arc<dyn Disk>>) -> Self {
        let (waiting, file, runs) = (Vec::new(), None, Vec::new());
        Self { scratch, in_memory: IN_MEMORY, waiting, file, runs }
    }

    /// Adds a place. One that is there already is kept once.
    pub(crate) fn add(&mut self, placed: &Placed) -> io::Result<()> {
        self.waiting.push(encode(placed));
        if self.waiting.len() < self.in_memory {
            return Ok(());
        }
        self.sort();
        match &self.scratch {
            // Most of them were there already.
            _ if self.waiting.len() < self.in_memory / 2 => {}
            Some(_) => self.spill()?,
            None => self.in_memory *= 2,
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.waiting.sort_unstable();
        self.waiting.dedup();
    }

    fn spill(&mut self) -> io::Result<()> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        let file = match self.file.take() {
            Some(file) => file,
            None => scratch.create_temporary()?,
        };
        let begin = self.runs.last().map_or(0, |run| run.end);
        let mut end = begin;
        for keys in self.waiting.chunks(READ_AT_ONCE) {
            file.write_at(keys.as_flattened(), end)?;
            end += (keys.len() * BYTES) as u64;
        }
        self.runs.push(begin..end);
        self.waiting.clear();
        self.file = Some(file);
        if self.runs.len() < RUNS_MAX {
            return Ok(());
        }
        let to = scratch.create_temporary()?;
        let mut end = 0;
        let mut buffer = Vec::new();
        let mut merged = self.merge()?;
        while let Some(key) = merged.next_key()? {
            buffer.extend_from_slice(&key);
            if buffer.len() >= READ_AT_ONCE * BYTES {
                to.write_at(&buffer, end)?;
                end += buffer.len() as u64;
                buffer.clear();
            }
        }
        to.write_at(&buffer, end)?;
        self.runs = std::iter::once(0..end + buffer.len() as u64).collect();
        self.file = Some(to);
        Ok(())
    }

    /// All places in the order of packs, each once. Those in memory are taken out.
    pub(crate) fn merge(&mut self) -> io::Result<Merged<'_>> {
        self.sort();
        let mut heads = BinaryHeap::new();
        let mut sources =
            vec![Source { keys: std::mem::take(&mut self.waiting), next: 0, rest: 0..0 }];
        sources
            .extend(self.runs.iter().map(|run| Source { rest: run.clone(), ..Source::default() }));
        for (index, source) in sources.iter_mut().enumerate() {
            if let Some(key) = source.next(self.file.as_deref())? {
                heads.push(Reverse((key, index)));
            }
        }
        Ok(Merged { file: self.file.as_deref(), sources, heads, last: None })
    }
}

/// A run, or the places in memory, being read.
#[derive(Debug, Default)]
struct Source {
    keys: Vec<Key>,
    next: usize,
    /// The part of the file that was not read yet.
    rest: Range<u64>,
}

impl Source {
    fn next(&mut self, file: Option<&dyn DiskFile>) -> io::Result<Option<Key>> {
        if self.next == self.keys.len()
            && !self.rest.is_empty()
            && let Some(file) = file
        {
            let left = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX);
            let mut bytes = vec![0; left.min(READ_AT_ONCE * BYTES)];
            if file.read_at(&mut bytes, self.rest.start)? < bytes.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.rest.start += bytes.len() as u64;
            self.keys = bytes.as_chunks().0.to_vec();
            self.next = 0;
        }
        let key = self.keys.get(self.next).copied();
        self.next += usize::from(key.is_some());
        Ok(key)
    }
}

/// Places in the order of packs.
pub(crate) struct Merged<'a> {
    file: Option<&'a dyn DiskFile>,
    sources: Vec<Source>,
    /// The next key of each source that is not at its end.
    heads: BinaryHeap<Reverse<(Key, usize)>>,
    last: Option<Key>,
}

impl Merged<'_> {
    /// The next place; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Placed>> {
        Ok(self.next_key()?.map(|key| decode(&key)))
    }

    fn next_key(&mut self) -> io::Result<Option<Key>> {
        while let Some(Reverse((key, index))) = self.heads.pop() {
            if let Some(next) = self.sources[index].next(self.file)? {
                self.heads.push(Reverse((next, index)));
            }
            if self.last.replace(key) != Some(key) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}

/// The identity of the backup is left out: all places are of one.
fn encode((blob, place): &Placed) -> Key {
    let mut key = [0; BYTES];
    key[..8].copy_from_slice(&place.generation.to_be_bytes());
    key[8..12].copy_from_slice(&place.pack.to_be_bytes());
    key[12..16].copy_from_slice(&place.offset.to_be_bytes());
    key[16..20].copy_from_slice(&place.crc.to_be_bytes());
    key[20..36].copy_from_slice(&blob.id);
    key[36..].copy_from_slice(&blob.bytes.to_be_bytes());
    key
}

fn decode(key: &Key) -> Placed {
    fn part<const N: usize>(key: &Key, at: usize) -> [u8; N] {
        let mut part = [0; N];
        part.copy_from_slice(&key[at..at + N]);
        part
    }
    let place = BackupPlace {
        backup: [0; 16],
        generation: u64::from_be_bytes(part(key, 0)),
        pack: u32::from_be_bytes(part(key, 8)),
        offset: u32::from_be_bytes(part(key, 12)),
        crc: u32::from_be_bytes(part(key, 16)),
    };
    (BackupBlob { id: part(key, 20), bytes: u64::from_be_bytes(part(key, 36)) }, place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use liteio_disk::{SeededRandom, SimulatedDisk};

    use super::*;

    #[test]
    fn places_come_in_the_order_of_packs_each_once_however_many() {
        let random = SeededRandom::new(1);
        for scratch in [false, true] {
            for count in [0, 1, 7, 8, 9, 100, 2000] {
                let disk = scratch.then(|| Arc::new(SimulatedDisk::new(1)) as Arc<dyn Disk>);
                let mut sorted = SortedPlaces::new(disk);
                sorted.in_memory = 8;
                let mut expected = BTreeSet::new();
                for _ in 0..count {
                    let number = |below| u32::try_from(random.below(below)).expect("small");
                    let blob =
                        BackupBlob { id: [number(3) as u8; 16], bytes: random.below(1 << 40) % 3 };
                    let place = BackupPlace {
                        backup: [0; 16],
                        generation: random.below(3),
                        pack: number(20),
                        offset: number(3) << 20,
                        crc: number(2),
                    };
                    sorted.add(&(blob, place)).expect("added");
                    expected.insert(encode(&(blob, place)));
                }
                let mut merged = sorted.merge().expect("readable");
                let mut found = Vec::new();
                while let Some(placed) = merged.next().expect("readable") {
                    found.push(encode(&placed));
                }
                assert!(found.into_iter().eq(expected), "{count} places, scratch: {scratch}");
                if scratch && count == 2000 {
                    assert!(!sorted.runs.is_empty() && sorted.runs.len() < RUNS_MAX);
                }
            }
        }
    }
}
