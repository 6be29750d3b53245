//! Bodies that are too long for their record and too short for a blob: they have a row, which comes
//! and goes with its version.

use std::sync::Arc;

use liteio_store::{
    Cause, CopyOptions, DeleteTarget, Encryption, EncryptionKey, KeyRing, ObjectId, ObjectMetadata,
    PutOptions, RenameOptions, Selection, Store, StoreConfig, StoreError, VersionChange,
    Versioning,
};

use crate::harness::*;

/// Lengths around both limits.
const LENGTHS: [usize; 6] = [
    RECORD_BYTES - 1,
    RECORD_BYTES,
    RECORD_BYTES + 1,
    INLINE_BYTES - 1,
    INLINE_BYTES,
    INLINE_BYTES + 1,
];

/// Verification finds rows without a version, and versions without their row.
fn check(store: &Store, object: &str, body: &[u8]) {
    assert!(get(store, object) == body, "{object}: {} bytes", body.len());
    blobs(store);
}

fn copy(store: &Store, from: &str, to: &str, options: CopyOptions) {
    let source = ObjectId { bucket: bucket(store, "bucket"), key: key(from), version: None };
    store.copy_object(source, &bucket(store, "bucket"), key(to), options).wait().expect("copied");
}

#[test]
fn a_body_of_any_length_is_read_in_ranges_and_replaced_by_one_of_any_other() {
    on_every_backend(|store| {
        for before in LENGTHS {
            for length in LENGTHS {
                put(store, "a", &bytes(1, before));
                let body = bytes(length as u64, length);
                put(store, "a", &body);
                check(store, "a", &body);
                for selected in [0..1, 3..length as u64, length as u64 - 1..length as u64] {
                    let (_, read) = try_get(store, "a", range(selected.clone())).expect("a range");
                    assert_eq!(read, body[selected.start as usize..selected.end as usize]);
                }
            }
            delete(store, "a");
            // What is being deleted while it is looked at would pass for an orphan.
            store.reclaim().expect("reclaim");
            assert_eq!(blobs(store), 0);
        }
    });
}

#[test]
fn copies_renamed_and_appended_objects_have_bytes_of_their_own() {
    on_every_backend(|store| {
        for length in LENGTHS {
            let body = bytes(length as u64, length);
            put(store, "source", &body);
            copy(store, "source", "copy", CopyOptions::default());
            // Onto itself, as clients do to change metadata.
            let metadata = Some(ObjectMetadata::default());
            copy(store, "source", "source", CopyOptions { metadata, ..CopyOptions::default() });
            check(store, "source", &body);
            delete(store, "source");
            check(store, "copy", &body);

            let renamed = store.rename_object(
                &bucket(store, "bucket"),
                key("copy"),
                key("renamed"),
                RenameOptions::default(),
            );
            renamed.wait().expect("renamed");
            check(store, "renamed", &body);

            let more = stage(store, &body).expect("staged");
            let appended = store.append_object(
                &bucket(store, "bucket"),
                key("renamed"),
                length as u64,
                more,
                PutOptions::default(),
            );
            appended.wait().expect("appended");
            check(store, "renamed", &[&body[..], &body].concat());
            delete(store, "renamed");
            store.reclaim().expect("reclaim");
            assert_eq!(blobs(store), 0);
        }
    });
}

#[test]
fn a_part_that_is_copied_from_a_row_keeps_its_bytes() {
    on_every_backend(|store| {
        for length in LENGTHS {
            let body = bytes(length as u64, length);
            put(store, "source", &body);
            let id = create_upload(store, "target");
            let source =
                ObjectId { bucket: bucket(store, "bucket"), key: key("source"), version: None };
            let target = bucket(store, "bucket");
            let object = key("target");
            let copied =
                store.copy_part(source, &target, &object, &id, number(1), Default::default());
            copied.wait().expect("copied");
            delete(store, "source");
            complete(store, "target", &id, &[1]).expect("completed");
            check(store, "target", &body);
        }
    });
}

#[test]
fn a_row_stays_with_its_version_in_the_history_and_under_other_metadata() {
    on_every_backend(|store| {
        let target = bucket(store, "bucket");
        for length in LENGTHS {
            let object = format!("object-{length}");
            put(store, &object, &bytes(1, length));
            store.set_versioning(&target, Versioning::Enabled).wait().expect("set");
            let second = put(store, &object, &bytes(2, length)).version_id;
            put(store, &object, &bytes(3, length));
            let tags = VersionChange::Tags(vec![("k".to_owned(), "v".to_owned())]);
            let changed =
                store.change_object(&target, key(&object), Some(second), tags, Cause::default());
            changed.wait().expect("set");
            check(store, &object, &bytes(3, length));
            // The newest goes, the one before becomes current.
            let newest = head_object(store, &target, &key(&object), None).expect("there");
            let newest = DeleteTarget::new(key(&object), Some(newest.version_id));
            store.delete_object(&target, newest).wait().expect("deleted");
            check(store, &object, &bytes(2, length));
            // `null` is replaced where it is.
            store.set_versioning(&target, Versioning::Suspended).wait().expect("set");
            put(store, &object, &bytes(4, length));
            check(store, &object, &bytes(4, length));
        }
        store.reset_bucket(&name("bucket"), Vec::new()).expect("reset");
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
        assert!(matches!(
            try_get(store, "object-64", Selection::Whole),
            Err(StoreError::NoSuchKey { .. })
        ));
    });
}

#[test]
fn encrypted_bodies_have_rows_that_another_opening_reads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = || {
        let keys = Arc::new(KeyRing::new(vec![EncryptionKey::new([7; 32])], Vec::new()));
        Store::open(StoreConfig { keys, ..on_directory(directory.path()) }).expect("opens")
    };
    let store = open();
    create_bucket(&store, "bucket");
    let mut bodies = Vec::new();
    for length in [1, RECORD_BYTES, RECORD_BYTES + 1, INLINE_BYTES, INLINE_BYTES + 1] {
        let body = bytes(length as u64, length);
        let object = format!("object-{length}");
        put(&store, &object, &body);
        let encryption = Some(Encryption::Master);
        let options = CopyOptions { encryption, ..CopyOptions::default() };
        copy(&store, &object, &format!("sealed-{length}"), options);
        bodies.push((length, body));
    }
    store.close();
    let store = open();
    for (length, body) in &bodies {
        check(&store, &format!("object-{length}"), body);
        check(&store, &format!("sealed-{length}"), body);
    }
}
