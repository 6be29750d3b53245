//! UploadPart and UploadPartCopy.

use std::iter::once_with;
use std::ops::Range;
use std::sync::Arc;

use liteio_checksum::{ChecksumValue, DigestSet, Digests};
use liteio_kv::{Read, Transaction, Write as _};

use crate::encryption::EncryptionKey;
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::{EXTENTS_MAX, PART_BYTES_MAX};
use crate::meta::claim::Claim;
use crate::meta::content::Content;
use crate::meta::object::Extensions;
use crate::meta::upload::{PartFacts, PartRecord, UploadRecord};
use crate::meta::{reference, space};
use crate::name::{ObjectKey, PartNumber, UploadId, VersionId};
use crate::object::body::NewBody;
use crate::object::copy::{check_copy_source, name_of_copy};
use crate::object::current::{self, Found};
use crate::object::get::pieces;
use crate::object::quota;
use crate::object::release::release;
use crate::object::{ArchiveAccess, BodyOptions, GetOptions, ObjectId, Selection, StagedBody};
use crate::pending::{Committed, Pending};
use crate::precondition::ReadConditions;
use crate::process::{Bucket, WakeReclaimer};
use crate::range::ByteRange;
use crate::store::{Shared, Store};

/// An uploaded part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The part number.
    pub number: PartNumber,
    /// The size.
    pub bytes: u64,
    /// The entity tag: the MD5 of the part's bytes, or a tag that does not reveal it for encrypted
    /// bytes.
    pub etag: ETag,
    /// Time of the upload, in milliseconds since 1970.
    pub modified_ms: u64,
    /// The checksum, if the part has one.
    pub checksum: Option<ChecksumValue>,
}

/// Options of a copy to a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyPartOptions {
    /// The range to copy; `None` for the whole source. Unlike in a read, the range must be within
    /// the source.
    pub range: Option<ByteRange>,
    /// Conditions on the source.
    pub conditions: ReadConditions,
    /// The customer key that the source is encrypted with.
    pub source_key: Option<EncryptionKey>,
    /// Access to the source if it is archived.
    pub source_archive: ArchiveAccess,
    /// The customer key that the upload was created with.
    pub customer_key: Option<EncryptionKey>,
}

/// The outcome of a copy to a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyPartOutcome {
    /// The part.
    pub part: Part,
    /// The version of the source.
    pub source_version: VersionId,
}

impl Store {
    /// Makes `body` a part of an upload, replacing an earlier part with that number. Without
    /// `checksum`, the part gets one by the upload's algorithm if the body's digests have it. The
    /// body must be encrypted as [`Store::seal_part`] returns.
    ///
    /// Fails with [`StoreError::NoSuchUpload`], [`StoreError::NoSuchBucket`], and
    /// [`StoreError::InvalidRequest`] if the upload requires a checksum that the part does not
    /// have.
    pub fn put_part(
        &self,
        bucket: &Arc<Bucket>,
        key: &ObjectKey,
        id: &UploadId,
        number: PartNumber,
        body: StagedBody,
        checksum: Option<ChecksumValue>,
    ) -> Pending<Part> {
        let target = Target { bucket: Arc::clone(bucket), key: key.clone(), id: *id, number };
        let (body, blob) = body.into_parts();
        self.update_with_blob(blob, move |write, shared| {
            target.claim(write)?;
            let upload = target.require(write)?;
            let checksum = part_checksum(&upload, checksum, &body.digests)?;
            let (part, wake) = target.write(write, shared, &upload, &body, checksum)?;
            Ok(Committed::with_guard(part, wake))
        })
    }

    /// Makes a range of an object a part of an upload. The bytes are read once, on the calling
    /// thread, for their MD5. They are copied only if the source or the upload is encrypted, or if
    /// they are in too many pieces. Blocks until the part is durable.
    ///
    /// Fails with the errors of [`Store::seal_part`] and of reading the source, with
    /// [`StoreError::InvalidRange`] for a range outside of the source,
    /// [`StoreError::PreconditionFailed`], and [`StoreError::ConditionalRequestConflict`] if the
    /// source is replaced again and again while it is read.
    pub fn copy_part(
        &self,
        source: ObjectId,
        bucket: &Arc<Bucket>,
        key: &ObjectKey,
        id: &UploadId,
        number: PartNumber,
        options: CopyPartOptions,
    ) -> Pending<CopyPartOutcome> {
        let target = Target { bucket: Arc::clone(bucket), key: key.clone(), id: *id, number };
        for _ in 0..ATTEMPTS {
            match self.try_copy_part(&source, &target, &options) {
                Err(StoreError::ConditionalRequestConflict) => {}
                result => return Pending::ready(result),
            }
        }
        Pending::ready(Err(StoreError::ConditionalRequestConflict))
    }

