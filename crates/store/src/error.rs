//! [`StoreError`]: the errors of the store, by what a caller can do about them.

use std::io;
use std::sync::Arc;

use liteio_kv::KvError;
use liteio_vector::VectorError;

use crate::checksum::ChecksumAlgorithm;
use crate::name::{BucketName, NameError, ObjectKey, VersionId};

/// An error of the store. Exhaustive on purpose: a new variant does not compile until the server maps it
/// to an answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The name breaks the rules for bucket names.
    #[error(
        "the bucket name {name:?} is not valid: use 3 to 63 lower-case letters, digits, hyphens and dots"
    )]
    InvalidBucketName {
        /// The text as given.
        name: String,
    },
    /// An object key must have at least one byte.
    #[error("an object key must not be empty")]
    InvalidKey,
    /// The key has more than [`OBJECT_KEY_BYTES_MAX`](crate::limits::OBJECT_KEY_BYTES_MAX) bytes.
    #[error("the object key has {bytes} bytes; at most 1024 are allowed")]
    KeyTooLong {
        /// Its length.
        bytes: usize,
    },
    /// Text that is no version id of ours.
    #[error("the version id {version:?} is not valid")]
    InvalidVersionId {
        /// The text as given.
        version: String,
    },
    /// There is no such bucket.
    #[error("the bucket {bucket} does not exist")]
    NoSuchBucket {
        /// Its name.
        bucket: BucketName,
    },
    /// The bucket belongs to someone else.
    #[error("the bucket {bucket} exists and belongs to another owner")]
    BucketAlreadyExists {
        /// Its name.
        bucket: BucketName,
    },
    /// The bucket is already the caller's.
    #[error("the bucket {bucket} exists and is yours")]
    BucketAlreadyOwnedByYou {
        /// Its name.
        bucket: BucketName,
    },
    /// The bucket still holds objects, versions or uploads in progress.
    #[error("the bucket {bucket} is not empty: delete its objects, versions and uploads first")]
    BucketNotEmpty {
        /// Its name.
        bucket: BucketName,
    },
    /// There is no object of that key.
    #[error("the key {key:?} does not exist")]
    NoSuchKey {
        /// The key.
        key: ObjectKey,
        /// The delete marker that hides it, if a read found one.
        marker: Option<DeleteMarker>,
    },
    /// The object has no such version.
    #[error("the key {key:?} has no version {version}")]
    NoSuchVersion {
        /// The key.
        key: ObjectKey,
        /// The version.
        version: VersionId,
    },
    /// The version named is a delete marker, which cannot be read.
    #[error("the version is a delete marker, which cannot be read: name another version")]
    IsDeleteMarker {
        /// The delete marker.
        marker: DeleteMarker,
    },
    /// The version is locked.
    #[error("the version is locked: it has a legal hold, or a retention that has not ended")]
    ObjectLocked,
    /// The setting does not fit the state of the bucket.
    #[error("{message}")]
    InvalidBucketState {
        /// The reason, and what to do.
        message: String,
    },
    /// An append does not begin where the object ends.
    #[error("the object has {object_bytes} bytes, and an append must begin there")]
    InvalidWriteOffset {
        /// Size of the object; 0 if there is none.
        object_bytes: u64,
    },
    /// An append to an object that has as many parts as there may be.
    #[error("the object has the most parts that there may be")]
    TooManyParts,
    /// An append to an encrypted object, which is not supported.
    #[error("an encrypted object cannot be appended to")]
    EncryptedAppend,
    /// An append that is to be encrypted, to an object that is not.
    #[error("the object is not encrypted, and what is appended would be")]
    EncryptionMismatch,
    /// The token of a rename belongs to one that was already done with another source.
    #[error("the client token was used before with another source")]
    TokenMismatch,
    /// There is no such upload, or no longer.
    #[error("the upload {upload:?} does not exist; it may have been completed or aborted")]
    NoSuchUpload {
        /// The id as given.
        upload: String,
    },
    /// A part named in a Complete was never uploaded, or has another ETag or checksum.
    #[error("part {part} was not uploaded, or its entity tag or checksum does not match")]
    InvalidPart {
        /// Its number.
        part: u16,
    },
    /// Part numbers go from 1 to 10,000; of an object, to the number of its parts.
    #[error("the part number is not from 1 to 10000, or is above the number of the object's parts")]
    InvalidPartNumber,
    /// The parts of a Complete are not in ascending order.
    #[error("the parts are not in ascending order of their numbers")]
    InvalidPartOrder,
    /// A part other than the last is below the minimum.
    #[error("part {part} has {bytes} bytes; every part but the last has at least {minimum}")]
    PartTooSmall {
        /// Its number.
        part: u16,
        /// Its size.
        bytes: u64,
        /// The smallest size allowed.
        minimum: u64,
    },
    /// A body is larger than one PUT may be.
    #[error("the body has {bytes} bytes; one request may have at most {maximum}")]
    PartTooLarge {
        /// Its size, as far as it is known.
        bytes: u64,
        /// The largest size allowed.
        maximum: u64,
    },
    /// The reader has this object already.
    #[error("not modified")]
    NotModified,
    /// A precondition does not hold.
    #[error("the precondition {condition} does not hold")]
    PreconditionFailed {
        /// The name of its header.
        condition: &'static str,
    },
    /// Another conditional request for the same object is in progress.
    #[error("a conflicting conditional request is in progress: try again")]
    ConditionalRequestConflict,
    /// The range lies outside of the object.
    #[error("the range lies outside of the object's {object_bytes} bytes")]
    InvalidRange {
        /// Size of the object.
        object_bytes: u64,
    },
    /// The object would be larger than S3 allows.
    #[error("the object would have {bytes} bytes; at most 10,000 parts of 5 GiB are allowed")]
    ObjectTooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The bytes do not have the checksum that was announced.
    #[error("the received bytes do not have the announced {algorithm:?} checksum: send them again")]
    ChecksumMismatch {
        /// Its algorithm.
        algorithm: ChecksumAlgorithm,
    },
    /// The request contradicts itself or the object.
    #[error("{message}")]
    InvalidRequest {
        /// The contradiction, for the client.
        message: String,
    },
    /// The object or upload is encrypted with a key of its client, who has not sent it.
    #[error("the data is encrypted with a key of its client: send that key")]
    CustomerKeyRequired,
    /// The object or upload is not encrypted with a key of its client, who has sent one.
    #[error("the data is not encrypted with a key of its client: send none")]
    CustomerKeyNotApplicable,
    /// The object or upload is encrypted with another key of its client.
    #[error("the data is encrypted with another key")]
    WrongCustomerKey,
    /// There is no master key to encrypt with.
    #[error("there is no master key to encrypt with")]
    NoMasterKey,
    /// There is no such named key; without a name, none at all.
    #[error("there is no key {key:?} to encrypt with")]
    NoSuchNamedKey {
        /// Its name.
        key: Option<String>,
    },
    /// The key that the data is encrypted with is not configured.
    #[error("the data is encrypted with {key}, which is not configured, or not in that version")]
    KeyMissing {
        /// Its name.
        key: String,
    },
    /// There is no such vector bucket.
    #[error("the vector bucket {bucket} does not exist")]
    NoSuchVectorBucket {
        /// Its name.
        bucket: String,
    },
    /// There is a vector bucket of that name.
    #[error("the vector bucket {bucket} already exists")]
    VectorBucketExists {
        /// Its name.
        bucket: String,
    },
    /// The vector bucket still has indexes.
    #[error("the vector bucket {bucket} is not empty: delete its indexes first")]
    VectorBucketNotEmpty {
        /// Its name.
        bucket: String,
    },
    /// There is no such index.
    #[error("the index {index} of the vector bucket {bucket} does not exist")]
    NoSuchIndex {
        /// Its vector bucket.
        bucket: String,
        /// Its name.
        index: String,
    },
    /// There is an index of that name.
    #[error("the index {index} of the vector bucket {bucket} already exists")]
    IndexExists {
        /// Its vector bucket.
        bucket: String,
        /// Its name.
        index: String,
    },
    /// The file of the vectors of an index is damaged, missing or cannot be read: the index is not searched
    /// and not written until the store is opened again.
    #[error(
        "the vectors of the index {index} of the vector bucket {bucket} cannot be used: {reason}"
    )]
    IndexDamaged {
        /// Its vector bucket.
        bucket: String,
        /// Its name.
        index: String,
        /// The damage.
        reason: String,
    },
    /// The metadata key is already configured for text search.
    #[error("the key {key:?} is already configured for text search")]
    TextSearchExists {
        /// The key.
        key: String,
    },
    /// The vector bucket has no policy.
    #[error("the vector bucket {bucket} has no policy")]
    NoSuchVectorPolicy {
        /// Its name.
        bucket: String,
    },
    /// A field of a request about vectors is not valid.
    #[error("{path}: {message}")]
    InvalidField {
        /// Its path, such as `vectors[3].data.float32[7]`.
        path: String,
        /// The rule that it breaks, for the client.
        message: String,
    },
    /// The device is full. Nothing was kept.
    #[error("no space left on the device: delete objects or add space")]
    NoSpace,
    /// A sync or write failed before: nothing is written until the store is opened again.
    #[error("writing has stopped until the store is reopened: {reason}")]
    Poisoned {
        /// The failure that stopped writing.
        reason: String,
    },
    /// Stored data is damaged or missing.
    #[error("stored data is damaged: {what}")]
    Corrupt {
        /// The record or file, and the damage.
        what: String,
    },
    /// The data was written by a newer LiteIO.
    #[error("the data has format {found}, this version reads up to {known}: use a newer LiteIO")]
    FormatTooNew {
        /// The format of the data.
        found: u32,
        /// The newest format this version reads.
        known: u32,
    },
    /// The directory holds something else.
    #[error(
        "{path} is not a LiteIO data directory: give one that LiteIO has made, or for a new store an \
         empty one"
    )]
    NotADataDirectory {
        /// The directory.
        path: String,
    },
    /// The directory is that of a MinIO.
    #[error(
        "{path} holds the data of a MinIO: bring it over with `liteio import minio {path} --data-dir DIR`, \
         where DIR is another directory"
    )]
    DriveOfMinio {
        /// The directory.
        path: String,
    },
    /// Another process uses the directory.
    #[error("{message}")]
    InUse {
        /// The directory, and the process that uses it.
        message: String,
    },
    /// The device failed.
    #[error("reading or writing failed: {0}")]
    Io(Arc<io::Error>),
    /// A fault of our own. Nothing was kept.
    #[error("internal error: {what}")]
    Internal {
        /// The fault.
        what: String,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

/// A version that says that the object was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteMarker {
    /// Its version id.
    pub version_id: VersionId,
    /// Time of the delete, in milliseconds since 1970.
    pub modified_ms: u64,
}

