//! The file of codes: read when it is right, made again when it is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use liteio_disk::effort::{points, seeds};
use liteio_disk::{Disk, Fault, HookedDisk, Moment, OpenMode, SimulatedDisk};
use liteio_vector::{Durability, Metric, Search, Shape, Slot, SlotSet, VectorIndex};

use crate::harness::{Generator, clustered, shape};

const DIMENSION: usize = 256;
const COUNT: usize = 5_000;

fn index_shape() -> Shape {
    shape(DIMENSION, Metric::Cosine)
}

fn open(disk: &SimulatedDisk) -> VectorIndex {
    VectorIndex::open(Arc::new(disk.clone()), "a", index_shape()).expect("opens")
}

/// An index whose codes are saved.
fn saved(vectors: &[f32]) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let index = VectorIndex::create(Arc::new(disk.clone()), "a", index_shape()).expect("created");
    index.slots().append_many(vectors).expect("appended");
    index.slots().commit(Durability::Fsync).expect("committed");
    index.prepare().expect("made");
    index.save_codes().expect("saved");
    disk
}

/// Every vector is its own nearest neighbour.
fn check(index: &VectorIndex, context: &str) {
    let view = index.slots().view();
    for slot in view.slots().step_by(97) {
        let query = view.vector(slot).expect("there").into_owned();
        let found = index.search(&view, &Search::new(&query, 3)).expect("found");
        assert_eq!(found[0].slot, slot, "{context}: {found:?}");
        assert!(found[0].distance.abs() < 1e-5, "{context}: {found:?}");
    }
}

fn read(disk: &SimulatedDisk, path: &str) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).expect("opens");
    let mut bytes = vec![0; file.len().expect("length") as usize];
    file.read_at(&mut bytes, 0).expect("read");
    bytes
}

#[test]
fn damaged_cut_and_missing_codes_are_made_again() {
    let vectors = clustered(COUNT, DIMENSION, 20, 1);
    let disk = saved(&vectors);
    let bytes = read(&disk, "a.codes");
    for round in seeds(12, 40) {
        let mut generator = Generator::new(round);
        let file = disk.open("a.codes", OpenMode::CreateOrWrite).expect("opens");
        let at = match round % 2 {
            0 => generator.below(70),
            _ => generator.below(bytes.len() as u64),
        };
        file.set_len(bytes.len() as u64).expect("set");
        file.write_at(&bytes, 0).expect("written");
        match round % 4 {
            0 | 1 => file.write_at(&[!bytes[at as usize]], at).expect("changed"),
            2 => file.set_len(at).expect("cut"),
            _ => disk.remove("a.codes").expect("removed"),
        }
        check(&open(&disk), &format!("round {round}, byte {at}"));
    }
}

#[test]
fn codes_are_brought_up_to_date_with_what_came_after_them() {
    let vectors = clustered(COUNT, DIMENSION, 20, 1);
    let disk = saved(&vectors);
    let more = clustered(300, DIMENSION, 5, 2);
    {
        let index = open(&disk);
        index.slots().append_many(&more).expect("appended");
        index.slots().commit(Durability::Fsync).expect("committed");
        check(&index, "appended after opening");
    }
    check(&open(&disk), "appended after the codes were saved");
    {
        let index = open(&disk);
        check(&index, "opened");
        let freed: Vec<Slot> = (100..400).map(Slot::new).collect();
        index.slots().free(&freed).expect("freed");
        // Two commits, after which freed slots are used again.
        for vector in more.chunks(DIMENSION).take(2) {
            index.slots().append(vector).expect("appended");
            index.slots().commit(Durability::Fsync).expect("committed");
        }
        let again = clustered(300, DIMENSION, 5, 3);
        let written = index.slots().append_many(&again).expect("appended");
        assert!(written.iter().any(|written| freed.contains(&written.slot)), "used again");
        index.slots().commit(Durability::Fsync).expect("committed");
        check(&index, "rewritten");
    }
    check(&open(&disk), "rewritten after the codes were saved");
}

