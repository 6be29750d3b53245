use std::ops::Range;

use liteio_store::{
    Cause, ChecksumAlgorithm, ConditionResult, ContentHeaders, CopyOptions, DeleteTarget,
    EtagCondition, GetOptions, ListVersionsQuery, NotificationRule, Notifications, ObjectChecksum,
    ObjectId, ObjectMetadata, PutOptions, ReadConditions, Selection, Store, StoreError,
    SystemClock, VersionEntry, VersionId, Versioning, WriteConditions,
};

use crate::harness::*;

fn source(store: &Store, object: &str) -> ObjectId {
    ObjectId { bucket: bucket(store, "bucket"), key: key(object), version: None }
}

fn copy(store: &Store, from: &str, to: &str, options: CopyOptions) -> Result<(), StoreError> {
    store
        .copy_object(source(store, from), &bucket(store, "bucket"), key(to), options)
        .wait()
        .map(drop)
}

#[test]
fn what_is_put_is_read_whatever_its_size_and_key() {
    on_every_backend(|store| {
        let longest = "k".repeat(1024);
        for object in ["a", "a//b", "../x", "a/b", "\0", "é\u{10ffff}", longest.as_str()] {
            for length in [0, 1, INLINE_BYTES, INLINE_BYTES + 1, 5000, 600_000] {
                let body = bytes(length as u64, length);
                let version = put(store, object, &body);
                let (found, read) = try_get(store, object, Selection::Whole).expect("get");
                assert!(read == body, "{object:?} of {length} bytes");
                assert_eq!((found.bytes, found.etag), (length as u64, version.etag));
                assert_eq!((found.version_id, found.is_latest), (VersionId::Null, true));
            }
        }
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 7, "of every key only the last");
    });
}

#[test]
fn metadata_and_checksums_are_kept() {
    on_every_backend(|store| {
        let metadata = ObjectMetadata {
            headers: ContentHeaders {
                content_type: Some("text/plain".to_owned()),
                ..ContentHeaders::default()
            },
            user: vec![("name".to_owned(), "välue".to_owned())],
            tags: vec![("k".to_owned(), "v".to_owned())],
            storage_class: Some("STANDARD_IA".to_owned()),
        };
        let body = stage(store, b"123456789").expect("staged");
        let value = {
            let mut set = liteio_store::ChecksumSet::new(&[ChecksumAlgorithm::Crc32]);
            set.update(b"123456789");
            set.finish()[0]
        };
        let checksum = Some(ObjectChecksum::full_object(value));
        let options = PutOptions {
            metadata: metadata.clone(),
            checksum,
            owner: owner(),
            ..PutOptions::default()
        };
        let version = store.put_object(&bucket(store, "bucket"), key("a"), body, options).wait();
        let version = version.expect("put");
        let found = head_object(store, &bucket(store, "bucket"), &key("a"), None).expect("head");
        assert_eq!(found, version);
        assert_eq!((found.metadata, found.checksum, found.owner), (metadata, checksum, owner()));
    });
}

#[test]
fn ranges_select_exactly_their_bytes() {
    on_every_backend(|store| {
        for length in [10_usize, 1000, 700_000] {
            let body = bytes(7, length);
            put(store, "a", &body);
            let end = length as u64;
            let ranges: [Range<u64>; 5] = [0..end, 0..1, end - 1..end, 3..7, end / 2..end];
            for bytes in ranges {
                let read = try_get(store, "a", range(bytes.clone())).expect("get").1;
                assert!(read == body[bytes.start as usize..bytes.end as usize], "{bytes:?}");
            }
            let read = try_get(store, "a", range(1..end + 1)).expect("as far as there are any").1;
            assert!(read == body[1..]);
            let outside = try_get(store, "a", range(end..end + 1));
            let expected = matches!(outside, Err(StoreError::InvalidRange { object_bytes })
                if object_bytes == end);
            assert!(expected, "{outside:?}");
            let part = try_get(store, "a", Selection::Part(number(1))).expect("part 1");
            assert!(part.1 == body);
            let second = try_get(store, "a", Selection::Part(number(2)));
            assert!(
                matches!(second, Err(StoreError::InvalidPartNumber { parts: 1 })),
                "{second:?}"
            );
        }
    });
}

