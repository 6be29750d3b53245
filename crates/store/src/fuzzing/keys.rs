//! Keys of the key space.

use crate::meta::content::ContentId;
use crate::meta::{key, space};
use crate::name::{BucketId, UploadId};

/// The encoding of object keys, and the keys of every key space made with it. Order and prefixes
/// are preserved, and a composed key splits into its parts again; any other key is refused.
pub fn key(data: &[u8]) {
    any_bytes(data);
    let Some((&[first, second, bucket], rest)) = data.split_first_chunk() else { return };
    let (left, rest) = rest.split_at(rest.len().min(first.into()));
    let (right, tail) = rest.split_at(rest.len().min(second.into()));
    encoding(left, right, tail);
    let texts = (String::from_utf8_lossy(left), String::from_utf8_lossy(right));
    spaces(BucketId(bucket.into()), &texts.0, &texts.1, tail);
}

fn any_bytes(data: &[u8]) {
    if let Some((key, tail)) = key::split_ended(data) {
        assert_eq!(ended(&key, tail), data, "a key has one encoding");
    }
    if let Some((bucket, key, stamp)) = space::split_history(data)
        && let Ok(key) = str::from_utf8(&key)
    {
        assert_eq!(space::history(bucket, key, &stamp), data);
    }
    if let Some((bucket, key, upload)) = space::split_upload_by_key(data)
        && let Ok(key) = str::from_utf8(&key)
    {
        assert_eq!(space::upload_by_key(bucket, key, &upload), data);
    }
    if let Some((bucket, key)) = space::split_current(data)
        && let Ok(key) = str::from_utf8(key)
    {
        assert_eq!(space::current(bucket, key), data);
    }
    if let Some((upload, number)) = space::split_part(data) {
        assert_eq!(space::part(&upload, number), data);
    }
    if let Some(content) = space::split_deletion(data) {
        assert_eq!(space::deletion(&content), data);
    }
    if let Some(name) = space::bucket_name(data) {
        assert_eq!(space::bucket(name), data);
    }
    let readings = [
        space::split_history(data).is_some(),
        space::split_upload_by_key(data).is_some(),
        space::split_current(data).is_some(),
        space::split_part(data).is_some(),
        space::split_deletion(data).is_some(),
        space::bucket_name(data).is_some(),
    ];
    assert!(readings.iter().filter(|read| **read).count() <= 1, "a key belongs to one space");
}

fn ended(key: &[u8], tail: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    key::append_ended(key, &mut encoded);
    encoded.extend_from_slice(tail);
    encoded
}

fn encoding(left: &[u8], right: &[u8], tail: &[u8]) {
    // The longer tail must not outweigh the smaller key.
    let encoded = (ended(left, tail), ended(right, b""));
    assert_eq!(key::split_ended(&encoded.0), Some((left.to_vec(), tail)));
    let order = left.cmp(right).then(tail.cmp(b""));
    assert_eq!(encoded.0.cmp(&encoded.1), order, "the order is the order of the keys");
    let mut prefix = Vec::new();
    key::append_escaped(right, &mut prefix);
    assert_eq!(encoded.0.starts_with(&prefix), left.starts_with(right));
    match key::successor(right) {
        Some(end) => assert_eq!(left >= right && left < &end[..], left.starts_with(right)),
        None => assert!(right.iter().all(|byte| *byte == 0xFF)),
    }
}

fn spaces(bucket: BucketId, left: &str, right: &str, tail: &[u8]) {
    let mut id = [0; 16];
    for (place, byte) in id.iter_mut().zip(tail) {
        *place = *byte;
    }
    let upload = UploadId(id);
    let history = space::history(bucket, left, &id);
    assert_eq!(space::split_history(&history), Some((bucket, left.as_bytes().to_vec(), id)));
    let order = (left, &id).cmp(&(right, &[0x80; 16]));
    assert_eq!(history.cmp(&space::history(bucket, right, &[0x80; 16])), order);
    let prefix = space::history_prefix(bucket, right.as_bytes());
    assert_eq!(history.starts_with(&prefix), left.starts_with(right));

    let by_key = space::upload_by_key(bucket, left, &upload);
    let split = Some((bucket, left.as_bytes().to_vec(), upload));
    assert_eq!(space::split_upload_by_key(&by_key), split);
    assert_eq!(by_key.starts_with(&space::uploads_of(bucket, right)), left == right);
    let prefix = space::uploads_prefix(bucket, right.as_bytes());
    assert_eq!(by_key.starts_with(&prefix), left.starts_with(right));

    let current = space::current(bucket, left);
    assert_eq!(space::split_current(&current), Some((bucket, left.as_bytes())));
    assert_eq!(current.cmp(&space::current(bucket, right)), left.cmp(right));
    for content in [ContentId::Blob(id), ContentId::Parts(upload), ContentId::Uploads(bucket)] {
        assert_eq!(space::split_deletion(&space::deletion(&content)), Some(content));
        assert_eq!(space::split_deletion(&space::reference(&content)), None);
    }
}