#[test]
fn codes_of_another_file_or_of_a_lost_commit_are_not_taken() {
    let vectors = clustered(COUNT, DIMENSION, 20, 1);
    let other = saved(&clustered(COUNT, DIMENSION, 20, 9));
    let disk = saved(&vectors);
    let bytes = read(&other, "a.codes");
    disk.open("a.codes", OpenMode::Write).expect("opens").write_at(&bytes, 0).expect("written");
    check(&open(&disk), "codes of another file");

    let disk = saved(&vectors);
    {
        let index = open(&disk);
        index.slots().append_many(&clustered(10, DIMENSION, 2, 4)).expect("appended");
        index.slots().commit(Durability::Fsync).expect("committed");
        index.prepare().expect("made");
        index.save_codes().expect("saved");
    }
    // The superblock of that commit is damaged: the one before counts, and another commit follows.
    let superblock = disk.open("a.slots", OpenMode::Write).expect("opens");
    let newest = (0..2)
        .max_by_key(|place| {
            let mut sequence = [0; 8];
            superblock.read_at(&mut sequence, place * 4_096 + 32).expect("read");
            u64::from_le_bytes(sequence)
        })
        .expect("two");
    superblock.write_at(&[0xee; 8], newest * 4_096 + 40).expect("written");
    drop(superblock);
    {
        let index = open(&disk);
        assert_eq!(index.slots().slot_count(), COUNT as u32);
        index.slots().append_many(&clustered(10, DIMENSION, 2, 5)).expect("appended");
        index.slots().commit(Durability::Fsync).expect("committed");
    }
    check(&open(&disk), "codes of a commit that was lost");
}

/// Appends vectors, of which some are freed, and saves the codes, as far as the disk lets it.
fn save_more(disk: &SimulatedDisk) {
    let index = open(disk);
    let _ = index.slots().append_many(&clustered(300, DIMENSION, 5, 2));
    let _ = index.slots().free(&[7, 8, 9].map(Slot::new));
    let _ = index.slots().commit(Durability::Fsync);
    let _ = index.prepare();
    let _ = index.save_codes();
}

#[test]
fn a_crash_or_fault_while_codes_are_saved_costs_nothing_but_time() {
    let vectors = clustered(2_000, DIMENSION, 20, 1);
    let operations = {
        let disk = saved(&vectors);
        let before = disk.operations();
        save_more(&disk);
        disk.operations() - before
    };
    for operation in points(10, operations) {
        for fault in [Fault::Crash, Fault::Io, Fault::NoSpace] {
            let disk = saved(&vectors);
            disk.set_fault(disk.operations() + operation, fault);
            save_more(&disk);
            check(&open(&disk.crash()), &format!("{fault:?} at {operation}"));
        }
    }
}

/// Appends, frees and overwrites until `is_over`, or until the machine has stopped; returns the slots
/// in use.
fn write_on(index: &VectorIndex, seed: u64, is_over: &AtomicBool) -> Vec<Slot> {
    let mut generator = Generator::new(seed);
    let mut own = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let written = index.slots().append_many(&generator.vector(DIMENSION * 20));
        let written = written.and_then(|written| {
            index.slots().commit(Durability::Fsync)?;
            Ok(written)
        });
        match written {
            Ok(written) => own.extend(written.into_iter().map(|written| written.slot)),
            Err(error) => {
                assert!(is_over.load(Ordering::Relaxed), "before the end: {error}");
                return own;
            }
        }
        while own.len() > 100 {
            let slot = own.swap_remove(generator.below(own.len() as u64) as usize);
            index.slots().free(&[slot]).expect("freed");
        }
    }
    own
}

