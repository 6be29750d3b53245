//! Vectors of several servers over one database: what one of them acknowledges, all others find.

use std::path::Path;
use std::sync::Arc;

use liteio_kv::database::SimulatedDatabase;
use liteio_store::vectors::{
    CreateIndex, DistanceMetric, GetVectors, Index, ListVectors, MirrorFigures, NewVectors,
    VectorName, VectorQuery,
};
use liteio_store::{
    ClusterBackend, ClusterBlobs, ManualClock, SeededRandom, Store, StoreConfig, StoreError,
    VectorCache,
};

use crate::harness::config;
use crate::vectors::{bucket, create, put, refresh};

const MEMORY: VectorCache =
    VectorCache { directory: None, bytes_max: 64 << 20, snapshot_changes: 1_000_000 };

/// A database and blobs, and the servers over them.
struct Cluster {
    database: Arc<SimulatedDatabase>,
    blobs: ClusterBlobs,
}

impl Cluster {
    fn new() -> Self {
        Self { database: SimulatedDatabase::new(), blobs: ClusterBlobs::memory() }
    }

    /// A server, with a random source of this seed.
    fn server(&self, seed: u64, cache: &VectorCache) -> Store {
        Store::open(self.config(seed, cache)).expect("opens")
    }

    /// A server that does nothing by itself, and writes a snapshot after so many changes if it is told to.
    fn snapshot_writer(&self, snapshot_changes: u64) -> Store {
        let cache = VectorCache { snapshot_changes, ..MEMORY };
        Store::open_to_read(self.config(99, &cache)).expect("opens")
    }

    fn config(&self, seed: u64, cache: &VectorCache) -> StoreConfig {
        let backend = ClusterBackend {
            database: self.database.server(),
            blobs: self.blobs.clone(),
            server_name: format!("server {seed}"),
            deletion_grace: Default::default(),
        };
        let StoreConfig { backend, .. } = StoreConfig::cluster(backend);
        StoreConfig {
            backend,
            clock: Arc::new(ManualClock::new(1_700_000_000_000)),
            random: Arc::new(SeededRandom::new(seed)),
            vector_cache: cache.clone(),
            runs_twice: false,
            runs_in_pieces: false,
            ..config(seed)
        }
    }

    /// Servers with caches in memory.
    fn servers<const COUNT: usize>(&self) -> [Store; COUNT] {
        std::array::from_fn(|server| self.server(server as u64 + 1, &MEMORY))
    }
}

fn on_disk(directory: &Path) -> VectorCache {
    VectorCache { directory: Some(directory.to_owned()), ..MEMORY }
}

fn put_many(store: &Store, index: &Index, keys: std::ops::Range<usize>) {
    for begin in keys.clone().step_by(500) {
        let mut vectors = NewVectors::default();
        for number in begin..keys.end.min(begin + 500) {
            vectors.push(format!("{number:06}"), &vector(number));
        }
        store.put_vectors(index, vectors).expect("stored");
    }
}

fn vector(number: usize) -> [f32; 2] {
    [1.0 + number as f32, 1.0]
}

fn delete(store: &Store, index: &Index, key: &str) {
    store.delete_vectors(index, vec![key.to_owned()]).expect("deleted");
}

fn nearest(store: &Store, index: &Index, vector: &[f32]) -> Option<String> {
    let answer = store.query_vectors(index, &VectorQuery::nearest(vector.to_vec(), 1));
    answer.expect("an answer").hits.pop().map(|hit| hit.key)
}

fn get(store: &Store, index: &Index, key: &str) -> Option<Vec<f32>> {
    let query =
        GetVectors { keys: vec![key.to_owned()], with_elements: true, with_metadata: false };
    let mut found = store.get_vectors(index, &query).expect("an answer");
    found.pop().map(|vector| vector.elements.expect("elements"))
}

fn all(store: &Store, index: &Index) -> Vec<(String, Vec<f32>)> {
    let mut query = ListVectors { with_elements: true, ..ListVectors::default() };
    let mut all = Vec::new();
    loop {
        let page = store.list_vectors(index, &query).expect("a page");
        let vectors = page.vectors.into_iter();
        all.extend(vectors.map(|vector| (vector.key, vector.elements.expect("elements"))));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return all,
        }
    }
}

