//! Appending, committing, reading, freeing.

use liteio_disk::{Disk, OpenMode, RealDisk, SimulatedDisk};
use liteio_vector::{Durability, Metric, Slot, SlotFile, SlotSet, VectorError, vector_crc};

use crate::harness::{numbered, shape};

const DIMENSION: usize = 20;

/// Runs `test` on a file of the file system, one of the simulated disk, and one in memory.
fn on_every_file(test: impl Fn(SlotFile)) {
    let shape = shape(DIMENSION, Metric::Euclidean);
    let directory = tempfile::tempdir().expect("a directory");
    let real = RealDisk::open(directory.path()).expect("opens");
    test(SlotFile::create(&real, "real", shape).expect("created"));
    test(SlotFile::create(&SimulatedDisk::new(1), "simulated", shape).expect("created"));
    test(SlotFile::in_memory(shape).expect("created"));
}

fn append(file: &SlotFile, number: u32) -> Slot {
    let vector = numbered(number, DIMENSION);
    let written = file.append(&vector).expect("appended");
    assert_eq!(written.crc, vector_crc(&vector));
    written.slot
}

fn commit(file: &SlotFile) {
    file.commit(Durability::Fsync).expect("committed");
}

fn check(file: &SlotFile, slot: Slot, number: u32) {
    let expected = numbered(number, DIMENSION);
    let view = file.view();
    assert_eq!(*view.vector(slot).expect("borrowed"), expected);
    let mut buffer = vec![0.0; DIMENSION];
    file.read_into(slot, &mut buffer).expect("read");
    assert_eq!(buffer, expected);
    buffer.fill(0.0);
    view.read_into(slot, &mut buffer).expect("read");
    assert_eq!(buffer, expected);
}

#[test]
fn a_vector_is_visible_after_the_commit_and_not_before() {
    on_every_file(|file| {
        let slot = append(&file, 1);
        let early = file.view();
        let error = early.vector(slot).expect_err("not committed");
        assert!(matches!(error, VectorError::NoSuchSlot(missing) if missing == slot), "{error}");
        commit(&file);
        check(&file, slot, 1);
        assert!(!early.contains(slot), "a view stays as it was");
        assert_eq!((file.slot_count(), file.vector_count()), (1, 1));
        file.verify().expect("whole");
    });
}

#[test]
fn many_vectors_get_slots_in_their_order() {
    on_every_file(|file| {
        let vectors: Vec<f32> = (0..500).flat_map(|number| numbered(number, DIMENSION)).collect();
        let written = file.append_many(&vectors).expect("appended");
        commit(&file);
        let view = file.view();
        let all: Vec<Slot> = view.slots().collect();
        assert_eq!(written.iter().map(|written| written.slot).collect::<Vec<_>>(), all);
        let mut seen = Vec::new();
        let each = |slot: Slot, vector: &[f32]| {
            assert_eq!(vector, numbered(slot.number(), DIMENSION));
            seen.push(slot);
        };
        view.read_all((0..10_000).map(Slot::new), each).expect("readable");
        assert_eq!(seen, all);
        let verified = file.verify().expect("whole");
        assert_eq!((verified.slots, verified.vectors), (500, 500));
        file.free(&[0, 63, 64, 65, 127, 200, 499].map(Slot::new)).expect("freed");
        let view = file.view();
        for (start, end) in [(0, 500), (1, 64), (63, 65), (64, 128), (65, 66), (9, 9), (60, 9)]
            .into_iter()
            .chain([(499, 700), (500, 700), (127, 129), (128, 192), (0, u32::MAX)])
        {
            let range = Slot::new(start)..Slot::new(end);
            let expected: Vec<Slot> = view.slots().filter(|slot| range.contains(slot)).collect();
            let mut seen = Vec::new();
            let asked = (start..end.min(1_000)).map(Slot::new);
            view.read_all(asked, |slot, _| seen.push(slot)).expect("readable");
            assert_eq!(seen, expected, "{range:?}");
            let Some(borrowed) = view.borrowed_all(range.clone()) else { continue };
            for ((slot, vector), expected) in borrowed.zip(&expected) {
                assert_eq!((slot, vector), (*expected, &*numbered(slot.number(), DIMENSION)));
                assert_eq!(view.borrowed(slot), Some(vector));
            }
            let count = view.borrowed_all(range.clone()).expect("a map").count();
            assert_eq!(count, expected.len(), "{range:?}");
            let mut shown = Vec::new();
            let borrowed = view.borrowed_all(range.clone()).expect("a map");
            borrowed.for_each(|(slot, vector)| {
                assert_eq!(vector, numbered(slot.number(), DIMENSION));
                shown.push(slot);
            });
            assert_eq!(shown, expected, "{range:?}");
        }
        assert_eq!(view.borrowed(Slot::new(63)), None);
    });
}

