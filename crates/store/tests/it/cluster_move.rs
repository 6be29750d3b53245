//! Moves between a directory and several servers over a simulated database.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use liteio_kv::database::{Database as _, Faults, SimulatedDatabase, Want};
use liteio_store::cluster_move::{MoveSource, Moved, move_out};
use liteio_store::vectors::{
    CreateIndex, DistanceMetric, Index, ListVectors, NewVectors, StoredVector, VectorName,
    VectorQuery,
};
use liteio_store::{
    ClusterBackend, ClusterBlobs, IdentityEntry, Selection, Store, StoreConfig, StoreError,
    VectorCache,
};

use crate::harness::{
    bucket, bytes, complete, config, create_bucket, create_upload, get, name, on_directory, put,
    put_into, put_part, try_get,
};
use crate::vectors;

fn backend(database: &Arc<SimulatedDatabase>, blobs: &ClusterBlobs) -> ClusterBackend {
    ClusterBackend {
        database: Arc::clone(database) as _,
        blobs: blobs.clone(),
        server_name: "server".to_owned(),
        deletion_grace: Default::default(),
    }
}

fn server(backend: &ClusterBackend) -> Result<Store, StoreError> {
    let StoreConfig { backend, .. } = StoreConfig::cluster(backend.clone());
    Store::open(StoreConfig { backend, runs_twice: false, runs_in_pieces: false, ..config(9) })
}

fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::InvalidRequest { message }) => message,
        other => panic!("{other:?}"),
    }
}

/// Bodies by their keys: in the record, in a row, in a segment and in a file.
fn bodies() -> Vec<(String, Vec<u8>)> {
    let lengths = [0, 10, 40, 500, 90_000, 2_000_000];
    let body = |(seed, length)| (format!("object {length}"), bytes(seed, length));
    (0..).zip(lengths).map(body).collect()
}

fn fill(path: &Path) {
    let store = Store::open(on_directory(path)).expect("opens");
    create_bucket(&store, "bucket");
    for (object, body) in bodies() {
        put(&store, &object, &body);
    }
    (0..1500).for_each(|number| drop(put(&store, &format!("small {number:04}"), b"small")));
    let upload = create_upload(&store, "parts");
    put_part(&store, "parts", &upload, 1, &[7; 500]).expect("a part");
    put_part(&store, "parts", &upload, 2, b"the end").expect("a part");
    complete(&store, "parts", &upload, &[1, 2]).expect("completed");
    let open = create_upload(&store, "open");
    put_part(&store, "open", &open, 1, &[8; 500]).expect("a part");
    let entry = IdentityEntry { key: b"alice".to_vec(), value: Some(b"1".to_vec()) };
    store.change_identities(vec![entry], None).wait().expect("changed");
    fill_vectors(&store);
    store.close();
}

/// Vectors of several commits, some of which were replaced and deleted, and an index without any.
fn fill_vectors(store: &Store) {
    let index = vectors::create(store, 2, DistanceMetric::Euclidean);
    for begin in [0, 400, 800] {
        let mut new = NewVectors::default();
        (begin..begin + 400).for_each(|it| new.push(format!("{it:06}"), &[it as f32, 1.0]));
        store.put_vectors(&index, new).expect("stored");
    }
    vectors::put(store, &index, "000007", &[-7.0, 1.0]);
    store.delete_vectors(&index, vec!["000008".to_owned()]).expect("deleted");
    let options = CreateIndex::new(3, DistanceMetric::Cosine);
    let name = VectorName::index("empty").expect("a name");
    store.create_index(&vectors::bucket(store), name, options).wait().expect("new");
}

/// Writes a snapshot of the vectors by a server of its own.
fn write_snapshot(backend: &ClusterBackend) {
    let StoreConfig { backend, .. } = StoreConfig::cluster(backend.clone());
    let vector_cache = VectorCache { snapshot_changes: 1_000, ..VectorCache::default() };
    let config = StoreConfig { backend, vector_cache, runs_twice: false, ..config(8) };
    let store =
        Store::open_to_read(StoreConfig { runs_in_pieces: false, ..config }).expect("opens");
    all_vectors(&store);
    while store.write_vector_snapshots().expect("written") == 0 {
        store.beat().expect("a beat");
    }
    store.close();
}

fn index(store: &Store, name: &str) -> Index {
    let name = VectorName::index(name).expect("a name");
    store.index(&vectors::bucket(store), &name).expect("there")
}

