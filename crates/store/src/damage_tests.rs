//! Damage in the tree: redb serves a flipped bit as it is, the checksums of records find it.

use std::sync::Arc;

use bytes::Bytes;
use liteio_checksum::DigestSet;
use liteio_kv::{Read, Write};

use crate::etag::ETag;
use crate::meta::content::Content;
use crate::meta::object::ObjectRecord;
use crate::meta::{record, space};
use crate::pending::Committed;
use crate::repair::{RepairReport, repair};
use crate::{
    Annotate, AnnotationChange, AnnotationName, AnnotationQuery, BodyOptions, Bucket, BucketName,
    Cause, DocumentKind, GetOptions, ListQuery, ListVersionsQuery, NewAnnotation, NewBucket,
    ObjectKey, Owner, PartNumber, StagedBody, Store, StoreConfig, StoreError, UploadId,
    VersionChange, Versioning,
};

/// A store with one record of every kind of the object family, of which two are versions of `a`.
struct Fixture {
    store: Store,
    bucket: Arc<Bucket>,
    upload: UploadId,
}

fn key(key: &str) -> ObjectKey {
    ObjectKey::new(key).expect("a key")
}

fn stage(store: &Store) -> StagedBody {
    let mut body = store.begin_body(BodyOptions::default()).expect("body");
    body.write(b"some inline bytes").expect("write");
    body.finish().expect("staged")
}

impl Fixture {
    fn new() -> Self {
        Self::of(StoreConfig { reserve_bytes: 0, ..StoreConfig::memory() })
    }

    /// With the bytes of objects in rows.
    fn with_rows() -> Self {
        let config = StoreConfig { reserve_bytes: 0, ..StoreConfig::memory() };
        Self::of(StoreConfig { record_body_bytes_max: 4, ..config })
    }

    fn of(config: StoreConfig) -> Self {
        let store = Store::open(config);
        let store = store.expect("memory");
        let name = BucketName::new("bucket").expect("a name");
        store
            .create_bucket(NewBucket::new(name.clone(), Owner::default(), String::new()))
            .wait()
            .expect("new");
        let bucket = store.bucket(&name).expect("there");
        store.set_versioning(&bucket, Versioning::Enabled).wait().expect("set");
        store.put_document(&bucket, DocumentKind::Cors, b"cors".to_vec()).wait().expect("put");
        for _ in 0..2 {
            let put = store.put_object(&bucket, key("a"), stage(&store), Default::default());
            put.wait().expect("put");
        }
        let upload = store.create_upload(&bucket, key("b"), Default::default());
        let upload = upload.wait().expect("begun").id;
        let part = PartNumber::MIN;
        store.put_part(&bucket, &key("b"), &upload, part, stage(&store), None).wait().expect("put");
        Self { store, bucket, upload }
    }

    fn value(&self, place: &[u8]) -> Vec<u8> {
        self.store
            .snapshot()
            .expect("snapshot")
            .get(place)
            .expect("readable")
            .expect("there")
            .to_vec()
    }

    fn write(&self, place: &[u8], value: Option<Vec<u8>>) {
        let place = place.to_vec();
        let written = self.store.update(move |write, _| {
            match &value {
                Some(value) => write.put(&place, value)?,
                None => write.delete(&place)?,
            }
            Ok(Committed::new(()))
        });
        written.wait().expect("written");
    }

    /// The first place that begins so.
    fn place(&self, prefix: &[u8]) -> Vec<u8> {
        let mut places = Vec::new();
        let snapshot = self.store.snapshot().expect("snapshot");
        let walked = self.store.walk(&snapshot, prefix, &mut |place, _| {
            places.push(place.to_vec());
            Ok(())
        });
        walked.expect("readable");
        places.swap_remove(0)
    }

    fn get(&self, object: &str) -> Result<(), StoreError> {
        let opened = self.store.get_object(&self.bucket, &key(object), &GetOptions::default());
        Ok(opened.map(drop)?)
    }