impl StoreError {
    /// A field that is not valid.
    pub(crate) fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::InvalidField { path: path.into(), message: message.into() }
    }

    /// Damage found in stored data.
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }
}

impl From<NameError> for StoreError {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Bucket { name } => Self::InvalidBucketName { name },
            NameError::EmptyKey => Self::InvalidKey,
            NameError::KeyTooLong { bytes } => Self::KeyTooLong { bytes },
            NameError::VersionId { version } => Self::InvalidVersionId { version },
            // No upload can have it.
            NameError::UploadId { upload } => Self::NoSuchUpload { upload },
            NameError::PartNumber => Self::InvalidPartNumber,
        }
    }
}

impl From<KvError> for StoreError {
    fn from(error: KvError) -> Self {
        match error {
            KvError::NoSpace => Self::NoSpace,
            KvError::Poisoned { reason } => Self::Poisoned { reason },
            KvError::Io(error) => Self::Io(error),
            KvError::Corrupt(what) => Self::Corrupt { what },
            KvError::TooLarge { .. } => Self::InvalidRequest { message: error.to_string() },
            KvError::Panicked(what) => Self::Internal { what },
            KvError::Closed => Self::Closed,
        }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        if liteio_disk::is_poisoned(&error) {
            return Self::Poisoned { reason: error.to_string() };
        }
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace,
            _ => Self::Io(Arc::new(error)),
        }
    }
}

impl From<VectorError> for StoreError {
    fn from(error: VectorError) -> Self {
        match error {
            VectorError::NoSpace(_) => Self::NoSpace,
            VectorError::Poisoned(error) => Self::Poisoned { reason: error.to_string() },
            VectorError::Io(error) => Self::Io(Arc::new(error)),
            VectorError::FormatTooNew { found, known } => Self::FormatTooNew { found, known },
            // The arguments were checked before the call, so every other error is damage of the file.
            error => Self::corrupt(format!("the vectors of an index: {error}")),
        }
    }
}
