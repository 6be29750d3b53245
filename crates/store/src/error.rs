//! [`StoreError`]: the errors of the store, one variant per reaction of a caller.

use std::io;
use std::sync::Arc;

use liteio_blob::BlobError;
use liteio_checksum::ChecksumAlgorithm;
use liteio_kv::KvError;
use liteio_vector::VectorError;

use crate::catalog_error::CatalogError;
use crate::name::{BucketName, NameError, ObjectKey, VersionId};

/// An error of the store. Exhaustive on purpose: a new variant does not compile until the server
/// maps it to a response.
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
        /// The length in bytes.
        bytes: usize,
    },
    /// The text is not a version id of ours.
    #[error("the version id {version:?} is not valid")]
    InvalidVersionId {
        /// The text as given.
        version: String,
    },
    /// The bucket does not exist.
    #[error("the bucket {bucket} does not exist")]
    NoSuchBucket {
        /// The name.
        bucket: BucketName,
    },
    /// The bucket exists and has another owner.
    #[error("the bucket {bucket} exists and belongs to another owner")]
    BucketAlreadyExists {
        /// The name.
        bucket: BucketName,
    },
    /// The bucket exists and belongs to the caller.
    #[error("the bucket {bucket} exists and is yours")]
    BucketAlreadyOwnedByYou {
        /// The name.
        bucket: BucketName,
    },
    /// The bucket still has objects, versions or uploads in progress.
    #[error("the bucket {bucket} is not empty: delete its objects, versions and uploads first")]
    BucketNotEmpty {
        /// The name.
        bucket: BucketName,
    },
    /// The key has no object.
    #[error("the key {key:?} does not exist")]
    NoSuchKey {
        /// The key.
        key: ObjectKey,
        /// The delete marker that hides the object, if a read found one.
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
    /// The named version is a delete marker, which cannot be read.
    #[error("the version is a delete marker, which cannot be read: name another version")]
    IsDeleteMarker {
        /// The delete marker.
        marker: DeleteMarker,
    },
    /// The version has a legal hold, or a retention that has not ended.
    #[error("the version is locked: it has a legal hold, or a retention that has not ended")]
    ObjectLocked,
    /// The setting contradicts the state of the bucket.
    #[error("{message}")]
    InvalidBucketState {
        /// The reason, and what to do.
        message: String,
    },
    /// An append does not start at the end of the object.
    #[error("the object has {object_bytes} bytes, and an append must begin there")]
    InvalidWriteOffset {
        /// Size of the object; 0 if there is none.
        object_bytes: u64,
    },
    /// An append to an object that already has the maximum number of parts.
    #[error("the object has the most parts that there may be")]
    TooManyParts,
    /// An append to an encrypted object, which is not supported.
    #[error("an encrypted object cannot be appended to")]
    EncryptedAppend,
    /// An encrypted append to an unencrypted object.
    #[error("the object is not encrypted, and the appended bytes would be")]
    EncryptionMismatch,
    /// The client token of a rename was already used with another source.
    #[error("the client token was used before with another source")]
    TokenMismatch,
    /// The upload does not exist, or no longer.
    #[error("the upload {upload:?} does not exist; it may have been completed or aborted")]
    NoSuchUpload {
        /// The id as given.
        upload: String,
    },
    /// The marker of a listing of uploads is no upload id, or the id of an upload of another key.
    #[error("the upload id marker {upload:?} is not the id of an upload of the key marker")]
    InvalidUploadMarker {
        /// The marker as given.
        upload: String,
    },
    /// A part named by a Complete was never uploaded, or has another ETag or checksum.
    #[error("part {part} was not uploaded, or its entity tag or checksum does not match")]
    InvalidPart {
        /// The part number.
        part: u16,
    },
    /// The part number is not from 1 to 10,000, or exceeds the number of the object's parts.
    #[error("the part number is not from 1 to 10000, or is above the number of the object's parts")]
    InvalidPartNumber {
        /// Number of the object's parts; 0 if no object was looked at.
        parts: u32,
    },
    /// The parts of a Complete are not in ascending order.
    #[error("the parts are not in ascending order of their numbers")]
    InvalidPartOrder,
    /// A part other than the last is smaller than the minimum.
    #[error("part {part} has {bytes} bytes; every part but the last has at least {minimum}")]
    PartTooSmall {
        /// The part number.
        part: u16,
        /// The size.
        bytes: u64,
        /// The smallest size allowed.
        minimum: u64,
    },
    /// The body is larger than one PUT allows.
    #[error("the body has {bytes} bytes; one request may have at most {maximum}")]
    PartTooLarge {
        /// The size, as far as it is known.
        bytes: u64,
        /// The largest size allowed.
        maximum: u64,
    },
    /// The object is in an archive class, and not restored.
    #[error("the object is archived in {class}: restore it first")]
    Archived {
        /// The storage class.
        class: String,
    },
    /// An object that is not archived was to be restored.
    #[error("the object is not archived")]
    NotArchived {
        /// The storage class; `None` is `STANDARD`.
        class: Option<String>,
    },
    /// A restore of the object is in progress.
    #[error("the object is being restored")]
    RestoreInProgress,
    /// The storage class of the object does not have the retrieval tier.
    #[error("the storage class {class} does not have that retrieval tier")]
    NoSuchRetrieval {
        /// The storage class.
        class: String,
    },
    /// The object has no annotation with this name.
    #[error("the specified annotation does not exist on this object")]
    NoSuchAnnotation,
    /// The object has the most annotations that it may have.
    #[error("the object has the most annotations that it may have")]
    TooManyAnnotations,
    /// The client has the current version of the object already.
    #[error("not modified")]
    NotModified,
    /// A precondition does not hold.
    #[error("the precondition {condition} does not hold")]
    PreconditionFailed {
        /// The header of the precondition.
        condition: &'static str,
    },
    /// Another conditional request for the same object is in progress.
    #[error("a conflicting conditional request is in progress: try again")]
    ConditionalRequestConflict,
    /// The checksum of a part in the list of a Complete is not the one of the upload.
    #[error("the {algorithm:?} of part {part} in the list differs from the uploaded part's")]
    PartDigest {
        /// The part number.
        part: u16,
        /// The algorithm of the checksum in the list.
        algorithm: ChecksumAlgorithm,
    },
    /// The key of a conditional Complete was written or deleted since the upload was created.
    #[error("the key was written or deleted since the upload was created")]
    KeyChanged {
        /// The header of the condition.
        condition: &'static str,
        /// The key.
        key: ObjectKey,
    },
    /// The range is outside of the object.
    #[error("the range lies outside of the object's {object_bytes} bytes")]
    InvalidRange {
        /// Size of the object.
        object_bytes: u64,
    },
    /// The object would be larger than S3 allows.
    #[error("the object would have {bytes} bytes; at most 10,000 parts of 5 GiB are allowed")]
    ObjectTooLarge {
        /// The size.
        bytes: u64,
    },
    /// The write would grow the bucket beyond its quota.
    #[error(
        "the bucket {bucket} may have {quota_bytes} bytes, and would have {bytes}: delete objects, or raise its quota"
    )]
    QuotaExceeded {
        /// The name.
        bucket: BucketName,
        /// The quota.
        quota_bytes: u64,
        /// The bytes that the bucket would have.
        bytes: u64,
    },
    /// The bytes do not match the announced checksum.
    #[error("the received bytes do not have the announced {algorithm:?} checksum: send them again")]
    ChecksumMismatch {
        /// The algorithm of the checksum.
        algorithm: ChecksumAlgorithm,
    },
    /// The request contradicts itself or the object.
    #[error("{message}")]
    InvalidRequest {
        /// The contradiction, for the client.
        message: String,
    },
    /// The object or upload is encrypted with a customer key, which the request lacks.
    #[error("the data is encrypted with a key of its client: send that key")]
    CustomerKeyRequired,
    /// The request has a customer key, but the object or upload is not encrypted with one.
    #[error("the data is not encrypted with a key of its client: send none")]
    CustomerKeyNotApplicable,
    /// The request's customer key is not the one that the object or upload is encrypted with.
    #[error("the data is encrypted with another key")]
    WrongCustomerKey,
    /// No master key is configured.
    #[error("there is no master key to encrypt with")]
    NoMasterKey,
    /// The named key is not configured; without a name, no named key is.
    #[error("there is no key {key:?} to encrypt with")]
    NoSuchNamedKey {
        /// The name.
        key: Option<String>,
    },
    /// The key that the data is encrypted with is not configured.
    #[error("the data is encrypted with {key}, which is not configured, or not in that version")]
    KeyMissing {
        /// The name.
        key: String,
    },
    /// The vector bucket does not exist.
    #[error("the vector bucket {bucket} does not exist")]
    NoSuchVectorBucket {
        /// The name.
        bucket: String,
    },
    /// A vector bucket with that name exists.
    #[error("the vector bucket {bucket} already exists")]
    VectorBucketExists {
        /// The name.
        bucket: String,
    },
    /// The vector bucket still has indexes.
    #[error("the vector bucket {bucket} is not empty: delete its indexes first")]
    VectorBucketNotEmpty {
        /// The name.
        bucket: String,
    },
    /// The index does not exist.
    #[error("the index {index} of the vector bucket {bucket} does not exist")]
    NoSuchIndex {
        /// The vector bucket.
        bucket: String,
        /// The name.
        index: String,
    },
    /// An index with that name exists.
    #[error("the index {index} of the vector bucket {bucket} already exists")]
    IndexExists {
        /// The vector bucket.
        bucket: String,
        /// The name.
        index: String,
    },
    /// The vector file of an index is damaged, missing or unreadable. The index is neither searched
    /// nor written until the store is opened again.
    #[error(
        "the vectors of the index {index} of the vector bucket {bucket} cannot be used: {reason}"
    )]
    IndexDamaged {
        /// The vector bucket.
        bucket: String,
        /// The name.
        index: String,
        /// The damage.
        reason: String,
    },
    /// The metadata key is configured for text search already.
    #[error("the key {key:?} is already configured for text search")]
    TextSearchExists {
        /// The key.
        key: String,
    },
    /// The vector bucket has no policy.
    #[error("the vector bucket {bucket} has no policy")]
    NoSuchVectorPolicy {
        /// The name.
        bucket: String,
    },
    /// A field of a vector request is invalid.
    #[error("{path}: {message}")]
    InvalidField {
        /// The JSON pointer of the field, such as `/vectors/3/data/float32/7`.
        path: String,
        /// The violated rule, for the client.
        message: String,
        /// The words that S3 Vectors puts before the rule.
        wording: Wording,
    },
    /// An operation on a catalog is refused. Nothing was changed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The device is full. Nothing was written.
    #[error("no space left on the device: delete objects or add space")]
    NoSpace,
    /// A sync or write has failed: nothing is written until the store is opened again.
    #[error("writing has stopped until the store is reopened: {reason}")]
    Poisoned {
        /// The failure that stopped writing.
        reason: String,
    },
    /// The body is in a tier that cannot be read now.
    #[error("the tier {tier} with the body of the object cannot be read: {reason}")]
    TierUnavailable {
        /// The name of the tier.
        tier: String,
        /// The reason.
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
    /// The directory has foreign content.
    #[error(
        "{path} is not a LiteIO data directory: give one that LiteIO has made, or for a new store an \
         empty one"
    )]
    NotADataDirectory {
        /// The directory.
        path: String,
    },
    /// A backup was being restored into the directory when that was interrupted.
    #[error(
        "{path} is only half restored: run the same `liteio restore` again, which goes on where it was interrupted"
    )]
    HalfRestored {
        /// The directory.
        path: String,
    },
    /// The directory belongs to a MinIO.
    #[error(
        "{path} holds the data of a MinIO: bring it over with `liteio import minio {path} --data-dir DIR`, \
         where DIR is another directory, or start with --profile minio, which takes it over in place"
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
    /// A body could not be written with its record. Nothing was changed.
    #[error("a body could not be written: {0}")]
    BodyNotWritten(Arc<io::Error>),
    /// A bug of ours. Nothing was written.
    #[error("internal error: {what}")]
    Internal {
        /// The fault.
        what: String,
    },
    /// Not at the moment: the store is that of a standby, or another server is the primary or has
    /// taken over the job, and nothing was written; or bytes to read are only in a backup, which does
    /// not answer.
    #[error("{reason}")]
    Suspended {
        /// One or two sentences for the sender of a request.
        reason: String,
    },
    /// Another server has changed the same thing since this one has read it. The same change may succeed
    /// when it is made again.
    #[error("another server has changed this at the same time: try again")]
    ChangedMeanwhile,
    /// Other servers change the same data at the same moment, again and again. Nothing was written.
    #[error("too many requests change the same data at the same time: try again")]
    Busy,
    /// The database broke off in the middle of a write, and does not answer: the write may have happened.
    #[error("it is not known whether this was written: {reason}")]
    Unsettled {
        /// The failures.
        reason: String,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

/// The words that S3 Vectors puts before the rule of an invalid field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wording {
    /// None are known: the message names the field and the rule.
    Plain,
    /// The rule is a constraint of the service model.
    Constraint,
    /// The rule is about the vector with this key.
    Record(String),
    /// The rule is about the filter of a query.
    Filter,
    /// The message is this sentence, and the rule stands in the list of fields only.
    Sentence(&'static str),
}

/// A delete marker: the version that records a deletion (a tombstone).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeleteMarker {
    /// Its version id.
    pub version_id: VersionId,
    /// Time of the delete, in milliseconds since 1970.
    pub modified_ms: u64,
}

