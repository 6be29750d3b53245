//! Version 1 of the record: no checksum, the owner in every record, inline bytes behind the fields.

use liteio_checksum::{ChecksumAlgorithm, ChecksumType, ObjectChecksum};

use super::{Extensions, Listed, ObjectRecord, WHAT};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::content::{Content, StoredContent};
use crate::meta::record::Body;
use crate::meta::{ContentHeaders, ObjectMetadata, Owner, record};

/// Size, entity tag, time, kind of checksum, storage class.
type Front<'a> = (u64, ETag, u64, Option<(ChecksumAlgorithm, ChecksumType)>, Option<&'a str>);
/// Id and display name of the owner.
type OwnerFields<'a> = (&'a str, &'a str);
/// Stamp, `is_null`, `is_delete_marker`.
type VersionFields = ([u8; 16], bool, bool);
/// Headers, user metadata and tags.
type Rest = (ContentHeaders, Vec<(String, String)>, Vec<(String, String)>);

/// Decodes the fields that a listing shows. Returns the bytes behind them.
pub(super) fn listed(fields: &[u8]) -> Result<(Listed, &[u8]), StoreError> {
    let ((front, owner, version), rest): ((Front<'_>, OwnerFields<'_>, VersionFields), _) =
        record::take(fields, WHAT)?;
    let (checksum, rest): (Option<ObjectChecksum>, _) = record::take(rest, WHAT)?;
    let (bytes, etag, modified_ms, _, storage_class) = front;
    let (stamp, is_null, is_delete_marker) = version;
    let owner = Owner { id: owner.0.to_owned(), display_name: owner.1.to_owned() };
    let listed = Listed {
        bytes,
        etag,
        modified_ms,
        stamp,
        is_null,
        is_delete_marker,
        owner: Some(owner),
        checksum,
        storage_class: storage_class.map(str::to_owned),
    };
    Ok((listed, rest))
}

/// Decodes all but the content.
pub(super) fn object(
    fields: &[u8],
) -> Result<(ObjectRecord, StoredContent<'_>, Body<'_>), StoreError> {
    let (listed, fields) = listed(fields)?;
    let ((headers, user, tags), fields): (Rest, _) = record::take(fields, WHAT)?;
    let (stored, body) = record::take(fields, WHAT)?;
    let Listed { bytes, etag, modified_ms, stamp, .. } = listed;
    let Listed { is_null, is_delete_marker, owner, checksum, storage_class, .. } = listed;
    let object = ObjectRecord {
        bytes,
        etag,
        modified_ms,
        stamp,
        is_null,
        is_delete_marker,
        owner,
        checksum,
        metadata: ObjectMetadata { storage_class, headers, user, tags },
        extensions: Extensions::default(),
        content: Content::default(),
    };
    Ok((object, stored, Body::unsealed(body)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    /// As version 1 was written.
    fn encode(object: &ObjectRecord) -> Vec<u8> {
        let owner = object.owner.clone().expect("every record had one");
        let checksum = object.checksum.map(|it| (it.value.algorithm, it.kind));
        let metadata = &object.metadata;
        let front: Front<'_> = (
            object.bytes,
            object.etag,
            object.modified_ms,
            checksum,
            metadata.storage_class.as_deref(),
        );
        let owner = (owner.id.as_str(), owner.display_name.as_str());
        let version = (object.stamp, object.is_null, object.is_delete_marker);
        let rest = (&metadata.headers, &metadata.user, &metadata.tags);
        let (stored, body) = object.content.to_stored();
        let fields = (front, owner, version, object.checksum, rest, stored);
        [&record::encode(1, &fields)[..], body].concat()
    }

    #[test]
    fn it_is_read_at_any_place() {
        let object = ObjectRecord { extensions: Extensions::default(), ..sample() };
        let encoded = encode(&object);
        assert_eq!(ObjectRecord::decode(b"place", &encoded).expect("own bytes"), object);
        let listed = Listed::decode(b"place", &encoded).expect("own bytes");
        assert_eq!((listed.owner, listed.checksum), (object.owner, object.checksum));
        assert_eq!(listed.storage_class, object.metadata.storage_class);
        for length in 0..encoded.len() {
            ObjectRecord::decode(b"place", &encoded[..length]).expect_err("cut");
        }
        // Nothing tells that a bit was flipped, but decoding ends with a record or an error.
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = ObjectRecord::decode(b"place", &damaged);
            let _ = Listed::decode(b"place", &damaged);
        }
    }
}
