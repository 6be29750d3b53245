//! Appending, as callers of the store see it.

use liteio_disk::effort;
use liteio_store::{
    BodyOptions, ChecksumAlgorithm, ChecksumSet, ChecksumType, CopyOptions, ETag, Encryption,
    EncryptionKey, EtagCondition, KeyRing, ObjectChecksum, ObjectId, ObjectMetadata, ObjectVersion,
    PutOptions, RenameOptions, Selection, Store, StoreConfig, StoreError, Versioning,
    WriteConditions,
};

use crate::harness::*;

const CRC: ChecksumAlgorithm = ChecksumAlgorithm::Crc64Nvme;

fn checksum(algorithm: ChecksumAlgorithm, body: &[u8]) -> ObjectChecksum {
    let mut set = ChecksumSet::new(&[algorithm]);
    set.update(body);
    ObjectChecksum::full_object(set.finish()[0])
}

fn append_with(
    store: &Store,
    object: &str,
    offset: usize,
    body: &[u8],
    options: PutOptions,
) -> Result<ObjectVersion, StoreError> {
    let algorithms = ChecksumAlgorithm::ALL.to_vec();
    let mut writer = store.begin_body(BodyOptions { algorithms, ..BodyOptions::default() })?;
    writer.write(body)?;
    let (target, body) = (bucket(store, "bucket"), writer.finish()?);
    store.append_object(&target, key(object), offset as u64, body, options).wait()
}

/// Appends with a CRC64NVME, as the server does for a client that sends no checksum.
fn append(
    store: &Store,
    object: &str,
    offset: usize,
    body: &[u8],
) -> Result<ObjectVersion, StoreError> {
    let options = PutOptions { checksum: Some(checksum(CRC, body)), ..PutOptions::default() };
    append_with(store, object, offset, body, options)
}

fn md5(body: &[u8]) -> [u8; 16] {
    use md5::Digest as _;
    md5::Md5::digest(body).into()
}

#[test]
fn what_is_appended_follows_what_was_there() {
    let sizes = [1, 5, INLINE_BYTES, INLINE_BYTES + 1, 600_000];
    on_every_backend(|store| {
        for first in sizes {
            let mut whole = Vec::new();
            let mut md5s = Vec::new();
            for (index, length) in [first].into_iter().chain(sizes).enumerate() {
                let body = bytes((first * 7 + index) as u64, length);
                let version = append(store, "log", whole.len(), &body).expect("appended");
                md5s.push(md5(&body));
                whole.extend_from_slice(&body);
                let expected = match &md5s[..] {
                    [md5] => ETag::Md5(*md5),
                    md5s => ETag::multipart(md5s),
                };
                assert_eq!((version.bytes, version.etag), (whole.len() as u64, expected));
                assert_eq!(version.checksum, Some(checksum(CRC, &whole)));
                assert_eq!(version.part_count, (index > 0).then_some(index as u32 + 1));
                let (found, read) = try_get(store, "log", Selection::Whole).expect("get");
                assert!(read == whole && found == version, "{first}, {index}");
            }
            let (start, end) = (whole.len() as u64 / 3, whole.len() as u64 - 1);
            let middle = try_get(store, "log", range(start..end)).expect("get").1;
            assert!(middle == whole[start as usize..end as usize]);
            let part = try_get(store, "log", Selection::Part(number(2))).expect("get").1;
            assert!(part == bytes((first * 7 + 1) as u64, 1));
            store.reclaim().expect("reclaim");
            // The bytes that were there were not written again.
            let large = [first].into_iter().chain(sizes).filter(|length| *length > INLINE_BYTES);
            assert_eq!(blobs(store), large.count() as u64);
            delete(store, "log");
            store.reclaim().expect("reclaim");
            assert_eq!(blobs(store), 0);
        }
    });
}

