//! PutObject with `x-amz-write-offset-bytes`: appending.
//!
//! Every append becomes a part, like a part of an upload. So it writes one small record, whatever
//! the size of the object:
//!
//! ```text
//!  inline, extents         list of parts                  list of parts shared with a copy
//!       │                       │                                 │
//!  becomes part 1          gains one part                 its records are copied to a new list,
//!  of a new list                                          which gains one part
//! ```
//!
//! A list is never longer than its object says. The existing bytes stay where they are; only inline
//! bytes are copied, with their record or from their row.

use std::sync::Arc;

use liteio_checksum::{ChecksumType, ChecksumValue, CrcCombiner, Md5, ObjectChecksum};
use liteio_kv::{Read, Transaction, Write as _};

use super::body::NewBody;
use super::parts::{read_facts, read_part};
use super::publish::{NewVersion, Slot};
use super::{ObjectVersion, PutOptions, StagedBody};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::{OBJECT_BYTES_MAX, PART_NUMBER_MAX};
use crate::meta::claim::Claim;
use crate::meta::content::{Content, ContentId};
use crate::meta::event::EventKind;
use crate::meta::object::{Extensions, ObjectRecord};
use crate::meta::upload::{PartFacts, PartRecord};
use crate::meta::{Versioning, body, reference, space};
use crate::name::ObjectKey;
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::{Shared, Store};

impl Store {
    /// Appends `body` to the current object of `key`, which must have `offset` bytes. Without an
    /// object and at offset 0 it is [`Store::put_object`]. Of two concurrent appends at one offset,
    /// one fails. No byte of the object is read, and no byte in a blob is copied.
    ///
    /// The object keeps its metadata, owner and access control list; `options` must not have user
    /// metadata, tags, an access control list or another storage class. If the object's checksum is
    /// a CRC over all bytes, `body` must have been digested by the same algorithm, and the new
    /// checksum covers all bytes again. Any other checksum is dropped. An object with the maximum
    /// number of parts must be copied first, which rewrites it.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::InvalidBucketState`] in a bucket that
    /// has or had versioning, [`StoreError::InvalidWriteOffset`], [`StoreError::TooManyParts`],
    /// [`StoreError::ObjectTooLarge`], [`StoreError::EncryptedAppend`],
    /// [`StoreError::EncryptionMismatch`], [`StoreError::InvalidRequest`],
    /// [`StoreError::ConditionalRequestConflict`] if the object got a checksum of another algorithm
    /// meanwhile, and the errors of a put for the conditions.
    pub fn append_object(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        offset: u64,
        body: StagedBody,
        options: PutOptions,
    ) -> Pending<ObjectVersion> {
        let (body, blob) = body.into_parts();
        let bucket = Arc::clone(bucket);
        self.update_with_blob(blob, move |write, shared| {
            write.claim(Claim::Bucket(bucket.id))?;
            let state = bucket.state(write)?;
            if state.versioning != Versioning::Never {
                return Err(versions_do_not_grow());
            }
            let slot = Slot::open_in(write, shared, &bucket, state, &key)?;
            slot.check(&options.conditions)?;
            // Decided inside the transaction: the offset is a compare-and-swap on the size.
            let object_bytes = slot.current().map_or(0, |current| current.bytes);
            if object_bytes != offset {
                return Err(StoreError::InvalidWriteOffset { object_bytes });
            }
            let new = match slot.current() {
                None => NewVersion::of_body(&body, &options)?,
                Some(current) => appended(write, shared, &bucket, current, &body, &options)?,
            };
            let (object, wakes) = slot.publish(write, new)?;
            Ok(Committed::with_guard(object, wakes))
        })
    }
}

/// The error of an append in a versioned bucket: an archived version shares its parts with the
/// current one, and would grow with it.
fn versions_do_not_grow() -> StoreError {
    let message = "Objects can be appended to only in a bucket that never had versioning.";
    StoreError::InvalidBucketState { message: message.to_owned() }
}

