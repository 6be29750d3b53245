//! CompleteMultipartUpload.

use std::iter::once_with;
use std::ops::Bound;
use std::sync::Arc;

use liteio_checksum::{ChecksumType, ChecksumValue, CrcCombiner, ObjectChecksum};
use liteio_kv::{Read, Transaction, Write};

use super::since;
use crate::encryption::{EncryptionScheme, ObjectSealing};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::OBJECT_BYTES_MAX;
use crate::meta::claim::Claim;
use crate::meta::content::Content;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::ObjectRecord;
use crate::meta::upload::{PartFacts, PartRecord, UploadRecord};
use crate::meta::{reference, space};
use crate::name::{ObjectKey, PartNumber, UploadId};
use crate::object::publish::{self, NewVersion, Slot};
use crate::object::release::release;
use crate::object::{ObjectVersion, Replica};
use crate::pending::{Committed, Pending};
use crate::precondition::WriteConditions;
use crate::process::{Bucket, WakeReclaimer};
use crate::store::{Shared, Store};

/// A part in the part list of a Complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletePart {
    /// The part number.
    pub number: PartNumber,
    /// The expected entity tag.
    pub etag: Option<String>,
    /// The expected checksum.
    pub checksum: Option<ChecksumValue>,
}

/// Options of a completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompleteOptions {
    /// Conditions on the current object of the key.
    pub conditions: WriteConditions,
    /// The expected checksum of the whole object.
    pub checksum: Option<ObjectChecksum>,
    /// The expected size.
    pub object_bytes: Option<u64>,
    /// The reason for the completion, for its event.
    pub cause: Cause,
    /// The version of another store that this is a copy of. Then the conditions and the default
    /// retention do not apply.
    pub replica: Option<Replica>,
}

impl Store {
    /// Makes an object of the parts, in one transaction and without copying a byte. Idempotent: a
    /// repeated call returns the same object while that is current, so a client may retry.
    ///
    /// Fails with [`StoreError::NoSuchUpload`], [`StoreError::NoSuchBucket`],
    /// [`StoreError::InvalidPartOrder`], [`StoreError::InvalidPart`], [`StoreError::PartTooSmall`],
    /// [`StoreError::ObjectTooLarge`], [`StoreError::ChecksumMismatch`],
    /// [`StoreError::InvalidRequest`] (no parts, or another size than expected) and, for the
    /// conditions, [`StoreError::PreconditionFailed`], [`StoreError::NoSuchKey`], or
    /// [`StoreError::KeyChanged`] if the key was written or deleted since the upload was created.
    pub fn complete_upload(
        &self,
        bucket: &Arc<Bucket>,
        key: &ObjectKey,
        id: &UploadId,
        parts: Vec<CompletePart>,
        options: CompleteOptions,
    ) -> Pending<ObjectVersion> {
        let (bucket, key, id) = (Arc::clone(bucket), key.clone(), *id);
        // Everything is checked before the first write of the transaction: the upload, the chosen
        // parts, the size, the checksum, the conditions.
        self.update(move |write, shared| {
            write.claim(Claim::UploadAlone(&id))?;
            let upload = once_with(|| space::upload(&id));
            let of_parts = parts.iter().map(|part| space::part(&id, part.number.get()));
            publish::fetch(write, &bucket, [&key], upload.chain(of_parts))?;
            let slot = Slot::open(write, shared, &bucket, &key)?;
            let upload = match UploadRecord::require(write, &id, slot.bucket_id(), key.as_str()) {
                Ok(upload) => upload,
                // A client that has lost the first answer asks again.
                Err(error) => return repeat(error, &id, slot),
            };
            let part_bytes_min = match options.replica {
                // Parts of the source may come from an import, with parts of any size.
                Some(_) => 1,
                None => shared.config.part_bytes_min,
            };
            let chosen = choose(write, &id, &upload, &parts, part_bytes_min)?;
            let bytes = chosen.iter().map(|facts| facts.bytes).sum::<u64>();
            if bytes > OBJECT_BYTES_MAX {
                return Err(StoreError::ObjectTooLarge { bytes });
            }
            if let Some(announced) = options.object_bytes.filter(|announced| *announced != bytes) {
                let message = format!(
                    "The provided 'x-amz-mp-object-size' header value {announced} does not match what was \
                     computed: {bytes}"
                );
                return Err(StoreError::InvalidRequest { message });
            }
            let checksum = object_checksum(&upload, &chosen, options.checksum)?;
            if options.replica.is_none() {
                since::check(&slot, write, &options.conditions, upload.extensions.key_state()?)?;
            }

            let sealing = sealing_of(shared, &upload, &id)?;

            // Then the parts are renumbered, the upload's record goes, and the object's record
            // comes. All of it commits at once, so a reader sees the upload or the object.
            let released = keep_parts(write, shared, &id, &parts)?;
            upload.delete(write, &id)?;
            let count = u32::try_from(parts.len()).expect("part numbers have 16 bits");
            let new = NewVersion {
                bytes,
                etag: ETag::multipart(chosen.iter().map(|facts| &facts.md5)),
                modified_ms: None,
                owner: upload.owner,
                checksum,
                metadata: upload.metadata,
                lock: upload.extensions.lock()?,
                // The data key stays, so parts keep their keys. It is wrapped for the new version.
                extensions: upload.extensions.with_key_state(None).with_default_checksum(false),
                sealing,
                content: Content::Parts { list: id, count, is_original: true },
                event: EventKind::CreatedComplete,
                cause: options.cause.clone(),
            };
            let (object, wakes) = match &options.replica {
                Some(replica) => slot.publish_replica(write, new, replica)?,
                None => slot.publish(write, new)?,
            };
            Ok(Committed::with_guard(object, (released, wakes)))
        })
    }
}