#[test]
fn an_append_begins_where_the_object_ends() {
    on_every_backend(|store| {
        let refused = append(store, "log", 5, b"x");
        assert!(matches!(refused, Err(StoreError::InvalidWriteOffset { object_bytes: 0 })));
        append(store, "log", 0, b"12345").expect("created");
        for offset in [0, 4, 6] {
            let refused = append(store, "log", offset, &bytes(1, 50_000));
            assert!(matches!(refused, Err(StoreError::InvalidWriteOffset { object_bytes: 5 })));
        }
        assert_eq!(get(store, "log"), b"12345");
        append(store, "log", 5, b"67").expect("appended");
        assert_eq!(get(store, "log"), b"1234567");
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0, "what was refused is gone");
        // Behind nothing.
        put(store, "empty", b"");
        let all = append(store, "empty", 0, b"all").expect("appended");
        assert_eq!((all.checksum, all.part_count), (Some(checksum(CRC, b"all")), None));
        assert_eq!(get(store, "empty"), b"all");
    });
}

#[test]
fn parts_of_an_upload_are_appended_to_and_copies_stay_as_they_are() {
    on_every_backend(|store| {
        let id = create_upload(store, "log");
        let parts = [bytes(1, 200_000), bytes(2, 70)];
        for (number, part) in (1..).zip(&parts) {
            put_part(store, "log", &id, number, part).expect("a part");
        }
        complete(store, "log", &id, &[1, 2]).expect("completed");
        let mut whole = parts.concat();
        let copy = |from: &str, to: &str| {
            let target = bucket(store, "bucket");
            let source = ObjectId { bucket: target.clone(), key: key(from), version: None };
            let copied = store.copy_object(source, &target, key(to), CopyOptions::default());
            copied.wait().expect("copied");
        };
        for round in 0..3 {
            copy("log", "copy");
            let before = whole.clone();
            let added = bytes(round + 3, 20_000);
            let version = append(store, "log", whole.len(), &added).expect("appended");
            whole.extend_from_slice(&added);
            assert_eq!(version.part_count, Some(round as u32 + 3));
            assert!(get(store, "copy") == before && get(store, "log") == whole, "{round}");
            // Both are continued.
            append(store, "copy", before.len(), b"of the copy").expect("appended");
            assert!(get(store, "copy") == [&before[..], b"of the copy"].concat());
            assert!(get(store, "log") == whole);
            assert_eq!(blobs(store), round + 3);
        }
        let repeated = complete(store, "log", &id, &[1, 2]);
        assert!(matches!(repeated, Err(StoreError::NoSuchUpload { .. })), "it is another object");
        delete(store, "log");
        delete(store, "copy");
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
    });
}

/// The last part of an upload may be empty, and nothing may be between the others.
#[test]
fn an_empty_last_part_is_replaced() {
    on_every_backend(|store| {
        for is_shared in [false, true] {
            let id = create_upload(store, "log");
            let first = bytes(1, 100_000);
            put_part(store, "log", &id, 1, &first).expect("a part");
            put_part(store, "log", &id, 2, b"").expect("a part");
            complete(store, "log", &id, &[1, 2]).expect("completed");
            let target = bucket(store, "bucket");
            let source = ObjectId { bucket: target.clone(), key: key("log"), version: None };
            if is_shared {
                let copied =
                    store.copy_object(source, &target, key("copy"), CopyOptions::default());
                copied.wait().expect("copied");
            }
            for (offset, body) in [(100_000, b"one"), (100_003, b"two")] {
                append(store, "log", offset, body).expect("appended");
            }
            let (version, read) = try_get(store, "log", Selection::Whole).expect("get");
            assert!(read == [&first[..], b"onetwo"].concat());
            let md5s = [md5(&first), md5(b"one"), md5(b"two")];
            assert_eq!((version.etag, version.part_count), (ETag::multipart(&md5s), Some(3)));
            if is_shared {
                assert!(get(store, "copy") == first);
                delete(store, "copy");
            }
            delete(store, "log");
            store.reclaim().expect("reclaim");
            assert_eq!(blobs(store), 0);
        }
        put(store, "log", b"one");
        let refused = append(store, "log", 3, b"");
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })));
    });
}

