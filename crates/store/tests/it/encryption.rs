//! Encrypted objects, as callers of the store see them.

use std::fs;
use std::sync::Arc;

use liteio_disk::SimulatedDisk;
use liteio_store::limits::PIECE_BYTES;
use liteio_store::{
    BodyOptions, ChecksumAlgorithm, CopyOptions, CopyPartOptions, Durability, ETag, Encryption,
    EncryptionKey, EncryptionScheme, GetOptions, KeyRing, MissingKeys, NamedKey, ObjectId,
    ObjectVersion, PutOptions, RenameOptions, Rewrapped, Selection, Store, StoreConfig, StoreError,
    UploadOptions,
};

use crate::harness::*;

fn secret(byte: u8) -> EncryptionKey {
    EncryptionKey::new([byte; 32])
}

fn ring() -> KeyRing {
    let named = |name: &str, byte| NamedKey { name: name.to_owned(), versions: vec![secret(byte)] };
    KeyRing::new(vec![secret(1)], vec![named("first", 2), named("second", 3)])
}

fn with_ring(config: StoreConfig, keys: KeyRing) -> StoreConfig {
    StoreConfig { keys: Arc::new(keys), ..config }
}

fn open(config: StoreConfig) -> Store {
    let store = Store::open(config).expect("opens");
    create_bucket(&store, "bucket");
    store
}

fn named(key: &str) -> Encryption {
    Encryption::Named { key: Some(key.to_owned()), context: None, bucket_key: false }
}

fn customer(byte: u8) -> Encryption {
    Encryption::Customer(secret(byte))
}

/// The key that a client sends to read what it has encrypted so.
fn key_of(encryption: &Encryption) -> Option<EncryptionKey> {
    match encryption {
        Encryption::Customer(key) => Some(key.clone()),
        _ => None,
    }
}

fn every_encryption() -> [Encryption; 3] {
    [Encryption::Master, named("second"), customer(9)]
}

fn try_put_sealed(
    store: &Store,
    object: &str,
    body: &[u8],
    encryption: &Encryption,
) -> Result<ObjectVersion, StoreError> {
    let options = BodyOptions {
        algorithms: vec![ChecksumAlgorithm::Crc32c],
        sealing: Some(store.seal_object(encryption)?),
        ..BodyOptions::default()
    };
    let mut writer = store.begin_body(options)?;
    for piece in body.chunks(70_001) {
        writer.write(piece)?;
    }
    let body = writer.finish()?;
    store.put_object(&bucket(store, "bucket"), key(object), body, PutOptions::default()).wait()
}

fn put_sealed(store: &Store, object: &str, body: &[u8], encryption: &Encryption) -> ObjectVersion {
    try_put_sealed(store, object, body, encryption).expect("put")
}

fn read(
    store: &Store,
    object: &str,
    select: Selection,
    customer_key: Option<EncryptionKey>,
) -> Result<(ObjectVersion, Vec<u8>), StoreError> {
    read_in_pieces(store, object, select, customer_key, None)
}

fn read_in_pieces(
    store: &Store,
    object: &str,
    select: Selection,
    customer_key: Option<EncryptionKey>,
    piece_bytes: Option<u64>,
) -> Result<(ObjectVersion, Vec<u8>), StoreError> {
    let options = GetOptions { select, customer_key, ..GetOptions::default() };
    let opened = store.get_object(&bucket(store, "bucket"), &key(object), &options)?;
    let (version, mut reader) = (opened.found.object, opened.reader);
    reader.limit_pieces(piece_bytes);
    let mut body = Vec::new();
    loop {
        let piece = match reader.try_next()? {
            Some(piece) => piece,
            None => reader.next()?,
        };
        let Some(piece) = piece else { return Ok((version, body)) };
        assert!(piece_bytes.is_none_or(|most| piece.len() as u64 <= most));
        body.extend_from_slice(&piece);
    }
}

fn damaged(store: &Store) -> Vec<String> {
    let report = store.verify(&mut |_| {}).expect("verified");
    report.damaged.into_iter().map(|damage| damage.what).collect()
}

const BLOCK: usize = PIECE_BYTES - 16;

