//! Import: versions made by another store, with their times, their entity tags and their order.

use std::sync::Arc;

use liteio_checksum::ObjectChecksum;
use liteio_kv::Transaction;

use super::body::NewBody;
use super::publish::{NewVersion, Slot};
use super::{ObjectMetadata, StagedBody};
use crate::encryption::{Encryption, ObjectSealing, Sealing};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::{OBJECT_BYTES_MAX, PART_NUMBER_MAX};
use crate::meta::content::Content;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::{Extensions, Listed, ObjectRecord};
use crate::meta::upload::{PartFacts, PartRecord};
use crate::meta::{ObjectLock, space};
use crate::name::{ObjectKey, UploadId, VersionId};
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::{Shared, Store};

/// A version to import. It becomes the newest of its key, so import the oldest first.
#[derive(Debug)]
pub struct ImportedVersion {
    /// Modification time, in milliseconds since 1970.
    pub modified_ms: u64,
    /// `true` for the version id `null`. Any other version gets a new id.
    pub is_null: bool,
    /// The object; `None` for a delete marker.
    pub object: Option<ImportedObject>,
}

/// The object of a version to import.
#[derive(Debug)]
pub struct ImportedObject {
    /// The bytes.
    pub content: ImportedContent,
    /// The entity tag, whatever it was made of; `None` computes it from the content.
    pub etag: Option<ETag>,
    /// Its metadata.
    pub metadata: ObjectMetadata,
    /// The checksum, which the caller has verified.
    pub checksum: Option<ObjectChecksum>,
    /// The lock. The bucket's default is not applied.
    pub lock: ObjectLock,
}

/// The bytes of an object to import.
#[derive(Debug)]
pub enum ImportedContent {
    /// One byte sequence, as one or several bodies in order.
    Whole {
        /// Several bodies only because one body cannot have the size of an object. Each of several
        /// must be longer than an inline body, and unencrypted.
        bodies: Vec<StagedBody>,
        /// The MD5 of all bytes.
        md5: [u8; 16],
    },
    /// The parts of an upload; at least one.
    Parts(Vec<StagedBody>),
    /// The parts of an upload, all encrypted by [`Store::seal_imported_part`]; at least one.
    SealedParts(Vec<StagedBody>, PartsSealing),
}

/// The encryption of the parts of one object to import, see [`Store::seal_imported_parts`].
#[derive(Clone, Debug)]
pub struct PartsSealing {
    /// The list that the parts will be in.
    list: UploadId,
    object: ObjectSealing,
}

impl PartsSealing {
    /// `true` if entity tags of the object are no MD5.
    pub fn hides_md5(&self) -> bool {
        self.object.scheme.hides_md5()
    }
}

/// The kind of the content, without its bodies.
enum Kind {
    /// With the MD5 of all bytes.
    Whole([u8; 16]),
    Parts(Option<PartsSealing>),
}

/// A version of a key, as far as an import compares it with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownVersion {
    /// The version id.
    pub version_id: VersionId,
    /// Modification time, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Size and entity tag; `None` for a delete marker.
    pub object: Option<(u64, ETag)>,
}

impl Store {
    /// Imports a version of another store as the newest one of `key`. No event is sent.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::InvalidBucketState`] for a version
    /// other than `null` in a bucket without versioning, [`StoreError::InvalidRequest`] for a lock
    /// in a bucket without object lock, [`StoreError::ObjectLocked`] if it would replace a locked
    /// version, [`StoreError::ObjectTooLarge`] and [`StoreError::TooManyParts`].
    pub fn import_version(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        version: ImportedVersion,
    ) -> Pending<VersionId> {
        let ImportedVersion { modified_ms, is_null, object } = version;
        let bucket = Arc::clone(bucket);
        let mut blobs = Vec::new();
        let object = object.map(|object| {
            let (bodies, kind) = match object.content {
                ImportedContent::Whole { bodies, md5 } => (bodies, Kind::Whole(md5)),
                ImportedContent::Parts(bodies) => (bodies, Kind::Parts(None)),
                ImportedContent::SealedParts(bodies, sealing) => {
                    (bodies, Kind::Parts(Some(sealing)))
                }
            };
            let mut new_bodies = Vec::with_capacity(bodies.len());
            for body in bodies {
                let (body, blob) = body.into_parts();
                new_bodies.push(body);
                blobs.extend(blob);
            }
            let rest = (object.etag, object.metadata, object.checksum, object.lock);
            (new_bodies, kind, rest)
        });
        self.update_with_blobs(blobs, move |write, shared| {
            let slot = Slot::open(write, shared, &bucket, &key)?;
            let new = match &object {
                None => None,
                Some((bodies, kind, (etag, metadata, checksum, lock))) => {
                    let (made, content, sealing) = match kind {
                        Kind::Parts(sealing) => {
                            let sealing = sealing.as_ref();
                            let (tag, content) =
                                parts(write, shared, bodies, sealing, modified_ms)?;
                            (tag, content, sealing.map(|sealing| sealing.object.clone()))
                        }
                        Kind::Whole(md5) => whole(bodies, md5)?,
                    };
                    let etag = etag.unwrap_or(made);
                    let content_tag = (etag != made).then_some(&made);
                    Some(NewVersion {
                        bytes: total(bodies)?,
                        etag,
                        modified_ms: Some(modified_ms),
                        owner: bucket.owner.clone(),
                        checksum: *checksum,
                        metadata: metadata.clone(),
                        lock: *lock,
                        extensions: Extensions::default().with_content_tag(content_tag),
                        sealing,
                        content,
                        // Not sent.
                        event: EventKind::CreatedPut,
                        cause: Cause::default(),
                    })
                }
            };
            let (version, wake) = slot.import(write, new, (modified_ms, is_null))?;
            Ok(Committed::with_guard(version, wake))
        })
    }