#[test]
fn a_reader_of_the_object_before_reads_to_its_end() {
    on_every_backend(|store| {
        let mut whole = bytes(1, 700_000);
        put(store, "log", &whole);
        for round in 0..3 {
            let target = bucket(store, "bucket");
            let opened = store.get_object(&target, &key("log"), &Default::default());
            let mut reader = opened.expect("opened").reader;
            let added = bytes(round + 2, 300_000);
            append(store, "log", whole.len(), &added).expect("appended");
            store.reclaim().expect("reclaim");
            let mut read = Vec::new();
            while let Some(piece) = reader.next().expect("read") {
                read.extend_from_slice(&piece);
            }
            assert!(read == whole, "{round}");
            whole.extend_from_slice(&added);
        }
    });
}

#[test]
fn checksums_are_combined_if_they_are_crcs() {
    on_every_backend(|store| {
        for algorithm in ChecksumAlgorithm::ALL {
            let of = |body: &[u8]| PutOptions {
                checksum: Some(checksum(algorithm, body)),
                ..PutOptions::default()
            };
            let first = append_with(store, "log", 0, b"one", of(b"one")).expect("created");
            assert_eq!(first.checksum, Some(checksum(algorithm, b"one")));
            let second = append_with(store, "log", 3, b"two", of(b"two")).expect("appended");
            let is_crc = algorithm.supports(ChecksumType::FullObject);
            let whole = is_crc.then(|| checksum(algorithm, b"onetwo"));
            assert_eq!(second.checksum, whole, "{algorithm:?}");
            let parts = store.list_object_parts(
                &bucket(store, "bucket"),
                &key("log"),
                &Default::default(),
                None,
                10,
            );
            let values: Vec<_> =
                parts.expect("listed").parts.iter().map(|it| it.checksum).collect();
            let expected = [b"one", b"two"].map(|body| Some(checksum(algorithm, body).value));
            assert_eq!(values, expected, "{algorithm:?}");
            append_with(store, "log", 6, b"three", of(b"three")).expect("appended");
            assert_eq!(get(store, "log"), b"onetwothree");
            delete(store, "log");
        }
        // By another algorithm than the one that the object has now: it is to be tried again.
        put(store, "log", b"none");
        assert_eq!(append(store, "log", 4, b"x").expect("appended").checksum, None);
        delete(store, "log");
        append(store, "log", 0, b"crc").expect("created");
        let target = bucket(store, "bucket");
        let plain = stage(store, b"x").expect("staged");
        let refused = store.append_object(&target, key("log"), 3, plain, PutOptions::default());
        assert!(matches!(refused.wait(), Err(StoreError::ConditionalRequestConflict)));
    });
}

#[test]
fn an_append_changes_nothing_else_and_its_conditions_are_decided_inside() {
    on_every_backend(|store| {
        let metadata = ObjectMetadata {
            user: vec![("a".into(), "b".into())],
            tags: vec![("k".into(), "v".into())],
            ..ObjectMetadata::default()
        };
        let options = PutOptions { metadata: metadata.clone(), ..PutOptions::default() };
        let first = append_with(store, "log", 0, b"one", options.clone()).expect("created");
        let refused = append_with(store, "log", 3, b"two", options);
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })));
        let with = |conditions| PutOptions { conditions, ..PutOptions::default() };
        let if_none_match = Some(EtagCondition::Any);
        let absent = with(WriteConditions { if_none_match, ..WriteConditions::default() });
        let refused = append_with(store, "log", 3, b"two", absent);
        assert!(matches!(refused, Err(StoreError::PreconditionFailed { .. })));
        let if_match = EtagCondition::parse(&first.etag.to_string());
        let held = with(WriteConditions { if_match, ..WriteConditions::default() });
        let second = append_with(store, "log", 3, b"two", held).expect("appended");
        assert_eq!((second.metadata, second.owner), (metadata, first.owner));
        assert_eq!(get(store, "log"), b"onetwo");
        let options = RenameOptions::default();
        let renamed =
            store.rename_object(&bucket(store, "bucket"), key("log"), key("new"), options);
        renamed.wait().expect("renamed");
        append(store, "new", 6, b"three").expect("appended");
        assert_eq!(get(store, "new"), b"onetwothree");
        for versioning in [Versioning::Enabled, Versioning::Suspended] {
            let set = store.set_versioning(&bucket(store, "bucket"), versioning).wait();
            set.expect("set");
            let refused = append(store, "new", 11, b"x");
            assert!(matches!(refused, Err(StoreError::InvalidBucketState { .. })));
        }
    });
}

