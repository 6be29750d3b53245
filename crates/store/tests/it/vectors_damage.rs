//! Damaged files of vectors: what `verify` tells of each, and what still works.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use liteio_store::vectors::{
    CreateIndex, DistanceMetric, GetVectors, Index, NewVectors, VectorName, VectorQuery,
};
use liteio_store::{Store, StoreError};

use crate::harness::{on_directory, owner};

/// So many, and so long, that searches go by codes.
const VECTORS: usize = 1_200;
const DIMENSION: usize = 256;

fn elements(number: usize) -> Vec<f32> {
    (0..DIMENSION).map(|element| ((number * 31 + element * 7) % 1_201) as f32 + 0.5).collect()
}

fn key(number: usize) -> String {
    format!("key-{number:04}")
}

fn names() -> (VectorName, VectorName) {
    let bucket = VectorName::bucket("media").expect("a name");
    (bucket, VectorName::index("films").expect("a name"))
}

/// A closed store with an index; `codes` and `slots` are its files.
struct Closed {
    directory: tempfile::TempDir,
    slots: PathBuf,
    codes: PathBuf,
}

impl Closed {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(on_directory(directory.path())).expect("opens");
        let (bucket, name) = names();
        let bucket = store.create_vector_bucket(bucket, owner(), None, Vec::new()).wait();
        let bucket = bucket.expect("new");
        let options = CreateIndex::new(DIMENSION as u32, DistanceMetric::Euclidean);
        let index = store.create_index(&bucket, name, options).wait().expect("new");
        for start in (0..VECTORS).step_by(400) {
            let mut vectors = NewVectors::default();
            for number in start..start + 400 {
                vectors.push(key(number), &elements(number));
            }
            store.put_vectors(&index, vectors).expect("stored");
        }
        check_queries(&store, &index);
        store.close();
        let file = |extension: &str| {
            let files = fs::read_dir(directory.path().join("vectors")).expect("a directory");
            let mut paths = files.map(|entry| entry.expect("an entry").path());
            let is_it = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
            paths.find(is_it)
        };
        let slots = file("slots").expect("slots");
        // Codes are made in the background: the store may have been closed before the first of them.
        let codes = loop {
            match file("codes") {
                Some(codes) => break codes,
                None => {
                    let store = Store::open(on_directory(directory.path())).expect("opens");
                    check_queries(&store, &index);
                    store.close();
                }
            }
        };
        Self { directory, slots, codes }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The damage that `verify` reports. It checks every vector, even after it has found damage.
    fn damage(&self) -> Vec<String> {
        let report =
            Store::verify_closed(on_directory(self.path()), &mut |_| {}).expect("verified");
        assert_eq!(report.vectors, VECTORS as u64);
        report.damaged.into_iter().map(|damage| damage.what).collect()
    }

    fn open(&self) -> (Store, Index) {
        let store = Store::open(on_directory(self.path())).expect("opens");
        let (bucket, name) = names();
        let bucket = store.vector_bucket(&bucket).expect("there");
        let index = store.index(&bucket, &name).expect("there");
        (store, index)
    }
}

fn nearest(store: &Store, index: &Index, number: usize) -> String {
    let answer = store.query_vectors(index, &VectorQuery::nearest(elements(number), 1));
    answer.expect("an answer").hits.remove(0).key
}

fn check_queries(store: &Store, index: &Index) {
    for number in (0..VECTORS).step_by(101) {
        assert_eq!(nearest(store, index, number), key(number));
    }
}

/// The offset of the elements of a vector in the bytes of the slot file.
fn place_of(slots: &[u8], number: usize) -> usize {
    let bytes: Vec<u8> =
        elements(number).iter().flat_map(|element| element.to_le_bytes()).collect();
    slots.windows(bytes.len()).step_by(64).position(|found| found == bytes).expect("stored") * 64
}

