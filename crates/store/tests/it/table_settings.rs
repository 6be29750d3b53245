//! Settings and ids of tables, and files that no table names.

use std::collections::BTreeMap;

use liteio_store::limits::DOCUMENT_BYTES_MAX;
use liteio_store::tables::{
    CatalogError, Expected, KeyedAnswer, NamespaceName, Sighting, TableChange, TableDocument,
    TableKind, TableName, Unreferenced,
};
use liteio_store::{Store, StoreError};

use crate::harness::*;

fn table(name: &str) -> TableName {
    let namespace = NamespaceName::new(vec!["n".to_owned()]).expect("a namespace");
    TableName::new(namespace, name.to_owned()).expect("a name")
}

fn create(store: &Store, kind: TableKind, name: &str, id: u8) {
    let location = format!("s3://bucket/{name}/0");
    let change = TableChange::new(kind, table(name), Expected::Missing, [id; 16], location);
    store.commit_tables(&bucket(store, "bucket"), vec![change]).wait().expect("created");
}

fn on_catalogs(test: impl Fn(&Store)) {
    on_every_backend(|store| {
        let namespace = NamespaceName::new(vec!["n".to_owned()]).expect("a namespace");
        let here = bucket(store, "bucket");
        store.create_namespace(&here, namespace, BTreeMap::new()).wait().expect("created");
        test(store);
    });
}

fn set(store: &Store, name: &str, id: u8, policy: Option<&str>) -> Result<(), StoreError> {
    let policy = policy.map(|text| text.as_bytes().to_vec());
    let here = bucket(store, "bucket");
    let changed = store.change_table_settings(&here, (table(name), [id; 16]), move |settings| {
        settings.set(TableDocument::Policy, policy.clone());
        Ok(())
    });
    changed.wait()
}

fn policy(store: &Store, name: &str) -> Option<String> {
    let found = store.table_with_settings(&bucket(store, "bucket"), &table(name)).expect("read");
    let (_, settings) = found?;
    let policy = settings.document(TableDocument::Policy)?;
    Some(String::from_utf8(policy.to_vec()).expect("a text"))
}

#[test]
fn settings_go_with_their_table() {
    on_catalogs(|store| {
        let here = bucket(store, "bucket");
        create(store, TableKind::Table, "a", 1);
        create(store, TableKind::View, "v", 2);
        set(store, "a", 1, Some("mine")).expect("set");
        assert_eq!(policy(store, "a").as_deref(), Some("mine"));
        let missing = |name: &str| CatalogError::NoSuchTable { table: format!("n.{name}") };
        for (name, id) in [("v", 2), ("b", 1), ("a", 9)] {
            match set(store, name, id, Some("x")).expect_err(name) {
                StoreError::Catalog(error) => assert_eq!(error, missing(name)),
                other => panic!("{other}"),
            }
        }
        let kind = TableKind::Table;
        store.rename_table(&here, kind, table("a"), table("b")).wait().expect("renamed");
        assert_eq!((policy(store, "a"), policy(store, "b").as_deref()), (None, Some("mine")));
        let by_id = store.table_by_id(&here, &[1; 16]).expect("read").expect("there");
        assert_eq!(by_id.name, table("b"));
        store.drop_table(&here, kind, table("b")).wait().expect("dropped");
        assert_eq!(store.table_by_id(&here, &[1; 16]).expect("read"), None);
        // A new table of the name has nothing of the old one.
        create(store, kind, "b", 3);
        assert_eq!(policy(store, "b"), None);
        set(store, "b", 3, Some("x")).expect("set");
        set(store, "b", 3, None).expect("removed");
        assert_eq!(policy(store, "b"), None);
        let long = "x".repeat(DOCUMENT_BYTES_MAX + 1);
        assert!(matches!(set(store, "b", 3, Some(&long)), Err(StoreError::InvalidRequest { .. })));
        let report = store.verify(&mut |_| {}).expect("verified");
        assert!(report.damaged.is_empty());
    });
}

