//! Truncated and changed files: an error or less than before, never a panic, never a wrong vector.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use liteio_disk::{Disk, OpenMode, RealDisk, SimulatedDisk};
use liteio_vector::{
    Durability, Metric, Search, Shape, Slot, SlotFile, VectorError, VectorIndex, Written,
    map_files, vector_crc,
};

use crate::harness::{Generator, numbered, shape};

const DIMENSION: usize = 20;

/// 40 vectors in four commits, with the CRC of each.
fn file_with_vectors(disk: &SimulatedDisk) -> Vec<u64> {
    let file = SlotFile::create(disk, "a", shape(DIMENSION, Metric::Cosine)).expect("created");
    let mut crcs = Vec::new();
    for number in 0..40 {
        crcs.push(file.append(&numbered(number, DIMENSION)).expect("appended").crc);
        if number % 10 == 9 {
            file.commit(Durability::Fsync).expect("committed");
        }
    }
    crcs
}

/// Whatever was done to the file, a vector with the right CRC is the right one, and all vectors that
/// the damage did not touch are there once their number is known.
fn check(disk: &SimulatedDisk, crcs: &[u64], context: &str) {
    let file = match SlotFile::open(disk, "a", shape(DIMENSION, Metric::Cosine)) {
        Ok(file) => file,
        Err(VectorError::Corrupt(_)) => return,
        Err(error) => panic!("{context}: {error}"),
    };
    file.ensure_slots(crcs.len() as u32).expect("extended");
    file.commit(Durability::Fsync).expect("committed");
    let view = file.view();
    let mut lost = 0;
    for (number, crc) in (0..).zip(crcs) {
        let vector = view.vector(Slot::new(number)).expect("there is a slot");
        if vector_crc(&vector) == *crc {
            assert_eq!(*vector, numbered(number, DIMENSION), "{context}");
        } else {
            lost += 1;
        }
    }
    assert!(lost <= 1 || context.contains("cut"), "{context}: {lost} are lost");
    let next = file.append(&numbered(99, DIMENSION)).expect("appended").slot;
    assert!(next.number() >= 40, "{context}: no slot that a name may point to is handed out");
}

#[test]
fn a_changed_byte_anywhere_costs_at_most_the_vector_that_it_is_in() {
    let mut generator = Generator::new(5);
    let superblocks = (0..140).chain([4_088, 4_095]).chain(4_096..4_236).chain([8_184, 8_191]);
    let data = (0..200).map(|_| 65_536 + generator.below(40 * 128)).collect::<Vec<u64>>();
    for at in superblocks.chain([9_000, 65_535]).chain(data) {
        let disk = SimulatedDisk::new(1);
        let crcs = file_with_vectors(&disk);
        let file = disk.open("a", OpenMode::Write).expect("opens");
        let mut byte = [0];
        file.read_at(&mut byte, at).expect("read");
        file.write_at(&[byte[0] ^ 1 << generator.below(8)], at).expect("written");
        drop(file);
        check(&disk, &crcs, &format!("byte {at}"));
    }
}

#[test]
fn a_cut_file_is_an_error_or_has_fewer_vectors() {
    let ends = (0..20).map(|step| step * 500).chain([65_535, 65_536, 65_537]);
    for end in ends.chain((0..40).map(|slot| 65_536 + slot * 128 + 60)) {
        let disk = SimulatedDisk::new(1);
        let crcs = file_with_vectors(&disk);
        disk.open("a", OpenMode::Write).expect("opens").set_len(end).expect("cut");
        check(&disk, &crcs, &format!("cut at {end}"));
    }
}

#[test]
fn files_of_others_are_refused() {
    for content in [&b""[..], b"hello", &[0; 100_000], &[0xff; 100_000]] {
        let disk = SimulatedDisk::new(1);
        let file = disk.open("a", OpenMode::CreateOrWrite).expect("created");
        file.write_at(content, 0).expect("written");
        drop(file);
        let error = SlotFile::open(&disk, "a", shape(3, Metric::Cosine)).expect_err("not ours");
        assert!(matches!(error, VectorError::Corrupt(_)), "{error}");
        let mut kept = vec![0; content.len()];
        let file = disk.open("a", OpenMode::Read).expect("opens");
        assert_eq!(file.read_at(&mut kept, 0).expect("read"), content.len());
        assert_eq!((kept.as_slice(), file.len().expect("length")), (content, content.len() as u64));
    }
}

#[test]
fn verify_finds_a_vector_that_none_can_be() {
    let disk = SimulatedDisk::new(1);
    file_with_vectors(&disk);
    let bytes = disk.open("a", OpenMode::Write).expect("opens");
    bytes.write_at(&f32::NAN.to_le_bytes(), 65_536 + 3 * 128).expect("written");
    let file = SlotFile::open(&disk, "a", shape(DIMENSION, Metric::Cosine)).expect("opens");
    let error = file.verify().expect_err("damaged");
    assert!(matches!(error, VectorError::Corrupt(_)), "{error}");
}