#[test]
fn a_flipped_bit_in_a_slot_is_told_of_its_vector() {
    let closed = Closed::new();
    let mut bytes = fs::read(&closed.slots).expect("readable");
    let damaged = [77, 300, VECTORS - 1];
    for number in damaged {
        let place = place_of(&bytes, number);
        bytes[place + 4 * 100 + 1] ^= 4;
    }
    fs::write(&closed.slots, bytes).expect("written");
    let told = closed.damage();
    assert_eq!(told.len(), damaged.len(), "{told:?}");
    for (told, number) in told.iter().zip(damaged) {
        assert!(told.contains("media/films") && told.contains(&key(number)), "{told}");
    }
    // The last one, and one of the others, show at the opening. But most of what is compared there is whole, so
    // each is an error where it is met, until it is put again or deleted.
    let (store, index) = closed.open();
    assert_eq!(got(&store, &index, 78).expect("whole"), elements(78));
    for number in damaged {
        let error = got(&store, &index, number).expect_err("damaged").to_string();
        assert!(error.contains(&key(number)), "{error}");
        let mut again = NewVectors::default();
        again.push(key(number), &elements(number));
        store.put_vectors(&index, again).expect("stored");
    }
    check_queries(&store, &index);
}

#[test]
fn a_damaged_vector_is_an_error_of_the_query_that_finds_it_until_it_is_put_again() {
    let closed = Closed::new();
    let mut bytes = fs::read(&closed.slots).expect("readable");
    // Neither in a batch that recovery checks nor in the sample of an opening.
    let place = place_of(&bytes, 77);
    bytes[place + 4 * 100 + 1] ^= 4;
    fs::write(&closed.slots, bytes).expect("written");
    let (store, index) = closed.open();
    let query = VectorQuery::nearest(elements(77), 1);
    let error = store.query_vectors(&index, &query).expect_err("damaged").to_string();
    assert!(error.contains(&key(77)), "{error}");
    // Vectors that have no code yet are compared themselves, the damaged one, too.
    let beside = VectorQuery::nearest(elements(78), 1);
    while store.query_vectors(&index, &beside).is_err() {
        std::thread::yield_now();
    }
    assert_eq!(nearest(&store, &index, 78), key(78));
    let mut again = NewVectors::default();
    again.push(key(77), &elements(77));
    store.put_vectors(&index, again).expect("stored");
    assert_eq!(nearest(&store, &index, 77), key(77));
}

/// An open index in a directory that is compared without codes.
fn small(directory: &Path) -> (Store, Index, PathBuf) {
    let store = Store::open(on_directory(directory)).expect("opens");
    let (bucket, name) = names();
    let bucket = store.create_vector_bucket(bucket, owner(), None, Vec::new()).wait();
    let options = CreateIndex::new(DIMENSION as u32, DistanceMetric::Euclidean);
    let index = store.create_index(&bucket.expect("new"), name, options).wait().expect("new");
    // The vectors of the last two commits are checked when the file is opened.
    for numbers in [0..98, 98..99, 99..100] {
        let mut vectors = NewVectors::default();
        numbers.for_each(|number| vectors.push(key(number), &elements(number)));
        store.put_vectors(&index, vectors).expect("stored");
    }
    let mut files = fs::read_dir(directory.join("vectors")).expect("a directory");
    let is_slots = |path: &PathBuf| path.extension().is_some_and(|found| found == "slots");
    let slots = files.find_map(|entry| Some(entry.expect("an entry").path()).filter(is_slots));
    (store, index, slots.expect("a file"))
}

/// Flips a bit of a vector, under whoever has the file open.
fn flip(slots: &Path, number: usize) {
    let bytes = fs::read(slots).expect("readable");
    let at = place_of(&bytes, number) + 4 * 100 + 3;
    let file = fs::File::options().write(true).open(slots).expect("writable");
    file.write_all_at(&[bytes[at] ^ 0x40], at as u64).expect("written");
}