#[test]
fn what_was_put_is_read_whole_and_in_ranges() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for config in [config(1), on_directory(directory.path())] {
        let store = open(with_ring(config, ring()));
        for encryption in every_encryption() {
            for length in [0, 1, INLINE_BYTES, INLINE_BYTES + 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
                let body = bytes(length as u64, length);
                let put = put_sealed(&store, "object", &body, &encryption);
                assert_eq!(put.bytes, length as u64);
                let customer = key_of(&encryption);
                let whole = read(&store, "object", Selection::Whole, customer.clone());
                let (object, found) = whole.expect("read");
                assert!(found == body, "{encryption:?}, {length} bytes");
                assert_eq!(object.checksum, None);
                assert_eq!((object.etag, &object.encryption), (put.etag, &put.encryption));
                let ends = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, length];
                for first in ends.into_iter().filter(|first| *first < length) {
                    for end in ends.into_iter().filter(|end| first < *end && *end <= length) {
                        let select = range(first as u64..end as u64);
                        let piece = (first % 2 == 0).then_some(100_000);
                        let part =
                            read_in_pieces(&store, "object", select, customer.clone(), piece);
                        assert!(part.expect("read").1 == body[first..end], "{first}..{end}");
                    }
                }
            }
        }
        assert_eq!(damaged(&store), [""; 0]);
    }
}

#[test]
fn the_few_bytes_that_tags_push_into_another_block_have_no_piece_of_their_own() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for config in [config(1), on_directory(directory.path())] {
        let store = open(with_ring(config, ring()));
        for (length, pieces) in [(PIECE_BYTES, 1), (4 * PIECE_BYTES, 4), (BLOCK + 4097, 2)] {
            let body = bytes(length as u64, length);
            put_sealed(&store, "object", &body, &Encryption::Master);
            let options = GetOptions::default();
            let opened = store.get_object(&bucket(&store, "bucket"), &key("object"), &options);
            let mut reader = opened.expect("opened").reader;
            let found: Vec<_> = std::iter::from_fn(|| reader.next().expect("read")).collect();
            assert!(found.concat() == body);
            assert_eq!(found.len(), pieces, "{length} bytes");
        }
    }
}

#[test]
fn a_reader_of_short_pieces_decrypts_a_block_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(with_ring(on_directory(directory.path()), ring()));
    let body = bytes(1, 3 * BLOCK);
    put_sealed(&store, "object", &body, &Encryption::Master);
    let options = GetOptions::default();
    let opened = store.get_object(&bucket(&store, "bucket"), &key("object"), &options);
    let mut reader = opened.expect("opened").reader;
    let mut next = |most: Option<u64>| {
        reader.limit_pieces(most);
        reader.next()
    };
    let first = next(Some(1000)).expect("read").expect("a piece");
    assert!(first[..] == body[..1000]);
    let directories = fs::read_dir(directory.path().join("blobs")).expect("readable");
    let files =
        directories.flat_map(|it| fs::read_dir(it.expect("an entry").path()).expect("readable"));
    for file in files {
        fs::write(file.expect("an entry").path(), vec![0; 4 * BLOCK]).expect("damaged");
    }
    // The rest of the block is in memory, in pieces of any length; the next block is read.
    assert!(next(Some(1000)).expect("read").expect("a piece")[..] == body[1000..2000]);
    assert!(next(None).expect("read").expect("a piece")[..] == body[2000..BLOCK]);
    next(Some(1000)).expect_err("damaged");
}

#[test]
fn the_entity_tag_is_the_md5_only_with_the_master_key() {
    let store = open(with_ring(config(1), ring()));
    let md5 = put(&store, "plain", b"body").etag;
    let mut seen = vec![md5];
    assert_eq!(put_sealed(&store, "a", b"body", &Encryption::Master).etag, md5);
    for (object, encryption) in
        [("a", named("first")), ("b", named("first")), ("c", customer(9)), ("d", customer(9))]
    {
        let put = put_sealed(&store, object, b"body", &encryption);
        assert!(!seen.contains(&put.etag), "{object}");
        seen.push(put.etag);
    }
    let scheme = |object: &str| {
        let options = GetOptions { customer_key: Some(secret(9)), ..GetOptions::default() };
        let found = store.head_object(&bucket(&store, "bucket"), &key(object), &options);
        found.expect("found").object.encryption
    };
    assert_eq!(scheme("c"), Some(EncryptionScheme::Customer));
}

