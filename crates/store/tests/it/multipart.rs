use liteio_store::{
    ByteRange, ChecksumAlgorithm, ChecksumSet, ChecksumType, ChecksumValue, CompleteOptions,
    CompletePart, CopyOptions, CopyPartOptions, ETag, EtagCondition, GetOptions, ObjectChecksum,
    ObjectId, Selection, Store, StoreError, UploadId, UploadOptions, WriteConditions,
};

use crate::harness::*;

/// An object of four parts, of which one is small enough to stand in its record.
fn upload_parts(store: &Store, object: &str) -> Vec<u8> {
    let id = create_upload(store, object);
    let mut whole = Vec::new();
    for (part, length) in [(1, 300_000), (3, 40), (4, 1000), (10_000, 3)] {
        let body = bytes(u64::from(part), length);
        put_part(store, object, &id, part, &body).expect("part");
        whole.extend(body);
    }
    complete(store, object, &id, &[1, 3, 4, 10_000]).expect("complete");
    whole
}

#[test]
fn parts_become_one_object_that_reads_by_range_and_by_part() {
    on_every_backend(|store| {
        let whole = upload_parts(store, "a");
        let (object, read) = try_get(store, "a", Selection::Whole).expect("get");
        assert!(read == whole);
        assert_eq!((object.part_count, object.bytes), (Some(4), whole.len() as u64));
        assert!(object.etag.to_string().ends_with("-4"), "{}", object.etag);
        let end = whole.len() as u64;
        let edges = [0, 1, 299_999, 300_000, 300_001, 300_039, 300_040, 301_039, 301_040, end];
        for first in edges {
            for last in edges.into_iter().filter(|last| *last > first) {
                let read = try_get(store, "a", range(first..last)).expect("get").1;
                assert!(read == whole[first as usize..last as usize], "{first}..{last}");
            }
        }
        let offsets = [(0, 300_000), (300_000, 40), (300_040, 1000), (301_040, 3)];
        for (position, (offset, bytes)) in (1..).zip(offsets) {
            let part = try_get(store, "a", Selection::Part(number(position))).expect("part").1;
            assert!(part == whole[offset as usize..(offset + bytes) as usize], "part {position}");
            let select = Selection::Part(number(position));
            let options = GetOptions { select, ..GetOptions::default() };
            let found = store.head_object(&bucket(store, "bucket"), &key("a"), &options);
            let found = found.expect("part");
            let info = found.part.expect("one was selected");
            assert_eq!((info.offset, info.bytes), (offset, bytes));
            assert_eq!(found.range, offset..offset + bytes);
        }
        let fifth = try_get(store, "a", Selection::Part(number(5)));
        assert!(matches!(fifth, Err(StoreError::InvalidPartNumber { .. })), "{fifth:?}");
        let list = |after, max| {
            let after = Some(after).filter(|after| *after > 0).map(number);
            let parts = store.list_object_parts(
                &bucket(store, "bucket"),
                &key("a"),
                &Default::default(),
                after,
                max,
            );
            let page = parts.expect("parts");
            let numbers = page.parts.iter().map(|part| part.number.get()).collect::<Vec<_>>();
            (numbers, page.is_truncated)
        };
        assert_eq!(list(0, 4), (vec![1, 2, 3, 4], false));
        assert_eq!((list(2, 10), list(1, 1)), ((vec![3, 4], false), (vec![2], true)));
    });
}

