//! Documents of buckets: settings that the store keeps and does not interpret.

use super::record::Sealed;
use super::{record, space};
use crate::error::StoreError;
use crate::kv::{Read, Write};
use crate::name::BucketId;

/// A kind of document. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DocumentKind {
    /// The bucket policy.
    Policy = 1,
    /// The access control list.
    Acl = 2,
    /// The public access block.
    PublicAccessBlock = 3,
    /// The ownership controls.
    OwnershipControls = 4,
    /// The CORS rules.
    Cors = 5,
    /// The lifecycle rules.
    Lifecycle = 6,
    /// The tags.
    Tagging = 7,
    /// The default encryption.
    Encryption = 8,
    /// The default retention of object lock.
    ObjectLock = 9,
    /// The event notifications.
    Notification = 10,
    /// The website.
    Website = 11,
    /// The server access logging.
    Logging = 12,
    /// The replication rules.
    Replication = 13,
    /// The payer of requests.
    RequestPayment = 14,
    /// The transfer acceleration.
    Accelerate = 15,
}

/// The document, if the bucket has one of that kind.
pub(crate) fn read(
    from: &impl Read,
    bucket: BucketId,
    kind: DocumentKind,
) -> Result<Option<Vec<u8>>, StoreError> {
    let place = space::document(bucket, kind as u8);
    match from.get(&place)? {
        Some(bytes) => Ok(Some(decode(&place, &bytes)?.to_vec())),
        None => Ok(None),
    }
}

pub(crate) fn write(
    to: &mut impl Write,
    bucket: BucketId,
    kind: DocumentKind,
    document: &[u8],
) -> Result<(), StoreError> {
    let place = space::document(bucket, kind as u8);
    Ok(to.put(&place, &record::seal(1, &place, &(), document))?)
}

/// The document in a record, verified.
pub(crate) fn decode<'a>(place: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], StoreError> {
    const WHAT: &str = "a document of a bucket";
    record::split_version(bytes, 1)?;
    let sealed = Sealed::open(place, bytes, WHAT)?;
    match sealed.fields.is_empty() {
        true => sealed.body.verified(WHAT),
        false => Err(StoreError::corrupt("a document of a bucket is too long")),
    }
}
