use liteio_kv::{Kv, KvConfig, Write};

use super::*;
use crate::meta::content::Content;
use crate::meta::object::Extensions;
use crate::meta::upload::PartRecord;
use crate::meta::{ObjectMetadata, Owner};

const BUCKET: BucketId = BucketId(7);

fn upload_id(text: u8) -> UploadId {
    UploadId([text; 16])
}

/// Uploads, each with the parts 2, 4 and 6.
fn kv_with(uploads: &[(&str, u8)]) -> Kv {
    let kv = Kv::memory(KvConfig::default()).expect("memory");
    let uploads: Vec<(String, u8)> =
        uploads.iter().map(|(key, id)| ((*key).to_owned(), *id)).collect();
    let filled = kv.update::<(), StoreError, _>(move |write| {
        for (key, id) in &uploads {
            write_upload(write, BUCKET, key, *id)?;
        }
        write_upload(write, BucketId(6), "a", 250)?;
        write_upload(write, BucketId(8), "a", 251)
    });
    filled.wait().expect("fills");
    kv
}

fn write_upload(
    write: &mut impl Write,
    bucket: BucketId,
    key: &str,
    id: u8,
) -> Result<(), StoreError> {
    let record = UploadRecord {
        bucket,
        key: key.to_owned(),
        initiated_ms: u64::from(id),
        owner: Owner::default(),
        checksum: None,
        metadata: ObjectMetadata::default(),
        extensions: Extensions::default(),
    };
    record.write(write, &upload_id(id))?;
    for number in [2, 4, 6] {
        let facts = PartFacts {
            start: 0,
            bytes: 3,
            md5: [number as u8; 16],
            modified_ms: 1,
            checksum: None,
        };
        let content = Content::Inline(bytes::Bytes::from_static(b"abc"));
        let extensions = Extensions::default();
        PartRecord { facts, extensions, content }.write(write, &upload_id(id), number)?;
    }
    Ok(())
}

fn uploads(kv: &Kv, query: &ListUploadsQuery) -> UploadPage {
    list_uploads(&kv.snapshot().expect("snapshot"), BUCKET, query).expect("lists")
}

fn shown(page: &UploadPage) -> Vec<String> {
    let show = |entry: &UploadEntry| match entry {
        UploadEntry::Upload(upload) => format!("{} {}", upload.key, upload.id.0[0]),
        UploadEntry::Prefix(prefix) => format!("[{prefix}]"),
    };
    page.entries.iter().map(show).collect()
}

const UPLOADS: [(&str, u8); 6] = [("a", 9), ("a", 3), ("a/1", 4), ("a/2", 5), ("a\0", 6), ("b", 7)];

#[test]
fn uploads_stand_by_key_and_then_in_the_order_they_began() {
    let kv = kv_with(&UPLOADS);
    let query = |prefix: &str, delimiter: &str| ListUploadsQuery {
        prefix: prefix.into(),
        delimiter: Some(delimiter.into()),
        max: 100,
        ..ListUploadsQuery::default()
    };
    let all = uploads(&kv, &query("", ""));
    assert_eq!(shown(&all), ["a 3", "a 9", "a\0 6", "a/1 4", "a/2 5", "b 7"]);
    assert_eq!(all.next, None);
    assert_eq!(shown(&uploads(&kv, &query("", "/"))), ["a 3", "a 9", "a\0 6", "[a/]", "b 7"]);
    assert_eq!(shown(&uploads(&kv, &query("a/", "/"))), ["a/1 4", "a/2 5"]);
    assert_eq!(uploads(&kv, &ListUploadsQuery::default()), UploadPage::default());
}

#[test]
fn pages_of_uploads_go_on_where_the_last_one_ended() {
    let kv = kv_with(&UPLOADS);
    for delimiter in ["", "/"] {
        let query = ListUploadsQuery {
            delimiter: Some(delimiter.into()),
            max: 100,
            ..ListUploadsQuery::default()
        };
        let all = shown(&uploads(&kv, &query));
        for max in 1..=all.len() {
            let mut query = ListUploadsQuery { max, ..query.clone() };
            let mut paged = Vec::new();
            loop {
                let page = uploads(&kv, &query);
                paged.extend(shown(&page));
                let Some((key, upload)) = page.next else { break };
                assert_eq!(page.entries.len(), max);
                query.key_marker = Some(key);
                query.upload_marker = Some(upload);
            }
            assert_eq!(paged, all, "{max} a page, delimiter {delimiter:?}");
        }
    }
}

#[test]
fn a_key_marker_alone_skips_all_uploads_of_its_key() {
    let kv = kv_with(&UPLOADS);
    let behind_a =
        ListUploadsQuery { key_marker: Some("a".into()), max: 2, ..ListUploadsQuery::default() };
    assert_eq!(shown(&uploads(&kv, &behind_a)), ["a\0 6", "a/1 4"]);
}

#[test]
fn an_upload_marker_is_the_id_of_an_upload_of_its_key() {
    let kv = kv_with(&UPLOADS);
    let ended = upload_id(8).to_string();
    for (key, marker, expected) in [
        ("a", upload_id(3).to_string(), Some(vec!["a 9", "a\0 6"])),
        ("a", ended, Some(vec!["a 9", "a\0 6"])),
        ("a", String::new(), Some(vec!["a\0 6", "a/1 4"])),
        ("a", upload_id(7).to_string(), None),
        ("c", upload_id(7).to_string(), None),
        ("a", "../x".to_owned(), None),
    ] {
        let query = ListUploadsQuery {
            key_marker: Some(key.into()),
            upload_marker: Some(marker.clone()),
            max: 2,
            ..ListUploadsQuery::default()
        };
        let page = list_uploads(&kv.snapshot().expect("snapshot"), BUCKET, &query);
        match expected {
            Some(expected) => assert_eq!(shown(&page.expect("lists")), expected, "{key} {marker}"),
            None => {
                let refused = StoreError::InvalidUploadMarker { upload: marker };
                assert_eq!(page.expect_err("refused").to_string(), refused.to_string());
            }
        }
    }
}

#[test]
fn parts_come_by_number_a_page_at_a_time() {
    let kv = kv_with(&[("a", 1), ("b", 2)]);
    let snapshot = kv.snapshot().expect("snapshot");
    let key = ObjectKey::new("a").expect("valid");
    let parts = |after, max| {
        let page = list_parts(&snapshot, BUCKET, &key, &upload_id(1), after, max).expect("lists");
        assert_eq!(page.upload.key, key);
        let numbers: Vec<u16> = page.parts.iter().map(|part| part.number.get()).collect();
        (numbers, page.next.map(PartNumber::get))
    };
    assert_eq!(parts(None, 1000), (vec![2, 4, 6], None));
    assert_eq!(parts(None, 3), (vec![2, 4, 6], None));
    assert_eq!(parts(None, 2), (vec![2, 4], Some(4)));
    assert_eq!(parts(Some(4), 2), (vec![6], None));
    assert_eq!(parts(Some(3), 1), (vec![4], Some(4)));
    assert_eq!(parts(Some(u16::MAX), 9), (vec![], None));
    assert_eq!(parts(None, 0), (vec![], None));
    let other = list_parts(&snapshot, BUCKET, &key, &upload_id(2), None, 9);
    assert!(matches!(other, Err(StoreError::NoSuchUpload { .. })), "it is for another key");
}