/// The data key of an upload, to be wrapped for the object that it becomes. `None` without
/// encryption, and for the key of a client, who does not send it again: the wrapping of the upload
/// stays, which is bound to bucket and key.
fn sealing_of(
    shared: &Shared,
    upload: &UploadRecord,
    id: &UploadId,
) -> Result<Option<ObjectSealing>, StoreError> {
    let keys = &shared.config.keys;
    match upload.extensions.encryption()? {
        Some(encryption) if !matches!(encryption.scheme, EncryptionScheme::Customer) => {
            let data = keys.unlock(&encryption, upload.identity(id), None)?;
            keys.resealing(&encryption, data, None).map(Some)
        }
        _ => Ok(None),
    }
}

/// The result for an upload that is not in progress: the result of the first call if its object is
/// still current, else `error`.
fn repeat(
    error: StoreError,
    id: &UploadId,
    slot: Slot<'_>,
) -> Result<Committed<ObjectVersion>, StoreError> {
    let made_by = |record: &ObjectRecord| match &record.content {
        Content::Parts { list, is_original, .. } => list == id && *is_original,
        Content::Remote(remote) => {
            remote.parts.as_ref().is_some_and(|parts| parts.upload == *id && parts.is_original)
        }
        Content::Inline(_) | Content::Extents(_) | Content::Apart { .. } => false,
    };
    match error {
        StoreError::NoSuchUpload { .. } if slot.current().is_some_and(made_by) => {
            slot.into_current()?.map(Committed::new).ok_or(error)
        }
        error => Err(error),
    }
}

/// Compares the client's part list with the uploaded parts.
fn choose(
    from: &impl Read,
    id: &UploadId,
    upload: &UploadRecord,
    parts: &[CompletePart],
    part_bytes_min: u64,
) -> Result<Vec<PartFacts>, StoreError> {
    if parts.is_empty() {
        let message = "an upload is completed with at least one part".to_owned();
        return Err(StoreError::InvalidRequest { message });
    }
    // Strictly ascending, so no part is used twice.
    if !parts.is_sorted_by(|one, next| one.number < next.number) {
        return Err(StoreError::InvalidPartOrder);
    }
    let mut chosen = Vec::with_capacity(parts.len());
    for part in parts {
        let number = part.number.get();
        let place = space::part(id, number);
        let facts = match from.get(&place)? {
            Some(bytes) => PartFacts::decode(&place, &bytes)?,
            None => return Err(StoreError::InvalidPart { part: number }),
        };
        let has_tag = |tag: &String| ETag::parse(tag) == Some(ETag::Md5(facts.md5));
        if !part.etag.as_ref().is_none_or(has_tag) {
            return Err(StoreError::InvalidPart { part: number });
        }
        if let Some(sent) = &part.checksum {
            check_part(upload, &facts, number, sent, parts.len())?;
        }
        chosen.push(facts);
    }
    // Only the last part may be short.
    let all_but_last = parts.iter().zip(&chosen).take(parts.len() - 1);
    for (part, facts) in all_but_last {
        if facts.bytes < part_bytes_min {
            return Err(StoreError::PartTooSmall {
                part: part.number.get(),
                bytes: facts.bytes,
                minimum: part_bytes_min,
            });
        }
    }
    Ok(chosen)
}

