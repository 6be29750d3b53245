//! Inventory configurations of buckets, as they are checked when they are put and read when inventories are written.

use std::collections::BTreeMap;

use http::StatusCode;
use liteio_store::{Bucket, ChecksumAlgorithm, DocumentKind};
use s3s::dto::{InventoryConfiguration, InventoryEncryption as EncryptionDto};
use s3s::{S3Error, S3Result, s3_error};

use super::bucket_settings::from_xml;
use super::{checksum, error};

/// An inventory configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// Its id, unique in the bucket.
    pub id: String,
    /// `false` if no inventories are written.
    pub is_enabled: bool,
    /// Prefix of the keys of listed objects.
    pub prefix: String,
    /// `true` if all versions are listed, and not the current objects only.
    pub has_versions: bool,
    /// The optional fields, by their names in the configuration.
    pub fields: Vec<String>,
    /// The interval.
    pub frequency: Frequency,
    /// The format of data files.
    pub format: Format,
    /// The ARN of the destination bucket.
    pub target_arn: String,
    /// The name of the destination bucket.
    pub target: String,
    /// The 12 digits of the account that owns the destination bucket, if the configuration names it.
    pub target_account: Option<String>,
    /// Prefix of the keys of written objects.
    pub target_prefix: Option<String>,
    /// The encryption of written objects; `None` for the default of the destination.
    pub encryption: Option<InventoryEncryption>,
}

/// The interval of inventories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    /// Each day.
    Daily,
    /// Each week, on Sunday.
    Weekly,
}

/// The format of data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// CSV, compressed with gzip.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// The encryption of written objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InventoryEncryption {
    /// SSE-S3.
    Master,
    /// SSE-KMS with this key, as the client named it.
    Named(String),
}

/// The optional fields that AWS knows.
const FIELDS: [&str; 17] = [
    "BucketKeyStatus",
    "ChecksumAlgorithm",
    "ETag",
    "EncryptionStatus",
    "IntelligentTieringAccessTier",
    "IsMultipartUploaded",
    "LastModifiedDate",
    "LifecycleExpirationDate",
    "ObjectAccessControlList",
    "ObjectLockEventHoldStatus",
    "ObjectLockLegalHoldStatus",
    "ObjectLockMode",
    "ObjectLockRetainUntilDate",
    "ObjectOwner",
    "ReplicationStatus",
    "Size",
    "StorageClass",
];

/// The inventory configurations of a bucket. One that cannot be read, or that an older version has stored and that is
/// refused today, is left out.
#[must_use]
pub fn of_bucket(bucket: &Bucket) -> Vec<Inventory> {
    let document = bucket.settings.document(DocumentKind::Inventory);
    let documents: BTreeMap<String, String> =
        document.and_then(|document| serde_json::from_slice(document).ok()).unwrap_or_default();
    let read = |xml: &String| from_xml(xml.as_bytes()).and_then(|it| read(&it));
    documents.values().filter_map(|xml| read(xml).ok()).collect()
}

/// The name of a checksum algorithm.
#[must_use]
pub fn checksum_name(algorithm: ChecksumAlgorithm) -> &'static str {
    checksum::name(algorithm)
}

/// Checks a configuration.
///
/// # Errors
/// `MalformedXML`, `InvalidS3DestinationBucket`; `NotImplemented` for ORC.
pub(super) fn read(configuration: &InventoryConfiguration) -> S3Result<Inventory> {
    let destination = &configuration.destination.s3_bucket_destination;
    let format = match destination.format.as_str() {
        "CSV" => Some(Format::Csv),
        "Parquet" => Some(Format::Parquet),
        "ORC" => None,
        _ => return Err(error::malformed_xml()),
    };
    let frequency = match configuration.schedule.frequency.as_str() {
        "Daily" => Frequency::Daily,
        "Weekly" => Frequency::Weekly,
        _ => return Err(error::malformed_xml()),
    };
    let has_versions = match configuration.included_object_versions.as_str() {
        "All" => true,
        "Current" => false,
        _ => return Err(error::malformed_xml()),
    };
    let fields = configuration.optional_fields.iter().flatten();
    let fields: Vec<String> = fields.map(|field| field.as_str().to_owned()).collect();
    if !fields.iter().all(|field| FIELDS.contains(&&**field)) {
        return Err(error::malformed_xml());
    }
    let target_arn = destination.bucket.clone();
    let target = bucket_of(&target_arn).ok_or_else(no_such_destination)?.to_owned();
    let encryption = destination.encryption.as_ref().map(encryption).transpose()?;
    let format = format.ok_or_else(|| {
        s3_error!(
            NotImplemented,
            "Inventories in the format ORC are not implemented. Use CSV or Parquet."
        )
    })?;
    Ok(Inventory {
        id: configuration.id.clone(),
        is_enabled: configuration.is_enabled,
        prefix: configuration.filter.as_ref().map(|it| it.prefix.clone()).unwrap_or_default(),
        has_versions,
        fields,
        frequency,
        format,
        target_arn,
        target,
        target_account: destination.account_id.clone(),
        target_prefix: destination.prefix.clone(),
        encryption,
    })
}

/// The bucket in an ARN such as `arn:aws:s3:::bucket`.
fn bucket_of(arn: &str) -> Option<&str> {
    let (partition, bucket) = arn.strip_prefix("arn:")?.split_once(":s3:::")?;
    (!partition.contains(':')).then_some(bucket)
}

fn no_such_destination() -> S3Error {
    let status = StatusCode::BAD_REQUEST;
    error::custom("InvalidS3DestinationBucket", status, "Invalid bucket ARN.")
}

fn encryption(encryption: &EncryptionDto) -> S3Result<InventoryEncryption> {
    match (&encryption.sses3, &encryption.ssekms) {
        (Some(_), None) => Ok(InventoryEncryption::Master),
        (None, Some(kms)) => Ok(InventoryEncryption::Named(kms.key_id.clone())),
        _ => Err(error::malformed_xml()),
    }
}
