//! Buckets, objects, versions, multipart uploads and vectors, durable, without a network.
//!
//! A [`Store`] keeps metadata in one ordered, transactional key space ([`kv`]) and the bytes of larger
//! objects in immutable blobs. Everything is synchronous; writes return a [`Pending`] that can be
//! awaited or waited for, and which resolves once the write is as durable as the store's
//! [`Durability`] promises.
//!
//! ```
//! use liteio_store::{BodyOptions, BucketName, ObjectKey, Owner, PutOptions, ReadSelection};
//! use liteio_store::{Store, StoreConfig, StoreError};
//!
//! # fn main() -> Result<(), StoreError> {
//! let store = Store::open(StoreConfig::memory())?;
//! let name = BucketName::new("photos")?;
//! store.create_bucket(name.clone(), Owner::default(), "us-east-1".to_owned()).wait()?;
//! let bucket = store.bucket(&name)?;
//!
//! let mut body = store.begin_body(BodyOptions::default())?;
//! body.write(b"hello")?;
//! let key = ObjectKey::new("2026/hello.txt")?;
//! let put = store.put_object(&bucket, key.clone(), body.finish()?, PutOptions::default());
//! assert_eq!(put.wait()?.etag.to_string(), "5d41402abc4b2a76b9719d911017c592");
//!
//! let (object, _, mut reader) =
//!     store.get_object(&bucket, &key, None, &|_| Ok(ReadSelection::Whole))?;
//! assert_eq!(object.bytes, 5);
//! assert_eq!(reader.next()?.as_deref(), Some(&b"hello"[..]));
//! store.close();
//! # Ok(())
//! # }
//! ```

pub mod clock;
pub mod config;
pub mod error;
pub mod limits;
pub mod name;
pub mod random;

pub mod checksum;
pub mod etag;
pub mod precondition;
pub mod range;

pub mod kv;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod blob;
mod meta;

mod bucket;
mod multipart;
mod object;

pub mod vectors;

mod attachment;
#[cfg(test)]
mod damage_tests;
mod ids;
mod open;
mod pending;
mod store;

mod reclaim;
mod recover;
mod stats;
mod verify;

pub use bucket::{Bucket, BucketPage, ListBuckets};
#[cfg(any(test, feature = "test-util"))]
pub use clock::ManualClock;
pub use clock::{Clock, SystemClock};
pub use config::{Backend, Durability, StoreConfig};
pub use error::StoreError;
pub use meta::{DocumentKind, Versioning};
pub use multipart::{
    CompleteOptions, CompletePart, CopyPartOptions, CopyPartOutcome, ListUploadsQuery, Part,
    PartPage, Upload, UploadEntry, UploadOptions, UploadPage,
};
pub use name::{BucketId, BucketName, IndexId, ObjectKey, PartNumber, UploadId, VersionId};
pub use object::{
    BodyHasher, BodyOptions, BodySink, BodyWriter, ContentHeaders, CopyOptions, CopyOutcome,
    DeleteOutcome, DeleteTarget, ListEntry, ListPage, ListQuery, ListStart, ListToken,
    ListVersionsQuery, ListedObject, ObjectId, ObjectMetadata, ObjectReader, ObjectVersion, Owner,
    PartInfo, PutOptions, ReadSelection, StagedBody, StoredBytes, VersionEntry, VersionPage,
};
pub use pending::Pending;
#[cfg(any(test, feature = "test-util"))]
pub use random::SeededRandom;
pub use random::{RandomSource, SystemRandom};
pub use reclaim::ReclaimReport;
pub use recover::SweepReport;
pub use stats::StoreStats;
pub use store::{Store, StoreHealth};
pub use verify::{Damage, VerifyProgress, VerifyReport};

pub use checksum::{
    ChecksumAlgorithm, ChecksumSet, ChecksumType, ChecksumValue, DigestSet, Digests, ObjectChecksum,
};
pub use etag::ETag;
pub use precondition::{ConditionResult, ETagText, EtagCondition, ReadConditions, WriteConditions};
pub use range::ByteRange;