    /// The encryption of the parts of one object to import. An object that is one body is sealed by
    /// [`Store::seal_object`].
    ///
    /// # Errors
    /// The errors of [`Store::seal_object`].
    pub fn seal_imported_parts(&self, encryption: &Encryption) -> Result<PartsSealing, StoreError> {
        let config = &self.shared().config;
        let object = config.keys.new_key(encryption, &*config.random)?;
        Ok(PartsSealing { list: self.shared().ids.upload(config)?, object })
    }

    /// The encryption of one more body of these parts.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the random source fails.
    pub fn seal_imported_part(&self, parts: &PartsSealing) -> Result<Sealing, StoreError> {
        parts.object.part(parts.list, &*self.shared().config.random)
    }

    /// The versions of a key, newest first.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn versions_of_key(
        &self,
        bucket: &Arc<Bucket>,
        key: &ObjectKey,
    ) -> Result<Vec<KnownVersion>, StoreError> {
        let snapshot = self.snapshot()?;
        let mut known = Vec::new();
        let place = space::current(bucket.id, key.as_str());
        if let Some(current) = ObjectRecord::read(&snapshot, &place)? {
            known.push(KnownVersion {
                version_id: current.version_id(),
                modified_ms: current.modified_ms,
                object: Some((current.bytes, current.etag)),
            });
        }
        let prefix = space::history_of(bucket.id, key.as_str());
        let mut cursor = space::within(&snapshot, &prefix)?;
        while let Some((place, value)) = cursor.next()? {
            let listed = Listed::decode(place, value)?;
            known.push(KnownVersion {
                version_id: listed.version_id(),
                modified_ms: listed.modified_ms,
                object: (!listed.is_delete_marker).then_some((listed.bytes, listed.etag)),
            });
        }
        Ok(known)
    }
}

fn total(bodies: &[NewBody]) -> Result<u64, StoreError> {
    let bytes = bodies.iter().map(|body| body.digests.bytes).sum();
    match bytes > OBJECT_BYTES_MAX {
        true => Err(StoreError::ObjectTooLarge { bytes }),
        false => Ok(bytes),
    }
}

/// The entity tag, content and encryption of one byte sequence.
fn whole(
    bodies: &[NewBody],
    md5: &[u8; 16],
) -> Result<(ETag, Content, Option<ObjectSealing>), StoreError> {
    if let [body] = bodies {
        // The tag of an encrypted body may hide its MD5.
        let sealing = body.object_sealing()?.cloned();
        return Ok((ETag::Md5(body.tag), body.content.clone(), sealing));
    }
    let mut extents = Vec::new();
    for body in bodies {
        match (&body.content, &body.sealing) {
            (Content::Extents(more), None) => extents.extend_from_slice(more),
            _ => return Err(internal("a body of several to import is no unencrypted blob")),
        }
    }
    Ok((ETag::Md5(*md5), Content::Extents(extents), None))
}

/// Writes the records of parts.
fn parts(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bodies: &[NewBody],
    sealing: Option<&PartsSealing>,
    modified_ms: u64,
) -> Result<(ETag, Content), StoreError> {
    // Readers expect bytes in every part, unless it is the only one.
    let is_empty = bodies.iter().all(|body| body.digests.bytes == 0);
    let with_bytes = bodies.iter().filter(|body| body.digests.bytes > 0);
    let kept: Vec<&NewBody> =
        if is_empty { bodies.iter().take(1).collect() } else { with_bytes.collect() };
    let count = u16::try_from(kept.len()).ok().filter(|count| *count <= PART_NUMBER_MAX);
    let count = count.ok_or(StoreError::TooManyParts)?;
    let list = match sealing {
        Some(sealing) => sealing.list,
        None => shared.ids.upload(&shared.config)?,
    };
    let mut start = 0;
    for (number, body) in (1..=count).zip(&kept) {
        let salt = body.part_salt(&list, sealing.is_some())?;
        let bytes = body.digests.bytes;
        let facts = PartFacts { start, bytes, md5: body.tag, modified_ms, checksum: None };
        let content = body.content.clone();
        let extensions = Extensions::default().with_part_salt(salt);
        PartRecord { facts, extensions, content }.write(write, &list, number)?;
        start += bytes;
    }
    let etag = ETag::multipart(kept.iter().map(|body| &body.tag));
    Ok((etag, Content::Parts { list, count: u32::from(count), is_original: true }))
}

fn internal(what: &str) -> StoreError {
    StoreError::Internal { what: what.to_owned() }
}