/// Whatever a kill or a power cut leaves of both files, the vectors that were there all the time are
/// found; and after an orderly end all that were not freed are.
#[test]
fn codes_saved_beside_writers_fit_what_is_left_of_the_slots() {
    for round in 0..9 {
        let disk = saved(&clustered(3_000, DIMENSION, 20, 1));
        let index = open(&disk);
        let is_over = AtomicBool::new(false);
        let (left, used) = std::thread::scope(|scope| {
            let writers = [7, 8].map(|seed| {
                let (index, is_over) = (&index, &is_over);
                scope.spawn(move || write_on(index, seed, is_over))
            });
            for _ in 0..=round % 4 {
                index.prepare().expect("made");
                index.save_codes().expect("saved");
            }
            // The writers see that it is over at the end of a commit, so most are cut off within one.
            is_over.store(true, Ordering::Relaxed);
            let left = match round % 3 {
                0 => Some(disk.kill()),
                1 => Some(disk.crash()),
                _ => None,
            };
            let used = writers.into_iter().flat_map(|writer| writer.join().expect("no panic"));
            (left, used.collect::<Vec<_>>())
        });
        let Some(left) = left else {
            index.save_codes().expect("saved");
            drop(index);
            let index = open(&disk);
            // The owner of the slots knows which are in use. One that was rewritten and freed before
            // its code was made has the code of an earlier vector, which nobody looks for.
            let used = (0..3_000).map(Slot::new).chain(used);
            index.slots().retain(&used.collect::<SlotSet>()).expect("retained");
            check(&index, "after an orderly end");
            continue;
        };
        let index = open(&left);
        let view = index.slots().view();
        for slot in (0..3_000).step_by(29).map(Slot::new) {
            let query = view.vector(slot).expect("there").into_owned();
            let found = index.search(&view, &Search::new(&query, 1)).expect("found");
            assert_eq!(found[0].slot, slot, "round {round}");
        }
    }
}

#[test]
fn removing_an_index_removes_its_files() {
    let disk = saved(&clustered(2_000, DIMENSION, 20, 1));
    VectorIndex::remove(&disk, "a").expect("removed");
    let mut left = disk.list("").expect("listed");
    if cfg!(any(not(target_os = "linux"), feature = "portable")) {
        // The directory of temporary files, where these have names.
        left.retain(|entry| entry.name != "tmp");
    }
    assert_eq!(left, []);
    VectorIndex::remove(&disk, "a").expect("nothing to remove");
}

#[test]
fn vectors_committed_while_codes_are_saved_are_found_after_opening_again() {
    let disk = SimulatedDisk::new(1);
    let late = clustered(50, DIMENSION, 20, 2);
    let interrupting = Arc::new(Mutex::new(Weak::<VectorIndex>::new()));
    let interrupted = Arc::clone(&interrupting);
    // Somebody commits vectors just when codes are about to be written.
    let hooked = HookedDisk::new(&disk, move |moment| {
        if moment != Moment::Open("a.codes", OpenMode::CreateOrWrite) {
            return;
        }
        let index = std::mem::take(&mut *interrupted.lock().expect("whole")).upgrade();
        if let Some(index) = index {
            index.slots().append_many(&late).expect("appended");
            index.slots().commit(Durability::Fsync).expect("committed");
        }
    });
    let index = VectorIndex::create(Arc::new(hooked), "a", index_shape()).expect("created");
    let index = Arc::new(index);
    index.slots().append_many(&clustered(COUNT, DIMENSION, 20, 1)).expect("appended");
    index.slots().commit(Durability::Fsync).expect("committed");
    *interrupting.lock().expect("whole") = Arc::downgrade(&index);
    index.prepare().expect("made");
    index.save_codes().expect("saved");
    assert_eq!(index.slots().vector_count(), COUNT + 50, "they were committed meanwhile");
    drop(index);
    let index = open(&disk);
    let view = index.slots().view();
    for slot in view.slots().skip(COUNT) {
        let query = view.vector(slot).expect("there").into_owned();
        let found = index.search(&view, &Search::new(&query, 1)).expect("found");
        assert_eq!(found[0].slot, slot);
    }
}