#[test]
fn versions_other_than_null_do_not_exist() {
    on_every_backend(|store| {
        put(store, "a", b"x");
        let head =
            |object, version| head_object(store, &bucket(store, "bucket"), &key(object), version);
        assert!(head("a", Some(&VersionId::Null)).is_ok());
        let id = VersionId::Id([1; 16]);
        let other = head("a", Some(&id));
        assert!(matches!(other, Err(StoreError::NoSuchVersion { .. })), "{other:?}");
        let missing = head("b", Some(&VersionId::Null));
        assert!(matches!(missing, Err(StoreError::NoSuchVersion { .. })), "{missing:?}");
        assert!(matches!(head("b", None), Err(StoreError::NoSuchKey { .. })));
        let delete = |version| {
            let deleted = store.delete_object(
                &bucket(store, "bucket"),
                DeleteTarget::new(key("a"), Some(version)),
            );
            deleted.wait().expect("delete").existed
        };
        assert!(!delete(id) && head("a", None).is_ok());
        assert!(delete(VersionId::Null) && head("a", None).is_err());
    });
}

#[test]
fn writes_are_decided_by_the_current_object() {
    on_every_backend(|store| {
        let if_absent = || WriteConditions {
            if_none_match: Some(EtagCondition::Any),
            ..WriteConditions::default()
        };
        let if_match = |tag: &str| WriteConditions {
            if_match: EtagCondition::parse(tag),
            ..WriteConditions::default()
        };
        let put_if = |conditions| {
            try_put(store, "a", &bytes(1, 500), PutOptions { conditions, ..PutOptions::default() })
        };
        let missing = put_if(if_match("\"00000000000000000000000000000000\""));
        assert!(matches!(missing, Err(StoreError::NoSuchKey { .. })), "{missing:?}");
        let version = put_if(if_absent()).expect("there is none");
        let second = put_if(if_absent());
        let failed =
            matches!(second, Err(StoreError::PreconditionFailed { condition: "If-None-Match" }));
        assert!(failed, "{second:?}");
        assert!(put_if(if_match("\"00000000000000000000000000000000\"")).is_err());
        put_if(if_match(&format!("\"{}\"", version.etag))).expect("the tag matches");

        let delete_if = |conditions| {
            store
                .delete_object(
                    &bucket(store, "bucket"),
                    DeleteTarget { conditions, ..DeleteTarget::new(key("a"), None) },
                )
                .wait()
        };
        let kept = delete_if(if_match("\"00000000000000000000000000000000\""));
        assert!(matches!(kept, Err(StoreError::PreconditionFailed { .. })), "{kept:?}");
        assert!(delete_if(if_match("*")).expect("there").existed);
        let gone = delete_if(if_match("*")).expect_err("nothing to delete");
        assert!(matches!(gone, StoreError::NoSuchKey { .. }), "{gone}");
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0, "refused bodies leave nothing");
    });
}

#[test]
fn of_racing_conditional_writes_one_wins() {
    on_every_backend(|store| {
        let wins: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|seed| {
                    scope.spawn(move || {
                        let conditions = WriteConditions {
                            if_none_match: Some(EtagCondition::Any),
                            ..WriteConditions::default()
                        };
                        let options = PutOptions { conditions, ..PutOptions::default() };
                        usize::from(try_put(store, "a", &bytes(seed, 200), options).is_ok())
                    })
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().expect("no panic")).sum()
        });
        assert_eq!(wins, 1);
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 1);
    });
}