#[test]
fn an_id_is_that_of_one_table() {
    on_catalogs(|store| {
        let here = bucket(store, "bucket");
        let kind = TableKind::Table;
        create(store, kind, "a", 1);
        let found = || store.table_by_id(&here, &[1; 16]).expect("read").map(|it| it.name);
        let new = |name: &str, id: u8| {
            let location = format!("s3://bucket/{name}/0");
            TableChange::new(kind, table(name), Expected::Missing, [id; 16], location)
        };
        for changes in [vec![new("b", 1)], vec![new("c", 2), new("d", 2)]] {
            let refused = store.commit_tables(&here, changes).wait().expect_err("the id is taken");
            assert!(
                matches!(refused, StoreError::Catalog(CatalogError::IdTaken { .. })),
                "{refused}"
            );
        }
        assert_eq!(found(), Some(table("a")));
        // A view has no such id.
        create(store, TableKind::View, "v", 1);
        store.drop_table(&here, kind, table("a")).wait().expect("dropped");
        create(store, kind, "b", 1);
        assert_eq!(found(), Some(table("b")));
    });
}

#[test]
fn files_that_no_table_names_are_noted_and_forgotten() {
    on_catalogs(|store| {
        let here = bucket(store, "bucket");
        let note = |files: &[(&str, Option<u64>)]| {
            let row = |(key, since): &(&str, Option<u64>)| {
                (here.id, (*key).to_owned(), since.map(Sighting::first))
            };
            store.note_unreferenced(files.iter().map(row).collect()).wait().expect("noted");
        };
        note(&[("t/a", Some(5)), ("t/b", Some(7)), ("t/c", Some(9))]);
        note(&[("t/b", None), ("t/c", Some(1))]);
        let keys = ["t/c", "t/b", "t/a"].map(key);
        let sightings = store.sightings(&here, &keys).expect("read").into_iter();
        let sightings: Vec<_> = sightings.map(|it| it.expect("intact")).collect();
        assert_eq!(sightings, [Some(Sighting::first(1)), None, Some(Sighting::first(5))]);
        let row = |key: &str| Unreferenced { bucket: here.id, key: key.to_owned() };
        let page = store.walk_unreferenced(None).expect("read");
        assert_eq!(page, [row("t/a"), row("t/c")]);
        assert_eq!(store.walk_unreferenced(page.last()).expect("read"), []);
        assert_eq!(store.walk_unreferenced(page.first()).expect("read"), page[1..]);
    });
}

/// Answers are removed by their age, whichever account they were given to, and counted for each.
#[test]
fn answers_expire_by_account_and_time() {
    on_every_backend(|store| {
        let answer = |number: u16, account: &str| {
            let mut key = [0; 16];
            key[..2].copy_from_slice(&number.to_be_bytes());
            let (request, answer) = (String::new(), Vec::new());
            KeyedAnswer { key, account: account.to_owned(), request, answer }
        };
        let all: Vec<_> =
            (0..900).map(|it| answer(it, ["a", "b", "a\0"][it as usize % 3])).collect();
        let noted: Vec<_> = all.iter().map(|it| store.note_answer(it.clone())).collect();
        noted.into_iter().for_each(|noted| noted.wait().expect("noted"));
        let count =
            |most| ["a", "b", "a\0", "c"].map(|it| store.count_answers(it, 0, most).expect("read"));
        assert_eq!(count(1000), [300, 300, 300, 0]);
        assert_eq!(count(7), [7, 7, 7, 0]);
        assert_eq!(store.count_answers("a", u64::MAX, 7).expect("read"), 0, "those of before");
        store.remove_answers(0..=u64::MAX).expect("all are kept");
        store.sweep_answers(0..=u64::MAX).expect("all are kept");
        assert_eq!(count(1000), [300, 300, 300, 0]);
        // Those of a clock that was ahead, and those that are too old.
        for kept in [0..=0, u64::MAX..=u64::MAX] {
            let noted: Vec<_> = all.iter().map(|it| store.note_answer(it.clone())).collect();
            noted.into_iter().for_each(|noted| _ = noted.wait());
            store.remove_answers(kept).expect("removed");
            assert_eq!(count(1000), [0; 4]);
            assert!(all.iter().all(|it| store.answer_of(it.key).expect("read").is_none()));
        }
        store.note_answer(all[0].clone()).wait().expect("noted");
        store.sweep_answers(0..=0).expect("removed");
        assert_eq!((count(10), store.answer_of(all[0].key).expect("read")), ([0; 4], None));
    });
}