#[test]
fn a_damaged_vector_is_an_error_of_the_queries_that_pass_it_over_until_it_is_deleted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (store, index, slots) = small(directory.path());
    assert_eq!(nearest(&store, &index, 50), key(50));
    flip(&slots, 77);
    let query = |store: &Store| {
        let answer = store.query_vectors(&index, &VectorQuery::nearest(elements(50), 1));
        answer.expect_err("its distance is not known").to_string()
    };
    let error = query(&store);
    assert!(error.contains(&key(77)), "{error}");
    store.close();
    // Nor is it known after a start: it is not one of those that the opening compares.
    let store = Store::open(on_directory(directory.path())).expect("opens");
    let error = query(&store);
    assert!(error.contains(&key(77)), "{error}");
    assert_eq!(got(&store, &index, 50).expect("whole"), elements(50));
    store.delete_vectors(&index, vec![key(77)]).expect("deleted");
    assert_eq!(nearest(&store, &index, 50), key(50));
    assert_eq!(nearest(&store, &index, 50), key(50));
}

fn got(store: &Store, index: &Index, number: usize) -> Result<Vec<f32>, StoreError> {
    let query =
        GetVectors { keys: vec![key(number)], with_elements: true, ..GetVectors::default() };
    let mut vectors = store.get_vectors(index, &query)?;
    Ok(vectors.remove(0).elements.expect("asked for"))
}

/// The index is neither searched nor written, and the error names it.
fn check_damaged(store: &Store, index: &Index) {
    let mut vectors = NewVectors::default();
    vectors.push("new", &elements(9));
    let results = [
        store.query_vectors(index, &VectorQuery::nearest(elements(5), 3)).map(drop),
        store.put_vectors(index, vectors),
        store.delete_vectors(index, vec![key(1)]),
    ];
    for result in results {
        let error = result.expect_err("damaged");
        assert!(matches!(error, StoreError::IndexDamaged { .. }), "{error}");
        assert!(error.to_string().contains("films"), "{error}");
    }
}

/// Another index of the same bucket and shape, with other vectors.
fn other_index(store: &Store) -> Index {
    let bucket = store.vector_bucket(&names().0).expect("there");
    let options = CreateIndex::new(DIMENSION as u32, DistanceMetric::Euclidean);
    let name = VectorName::index("other").expect("a name");
    let index = store.create_index(&bucket, name, options).wait().expect("new");
    let mut vectors = NewVectors::default();
    for number in VECTORS..VECTORS + 20 {
        vectors.push(key(number), &elements(number));
    }
    store.put_vectors(&index, vectors).expect("stored");
    assert_eq!(nearest(store, &index, VECTORS + 3), key(VECTORS + 3));
    index
}

#[test]
fn a_file_truncated_while_it_is_open_is_an_error_of_its_index_and_of_nothing_else() {
    let closed = Closed::new();
    let (store, index) = closed.open();
    check_queries(&store, &index);
    let other = other_index(&store);
    let file = fs::File::options().write(true).open(&closed.slots).expect("opens");
    file.set_len(file.metadata().expect("there").len() / 2).expect("truncated");
    check_damaged(&store, &index);
    assert_eq!(got(&store, &index, 3).expect("in the half that is left"), elements(3));
    assert!(got(&store, &index, VECTORS - 1).is_err());
    assert_eq!(nearest(&store, &other, VECTORS + 3), key(VECTORS + 3));
    store.close();
    let (store, index) = closed.open();
    check_damaged(&store, &index);
    assert_eq!(nearest(&store, &other, VECTORS + 3), key(VECTORS + 3));
    store.delete_index(&index).wait().expect("deleted");
    store.reclaim().expect("reclaimed");
    assert!(!closed.slots.exists());
}

