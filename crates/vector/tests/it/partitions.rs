//! Partitions: recall and work, as an index grows, changes, is opened again, or has hostile vectors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_disk::effort::{amount, points, seeds};
use liteio_disk::{Disk, Fault, OpenMode, SimulatedDisk};
use liteio_vector::{Durability, Metric, Search, Shape, Slot, SlotSet, Tuning, VectorIndex, View};

use crate::harness::{Generator, clustered, shape, unrelated};

const DIMENSION: usize = 256;
const CLUSTERS: usize = 40;

/// Few, so that tests are fast.
fn tuning() -> Tuning {
    let mut tuning = Tuning::default();
    tuning.partitions_from = 4_096;
    tuning
}

fn in_memory(metric: Metric) -> VectorIndex {
    VectorIndex::in_memory(shape(DIMENSION, metric)).expect("created").tuned(tuning())
}

fn put(index: &VectorIndex, vectors: &[f32]) -> Vec<Slot> {
    let written = index.slots().append_many(vectors).expect("appended");
    index.slots().commit(Durability::Fsync).expect("committed");
    written.into_iter().map(|written| written.slot).collect()
}

/// The part of the true neighbours that is found, of `count` vectors of the index as queries.
fn recall(
    index: &VectorIndex,
    view: &View,
    count: usize,
    neighbours: usize,
    filter: Option<&SlotSet>,
) -> f64 {
    let slots: Vec<Slot> = view.slots().collect();
    let (mut found, mut expected) = (0, 0);
    for slot in slots.iter().step_by(slots.len() / count) {
        let query = view.vector(*slot).expect("there").into_owned();
        let search = Search { filter, ..Search::new(&query, neighbours) };
        let exact = view.search_exactly(&search).expect("found");
        let approximate = index.search(view, &search).expect("found");
        assert_eq!(approximate.len(), exact.len(), "as many as there are");
        let last = exact.last().map_or(0.0, |last| last.distance);
        found += approximate.iter().filter(|it| it.distance <= last * (1.0 + 1e-6)).count();
        expected += exact.len();
    }
    found as f64 / expected as f64
}

#[track_caller]
fn check_recall(index: &VectorIndex, context: &str) {
    let view = index.slots().view();
    let [at_10, at_100] = [10, 100].map(|depth| recall(index, &view, 40, depth, None));
    assert!(at_10 >= 0.99 && at_100 >= 0.98, "{context}: {at_10}, {at_100}");
}

#[test]
fn clustered_vectors_are_found_in_few_partitions_and_filters_cost_no_results() {
    let metrics = [Metric::Cosine, Metric::Euclidean];
    for metric in seeds(1, 2).map(|index| metrics[index as usize]) {
        let index = in_memory(metric);
        put(&index, &clustered(24_000, DIMENSION, CLUSTERS, 1));
        index.prepare().expect("prepared");
        assert!(index.partitions() >= 20, "{}", index.partitions());
        check_recall(&index, "clustered");
        let view = index.slots().view();
        let query = view.vector(Slot::new(77)).expect("there").into_owned();
        let before = index.scanned();
        index.search(&view, &Search::new(&query, 10)).expect("found");
        let scanned = index.scanned() - before;
        assert!(scanned < 24_000 * 2 / 3, "{metric:?}: {scanned}");
        let measured = index.recall().expect("measured");
        assert!(measured.at_10 >= 0.99 && measured.at_100 >= 0.98, "{measured:?}");
        for every in [2, 5, 8, 100, 10_000] {
            let filter: SlotSet = (0..24_000).step_by(every).map(Slot::new).collect();
            let found = recall(&index, &view, 60, 10, Some(&filter));
            assert!(found >= 0.99, "{metric:?}, one in {every}: {found}");
        }
        // Only vectors that are far from the query.
        let near = view.search_exactly(&Search::new(&query, 8_000)).expect("found");
        let mut far: SlotSet = view.slots().collect();
        far.subtract(&near.iter().map(|near| near.slot).collect());
        let search = Search::new(&query, 10).within(&far);
        let exact = view.search_exactly(&search).expect("found");
        let found = index.search(&view, &search).expect("found");
        let same = found.iter().filter(|found| exact.contains(found)).count();
        assert!(found.len() == 10 && same >= 9, "{same}");
    }
}

#[test]
fn unrelated_vectors_are_found_by_all_codes() {
    let index = in_memory(Metric::Cosine);
    put(&index, &unrelated(10_000, DIMENSION, 1));
    index.prepare().expect("prepared");
    check_recall(&index, "unrelated");
    let view = index.slots().view();
    let queries = unrelated(30, DIMENSION, 9);
    let (mut found, mut expected) = (0, 0);
    for query in queries.chunks(DIMENSION) {
        let exact = view.search_exactly(&Search::new(query, 10)).expect("found");
        let near = index.search(&view, &Search::new(query, 10)).expect("found");
        found += near.iter().filter(|near| exact.contains(near)).count();
        expected += exact.len();
    }
    assert!(found * 100 >= expected * 99, "{found} of {expected}");
}