/// The version that results from appending `body` to the object `current`, with its own reference
/// to the content.
fn appended(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Bucket,
    current: &ObjectRecord,
    body: &NewBody,
    options: &PutOptions,
) -> Result<NewVersion, StoreError> {
    check(current, body, options)?;
    let bytes = current.bytes + body.digests.bytes;
    if bytes > OBJECT_BYTES_MAX {
        return Err(StoreError::ObjectTooLarge { bytes });
    }
    let extensions = current.extensions.clone().with_content_tag(None);
    let (etag, checksum, extensions, content) = match current.bytes {
        // An append to an empty object replaces it.
        0 => {
            let extensions = extensions.with_part_md5s(None);
            (ETag::Md5(body.tag), options.checksum, extensions, body.content.clone())
        }
        _ => {
            let checksum = checksum(current, body)?;
            let part = part(current, body, options, shared.config.clock.now_ms());
            let before = parts_before(write, current)?;
            let mut md5s = part_md5s(write, current, before)?;
            md5s.update(&body.tag);
            let extensions = extensions.with_part_md5s(Some(&md5s));
            let etag = ETag::of_part_md5s(md5s);
            let etag = etag.ok_or_else(|| StoreError::corrupt("too many parts"))?;
            (etag, checksum, extensions, grown(write, shared, current, before, &part)?)
        }
    };
    Ok(NewVersion {
        bytes,
        etag,
        modified_ms: None,
        owner: current.owner.clone().unwrap_or_else(|| bucket.owner.clone()),
        checksum,
        metadata: current.metadata.clone(),
        lock: options.lock,
        extensions,
        sealing: None,
        content,
        event: EventKind::CreatedPut,
        cause: options.cause.clone(),
    })
}

/// Refuses an append that S3 does not allow.
fn check(current: &ObjectRecord, body: &NewBody, options: &PutOptions) -> Result<(), StoreError> {
    if current.extensions.encryption()?.is_some() {
        return Err(StoreError::EncryptedAppend);
    }
    if body.sealing.is_some() {
        return Err(StoreError::EncryptionMismatch);
    }
    let new = &options.metadata;
    let message = match () {
        () if body.digests.bytes == 0 => "An append has at least one byte.",
        () if !new.user.is_empty() || !new.tags.is_empty() => {
            "Cannot specify both a write offset value and user-defined object metadata or tags for \
             existing objects."
        }
        () if options.acl.is_some() => {
            "Cannot specify both a write offset value and an access control list for existing objects."
        }
        () if new.storage_class.is_some()
            && new.storage_class != current.metadata.storage_class =>
        {
            "An append cannot change the storage class of an object."
        }
        () => return Ok(()),
    };
    Err(StoreError::InvalidRequest { message: message.to_owned() })
}

/// The checksum of all bytes, if it can be combined from the checksums of both sides.
fn checksum(current: &ObjectRecord, body: &NewBody) -> Result<Option<ObjectChecksum>, StoreError> {
    let Some(whole) = current.checksum.filter(|it| it.kind == ChecksumType::FullObject) else {
        return Ok(None);
    };
    let Some(mut combiner) = CrcCombiner::new(whole.value.algorithm) else { return Ok(None) };
    let added = body.digests.checksum(whole.value.algorithm);
    let is_added = combiner.add(&whole.value, current.bytes)
        && added.is_some_and(|added| combiner.add(added, body.digests.bytes));
    match is_added {
        true => Ok(Some(ObjectChecksum::full_object(combiner.finish()))),
        // The body was not digested by the object's algorithm: the object was replaced meanwhile.
        false => Err(StoreError::ConditionalRequestConflict),
    }
}

/// The record of the appended part.
fn part(current: &ObjectRecord, body: &NewBody, options: &PutOptions, now_ms: u64) -> PartRecord {
    let algorithm = current.checksum.map(|checksum| checksum.value.algorithm);
    let checksum = algorithm.and_then(|algorithm| body.digests.checksum(algorithm).copied());
    let facts = PartFacts {
        start: current.bytes,
        bytes: body.digests.bytes,
        md5: body.tag,
        modified_ms: now_ms,
        checksum: checksum.or(options.checksum.map(|checksum| checksum.value)),
    };
    PartRecord { facts, extensions: Extensions::default(), content: body.content.clone() }
}

/// The number of parts in front of the new one. The last part of an upload may be empty: it is
/// replaced, since readers step from part to part and expect bytes in each.
fn parts_before(from: &impl Read, current: &ObjectRecord) -> Result<u16, StoreError> {
    let Content::Parts { list, count, .. } = &current.content else { return Ok(1) };
    let count = u16::try_from(*count).map_err(|_| StoreError::corrupt("too many parts"))?;
    match read_facts(from, list, count)?.bytes {
        0 => Ok(count.saturating_sub(1)),
        _ => Ok(count),
    }
}

