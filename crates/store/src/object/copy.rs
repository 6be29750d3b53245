//! CopyObject.

use std::iter::once_with;
use std::sync::Arc;

use liteio_checksum::{ChecksumAlgorithm, DigestSet, ObjectChecksum};
use liteio_kv::{Read, Write as _};

use super::annotation_copy::{self, AnnotationDirective, KeyOfCopy, StagedSet};
use super::body::NewBody;
use super::current::{self, Found};
use super::publish::{self, NewVersion, Slot};
use super::restores;
use super::seal::{may_share, unlock};
use super::{ArchiveAccess, BodyOptions, FoundObject, GetOptions, ObjectId, ObjectVersion};
use crate::encryption::{Encryption, EncryptionKey, EncryptionScheme, ObjectSealing};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::{PART_BYTES_MAX, PART_NUMBER_MAX};
use crate::meta::claim::Claim;
use crate::meta::content::Content;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::{Extensions, ObjectRecord};
use crate::meta::{ObjectLock, ObjectMetadata, Owner, body, reference, space};
use crate::name::{ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::precondition::{ConditionResult, ReadConditions, WriteConditions};
use crate::process::{Bucket, StagedBlob};
use crate::store::{Shared, Store};

/// Options of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyOptions {
    /// New metadata; `None` keeps the source's. Its tags and its storage class are ignored, see the
    /// fields below.
    pub metadata: Option<ObjectMetadata>,
    /// New website redirect location; `None` keeps the one of the metadata.
    pub redirect_location: Option<String>,
    /// New tags; `None` keeps the source's.
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
    /// The lock of the copy. The source's lock is not copied.
    pub lock: ObjectLock,
    /// The access control list of the copy; `None` for the default. The source's list is not
    /// copied.
    pub acl: Option<Vec<u8>>,
    /// The checksum algorithm of the copy. If it differs from the source's, the bytes are read
    /// once, on the calling thread.
    pub checksum_algorithm: Option<ChecksumAlgorithm>,
    /// The encryption of the copy. If its key differs from the source's, the bytes are rewritten,
    /// on the calling thread.
    pub encryption: Option<Encryption>,
    /// The customer key that the source is encrypted with.
    pub source_key: Option<EncryptionKey>,
    /// The annotations of the copy. They are written before the copy, on the calling thread.
    pub annotations: AnnotationDirective,
    /// Access to the source if it is archived.
    pub source_archive: ArchiveAccess,
    /// The reason for the copy, for its event.
    pub cause: Cause,
}

/// The outcome of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOutcome {
    /// The copy.
    pub object: ObjectVersion,
    /// The version of the source.
    pub source_version: VersionId,
}

/// Digests computed from the bytes of one version, which its stamp identifies.
#[derive(Clone, Copy, Debug)]
struct Computed {
    stamp: [u8; 16],
    checksum: Option<ObjectChecksum>,
    /// The MD5, for a source in parts: the copy is in one piece.
    md5: Option<[u8; 16]>,
}

/// The content of a copy.
#[derive(Clone, Debug)]
enum Prepared {
    /// The source's content, with new digests if it is in parts, or a checksum was requested.
    Shared(Option<Computed>),
    /// Rewritten bytes of one version of the source.
    Rewritten { stamp: [u8; 16], body: NewBody, checksum: Option<ObjectChecksum> },
}

impl Prepared {
    /// The data key of the copy.
    fn key_of_copy(&self) -> Result<KeyOfCopy<'_>, StoreError> {
        match self {
            Self::Shared(_) => Ok(KeyOfCopy::OfSource),
            Self::Rewritten { body, .. } => Ok(KeyOfCopy::New(body.object_sealing()?)),
        }
    }

    /// The stamp of the only version that this is valid for; `None` if it is valid for any.
    fn stamp(&self) -> Option<[u8; 16]> {
        match self {
            Self::Shared(computed) => computed.map(|computed| computed.stamp),
            Self::Rewritten { stamp, .. } => Some(*stamp),
        }
    }
}

/// Attempts of a copy whose source is replaced while it is read.
const ATTEMPTS: usize = 4;