#[test]
fn queries_that_are_far_from_everything_have_their_nearest_neighbours() {
    let index = in_memory(Metric::Euclidean);
    put(&index, &clustered(12_000, DIMENSION, CLUSTERS, 6));
    index.prepare().expect("prepared");
    let view = index.slots().view();
    let one = view.vector(Slot::new(4_321)).expect("there").into_owned();
    for factor in [30.0, 1e3, 1e10, 1e30, 1e37] {
        let query: Vec<f32> = one.iter().map(|element| element * factor).collect();
        let search = Search::new(&query, 10);
        let exact = view.search_exactly(&search).expect("found");
        let found = index.search(&view, &search).expect("found");
        assert_eq!(found.len(), 10, "{factor}");
        let last = exact[9].distance * (1.0 + 1e-6);
        let near = found.iter().filter(|found| found.distance <= last).count();
        assert!(near >= 9, "{factor}: {near}");
    }
}

#[test]
fn each_vector_is_the_nearest_of_itself() {
    let index = in_memory(Metric::Cosine);
    put(&index, &clustered(12_000, DIMENSION, CLUSTERS, 4));
    index.prepare().expect("prepared");
    let view = index.slots().view();
    let is_found = |slot: Slot| {
        let query = view.vector(slot).expect("there").into_owned();
        index.search(&view, &Search::new(&query, 1)).expect("found")[0].slot == slot
    };
    let missed: Vec<Slot> = view.slots().step_by(7).filter(|slot| !is_found(*slot)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn partitions_are_split_as_an_index_grows() {
    let index = in_memory(Metric::Cosine);
    let all = clustered(24_000, DIMENSION, CLUSTERS, 2);
    let (first, rest) = all.split_at(5_000 * DIMENSION);
    put(&index, first);
    index.prepare().expect("prepared");
    let few = index.partitions();
    assert!(few >= 2, "{few}");
    for part in rest.chunks(1_900 * DIMENSION) {
        put(&index, part);
        // What has no code yet is found, too.
        let view = index.slots().view();
        let last = view.slots().last().expect("some");
        let query = view.vector(last).expect("there").into_owned();
        let found = index.search(&view, &Search::new(&query, 1)).expect("found");
        assert_eq!(found[0].slot, last);
        index.prepare().expect("prepared");
    }
    assert!(index.partitions() > 2 * few, "{} of {few}", index.partitions());
    check_recall(&index, "grown");
    // Many of one kind, fewer than make the centroids be trained again.
    let before = index.partitions();
    put(&index, &clustered(9_000, DIMENSION, 1, 5));
    index.prepare().expect("prepared");
    assert!(index.partitions() > before, "{before}");
    check_recall(&index, "split");
}

#[test]
fn overwriting_and_deleting_leave_nothing_behind() {
    let index = in_memory(Metric::Euclidean);
    let mut slots = put(&index, &clustered(8_000, DIMENSION, CLUSTERS, 3));
    index.prepare().expect("prepared");
    let mut generator = Generator::new(5);
    for round in 0..8 {
        let vectors = clustered(2_000, DIMENSION, CLUSTERS, 10 + round);
        let freed: Vec<Slot> = (0..2_000)
            .map(|_| slots.swap_remove(generator.below(slots.len() as u64) as usize))
            .collect();
        index.slots().free(&freed).expect("freed");
        slots.extend(put(&index, &vectors));
        index.prepare().expect("prepared");
    }
    check_recall(&index, "overwritten");
    // All but one cluster's worth is deleted.
    let freed = slots.split_off(2_000);
    index.slots().free(&freed).expect("freed");
    put(&index, &clustered(10, DIMENSION, 1, 99));
    index.prepare().expect("prepared");
    check_recall(&index, "deleted");
    let view = index.slots().view();
    let query = view.vector(slots[5]).expect("there").into_owned();
    let before = index.scanned();
    let search = Search::new(&query, 100);
    index.search(&view, &search).expect("found");
    assert!(index.scanned() - before <= 3_000, "{}", index.scanned() - before);
}

/// Vectors that partitions and codes have a hard time with, made of unrelated ones.
fn hostile(name: &str, unrelated: &[f32]) -> Vec<f32> {
    let mut vectors = unrelated.to_vec();
    let mut generator = Generator::new(8);
    for (number, vector) in vectors.chunks_exact_mut(DIMENSION).enumerate() {
        match name {
            "one huge" if number == 3_000 => vector.iter_mut().for_each(|it| *it *= 1e30),
            "all equal" => vector.fill(0.5),
            "nearly equal" => vector.iter_mut().for_each(|it| *it = 1.0 + *it * 1e-4),
            "1e25" => vector.iter_mut().for_each(|it| *it = it.signum() * 1e25),
            "1e-25" => vector.iter_mut().for_each(|it| *it *= 1e-25),
            "sparse" => {
                let kept = [0; 4].map(|_| generator.below(DIMENSION as u64) as usize);
                let kept = kept.map(|place| (place, vector[place]));
                vector.fill(0.0);
                kept.iter().for_each(|(place, element)| vector[*place] = *element);
            }
            "two far clusters" => {
                let shift = if number % 2 == 0 { 1e5 } else { -1e5 };
                vector.iter_mut().for_each(|it| *it += shift);
            }
            _ => {}
        }
    }
    vectors
}

#[test]
fn hostile_vectors_keep_their_recall_and_are_not_all_compared() {
    let names =
        ["one huge", "all equal", "nearly equal", "1e25", "1e-25", "sparse", "two far clusters"];
    // The second count exceeds the default threshold for partitions, and takes half a minute of processor time even with
    // one name: for full runs.
    let sizes = [(6_000, tuning(), 4), (70_000, Tuning::default(), 1)];
    for (count, tuning, few) in sizes.into_iter().take(amount(1, 2) as usize) {
        let unrelated = unrelated(count, DIMENSION, 7);
        let mut recalls = [Vec::new(), Vec::new()];
        for name in seeds(few, 7).map(|index| names[index as usize]) {
            let shape = shape(DIMENSION, Metric::Euclidean);
            let index = VectorIndex::in_memory(shape).expect("created").tuned(tuning);
            put(&index, &hostile(name, &unrelated));
            index.prepare().expect("prepared");
            assert!(index.partitions() >= 1, "{name}");
            let view = index.slots().view();
            for (depth, recalls) in [10, 100].into_iter().zip(&mut recalls) {
                let before = index.scanned();
                recalls.push((recall(&index, &view, 60, depth, None), name));
                assert!(index.scanned() > before, "{name}: by codes");
            }
        }
        for (recalls, least) in recalls.iter().zip([0.99, 0.98]) {
            let mean = recalls.iter().map(|(recall, _)| recall).sum::<f64>() / recalls.len() as f64;
            assert!(mean >= least || recalls.len() < 7, "{count}: {recalls:?}");
            // Of 600 neighbours nine, where four are expected.
            assert!(recalls.iter().all(|(recall, _)| *recall >= least - 0.005), "{recalls:?}");
        }
    }
}

fn open(disk: &SimulatedDisk) -> VectorIndex {
    let shape = Shape::new(DIMENSION, Metric::Cosine).expect("a shape");
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let index = VectorIndex::open(Arc::clone(&disk), "a", shape);
    index.or_else(|_| VectorIndex::create(disk, "a", shape)).expect("opens").tuned(tuning())
}

#[test]
fn codes_are_saved_as_they_come_and_survive_a_kill() {
    let disk = SimulatedDisk::new(1);
    let index = open(&disk);
    for seed in 0..6 {
        put(&index, &clustered(1_500, DIMENSION, CLUSTERS, seed));
        index.prepare_soon();
    }
    let partitions = index.partitions();
    assert!(partitions >= 2);
    // Nobody has closed it.
    let left = disk.kill();
    drop(index);
    let index = open(&left);
    let view = index.slots().view();
    let query = view.vector(Slot::new(5)).expect("there").into_owned();
    index.search(&view, &Search::new(&query, 10)).expect("found");
    assert_eq!(index.partitions(), partitions, "as they were saved");
    check_recall(&index, "after a kill");
}

#[test]
fn a_stale_or_damaged_file_costs_no_recall() {
    let disk = SimulatedDisk::new(1);
    let index = open(&disk);
    let slots = put(&index, &clustered(8_000, DIMENSION, CLUSTERS, 1));
    index.prepare().expect("prepared");
    index.save_codes().expect("saved");
    let read = |disk: &SimulatedDisk| {
        let file = disk.open("a.codes", OpenMode::Read).expect("opens");
        let mut bytes = vec![0; file.len().expect("length") as usize];
        file.read_at(&mut bytes, 0).expect("read");
        bytes
    };
    let stale = read(&disk);
    // Two commits, after which freed slots are used again: every other vector becomes another one.
    let freed: Vec<Slot> = slots.iter().copied().step_by(2).collect();
    index.slots().free(&freed).expect("freed");
    for seed in 0..2 {
        put(&index, &clustered(1, DIMENSION, 1, 20 + seed));
    }
    let again = put(&index, &clustered(4_000, DIMENSION, CLUSTERS, 30));
    assert!(again.iter().filter(|slot| freed.contains(slot)).count() > 3_000, "used again");
    index.prepare().expect("prepared");
    index.save_codes().expect("saved");
    drop(index);
    let current = read(&disk);
    for round in seeds(3, 12) {
        let mut generator = Generator::new(round);
        let mut bytes = if round % 2 == 0 { stale.clone() } else { current.clone() };
        for _ in 0..round {
            let at = generator.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << generator.below(8);
        }
        if round % 3 == 2 {
            bytes.truncate(generator.below(bytes.len() as u64) as usize);
        }
        let file = disk.open("a.codes", OpenMode::CreateOrWrite).expect("opens");
        file.set_len(0).expect("emptied");
        file.write_at(&bytes, 0).expect("written");
        drop(file);
        let index = open(&disk);
        let view = index.slots().view();
        let found = recall(&index, &view, 40, 10, None);
        // The bound of an index that nothing has damaged: what is wrong in a file is not taken, and made anew.
        assert!(found >= 0.99, "round {round}: {found}");
        for slot in again.iter().step_by(131) {
            let query = view.vector(*slot).expect("there").into_owned();
            let nearest = index.search(&view, &Search::new(&query, 1)).expect("found");
            assert_eq!(nearest[0].slot, *slot, "round {round}");
        }
    }
}

#[test]
fn a_crash_or_fault_at_any_operation_of_making_and_saving_loses_nothing() {
    let vectors = clustered(4_500, DIMENSION, CLUSTERS, 1);
    let prepared = || {
        let disk = SimulatedDisk::new(3);
        put(&open(&disk), &vectors);
        disk
    };
    let save = |disk: &SimulatedDisk| {
        let index = open(disk);
        let _ = index.prepare();
        let _ = index.save_codes();
    };
    let operations = {
        let disk = prepared();
        let before = disk.operations();
        save(&disk);
        disk.operations() - before
    };
    assert!(operations > 50, "{operations}");
    // Each point trains centroids nine times, so a quick run has one of them.
    let step = operations / 24;
    for point in points(1, operations.div_ceil(step)) {
        let operation = point * step;
        for fault in [Fault::Crash, Fault::Io, Fault::NoSpaceFrom] {
            let disk = prepared();
            disk.set_fault(disk.operations() + operation, fault);
            save(&disk);
            for left in [disk.kill(), disk.crash()] {
                let index = open(&left);
                let view = index.slots().view();
                for slot in view.slots().step_by(301) {
                    let query = view.vector(slot).expect("there").into_owned();
                    let found = index.search(&view, &Search::new(&query, 1)).expect("found");
                    assert_eq!(found[0].slot, slot, "{fault:?} at {operation}");
                }
            }
        }
    }
}

#[test]
fn searches_beside_training_and_splitting_find_what_was_there_all_the_time() {
    let index = in_memory(Metric::Cosine);
    let kept = clustered(3_000, DIMENSION, CLUSTERS, 1);
    let slots = put(&index, &kept);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for offset in 0..2 {
            let (index, kept, slots, is_over) = (&index, &kept, &slots, &is_over);
            scope.spawn(move || {
                for number in (offset..3_000).step_by(17).cycle() {
                    let query = &kept[number * DIMENSION..][..DIMENSION];
                    let view = index.slots().view();
                    let found = index.search(&view, &Search::new(query, 1)).expect("found");
                    assert_eq!(found[0].slot, slots[number]);
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for seed in 2..10 {
            put(&index, &clustered(1_500, DIMENSION, CLUSTERS, seed));
            index.prepare_soon();
        }
        index.prepare().expect("prepared");
        is_over.store(true, Ordering::Relaxed);
    });
    // As many as when it was trained the last time, which the threads decide.
    assert!(index.partitions() >= 4, "{}", index.partitions());
    check_recall(&index, "beside searches");
}

#[test]
fn an_index_can_be_opened_again_at_once_while_its_codes_are_made() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = Arc::new(liteio_disk::RealDisk::open(directory.path()).expect("opens"));
    let shape = shape(DIMENSION, Metric::Cosine);
    let mut index = VectorIndex::create(disk.clone(), "a", shape).expect("created");
    put(&index, &clustered(6_000, DIMENSION, CLUSTERS, 1));
    for _ in 0..20 {
        index.prepare_soon();
        drop(index);
        index = VectorIndex::open(disk.clone(), "a", shape).expect("nobody has it");
    }
}