#[test]
fn nothing_of_a_body_is_on_the_disk_in_plain() {
    let disk = SimulatedDisk::new(1);
    let config = StoreConfig { durability: Durability::Fsync, ..with_ring(config(1), ring()) };
    let store = Store::open_on(Arc::new(disk.clone()), config).expect("opens");
    create_bucket(&store, "bucket");
    let secret_text = b"this text is secret ".repeat(1000);
    for (index, encryption) in every_encryption().iter().enumerate() {
        for length in [20, 60, 1000, 20_000] {
            put_sealed(&store, &format!("{index}{length}"), &secret_text[..length], encryption);
        }
        let id = create_sealed_upload(&store, "parts", encryption);
        for (number, length) in [(1, 60), (2, 5000)] {
            put_sealed_part(&store, "parts", &id, number, &secret_text[..length], encryption)
                .expect("part");
        }
    }
    assert!(!disk_holds(&disk, b"text is secret"));
    put(&store, "plain", &secret_text[..60]);
    assert!(disk_holds(&disk, b"text is secret"), "the search finds what is there");
}

fn disk_holds(disk: &SimulatedDisk, wanted: &[u8]) -> bool {
    use liteio_disk::Disk as _;
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        for entry in disk.list(&directory).expect("listed") {
            let path = match directory.is_empty() {
                true => entry.name.clone(),
                false => format!("{directory}/{}", entry.name),
            };
            if entry.is_dir {
                directories.push(path);
                continue;
            }
            let file = disk.open(&path, liteio_disk::OpenMode::Read).expect("opened");
            let mut bytes = vec![0; file.len().expect("a length") as usize];
            file.read_at(&mut bytes, 0).expect("read");
            if bytes.windows(wanted.len()).any(|window| window == wanted) {
                return true;
            }
        }
    }
    false
}

fn create_sealed_upload(
    store: &Store,
    object: &str,
    encryption: &Encryption,
) -> liteio_store::UploadId {
    let options =
        UploadOptions { encryption: Some(encryption.clone()), ..UploadOptions::default() };
    let upload = store.create_upload(&bucket(store, "bucket"), key(object), options).wait();
    upload.expect("begun").id
}

fn put_sealed_part(
    store: &Store,
    object: &str,
    id: &liteio_store::UploadId,
    part: u16,
    body: &[u8],
    encryption: &Encryption,
) -> Result<liteio_store::Part, StoreError> {
    let (target, key) = (bucket(store, "bucket"), key(object));
    let sealing = store.seal_part(&target, &key, id, key_of(encryption).as_ref())?;
    let mut writer = store.begin_body(BodyOptions { sealing, ..BodyOptions::default() })?;
    writer.write(body)?;
    store.put_part(&target, &key, id, number(part), writer.finish()?, None).wait()
}

#[test]
fn parts_are_encrypted_and_numbered_anew() {
    let store = open(with_ring(config(1), ring()));
    for encryption in every_encryption() {
        let customer = key_of(&encryption);
        let id = create_sealed_upload(&store, "parts", &encryption);
        let bodies = [bytes(1, 50), bytes(2, BLOCK + 100), bytes(3, 1000), bytes(4, 3)];
        for (index, body) in bodies.iter().enumerate() {
            let number = index as u16 * 2 + 1;
            // Uploaded again under the same number: another key, and the last one counts.
            put_sealed_part(&store, "parts", &id, number, b"replaced", &encryption).expect("part");
            let part = put_sealed_part(&store, "parts", &id, number, body, &encryption);
            let part = part.expect("part");
            let is_md5 = part.etag == put(&store, "plain", body).etag;
            assert_eq!(is_md5, encryption == Encryption::Master);
        }
        assert_eq!(damaged(&store), [""; 0]);
        let made = complete(&store, "parts", &id, &[1, 3, 7]).expect("completed");
        assert!(matches!(made.etag, ETag::Multipart { parts: 3, .. }));
        assert!(made.encryption.is_some());
        let whole = [&bodies[0][..], &bodies[1], &bodies[3]].concat();
        let found = read(&store, "parts", Selection::Whole, customer.clone()).expect("read");
        assert!(found.1 == whole);
        for bounds in [0..1, 40..60, 49..BLOCK + 151, 50 + BLOCK - 1..50 + BLOCK + 1] {
            let select = range(bounds.start as u64..bounds.end as u64);
            let part = read(&store, "parts", select, customer.clone()).expect("read").1;
            assert!(part == whole[bounds.clone()], "{bounds:?}");
        }
        let part = read(&store, "parts", Selection::Part(number(2)), customer.clone());
        assert!(part.expect("read").1 == bodies[1]);
        // A repeated call answers as the first.
        assert_eq!(complete(&store, "parts", &id, &[1, 3, 7]).expect("repeated"), made);
        assert_eq!(damaged(&store), [""; 0]);
        delete(&store, "parts");
    }
}