    fn try_copy_part(
        &self,
        source: &ObjectId,
        target: &Target,
        options: &CopyPartOptions,
    ) -> Result<CopyPartOutcome, StoreError> {
        let upload = self.upload(&target.bucket, &target.key, &target.id)?;
        let customer = options.customer_key.as_ref();
        let sealing = self.seal_part(&target.bucket, &target.key, &target.id, customer)?;
        let algorithms: Vec<_> = upload.checksum.iter().map(|(algorithm, _)| *algorithm).collect();
        let wanted = GetOptions {
            version: source.version,
            conditions: options.conditions.clone(),
            select: options.range.map_or(Selection::Whole, Selection::Range),
            customer_key: options.source_key.clone(),
            range_of: None,
            archive: options.source_archive,
        };
        let opened = self.get_object(&source.bucket, &source.key, &wanted);
        let mut opened = opened.map_err(|error| match StoreError::from(error) {
            // A copy cannot answer 304: the condition has failed.
            StoreError::NotModified => {
                let condition = options.conditions.validator_name();
                name_of_copy(StoreError::PreconditionFailed { condition })
            }
            error => name_of_copy(error),
        })?;
        let object_bytes = opened.found.object.bytes;
        // A read clips its range; a copy does not.
        if let Some(ByteRange::FromTo { last, .. }) = options.range
            && last >= object_bytes
        {
            return Err(StoreError::InvalidRange { object_bytes });
        }
        let range = opened.found.range.clone();
        let bytes = range.end - range.start;
        if bytes > PART_BYTES_MAX {
            return Err(StoreError::PartTooLarge { bytes, maximum: PART_BYTES_MAX });
        }
        let is_plain = sealing.is_none() && opened.found.object.encryption.is_none();
        let shared = match is_plain {
            true => self.shared_pieces(&opened.found.content, &range)?,
            false => None,
        };
        // Shared: the part's record references the source's blobs, and only the digests are
        // computed. Else: the bytes are copied to a blob of our own.
        let (body, blob) = match shared {
            Some(content) => {
                let mut digests = DigestSet::new(&algorithms);
                while let Some(bytes) = opened.reader.next()? {
                    digests.update(&bytes);
                }
                (NewBody::plain(digests.finish(), content), None)
            }
            None => {
                let options = BodyOptions { expected_bytes: Some(bytes), algorithms, sealing };
                let mut body = self.begin_body(options)?;
                while let Some(bytes) = opened.reader.next()? {
                    body.write(&bytes)?;
                }
                body.finish()?.into_parts()
            }
        };
        let is_shared = blob.is_none();
        let (target, source, stamp) = (target.clone(), source.clone(), opened.found.stamp);
        let conditions = options.conditions.clone();
        let pending = self.update_with_blob(blob, move |write, shared| {
            target.claim(write)?;
            write.claim(Claim::Bucket(source.bucket.id))?;
            write.claim(Claim::Key(source.bucket.id, source.key.as_str()))?;
            let upload = target.require(write)?;
            source.bucket.require(write)?;
            let Found { record, .. } =
                current::find(write, &source.bucket, &source.key, source.version.as_ref())?;
            if record.stamp != stamp {
                // The source was replaced since its bytes were read. Conditions, range and MD5 must
                // be decided for the new object, so the whole copy is repeated.
                return Err(StoreError::ConditionalRequestConflict);
            }
            check_copy_source(shared, &conditions, (&record.etag, record.modified_ms))?;
            if is_shared && record.content.is_remote() {
                // It has moved into a tier since: its bytes are copied by the next attempt.
                return Err(StoreError::ConditionalRequestConflict);
            }
            // The source's content gains a reference in the same transaction that has just found it
            // alive.
            if is_shared {
                reference::retain(&body.content, write)?;
            }
            let checksum = part_checksum(&upload, None, &body.digests)?;
            let (part, wake) = target.write(write, shared, &upload, &body, checksum)?;
            let outcome = CopyPartOutcome { part, source_version: record.version_id() };
            Ok(Committed::with_guard(outcome, wake))
        });
        pending.wait()
    }