#[test]
fn only_what_was_uploaded_is_completed() {
    on_every_backend(|store| {
        let id = create_upload(store, "a");
        let part = put_part(store, "a", &id, 2, &bytes(1, 500)).expect("part");
        put_part(store, "a", &id, 1, &bytes(2, 4)).expect("part");
        put_part(store, "a", &id, 3, &bytes(3, 500)).expect("part");
        let complete_with = |parts: Vec<CompletePart>, options: CompleteOptions| {
            store.complete_upload(&bucket(store, "bucket"), &key("a"), &id, parts, options).wait()
        };
        let part_with = |part: u16, etag: Option<&str>| CompletePart {
            number: number(part),
            etag: etag.map(str::to_owned),
            checksum: None,
        };
        let order = complete(store, "a", &id, &[3, 2]);
        assert!(matches!(order, Err(StoreError::InvalidPartOrder)), "{order:?}");
        let twice = complete(store, "a", &id, &[2, 2]);
        assert!(matches!(twice, Err(StoreError::InvalidPartOrder)), "{twice:?}");
        let missing = complete(store, "a", &id, &[2, 7]);
        assert!(matches!(missing, Err(StoreError::InvalidPart { part: 7 })), "{missing:?}");
        let small = complete(store, "a", &id, &[1, 2]);
        let is_small = matches!(small, Err(StoreError::PartTooSmall { part: 1, bytes: 4, .. }));
        assert!(is_small, "{small:?}");
        let none = complete(store, "a", &id, &[]);
        assert!(matches!(none, Err(StoreError::InvalidRequest { .. })), "{none:?}");
        for wrong in ["\"00000000000000000000000000000000\"", "", "x"] {
            let refused = complete_with(vec![part_with(2, Some(wrong))], Default::default());
            assert!(matches!(refused, Err(StoreError::InvalidPart { part: 2 })), "{refused:?}");
        }
        let size = CompleteOptions { object_bytes: Some(499), ..CompleteOptions::default() };
        let refused = complete_with(vec![part_with(2, None)], size);
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");

        let tag = format!("\"{}\"", part.etag);
        let done = complete_with(vec![part_with(2, Some(&tag))], Default::default());
        let ETag::Md5(md5) = part.etag else { panic!("a part has an MD5") };
        assert_eq!(done.expect("complete").etag, ETag::multipart([&md5]));
        assert_eq!(get(store, "a"), bytes(1, 500));
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 1, "parts that were not chosen are gone");
    });
}

#[test]
fn a_repeated_complete_answers_as_the_first_while_the_object_is_there() {
    on_every_backend(|store| {
        let id = create_upload(store, "a");
        put_part(store, "a", &id, 1, &bytes(1, 500)).expect("part");
        let absent = CompleteOptions {
            conditions: WriteConditions {
                if_none_match: Some(EtagCondition::Any),
                ..WriteConditions::default()
            },
            ..CompleteOptions::default()
        };
        let complete_once = || {
            let part = CompletePart { number: number(1), etag: None, checksum: None };
            let options = absent.clone();
            store
                .complete_upload(&bucket(store, "bucket"), &key("a"), &id, vec![part], options)
                .wait()
        };
        let first = complete_once().expect("first");
        assert_eq!(complete_once().expect("again"), first);
        let late = put_part(store, "a", &id, 2, b"late");
        assert!(matches!(late, Err(StoreError::NoSuchUpload { .. })), "{late:?}");
        let aborted = store.abort_upload(&bucket(store, "bucket"), &key("a"), &id).wait();
        assert!(matches!(aborted, Err(StoreError::NoSuchUpload { .. })), "{aborted:?}");
        put(store, "a", b"other");
        assert!(matches!(complete_once(), Err(StoreError::NoSuchUpload { .. })));
    });
}

#[test]
fn an_upload_is_known_by_bucket_key_and_id_together() {
    on_every_backend(|store| {
        let id = create_upload(store, "a");
        let unknown = UploadId::parse(&"0".repeat(32)).expect("an id");
        for (object, id) in [("b", &id), ("a", &unknown)] {
            let put = put_part(store, object, id, 1, &bytes(1, 500));
            assert!(matches!(put, Err(StoreError::NoSuchUpload { .. })), "{put:?}");
            let done = complete(store, object, id, &[1]);
            assert!(matches!(done, Err(StoreError::NoSuchUpload { .. })), "{done:?}");
            let found = store.upload(&bucket(store, "bucket"), &key(object), id);
            assert!(matches!(found, Err(StoreError::NoSuchUpload { .. })), "{found:?}");
        }
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
    });
}

#[test]
fn replaced_parts_and_aborted_uploads_leave_nothing() {
    on_every_backend(|store| {
        let id = create_upload(store, "a");
        for round in 0..3 {
            put_part(store, "a", &id, 1, &bytes(round, 500)).expect("part");
        }
        for part in 2..600 {
            put_part(store, "a", &id, part, &bytes(1, 70)).expect("part");
        }
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 599);
        store.abort_upload(&bucket(store, "bucket"), &key("a"), &id).wait().expect("abort");
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
    });
}

#[test]
fn a_copy_of_a_multipart_object_shares_its_bytes_in_one_piece() {
    on_every_backend(|store| {
        let whole = upload_parts(store, "a");
        let source = ObjectId { bucket: bucket(store, "bucket"), key: key("a"), version: None };
        let copied =
            store.copy_object(source, &bucket(store, "bucket"), key("b"), CopyOptions::default());
        let copied = copied.wait().expect("copy").object;
        assert_eq!((copied.part_count, copied.etag), (None, put(store, "whole", &whole).etag));
        delete(store, "whole");
        delete(store, "a");
        store.reclaim().expect("reclaim");
        assert!(get(store, "b") == whole);
        delete(store, "b");
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
    });
}