#[test]
fn a_key_of_a_client_is_needed_and_must_be_the_right_one() {
    let store = open(with_ring(config(1), ring()));
    put(&store, "plain", b"body");
    put_sealed(&store, "master", b"body", &Encryption::Master);
    put_sealed(&store, "customer", b"body", &customer(9));
    let id = create_sealed_upload(&store, "parts", &customer(9));
    let target = bucket(&store, "bucket");
    let check = |object: &str,
                 customer: Option<EncryptionKey>,
                 is_expected: fn(&StoreError) -> bool| {
        let options = GetOptions { customer_key: customer.clone(), ..GetOptions::default() };
        let head = store.head_object(&target, &key(object), &options).map(drop);
        let parts = store.list_object_parts(&target, &key(object), &options, None, 10).map(drop);
        let get = read(&store, object, Selection::Whole, customer.clone()).map(drop);
        let source = ObjectId { bucket: Arc::clone(&target), key: key(object), version: None };
        let copy = CopyOptions { source_key: customer, ..CopyOptions::default() };
        let copy = store.copy_object(source, &target, key("copy"), copy).wait().map(drop);
        for result in [head.map_err(StoreError::from), parts, get, copy] {
            let error = result.expect_err(object);
            assert!(is_expected(&error), "{object}: {error:?}");
        }
    };
    check("plain", Some(secret(9)), |error| matches!(error, StoreError::CustomerKeyNotApplicable));
    check("master", Some(secret(9)), |error| matches!(error, StoreError::CustomerKeyNotApplicable));
    check("customer", None, |error| matches!(error, StoreError::CustomerKeyRequired));
    check("customer", Some(secret(8)), |error| matches!(error, StoreError::WrongCustomerKey));
    let part = |encryption| {
        put_sealed_part(&store, "parts", &id, 1, b"part", &encryption).expect_err("refused")
    };
    assert!(matches!(part(Encryption::Master), StoreError::CustomerKeyRequired));
    assert!(matches!(part(customer(8)), StoreError::WrongCustomerKey));
    // Never stored in plain by mistake.
    let plain = put_part(&store, "parts", &id, 1, b"part").expect_err("refused");
    assert!(matches!(plain, StoreError::Internal { .. }), "{plain:?}");
    // Its cipher text is verified without the key.
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.damaged, report.sealed), (Vec::new(), 1));
}

#[test]
fn without_keys_nothing_is_stored() {
    let store = open(config(1));
    let error = try_put_sealed(&store, "object", b"body", &Encryption::Master).expect_err("none");
    assert!(matches!(error, StoreError::NoMasterKey), "{error:?}");
    let error = try_put_sealed(&store, "object", b"body", &named("first")).expect_err("none");
    assert!(matches!(error, StoreError::NoSuchNamedKey { .. }), "{error:?}");
    let options =
        UploadOptions { encryption: Some(Encryption::Master), ..UploadOptions::default() };
    let upload = store.create_upload(&bucket(&store, "bucket"), key("object"), options).wait();
    assert!(matches!(upload.expect_err("none"), StoreError::NoMasterKey));
    assert!(matches!(
        read(&store, "object", Selection::Whole, None).expect_err("nothing"),
        StoreError::NoSuchKey { .. }
    ));
}

fn copy(
    store: &Store,
    from: (&str, Option<EncryptionKey>),
    to: &str,
    encryption: Option<Encryption>,
) -> ObjectVersion {
    let target = bucket(store, "bucket");
    let source = ObjectId { bucket: Arc::clone(&target), key: key(from.0), version: None };
    let options = CopyOptions { source_key: from.1, encryption, ..CopyOptions::default() };
    store.copy_object(source, &target, key(to), options).wait().expect("copied").object
}

