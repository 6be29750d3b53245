//! Catalogs of buckets: namespaces, tables, views, and commits of several tables.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::thread;

use liteio_store::tables::{
    CatalogChanges, CatalogError, Expected, KeyedAnswer, NameRange, NamespaceName, NamespaceWalk,
    NewMetadata, PropertyChange, Purge, Table, TableChange, TableDrop, TableKind, TableName,
    TableWalk,
};
use liteio_store::{BucketId, DeleteTarget, PutOptions, Store, StoreError};

use crate::harness::*;

fn namespace(path: &str) -> NamespaceName {
    NamespaceName::new(path.split('.').map(str::to_owned).collect()).expect("a namespace")
}

fn table(path: &str) -> TableName {
    let (levels, name) = path.rsplit_once('.').expect("a namespace and a name");
    TableName::new(namespace(levels), name.to_owned()).expect("a name")
}

fn create(store: &Store, path: &str) -> Result<(), StoreError> {
    store.create_namespace(&bucket(store, "bucket"), namespace(path), BTreeMap::new()).wait()
}

fn location(key: &str) -> String {
    format!("s3://bucket/{key}")
}

/// The id of a new table.
fn id_of(path: &str) -> [u8; 16] {
    let mut id = [7; 16];
    id.iter_mut().zip(path.bytes()).for_each(|(byte, other)| *byte = other);
    id
}

/// A change of a table or view to metadata with this key, which it writes.
fn change(
    store: &Store,
    kind: TableKind,
    path: &str,
    expected: Expected,
    file: &str,
) -> TableChange {
    let metadata = NewMetadata {
        key: key(file),
        body: stage(store, &[b'x'; INLINE_BYTES + 10]).expect("staged"),
        options: PutOptions::default(),
    };
    TableChange::new(kind, table(path), expected, id_of(path), location(file))
        .with_metadata(metadata)
}

fn commit(store: &Store, changes: Vec<TableChange>) -> Result<Vec<Table>, StoreError> {
    store.commit_tables(&bucket(store, "bucket"), changes).wait()
}

fn create_table(store: &Store, path: &str, file: &str) -> Result<Vec<Table>, StoreError> {
    commit(store, vec![change(store, TableKind::Table, path, Expected::Missing, file)])
}

fn load(store: &Store, kind: TableKind, path: &str) -> Result<Table, StoreError> {
    store.table(&bucket(store, "bucket"), kind, &table(path))
}

fn all(max: usize) -> NameRange {
    NameRange { after: None, max }
}

fn names(store: &Store, kind: TableKind, path: &str) -> Vec<String> {
    let page = store.list_tables(&bucket(store, "bucket"), kind, &namespace(path), &all(100));
    page.expect("listed").names
}

/// The refusal of a catalog.
fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> CatalogError {
    match result {
        Err(StoreError::Catalog(error)) => error,
        other => panic!("no refusal of the catalog: {other:?}"),
    }
}

#[test]
fn namespaces_are_nested_and_go_when_they_are_empty() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        create(store, "a").expect("created");
        create(store, "a.b").expect("created");
        create(store, "ab").expect("created");
        let exists = CatalogError::NamespaceExists { namespace: "a.b".to_owned() };
        assert_eq!(refused(create(store, "a.b")), exists);
        let missing = CatalogError::NoSuchNamespace { namespace: "no".to_owned() };
        assert_eq!(refused(create(store, "no.b")), missing);
        assert_eq!(refused(store.namespace(&here, &namespace("no"))), missing);
        let list = |parent: Option<&str>| {
            let parent = parent.map(namespace);
            let page = store.list_namespaces(&here, parent.as_ref(), &all(100)).expect("listed");
            page.namespaces.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(list(None), ["a", "ab"]);
        assert_eq!(list(Some("a")), ["a.b"]);
        assert!(store.list_namespaces(&here, Some(&namespace("no")), &all(1)).is_err());

        let not_empty = CatalogError::NamespaceNotEmpty { namespace: "a".to_owned() };
        assert_eq!(refused(store.drop_namespace(&here, namespace("a")).wait()), not_empty);
        store.drop_namespace(&here, namespace("a.b")).wait().expect("empty");
        create_table(store, "a.t", "t/0").expect("created");
        assert_eq!(refused(store.drop_namespace(&here, namespace("a")).wait()), not_empty);
        store.drop_table(&here, TableKind::Table, table("a.t")).wait().expect("dropped");
        store.drop_namespace(&here, namespace("a")).wait().expect("empty");
        assert_eq!(list(None), ["ab"]);
    });
}