impl Store {
    /// Copies an object of at most [`PART_BYTES_MAX`] without copying its bytes, unless it has the
    /// maximum number of parts. The copy is in one piece: as on AWS, its entity tag is the MD5 of its
    /// bytes, so the bytes of an object in parts are read once. In these cases, and with
    /// [`CopyOptions::checksum_algorithm`] or [`CopyOptions::encryption`], it may block.
    ///
    /// Fails with [`StoreError::NoSuchBucket`] (for either bucket), [`StoreError::NoSuchKey`],
    /// [`StoreError::NoSuchVersion`], [`StoreError::IsDeleteMarker`],
    /// [`StoreError::PreconditionFailed`], [`StoreError::Archived`],
    /// [`StoreError::InvalidRequest`] for a longer source, the
    /// errors of [`Store::seal_object`], the errors of a read for the source's key, and
    /// [`StoreError::ConditionalRequestConflict`] if the source is replaced again and again while
    /// it is read.
    pub fn copy_object(
        &self,
        source: ObjectId,
        target_bucket: &Arc<Bucket>,
        target_key: ObjectKey,
        options: CopyOptions,
    ) -> Pending<CopyOutcome> {
        // Optimistic: bytes are read or rewritten outside of a transaction. The transaction then
        // checks that the source still has the same stamp; if not, all of it is repeated.
        for _ in 0..ATTEMPTS {
            let (prepared, blob, has_annotations) = match self.prepare(&source, &options) {
                Ok(prepared) => prepared,
                Err(error) => return Pending::ready(Err(error)),
            };
            let target = (Arc::clone(target_bucket), target_key.clone());
            let staged = match has_annotations {
                false => Ok(None),
                true => {
                    self.may_copy(&source, (target_bucket, &target_key), &options).and_then(|()| {
                        let (stamp, key) = (prepared.stamp(), prepared.key_of_copy()?);
                        self.stage_annotations(&source, &options, stamp.as_ref(), key)
                    })
                }
            };
            let copied = match staged {
                Ok(staged) => {
                    let prepared = (prepared, staged);
                    let copied = self.copy(source.clone(), target, options.clone(), prepared, blob);
                    let copied = copied.wait();
                    if let (Err(_), Some(staged)) = (&copied, &staged) {
                        self.discard_staged(staged);
                    }
                    copied
                }
                Err(error) => Err(error),
            };
            match copied {
                Err(StoreError::ConditionalRequestConflict)
                    if options.annotations != AnnotationDirective::SawNone => {}
                result => return Pending::ready(result),
            }
        }
        Pending::ready(Err(StoreError::ConditionalRequestConflict))
    }

    /// Decides what the transaction of a copy decides again, so that one that fails writes no annotations before.
    fn may_copy(
        &self,
        source: &ObjectId,
        (bucket, key): (&Bucket, &ObjectKey),
        options: &CopyOptions,
    ) -> Result<(), StoreError> {
        let snapshot = self.snapshot()?;
        let slot = Slot::look(&snapshot, self.shared(), bucket, bucket.state(&snapshot)?, key)?;
        let from = find_source(&snapshot, self.shared(), source, options)?;
        slot.check(&options.conditions)?;
        slot.check_quota(&snapshot, from.bytes)
    }