#[test]
fn one_of_two_appends_at_one_offset_wins() {
    on_every_backend(|store| {
        append(store, "log", 0, b"0").expect("created");
        for size in 1..20 {
            let target = bucket(store, "bucket");
            let bodies: Vec<_> =
                (0..4_u8).map(|who| stage(store, &[who]).expect("staged")).collect();
            // The second half of the rounds has no checksum any more.
            delete(store, "log");
            put(store, "log", &bytes(1, size));
            let pending: Vec<_> = bodies
                .into_iter()
                .map(|body| {
                    let options = PutOptions::default();
                    store.append_object(&target, key("log"), size as u64, body, options)
                })
                .collect();
            let results: Vec<_> = pending.into_iter().map(|pending| pending.wait()).collect();
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
            let is_late = |result: &&Result<ObjectVersion, StoreError>| {
                matches!(result, Err(StoreError::InvalidWriteOffset { .. }))
            };
            assert_eq!(results.iter().filter(is_late).count(), 3);
            assert_eq!(get(store, "log").len(), size + 1);
        }
    });
}

#[test]
fn there_is_a_most_of_parts() {
    // Each append writes the list of parts again, so the most of them take more than half a minute.
    let appends = effort::amount(1_000, 10_000);
    let store = Store::open(config(1)).expect("opens");
    create_bucket(&store, "bucket");
    let target = bucket(&store, "bucket");
    let mut last = None;
    for size in 0..appends {
        let body = stage(&store, b"x").expect("staged");
        last = Some(store.append_object(&target, key("log"), size, body, PutOptions::default()));
    }
    let last = last.expect("some").wait().expect("appended");
    assert_eq!((last.bytes, last.part_count.map(u64::from)), (appends, Some(appends)));
    if appends < 10_000 {
        append(&store, "log", appends as usize, b"x").expect("one more");
        return;
    }
    let refused = append(&store, "log", 10_000, b"x");
    assert!(matches!(refused, Err(StoreError::TooManyParts)));
    // A copy is in one piece, and grows again.
    let source = ObjectId { bucket: target.clone(), key: key("log"), version: None };
    let copied = store.copy_object(source, &target, key("copy"), CopyOptions::default()).wait();
    assert_eq!(copied.expect("copied").object.part_count, None);
    append(&store, "copy", 10_000, b"x").expect("appended");
    assert_eq!(get(&store, "copy"), [b'x'; 10_001]);
    assert!(get(&store, "log").iter().all(|byte| *byte == b'x'));
    assert_eq!(blobs(&store), 1, "that of the copy");
}

#[test]
fn encrypted_objects_are_not_appended_to() {
    let master = EncryptionKey::new([1; 32]);
    let keys = std::sync::Arc::new(KeyRing::new(vec![master], Vec::new()));
    let store = Store::open(StoreConfig { keys, ..config(1) }).expect("opens");
    create_bucket(&store, "bucket");
    let target = bucket(&store, "bucket");
    let sealed = |body: &[u8]| {
        let sealing = Some(store.seal_object(&Encryption::Master).expect("a key"));
        let options = BodyOptions { sealing, ..BodyOptions::default() };
        let mut writer = store.begin_body(options).expect("begun");
        writer.write(body).expect("written");
        writer.finish().expect("staged")
    };
    let append = |object: &str, offset: u64, body| {
        store.append_object(&target, key(object), offset, body, PutOptions::default()).wait()
    };
    append("sealed", 0, sealed(b"one")).expect("created");
    for body in [sealed(b"two"), stage(&store, b"two").expect("staged")] {
        assert!(matches!(append("sealed", 3, body), Err(StoreError::EncryptedAppend)));
    }
    put(&store, "plain", b"one");
    assert!(matches!(append("plain", 3, sealed(b"two")), Err(StoreError::EncryptionMismatch)));
    assert_eq!(get(&store, "plain"), b"one");
}
