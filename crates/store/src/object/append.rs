//! PutObject with `x-amz-write-offset-bytes`: appending.
//!
//! Every append is a part, as of an upload, so it writes one record whatever the size of the object:
//!
//! ```text
//!  inline, extents         list of parts                  list of parts that a copy shares
//!       │                       │                                 │
//!  becomes part 1          gets one part more             its records are copied to a list
//!  of a new list                                          of its own, which gets one more
//! ```
//!
//! A list is never longer than its object says. The bytes that are there stay where they are; only those that
//! stand in a record are copied, with it.

use std::sync::Arc;

use liteio_kv::{Read, Transaction};

use super::body::NewBody;
use super::parts::{read_facts, read_part};
use super::publish::{NewVersion, Slot};
use super::{ObjectVersion, PutOptions, StagedBody};
use crate::checksum::{ChecksumType, ChecksumValue, CrcCombiner, Md5, ObjectChecksum};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::{OBJECT_BYTES_MAX, PART_NUMBER_MAX};
use crate::meta::content::{Content, ContentId};
use crate::meta::event::EventKind;
use crate::meta::object::{Extensions, ObjectRecord};
use crate::meta::upload::{PartFacts, PartRecord};
use crate::meta::{Versioning, reference};
use crate::name::ObjectKey;
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::{Shared, Store};

impl Store {
    /// Appends `body` to the current object of `key`, which must have `offset` bytes; without an object and
    /// with the offset 0 it is [`Store::put_object`]. Of two appends at one offset one fails. No byte of the
    /// object is read, and none that is in a blob is copied.
    ///
    /// The object keeps its metadata, its owner and its access control list; `options` must not have metadata of
    /// the user, tags, an access control list or another storage class. If its checksum is a CRC over all bytes, `body` must have been digested by the
    /// same algorithm, and the checksum is that of all bytes again; after any other it has none. Only a copy of
    /// an object with the most parts, which is written anew, can grow further.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::InvalidBucketState`] in a bucket that has or had
    /// versioning, [`StoreError::InvalidWriteOffset`], [`StoreError::TooManyParts`],
    /// [`StoreError::ObjectTooLarge`], [`StoreError::EncryptedAppend`], [`StoreError::EncryptionMismatch`],
    /// [`StoreError::InvalidRequest`], [`StoreError::ConditionalRequestConflict`] if the checksum of the
    /// object is by another algorithm meanwhile, and for the conditions as a put.
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
            let state = bucket.state(write)?;
            if state.versioning != Versioning::Never {
                return Err(versions_do_not_grow());
            }
            let slot = Slot::open_in(write, shared, &bucket, state, &key)?;
            slot.check(&options.conditions)?;
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

/// An older version would change with the current one, whose parts it has.
fn versions_do_not_grow() -> StoreError {
    let message = "Objects can be appended to only in a bucket that never had versioning.";
    StoreError::InvalidBucketState { message: message.to_owned() }
}

/// The version that `body` makes of the object `current`, with a reference of its own to its content.
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
        // What follows nothing is all there is.
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

/// Refuses what cannot become part of the object.
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

/// The checksum of all bytes, if it can be computed.
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
        false => Err(StoreError::ConditionalRequestConflict),
    }
}

/// The record of the part that is appended.
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

/// The number of parts that stay before the new one. The last part of an upload may be empty; it is replaced,
/// since readers go from part to part and expect bytes in each.
fn parts_before(from: &impl Read, current: &ObjectRecord) -> Result<u16, StoreError> {
    let Content::Parts { list, count, .. } = &current.content else { return Ok(1) };
    let count = u16::try_from(*count).map_err(|_| StoreError::corrupt("too many parts"))?;
    match read_facts(from, list, count)?.bytes {
        0 => Ok(count.saturating_sub(1)),
        _ => Ok(count),
    }
}

/// The digest of the MD5s of the first `before` parts. Of an object that was never appended to, it is made
/// from their records.
fn part_md5s(from: &impl Read, current: &ObjectRecord, before: u16) -> Result<Md5, StoreError> {
    let mut md5s = Md5::new();
    match (&current.content, current.content_tag()?) {
        (Content::Inline(_) | Content::Extents(_), ETag::Md5(md5)) => md5s.update(&md5),
        (Content::Parts { list, count, .. }, ETag::Multipart { parts, .. }) if parts == *count => {
            if let Some(kept) = current.extensions.part_md5s()?
                && kept.bytes() == u64::from(before) * 16
            {
                return Ok(kept);
            }
            for number in 1..=before {
                md5s.update(&read_facts(from, list, number)?.md5);
            }
        }
        _ => return Err(StoreError::corrupt("the entity tag of an object")),
    }
    Ok(md5s)
}

/// The list of the first `before` parts of `current`, and `part` behind them.
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
    let list = match &current.content {
        Content::Parts { list, .. } => {
            if reference::is_single(&ContentId::Parts(*list), write)? {
                // Replacing the record releases the list.
                reference::retain(&current.content, write)?;
                if let Some(empty) = PartRecord::read(write, list, before + 1)? {
                    reference::release(&empty.content, write)?;
                }
                *list
            } else {
                let own = shared.ids.upload(&shared.config)?;
                let mut position = 0;
                for number in 1..=before {
                    let part = read_part(write, list, number, position)?;
                    position += part.facts.bytes;
                    reference::retain(&part.content, write)?;
                    part.write(write, &own, number)?;
                }
                own
            }
        }
        content => {
            let list = shared.ids.upload(&shared.config)?;
            reference::retain(content, write)?;
            first_part(current)?.write(write, &list, 1)?;
            list
        }
    };
    part.write(write, &list, before + 1)?;
    Ok(Content::Parts { list, count: u32::from(before) + 1, is_original: false })
}

/// The object as the first part of a list.
fn first_part(object: &ObjectRecord) -> Result<PartRecord, StoreError> {
    let (ETag::Md5(md5) | ETag::Multipart { md5, .. }) = object.content_tag()?;
    let checksum: Option<ChecksumValue> = object.checksum.map(|checksum| checksum.value);
    let facts =
        PartFacts { start: 0, bytes: object.bytes, md5, modified_ms: object.modified_ms, checksum };
    let content = object.content.clone();
    Ok(PartRecord { facts, extensions: Extensions::default(), content })
}