#[test]
fn properties_of_a_namespace_are_removed_and_set() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let properties = pairs(&[("a", "1"), ("b", "2")]);
        store.create_namespace(&here, namespace("n"), properties).wait().expect("created");
        let removals = vec!["a".to_owned(), "x".to_owned()];
        let change = PropertyChange { removals, updates: pairs(&[("b", "3"), ("c", "4")]) };
        let removed = store.set_namespace_properties(&here, namespace("n"), change).wait();
        assert_eq!(removed.expect("changed"), ["a"]);
        let found = store.namespace(&here, &namespace("n")).expect("there");
        assert_eq!(found.properties, pairs(&[("b", "3"), ("c", "4")]));
    });
}

#[test]
fn a_commit_moves_all_of_its_tables_or_none_and_leaves_no_file_behind() {
    on_every_backend(|store| {
        create(store, "n").expect("created");
        create_table(store, "n.one", "one/0").expect("created");
        create_table(store, "n.two", "two/0").expect("created");
        let at = |file: &str| Expected::Location(location(file));
        let table = TableKind::Table;
        let both = |one: &str, two: &str, version: u8| {
            vec![
                change(store, table, "n.one", at(one), &format!("one/{version}")),
                change(store, table, "n.two", at(two), &format!("two/{version}")),
            ]
        };
        commit(store, both("one/0", "two/0", 1)).expect("both");
        let changed = CatalogError::Changed { name: "n.two".to_owned() };
        assert_eq!(refused(commit(store, both("one/1", "two/0", 2))), changed);
        for (path, file) in [("n.one", "one/1"), ("n.two", "two/1")] {
            assert_eq!(load(store, table, path).expect("there").location, location(file));
            get(store, file);
        }
        for file in ["one/2", "two/2"] {
            let missing = store.find_object(&bucket(store, "bucket"), &key(file), None);
            assert!(matches!(missing, Err(StoreError::NoSuchKey { .. })), "{file}");
        }
        let twice = vec![
            change(store, table, "n.one", at("one/1"), "one/3"),
            change(store, table, "n.one", at("one/1"), "one/4"),
        ];
        assert!(matches!(refused(commit(store, twice)), CatalogError::InvalidCommit(_)));
        assert!(matches!(refused(commit(store, Vec::new())), CatalogError::InvalidCommit(_)));
        let gone = vec![change(store, table, "n.no", at("no/0"), "no/1")];
        let missing = CatalogError::NoSuchTable { table: "n.no".to_owned() };
        assert_eq!(refused(commit(store, gone)), missing);
        let missing = CatalogError::NoSuchNamespace { namespace: "no".to_owned() };
        assert_eq!(refused(create_table(store, "no.t", "no/0")), missing);
        assert!(store.verify(&mut |_| {}).expect("verified").damaged.is_empty());
    });
}

