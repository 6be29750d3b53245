//! Access control lists of objects, which the store keeps and does not read.

use std::sync::Arc;

use liteio_store::{
    Cause, CopyOptions, ObjectId, ObjectVersion, PutOptions, RenameOptions, SeenVersion, Store,
    StoreError, UploadOptions, VersionChange, VersionId, Versioning,
};

use crate::harness::*;

fn acl(text: &str) -> Option<Vec<u8>> {
    Some(text.as_bytes().to_vec())
}

fn with_acl(text: &str) -> PutOptions {
    PutOptions { acl: acl(text), ..PutOptions::default() }
}

fn found(store: &Store, object: &str) -> ObjectVersion {
    store.find_object(&bucket(store, "bucket"), &key(object), None).expect("there")
}

#[test]
fn a_version_has_the_acl_that_it_was_written_with() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        assert_eq!(try_put(store, "a", b"1", with_acl("of a")).expect("put").acl, acl("of a"));
        assert_eq!(found(store, "a").acl, acl("of a"));
        let (read, _) = try_get(store, "a", Default::default()).expect("read");
        assert_eq!(read.acl, acl("of a"));

        // A copy, and a new version, are objects of their own.
        let source = ObjectId { bucket: Arc::clone(&here), key: key("a"), version: None };
        for of_copy in [None, acl("of the copy")] {
            let options = CopyOptions { acl: of_copy.clone(), ..CopyOptions::default() };
            let copied = store.copy_object(source.clone(), &here, key("b"), options).wait();
            assert_eq!(copied.expect("copied").object.acl, of_copy);
            assert_eq!(found(store, "b").acl, of_copy);
        }
        assert_eq!(put(store, "a", b"2").acl, None);
        assert_eq!(found(store, "a").acl, None);

        // The ACL of an upload becomes that of its object.
        let options = UploadOptions { acl: acl("of the upload"), ..UploadOptions::default() };
        let upload = store.create_upload(&here, key("c"), options).wait().expect("begun").id;
        put_part(store, "c", &upload, 1, b"part").expect("a part");
        let object = complete(store, "c", &upload, &[1]).expect("completed");
        assert_eq!(object.acl, acl("of the upload"));
        assert_eq!(found(store, "c").acl, acl("of the upload"));

        // A rename and an append leave it.
        let rename = RenameOptions::default();
        store.rename_object(&here, key("c"), key("d"), rename).wait().expect("renamed");
        assert_eq!(found(store, "d").acl, acl("of the upload"));
        let append = |options| {
            let body = stage(store, b"more").expect("staged");
            store.append_object(&here, key("d"), 4, body, options).wait()
        };
        let refused = append(with_acl("another"));
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
        assert_eq!(append(PutOptions::default()).expect("appended").acl, acl("of the upload"));
        assert_eq!(found(store, "d").acl, acl("of the upload"));
    });
}

#[test]
fn the_acl_of_one_version_is_changed_and_nothing_else() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        store.set_versioning(&here, Versioning::Enabled).wait().expect("enabled");
        let old = put(store, "a", b"old");
        let new = try_put(store, "a", b"new", with_acl("of the new")).expect("put");
        let here = bucket(store, "bucket");
        let change = |version: Option<VersionId>, acl| {
            let found = store.find_object(&here, &key("a"), Option::as_ref(&version));
            let found = found.map(|found| (found.owner.id, found.acl)).unwrap_or_default();
            let (seen_owner_id, seen_acl) = found;
            let change = VersionChange::Acl { acl, seen_owner_id, seen_acl };
            store.change_object(&here, key("a"), version, change, Cause::Unknown).wait()
        };
        let changed = change(Some(old.version_id), acl("of the old")).expect("changed");
        assert_eq!(changed, ObjectVersion { acl: acl("of the old"), is_latest: false, ..old });
        assert_eq!(found(store, "a"), new);
        assert_eq!(change(None, None).expect("changed").acl, None);
        assert_eq!(found(store, "a"), ObjectVersion { acl: None, ..new });

        // Whose version was replaced since has decided about another.
        for (seen_owner_id, seen_acl) in [("owner", None), ("", acl("of the new"))] {
            let seen_owner_id = seen_owner_id.to_owned();
            let change = VersionChange::Acl { acl: acl("another"), seen_owner_id, seen_acl };
            let refused = store.change_object(&here, key("a"), None, change, Cause::Unknown).wait();
            assert!(matches!(refused, Err(StoreError::ConditionalRequestConflict)), "{refused:?}");
        }
        delete(store, "a");
        let refused = change(None, acl("of nothing"));
        assert!(matches!(refused, Err(StoreError::NoSuchKey { .. })), "{refused:?}");
    });
}

#[test]
fn a_change_is_made_to_no_other_version_than_the_one_that_was_seen() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        let first = try_put(store, "a", b"first", with_acl("of the first")).expect("put");
        let seen = SeenVersion {
            owner_id: first.owner.id.clone(),
            acl: first.acl.clone(),
            tags: first.metadata.tags.clone(),
        };
        let tags = vec![("a".to_owned(), "b".to_owned())];
        let change = |seen: &SeenVersion| {
            let change =
                VersionChange::IfSeen(seen.clone(), Box::new(VersionChange::Tags(tags.clone())));
            store.change_object(&here, key("a"), None, change, Cause::Unknown).wait()
        };
        let others = [
            SeenVersion { owner_id: "another".to_owned(), ..seen.clone() },
            SeenVersion { acl: None, ..seen.clone() },
            SeenVersion { tags: tags.clone(), ..seen.clone() },
        ];
        for other in &others {
            let refused = change(other);
            assert!(matches!(refused, Err(StoreError::ConditionalRequestConflict)), "{refused:?}");
        }
        assert_eq!(found(store, "a"), first);
        assert_eq!(change(&seen).expect("changed").metadata.tags, tags);
    });
}