#[test]
fn a_copy_shares_bytes_only_under_the_same_key() {
    let store = open(with_ring(config(1), ring()));
    let body = bytes(1, 2 * BLOCK + 5);
    let md5 = put(&store, "md5", &body).etag;
    delete(&store, "md5");
    let every: Vec<Option<Encryption>> =
        [None].into_iter().chain(every_encryption().map(Some)).chain([Some(customer(8))]).collect();
    for from in &every {
        for to in &every {
            for is_in_parts in [false, true] {
                let customer = from.as_ref().and_then(key_of);
                let put = match (from, is_in_parts) {
                    (None, _) => put(&store, "source", &body),
                    (Some(from), false) => put_sealed(&store, "source", &body, from),
                    (Some(from), true) => {
                        let id = create_sealed_upload(&store, "source", from);
                        for (number, part) in [(1, &body[..100]), (2, &body[100..])] {
                            put_sealed_part(&store, "source", &id, number, part, from)
                                .expect("part");
                        }
                        complete(&store, "source", &id, &[1, 2]).expect("completed")
                    }
                };
                let before = blobs_settled(&store);
                let copied = copy(&store, ("source", customer), "copy", to.clone());
                let case = format!("{from:?} to {to:?}, in parts: {is_in_parts}");
                let is_shared = blobs_settled(&store) == before;
                // An object in parts becomes one piece with the MD5 of its bytes. Without one to show, the
                // bytes are written again.
                let has_md5 = matches!(to, None | Some(Encryption::Master));
                assert_eq!(is_shared, from == to && (has_md5 || !is_in_parts), "{case}");
                match (is_shared, to) {
                    (true, _) if is_in_parts => assert_eq!(copied.etag, md5, "{case}"),
                    (true, _) => assert_eq!(copied.etag, put.etag, "{case}"),
                    (false, None | Some(Encryption::Master)) => {
                        assert_eq!(copied.etag, md5, "{case}");
                    }
                    (false, _) => assert_ne!(copied.etag, md5, "{case}"),
                }
                delete(&store, "source");
                store.reclaim().expect("reclaimed");
                let customer = to.as_ref().and_then(key_of);
                let found = read(&store, "copy", Selection::Whole, customer.clone()).expect(&case);
                assert!(found.1 == body && found.0.encryption == copied.encryption, "{case}");
                // Onto itself, which changes how it is encrypted.
                let own = copy(&store, ("copy", customer), "copy", Some(Encryption::Master));
                assert_eq!(own.encryption, Some(EncryptionScheme::Master), "{case}");
                assert!(read(&store, "copy", Selection::Whole, None).expect(&case).1 == body);
                assert_eq!(damaged(&store), [""; 0], "{case}");
                delete(&store, "copy");
                assert_eq!(blobs_settled(&store), 0, "{case}");
            }
        }
    }
}

fn blobs_settled(store: &Store) -> u64 {
    store.reclaim().expect("reclaimed");
    blobs(store)
}

/// The data key is wrapped for the key of the object, so a rename wraps it anew.
#[test]
fn a_renamed_object_is_read_and_stays_under_its_key() {
    for length in [5, 2 * BLOCK + 5] {
        let store = open(with_ring(config(1), ring()));
        for encryption in every_encryption() {
            let (body, customer) = (bytes(1, length), key_of(&encryption));
            let rename = |from: &str, to: &str, customer_key: Option<EncryptionKey>| {
                let options = RenameOptions { customer_key, ..RenameOptions::default() };
                store.rename_object(&bucket(&store, "bucket"), key(from), key(to), options).wait()
            };
            put_sealed(&store, "old", &body, &encryption);
            let id = create_sealed_upload(&store, "parts", &encryption);
            put_sealed_part(&store, "parts", &id, 1, &body, &encryption).expect("a part");
            complete(&store, "parts", &id, &[1]).expect("completed");
            for (from, to) in [("old", "new"), ("parts", "new parts")] {
                let before =
                    read(&store, from, Selection::Whole, customer.clone()).expect("read").0;
                if customer.is_some() {
                    let without = rename(from, to, None);
                    assert!(matches!(without, Err(StoreError::CustomerKeyRequired)));
                    let wrong = rename(from, to, Some(secret(8)));
                    assert!(matches!(wrong, Err(StoreError::WrongCustomerKey)));
                    read(&store, from, Selection::Whole, customer.clone())
                        .expect("it is still there");
                } else {
                    let needless = rename(from, to, Some(secret(8)));
                    assert!(matches!(needless, Err(StoreError::CustomerKeyNotApplicable)));
                }
                rename(from, to, customer.clone()).expect("renamed");
                let (after, found) =
                    read(&store, to, Selection::Whole, customer.clone()).expect("read");
                assert!(found == body, "{encryption:?} {to}");
                let expected = ObjectVersion { key: key(to), ..before };
                assert_eq!(after, expected);
            }
        }
        assert_eq!(damaged(&store), [""; 0]);
    }
}