fn figures(store: &Store) -> MirrorFigures {
    store.mirror_figures().expect("one of several")
}

#[test]
fn every_server_finds_what_another_one_has_put_or_deleted() {
    let cluster = Cluster::new();
    let [one, two, three] = &cluster.servers();
    let index = create(one, 2, DistanceMetric::Euclidean);
    assert_eq!(nearest(two, &index, &[1.0, 0.0]), None);
    for round in 0..4 {
        for (writer, reader) in [(one, two), (two, three), (three, one)] {
            let key = format!("key {round}");
            put(writer, &index, &key, &[5.0, 1.0]);
            assert_eq!(nearest(reader, &index, &[5.0, 1.0]).as_ref(), Some(&key));
            put(reader, &index, &key, &[7.0, 1.0]);
            assert_eq!(get(writer, &index, &key), Some(vec![7.0, 1.0]));
            delete(writer, &index, &key);
            assert_eq!(all(reader, &index), []);
            assert_eq!(nearest(reader, &index, &[5.0, 1.0]), None);
        }
    }
    // A server that was never asked reads the log from its begin.
    put_many(one, &index, 0..3_000);
    let [late] = &cluster.servers();
    assert_eq!(nearest(late, &index, &vector(1_234)).as_deref(), Some("001234"));
    assert_eq!(all(late, &index), all(one, &index));
    assert_eq!(figures(late).behind, 0);
}

#[test]
fn a_deleted_index_is_gone_everywhere_and_one_of_its_name_is_another() {
    let cluster = Cluster::new();
    let [one, two] = &cluster.servers();
    let index = create(one, 2, DistanceMetric::Euclidean);
    put(one, &index, "old", &[1.0, 1.0]);
    assert_eq!(nearest(two, &index, &[1.0, 1.0]).as_deref(), Some("old"));
    one.delete_index(&index).wait().expect("deleted");
    let query = VectorQuery::nearest(vec![1.0, 1.0], 1);
    for store in [one, two] {
        let gone = store.query_vectors(&index, &query);
        assert!(matches!(gone, Err(StoreError::NoSuchIndex { .. })), "{gone:?}");
        let mut vectors = NewVectors::default();
        vectors.push("late", &[1.0, 1.0]);
        let refused = store.put_vectors(&index, vectors);
        assert!(matches!(refused, Err(StoreError::NoSuchIndex { .. })), "{refused:?}");
    }
    assert_eq!(figures(two).indexes, 0);
    let name = VectorName::index("films").expect("a name");
    let again = CreateIndex::new(3, DistanceMetric::Cosine);
    let again = two.create_index(&bucket(two), name, again).wait().expect("new");
    put(two, &again, "new", &[1.0, 1.0, 1.0]);
    assert_eq!(nearest(one, &again, &[1.0, 1.0, 1.0]).as_deref(), Some("new"));
}

#[test]
fn two_servers_that_write_at_once_lose_nothing() {
    let cluster = Cluster::new();
    let stores: [Store; 2] = cluster.servers();
    let index = create(&stores[0], 2, DistanceMetric::Euclidean);
    std::thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            let index = &index;
            scope.spawn(move || {
                for round in 0..40 {
                    // Busy is an answer: others were faster again and again.
                    let mut vectors = NewVectors::default();
                    vectors.push(format!("own {number} {round}"), &[1.0, 1.0]);
                    vectors.push("shared", &[number as f32, round as f32]);
                    while let Err(error) = store.put_vectors(index, vectors.clone()) {
                        assert!(matches!(error, StoreError::Busy), "{error}");
                    }
                    assert!(get(store, index, &format!("own {number} {round}")).is_some());
                }
            });
        }
    });
    let found = stores.each_ref().map(|store| all(store, &index));
    assert_eq!(found[0].len(), 81);
    assert_eq!(found[0], found[1]);
}