/// All vectors, with their keys and metadata.
fn all_vectors(store: &Store) -> Vec<StoredVector> {
    let index = index(store, "films");
    let mut query =
        ListVectors { with_elements: true, with_metadata: true, ..ListVectors::default() };
    let mut all = Vec::new();
    loop {
        let mut page = store.list_vectors(&index, &query).expect("a page");
        all.append(&mut page.vectors);
        query.after = page.next;
        if query.after.is_none() {
            return all;
        }
    }
}

fn nearest(store: &Store, vector: &[f32]) -> String {
    let query = VectorQuery::nearest(vector.to_vec(), 1);
    let mut found = store.query_vectors(&index(store, "films"), &query).expect("an answer");
    found.hits.pop().expect("one").key
}

fn check(store: &Store) {
    for (object, body) in bodies() {
        assert!(get(store, &object) == body, "{object}");
    }
    assert_eq!(get(store, "parts"), [&[7; 500][..], b"the end"].concat());
    assert_eq!(store.identities().expect("read").entries.len(), 1);
    assert_eq!(all_vectors(store).len(), 1_199);
    assert_eq!(nearest(store, &[-7.0, 1.0]), "000007");
    let empty = VectorQuery::nearest(vec![1.0; 3], 1);
    assert_eq!(store.query_vectors(&index(store, "empty"), &empty).expect("empty").hits, []);
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.damaged.len(), report.orphans), (0, 0), "{report:?}");
}

fn usage(store: &Store) -> u64 {
    store.bucket_usage(&bucket(store, "bucket")).expect("read").usage.objects
}

fn into(path: &Path, to: &ClusterBackend) -> Result<Moved, StoreError> {
    MoveSource::open(on_directory(path))?.move_into(to, &mut |_| {})
}

#[test]
fn a_directory_moves_into_a_cluster_and_back() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fill(directory.path());
    let (database, blobs) = (SimulatedDatabase::new(), ClusterBlobs::memory());
    let moved = into(directory.path(), &backend(&database, &blobs)).expect("moved");
    assert_eq!((moved.written, moved.left_out), (moved.pairs, 0), "{moved:?}");
    assert!(moved.blobs >= 5, "{moved:?}");
    let again = refusal(into(directory.path(), &backend(&database.server(), &blobs)));
    assert!(again.contains("has the data of this directory already"), "{again}");

    let store = server(&backend(&database.server(), &blobs)).expect("opens");
    check(&store);
    let before = usage(&store);
    put(&store, "new", &[9; 500]);
    put_into(&store, "bucket", "object 500", b"another");
    assert_eq!(usage(&store), before + 1);
    // A snapshot, and changes behind it.
    vectors::put(&store, &index(&store, "films"), "more", &[-8.0, 1.0]);
    write_snapshot(&backend(&database.server(), &blobs));
    vectors::put(&store, &index(&store, "films"), "000009", &[-9.0, 1.0]);
    vectors::put(&store, &index(&store, "films"), "new", &[-10.0, 1.0]);
    let gone = vec!["000010".to_owned(), "more".to_owned()];
    store.delete_vectors(&index(&store, "films"), gone).expect("deleted");
    let vectors = all_vectors(&store);
    let to = backend(&database.server(), &blobs);
    let back = tempfile::tempdir().expect("a temporary directory");
    let out = |path: &Path| move_out(&to, on_directory(path), &mut |_| {});
    let running = refusal(out(back.path()));
    assert!(running.contains("runs: stop all of them"), "{running}");
    assert_eq!(back.path().read_dir().expect("listed").count(), 0, "nothing was changed");
    store.close();

    let moved = out(back.path()).expect("moved");
    assert_eq!((moved.written, moved.left_out), (moved.pairs, 0), "{moved:?}");
    let store = Store::open(on_directory(back.path())).expect("opens");
    assert_eq!(get(&store, "new"), [9; 500]);
    assert_eq!(get(&store, "object 500"), b"another");
    assert_eq!(usage(&store), before + 1);
    assert_eq!(all_vectors(&store), vectors);
    assert_eq!(nearest(&store, &[-9.0, 1.0]), "000009");
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.damaged.len(), report.orphans), (0, 0), "{report:?}");
    store.close();
    assert!(refusal(out(back.path())).contains("not empty"));
}