#[test]
fn each_of_several_deletes_has_its_own_outcome() {
    on_every_backend(|store| {
        for object in ["a", "b", "c"] {
            put(store, object, &bytes(1, 300));
        }
        let target = |object: &str, conditions| DeleteTarget {
            conditions,
            ..DeleteTarget::new(key(object), None)
        };
        let fails = WriteConditions { if_match_size: Some(1), ..WriteConditions::default() };
        let targets = vec![
            target("a", WriteConditions::default()),
            target("b", fails),
            target("missing", WriteConditions::default()),
            target("c", WriteConditions::default()),
            target("c", WriteConditions::default()),
        ];
        let outcomes =
            store.delete_objects(&bucket(store, "bucket"), targets).wait().expect("deleted");
        let existed: Vec<_> =
            outcomes.into_iter().map(|outcome| outcome.ok().map(|it| it.existed)).collect();
        assert_eq!(existed, [Some(true), None, Some(false), Some(true), Some(false)]);
        assert_eq!(get(store, "b"), bytes(1, 300));
        let many = vec![target("x", WriteConditions::default()); 1001];
        let refused = store.delete_objects(&bucket(store, "bucket"), many).wait();
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
    });
}

#[test]
fn as_many_versions_as_a_request_may_name_are_deleted_at_once() {
    on_every_backend(|store| {
        let here = bucket(store, "bucket");
        store.set_versioning(&here, Versioning::Enabled).wait().expect("set");
        let rule = NotificationRule {
            id: "rule".to_owned(),
            target: "target".to_owned(),
            events: vec!["ObjectRemoved:*".to_owned()],
            prefix: String::new(),
            suffix: String::new(),
        };
        let rules = Notifications { rules: vec![rule], document: Vec::new() };
        store.set_notifications(&here, Some(rules), Cause::Unknown).wait().expect("set");
        (0..80).for_each(|_| _ = create_upload(store, "object 0"));
        // Whatever a deletion may have to look for: older versions, other copies of the body, uploads.
        for number in 0..40 {
            let object = format!("object {number}");
            put(store, &object, &bytes(1, 300));
            put(store, &object, &bytes(2, 300));
            copy(store, &object, &format!("copy {number}"), CopyOptions::default())
                .expect("copied");
            create_upload(store, &object);
        }
        let query = ListVersionsQuery { max: 1000, ..ListVersionsQuery::default() };
        let here = bucket(store, "bucket");
        let versions = || store.list_versions(&here, &query).expect("listed").entries;
        let targets: Vec<_> = versions()
            .into_iter()
            .map(|entry| match entry {
                VersionEntry::Version(it) | VersionEntry::DeleteMarker(it) => {
                    DeleteTarget::new(key(&it.key), Some(it.version_id))
                }
                VersionEntry::Prefix(_) => panic!("there is no delimiter"),
            })
            .collect();
        assert_eq!(targets.len(), 120);
        let outcomes = store.delete_objects(&here, targets).wait().expect("deleted");
        assert_eq!(
            outcomes.iter().filter(|it| it.as_ref().is_ok_and(|it| it.existed)).count(),
            120
        );
        assert_eq!(versions(), []);
    });
}

#[test]
fn copies_share_their_bytes_and_outlive_their_source() {
    on_every_backend(|store| {
        for length in [10, 2000] {
            let body = bytes(3, length);
            put(store, "a", &body);
            copy(store, "a", "b", CopyOptions::default()).expect("copy");
            copy(store, "b", "c", CopyOptions::default()).expect("copy of a copy");
            copy(store, "a", "a", CopyOptions::default()).expect("onto itself");
            store.reclaim().expect("reclaim");
            assert_eq!(blobs(store), u64::from(length > INLINE_BYTES));
            for object in ["a", "c", "b"] {
                assert!(get(store, object) == body, "{object}");
                delete(store, object);
                store.reclaim().expect("reclaim");
            }
            assert_eq!(blobs(store), 0);
        }
    });
}

