//! A bounded cache of remote blobs on a local disk.
//!
//! It keeps chunks as they are in their objects, with their checksums: each is verified when it is read, and one
//! that is damaged is dropped and fetched again. So nothing is synced, and a crash may leave anything. Blobs never
//! change and ids are never used again, so a chunk is never out of date.
//!
//! ```text
//! cluster              the id of the cluster; the cache of another one is emptied
//! lock                 locked by the server that uses the directory
//! chunks/XX/ID-N-L     chunk N of the blob ID, L bytes; XX is the last byte of the id
//! tmp/                 temporary files
//! ```

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::{Disk, DiskFile, OpenMode};
use parking_lot::Mutex;

use super::blocks::{self, CHUNK, CHUNK_BLOCKS};
use crate::BlobId;
use crate::file::{TEMPORARY_DIRECTORY, remove_files};
use crate::file_path::parse_id;
use crate::identity::ClusterId;

const CHUNKS: &str = "chunks";
const CLUSTER: &str = "cluster";
/// Space of a file on its disk is taken in such units.
const UNIT: u64 = 4096;

/// A chunk of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    id: BlobId,
    number: u64,
    length: usize,
}

impl Key {
    fn directory(&self) -> String {
        format!("{CHUNKS}/{:02x}", self.id.0[15])
    }

    fn path(&self) -> String {
        format!("{}/{}-{}-{}", self.directory(), self.id, self.number, self.length)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut fields = name.split('-');
        let id = parse_id(fields.next()?)?;
        let key =
            Self { id, number: fields.next()?.parse().ok()?, length: fields.next()?.parse().ok()? };
        let is_ours = key.path().ends_with(&format!("/{name}")) && key.length <= CHUNK;
        is_ours.then_some(key)
    }

    /// Space that the file takes.
    fn space(&self) -> u64 {
        (self.length as u64).next_multiple_of(UNIT)
    }
}

/// Chunks on a disk, the least recently used of which make room for others.
#[derive(Debug)]
pub(super) struct BlockCache {
    disk: Arc<dyn Disk>,
    bytes_max: u64,
    kept: Mutex<Kept>,
    /// Locked, so that no other server uses the directory.
    _lock: Box<dyn DiskFile>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The time of the last use of each chunk, counted in uses.
    used: HashMap<Key, u64>,
    by_use: BTreeMap<u64, Key>,
    bytes: u64,
    uses: u64,
}