#[test]
fn tables_and_views_share_their_names() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        create(store, "n").expect("created");
        create(store, "m").expect("created");
        create_table(store, "n.t", "t/0").expect("created");
        let view = |path: &str, file: &str| {
            commit(store, vec![change(store, TableKind::View, path, Expected::Missing, file)])
        };
        let taken = |name: &str, by| CatalogError::NameTaken { name: name.to_owned(), by };
        assert_eq!(refused(view("n.t", "v/0")), taken("n.t", "table"));
        let exists = CatalogError::TableExists { name: "n.t".to_owned() };
        assert_eq!(refused(create_table(store, "n.t", "t/1")), exists);
        view("n.v", "v/0").expect("created");
        assert_eq!(refused(create_table(store, "n.v", "t/1")), taken("n.v", "view"));
        let rename = |kind, from: &str, to: &str| {
            store.rename_table(&here, kind, table(from), table(to)).wait()
        };
        let (from, to) = ("n.t".to_owned(), "n.v".to_owned());
        let taken = CatalogError::RenameTaken { from, to, by: "View" };
        assert_eq!(refused(rename(TableKind::Table, "n.t", "n.v")), taken);
        let missing = CatalogError::NoSuchView { view: "n.t".to_owned() };
        assert_eq!(refused(rename(TableKind::View, "n.t", "n.x")), missing);
        let missing = CatalogError::NoSuchNamespace { namespace: "no".to_owned() };
        assert_eq!(refused(rename(TableKind::Table, "n.t", "no.t")), missing);
        rename(TableKind::Table, "n.t", "m.t").expect("renamed");
        assert_eq!(names(store, TableKind::Table, "n"), [""; 0]);
        assert_eq!(names(store, TableKind::Table, "m"), ["t"]);
        assert_eq!(names(store, TableKind::View, "n"), ["v"]);
        let moved = load(store, TableKind::Table, "m.t").expect("there");
        assert_eq!((moved.uuid, &*moved.location), (id_of("n.t"), &*location("t/0")));
        assert!(load(store, TableKind::View, "m.t").is_err());
        let dropped = store.drop_table(&here, TableKind::View, table("n.v")).wait();
        assert_eq!(dropped.expect("dropped").location, location("v/0"));
        assert!(load(store, TableKind::View, "n.v").is_err());
    });
}

#[test]
fn of_many_writers_of_one_state_one_wins() {
    let store = Store::open(config(1)).expect("memory");
    create_bucket(&store, "bucket");
    create(&store, "n").expect("created");
    create_table(&store, "n.t", "t/0").expect("created");
    let writers: Vec<_> = (1..9)
        .map(|number| {
            let store = store.clone();
            thread::spawn(move || {
                let expected = Expected::Location(location("t/0"));
                let file = format!("t/{number}");
                commit(&store, vec![change(&store, TableKind::Table, "n.t", expected, &file)])
            })
        })
        .collect();
    let results: Vec<_> = writers.into_iter().map(|it| it.join().expect("no panic")).collect();
    let mut won = results.iter().filter_map(|result| result.as_ref().ok());
    let winner = won.next().expect("one")[0].location.clone();
    assert!(won.next().is_none());
    for lost in results.into_iter().filter(Result::is_err) {
        assert_eq!(refused(lost), CatalogError::Changed { name: "n.t".to_owned() });
    }
    assert_eq!(load(&store, TableKind::Table, "n.t").expect("there").location, winner);
}

#[test]
fn many_tables_are_listed_in_pages() {
    let store = Store::open(config(1)).expect("memory");
    create_bucket(&store, "bucket");
    create(&store, "n").expect("created");
    let here = bucket(&store, "bucket");
    for number in 0..2_500_u32 {
        let name = table(&format!("n.t{number:05}"));
        let uuid = u128::from(number).to_be_bytes();
        let new = TableChange::new(TableKind::Table, name, Expected::Missing, uuid, location("x"));
        store.commit_tables(&here, vec![new]).wait().expect("created");
    }
    let (mut range, mut sizes, mut last) = (all(1_000_000), Vec::new(), String::new());
    loop {
        let page = store.list_tables(&here, TableKind::Table, &namespace("n"), &range);
        let page = page.expect("listed");
        sizes.push(page.names.len());
        assert!(page.names.is_sorted() && page.names[0] > last);
        last = page.names.last().expect("some").clone();
        match page.next {
            Some(next) => range.after = Some(next),
            None => break,
        }
    }
    assert_eq!(sizes, [1000, 1000, 500]);
}

#[test]
fn a_bucket_goes_with_its_catalog_only_when_that_is_empty() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        create(store, "n").expect("created");
        let refused = store.delete_bucket(&here).wait();
        assert!(matches!(refused, Err(StoreError::BucketNotEmpty { .. })));
        store.drop_namespace(&here, namespace("n")).wait().expect("empty");
        delete_bucket(store, "bucket");
        assert!(matches!(
            store.create_namespace(&here, namespace("n"), BTreeMap::new()).wait(),
            Err(StoreError::NoSuchBucket { .. })
        ));
        // The next bucket of that name has none of it.
        create_bucket(store, "bucket");
        let here = bucket(store, "bucket");
        assert!(store.namespace(&here, &namespace("n")).is_err());
        create(store, "n").expect("created");
        store.reset_bucket(&here.name, Vec::new()).expect("reset");
        assert!(store.namespace(&bucket(store, "bucket"), &namespace("n")).is_err());
    });
}