    /// Puts the version `null` of `n` into the history. Returns the key of its row of the index.
    fn put_null_version(&self) -> Vec<u8> {
        for versioning in [Versioning::Suspended, Versioning::Enabled] {
            self.store.set_versioning(&self.bucket, versioning).wait().expect("set");
            let put = self.store.put_object(
                &self.bucket,
                key("n"),
                stage(&self.store),
                Default::default(),
            );
            put.wait().expect("put");
        }
        space::null_version(self.bucket.id, "n")
    }

    fn repair(&self) -> RepairReport {
        let mut report = RepairReport::default();
        repair(&self.store, &mut report, &mut |_| {}).expect("repairs");
        report
    }

    fn damaged(&self) -> usize {
        self.store.verify(&mut |_| {}).expect("verify").damaged.len()
    }
}

/// A read that says whether it has found damage.
type Reader<'a> = &'a dyn Fn() -> bool;

fn is_corrupt<T>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Corrupt { .. }))
}

#[test]
fn a_flipped_bit_of_any_record_is_found_by_its_reader_and_by_verify() {
    let fixture = Fixture::new();
    let Fixture { store, bucket, upload } = &fixture;
    let versions = ListVersionsQuery { max: 10, ..ListVersionsQuery::default() };
    let objects = ListQuery { max: 10, ..ListQuery::default() };
    let list_objects = || is_corrupt(store.list_objects(bucket, &objects));
    let list_versions = || is_corrupt(store.list_versions(bucket, &versions));
    let list_parts = || is_corrupt(store.list_parts(bucket, &key("b"), upload, None, 10));
    let get = || is_corrupt(fixture.get("a"));
    let document = || is_corrupt(store.get_document(bucket, DocumentKind::Cors));
    let put = || {
        let put = store.put_object(bucket, key("new"), stage(store), Default::default());
        is_corrupt(put.wait())
    };
    let readers: [(Vec<u8>, Vec<Reader<'_>>); 6] = [
        (space::bucket("bucket"), vec![&put]),
        (space::document(bucket.id, DocumentKind::Cors as u8), vec![&document]),
        (space::current(bucket.id, "a"), vec![&get, &list_objects, &list_versions]),
        (fixture.place(space::ALL_HISTORY), vec![&list_versions]),
        (space::upload(upload), vec![&list_parts]),
        (space::part(upload, 1), vec![&list_parts]),
    ];
    assert_eq!(fixture.damaged(), 0);
    for (place, readers) in readers {
        let value = fixture.value(&place);
        for at in [1, value.len() / 3] {
            let mut damaged = value.clone();
            damaged[at] ^= 0x10;
            fixture.write(&place, Some(damaged));
            for read in &readers {
                assert!(read(), "byte {at} of {place:02x?}");
            }
            assert_eq!(fixture.damaged(), 1, "byte {at} of {place:02x?}");
        }
        fixture.write(&place, Some(value));
        assert_eq!(fixture.damaged(), 0);
    }
}

#[test]
fn damaged_inline_bytes_are_found_by_a_read_and_do_not_end_the_sweep() {
    let fixture = Fixture::new();
    let place = space::current(fixture.bucket.id, "a");
    let mut value = fixture.value(&place);
    *value.last_mut().expect("a body") ^= 1;
    fixture.write(&place, Some(value));
    assert!(is_corrupt(fixture.get("a")));
    assert_eq!(fixture.damaged(), 1);
    let objects = ListQuery { max: 10, ..ListQuery::default() };
    fixture.store.list_objects(&fixture.bucket, &objects).expect("shows no bytes");
    fixture.store.sweep().expect("sees no bytes");
}

#[test]
fn damage_of_a_row_is_that_of_its_version_and_no_row_is_left_without_one() {
    let fixture = Fixture::with_rows();
    let place = space::current(fixture.bucket.id, "a");
    let current = ObjectRecord::decode(&place, &fixture.value(&place)).expect("a record");
    let Content::Apart { stamp, .. } = current.content else { panic!("{:?}", current.content) };
    let row = space::body(&stamp);
    let whole = fixture.value(&row);
    // A flipped bit of the bytes, and of the owner; a missing row; one of another version.
    let flipped = |at: usize| {
        let mut row = whole.clone();
        row[at] ^= 1;
        row
    };
    let other = fixture.value(&fixture.place(space::ALL_BODIES));
    assert_ne!(other, whole, "the older version has the first row");
    for wrong in [Some(flipped(whole.len() - 1)), Some(flipped(8)), Some(other), None] {
        fixture.write(&row, wrong);
        assert!(is_corrupt(fixture.get("a")));
        assert!(fixture.damaged() >= 1);
        let objects = ListQuery { max: 10, ..ListQuery::default() };
        fixture.store.list_objects(&fixture.bucket, &objects).expect("shows no bytes");
        fixture.write(&row, Some(whole.clone()));
        assert_eq!(fixture.damaged(), 0);
    }
    // A damaged row goes with its version; the one before becomes readable by its id only.
    fixture.write(&row, Some(flipped(whole.len() - 1)));
    let report = fixture.repair();
    assert_eq!((report.removed.len(), report.left.len()), (1, 0), "{report:?}");
    assert_eq!(fixture.damaged(), 0);
    // A row whose version is gone, as damage of the tree leaves it.
    fixture.write(&row, Some(whole));
    assert_eq!(fixture.damaged(), 1);
    let report = fixture.repair();
    assert_eq!((report.removed.len(), report.left.len()), (1, 0), "{report:?}");
    let snapshot = fixture.store.snapshot().expect("snapshot");
    assert!(snapshot.get(&row).expect("readable").is_none());
    assert_eq!(fixture.damaged(), 0);
}

#[test]
fn a_row_of_a_version_that_cannot_be_read_is_kept_until_the_version_is_removed() {
    let fixture = Fixture::with_rows();
    let place = space::current(fixture.bucket.id, "a");
    let mut newer = fixture.value(&place);
    newer[0] = 200;
    fixture.write(&place, Some(newer));
    let rows = || {
        let mut rows = 0;
        let snapshot = fixture.store.snapshot().expect("snapshot");
        let walked = fixture.store.walk(&snapshot, space::ALL_BODIES, &mut |_, _| {
            rows += 1;
            Ok(())
        });
        walked.expect("readable");
        rows
    };
    let report = fixture.repair();
    assert_eq!((report.removed.len(), report.left.len(), rows()), (0, 1, 2), "{report:?}");
    let mut damaged = fixture.value(&place);
    damaged[0] = 2;
    damaged[9] ^= 1;
    fixture.write(&place, Some(damaged));
    let report = fixture.repair();
    assert_eq!((report.left.len(), rows()), (0, 1), "{report:?}");
}

/// Flips a bit.
fn flipped(value: &[u8]) -> Option<Vec<u8>> {
    let mut value = value.to_vec();
    *value.last_mut().expect("not empty") ^= 1;
    Some(value)
}

impl Fixture {
    fn annotate(&self, name: &str) {
        let mut digests = DigestSet::new(&[]);
        digests.update(b"some text");
        let change = AnnotationChange::Put(NewAnnotation {
            name: AnnotationName::new(name).expect("a name"),
            payload: Bytes::from_static(b"some text"),
            md5: digests.finish().md5,
            checksum: None,
        });
        let conditions = Default::default();
        let annotate = Annotate { change, conditions, bypasses_governance: false };
        let change = VersionChange::Annotate(Box::new(annotate));
        let put = self.store.annotate_object(&self.bucket, key("a"), None, change, Cause::Unknown);
        put.wait().expect("put");
    }

    /// The names of the annotations of `a`.
    fn annotations(&self) -> String {
        let query = AnnotationQuery { max: 10, ..Default::default() };
        let page = self.store.list_annotations(&self.bucket, &key("a"), None, &query);
        let names = page.expect("listed").annotations.into_iter().map(|it| it.name);
        names.collect::<Vec<_>>().join(" ")
    }

    fn is_readable(&self, name: &str) -> bool {
        self.store.get_annotation(&self.bucket, &key("a"), None, name).is_ok()
    }

    /// Repairs the store, and checks whether something was removed, and that nothing is left.
    fn is_repaired(&self, removes: bool) {
        assert!(self.damaged() >= 1);
        let report = self.repair();
        assert_eq!((!report.removed.is_empty(), report.left.len()), (removes, 0), "{report:?}");
        assert_eq!(self.damaged(), 0);
    }
}

#[test]
fn damage_of_annotations_costs_the_annotation_and_nothing_else() {
    let fixture = Fixture::new();
    ["n", "m"].into_iter().for_each(|name| fixture.annotate(name));
    assert_eq!((fixture.damaged(), fixture.annotations()), (0, "m n".to_owned()));
    let head = fixture.place(space::ALL_ANNOTATION_SETS);
    let set = space::split_annotations(&head).expect("a head");
    let whole = fixture.value(&head);
    // The head is written again, from the version and the rows.
    for wrong in [flipped(&whole), None] {
        fixture.write(&head, wrong);
        fixture.is_repaired(false);
        assert_eq!(fixture.annotations(), "m n");
        assert!(fixture.is_readable("m") && fixture.is_readable("n"));
    }
    // A payload that is damaged or lost takes its annotation with it.
    let payload = space::payload(&set, "n");
    for wrong in [flipped(&fixture.value(&payload)), None] {
        fixture.write(&payload, wrong);
        assert!(!fixture.is_readable("n") && fixture.is_readable("m"));
        fixture.is_repaired(true);
        assert_eq!(fixture.annotations(), "m");
        fixture.annotate("n");
        assert!(fixture.is_readable("n"));
    }
    // So does a damaged record; the object stays.
    let row = space::annotation(&set, "n");
    fixture.write(&row, flipped(&fixture.value(&row)));
    fixture.is_repaired(true);
    assert_eq!(fixture.annotations(), "m");
    fixture.get("a").expect("whole");
    // Rows of no version, as damage of the tree leaves them: with their head and without.
    for (other, has_head) in [([8; 16], false), ([9; 16], true)] {
        let rows = [
            (space::annotation(&set, "m"), space::annotation(&other, "m")),
            (space::payload(&set, "m"), space::payload(&other, "m")),
            (head.clone(), space::annotations(&other).to_vec()),
        ];
        for (row, place) in &rows[..if has_head { 3 } else { 2 }] {
            let mut value = fixture.value(row);
            record::reseal(place, &mut value);
            fixture.write(place, Some(value));
        }
        fixture.is_repaired(true);
        let snapshot = fixture.store.snapshot().expect("snapshot");
        for (_, place) in &rows {
            assert!(snapshot.get(place).expect("readable").is_none());
        }
        assert_eq!(fixture.annotations(), "m");
    }
}

#[test]
fn a_record_under_another_key_is_found() {
    let fixture = Fixture::new();
    let current = space::current(fixture.bucket.id, "a");
    let moved = space::current(fixture.bucket.id, "moved");
    fixture.write(&moved, Some(fixture.value(&current)));
    assert!(is_corrupt(fixture.get("moved")));
    assert_eq!(fixture.damaged(), 1);
    fixture.write(&moved, None);
    // An older version in the place of the current one.
    fixture.write(&current, Some(fixture.value(&fixture.place(space::ALL_HISTORY))));
    assert!(is_corrupt(fixture.get("a")));
    assert_eq!(fixture.damaged(), 1);
}

#[test]
fn an_index_that_misses_or_misnames_the_null_version_is_found() {
    let fixture = Fixture::new();
    let row = fixture.put_null_version();
    let stamp = fixture.value(&row);
    assert_eq!((stamp.len(), fixture.damaged()), (16, 0));
    fixture.write(&row, None);
    assert_eq!(fixture.damaged(), 1, "the version is not in the index");
    fixture.write(&row, Some(vec![7; 16]));
    assert_eq!(fixture.damaged(), 2, "and the index names another");
    fixture.write(&row, Some(stamp));
    assert_eq!(fixture.damaged(), 0);
}

#[test]
fn repair_leaves_a_record_of_a_newer_format_as_it_is() {
    let fixture = Fixture::new();
    let place = space::current(fixture.bucket.id, "a");
    let mut newer = fixture.value(&place);
    newer[0] = 200;
    fixture.write(&place, Some(newer.clone()));
    let report = fixture.repair();
    assert_eq!((report.removed.len(), report.left.len()), (0, 1), "{report:?}");
    assert_eq!(fixture.value(&place), newer);
}

#[test]
fn repair_writes_the_index_of_null_versions_again_and_keeps_the_versions() {
    let fixture = Fixture::new();
    let row = fixture.put_null_version();
    let stamp = fixture.value(&row);
    // Missing, and naming a version that is not there, or one that is not null.
    let (_, _, other) =
        space::split_history(&fixture.place(space::ALL_HISTORY)).expect("a version");
    for wrong in [None, Some(vec![7; 16]), Some(other.to_vec())] {
        fixture.write(&row, wrong.clone());
        let report = fixture.repair();
        assert!(report.left.is_empty() && !report.mended.is_empty(), "{wrong:?}: {report:?}");
        assert_eq!(fixture.value(&row), stamp, "{wrong:?}");
        assert_eq!(fixture.damaged(), 0);
    }
}

#[test]
fn repair_of_an_object_keeps_the_parts_that_its_copy_has_too() {
    let Fixture { store, bucket, upload } = &Fixture::new();
    let fixture = Fixture { store: store.clone(), bucket: Arc::clone(bucket), upload: *upload };
    let part = crate::CompletePart { number: PartNumber::MIN, etag: None, checksum: None };
    let completed =
        store.complete_upload(bucket, &key("b"), upload, vec![part], Default::default());
    completed.wait().expect("completed");
    let source = crate::ObjectId { bucket: Arc::clone(bucket), key: key("b"), version: None };
    store.copy_object(source, bucket, key("copy"), Default::default()).wait().expect("copied");
    let place = space::current(bucket.id, "b");
    let record = ObjectRecord::decode(&place, &fixture.value(&place)).expect("a record");
    let wrong = ObjectRecord { etag: ETag::multipart(&[[7; 16]]), ..record };
    fixture.write(&place, Some(wrong.encode(&place)));

    let report = fixture.repair();
    assert_eq!((report.removed.len(), report.left.len()), (1, 0), "{report:?}");
    assert!(matches!(fixture.get("b"), Err(StoreError::NoSuchKey { .. })));
    fixture.get("copy").expect("whole");
    assert_eq!(fixture.damaged(), 0);

    // The copy alone has the parts now.
    let place = space::current(bucket.id, "copy");
    let record = ObjectRecord::decode(&place, &fixture.value(&place)).expect("a record");
    // The tag of its parts is beside its own, which is the MD5 of its bytes.
    let extensions = record.extensions.clone().with_content_tag(Some(&ETag::multipart(&[[7; 16]])));
    let wrong = ObjectRecord { extensions, ..record };
    fixture.write(&place, Some(wrong.encode(&place)));
    fixture.repair();
    let snapshot = store.snapshot().expect("snapshot");
    assert!(snapshot.get(&space::part(upload, 1)).expect("readable").is_none());
}