#[test]
fn what_is_no_vector_of_the_file_is_refused_and_nothing_of_it_is_kept() {
    on_every_file(|file| {
        let error = file.append(&[1.0; DIMENSION + 1]).expect_err("too long");
        assert!(matches!(error, VectorError::WrongLength { expected: 20, found: 21 }), "{error}");
        let mut vectors = numbered(3, DIMENSION * 2);
        vectors[DIMENSION + 4] = f32::NAN;
        let error = file.append_many(&vectors).expect_err("not finite");
        assert!(matches!(error, VectorError::NotFinite { vector: 1, element: 4 }), "{error}");
        let error = file.append_many(&vectors[1..]).expect_err("not whole");
        assert!(matches!(error, VectorError::WrongLength { .. }), "{error}");
        commit(&file);
        assert_eq!(file.slot_count(), 0);
    });
}

#[test]
fn slices_stay_as_they_are_while_others_append_free_and_overwrite() {
    on_every_file(|file| {
        let slot = append(&file, 7);
        // Three commits, so that the slot could be used again.
        for number in 0..3 {
            append(&file, number);
            commit(&file);
        }
        let view = file.view();
        let slice = view.vector(slot).expect("there");
        file.free(&[slot]).expect("freed");
        for number in 100..400 {
            assert_ne!(append(&file, number), slot, "a view still shows it");
        }
        commit(&file);
        assert_eq!(*slice, numbered(7, DIMENSION));
        assert!(view.vector(slot).is_err(), "freed");
        drop(slice);
        drop(view);
        assert_eq!(append(&file, 8), slot, "used again");
        let error = file.view().vector(slot).expect_err("not committed");
        assert!(matches!(error, VectorError::NoSuchSlot(_)), "{error}");
        commit(&file);
        check(&file, slot, 8);
    });
}

#[test]
fn freed_before_the_commit_is_never_seen() {
    on_every_file(|file| {
        let (kept, freed) = (append(&file, 1), append(&file, 2));
        file.free(&[freed]).expect("freed");
        commit(&file);
        let view = file.view();
        assert_eq!(view.slots().collect::<Vec<_>>(), [kept]);
        file.free(&[freed]).expect("freed again");
        let error = file.free(&[kept, Slot::new(9)]).expect_err("never handed out");
        assert!(matches!(error, VectorError::NoSuchSlot(slot) if slot == Slot::new(9)), "{error}");
        assert!(view.contains(kept), "none is freed when one cannot be");
    });
}

#[test]
fn everything_is_there_after_opening_again_and_what_is_not_retained_is_used_again() {
    let real = tempfile::tempdir().expect("a directory");
    let real = RealDisk::open(real.path()).expect("opens");
    let disks: [&dyn Disk; 2] = [&real, &SimulatedDisk::new(1)];
    let shape = shape(DIMENSION, Metric::Cosine);
    for disk in disks {
        let file = SlotFile::create(disk, "a", shape).expect("created");
        let slots: Vec<Slot> = (0..300).map(|number| append(&file, number)).collect();
        commit(&file);
        append(&file, 999);
        drop(file);

        let file = SlotFile::open(disk, "a", shape).expect("opens");
        assert_eq!(file.slot_count(), 300, "the last was not committed");
        for (number, slot) in (0..).zip(&slots) {
            check(&file, *slot, number);
        }
        let used: SlotSet = slots.iter().copied().filter(|slot| slot.number() != 5).collect();
        file.retain(&used).expect("retained");
        assert_eq!(file.vector_count(), 299);
        for number in 1_000.. {
            let slot = append(&file, number);
            commit(&file);
            check(&file, slot, number);
            if slot == Slot::new(5) {
                break;
            }
            assert!(number < 1_010, "slot 5 is free");
        }
        drop(file);
        SlotFile::open(disk, "a", shape).expect("opens").verify().expect("whole");
    }
}