    /// Computes and writes the parts of the copy that the source does not have. Returns whether the source has
    /// annotations, too.
    fn prepare(
        &self,
        source: &ObjectId,
        options: &CopyOptions,
    ) -> Result<(Prepared, Option<StagedBlob>, bool), StoreError> {
        let (asked, customer) = (options.encryption.as_ref(), options.source_key.as_ref());
        let read = GetOptions {
            version: source.version,
            customer_key: options.source_key.clone(),
            archive: options.source_archive,
            ..GetOptions::default()
        };
        let found = self.head_object(&source.bucket, &source.key, &read)?;
        check_size(found.object.bytes)?;
        let encryption = found.extensions.encryption()?;
        let has_annotations = found.object.has_annotations;
        let rewrite = || {
            let (prepared, blob) = self.rewrite(source, options, &read)?;
            Ok((prepared, blob, has_annotations))
        };
        // Such an object could not be appended to. AWS tells clients to copy it, so the copy is
        // rewritten as one body.
        let has_most_parts = found.object.part_count == Some(PART_NUMBER_MAX.into());
        // A body in a tier belongs to one version. The copy gets one of its own, here.
        let is_remote = found.content.is_remote();
        if has_most_parts
            || is_remote
            || !may_share(self.keys(), encryption.as_ref(), customer, asked)
        {
            return rewrite();
        }
        if let Content::Parts { .. } = found.content {
            // Only the tag of plain bytes, or of bytes under the master key, is their MD5.
            if !matches!(found.object.encryption, None | Some(EncryptionScheme::Master)) {
                return rewrite();
            }
            // Before the bytes are read.
            let (etag, modified_ms) = (&found.object.etag, found.object.modified_ms);
            check_copy_source(self.shared(), &options.source_conditions, (etag, modified_ms))?;
            let algorithm = options.checksum_algorithm.or_else(|| found.checksum_algorithm());
            let digested = self.digest(source, &read, algorithm)?;
            return Ok((Prepared::Shared(Some(digested)), None, has_annotations));
        }
        let compute = |algorithm| self.compute(source, &found, &read, algorithm);
        let computed = options.checksum_algorithm.map(compute).transpose()?;
        Ok((Prepared::Shared(computed), None, has_annotations))
    }

    /// Rewrites the bytes of the source with the encryption of the copy.
    fn rewrite(
        &self,
        source: &ObjectId,
        options: &CopyOptions,
        read: &GetOptions,
    ) -> Result<(Prepared, Option<StagedBlob>), StoreError> {
        let mut opened = self.get_object(&source.bucket, &source.key, read)?;
        let FoundObject { object, stamp, .. } = &*opened.found;
        let stamp = *stamp;
        check_copy_source(
            self.shared(),
            &options.source_conditions,
            (&object.etag, object.modified_ms),
        )?;
        let algorithm = options.checksum_algorithm.or_else(|| opened.found.checksum_algorithm());
        let seal = |encryption: &Encryption| self.seal_object(encryption);
        let mut body = self.begin_body(BodyOptions {
            expected_bytes: Some(object.bytes),
            algorithms: algorithm.into_iter().collect(),
            sealing: options.encryption.as_ref().map(seal).transpose()?,
        })?;
        while let Some(bytes) = opened.reader.next()? {
            body.write(&bytes)?;
        }
        let (body, blob) = body.finish()?.into_parts();
        let value = algorithm.and_then(|algorithm| body.digests.checksum(algorithm).copied());
        let checksum = value.map(ObjectChecksum::full_object);
        Ok((Prepared::Rewritten { stamp, body, checksum }, blob))
    }

    /// The source's checksum by `algorithm`, from its record if that has it, else from its bytes.
    fn compute(
        &self,
        source: &ObjectId,
        found: &FoundObject,
        read: &GetOptions,
        algorithm: ChecksumAlgorithm,
    ) -> Result<Computed, StoreError> {
        let has_it = |checksum: &ObjectChecksum| checksum.value.algorithm == algorithm;
        if let Some(checksum) = found.object.checksum.filter(has_it) {
            return Ok(Computed { stamp: found.stamp, checksum: Some(checksum), md5: None });
        }
        let computed = self.digest(source, read, Some(algorithm))?;
        Ok(Computed { md5: None, ..computed })
    }

    /// The MD5 of the source's bytes, and their checksum by `algorithm`.
    fn digest(
        &self,
        source: &ObjectId,
        read: &GetOptions,
        algorithm: Option<ChecksumAlgorithm>,
    ) -> Result<Computed, StoreError> {
        let mut opened = self.get_object(&source.bucket, &source.key, read)?;
        let mut digests = DigestSet::new(algorithm.as_slice());
        while let Some(bytes) = opened.reader.next()? {
            digests.update(&bytes);
        }
        let digests = digests.finish();
        let value = algorithm.and_then(|algorithm| digests.checksum(algorithm).copied());
        Ok(Computed {
            stamp: opened.found.stamp,
            checksum: value.map(ObjectChecksum::full_object),
            md5: Some(digests.md5),
        })
    }

