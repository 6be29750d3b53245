//! The floor: the least work of the machine for an operation, in loops without an engine.

mod tree;

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use liteio_disk::{Disk as _, DiskFile, OpenMode, RealDisk};

use crate::kv::data::{Data, Key, Value};
use crate::kv::task::{Exercise, Floor, Order, Work};
use crate::kv::work::blocks;
use crate::worker::measured::Measured;
use crate::worker::{Failure, NoSuchThing, Phase, Task};

/// Length of the record of a single put in LiteIO's log.
pub(super) const RECORD_BYTES: usize = 200;
const PAGE_BYTES: usize = 4 << 10;
/// Number of operations that are measured together.
const BLOCK: u64 = 1_000;

/// Runs the loop of a task.
pub(super) fn run(task: &Task<Exercise>) -> Result<Vec<Phase>, Failure> {
    let Work::Floor(floor) = &task.work.work else {
        return Err(NoSuchThing("it is no engine").into());
    };
    let data = Data::new(task.seed);
    let time = Duration::from_secs_f64(task.seconds_max);
    let measured = match floor {
        Floor::Record { puts } => record(&task.directory, *puts)?,
        Floor::Group { writers, puts } => group(&task.directory, *writers, *puts, time)?,
        Floor::Map { order: Order::Hash, entries, reads } => {
            let mut map: HashMap<Key, Value, BuildHasherDefault<FirstBytes>> = HashMap::default();
            map_loop(
                data,
                *entries,
                *reads,
                &mut map,
                |map, key, value| {
                    map.insert(key, value);
                },
                |map, key| map.get(key).copied(),
            )?
        }
        Floor::Map { order: Order::Key, entries, reads } => {
            let mut map = BTreeMap::new();
            map_loop(
                data,
                *entries,
                *reads,
                &mut map,
                |map, key, value| {
                    map.insert(key, value);
                },
                |map, key| map.get(key).copied(),
            )?
        }
        Floor::Page { file_bytes, reads } => page(&task.directory, data, *file_bytes, *reads)?,
        Floor::Tree { entries, batch, batches } => {
            tree::run(&task.directory, data, *entries, *batch, *batches)?
        }
    };
    Ok(vec![measured.end()])
}

/// A file of zeros, like LiteIO's log.
fn reserved(directory: &Path, bytes: u64) -> Result<Box<dyn DiskFile>, Failure> {
    let file = RealDisk::open(directory)?.open("floor", OpenMode::CreateOrWrite)?;
    let zeros = vec![0; 1 << 20];
    for offset in (0..bytes).step_by(zeros.len()) {
        let piece = (bytes - offset).min(zeros.len() as u64) as usize;
        file.write_at(&zeros[..piece], offset)?;
    }
    file.sync_data()?;
    Ok(file)
}

fn record(directory: &Path, puts: u64) -> Result<Measured, Failure> {
    let bytes = puts * RECORD_BYTES as u64;
    liteio_disk::map_files()?;
    let file = reserved(directory, bytes)?;
    file.expect_small_writes(bytes);
    let record = [7; RECORD_BYTES];
    let mut measured = Measured::begin("floor");
    for block in blocks(0..puts, BLOCK) {
        let records = (block.end - block.start) as usize;
        measured.time(records, || {
            for number in block {
                file.write_at(&record, number * RECORD_BYTES as u64)?;
            }
            Ok(())
        })?;
    }
    Ok(measured)
}

/// Records of several threads. A thread that finds no sync in progress writes and syncs all of
/// them.
struct Log {
    file: Box<dyn DiskFile>,
    state: Mutex<LogState>,
    synced: Condvar,
}

#[derive(Default)]
struct LogState {
    /// Records that are not written yet.
    waiting: Vec<u8>,
    end: u64,
    /// Number of groups begun, and of groups synced.
    begun: u64,
    done: u64,
    syncing: bool,
}

impl Log {
    fn put(&self, record: &[u8]) -> Result<(), Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.extend_from_slice(record);
        let group = state.begun;
        while state.done <= group {
            if state.syncing {
                state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let records = std::mem::take(&mut state.waiting);
            let place = state.end;
            state.end += records.len() as u64;
            state.begun += 1;
            state.syncing = true;
            drop(state);
            self.file.write_at(&records, place)?;
            self.file.sync_data()?;
            state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.syncing = false;
            state.done += 1;
            self.synced.notify_all();
        }
        Ok(())
    }
}