#[test]
fn snapshots_are_written_loaded_and_followed() {
    let cluster = Cluster::new();
    let [one, two] = cluster.servers();
    let index = create(&one, 2, DistanceMetric::Euclidean);
    let writer = cluster.snapshot_writer(100);
    let write_snapshot = || {
        // Seen as due, asked for, and taken with the next beat.
        all(&writer, &index);
        while writer.write_vector_snapshots().expect("written") == 0 {
            writer.beat().expect("a beat");
        }
    };
    put_many(&one, &index, 0..600);
    delete(&one, &index, "000007");
    write_snapshot();
    // Behind the snapshot.
    delete(&one, &index, "000008");
    put(&one, &index, "000009", &[-9.0, 1.0]);
    put(&one, &index, "000007", &[-7.0, 1.0]);
    let expected = all(&one, &index);
    assert_eq!(expected.len(), 599);
    assert_eq!(all(&two, &index), expected);
    assert_eq!(figures(&two).changes, 3, "the others are from the snapshot");
    // With the second one the log is kept from the first one on, and its blobs go.
    put_many(&one, &index, 600..1_000);
    write_snapshot();
    put_many(&two, &index, 1_000..1_100);
    assert_eq!(figures(&two).loads, 1);
    assert_eq!(all(&two, &index).len(), 1_099);
    assert_eq!(figures(&two).loads, 1, "less than a snapshot behind");
    let late = cluster.server(3, &MEMORY);
    assert_eq!(all(&late, &index), all(&one, &index));
    assert_eq!(figures(&late).changes, 100);
    let reclaim = || {
        // Later than all readers that may have seen what is deleted.
        cluster.database.advance(60_000);
        one.beat().expect("a beat");
        one.beat().expect("a beat");
        one.reclaim().expect("reclaimed");
    };
    reclaim();
    reclaim();
    assert_eq!(one.deletions_waiting(10).expect("read"), 0);
    let report = late.verify(&mut |_| {}).expect("verified");
    assert_eq!(report.damaged, []);
    // The blobs of a deleted index go, too.
    one.delete_index(&index).wait().expect("deleted");
    reclaim();
    reclaim();
    assert_eq!(one.deletions_waiting(10).expect("read"), 0);
    let report = one.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.damaged, report.orphans), (Vec::new(), 0));
}

#[test]
fn a_cache_on_a_disk_is_followed_after_a_start_and_made_anew_if_it_is_damaged() {
    let cluster = Cluster::new();
    let [one] = &cluster.servers();
    let index = create(one, 2, DistanceMetric::Euclidean);
    put_many(one, &index, 0..1_000);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = || cluster.server(2, &on_disk(directory.path()));
    let two = open();
    assert_eq!(all(&two, &index), all(one, &index));
    two.close();
    put_many(one, &index, 1_000..1_200);
    let two = open();
    assert_eq!(all(&two, &index), all(one, &index));
    assert_eq!((figures(&two).loads, figures(&two).changes), (0, 200));
    two.close();
    // Any file of it.
    let mut files = Vec::new();
    files_below(directory.path(), &mut files);
    assert!(files.iter().any(|file| file.extension().is_some_and(|it| it == "slots")), "{files:?}");
    for file in files {
        // One that is made anew may have another name.
        let Ok(bytes) = std::fs::read(&file) else { continue };
        for damaged in [Vec::new(), vec![0x55; bytes.len()], bytes[..bytes.len() / 2].to_vec()] {
            if std::fs::write(&file, &damaged).is_err() {
                continue;
            }
            let two = open();
            assert_eq!(nearest(&two, &index, &vector(77)).as_deref(), Some("000077"), "{file:?}");
            assert_eq!(all(&two, &index), all(one, &index), "{file:?}");
            two.close();
        }
    }
}

#[test]
fn a_cache_is_followed_or_made_anew_from_any_moment_of_its_files() {
    let cluster = Cluster::new();
    let [one] = &cluster.servers();
    let index = create(one, 2, DistanceMetric::Euclidean);
    put_many(one, &index, 0..3_000);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let two = cluster.server(2, &on_disk(directory.path()));
    for round in 0..6 {
        // Files as they are while changes are applied, as a kill leaves them, or worse: not of one moment.
        let copy = tempfile::tempdir().expect("a temporary directory");
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| nearest(&two, &index, &[0.0, 0.0]));
            copy_files(directory.path(), copy.path());
            reader.join().expect("an answer");
        });
        let three = cluster.server(10 + round, &on_disk(copy.path()));
        assert_eq!(nearest(&three, &index, &vector(77)).as_deref(), Some("000077"));
        assert_eq!(all(&three, &index), all(one, &index), "{round}");
        let begin = 3_000 + round as usize * 700;
        put_many(one, &index, begin..begin + 700);
        delete(one, &index, &format!("{begin:06}"));
    }
}

