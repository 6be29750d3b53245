//! What each operation fetches and claims, where its transactions run in pieces: a table.
//!
//! A number that grows is a round trip more where several processes share the key space.

use std::fmt::Write as _;
use std::sync::Arc;

use liteio_disk::SimulatedDisk;
use liteio_store::vectors::{CreateIndex, DistanceMetric, NewVectors, VectorName};
use liteio_store::{
    Cause, CopyOptions, DeleteTarget, ListQuery, ListVersionsQuery, NotificationRule,
    Notifications, ObjectId, Store, StoreConfig, VersionChange, Versioning,
};

use crate::harness::*;

/// A store without threads, which would fetch, too.
fn open() -> Store {
    let config = StoreConfig { runs_in_pieces: true, runs_twice: false, ..config(1) };
    let store = Store::open_on(Arc::new(SimulatedDisk::new(1)), config).expect("opens");
    create_bucket(&store, "bucket");
    let _ = store.fetches();
    store
}

/// The kinds of claims: key, bucket, upload, index; capital letters are not shared.
fn claims(claims: &[(Vec<u8>, bool)]) -> String {
    let letter = |(name, is_shared): &(Vec<u8>, bool)| {
        let kind = name.first().copied().map_or('?', char::from);
        if *is_shared { kind } else { kind.to_ascii_uppercase() }
    };
    claims.iter().map(letter).collect()
}

struct Table {
    store: Store,
    text: String,
}

impl Table {
    /// A line: fetches of the update and its claims, `+` fetches of snapshots.
    fn line<T>(&mut self, name: &str, operation: impl FnOnce(&Store) -> T) -> T {
        let _ = self.store.fetches();
        let result = operation(&self.store);
        let fetches = self.store.fetches();
        write!(self.text, "{name}:").expect("a string takes all text");
        for update in &fetches.updates {
            let line = format!(" {} {}", update.fetches, claims(&update.claims));
            self.text += line.trim_end();
        }
        if fetches.snapshots > 0 {
            write!(self.text, " +{}", fetches.snapshots).expect("a string takes all text");
        }
        self.text.push('\n');
        result
    }
}

fn list(store: &Store, delimiter: Option<&str>) {
    let delimiter = delimiter.map(str::to_owned);
    let query = ListQuery { delimiter, max: 1000, ..ListQuery::default() };
    let page = store.list_objects(&bucket(store, "bucket"), &query).expect("listed");
    assert!(!page.entries.is_empty());
}