/// Compares the checksum of a part in the list with the stored one.
///
/// The errors are recorded on AWS (LocalStack's `test_complete_multipart_parts_checksum_…` and
/// `test_multipart_parts_checksum_exceptions_composite`): a checksum of another algorithm than the
/// upload's is a wrong digest, a wrong value or one that nobody asked for a wrong part; where the part
/// is the only one, a wrong value is a wrong digest, too.
fn check_part(
    upload: &UploadRecord,
    facts: &PartFacts,
    number: u16,
    sent: &ChecksumValue,
    parts: usize,
) -> Result<(), StoreError> {
    if upload.extensions.has_default_checksum()? {
        return Err(StoreError::InvalidPart { part: number });
    }
    let is_other = upload.checksum.is_some_and(|(algorithm, _)| algorithm != sent.algorithm);
    match &facts.checksum {
        // A part stored without a checksum has nothing to compare with.
        None => Ok(()),
        Some(stored) if stored == sent => Ok(()),
        Some(_) if is_other || parts == 1 => {
            Err(StoreError::PartDigest { part: number, algorithm: sent.algorithm })
        }
        Some(_) => Err(StoreError::InvalidPart { part: number }),
    }
}

/// The checksum of the whole object, from the checksums of its parts. It must equal the expected
/// one.
fn object_checksum(
    upload: &UploadRecord,
    parts: &[PartFacts],
    expected: Option<ObjectChecksum>,
) -> Result<Option<ObjectChecksum>, StoreError> {
    let expected_type = expected.map(|expected| (expected.value.algorithm, expected.kind));
    let Some((algorithm, kind)) = upload.checksum.or(expected_type) else { return Ok(None) };
    let computed = match kind {
        ChecksumType::Composite => composite(parts),
        ChecksumType::FullObject => CrcCombiner::new(algorithm).and_then(|mut combiner| {
            // A CRC of the whole follows from the CRCs and lengths of the parts, without reading a
            // byte.
            let mut values = parts.iter().map(|part| Some((part.checksum?, part.bytes)));
            let is_whole = values
                .all(|value| value.is_some_and(|(checksum, bytes)| combiner.add(&checksum, bytes)));
            is_whole.then(|| ObjectChecksum::full_object(combiner.finish()))
        }),
    };
    // The client may have sent parts with checksums of another algorithm.
    let computed = computed.filter(|computed| computed.value.algorithm == algorithm);
    let Some(computed) = computed else {
        let message = format!("not every part has the checksum {algorithm:?} of the upload");
        return Err(StoreError::InvalidRequest { message });
    };
    match expected {
        Some(expected) if (expected.value, expected.kind) != (computed.value, computed.kind) => {
            Err(StoreError::ChecksumMismatch { algorithm: expected.value.algorithm })
        }
        _ => Ok(Some(computed)),
    }
}

fn composite(parts: &[PartFacts]) -> Option<ObjectChecksum> {
    let values: Option<Vec<ChecksumValue>> = parts.iter().map(|part| part.checksum).collect();
    ObjectChecksum::composite(values.as_deref()?)
}

/// Renumbers the chosen parts from 1 without gaps, sets their offsets in the object, and drops the
/// other parts. The guard must live until the commit.
fn keep_parts(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    id: &UploadId,
    chosen: &[CompletePart],
) -> Result<WakeReclaimer, StoreError> {
    let mut chosen = chosen.iter().peekable();
    let mut dropped = Vec::new();
    let (mut count, mut start) = (0, 0);
    // In ascending order: a part moves to a lower number, whose old part was handled before.
    for number in uploaded_numbers(write, id)? {
        let Some(mut part) = PartRecord::read(write, id, number)? else { continue };
        if chosen.next_if(|part| part.number.get() == number).is_none() {
            write.delete(&space::part(id, number))?;
            dropped.push(part.content);
            continue;
        }
        count += 1;
        if number != count {
            write.delete(&space::part(id, number))?;
        }
        // Part 1 at offset 0 needs no write; many uploads have only this part.
        if number != count || start != 0 {
            part.facts.start = start;
            part.write(write, id, count)?;
        }
        start += part.facts.bytes;
    }
    reference::fetch(&dropped, write)?;
    release(write, shared, &dropped)
}

/// The numbers of the uploaded parts, at most 10,000.
fn uploaded_numbers(from: &impl Read, id: &UploadId) -> Result<Vec<u16>, StoreError> {
    let (lower, upper) = (space::part(id, 0), space::part(id, u16::MAX));
    let mut cursor = from.cursor(Bound::Included(&lower), Bound::Included(&upper))?;
    let mut numbers = Vec::new();
    while let Some((key, _)) = cursor.next()? {
        let number = space::split_part(key).map(|(_, number)| number);
        numbers.push(number.ok_or_else(|| StoreError::corrupt("a part's key"))?);
    }
    Ok(numbers)
}