#[test]
fn a_catalog_is_there_after_a_restart() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = || Store::open(on_directory(directory.path())).expect("opens");
    let store = open();
    create_bucket(&store, "bucket");
    create(&store, "n").expect("created");
    create_table(&store, "n.t", "t/0").expect("created");
    store.close();
    let store = open();
    assert_eq!(load(&store, TableKind::Table, "n.t").expect("there").location, location("t/0"));
    assert!(store.verify(&mut |_| {}).expect("verified").damaged.is_empty());
}

#[test]
fn records_are_walked_in_pages_over_one_namespace_or_all() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        for name in ["b", "a", "a.x", "ab"] {
            create(store, name).expect("created");
        }
        let tables = ["a.s", "a.t1", "a.t2", "a.x.t3", "ab.t4", "b.u"];
        for path in tables {
            create_table(store, path, &format!("{path}/0")).expect("created");
        }
        commit(store, vec![change(store, TableKind::View, "a.t9", Expected::Missing, "v/0")])
            .expect("created");
        let walk = |of: Option<&str>, prefix: &str, max| {
            let mut walk = TableWalk {
                namespace: of.map(namespace),
                prefix: prefix.to_owned(),
                after: None,
                max,
            };
            let mut found = Vec::new();
            loop {
                let page = store.walk_tables(&here, &walk).expect("a page");
                assert!(page.tables.len() <= max);
                found.extend(page.tables.iter().map(|table| table.name.to_string()));
                match page.next {
                    Some(next) => walk.after = Some(next),
                    None => return found,
                }
            }
        };
        for max in [1, 2, 100] {
            assert_eq!(walk(None, "", max), tables);
            assert_eq!(walk(None, "t", max), ["a.t1", "a.t2", "a.x.t3", "ab.t4"]);
            assert_eq!(walk(Some("a"), "", max), ["a.s", "a.t1", "a.t2"]);
            assert_eq!(walk(Some("a"), "t", max), ["a.t1", "a.t2"]);
            assert_eq!(walk(Some("a"), "z", max), [""; 0]);
        }
        // A position elsewhere.
        for (of, after, expected) in [("a", "b.u", 0), ("b", "a.s", 1)] {
            let (namespace, after) = (Some(namespace(of)), Some(table(after)));
            let walk = TableWalk { namespace, prefix: String::new(), after, max: 9 };
            assert_eq!(store.walk_tables(&here, &walk).expect("a page").tables.len(), expected);
        }
        let missing = CatalogError::NoSuchNamespace { namespace: "no".to_owned() };
        let namespace = Some(namespace("no"));
        let no = TableWalk { namespace, prefix: String::new(), after: None, max: 1 };
        assert_eq!(refused(store.walk_tables(&here, &no)), missing);
        let namespaces = |prefix: &str, after: Option<&str>, max| {
            let after = after.map(str::to_owned);
            let page = NamespaceWalk { prefix: prefix.to_owned(), after, max };
            let page = store.walk_namespaces(&here, &page).expect("a page");
            let names = page.namespaces.iter().map(|it| it.name.to_string());
            (names.collect::<Vec<_>>(), page.next)
        };
        let all = ["a", "ab", "b"].map(str::to_owned).to_vec();
        assert_eq!(namespaces("", None, 9), (all.clone(), None));
        assert_eq!(namespaces("", None, 2), (all[..2].to_vec(), Some("ab".to_owned())));
        assert_eq!(namespaces("", Some("ab"), 2), (all[2..].to_vec(), None));
        assert_eq!(namespaces("a", None, 9), (all[..2].to_vec(), None));
        assert_eq!(namespaces("a", Some("b"), 9), (Vec::new(), None));
    });
}

