//! Renamed objects, as callers of the store see them.

use liteio_store::{
    EtagCondition, ObjectVersion, PutOptions, ReadConditions, RenameOptions, Selection, Store,
    StoreError, Versioning, WriteConditions,
};

use crate::harness::*;

fn rename(
    store: &Store,
    from: &str,
    to: &str,
    options: RenameOptions,
) -> Result<ObjectVersion, StoreError> {
    store.rename_object(&bucket(store, "bucket"), key(from), key(to), options).wait()
}

fn is_there(store: &Store, object: &str) -> bool {
    match try_get(store, object, Selection::Whole) {
        Ok(_) => true,
        Err(StoreError::NoSuchKey { .. }) => false,
        Err(error) => panic!("{object}: {error}"),
    }
}

#[test]
fn an_object_keeps_all_but_its_key() {
    on_every_backend(|store| {
        for length in [0, 1, INLINE_BYTES, INLINE_BYTES + 1, 600_000] {
            let body = bytes(length as u64, length);
            let before = put(store, "old", &body);
            let renamed = rename(store, "old", "new/\u{0}", RenameOptions::default());
            let renamed = renamed.expect("renamed");
            let (after, read) = try_get(store, "new/\u{0}", Selection::Whole).expect("get");
            assert!(read == body && after == renamed, "{length} bytes");
            let expected = ObjectVersion { key: after.key.clone(), ..before };
            assert_eq!(after, expected, "the time of the write, too");
            assert!(!is_there(store, "old"));
        }
        let missing = rename(store, "old", "new", RenameOptions::default());
        assert!(
            matches!(missing, Err(StoreError::NoSuchKey { key: missing, .. }) if missing == key("old"))
        );
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 1, "what was replaced is deleted");
    });
}

#[test]
fn parts_and_copies_stay_whole() {
    on_every_backend(|store| {
        let id = create_upload(store, "old");
        let parts = [bytes(1, 200_000), bytes(2, 70)];
        for (number, part) in (1..).zip(&parts) {
            put_part(store, "old", &id, number, part).expect("a part");
        }
        let before = complete(store, "old", &id, &[1, 2]).expect("completed");
        rename(store, "old", "new", RenameOptions::default()).expect("renamed");
        rename(store, "new", "newer", RenameOptions::default()).expect("renamed");
        let (after, read) = try_get(store, "newer", Selection::Whole).expect("get");
        assert!(read == parts.concat());
        assert_eq!((after.etag, after.part_count), (before.etag, Some(2)));
        // Repeating the Complete finds nothing at its key.
        let repeated = complete(store, "old", &id, &[1, 2]);
        assert!(matches!(repeated, Err(StoreError::NoSuchUpload { .. })));
        delete(store, "newer");
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
    });
}

#[test]
fn a_rename_to_its_own_key_changes_nothing() {
    on_every_backend(|store| {
        let before = put(store, "key", &bytes(1, 100_000));
        let same = rename(store, "key", "key", RenameOptions::default()).expect("renamed");
        assert_eq!(same, before);
        let if_none_match = Some(EtagCondition::Any);
        let conditions = WriteConditions { if_none_match, ..WriteConditions::default() };
        let refused =
            rename(store, "key", "key", RenameOptions { conditions, ..RenameOptions::default() });
        assert!(matches!(refused, Err(StoreError::PreconditionFailed { .. })));
        store.reclaim().expect("reclaim");
        assert_eq!((get(store, "key").len(), blobs(store)), (100_000, 1));
    });
}

