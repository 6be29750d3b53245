use super::*;
use crate::meta::content::ContentId;
use crate::name::{IndexId, UploadId};

#[test]
fn keys_are_taken_apart_again_and_foreign_bytes_refused() {
    let bucket = BucketId(7);
    let id = [9; 16];
    let history = history(bucket, "a\0b", &id);
    assert_eq!(split_history(&history), Some((bucket, b"a\0b".to_vec(), id)));
    let by_key = upload_by_key(bucket, "k", &UploadId(id));
    assert_eq!(split_upload_by_key(&by_key), Some((bucket, b"k".to_vec(), UploadId(id))));
    assert_eq!(split_part(&part(&UploadId(id), 258)), Some((UploadId(id), 258)));
    let uploads = ContentId::Uploads(BucketId(0x0102_0304));
    for content in [ContentId::Blob(id), ContentId::Parts(UploadId(id)), uploads] {
        assert_eq!(split_deletion(&deletion(&content)), Some(content));
    }
    assert_eq!(split_document(&document(bucket, 3)), Some((bucket, 3)));
    assert_eq!(split_document(&documents(bucket)), None);
    let mut longer_number = deletion(&uploads);
    longer_number[6] = 1;
    assert_eq!(split_deletion(&longer_number), None);
    let index_id = IndexId(258);
    assert_eq!(split_index(&index(bucket, "i")), Some((bucket, "i")));
    assert_eq!(split_vector(&vector(index_id, "k")), Some((index_id, "k")));
    assert_eq!(split_vector_slot(&vector_slot(index_id, 9)), Some((index_id, 9)));
    assert_eq!(split_index_deletion(&index_deletion(index_id)), Some(index_id));
    assert_eq!(split_vector_log(&vector_log(index_id)), Some(index_id));
    assert_eq!(split_vector_change(&vector_change(index_id, 259)), Some((index_id, 259)));
    assert_eq!(split_vector_change(&vector_changes_of(index_id)), None);
    assert_eq!(split_mirror(&mirror(index_id)), Some(index_id));
    assert_eq!(split_annotations(&annotations(&id)), Some(id));
    assert_eq!(split_annotation(&annotation(&id, "n")), Some((id, "n")));
    assert_eq!(split_payload(&payload(&id, "n")), Some((id, "n")));
    assert_eq!(split_annotation_deletion(&annotation_deletion(&id)), Some(id));
    assert_eq!(split_annotation(&payload(&id, "n")), None);
    assert_eq!(split_payload(&annotations(&id)), None);
    assert_eq!(split_annotations(&annotation_deletion(&id)), None);
    for kind in [QueueKind::Events, QueueKind::Replication] {
        let rows = queue_rows(kind, "t");
        let row = [&rows[..], &258_u64.to_be_bytes()].concat();
        assert_eq!(split_queue_row(&row), Some((kind, "t".to_owned(), 258)));
        assert_eq!(split_queue_row(&rows), None);
        let counter = queue_counter(kind, "t");
        assert_eq!(split_queue_counter(&counter), Some((kind, "t")));
        assert_eq!(split_queue_row(&counter), None);
        assert_eq!(split_queue_counter(&row), None);
    }
    assert_eq!(split_queue_counter(&[QUEUE, CURRENT, b't']), None);
    let restore = restore(RestoreStep::Expires, 258, bucket, &id);
    assert_eq!(split_restore(&restore), Some((RestoreStep::Expires, 258, bucket, id)));
    assert!((0..restore.len()).all(|length| split_restore(&restore[..length]).is_none()));
    let of_names = [namespace, table, view, table_settings].map(|of| of(bucket, "a", "b"));
    for key in of_names {
        assert_eq!(split_catalog(&key), Some((bucket, "a".to_owned(), "b")));
        assert!((0..7).all(|length| split_catalog(&key[..length]).is_none()));
    }
    assert_eq!(split_catalog(&index(bucket, "i")), None);
    let by_id = table_id(bucket, &[7; 16], "a", "b");
    assert_eq!(split_table_id(&by_id), Some((bucket, [7; 16], "a".to_owned(), "b")));
    assert!((0..22).all(|length| split_table_id(&by_id[..length]).is_none()));
    assert_eq!(split_unreferenced(&unreferenced(bucket, "k")), Some((bucket, "k")));
    assert_eq!(split_unreferenced(&by_id), None);
    assert_eq!(split_purge(&purge(bucket, "t/")), Some((bucket, "t/")));
    assert_eq!(split_purge(&unreferenced(bucket, "t/")), None);
    let time = answer_time("me\0", 258, &[7; 16]);
    assert_eq!(split_answer_time(&time), Some(("me\0".to_owned(), 258, [7; 16])));
    assert!((0..time.len()).all(|length| split_answer_time(&time[..length]).is_none()));
    assert!(
        time.starts_with(&answer_times_of("me\0")) && !time.starts_with(&answer_times_of("me"))
    );
    assert!(behind_answer_times_of("me\0").is_some_and(|behind| time < behind));
    let (of_table, of_view) = (table(bucket, "a", "b"), view(bucket, "a", "b"));
    assert_eq!(split_catalog_change(&catalog_change(&of_table)), Some((true, &of_table[..])));
    assert_eq!(split_catalog_change(&catalog_change(&of_view)), Some((false, &of_view[..])));
    assert_eq!(split_catalog_change(&catalog_change(&by_id)), None);
    assert_eq!(split_catalog_change(&of_table), None);
    let current = current(bucket, "k");
    assert_eq!(split_current(&current), Some((bucket, &b"k"[..])));
    let null = null_version(bucket, "k");
    assert_eq!(split_null_version(&null), Some((bucket, &b"k"[..])));
    for key in [&history, &by_key, &current] {
        for length in 0..5 {
            assert_eq!(split_history(&key[..length]), None);
            assert_eq!(split_upload_by_key(&key[..length]), None);
            assert_eq!(split_current(&key[..length]), None);
        }
        assert_eq!(split_part(key), None);
        assert_eq!(split_queue_row(key), None);
        assert_eq!(split_queue_counter(key), None);
        assert_eq!(split_deletion(key), None);
        assert_eq!(split_index(key), None);
        assert_eq!(split_vector(key), None);
        assert_eq!(split_vector_slot(key), None);
        assert_eq!(split_index_deletion(key), None);
    }
}