#[test]
fn a_file_that_is_not_that_of_its_index_is_an_error_of_the_index() {
    let damage: [fn(&Path); 4] = [
        |slots| fs::remove_file(slots).expect("removed"),
        |slots| fs::write(slots, b"").expect("written"),
        |slots| {
            let mut bytes = fs::read(slots).expect("readable");
            bytes[..8_192].fill(0);
            fs::write(slots, bytes).expect("written");
        },
        |slots| {
            let others = slots.with_file_name("00000003.slots");
            fs::copy(&others, slots).expect("copied");
        },
    ];
    for damage in damage {
        let closed = Closed::new();
        let (store, _) = closed.open();
        let other = other_index(&store);
        store.close();
        damage(&closed.slots);
        let (store, index) = closed.open();
        check_damaged(&store, &index);
        assert_eq!(nearest(&store, &other, VECTORS + 3), key(VECTORS + 3));
        store.delete_index(&index).wait().expect("deleted");
    }
}

#[test]
fn a_damaged_superblock_costs_nothing() {
    // Either of the two.
    for place in [40, 4_096 + 40] {
        let closed = Closed::new();
        let mut bytes = fs::read(&closed.slots).expect("readable");
        bytes[place] ^= 1;
        fs::write(&closed.slots, bytes).expect("written");
        let (store, index) = closed.open();
        check_queries(&store, &index);
        store.close();
        assert_eq!(closed.damage(), Vec::<String>::new());
    }
}

#[test]
fn a_cut_slot_file_is_told_of_the_vectors_that_it_lost() {
    let closed = Closed::new();
    let bytes = fs::read(&closed.slots).expect("readable");
    let mut places: Vec<(usize, String)> =
        (VECTORS - 3..VECTORS).map(|number| (place_of(&bytes, number), key(number))).collect();
    places.sort();
    // In the middle of the last but one.
    fs::write(&closed.slots, &bytes[..places[1].0 + 100]).expect("written");
    let told = closed.damage();
    assert_eq!(told.len(), 2, "{told:?}");
    for (_, key) in &places[1..] {
        assert!(told.iter().any(|told| told.contains(key)), "{key}: {told:?}");
    }
}

#[test]
fn an_index_without_a_readable_slot_file_is_told_as_a_whole() {
    let damage: [fn(&Path); 4] = [
        |slots| {
            // In the batches of both commits that the file tells of: neither can be trusted.
            let mut bytes = fs::read(slots).expect("readable");
            for number in [500, VECTORS - 1] {
                let place = place_of(&bytes, number);
                bytes[place] ^= 1;
            }
            fs::write(slots, bytes).expect("written");
        },
        |slots| fs::remove_file(slots).expect("removed"),
        |slots| fs::write(slots, b"").expect("written"),
        |slots| {
            let mut bytes = fs::read(slots).expect("readable");
            bytes[..8_192].fill(0xee);
            fs::write(slots, bytes).expect("written");
        },
    ];
    for damage in damage {
        let closed = Closed::new();
        damage(&closed.slots);
        let told = closed.damage();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("media/films"), "{told:?}");
    }
}

#[test]
fn damaged_codes_are_no_damage_because_they_are_made_again() {
    let damage: [fn(&Path); 4] = [
        |codes| fs::remove_file(codes).expect("removed"),
        |codes| fs::write(codes, b"").expect("written"),
        |codes| {
            let bytes = fs::read(codes).expect("readable");
            fs::write(codes, &bytes[..bytes.len() / 2]).expect("written");
        },
        |codes| {
            let mut bytes = fs::read(codes).expect("readable");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(codes, bytes).expect("written");
        },
    ];
    for damage in damage {
        let closed = Closed::new();
        damage(&closed.codes);
        assert_eq!(closed.damage(), Vec::<String>::new());
        let closed = Closed::new();
        damage(&closed.codes);
        let (store, index) = closed.open();
        // They are made again in the background, and saved as they come.
        while !fs::metadata(&closed.codes).is_ok_and(|codes| codes.len() > 0) {
            check_queries(&store, &index);
        }
        check_queries(&store, &index);
        store.close();
    }
}