/// A rename wraps with the newest version of the key, and needs the one that has wrapped.
#[test]
fn a_rename_survives_the_replacement_of_the_master_key() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |keys: Vec<EncryptionKey>| {
        let ring = KeyRing::new(keys, Vec::new());
        Store::open(with_ring(on_directory(directory.path()), ring)).expect("opens")
    };
    let store = at(vec![secret(1)]);
    create_bucket(&store, "bucket");
    put_sealed(&store, "old", b"body", &Encryption::Master);
    store.close();
    let store = at(vec![secret(2), secret(1)]);
    let options = RenameOptions::default();
    let renamed = store.rename_object(&bucket(&store, "bucket"), key("old"), key("new"), options);
    renamed.wait().expect("renamed");
    store.close();
    let store = at(vec![secret(2)]);
    assert_eq!(read(&store, "new", Selection::Whole, None).expect("read").1, b"body");
}

/// MINIO_KMS_SECRET_KEY=NAME:KEY gives the master key a name, which LITEIO_MASTER_KEY may leave out later.
#[test]
fn objects_under_a_name_of_the_master_key_need_the_master_key_alone() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |master: &[u8], named| {
        let keys = master.iter().map(|byte| secret(*byte)).collect();
        with_ring(on_directory(directory.path()), KeyRing::new(keys, named))
    };
    let name = NamedKey { name: "my-key".to_owned(), versions: vec![secret(1)] };
    let store = open(at(&[1], vec![name]));
    put_sealed(&store, "object", b"body", &named("my-key"));
    store.close();
    let store = Store::open(at(&[2, 1], Vec::new())).expect("opens");
    assert_eq!(read(&store, "object", Selection::Whole, None).expect("read").1, b"body");
    let rewrapped = store.rewrap_keys().expect("rewrapped");
    assert_eq!(rewrapped, Rewrapped::All { rewrapped: 1, newest: 0 });
    store.close();
    let store = Store::open(at(&[2], Vec::new())).expect("opens");
    assert_eq!(read(&store, "object", Selection::Whole, None).expect("read").1, b"body");
    store.close();
    let store = Store::open(at(&[3], Vec::new())).expect("opens");
    let error = read(&store, "object", Selection::Whole, None).expect_err("no key");
    assert!(matches!(error, StoreError::KeyMissing { .. }), "{error:?}");
}

#[test]
fn parts_are_copied_from_and_to_every_encryption() {
    let store = open(with_ring(config(1), ring()));
    let body = bytes(1, BLOCK + 500);
    let target = bucket(&store, "bucket");
    let every: Vec<Option<Encryption>> =
        [None].into_iter().chain(every_encryption().map(Some)).collect();
    for from in &every {
        match from {
            None => put(&store, "source", &body),
            Some(from) => put_sealed(&store, "source", &body, from),
        };
        for to in &every {
            let id = match to {
                None => create_upload(&store, "parts"),
                Some(to) => create_sealed_upload(&store, "parts", to),
            };
            let selected = [None, Some((10, 99)), Some((BLOCK as u64 - 1, BLOCK as u64 + 10))];
            for (index, bounds) in selected.into_iter().enumerate() {
                let options = CopyPartOptions {
                    range: bounds
                        .map(|(first, last)| liteio_store::ByteRange::FromTo { first, last }),
                    source_key: from.as_ref().and_then(key_of),
                    customer_key: to.as_ref().and_then(key_of),
                    ..CopyPartOptions::default()
                };
                let source =
                    ObjectId { bucket: Arc::clone(&target), key: key("source"), version: None };
                let number = number(index as u16 + 1);
                store
                    .copy_part(source, &target, &key("parts"), &id, number, options)
                    .wait()
                    .expect("copied");
            }
            complete(&store, "parts", &id, &[1, 2, 3]).expect("completed");
            let whole = [&body[..], &body[10..100], &body[BLOCK - 1..BLOCK + 11]].concat();
            let customer = to.as_ref().and_then(key_of);
            let found = read(&store, "parts", Selection::Whole, customer).expect("read");
            assert!(found.1 == whole, "{from:?} to {to:?}");
            assert_eq!(damaged(&store), [""; 0]);
        }
    }
}