    fn copy(
        &self,
        source: ObjectId,
        (target_bucket, target_key): (Arc<Bucket>, ObjectKey),
        options: CopyOptions,
        (prepared, annotations): (Prepared, Option<StagedSet>),
        blob: Option<StagedBlob>,
    ) -> Pending<CopyOutcome> {
        self.update_with_blob(blob, move |write, shared| {
            write.claim(Claim::Bucket(source.bucket.id))?;
            write.claim(Claim::Key(source.bucket.id, source.key.as_str()))?;
            let of_source = once_with(|| space::bucket(source.bucket.name.as_str()));
            let from = once_with(|| space::current(source.bucket.id, source.key.as_str()));
            publish::fetch(write, &target_bucket, [&target_key], of_source.chain(from))?;
            source.bucket.require(write)?;
            let slot = Slot::open(write, shared, &target_bucket, &target_key)?;
            let from = find_source(write, shared, &source, &options)?;
            if prepared.stamp().is_some_and(|stamp| stamp != from.stamp) {
                return Err(StoreError::ConditionalRequestConflict);
            }
            slot.check(&options.conditions)?;
            let staged = annotations.as_ref();
            let set = annotation_copy::take(write, &from, options.annotations, staged)?;
            let source_version = from.version_id();
            let made = Made::new(shared, &source, &from, &options, &prepared)?;
            let is_shared = matches!(prepared, Prepared::Shared(_));
            // Bytes in a row are copied: the row ends with its version.
            let content = body::whole(write, &made.content)?.into_owned();
            let new = NewVersion {
                bytes: from.bytes,
                etag: made.etag,
                modified_ms: None,
                owner: options.owner.clone(),
                checksum: made.checksum,
                metadata: options.metadata_of(from.metadata),
                lock: options.lock,
                extensions: Extensions::default()
                    .with_acl(options.acl.as_ref())
                    .with_content_tag(made.content_tag.as_ref())
                    .with_annotations(set.as_ref()),
                sealing: made.sealing,
                content,
                event: EventKind::CreatedCopy,
                cause: options.cause.clone(),
            };
            if is_shared {
                // Retained before the old content of the target is released: an object may be
                // copied onto itself, and its count must not reach 0.
                reference::retain(&new.content, write)?;
            }
            let (object, wakes) = slot.publish(write, new)?;
            Ok(Committed::with_guard(CopyOutcome { object, source_version }, wakes))
        })
    }
}

/// The source of a copy, if it may be copied.
fn find_source(
    from: &impl Read,
    shared: &Shared,
    source: &ObjectId,
    options: &CopyOptions,
) -> Result<ObjectRecord, StoreError> {
    let version = source.version.as_ref();
    let Found { record, .. } = current::find(from, &source.bucket, &source.key, version)?;
    if record.is_delete_marker {
        return Err(StoreError::IsDeleteMarker { marker: record.delete_marker() });
    }
    restores::check(shared, &record, options.source_archive)?;
    let conditions = &options.source_conditions;
    check_copy_source(shared, conditions, (&record.etag, record.modified_ms))?;
    check_size(record.bytes)?;
    Ok(record)
}

/// The fields of a copy that come from its source, or were made instead.
struct Made {
    etag: ETag,
    /// The entity tag of the parts, if the copy shares them in one piece.
    content_tag: Option<ETag>,
    checksum: Option<ObjectChecksum>,
    sealing: Option<ObjectSealing>,
    content: Content,
}

