//! Documents of buckets: settings that the store keeps and does not interpret.

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::record::Sealed;
use super::{record, space};
use crate::error::StoreError;
use crate::name::BucketId;

/// Makes an enum and its inverse.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// A kind of document that is kept as it is given. The numbers are part of the format.
        /// Missing numbers belong to settings that the store reads itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum DocumentKind {
            $($(#[$doc])* $name = $number,)*
        }

        impl DocumentKind {
            /// The kind with this number.
            pub(crate) fn of_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
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
    /// The tags.
    Tagging = 7,
    /// The website.
    Website = 11,
    /// The server access logging.
    Logging = 12,
    /// The payer of requests.
    RequestPayment = 14,
    /// The transfer acceleration.
    Accelerate = 15,
    /// The configurations of analytics, by id.
    Analytics = 16,
    /// The configurations of intelligent tiering, by id.
    IntelligentTiering = 17,
    /// The configurations of inventories, by id.
    Inventory = 18,
    /// The configurations of request metrics, by id.
    Metrics = 19,
    /// The last runs of inventories, by the ids of their configurations.
    InventoryRuns = 20,
    /// The policy of the table bucket.
    TableBucketPolicy = 24,
    /// The tags of the table bucket.
    TableBucketTags = 25,
    /// The configuration of maintenance of tables.
    TableMaintenance = 26,
    /// The configuration of request metrics of tables.
    TableMetrics = 27,
}

/// Number of the lifecycle rules.
pub(crate) const LIFECYCLE: u8 = 6;
/// Number of the default encryption.
pub(crate) const ENCRYPTION: u8 = 8;
/// Number of the default retention of object lock.
pub(crate) const OBJECT_LOCK: u8 = 9;

/// Number of the notifications.
pub(crate) const NOTIFICATION: u8 = 10;
/// Number of the replication. A program that does not know it refuses the bucket, whose changes it
/// would not queue.
pub(crate) const REPLICATION: u8 = 21;
/// Number of the quota. A program that does not know it refuses the bucket, which it would let grow.
pub(crate) const QUOTA: u8 = 22;
/// Number of the blocked types of encryption. A program that does not know it refuses the bucket,
/// where it would take what is blocked.
pub(crate) const BLOCKED_ENCRYPTION: u8 = 23;

/// The document of the kind with this number, if the bucket has one.
pub(crate) fn read(
    from: &impl Read,
    bucket: BucketId,
    number: u8,
) -> Result<Option<Vec<u8>>, StoreError> {
    let place = space::document(bucket, number);
    match from.get(&place)? {
        Some(bytes) => Ok(Some(decode(&place, &bytes)?.to_vec())),
        None => Ok(None),
    }
}

/// Writes the document of the kind with this number.
pub(crate) fn write(
    to: &mut impl Write,
    bucket: BucketId,
    number: u8,
    document: &[u8],
) -> Result<(), StoreError> {
    let place = space::document(bucket, number);
    Ok(to.put(&place, &record::seal(1, &place, &(), document))?)
}

/// Replaces the document of the kind with this number, or deletes it.
pub(crate) fn replace(
    to: &mut impl Write,
    bucket: BucketId,
    number: u8,
    document: Option<&[u8]>,
) -> Result<(), StoreError> {
    match document {
        Some(document) => write(to, bucket, number, document),
        None => Ok(to.delete(&space::document(bucket, number))?),
    }
}

/// Encodes a setting that the store reads itself.
pub(crate) fn encode_setting(setting: &impl Serialize) -> Vec<u8> {
    record::encode(1, setting)
}

/// Decodes a setting that the store reads itself.
pub(crate) fn decode_setting<'a, T: Deserialize<'a>>(document: &'a [u8]) -> Result<T, StoreError> {
    record::decode(document, "a setting of a bucket")
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