    /// The content of `range` that a part's record can share with the source; `None` if the bytes
    /// must be copied, because they are in too many pieces, in a row, or partly inline in records.
    fn shared_pieces(
        &self,
        content: &Content,
        range: &Range<u64>,
    ) -> Result<Option<Content>, StoreError> {
        // If the content is a list of parts, the reader's pin keeps it.
        let Some(pieces) = pieces(&self.snapshot()?, content, range, EXTENTS_MAX)? else {
            return Ok(None);
        };
        let mut extents = Vec::new();
        for piece in pieces {
            match piece {
                Content::Extents(more) => extents.extend(more),
                Content::Inline(bytes) if bytes.is_empty() => {}
                Content::Inline(bytes) if bytes.len() as u64 == range.end - range.start => {
                    return Ok(Some(Content::Inline(bytes)));
                }
                Content::Inline(_)
                | Content::Parts { .. }
                | Content::Apart { .. }
                | Content::Remote(_) => {
                    return Ok(None);
                }
            }
        }
        Ok((extents.len() <= EXTENTS_MAX).then_some(Content::Extents(extents)))
    }
}

/// Attempts of a copy whose source is replaced while it is read.
const ATTEMPTS: usize = 4;

/// The part of an upload that is being written.
#[derive(Clone, Debug)]
struct Target {
    bucket: Arc<Bucket>,
    key: ObjectKey,
    id: UploadId,
    number: PartNumber,
}

impl Target {
    fn claim(&self, write: &mut Transaction<'_>) -> Result<(), StoreError> {
        write.claim(Claim::Bucket(self.bucket.id))?;
        Ok(write.claim(Claim::Upload(&self.id))?)
    }

    fn require(&self, from: &impl Read) -> Result<UploadRecord, StoreError> {
        let of_bucket = once_with(|| space::bucket(self.bucket.name.as_str()));
        let upload = once_with(|| space::upload(&self.id));
        let part = once_with(|| space::part(&self.id, self.number.get()));
        from.fetch(of_bucket.chain(upload).chain(part))?;
        let bucket = self.bucket.require(from)?;
        UploadRecord::require(from, &self.id, bucket, self.key.as_str())
    }

    /// Writes the part's record over the old one, whose content is released. The guard must live
    /// until the commit.
    fn write(
        &self,
        write: &mut Transaction<'_>,
        shared: &Arc<Shared>,
        upload: &UploadRecord,
        body: &NewBody,
        checksum: Option<ChecksumValue>,
    ) -> Result<(Part, WakeReclaimer), StoreError> {
        let modified_ms = shared.config.clock.now_ms();
        let (bytes, md5) = (body.digests.bytes, body.tag);
        // Parts count when they are completed. A part that the bucket has no room for is refused now.
        quota::check(write, &self.bucket, bytes, 0)?;
        let is_encrypted = upload.extensions.encryption()?.is_some();
        let salt = body.part_salt(&self.id, is_encrypted)?;
        let extensions = Extensions::default().with_part_salt(salt);
        let old = PartRecord::read(write, &self.id, self.number.get())?;
        let facts = PartFacts { start: 0, bytes, md5, modified_ms, checksum };
        let record = PartRecord { facts, extensions, content: body.content.clone() };
        record.write(write, &self.id, self.number.get())?;
        let wake = release(write, shared, old.as_ref().map(|old| &old.content))?;
        Ok((Part::new(self.number, &facts), wake))
    }
}

impl Part {
    pub(super) fn new(number: PartNumber, facts: &PartFacts) -> Self {
        let PartFacts { bytes, md5, modified_ms, checksum, .. } = *facts;
        Self { number, bytes, etag: ETag::Md5(md5), modified_ms, checksum }
    }
}

/// The checksum to store with a part: the client's, else one by the upload's algorithm.
fn part_checksum(
    upload: &UploadRecord,
    sent: Option<ChecksumValue>,
    digests: &Digests,
) -> Result<Option<ChecksumValue>, StoreError> {
    let Some((wanted, _)) = upload.checksum else { return Ok(sent) };
    let sent_matching = sent.filter(|sent| sent.algorithm == wanted);
    match sent_matching.or_else(|| digests.checksum(wanted).copied()) {
        Some(checksum) => Ok(Some(checksum)),
        None => {
            let message = format!("the upload wants a checksum of type {wanted:?} for every part");
            Err(StoreError::InvalidRequest { message })
        }
    }
}