#[test]
fn each_operation_fetches_and_claims_no_more_than_the_table_says() {
    let mut table = Table { store: open(), text: String::new() };
    // So that the bucket is in the cache.
    bucket(&table.store, "bucket");
    table.line("put new", |store| put(store, "a/1", b"1"));
    table.line("put over", |store| put(store, "a/1", b"2"));
    table.line("put with a blob", |store| put(store, "a/2", &bytes(1, 500)));
    table.line("get", |store| get(store, "a/1"));
    table.line("copy", |store| {
        let here = bucket(store, "bucket");
        let source = ObjectId { bucket: Arc::clone(&here), key: key("a/1"), version: None };
        store.copy_object(source, &here, key("b/1"), CopyOptions::default()).wait().expect("copied")
    });
    table.line("tags", |store| {
        let here = bucket(store, "bucket");
        let change = VersionChange::Tags(vec![("k".to_owned(), "v".to_owned())]);
        store.change_object(&here, key("a/1"), None, change, Cause::Unknown).wait().expect("set")
    });
    table.line("list", |store| list(store, None));
    table.line("list with a delimiter", |store| list(store, Some("/")));
    table.line("list versions with a delimiter", |store| {
        let delimiter = Some("/".to_owned());
        let query = ListVersionsQuery { delimiter, max: 1000, ..ListVersionsQuery::default() };
        store.list_versions(&bucket(store, "bucket"), &query).expect("listed")
    });
    table.line("delete", |store| delete(store, "b/1"));
    table.line("delete of nothing", |store| delete(store, "b/1"));
    for number in 0..8 {
        put(&table.store, &format!("several/{number}"), &bytes(1, 500));
    }
    table.line("delete several", |store| {
        let target = |number| DeleteTarget::new(key(&format!("several/{number}")), None);
        let targets = (0..8).map(target).collect();
        store.delete_objects(&bucket(store, "bucket"), targets).wait().expect("deleted")
    });
    let upload = table.line("create upload", |store| create_upload(store, "parts"));
    for number in [1, 2] {
        table.line("put part", |store| {
            put_part(store, "parts", &upload, number, &bytes(2, 100)).expect("put")
        });
    }
    table.line("complete with two parts", |store| {
        complete(store, "parts", &upload, &[1, 2]).expect("completed")
    });
    let upload = table.line("create upload", |store| create_upload(store, "parts"));
    table.line("abort", |store| {
        store.abort_upload(&bucket(store, "bucket"), &key("parts"), &upload).wait().expect("gone")
    });
    table.line("set versioning", |store| {
        let here = bucket(store, "bucket");
        store.set_versioning(&here, Versioning::Enabled).wait().expect("set")
    });
    bucket(&table.store, "bucket");
    table.line("put a version", |store| put(store, "a/1", b"3"));
    table.line("add a marker", |store| delete(store, "a/1"));
    table.line("put above a marker", |store| put(store, "a/1", b"4"));
    table.line("set notifications", |store| {
        let rule = NotificationRule {
            id: "rule".to_owned(),
            target: "target".to_owned(),
            events: vec!["ObjectCreated:*".to_owned()],
            prefix: String::new(),
            suffix: String::new(),
        };
        let rules = Notifications { rules: vec![rule], document: Vec::new() };
        let here = bucket(store, "bucket");
        store.set_notifications(&here, Some(rules), Cause::Unknown).wait().expect("set")
    });
    bucket(&table.store, "bucket");
    table.line("put with an event", |store| put(store, "a/3", b"1"));
    table.line("create bucket", |store| create_bucket(store, "other"));
    bucket(&table.store, "other");
    table.line("delete bucket", |store| delete_bucket(store, "other"));
    let vectors = VectorName::bucket("vectors").expect("a name");
    let vectors = table.line("create vector bucket", |store| {
        let new = store.create_vector_bucket(vectors, owner(), None, Vec::new());
        new.wait().expect("new")
    });
    let index = table.line("create index", |store| {
        let name = VectorName::index("index").expect("a name");
        let new = CreateIndex::new(2, DistanceMetric::Cosine);
        store.create_index(&vectors, name, new).wait().expect("new")
    });
    table.line("put two vectors", |store| {
        let mut vectors = NewVectors::default();
        vectors.push("one".to_owned(), &[1.0, 0.0]);
        vectors.push("two".to_owned(), &[0.0, 1.0]);
        store.put_vectors(&index, vectors).expect("put");
    });
    assert_eq!(table.text, TABLE, "\n{}", table.text);
}

const TABLE: &str = "\
put new: 2 bK
put over: 2 bK
put with a blob: 2 bK
get: +1
copy: 3 bKK +1
tags: 2 bK
list: +1
list with a delimiter: +1
list versions with a delimiter: +2
delete: 3 bK
delete of nothing: 2 bK
delete several: 18 bKKKKKKKK
create upload: 2 bK
put part: 3 bu
put part: 3 bu
complete with two parts: 6 UbKu
create upload: 2 bK
abort: 3 bU
set versioning: 2 b
put a version: 2 bK
add a marker: 2 bK
put above a marker: 3 bK
set notifications: 3 bQq
put with an event: 4 bKq
create bucket: 2
delete bucket: 6 B
create vector bucket: 2
create index: 3 b
put two vectors: 2 I +2
";