#[test]
fn keys_are_replaced_and_old_ones_are_needed_only_until_all_is_wrapped_anew() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = |master: &[u8], first: &[u8]| {
        let keys = |bytes: &[u8]| bytes.iter().map(|byte| secret(*byte)).collect();
        let named = NamedKey { name: "first".to_owned(), versions: keys(first) };
        with_ring(on_directory(directory.path()), KeyRing::new(keys(master), vec![named]))
    };
    let store = open(config(&[1], &[2]));
    store
        .set_versioning(&bucket(&store, "bucket"), liteio_store::Versioning::Enabled)
        .wait()
        .expect("set");
    let body = bytes(1, 1000);
    put_sealed(&store, "master", b"older", &Encryption::Master);
    put_sealed(&store, "master", &body, &Encryption::Master);
    put_sealed(&store, "named", &body, &named("first"));
    put_sealed(&store, "customer", &body, &customer(9));
    let id = create_sealed_upload(&store, "parts", &Encryption::Master);
    put_sealed_part(&store, "parts", &id, 1, &body, &Encryption::Master).expect("part");
    let open_id = create_sealed_upload(&store, "open", &Encryption::Master);
    complete(&store, "parts", &id, &[1]).expect("completed");
    store.close();

    let check = |store: &Store| {
        for object in ["master", "named", "parts"] {
            let found = read(store, object, Selection::Whole, None).expect(object).1;
            assert!(found == body, "{object}");
        }
        assert_eq!(damaged(store), [""; 0]);
    };
    // Without the old one, nothing can be read, and nothing is damaged.
    let store = Store::open(config(&[11], &[12])).expect("opens");
    for object in ["master", "named", "parts"] {
        let error = read(&store, object, Selection::Whole, None).expect_err("no key");
        assert!(matches!(error, StoreError::KeyMissing { .. }), "{error:?}");
    }
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.damaged, report.sealed), (Vec::new(), 1));
    let counts = |missing: &MissingKeys| {
        missing.iter().map(|(key, count)| (key.name.clone(), *count)).collect::<Vec<_>>()
    };
    let first = || Some("first".to_owned());
    assert_eq!(counts(&report.missing), [(None, 3), (first(), 1)]);
    assert_eq!(store.stats().keyless_reads, 3);
    let sampled = store.sample_missing_keys().expect("looked");
    assert_eq!(sampled.keys().map(|key| key.name.clone()).collect::<Vec<_>>(), [None, first()]);
    store.note_missing_keys(&sampled);
    assert_eq!(store.stats().missing_keys, 2);
    store.close();

    // Some keys, or none, are never enough: nothing is rewrapped, and the missing ones are named.
    let rows: [(&[u8], &[u8], &[_]); 4] = [
        (&[11], &[12], &[(None, 4), (first(), 1)]),
        (&[11, 1], &[12], &[(first(), 1)]),
        (&[11], &[12, 2], &[(None, 4)]),
        (&[], &[], &[(None, 4), (first(), 1)]),
    ];
    for (master, named, expected) in rows {
        let store = Store::open(config(master, named)).expect("opens");
        let Rewrapped::Refused(missing) = store.rewrap_keys().expect("looked") else {
            panic!("{master:?} {named:?}: all keys were found")
        };
        assert_eq!(counts(&missing), expected, "{master:?} {named:?}");
        assert_eq!(store.wrapping_keys().expect("looked").missing, missing);
        store.close();
    }

    let store = Store::open(config(&[11, 1], &[12, 2])).expect("opens");
    check(&store);
    let all = |rewrapped, newest| Rewrapped::All { rewrapped, newest };
    assert_eq!(store.rewrap_keys().expect("rewrapped"), all(5, 0));
    assert_eq!(store.rewrap_keys().expect("rewrapped"), all(0, 5));
    store.close();

    let store = Store::open(config(&[11], &[12])).expect("opens");
    check(&store);
    put_sealed_part(&store, "open", &open_id, 1, &body, &Encryption::Master).expect("part");
    store.close();
}