#[test]
fn a_copy_takes_or_replaces_metadata_tags_and_checksum() {
    on_every_backend(|store| {
        let metadata = ObjectMetadata {
            user: vec![("a".to_owned(), "1".to_owned())],
            tags: vec![("t".to_owned(), "1".to_owned())],
            storage_class: Some("GLACIER_IR".to_owned()),
            ..ObjectMetadata::default()
        };
        let options = PutOptions { metadata: metadata.clone(), ..PutOptions::default() };
        try_put(store, "a", &bytes(1, 500), options).expect("put");
        let head = |object| {
            head_object(store, &bucket(store, "bucket"), &key(object), None).expect("head")
        };

        copy(store, "a", "kept", CopyOptions::default()).expect("copy");
        let kept = head("kept").metadata;
        assert_eq!(
            (kept.user, kept.tags, kept.storage_class),
            (metadata.user, metadata.tags, None)
        );

        let replaced = CopyOptions {
            metadata: Some(ObjectMetadata {
                user: vec![("b".to_owned(), "2".to_owned())],
                ..ObjectMetadata::default()
            }),
            tags: Some(Vec::new()),
            checksum_algorithm: Some(ChecksumAlgorithm::Sha256),
            ..CopyOptions::default()
        };
        copy(store, "a", "replaced", replaced).expect("copy");
        let object = head("replaced");
        assert_eq!(object.metadata.user, [("b".to_owned(), "2".to_owned())]);
        assert!(object.metadata.tags.is_empty());
        let mut set = liteio_store::ChecksumSet::new(&[ChecksumAlgorithm::Sha256]);
        set.update(&bytes(1, 500));
        assert_eq!(object.checksum, Some(ObjectChecksum::full_object(set.finish()[0])));
    });
}

#[test]
fn conditions_on_the_source_of_a_copy_all_fail_as_preconditions() {
    on_every_backend(|store| {
        let etag = put(store, "a", b"x").etag;
        let conditions = ReadConditions {
            if_none_match: EtagCondition::parse(&format!("\"{etag}\"")),
            ..ReadConditions::default()
        };
        assert_eq!(conditions.check(&etag, 0, &SystemClock), ConditionResult::NotModified);
        let options = CopyOptions { source_conditions: conditions, ..CopyOptions::default() };
        let failed = copy(store, "a", "b", options);
        assert!(matches!(failed, Err(StoreError::PreconditionFailed { .. })), "{failed:?}");
        let missing = copy(store, "nothing", "b", CopyOptions::default());
        assert!(matches!(missing, Err(StoreError::NoSuchKey { .. })), "{missing:?}");
    });
}

#[test]
fn an_open_reader_is_not_disturbed_by_what_comes_later() {
    on_every_backend(|store| {
        let body = bytes(9, 800_000);
        put(store, "a", &body);
        let opened = store.get_object(&bucket(store, "bucket"), &key("a"), &GetOptions::default());
        let mut reader = opened.expect("get").reader;
        put(store, "a", b"new");
        store.reclaim().expect("reclaim");
        let mut read = Vec::new();
        while let Some(piece) = reader.next().expect("read") {
            read.extend_from_slice(&piece);
        }
        assert!(read == body);
    });
}

#[test]
fn readers_and_writers_of_one_key_always_see_a_whole_object() {
    on_every_backend(|store| {
        put(store, "a", &bytes(0, 2000));
        std::thread::scope(|scope| {
            for writer in 0..2 {
                scope.spawn(move || {
                    for round in 0..40 {
                        put(store, "a", &bytes(writer * 100 + round, 1000));
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(move || {
                    for _ in 0..200 {
                        let (version, body) = try_get(store, "a", Selection::Whole).expect("get");
                        let mut digests = liteio_store::DigestSet::new(&[]);
                        digests.update(&body);
                        let md5 = digests.finish().md5;
                        assert_eq!(version.etag, liteio_store::ETag::Md5(md5));
                    }
                });
            }
        });
    });
}