impl BlockCache {
    /// Opens the cache in a directory: its chunks, if they are of this cluster.
    ///
    /// # Errors
    /// The errors of the disk; `ResourceBusy` if another server uses the directory.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        cluster: &ClusterId,
        bytes_max: u64,
    ) -> io::Result<Self> {
        let lock = disk.open("lock", OpenMode::CreateOrWrite)?;
        lock.try_lock()?;
        disk.create_dir(CHUNKS)?;
        disk.create_dir(TEMPORARY_DIRECTORY)?;
        remove_files(&*disk, TEMPORARY_DIRECTORY)?;
        let directories = disk.list(CHUNKS)?;
        let directories = directories.iter().filter(|entry| entry.is_dir);
        let directories: Vec<_> =
            directories.map(|entry| format!("{CHUNKS}/{}", entry.name)).collect();
        let id = cluster.to_string();
        if read(&*disk, CLUSTER).is_none_or(|found| found != id.as_bytes()) {
            directories.iter().try_for_each(|directory| remove_files(&*disk, directory))?;
            let file = disk.open(CLUSTER, OpenMode::CreateOrWrite)?;
            file.set_len(0)?;
            file.write_at(id.as_bytes(), 0)?;
        }
        let mut kept = Kept::default();
        for directory in &directories {
            for entry in disk.list(directory)? {
                match Key::parse(&entry.name) {
                    Some(key) if format!("{directory}/{}", entry.name) == key.path() => {
                        kept.add(key)
                    }
                    _ if entry.is_dir => {}
                    _ => disk.remove_if_there(&format!("{directory}/{}", entry.name))?,
                }
            }
        }
        let cache = Self { disk, bytes_max, kept: Mutex::new(kept), _lock: lock };
        cache.make_room();
        Ok(cache)
    }

    /// The bytes of the body in chunk `number`, which has `length` bytes in its object; `None` if they are not here, or
    /// damaged.
    pub(super) fn get(&self, id: &BlobId, number: u64, length: usize) -> Option<Bytes> {
        let key = Key { id: *id, number, length };
        if !self.kept.lock().use_again(&key) {
            return None;
        }
        let read = read(&*self.disk, &key.path()).filter(|encoded| encoded.len() == length);
        let bytes = read.and_then(|encoded| blocks::decode(id, number * CHUNK_BLOCKS, encoded));
        if bytes.is_none() {
            self.drop_chunk(&key);
        }
        bytes
    }

    /// Keeps a chunk, as it is in its object. One that cannot be written is not kept.
    pub(super) fn put(&self, id: &BlobId, number: u64, encoded: &[u8]) {
        let key = Key { id: *id, number, length: encoded.len() };
        if key.space() > self.bytes_max || self.kept.lock().used.contains_key(&key) {
            return;
        }
        if self.write(&key, encoded).is_ok() {
            self.kept.lock().add(key);
            self.make_room();
        }
    }

    fn write(&self, key: &Key, encoded: &[u8]) -> io::Result<()> {
        let file = self.disk.create_temporary()?;
        file.write_at(encoded, 0)?;
        self.disk.create_dir(&key.directory())?;
        let path = key.path();
        match self.disk.link(&*file, &path) {
            // Another thread was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    }

    fn make_room(&self) {
        loop {
            let Some(oldest) = self.kept.lock().oldest_beyond(self.bytes_max) else { return };
            self.drop_chunk(&oldest);
        }
    }

    fn drop_chunk(&self, key: &Key) {
        self.kept.lock().remove(key);
        // What stays counts again from the next start on.
        let _ = self.disk.remove(&key.path());
    }
}

impl Kept {
    fn add(&mut self, key: Key) {
        self.remove(&key);
        self.uses += 1;
        self.used.insert(key, self.uses);
        self.by_use.insert(self.uses, key);
        self.bytes += key.space();
    }

    fn remove(&mut self, key: &Key) {
        if let Some(at) = self.used.remove(key) {
            self.by_use.remove(&at);
            self.bytes -= key.space();
        }
    }

    /// Notes a use; `false` if the chunk is not kept.
    fn use_again(&mut self, key: &Key) -> bool {
        let is_kept = self.used.contains_key(key);
        if is_kept {
            self.add(*key);
        }
        is_kept
    }

    fn oldest_beyond(&self, bytes_max: u64) -> Option<Key> {
        (self.bytes > bytes_max).then(|| self.by_use.values().next().copied())?
    }
}

/// A whole file of at most a chunk; `None` if it cannot be read.
fn read(disk: &dyn Disk, path: &str) -> Option<Vec<u8>> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    let length = usize::try_from(file.len().ok()?).ok().filter(|length| *length <= CHUNK)?;
    let mut bytes = vec![0; length];
    (file.read_at(&mut bytes, 0).ok()? == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use liteio_disk::SimulatedDisk;

    use super::super::blocks::Encoder;
    use super::*;

    const CLUSTER_ID: ClusterId = ClusterId([1; 16]);

    fn chunk(id: BlobId, seed: u8) -> (Vec<u8>, Vec<u8>) {
        let body = vec![seed; blocks::CHUNK_BODY as usize];
        let mut encoder = Encoder::new(id, 0);
        let encoded = encoder.fill(&mut &body[..]).expect("a whole chunk");
        (body, encoded.to_vec())
    }

    fn open(disk: &Arc<SimulatedDisk>, cluster: ClusterId, chunks: u64) -> BlockCache {
        let disk: Arc<SimulatedDisk> = Arc::clone(disk);
        BlockCache::open(disk, &cluster, chunks * CHUNK as u64).expect("opened")
    }

    fn ids(count: u8) -> Vec<BlobId> {
        (1..=count).map(|seed| BlobId([seed; 16])).collect()
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_was_used_last_stays() {
        let disk = Arc::new(SimulatedDisk::new(1));
        let cache = open(&disk, CLUSTER_ID, 3);
        let ids = ids(4);
        for id in &ids[..3] {
            cache.put(id, 0, &chunk(*id, 7).1);
        }
        assert!(cache.get(&ids[0], 0, CHUNK).is_some(), "used, so the second is the oldest");
        cache.put(&ids[3], 0, &chunk(ids[3], 7).1);
        let kept = ids.iter().map(|id| cache.get(id, 0, CHUNK).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), [true, false, true, true]);
        let files: usize = (1..=4)
            .filter_map(|seed| disk.list(&format!("chunks/{seed:02x}")).ok())
            .map(|it| it.len())
            .sum();
        assert_eq!(files, 3);
        // A smaller one at the next start.
        drop(cache);
        let cache = open(&disk, CLUSTER_ID, 1);
        let kept = ids.iter().filter(|id| cache.get(id, 0, CHUNK).is_some());
        assert_eq!(kept.count(), 1);
    }

    #[test]
    fn a_damaged_chunk_is_dropped() {
        let disk = Arc::new(SimulatedDisk::new(1));
        let cache = open(&disk, CLUSTER_ID, 3);
        let id = BlobId([5; 16]);
        let (body, encoded) = chunk(id, 3);
        let path = format!("chunks/05/{id}-0-{CHUNK}");
        for damage in ["flipped", "cut", "gone"] {
            cache.put(&id, 0, &encoded);
            assert!(cache.get(&id, 0, CHUNK).expect("kept") == body);
            let file = disk.open(&path, OpenMode::Write).expect("there");
            match damage {
                "flipped" => file.write_at(&[0xff], 70_000).expect("written"),
                "cut" => file.set_len(70_000).expect("cut"),
                _ => disk.remove(&path).expect("removed"),
            }
            assert_eq!(cache.get(&id, 0, CHUNK), None, "{damage}");
            let gone = disk.open(&path, OpenMode::Read).expect_err(damage);
            assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        }
        assert_eq!(cache.get(&id, 1, CHUNK), None);
    }

    #[test]
    fn the_cache_of_another_cluster_is_emptied_and_one_server_uses_a_directory() {
        let disk = Arc::new(SimulatedDisk::new(1));
        let id = BlobId([5; 16]);
        let cache = open(&disk, CLUSTER_ID, 3);
        cache.put(&id, 0, &chunk(id, 3).1);
        let other: Arc<SimulatedDisk> = Arc::clone(&disk);
        let busy = BlockCache::open(other, &CLUSTER_ID, 1).expect_err("in use");
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        drop(cache);
        let cache = open(&disk, CLUSTER_ID, 3);
        assert!(cache.get(&id, 0, CHUNK).is_some(), "kept over a start");
        drop(cache);
        let cache = open(&disk, ClusterId([2; 16]), 3);
        assert_eq!(cache.get(&id, 0, CHUNK), None);
        assert_eq!(disk.list("chunks/05").expect("listed"), []);
    }
}
