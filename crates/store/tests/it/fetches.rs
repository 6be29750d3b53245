//! What each operation fetches and claims, where its transactions run in pieces: a table.
//!
//! A number that grows is a round trip more where several processes share the key space.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use liteio_disk::SimulatedDisk;
use liteio_store::vectors::{CreateIndex, DistanceMetric, NewVectors, VectorName};
use liteio_store::{
    AboutObject, Cause, CopyOptions, DeleteTarget, EtagCondition, ListQuery, ListVersionsQuery,
    NotificationRule, Notifications, ObjectId, PutOptions, Selection, Store, StoreConfig,
    StoreError, VersionChange, Versioning, WriteConditions,
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

/// Runs `request` as the server runs one about the object `a`, with the rows that were fetched with its begin.
/// Returns the fetches after that: of updates, and of snapshots.
fn request<T>(store: &Store, writes: bool, request: impl FnOnce() -> T) -> (T, usize, u64) {
    let about = AboutObject { bucket: "bucket", key: "a", writes };
    let agreed = now(store.agree(Some(about))).expect("answers").expect("over a database");
    let mut request = Some(request);
    let answer = agreed.ahead.around(poll_fn(|_| {
        let _ = store.fetches();
        let answer = request.take().expect("polled once")();
        let fetches = store.fetches();
        let updates = fetches.updates.iter().map(|update| update.fetches).sum();
        Poll::Ready((answer, updates, fetches.snapshots))
    }));
    now(answer)
}

#[test]
fn what_came_with_the_begin_of_a_request_is_not_fetched_again() {
    over_a_database_at_rest(|store| {
        // The first agreement forgets what was remembered before.
        request(store, true, || put(store, "a", b"1"));
        assert_eq!(request(store, false, || get(store, "a")), (b"1".to_vec(), 0, 0));
        let (_, updates, snapshots) = request(store, true, || put(store, "a", b"2"));
        assert_eq!((updates, snapshots), (0, 0));
        let ((), updates, _) = request(store, true, || delete(store, "a"));
        // The references of its body.
        assert_eq!(updates, 1);
        let (got, ..) = request(store, false, || try_get(store, "a", Selection::Whole));
        assert!(matches!(got, Err(StoreError::NoSuchKey { .. })), "{got:?}");
    });
}

#[test]
fn rows_of_the_begin_of_a_request_that_have_changed_decide_nothing() {
    over_a_database_at_rest(|store| {
        request(store, true, || put(store, "a", b"1"));
        let others = |work: &(dyn Fn() + Sync)| thread::scope(|scope| drop(scope.spawn(work)));
        // A request reads what was there when it began, or what is there.
        let (got, ..) = request(store, false, || {
            others(&|| drop(put(store, "a", b"2")));
            get(store, "a")
        });
        assert!(got == b"1" || got == b"2");
        // A condition is decided on what is there when it commits.
        delete(store, "a");
        let if_none_match = Some(EtagCondition::Any);
        let conditions = WriteConditions { if_none_match, ..WriteConditions::default() };
        let options = PutOptions { conditions, ..PutOptions::default() };
        let (refused, ..) = request(store, true, || {
            others(&|| drop(put(store, "a", b"3")));
            try_put(store, "a", b"4", options.clone())
        });
        assert!(matches!(refused, Err(StoreError::PreconditionFailed { .. })), "{refused:?}");
        // A reader sees what the request itself has written.
        let (got, ..) = request(store, true, || {
            put(store, "a", b"5");
            get(store, "a")
        });
        assert_eq!(got, b"5");
        // A long body has a blob, which is read only with a record that still names it.
        put(store, "a", &bytes(1, 500));
        let (got, ..) = request(store, false, || {
            others(&|| drop(put(store, "a", &bytes(2, 500))));
            others(&|| store.reclaim().map(drop).expect("deletes the first one"));
            get(store, "a")
        });
        assert!(got == bytes(1, 500) || got == bytes(2, 500));
    });
}

#[test]
fn operations_on_many_rows_fetch_them_together() {
    over_a_database_at_rest(|store| {
        let here = bucket(store, "bucket");
        let names: Vec<String> = (0..1000).map(|number| format!("{number:04}")).collect();
        for name in &names {
            put(store, name, b"1");
        }
        let targets = names.iter().map(|name| DeleteTarget::new(key(name), None)).collect();
        let deleted = store.delete_objects(&here, targets).wait().expect("they are deleted");
        assert!(deleted.iter().all(Result::is_ok));

        let upload = create_upload(store, "parts");
        let numbers: Vec<u16> = (1..=300).map(|number| 2 * number).collect();
        for number in &numbers {
            put_part(store, "parts", &upload, *number, &bytes(1, 9)).expect("put");
        }
        complete(store, "parts", &upload, &numbers).expect("completed");
        assert_eq!(get(store, "parts").len(), 2700);
    });
}

const TABLE: &str = "\
put new: 1 bK
put over: 1 bK
put with a blob: 1 bK
get: +1
copy: 1 bKK +1
tags: 1 bK
list: +1
list with a delimiter: +1
list versions with a delimiter: +2
delete: 2 bK
delete of nothing: 1 bK
delete several: 10 bKKKKKKKK
create upload: 1 bK
put part: 1 bu
put part: 1 bu
complete with two parts: 2 UbKu
create upload: 1 bK
abort: 2 bKU
set versioning: 2 b
put a version: 1 bK
add a marker: 1 bK
put above a marker: 2 bK
set notifications: 3 bQq
put with an event: 3 bKq
create bucket: 2
delete bucket: 7 B
create vector bucket: 2
create index: 3 b
put two vectors: 2 I +2
";