impl Made {
    fn new(
        shared: &Shared,
        source: &ObjectId,
        from: &ObjectRecord,
        options: &CopyOptions,
        prepared: &Prepared,
    ) -> Result<Self, StoreError> {
        let computed = match prepared {
            Prepared::Shared(computed) => computed,
            Prepared::Rewritten { body, checksum, .. } => {
                return Ok(Self {
                    etag: ETag::Md5(body.tag),
                    content_tag: None,
                    checksum: *checksum,
                    sealing: body.object_sealing()?.cloned(),
                    content: body.content.clone(),
                });
            }
        };
        let keys = &shared.config.keys;
        let (asked, customer) = (options.encryption.as_ref(), options.source_key.as_ref());
        // The source may be a newer version than the one that was prepared for.
        let may_share = may_share(keys, from.extensions.encryption()?.as_ref(), customer, asked);
        // Or its body may have moved into a tier.
        if !may_share || from.content.is_remote() {
            return Err(StoreError::ConditionalRequestConflict);
        }
        let is_in_parts = matches!(from.content, Content::Parts { .. });
        let md5 = computed.and_then(|computed| computed.md5);
        if is_in_parts != md5.is_some() {
            return Err(StoreError::ConditionalRequestConflict);
        }
        let data_key = unlock(shared, source.bucket.id, &source.key, from, customer)?;
        let sealing = match (data_key, asked) {
            (Some(data_key), Some(asked)) => Some(keys.sealing(asked, data_key)?),
            _ => None,
        };
        Ok(Self {
            // The copy was made here, so it does not inherit an imported entity tag.
            etag: md5.map_or_else(|| from.content_tag(), |md5| Ok(ETag::Md5(md5)))?,
            content_tag: md5.map(|_| from.content_tag()).transpose()?,
            checksum: computed.map_or(from.checksum, |computed| computed.checksum),
            sealing,
            content: share(from.content.clone()),
        })
    }
}

impl CopyOptions {
    /// The metadata of a copy of a source with the metadata `from`.
    fn metadata_of(&self, from: ObjectMetadata) -> ObjectMetadata {
        let tags = self.tags.clone().unwrap_or(from.tags);
        let (mut headers, user) = match self.metadata.clone() {
            Some(metadata) => (metadata.headers, metadata.user),
            None => (from.headers, from.user),
        };
        if self.redirect_location.is_some() {
            headers.website_redirect_location.clone_from(&self.redirect_location);
        }
        ObjectMetadata { headers, user, tags, storage_class: self.storage_class.clone() }
    }
}

fn check_size(bytes: u64) -> Result<(), StoreError> {
    if bytes <= PART_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "The specified copy source is larger than the maximum allowable size for a copy source: \
         {PART_BYTES_MAX}"
    );
    Err(StoreError::InvalidRequest { message })
}

/// Checks conditions on the source of a copy.
pub(crate) fn check_copy_source(
    shared: &Shared,
    conditions: &ReadConditions,
    source: (&ETag, u64),
) -> Result<(), StoreError> {
    check_source(shared, conditions, source).map_err(name_of_copy)
}

/// Names a failed condition on the source of a copy by its whole header, as AWS does: a condition
/// on the target has the short name.
pub(crate) fn name_of_copy(error: StoreError) -> StoreError {
    match error {
        StoreError::PreconditionFailed { condition } => {
            let condition = match condition {
                "If-None-Match" => "x-amz-copy-source-If-None-Match",
                "If-Modified-Since" => "x-amz-copy-source-If-Modified-Since",
                "If-Unmodified-Since" => "x-amz-copy-source-If-Unmodified-Since",
                _ => "x-amz-copy-source-If-Match",
            };
            StoreError::PreconditionFailed { condition }
        }
        error => error,
    }
}

/// Checks conditions on a source. A failed one is always 412, even where a GET would answer 304.
pub(crate) fn check_source(
    shared: &Shared,
    conditions: &ReadConditions,
    (etag, modified_ms): (&ETag, u64),
) -> Result<(), StoreError> {
    match conditions.check(etag, modified_ms, &*shared.config.clock) {
        ConditionResult::Proceed => Ok(()),
        ConditionResult::PreconditionFailed => {
            Err(StoreError::PreconditionFailed { condition: conditions.precondition_name() })
        }
        ConditionResult::NotModified => {
            Err(StoreError::PreconditionFailed { condition: conditions.validator_name() })
        }
    }
}

/// The content for the record of a copy, which is not the original owner of a part list.
fn share(content: Content) -> Content {
    match content {
        Content::Parts { list, count, .. } => Content::Parts { list, count, is_original: false },
        Content::Inline(_) | Content::Extents(_) | Content::Apart { .. } | Content::Remote(_) => {
            content
        }
    }
}