impl StoreError {
    /// The error for damage in stored data.
    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// `true` for a file that this process has no right to read or write.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::PermissionDenied)
    }
}

impl From<NameError> for StoreError {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Bucket { name } => Self::InvalidBucketName { name },
            NameError::EmptyKey => Self::InvalidKey,
            NameError::KeyTooLong { bytes } => Self::KeyTooLong { bytes },
            NameError::VersionId { version } => Self::InvalidVersionId { version },
            // An upload with a malformed id cannot exist.
            NameError::UploadId { upload } => Self::NoSuchUpload { upload },
            NameError::PartNumber => Self::InvalidPartNumber { parts: 0 },
        }
    }
}

impl From<KvError> for StoreError {
    fn from(error: KvError) -> Self {
        match error {
            KvError::NoSpace => Self::NoSpace,
            KvError::Poisoned { reason } => Self::Poisoned { reason },
            KvError::Io(error) => Self::Io(error),
            KvError::Attachment(error) => Self::BodyNotWritten(error),
            KvError::Corrupt(what) => Self::Corrupt { what },
            KvError::TooLarge { .. } => Self::InvalidRequest { message: error.to_string() },
            KvError::Panicked(what) => Self::Internal { what },
            KvError::Closed => Self::Closed,
            KvError::Busy | KvError::Changed => Self::Busy,
            KvError::Unsettled(reason) => Self::Unsettled { reason },
            KvError::TooMuchRead(_) => Self::Internal { what: error.to_string() },
            // Nobody sees it: the closure that meets it runs again.
            KvError::NotFetched => Self::Internal { what: error.to_string() },
        }
    }
}

impl From<BlobError> for StoreError {
    fn from(error: BlobError) -> Self {
        match error {
            // The id came from a record, so a missing blob is damage.
            BlobError::NotFound { .. } | BlobError::Corrupt { .. } => {
                Self::Corrupt { what: error.to_string() }
            }
            BlobError::FormatTooNew { found, known, .. } => {
                Self::FormatTooNew { found: found.into(), known: known.into() }
            }
            BlobError::NoSpace => Self::NoSpace,
            BlobError::Poisoned { reason } => Self::Poisoned { reason },
            BlobError::Io(error) => Self::Io(error),
            BlobError::Elsewhere { reason, .. } | BlobError::Unavailable { reason } => {
                Self::Suspended { reason }
            }
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
            // Arguments were checked before the call, so any other error is damage of the file.
            error => Self::corrupt(format!("the vectors of an index: {error}")),
        }
    }
}
