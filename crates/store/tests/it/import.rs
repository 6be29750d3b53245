//! Versions of another store.

use liteio_store::{
    BodyHasher, CopyOptions, ETag, GetOptions, ImportedContent, ImportedObject, ImportedVersion,
    LegalHold, ObjectId, ObjectLock, ObjectMetadata, PartNumber, PutOptions, RenameOptions,
    Retention, RetentionMode, Selection, Store, StoreError, VersionId, Versioning,
};

use crate::harness::*;

fn md5(bytes: &[u8]) -> [u8; 16] {
    let mut hasher = BodyHasher::new(&[]);
    hasher.update(bytes);
    hasher.finish().md5
}

fn object(content: ImportedContent, etag: Option<ETag>) -> Option<ImportedObject> {
    let metadata =
        ObjectMetadata { user: vec![("m".to_owned(), "v".to_owned())], ..Default::default() };
    Some(ImportedObject { content, etag, metadata, checksum: None, lock: ObjectLock::default() })
}

fn whole(store: &Store, body: &[u8]) -> Option<ImportedObject> {
    let body = stage(store, body).expect("staged");
    let md5 = body.digests().md5;
    object(ImportedContent::Whole { bodies: vec![body], md5 }, None)
}

fn import(
    store: &Store,
    modified_ms: u64,
    is_null: bool,
    object: Option<ImportedObject>,
) -> Result<VersionId, StoreError> {
    let version = ImportedVersion { modified_ms, is_null, object };
    store.import_version(&bucket(store, "bucket"), key("key"), version).wait()
}

#[test]
fn versions_keep_their_order_their_times_and_null() {
    on_every_backend(|store| {
        let refused = import(store, 1, false, whole(store, b"x"));
        assert!(matches!(refused, Err(StoreError::InvalidBucketState { .. })), "{refused:?}");
        let refused = import(store, 1, true, None);
        assert!(matches!(refused, Err(StoreError::InvalidBucketState { .. })), "{refused:?}");
        let bucket = bucket(store, "bucket");
        store.set_versioning(&bucket, Versioning::Enabled).wait().expect("set");

        // Times that go back, as a clock that was set back makes them.
        let large = bytes(1, 5_000);
        let second = import(store, 50, false, whole(store, &large)).expect("imported");
        let null = import(store, 40, true, whole(store, b"null")).expect("imported");
        let marker = import(store, 60, false, None).expect("imported");
        let newest = import(store, 70, false, whole(store, b"newest")).expect("imported");
        assert_eq!(null, VersionId::Null);
        let known = store.versions_of_key(&bucket, &key("key")).expect("readable");
        let found: Vec<_> = known.iter().map(|it| (it.version_id, it.modified_ms)).collect();
        assert_eq!(found, [(newest, 70), (marker, 60), (null, 40), (second, 50)]);
        assert!(known[1].object.is_none());
        assert_eq!(get(store, "key"), b"newest");

        // Another null replaces that one, wherever it is.
        import(store, 80, true, whole(store, b"null again")).expect("imported");
        let known = store.versions_of_key(&bucket, &key("key")).expect("readable");
        assert_eq!(known.iter().filter(|it| it.version_id.is_null()).count(), 1);
        assert_eq!(known.len(), 4);
        let lock = ObjectLock {
            retention: Some(Retention { mode: RetentionMode::Governance, until_ms: 1 }),
            legal_hold: LegalHold::On,
            ..ObjectLock::default()
        };
        let locked = whole(store, b"x").map(|object| ImportedObject { lock, ..object });
        let refused = import(store, 1, false, locked);
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
        assert_eq!(blobs(store), 1);
    });
}

#[test]
fn parts_become_visible_together_and_are_read_one_by_one() {
    on_every_backend(|store| {
        let parts = [bytes(1, 3_000), Vec::new(), bytes(2, 10), bytes(3, 2_000)];
        let staged = || parts.iter().map(|part| stage(store, part).expect("staged")).collect();
        let etag = ETag::parse("0123456789abcdef0123456789abcdef-4");
        import(store, 9, true, object(ImportedContent::Parts(staged()), etag)).expect("imported");
        assert_eq!(get(store, "key"), parts.concat());
        let select = Selection::Part(PartNumber::new(3).expect("a number"));
        let bucket = bucket(store, "bucket");
        let options = GetOptions { select, ..GetOptions::default() };
        let found = store.head_object(&bucket, &key("key"), &options).expect("there");
        assert_eq!(
            (found.object.etag.to_string().as_str(), found.object.modified_ms),
            ("0123456789abcdef0123456789abcdef-4", 9)
        );
        // The empty part is none.
        assert_eq!(found.object.part_count, Some(3));
        assert_eq!(blobs(store), 2);

        // Without a tag, that of an upload of these parts.
        import(store, 9, true, object(ImportedContent::Parts(staged()), None)).expect("imported");
        let md5s: Vec<[u8; 16]> =
            parts.iter().filter(|part| !part.is_empty()).map(|part| md5(part)).collect();
        let found = head_object(store, &bucket, &key("key"), None).expect("there");
        assert_eq!(found.etag, ETag::multipart(&md5s));

        // One object of several bodies, and all of it is released with its record.
        let all = [bytes(1, 4_000), bytes(2, 4_000)];
        let bodies = all.iter().map(|body| stage(store, body).expect("staged")).collect();
        let content = ImportedContent::Whole { bodies, md5: md5(&all.concat()) };
        import(store, 9, true, object(content, None)).expect("imported");
        assert_eq!(get(store, "key"), all.concat());
        store.reclaim().expect("reclaimed");
        assert_eq!(blobs(store), 2);
        delete(store, "key");
        store.reclaim().expect("reclaimed");
        assert_eq!(blobs(store), 0);
    });
}

#[test]
fn a_tag_of_another_store_stays_until_the_object_is_written_here() {
    let foreign = ETag::parse("0123456789abcdef0123456789abcdef");
    on_every_backend(|store| {
        for length in [10, 5_000] {
            let body = bytes(7, length);
            let imported = || whole(store, &body).map(|it| ImportedObject { etag: foreign, ..it });
            import(store, 9, true, imported()).expect("imported");
            let bucket = bucket(store, "bucket");
            let tag =
                |name: &str| head_object(store, &bucket, &key(name), None).expect("there").etag;
            assert_eq!(Some(tag("key")), foreign);
            assert_eq!(get(store, "key"), body);
            let from = ObjectId { bucket: bucket.clone(), key: key("key"), version: None };
            let copy = store.copy_object(from, &bucket, key("copy"), CopyOptions::default());
            copy.wait().expect("copied");
            assert_eq!(tag("copy"), ETag::Md5(md5(&body)));
            let renamed = RenameOptions::default();
            store
                .rename_object(&bucket, key("key"), key("renamed"), renamed)
                .wait()
                .expect("renamed");
            assert_eq!(Some(tag("renamed")), foreign);
            blobs(store);
            let more = stage(store, b"more").expect("staged");
            let offset = body.len() as u64;
            let put = PutOptions::default();
            store
                .append_object(&bucket, key("renamed"), offset, more, put)
                .wait()
                .expect("appended");
            assert_eq!(get(store, "renamed"), [&body[..], b"more"].concat());
            // Verified with their tags.
            blobs(store);
        }
    });
}