#[test]
fn parts_are_copied_from_ranges_of_any_object() {
    on_every_backend(|store| {
        let whole = upload_parts(store, "multi");
        let single = bytes(77, 5000);
        put(store, "single", &single);
        put(store, "tiny", b"0123456789");
        let id = create_upload(store, "a");
        let copy = |from: &str, range: Option<(u64, u64)>, part| {
            let source =
                ObjectId { bucket: bucket(store, "bucket"), key: key(from), version: None };
            let range = range.map(|(first, last)| ByteRange::FromTo { first, last });
            let options = CopyPartOptions { range, ..CopyPartOptions::default() };
            let copied = store.copy_part(
                source,
                &bucket(store, "bucket"),
                &key("a"),
                &id,
                number(part),
                options,
            );
            copied.wait().map(|outcome| outcome.part)
        };
        let end = whole.len() as u64;
        let sources = [
            ("single", None, &single[..]),
            ("single", Some((10, 4000)), &single[10..4001]),
            ("tiny", Some((1, 8)), b"12345678"),
            ("multi", None, &whole[..]),
            ("multi", Some((299_990, 300_100)), &whole[299_990..300_101]),
            ("multi", Some((300_000, 300_010)), &whole[300_000..300_011]),
            ("multi", Some((100, 200_000)), &whole[100..200_001]),
            ("multi", Some((300_040, end - 1)), &whole[300_040..]),
        ];
        let mut expected = Vec::new();
        for (position, (from, range, bytes)) in (1..).zip(sources) {
            let part = copy(from, range, position).expect("copy");
            let mut digests = liteio_store::DigestSet::new(&[]);
            digests.update(bytes);
            assert_eq!(part.etag, ETag::Md5(digests.finish().md5), "{from} {range:?}");
            expected.extend_from_slice(bytes);
        }
        for outside in [(0, 5000), (5000, 5001), (4, 3), (0, u64::MAX)] {
            let refused = copy("single", Some(outside), 100);
            assert!(matches!(refused, Err(StoreError::InvalidRange { .. })), "{refused:?}");
        }
        for object in ["multi", "single", "tiny"] {
            delete(store, object);
        }
        store.reclaim().expect("reclaim");
        complete(store, "a", &id, &[1, 2, 3, 4, 5, 6, 7, 8]).expect("complete");
        assert!(get(store, "a") == expected);
        delete(store, "a");
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
    });
}

fn checksum(algorithm: ChecksumAlgorithm, bytes: &[u8]) -> ChecksumValue {
    let mut set = ChecksumSet::new(&[algorithm]);
    set.update(bytes);
    set.finish()[0]
}

#[test]
fn the_checksum_of_the_whole_follows_from_those_of_the_parts() {
    on_every_backend(|store| {
        let cases = [
            (ChecksumAlgorithm::Crc32, ChecksumType::FullObject),
            (ChecksumAlgorithm::Crc32, ChecksumType::Composite),
            (ChecksumAlgorithm::Crc64Nvme, ChecksumType::FullObject),
            (ChecksumAlgorithm::Sha256, ChecksumType::Composite),
        ];
        for (algorithm, kind) in cases {
            let bodies = [bytes(1, 500), bytes(2, 90)];
            let values = bodies.each_ref().map(|body| checksum(algorithm, body));
            let options =
                UploadOptions { checksum: Some((algorithm, kind)), ..UploadOptions::default() };
            let upload = store.create_upload(&bucket(store, "bucket"), key("a"), options).wait();
            let id = upload.expect("create").id;
            let bare = put_part(store, "a", &id, 1, &bodies[0]);
            assert!(matches!(bare, Err(StoreError::InvalidRequest { .. })), "{bare:?}");
            for (part, (body, value)) in (1..).zip(bodies.iter().zip(values)) {
                let body = stage(store, body).expect("staged");
                let (bucket, object, part) = (bucket(store, "bucket"), key("a"), number(part));
                let stored = store.put_part(&bucket, &object, &id, part, body, Some(value)).wait();
                assert_eq!(stored.expect("part").checksum, Some(value));
            }
            let expected = match kind {
                ChecksumType::FullObject => {
                    ObjectChecksum::full_object(checksum(algorithm, &bodies.concat()))
                }
                ChecksumType::Composite => ObjectChecksum::composite(&values).expect("one kind"),
            };
            let complete_with = |expected: ChecksumValue| {
                let parts = [1, 2].map(|part| CompletePart {
                    number: number(part),
                    etag: None,
                    checksum: Some(values[usize::from(part) - 1]),
                });
                let whole = ObjectChecksum { value: expected, kind, parts: None };
                let options =
                    CompleteOptions { checksum: Some(whole), ..CompleteOptions::default() };
                store
                    .complete_upload(
                        &bucket(store, "bucket"),
                        &key("a"),
                        &id,
                        parts.into(),
                        options,
                    )
                    .wait()
            };
            let wrong = complete_with(values[0]);
            assert!(matches!(wrong, Err(StoreError::ChecksumMismatch { .. })), "{wrong:?}");
            assert_eq!(complete_with(expected.value).expect("complete").checksum, Some(expected));
        }
        let options = UploadOptions {
            checksum: Some((ChecksumAlgorithm::Sha1, ChecksumType::FullObject)),
            ..UploadOptions::default()
        };
        let refused = store.create_upload(&bucket(store, "bucket"), key("a"), options).wait();
        assert!(matches!(refused, Err(StoreError::InvalidRequest { .. })), "{refused:?}");
    });
}