#[test]
fn a_table_keeps_its_id_and_is_found_by_it() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        create(store, "n").expect("created");
        create_table(store, "n.t", "t/0").expect("created");
        let expected = Expected::Location(location("t/0"));
        let (kind, id) = (TableKind::Table, [8; 16]);
        let next = TableChange::new(kind, table("n.t"), expected, id, location("t/1"));
        let committed = store.commit_tables(&here, vec![next]).wait().expect("committed");
        assert_eq!(committed[0].uuid, id_of("n.t"));
        let found = store.table_by_id(&here, &id_of("n.t")).expect("read").expect("there");
        assert_eq!((found.name, found.location), (table("n.t"), location("t/1")));
        assert_eq!(store.table_by_id(&here, &id).expect("read"), None);
    });
}

#[test]
fn a_table_that_was_changed_meanwhile_is_neither_renamed_nor_dropped() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        create(store, "n").expect("created");
        create_table(store, "n.t", "t/0").expect("created");
        let kind = TableKind::Table;
        let changed = CatalogError::Changed { name: "n.t".to_owned() };
        let rename = |at: &str| {
            let names = (table("n.t"), table("n.u"));
            store.rename_table_at(&here, kind, names, Some(location(at))).wait()
        };
        let drop = |path: &str, at: &str| {
            let expected = Some(location(at));
            store
                .drop_table_at(&here, kind, table(path), TableDrop { expected, purge: None })
                .wait()
        };
        assert_eq!(refused(rename("t/9")), changed);
        assert_eq!(refused(drop("n.t", "t/9")), changed);
        rename("t/0").expect("renamed");
        drop("n.u", "t/0").expect("dropped");
    });
}

/// A file that no table named when all were looked at may be named by one that has changed since.
#[test]
fn files_are_deleted_only_if_all_changes_of_tables_are_known() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        create(store, "n").expect("created");
        create_table(store, "n.before", "before/0").expect("created");
        for name in ["t/a", "t/b"] {
            put(store, name, b"x");
        }
        let own = Arc::new(HashSet::new());
        let delete = |name: &str, known: &Arc<CatalogChanges>| {
            let targets = vec![DeleteTarget::new(key(name), None)];
            let outcomes = store.delete_unreferenced(&here, targets, known, &own).wait()?;
            outcomes.into_iter().next().expect("an outcome")
        };
        let changed = |result: Result<_, StoreError>| {
            matches!(result, Err(StoreError::Catalog(CatalogError::Changed { .. })))
        };
        let none = Arc::new(CatalogChanges::default());
        assert!(changed(delete("t/a", &none)), "nobody watches");
        store.watch_catalogs().wait().expect("watched");
        assert_eq!(store.catalog_changes().expect("read"), *none);
        assert!(delete("t/a", &none).expect("deleted").existed);
        create_table(store, "n.after", "after/0").expect("created");
        let (from, to) = (table("n.before"), table("n.renamed"));
        store.rename_table(&here, TableKind::Table, from, to.clone()).wait().expect("renamed");
        assert!(changed(delete("t/b", &none)), "a table was created");
        let known = Arc::new(store.catalog_changes().expect("read"));
        let mut names: Vec<_> = known.since(&none).expect("own keys").into_iter().collect();
        names.sort_by(|one, other| one.name.cmp(&other.name));
        let names = names.iter().map(|it| (it.bucket, it.name.to_string(), it.location.clone()));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                (here.id, "n.after".to_owned(), location("after/0")),
                (here.id, "n.renamed".to_owned(), location("before/0")),
            ]
        );
        assert_eq!(known.location_of(here.id, &to), Some(&*location("before/0")));
        let next = change(
            store,
            TableKind::Table,
            "n.after",
            Expected::Location(location("after/0")),
            "after/1",
        );
        commit(store, vec![next]).expect("committed");
        assert!(changed(delete("t/b", &known)), "a known table has changed again");
        let newest = Arc::new(store.catalog_changes().expect("read"));
        assert_eq!(newest.since(&known).expect("own keys").len(), 1);
        assert!(delete("t/b", &newest).expect("deleted").existed);
        store.unwatch_catalogs().wait().expect("ended");
        assert_eq!(store.catalog_changes().expect("read"), *none);
    });
}

