//! CopyObject.

use std::sync::Arc;

use super::current::{self, Found};
use super::publish::{NewVersion, Slot};
use super::{GetOptions, ObjectId, ObjectVersion};
use crate::checksum::{ChecksumAlgorithm, ChecksumSet, ObjectChecksum};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::content::Content;
use crate::meta::object::Extensions;
use crate::meta::{ObjectLock, ObjectMetadata, Owner, reference};
use crate::name::{ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::precondition::{ConditionResult, ReadConditions, WriteConditions};
use crate::process::Bucket;
use crate::store::Store;

/// Options of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyOptions {
    /// New metadata; none keeps the source's. The tags and the storage class in it are ignored, see the
    /// next two fields.
    pub metadata: Option<ObjectMetadata>,
    /// New tags; none keeps the source's.
    pub tags: Option<Vec<(String, String)>>,
    /// The storage class of the copy.
    pub storage_class: Option<String>,
    /// Conditions on the source. If they do not hold, the copy fails with
    /// [`StoreError::PreconditionFailed`].
    pub source_conditions: ReadConditions,
    /// Conditions on the current object of the target's key.
    pub conditions: WriteConditions,
    /// The owner of the copy.
    pub owner: Owner,
    /// What locks the copy. That of the source is not copied.
    pub lock: ObjectLock,
    /// The checksum algorithm of the copy. If it differs from the source's, the bytes are read once, on
    /// the calling thread.
    pub checksum_algorithm: Option<ChecksumAlgorithm>,
}

/// The outcome of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOutcome {
    /// The copy.
    pub object: ObjectVersion,
    /// The version of the source.
    pub source_version: VersionId,
}

/// A checksum computed from the bytes of one version, identified by its stamp.
#[derive(Clone, Copy, Debug)]
struct Computed {
    stamp: [u8; 16],
    checksum: ObjectChecksum,
}

/// Attempts of a copy whose source is replaced while its bytes are read.
const ATTEMPTS: usize = 4;

impl Store {
    /// Copies an object without copying its bytes. With [`CopyOptions::checksum_algorithm`] it may
    /// block, see there.
    ///
    /// Fails with [`StoreError::NoSuchBucket`] (for either), [`StoreError::NoSuchKey`],
    /// [`StoreError::NoSuchVersion`], [`StoreError::IsDeleteMarker`],
    /// [`StoreError::PreconditionFailed`], and [`StoreError::ConditionalRequestConflict`] when the
    /// source is replaced again and again while it is read.
    pub fn copy_object(
        &self,
        source: ObjectId,
        target_bucket: &Arc<Bucket>,
        target_key: ObjectKey,
        options: CopyOptions,
    ) -> Pending<CopyOutcome> {
        let Some(algorithm) = options.checksum_algorithm else {
            return self.copy(source, target_bucket, target_key, options, None);
        };
        for _ in 0..ATTEMPTS {
            let computed = match self.compute(&source, algorithm) {
                Ok(computed) => computed,
                Err(error) => return Pending::ready(Err(error)),
            };
            let (from, options) = (source.clone(), options.clone());
            let copied =
                self.copy(from, target_bucket, target_key.clone(), options, Some(computed));
            match copied.wait() {
                Err(StoreError::ConditionalRequestConflict) => {}
                result => return Pending::ready(result),
            }
        }
        Pending::ready(Err(StoreError::ConditionalRequestConflict))
    }

    /// The checksum of the source by `algorithm`, from its record or its bytes.
    fn compute(
        &self,
        source: &ObjectId,
        algorithm: ChecksumAlgorithm,
    ) -> Result<Computed, StoreError> {
        let options = GetOptions { version: source.version, ..GetOptions::default() };
        let found = self.head_object(&source.bucket, &source.key, &options)?;
        let has_it = |checksum: &ObjectChecksum| checksum.value.algorithm == algorithm;
        if let Some(checksum) = found.object.checksum.filter(has_it) {
            return Ok(Computed { stamp: found.stamp, checksum });
        }
        let mut opened = self.get_object(&source.bucket, &source.key, &options)?;
        let stamp = opened.found.stamp;
        let mut set = ChecksumSet::new(&[algorithm]);
        while let Some(bytes) = opened.reader.next()? {
            set.update(&bytes);
        }
        let value = set.finish().pop().expect("one algorithm gives one checksum");
        Ok(Computed { stamp, checksum: ObjectChecksum::full_object(value) })
    }

    fn copy(
        &self,
        source: ObjectId,
        target_bucket: &Arc<Bucket>,
        target_key: ObjectKey,
        options: CopyOptions,
        computed: Option<Computed>,
    ) -> Pending<CopyOutcome> {
        let target_bucket = Arc::clone(target_bucket);
        self.update(move |write, shared| {
            source.bucket.require(write)?;
            let slot = Slot::open(write, shared, &target_bucket, &target_key)?;
            let version = source.version.as_ref();
            let Found { record: from, .. } =
                current::find(write, &source.bucket, &source.key, version)?;
            if from.is_delete_marker {
                return Err(StoreError::IsDeleteMarker { marker: from.delete_marker() });
            }
            check_source(&options.source_conditions, &from.etag, from.modified_ms)?;
            if computed.is_some_and(|computed| computed.stamp != from.stamp) {
                return Err(StoreError::ConditionalRequestConflict);
            }
            slot.check(&options.conditions)?;
            let source_version = from.version_id();
            let new = NewVersion {
                bytes: from.bytes,
                etag: from.etag,
                owner: options.owner.clone(),
                checksum: computed.map_or(from.checksum, |computed| Some(computed.checksum)),
                metadata: ObjectMetadata {
                    tags: options.tags.clone().unwrap_or(from.metadata.tags),
                    storage_class: options.storage_class.clone(),
                    ..match &options.metadata {
                        Some(metadata) => metadata.clone(),
                        None => ObjectMetadata {
                            headers: from.metadata.headers,
                            user: from.metadata.user,
                            ..ObjectMetadata::default()
                        },
                    }
                },
                lock: options.lock,
                extensions: Extensions::default(),
                content: share(from.content),
            };
            // Retained before the old content is released: an object may be copied onto itself.
            reference::retain(&new.content, write)?;
            let (object, wake) = slot.publish(write, new)?;
            Ok(Committed::with_guard(CopyOutcome { object, source_version }, wake))
        })
    }
}

/// Checks conditions on a source. They fail with 412 only, even where a GET would answer 304.
pub(crate) fn check_source(
    conditions: &ReadConditions,
    etag: &ETag,
    modified_ms: u64,
) -> Result<(), StoreError> {
    match conditions.check(etag, modified_ms) {
        ConditionResult::Proceed => Ok(()),
        ConditionResult::PreconditionFailed => {
            Err(StoreError::PreconditionFailed { condition: conditions.precondition_name() })
        }
        ConditionResult::NotModified => {
            Err(StoreError::PreconditionFailed { condition: conditions.validator_name() })
        }
    }
}

/// The same content, for a record of its own.
fn share(content: Content) -> Content {
    match content {
        Content::Parts { list, count, .. } => Content::Parts { list, count, is_original: false },
        Content::Inline(_) | Content::Extents(_) => content,
    }
}