/// Group commit without an engine. It does not write through a map, as single synced records do:
/// each sync would write the whole piece of the page cache around the records.
fn group(directory: &Path, writers: u64, puts: u64, time: Duration) -> Result<Measured, Failure> {
    let file = reserved(directory, puts * RECORD_BYTES as u64)?;
    let log = Log { file, state: Mutex::default(), synced: Condvar::new() };
    let mut measured = Measured::begin("floor");
    let is_over = |number: u64, elapsed: Duration| number >= puts || elapsed >= time;
    measured.threads(writers, is_over, |_| {
        let begin = Instant::now();
        log.put(&[7; RECORD_BYTES])?;
        Ok(begin.elapsed())
    })?;
    Ok(measured)
}

/// A hasher that takes the first bytes of a key, which are random already.
#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        for (place, byte) in bytes.iter().take(8).enumerate() {
            self.0 ^= u64::from(*byte) << (8 * place);
        }
    }

    /// The length in front of an array's bytes.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

fn map_loop<M>(
    data: Data,
    entries: u64,
    reads: bool,
    map: &mut M,
    insert: fn(&mut M, Key, Value),
    get: fn(&M, &Key) -> Option<Value>,
) -> Result<Measured, Failure> {
    let mut puts = Measured::begin("floor");
    for block in blocks(0..entries, BLOCK) {
        let pairs: Vec<(Key, Value)> =
            block.map(|number| (data.key(number), data.value(number))).collect();
        puts.time(pairs.len(), || {
            pairs.iter().for_each(|(key, value)| insert(map, *key, *value));
            Ok(())
        })?;
    }
    if !reads {
        puts.stop();
        return Ok(puts);
    }
    let mut gets = Measured::begin("floor");
    for block in blocks(0..entries, BLOCK) {
        let keys: Vec<Key> = block.map(|step| data.key(data.random_entry(step, entries))).collect();
        gets.time(keys.len(), || {
            match keys.iter().all(|key| black_box(get(map, key)).is_some()) {
                true => Ok(()),
                false => Err("an entry is missing".into()),
            }
        })?;
    }
    gets.stop();
    Ok(gets)
}

fn page(directory: &Path, data: Data, file_bytes: u64, reads: u64) -> Result<Measured, Failure> {
    let pages = (file_bytes / PAGE_BYTES as u64).max(1);
    let file = RealDisk::open(directory)?.open("floor", OpenMode::CreateOrWrite)?;
    let content = vec![7; 256 * PAGE_BYTES];
    for block in blocks(0..pages, 256) {
        let bytes = (block.end - block.start) as usize * PAGE_BYTES;
        file.write_at(&content[..bytes], block.start * PAGE_BYTES as u64)?;
    }
    let mut measured = Measured::begin("floor");
    let mut page = vec![0; PAGE_BYTES];
    for block in blocks(0..reads, BLOCK) {
        let places: Vec<u64> =
            block.map(|step| data.random_entry(step, pages) * PAGE_BYTES as u64).collect();
        measured.time(places.len(), || {
            for place in &places {
                file.read_at(&mut page, *place)?;
            }
            Ok(())
        })?;
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::engine::Synced;
    use crate::random::SEED;

    #[test]
    fn every_loop_does_all_that_it_is_asked() {
        for (floor, operations) in [
            (Floor::Record { puts: 1_500 }, 1_500),
            (Floor::Group { writers: 4, puts: 20 }, 20),
            (Floor::Map { order: Order::Hash, entries: 1_500, reads: false }, 1_500),
            (Floor::Map { order: Order::Key, entries: 1_500, reads: true }, 1_500),
            (Floor::Page { file_bytes: 1 << 20, reads: 700 }, 700),
            (Floor::Tree { entries: 5_000, batch: 400, batches: 3 }, 1_200),
        ] {
            let directory = tempfile::tempdir().expect("a directory can be made");
            let task = Task {
                engine: String::new(),
                directory: directory.path().to_owned(),
                seed: SEED,
                seconds_max: 60.0,
                work: Exercise { sync: Synced::No, work: Work::Floor(floor.clone()) },
            };
            let phases = run(&task).expect("it runs");
            assert_eq!(phases[0].operations, operations, "{floor:?}");
            assert!(phases[0].nanoseconds > 0, "{floor:?}");
            if let Floor::Tree { .. } = floor {
                // Of 228 pages some four fifths change with 400 entries.
                let factor = phases[0].values["passed_factor"];
                assert!((10.0..25.0).contains(&factor), "{factor} bytes for a byte");
            }
            if let Floor::Group { puts, .. } | Floor::Record { puts } = floor {
                let file = std::fs::metadata(directory.path().join("floor")).expect("written");
                assert_eq!(file.len(), puts * RECORD_BYTES as u64);
            }
        }
    }
}