fn copy_files(from: &Path, to: &Path) {
    let mut files = Vec::new();
    files_below(from, &mut files);
    for file in files {
        let name = file.strip_prefix(from).expect("below");
        let target = to.join(name);
        std::fs::create_dir_all(target.parent().expect("a directory")).expect("made");
        // One that is removed meanwhile is missing.
        let _ = std::fs::copy(&file, target);
    }
}

fn files_below(directory: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files_below(&path, files),
            false => files.push(path),
        }
    }
}

#[test]
fn a_cache_that_has_what_a_failover_lost_is_made_anew() {
    let cluster = Cluster::new();
    let [one, two] = &cluster.servers();
    let index = create(one, 2, DistanceMetric::Euclidean);
    put_many(one, &index, 0..100);
    // More, as many, and fewer changes than the cache has.
    for after in [0, 1, 5] {
        put(one, &index, "lost", &[-5.0, 1.0]);
        let before = all(one, &index);
        assert_eq!(all(two, &index), before);
        cluster.database.fail_over(1);
        assert_eq!(get(two, &index, "lost"), None, "after {after}");
        let writer = cluster.server(10 + after, &MEMORY);
        for number in 0..after {
            put(&writer, &index, &format!("new {after} {number}"), &[-6.0, number as f32]);
        }
        let expected = all(&writer, &index);
        assert_eq!(expected.len(), before.len() - 1 + after as usize);
        for store in [one, two] {
            assert_eq!(all(store, &index), expected, "after {after}");
        }
    }
    assert!(figures(two).loads > 1, "{:?}", figures(two));
}

#[test]
fn an_index_id_that_is_given_again_after_a_failover_has_no_vectors_of_the_lost_index() {
    let cluster = Cluster::new();
    let [one, two] = &cluster.servers();
    let films = create(one, 2, DistanceMetric::Euclidean);
    let name = |name: &str| VectorName::index(name).expect("a name");
    let options = |dimension| CreateIndex::new(dimension, DistanceMetric::Euclidean);
    let lost = one.create_index(&bucket(one), name("lost"), options(2)).wait().expect("new");
    // Without a vector: both logs are empty.
    assert_eq!(nearest(two, &lost, &[1.0, 1.0]), None);
    cluster.database.fail_over(1);
    let third = cluster.server(3, &MEMORY);
    let again = third.create_index(&bucket(&third), name("again"), options(3)).wait();
    let again = again.expect("new");
    assert_eq!(again.id, lost.id);
    assert_eq!(nearest(two, &again, &[1.0, 1.0, 1.0]), None);
    put(&third, &again, "third", &[1.0, 1.0, 1.0]);
    assert_eq!(nearest(two, &again, &[1.0, 1.0, 1.0]).as_deref(), Some("third"));
    assert_eq!(nearest(two, &films, &[1.0, 1.0]), None);
}

#[test]
fn a_small_cache_drops_what_was_not_used_lately() {
    let cluster = Cluster::new();
    let [one] = &cluster.servers();
    let first = create(one, 2, DistanceMetric::Euclidean);
    let name = VectorName::index("other").expect("a name");
    let options = CreateIndex::new(2, DistanceMetric::Euclidean);
    let other = one.create_index(&bucket(one), name, options).wait().expect("new");
    for index in [&first, &other] {
        put_many(one, index, 0..600);
    }
    let two = cluster.server(2, &VectorCache { bytes_max: 200_000, ..MEMORY });
    for _ in 0..2 {
        for index in [&first, &other] {
            assert_eq!(nearest(&two, index, &vector(5)).as_deref(), Some("000005"));
            let found = figures(&two);
            assert!(found.indexes == 1 && found.bytes <= 200_000, "{found:?}");
        }
    }
    assert_eq!((figures(&two).loads, figures(&two).dropped), (4, 3));
    // One that is too large for it is searched nevertheless.
    let three = cluster.server(3, &VectorCache { bytes_max: 1, ..MEMORY });
    assert_eq!(all(&three, &refresh(&three, &first)).len(), 600);
}