/// Turns the superblocks of a file into those of version 1, which had their CRC at their end.
fn make_first_version(disk: &SimulatedDisk) {
    let file = disk.open("a", OpenMode::Write).expect("opens");
    for place in [0, 4_096] {
        let mut block = vec![0; 4_096];
        file.read_at(&mut block, place).expect("read");
        block[8] = 1;
        block[128..136].fill(0);
        let (words, _) = block[..4_088].as_chunks();
        let words: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        block[4_088..].copy_from_slice(&vector_crc(&words).to_le_bytes());
        file.write_at(&block, place).expect("written");
    }
}

#[test]
fn a_file_of_the_first_version_is_gone_on_with_and_keeps_its_version() {
    let disk = SimulatedDisk::new(1);
    let crcs = file_with_vectors(&disk);
    make_first_version(&disk);
    for round in 0..3 {
        let file = SlotFile::open(&disk, "a", shape(DIMENSION, Metric::Cosine)).expect("opens");
        let view = file.view();
        assert_eq!(view.slot_count(), 40 + round);
        for (number, crc) in (0..).zip(&crcs) {
            assert_eq!(vector_crc(&view.vector(Slot::new(number)).expect("there")), *crc);
        }
        file.append(&numbered(99, DIMENSION)).expect("appended");
        file.commit(Durability::Fsync).expect("committed");
        file.verify().expect("whole");
        let bytes = disk.open("a", OpenMode::Read).expect("opens");
        for place in [0, 4_096] {
            let mut version = [0; 4];
            bytes.read_at(&mut version, place + 8).expect("read");
            assert_eq!(u32::from_le_bytes(version), 1, "round {round}, superblock at {place}");
        }
    }
}

#[test]
fn a_changed_byte_in_a_file_of_the_first_version_costs_at_most_the_vector_that_it_is_in() {
    for at in [0, 8, 9, 12, 20, 33, 40, 55, 64, 128, 2_000, 4_088, 4_104, 5_000, 8_191, 70_000] {
        let disk = SimulatedDisk::new(1);
        let crcs = file_with_vectors(&disk);
        make_first_version(&disk);
        let file = disk.open("a", OpenMode::Write).expect("opens");
        let mut byte = [0];
        file.read_at(&mut byte, at).expect("read");
        file.write_at(&[byte[0] ^ 3], at).expect("written");
        drop(file);
        check(&disk, &crcs, &format!("byte {at}"));
    }
}

/// An index on `disk` whose searches go by codes, with its first vector.
fn searched_index(disk: &Arc<RealDisk>, path: &str) -> (VectorIndex, Vec<f32>) {
    const LONG: usize = 256;
    let disk = Arc::clone(disk);
    let index = VectorIndex::create(disk, path, shape(LONG, Metric::Euclidean)).expect("created");
    for number in 0..2_000 {
        index.slots().append(&numbered(number, LONG)).expect("appended");
    }
    index.slots().commit(Durability::Fsync).expect("committed");
    index.prepare().expect("prepared");
    (index, numbered(0, LONG))
}

fn check_damaged<T: std::fmt::Debug>(result: Result<T, VectorError>) {
    let error = result.expect_err("truncated");
    assert!(matches!(error, VectorError::Corrupt(_)), "{error}");
}

#[test]
fn a_file_truncated_under_its_map_is_an_error_of_that_file() {
    map_files().expect("the handler is installed");
    let directory = tempfile::tempdir().expect("a directory");
    let disk = Arc::new(RealDisk::open(directory.path()).expect("opens"));
    // In the middle of a page, and of all vectors; at a page; and all of it.
    for (name, end) in [("a", 1_100_003), ("b", 1 << 20), ("c", 0)] {
        let (index, query) = searched_index(&disk, name);
        let (other, _) = searched_index(&disk, &format!("{name}-other"));
        let search = Search::new(&query, 10);
        let before = index.slots().view();
        assert_eq!(index.search(&before, &search).expect("whole").len(), 10);
        let file = std::fs::File::options()
            .write(true)
            .open(directory.path().join(format!("{name}.slots")))
            .expect("opens");
        file.set_len(end).expect("truncated");
        // Read as zeros, which the check of the view tells.
        let last = before.borrowed(Slot::new(1_999)).expect("mapped");
        assert!(last.iter().all(|element| *element == 0.0));
        check_damaged(before.check());
        check_damaged(index.search(&before, &search));
        check_damaged(before.search_exactly(&search));
        check_damaged(index.search(&index.slots().view(), &search));
        let mut buffer = query.clone();
        check_damaged(index.slots().read_into(Slot::new(1_999), &mut buffer));
        check_damaged(index.slots().append(&query));
        check_damaged(index.slots().append_many(&[query.clone(), query.clone()].concat()));
        assert_eq!(file.metadata().expect("there").len(), end, "nothing is written");
        let view = other.slots().view();
        let found = other.search(&view, &search).expect("whole");
        assert_eq!((found.len(), found[0].slot), (10, Slot::new(0)));
        other.slots().append(&query).expect("appended");
        other.slots().commit(Durability::Fsync).expect("committed");
    }
}