#[test]
fn a_reader_of_parts_is_not_disturbed_by_their_deletion() {
    on_every_backend(|store| {
        let whole = upload_parts(store, "a");
        let opened = store.get_object(&bucket(store, "bucket"), &key("a"), &GetOptions::default());
        let mut reader = opened.expect("get").reader;
        delete(store, "a");
        let report = store.reclaim().expect("reclaim");
        assert_eq!((report.blobs, report.waiting), (0, 1), "pinned");
        let mut read = Vec::new();
        while let Some(piece) = reader.next().expect("read") {
            read.extend_from_slice(&piece);
        }
        assert!(read == whole);
        drop(reader);
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
    });
}

/// The writers replace an object of parts again and again. What one call answers is of one object: the
/// part, its checksum, its bytes, and the list of parts.
#[test]
fn one_answer_is_of_one_object_while_it_is_replaced() {
    const ROUNDS: u64 = 60;
    let store = Store::open(config(1)).expect("memory");
    create_bucket(&store, "bucket");
    let upload = |seed: u64| {
        let options = UploadOptions {
            checksum: Some((ChecksumAlgorithm::Crc32, ChecksumType::Composite)),
            ..UploadOptions::default()
        };
        let created = store.create_upload(&bucket(&store, "bucket"), key("a"), options);
        let id = created.wait().expect("created").id;
        // One and two parts in turn, each with bytes of its own.
        let parts: Vec<u16> = (1..=1 + (seed % 2) as u16).collect();
        for part in &parts {
            let body = bytes(seed * 10 + u64::from(*part), 500);
            let value = checksum(ChecksumAlgorithm::Crc32, &body);
            let (body, target) = (stage(&store, &body).expect("staged"), bucket(&store, "bucket"));
            let put =
                store.put_part(&target, &key("a"), &id, number(*part), body, Some(value)).wait();
            put.expect("part");
        }
        complete(&store, "a", &id, &parts).expect("complete");
    };
    upload(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..ROUNDS).for_each(upload));
        while !writer.is_finished() {
            let target = bucket(&store, "bucket");
            let options =
                GetOptions { select: Selection::Part(number(1)), ..GetOptions::default() };
            let mut opened = store.get_object(&target, &key("a"), &options).expect("get");
            let mut read = Vec::new();
            while let Some(piece) = opened.reader.next().expect("read") {
                read.extend_from_slice(&piece);
            }
            let part = opened.found.part.expect("one was selected");
            assert_eq!(part.checksum, Some(checksum(ChecksumAlgorithm::Crc32, &read)));

            let page = store
                .list_object_parts(&target, &key("a"), &Default::default(), None, 10)
                .expect("list");
            assert_eq!(page.object.part_count, Some(page.parts.len() as u32));
            let values: Vec<_> = page.parts.iter().filter_map(|part| part.checksum).collect();
            assert_eq!(page.object.checksum, ObjectChecksum::composite(&values));
        }
    });
}

#[test]
fn ten_thousand_parts_are_found_by_offset() {
    let store = Store::open(config(1)).expect("memory");
    create_bucket(&store, "bucket");
    let id = create_upload(&store, "a");
    for part in 1..=10_000 {
        put_part(&store, "a", &id, part, format!("{part:08}").as_bytes()).expect("part");
    }
    let numbers: Vec<u16> = (1..=10_000).collect();
    complete(&store, "a", &id, &numbers).expect("complete");
    for part in [1, 2, 4999, 5000, 9999, 10_000] {
        let start = (part - 1) * 8;
        let read = try_get(&store, "a", range(start..start + 8)).expect("get").1;
        assert_eq!(read, format!("{part:08}").into_bytes());
    }
    assert_eq!(get(&store, "a").len(), 80_000);
}