/// The answer to a request goes with its change, and no other change has the key.
#[test]
fn a_change_with_a_key_is_made_once_and_keeps_its_answer() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        let key = [7; 16];
        let answer = |text: &str| {
            let (request, answer) = ("CreateNamespace".to_owned(), text.as_bytes().to_vec());
            Arc::new(KeyedAnswer { key, account: "me".to_owned(), request, answer })
        };
        let keyed = |path: &str, text: &str| {
            let writer = store.answering(answer(text));
            writer.create_namespace(&here, namespace(path), BTreeMap::new()).wait()
        };
        create(store, "n").expect("created");
        let refused = keyed("n", "refused").expect_err("it exists");
        assert!(matches!(refused, StoreError::Catalog(CatalogError::NamespaceExists { .. })));
        assert_eq!(store.answer_of(key).expect("read"), None, "nothing has changed");
        keyed("m", "first").expect("created");
        assert_eq!(store.answer_of(key).expect("read"), Some((*answer("first")).clone()));
        let again = keyed("o", "second").expect_err("the key was used");
        assert!(matches!(again, StoreError::Catalog(CatalogError::Answered)), "{again}");
        store.namespace(&here, &namespace("o")).expect_err("nothing has changed");
        let noted = store.note_answer((*answer("third")).clone()).wait();
        assert!(matches!(noted, Err(StoreError::Catalog(CatalogError::Answered))));
        store.remove_answers(0..=u64::MAX).expect("nothing is old");
        assert_eq!(store.answer_of(key).expect("read"), Some((*answer("first")).clone()));
        store.remove_answers(0..=0).expect("removed");
        assert_eq!(store.answer_of(key).expect("read"), None);
    });
}

/// Changes of tables of other accounts do not put off a deletion.
#[test]
fn changes_in_the_buckets_of_others_do_not_count() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        create(store, "n").expect("created");
        put(store, "t/a", b"x");
        put(store, "t/b", b"x");
        store.watch_catalogs().wait().expect("watched");
        let known = Arc::new(store.catalog_changes().expect("read"));
        create_table(store, "n.t", "t/0").expect("created");
        let delete = |name: &str, others: HashSet<BucketId>| {
            let targets = vec![DeleteTarget::new(key(name), None)];
            let others = Arc::new(others);
            let outcomes = store.delete_unreferenced(&here, targets, &known, &others).wait()?;
            outcomes.into_iter().next().expect("an outcome")
        };
        let changed = CatalogError::Changed { name: "n.t".to_owned() };
        assert_eq!(refused(delete("t/a", HashSet::new())), changed);
        assert!(delete("t/a", HashSet::from([here.id])).expect("deleted").existed);
        store.unwatch_catalogs().wait().expect("ended");
        assert!(delete("t/b", HashSet::from([here.id])).is_err(), "nobody watches");
    });
}

/// The purge of a table is noted with its drop, until it ends.
#[test]
fn a_purge_is_noted_with_the_drop() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        create(store, "n").expect("created");
        create_table(store, "n.t", "t/0").expect("created");
        let purge = |began_ms| Purge {
            bucket: here.id,
            prefix: "t/".to_owned(),
            table: "n.t".to_owned(),
            began_ms,
        };
        let drop = |expected: &str, began_ms| {
            let expected = Some(location(expected));
            let how = TableDrop { expected, purge: Some(purge(began_ms)) };
            store.drop_table_at(&here, TableKind::Table, table("n.t"), how).wait()
        };
        let noted = || store.walk_purges(None).expect("read");
        drop("t/9", 5).expect_err("at another location");
        assert_eq!(noted().purges, []);
        drop("t/0", 5).expect("dropped");
        assert_eq!(noted().purges, [purge(5)]);
        create_table(store, "n.t", "t/1").expect("created");
        drop("t/1", 7).expect("dropped");
        // The end of the first is none of the second.
        store.end_purge(purge(5)).wait().expect("noted");
        assert_eq!(noted().purges, [purge(7)]);
        assert_eq!(noted().next, None);
        store.end_purge(purge(7)).wait().expect("noted");
        assert_eq!(noted().purges, []);
    });
}