/// The MD5 state over the MD5s of the first `before` parts. The object keeps it from append to
/// append; the first append computes it from the records of the parts.
fn part_md5s(from: &impl Read, current: &ObjectRecord, before: u16) -> Result<Md5, StoreError> {
    let mut md5s = Md5::new();
    match (&current.content, current.content_tag()?) {
        (Content::Inline(_) | Content::Extents(_) | Content::Apart { .. }, ETag::Md5(md5)) => {
            md5s.update(&md5)
        }
        (Content::Parts { list, count, .. }, ETag::Multipart { parts, .. }) if parts == *count => {
            // Not if an empty last part is replaced: the kept state includes it.
            if let Some(kept) = current.extensions.part_md5s()?
                && kept.bytes() == u64::from(before) * 16
            {
                return Ok(kept);
            }
            from.fetch((1..=before).map(|number| space::part(list, number)))?;
            for number in 1..=before {
                md5s.update(&read_facts(from, list, number)?.md5);
            }
        }
        (Content::Remote(_), _) => return Err(remote_append()),
        _ => return Err(StoreError::corrupt("the entity tag of an object")),
    }
    Ok(md5s)
}

/// The error of an append to a body in a tier.
fn remote_append() -> StoreError {
    let message =
        "The body of the object is in a tier: copy the object onto itself before an append.";
    StoreError::InvalidRequest { message: message.to_owned() }
}

/// A list of the first `before` parts of `current`, followed by `part`.
fn grown(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    current: &ObjectRecord,
    before: u16,
    part: &PartRecord,
) -> Result<Content, StoreError> {
    if before >= PART_NUMBER_MAX {
        return Err(StoreError::TooManyParts);
    }
    if current.content.is_remote() {
        return Err(remote_append());
    }
    let list = match &current.content {
        Content::Parts { list, .. } => {
            if reference::is_single(&ContentId::Parts(*list), write)? {
                // The list has one owner, so it grows in place. The new record keeps a reference;
                // replacing the old record releases its own, so the count ends where it was.
                reference::retain(&current.content, write)?;
                // The empty last part of an upload gives way to the new part.
                if let Some(empty) = PartRecord::read(write, list, before + 1)? {
                    reference::release(&empty.content, write)?;
                }
                *list
            } else {
                // A copy shares the list: its records are copied, and every part's content gains a
                // reference.
                let own = shared.ids.upload(&shared.config)?;
                write.fetch((1..=before).map(|number| space::part(list, number)))?;
                let (mut parts, mut position) = (Vec::with_capacity(before.into()), 0);
                for number in 1..=before {
                    let part = read_part(write, list, number, position)?;
                    position += part.facts.bytes;
                    parts.push(part);
                }
                reference::fetch(parts.iter().map(|part| &part.content), write)?;
                for (part, number) in parts.iter().zip(1..) {
                    reference::retain(&part.content, write)?;
                    part.write(write, &own, number)?;
                }
                own
            }
        }
        content => {
            let list = shared.ids.upload(&shared.config)?;
            // A single body becomes part 1 of a new list. The row of its bytes is deleted with the
            // version that the append replaces.
            let content = body::whole(write, content)?.into_owned();
            reference::retain(&content, write)?;
            first_part(current, content)?.write(write, &list, 1)?;
            list
        }
    };
    // Readers of the old record stop at its count, so they never see the new part.
    part.write(write, &list, before + 1)?;
    Ok(Content::Parts { list, count: u32::from(before) + 1, is_original: false })
}

/// The object with its whole content as part 1 of a list.
fn first_part(object: &ObjectRecord, content: Content) -> Result<PartRecord, StoreError> {
    let (ETag::Md5(md5) | ETag::Multipart { md5, .. }) = object.content_tag()?;
    let checksum: Option<ChecksumValue> = object.checksum.map(|checksum| checksum.value);
    let facts =
        PartFacts { start: 0, bytes: object.bytes, md5, modified_ms: object.modified_ms, checksum };
    Ok(PartRecord { facts, extensions: Extensions::default(), content })
}
