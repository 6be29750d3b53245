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
        let backend = ClusterBackend {
            database: self.database.server(),
            blobs: self.blobs.clone(),
            server_name: format!("server {seed}"),
            deletion_grace: Default::default(),
        };
        let StoreConfig { backend, .. } = StoreConfig::cluster(backend);
        Store::open(StoreConfig {
            backend,
            clock: Arc::new(ManualClock::new(1_700_000_000_000)),
            random: Arc::new(SeededRandom::new(seed)),
            vector_cache: cache.clone(),
            runs_twice: false,
            runs_in_pieces: false,
            ..config(seed)
        })
        .expect("opens")
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
    let cache = VectorCache { snapshot_changes: 100, ..MEMORY };
    let [one, two] = [1, 2].map(|seed| cluster.server(seed, &cache));
    let index = create(&one, 2, DistanceMetric::Euclidean);
    let write_snapshot = |store: &Store| {
        // Asked for, and taken with the next beat.
        while store.write_vector_snapshots().expect("written") == 0 {
            store.beat().expect("a beat");
        }
    };
    put_many(&one, &index, 0..600);
    delete(&one, &index, "000007");
    write_snapshot(&one);
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
    write_snapshot(&one);
    put_many(&two, &index, 1_000..1_100);
    assert_eq!(figures(&two).loads, 1);
    assert_eq!(all(&two, &index).len(), 1_099);
    assert_eq!(figures(&two).loads, 1, "less than a snapshot behind");
    let late = cluster.server(3, &cache);
    assert_eq!(all(&late, &index), all(&one, &index));
    assert_eq!(figures(&late).changes, 100);
    while one.reclaim().is_err() {
        one.beat().expect("a beat");
    }
    assert_eq!(one.deletions_waiting(10).expect("read"), 0);
    let report = late.verify(&mut |_| {}).expect("verified");
    assert_eq!(report.damaged, []);
    // The blobs of a deleted index go, too.
    one.delete_index(&index).wait().expect("deleted");
    one.reclaim().expect("reclaimed");
    one.reclaim().expect("reclaimed");
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
        let bytes = std::fs::read(&file).expect("readable");
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