#[test]
fn an_interrupted_move_goes_on_and_no_server_starts_meanwhile() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fill(directory.path());
    let (database, blobs) = (SimulatedDatabase::new(), ClusterBlobs::memory());
    // Interrupted after its first page, as by a kill.
    let interrupted = catch_unwind(AssertUnwindSafe(|| {
        let source = MoveSource::open(on_directory(directory.path())).expect("opens");
        source.move_into(&backend(&database, &blobs), &mut |_| panic!("interrupted"))
    }));
    interrupted.expect_err("interrupted");
    let unfinished = refusal(server(&backend(&database.server(), &blobs)));
    assert!(unfinished.contains("is not finished"), "{unfinished}");
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let out =
        move_out(&backend(&database.server(), &blobs), on_directory(elsewhere.path()), &mut |_| {});
    assert!(refusal(out).contains("is not finished"));

    // The directory may be used in between: what has changed is moved anew.
    let store = Store::open(on_directory(directory.path())).expect("opens");
    put(&store, "small 0000", &[6; 500]);
    store.close();
    let moved = into(directory.path(), &backend(&database.server(), &blobs)).expect("moved");
    assert!(moved.written < moved.pairs - 900, "most was there: {moved:?}");
    let store = server(&backend(&database.server(), &blobs)).expect("opens");
    check(&store);
    assert_eq!(get(&store, "small 0000"), [6; 500]);
    store.close();
}

#[test]
fn a_cluster_with_data_or_servers_and_directories_of_others_are_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fill(directory.path());
    let (database, blobs) = (SimulatedDatabase::new(), ClusterBlobs::memory());
    // Another store is made at another time.
    database.advance(1000);
    let store = server(&backend(&database, &blobs)).expect("opens");
    let running = refusal(into(directory.path(), &backend(&database.server(), &blobs)));
    assert!(running.contains("runs: stop all of them"), "{running}");
    create_bucket(&store, "other");
    store.close();
    let filled = refusal(into(directory.path(), &backend(&database.server(), &blobs)));
    assert!(filled.contains("has data already: create another"), "{filled}");
    let store = server(&backend(&database.server(), &blobs)).expect("opens as before");
    store.bucket(&name("other")).expect("still there");
    store.close();

    let in_use = Store::open(on_directory(directory.path())).expect("opens");
    let (database, blobs) = (SimulatedDatabase::new(), ClusterBlobs::memory());
    let refused = into(directory.path(), &backend(&database, &blobs));
    assert!(matches!(refused, Err(StoreError::InUse { .. })), "{refused:?}");
    in_use.close();
    let fetched = database.fetch(&[Want::Rows {
        lower: Vec::new(),
        upper: None,
        max: 1,
        is_backward: false,
    }]);
    let fetched = format!("{:?}", fetched.expect("fetched").answers);
    assert!(fetched.contains("rows: []"), "nothing was changed: {fetched}");
}

#[test]
fn a_damaged_body_is_left_out_and_told() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fill(directory.path());
    let mut files = Vec::new();
    for prefix in directory.path().join("blobs").read_dir().expect("listed") {
        let prefix = prefix.expect("an entry").path();
        if prefix.file_name().is_some_and(|name| name.len() == 2) {
            files.extend(prefix.read_dir().expect("listed").map(|it| it.expect("an entry").path()));
        }
    }
    let largest = files.iter().max_by_key(|file| file.metadata().expect("a file").len());
    std::fs::write(largest.expect("a file"), b"damaged").expect("written");
    let (database, blobs) = (SimulatedDatabase::new(), ClusterBlobs::memory());
    let moved = into(directory.path(), &backend(&database, &blobs)).expect("moved");
    assert_eq!((moved.left_out, moved.reasons.len()), (1, 1), "{moved:?}");
    let store = server(&backend(&database.server(), &blobs)).expect("opens");
    assert!(try_get(&store, "object 2000000", Selection::Whole).is_err());
    assert_eq!(get(&store, "object 500"), bytes(3, 500));
    store.close();
}

#[test]
fn a_move_over_a_database_that_fails_now_and_then_ends_after_some_attempts() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fill(directory.path());
    let (database, blobs) = (SimulatedDatabase::new(), ClusterBlobs::memory());
    let mut attempts = 0;
    loop {
        database.set_faults(Faults { seed: attempts, fetches: 50, ..Faults::default() });
        let moved = into(directory.path(), &backend(&database.server(), &blobs));
        database.set_faults(Faults::default());
        attempts += 1;
        match moved {
            Ok(moved) => break assert_eq!(moved.left_out, 0),
            Err(_) if attempts < 1000 => {}
            Err(error) => panic!("{error}"),
        }
    }
    let store = server(&backend(&database.server(), &blobs)).expect("opens");
    check(&store);
    store.close();
}