#[test]
fn conditions_on_both_ends_are_decided_in_the_transaction() {
    on_every_backend(|store| {
        let (old, new) = (put(store, "old", b"old"), put(store, "new", b"new"));
        let etag = |version: &ObjectVersion| EtagCondition::parse(&version.etag.to_string());
        let modified_s = i64::try_from(old.modified_ms / 1000).expect("fits");
        let source =
            |source_conditions| RenameOptions { source_conditions, ..RenameOptions::default() };
        let target = |conditions| RenameOptions { conditions, ..RenameOptions::default() };
        let any = Some(EtagCondition::Any);
        let rows = [
            (
                source(ReadConditions { if_match: etag(&new), ..Default::default() }),
                "x-amz-rename-source-if-match",
            ),
            (
                source(ReadConditions { if_none_match: etag(&old), ..Default::default() }),
                "x-amz-rename-source-if-none-match",
            ),
            (
                source(ReadConditions {
                    if_modified_since_s: Some(modified_s),
                    ..Default::default()
                }),
                "x-amz-rename-source-if-modified-since",
            ),
            (
                source(ReadConditions {
                    if_unmodified_since_s: Some(modified_s - 1),
                    ..Default::default()
                }),
                "x-amz-rename-source-if-unmodified-since",
            ),
            (target(WriteConditions { if_match: etag(&old), ..Default::default() }), "If-Match"),
            (
                target(WriteConditions { if_none_match: any.clone(), ..Default::default() }),
                "If-None-Match",
            ),
            (
                target(WriteConditions {
                    if_modified_since_s: Some(modified_s),
                    ..Default::default()
                }),
                "If-Modified-Since",
            ),
            (
                target(WriteConditions {
                    if_unmodified_since_s: Some(modified_s - 1),
                    ..Default::default()
                }),
                "If-Unmodified-Since",
            ),
        ];
        for (options, name) in rows {
            match rename(store, "old", "new", options) {
                Err(StoreError::PreconditionFailed { condition }) => assert_eq!(condition, name),
                other => panic!("{name}: {other:?}"),
            }
            assert_eq!((get(store, "old"), get(store, "new")), (b"old".into(), b"new".into()));
        }
        // What must be there is not: 412 and not 404, which is about the source.
        let needed = target(WriteConditions { if_match: any, ..Default::default() });
        let refused = rename(store, "old", "none", needed);
        assert!(matches!(refused, Err(StoreError::PreconditionFailed { condition: "If-Match" })));
        let held = RenameOptions {
            source_conditions: ReadConditions { if_match: etag(&old), ..Default::default() },
            conditions: WriteConditions {
                if_match: etag(&new),
                if_unmodified_since_s: Some(modified_s),
                ..Default::default()
            },
            ..RenameOptions::default()
        };
        rename(store, "old", "new", held).expect("all hold");
        assert_eq!(get(store, "new"), b"old");
        assert!(!is_there(store, "old"));
    });
}

#[test]
fn a_token_makes_it_idempotent_while_its_object_is_there() {
    on_every_backend(|store| {
        let with = |token: &str| RenameOptions {
            token: Some(token.to_owned()),
            ..RenameOptions::default()
        };
        put(store, "old", b"one");
        let renamed = rename(store, "old", "new", with("token")).expect("renamed");
        // Also if there is another object under the old key: it was the first one that was meant.
        for _ in 0..2 {
            let again = rename(store, "old", "new", with("token")).expect("repeated");
            assert_eq!((again, get(store, "new")), (renamed.clone(), b"one".into()));
            put(store, "old", b"two");
        }
        // An append leaves it the object that was renamed.
        let body = stage(store, b" and more").expect("staged");
        let target = bucket(store, "bucket");
        let appended = store.append_object(&target, key("new"), 3, body, PutOptions::default());
        appended.wait().expect("appended");
        rename(store, "old", "new", with("token")).expect("repeated");
        assert_eq!(get(store, "new"), b"one and more");
        let other_source = rename(store, "other", "new", with("token"));
        assert!(matches!(other_source, Err(StoreError::TokenMismatch)));
        rename(store, "old", "new", with("another")).expect("renamed");
        assert_eq!(get(store, "new"), b"two");
        // The object is not the one of the rename any more.
        put(store, "new", b"three");
        let late = rename(store, "old", "new", with("another"));
        assert!(matches!(late, Err(StoreError::NoSuchKey { .. })));
        // A copy and a further rename do not answer for it.
        put(store, "old", b"four");
        rename(store, "old", "new", with("fourth")).expect("renamed");
        rename(store, "new", "newer", RenameOptions::default()).expect("renamed");
        rename(store, "newer", "new", RenameOptions::default()).expect("renamed");
        let late = rename(store, "old", "new", with("fourth"));
        assert!(matches!(late, Err(StoreError::NoSuchKey { .. })));
    });
}

#[test]
fn versions_stay_where_they_are() {
    on_every_backend(|store| {
        put(store, "old", b"old");
        for versioning in [Versioning::Enabled, Versioning::Suspended] {
            let set = store.set_versioning(&bucket(store, "bucket"), versioning).wait();
            set.expect("set");
            let refused = rename(store, "old", "new", RenameOptions::default());
            assert!(matches!(refused, Err(StoreError::InvalidBucketState { .. })));
            assert_eq!(get(store, "old"), b"old");
            assert!(!is_there(store, "new"));
        }
    });
}

#[test]
fn a_bucket_that_is_gone_is_not_written_to() {
    on_every_backend(|store| {
        let gone = bucket(store, "bucket");
        delete_bucket(store, "bucket");
        let refused = store.rename_object(&gone, key("a"), key("b"), RenameOptions::default());
        assert!(matches!(refused.wait(), Err(StoreError::NoSuchBucket { .. })));
    });
}
