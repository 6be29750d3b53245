//! Writers and readers at once.

use std::sync::atomic::{AtomicBool, Ordering};

use liteio_disk::RealDisk;
use liteio_vector::{Durability, Metric, Search, SlotFile, SlotSet, VectorIndex};

use crate::harness::{Generator, numbered, shape};

const DIMENSION: usize = 64;

#[test]
fn concurrent_commits_are_all_durable_when_they_return() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = RealDisk::open(directory.path()).expect("opens");
    let shape = shape(DIMENSION, Metric::Euclidean);
    let file = SlotFile::create(&disk, "a", shape).expect("created");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for round in 0..50 {
                    let number = thread * 1_000 + round;
                    let slot = file.append(&numbered(number, DIMENSION)).expect("appended").slot;
                    file.commit(Durability::Fsync).expect("committed");
                    let view = file.view();
                    let vector = view.vector(slot).expect("visible after its commit");
                    assert_eq!(*vector, numbered(number, DIMENSION));
                }
            });
        }
    });
    drop(file);
    let file = SlotFile::open(&disk, "a", shape).expect("opens");
    assert_eq!(file.verify().expect("whole").vectors, 200);
}

/// Readers see whole vectors only, while others append, free and overwrite.
#[test]
fn readers_beside_a_writer_never_see_a_torn_vector() {
    let file = SlotFile::in_memory(shape(DIMENSION, Metric::Euclidean)).expect("created");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = 0_u64;
                while !is_done.load(Ordering::Relaxed) || seen == 0 {
                    let view = file.view();
                    let mut held = Vec::new();
                    for slot in view.slots() {
                        // Freed meanwhile, if it is not there.
                        if let Ok(vector) = view.vector(slot) {
                            let number = (vector[0] as u32 - 1) / 64;
                            held.push((number, vector));
                        }
                    }
                    for (number, vector) in &held {
                        assert_eq!(**vector, numbered(*number, DIMENSION));
                        seen += 1;
                    }
                }
            });
        }
        let mut generator = Generator::new(1);
        let mut slots = Vec::new();
        for number in 0..4_000 {
            slots.push(file.append(&numbered(number, DIMENSION)).expect("appended").slot);
            if generator.below(5) == 0 {
                file.commit(Durability::Fsync).expect("committed");
                while slots.len() > 200 {
                    let slot = slots.swap_remove(generator.below(slots.len() as u64) as usize);
                    file.free(&[slot]).expect("freed");
                }
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(file.slot_count() < 4_000, "slots are used again");
}

#[test]
fn searches_beside_a_writer_find_what_was_there_all_the_time() {
    let index = VectorIndex::in_memory(shape(256, Metric::Cosine)).expect("created");
    let mut generator = Generator::new(1);
    let vectors: Vec<f32> = generator.vector(256 * 3_000);
    let kept = index.slots().append_many(&vectors).expect("appended");
    index.slots().commit(Durability::Fsync).expect("committed");
    let filter: SlotSet = kept.iter().map(|written| written.slot).collect();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..3_000_usize).step_by(11).cycle() {
                let query = &vectors[number * 256..(number + 1) * 256];
                for search in [Search::new(query, 2), Search::new(query, 2).within(&filter)] {
                    let view = index.slots().view();
                    let found = index.search(&view, &search).expect("found");
                    assert_eq!(found[0].slot, kept[number].slot);
                }
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for round in 0..60 {
            let more = generator.vector(256 * 20);
            let written = index.slots().append_many(&more).expect("appended");
            index.slots().commit(Durability::Fsync).expect("committed");
            if round % 2 == 0 {
                let slots: Vec<_> = written.iter().map(|written| written.slot).collect();
                index.slots().free(&slots).expect("freed");
            }
            if round % 7 == 0 {
                index.prepare().expect("prepared");
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
}