#[test]
fn another_dimension_or_metric_is_refused_and_changes_nothing() {
    let disk = SimulatedDisk::new(3);
    let right = shape(DIMENSION, Metric::Cosine);
    let file = SlotFile::create(&disk, "a", right).expect("created");
    let slot = append(&file, 1);
    commit(&file);
    drop(file);
    let operations = disk.operations();
    let error = SlotFile::open(&disk, "a", shape(21, Metric::Cosine)).expect_err("other");
    assert!(matches!(error, VectorError::OtherDimension { expected: 21, found: 20 }), "{error}");
    let error = SlotFile::open(&disk, "a", shape(20, Metric::Euclidean)).expect_err("other");
    assert!(matches!(error, VectorError::OtherMetric { .. }), "{error}");
    let error = SlotFile::create(&disk, "a", right).expect_err("there");
    assert!(matches!(error, VectorError::AlreadyThere { .. }), "{error}");
    let error = SlotFile::open(&disk, "b", right).expect_err("not there");
    assert!(matches!(error, VectorError::NotThere { .. }), "{error}");
    drop(disk.open("a", OpenMode::Read).expect("still there"));
    assert!(disk.operations() - operations <= 6, "only the file that was not to be created");
    check(&SlotFile::open(&disk, "a", right).expect("opens"), slot, 1);
}

#[test]
fn a_file_is_open_once_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = RealDisk::open(directory.path()).expect("opens");
    let shape = shape(DIMENSION, Metric::Cosine);
    let file = SlotFile::create(&disk, "a", shape).expect("created");
    let error = SlotFile::open(&disk, "a", shape).expect_err("open already");
    assert!(matches!(error, VectorError::InUse(_)), "{error}");
    assert!(error.to_string().contains("open already"), "{error}");
    drop(file);
    SlotFile::open(&disk, "a", shape).expect("free again");
}

#[test]
fn a_larger_file_is_mapped_anew_and_old_views_keep_their_map() {
    // 64 KiB a slot: the first map ends before slot 16,384. The file has holes.
    let shape = shape(16_384, Metric::Euclidean);
    let file = SlotFile::in_memory(shape).expect("created");
    let vector = numbered(1, 16_384);
    file.append(&vector).expect("appended");
    commit(&file);
    let old = file.view();
    let slice = old.vector(Slot::new(0)).expect("there");
    file.ensure_slots(20_000).expect("extended");
    let last = file.append(&vector).expect("appended").slot;
    commit(&file);
    let new = file.view();
    assert_eq!(*new.vector(last).expect("there"), vector);
    assert_eq!(*new.vector(Slot::new(19_999)).expect("there"), [0.0; 16_384]);
    assert_eq!(*slice, vector);
}

#[test]
fn commits_for_the_kernel_become_durable_with_the_next_one_for_the_device() {
    let shape = shape(DIMENSION, Metric::Euclidean);
    let disk = SimulatedDisk::new(5);
    let file = SlotFile::create(&disk, "a", shape).expect("created");
    for number in 0..10 {
        append(&file, number);
        file.commit(Durability::Os).expect("committed");
    }
    assert_eq!(file.vector_count(), 10);
    let killed = SlotFile::open(&disk.kill(), "a", shape).expect("opens");
    assert_eq!(killed.vector_count(), 10, "survives the end of the process");
}