#[test]
fn a_truncated_file_is_not_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = RealDisk::open(directory.path()).expect("opens");
    let file = SlotFile::create(&disk, "a", shape(DIMENSION, Metric::Cosine)).expect("created");
    file.append(&numbered(1, DIMENSION)).expect("appended");
    file.commit(Durability::Fsync).expect("committed");
    let written = std::fs::File::options().write(true).open(directory.path().join("a"));
    let written = written.expect("opens");
    written.set_len(65_540).expect("truncated");
    file.append(&numbered(2, DIMENSION)).expect("staged in memory");
    check_damaged(file.commit(Durability::Fsync));
    check_damaged(file.append_many(&numbered(3, DIMENSION * 1_000)));
    assert_eq!(written.metadata().expect("there").len(), 65_540);
}

#[test]
fn a_vector_that_is_damaged_while_the_file_is_open_is_an_error_of_the_searches_that_pass_it_over() {
    for (dimension, count) in [(16, 300), (256, 3_000)] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let disk = Arc::new(RealDisk::open(directory.path()).expect("opened"));
        let shape = Shape::new(dimension, Metric::Euclidean).expect("a shape");
        // One coordinate after the other, so that codes find the neighbours of a vector, and no others.
        let vector = |number: usize| {
            let element =
                |place| if place == number % dimension { 9.0 } else { number as f32 / 5e3 };
            (0..dimension).map(element).collect::<Vec<f32>>()
        };
        let index = VectorIndex::create(disk.clone(), "it", shape).expect("created");
        let mut written = Vec::new();
        for number in 0..count {
            written.push(index.slots().append(&vector(number)).expect("appended"));
        }
        // Behind them, so that the batch that an opening checks is a later one.
        for _ in 0..2 {
            index.slots().append(&vector(1)).expect("appended");
            index.slots().commit(Durability::Fsync).expect("committed");
        }
        let (query, damaged) = (vector(7), written[7 + dimension].slot);
        let nearest = Search::new(&query, 2);
        let search = |index: &VectorIndex| index.find(&index.slots().view(), &nearest);
        let found = search(&index).expect("whole");
        assert_eq!((found.neighbours[1].slot, found.unknown), (damaged, Vec::new()), "{dimension}");
        let path = directory.path().join("it.slots");
        let file = File::options().write(true).open(&path).expect("writable");
        let stride = (dimension as u64 * 4).next_multiple_of(64);
        let far = (-1e9_f32).to_le_bytes();
        let offset = 65_536 + u64::from(damaged.number()) * stride;
        file.write_all_at(&far, offset).expect("written");
        let error = search(&index).expect_err("damaged");
        assert!(matches!(error, VectorError::DamagedVector(slot) if slot == damaged), "{error}");
    }
}

#[test]
fn vectors_of_an_opened_file_are_known_once_they_were_compared_with_their_crc() {
    let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1));
    let shape = shape(DIMENSION, Metric::Cosine);
    let index = VectorIndex::create(Arc::clone(&disk), "it", shape).expect("created");
    let append = |number| index.slots().append(&numbered(number, DIMENSION)).expect("appended");
    let written: Vec<_> = (0..50).map(append).collect();
    index.slots().commit(Durability::Fsync).expect("committed");
    drop(index);
    let index = VectorIndex::open(disk, "it", shape).expect("opened");
    let (view, query) = (index.slots().view(), numbered(3, DIMENSION));
    let unknown = || index.find(&view, &Search::new(&query, 5)).expect("found").unknown;
    assert_eq!(unknown().len(), 50);
    let recorded =
        |written: &[Written]| written.iter().map(|it| (it.slot, it.crc)).collect::<Vec<_>>();
    let mut wrong = recorded(&written);
    wrong[30].1 ^= 1;
    let differs = view.compare(wrong.into_iter()).expect("readable");
    assert_eq!((differs, unknown().len()), (Some(written[30].slot), 20));
    let differs = view.compare(recorded(&written).into_iter()).expect("readable");
    assert_eq!((differs, unknown().len()), (None, 0));
}
