//! `ObjectRecord`: one version of an object.
//!
//! Version 2 is sealed: see [`record`](super::record). First come the fields of [`Listed`], which a
//! listing decodes alone, then the other fields, then the manifest. Inline bytes are the body.

mod version_1;

use liteio_checksum::{Md5, ObjectChecksum};
use liteio_kv::{Read, Write};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::annotation::SetId;
use super::content::{Content, StoredContent};
use super::record::{Body, Sealed};
use super::remote::RemoteBody;
use super::replication::VersionReplication;
use super::restore::Restore;
use super::{EventHold, LegalHold, ObjectLock, ObjectMetadata, Owner, Retention, record};
use crate::encryption::{EncryptionRecord, EncryptionScheme, PartSalt, stored_bytes};
use crate::error::{DeleteMarker, StoreError};
use crate::etag::ETag;
use crate::name::VersionId;

const VERSION: u8 = 2;
const WHAT: &str = "an object's record";

/// One version of an object, or a delete marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectRecord {
    // From here to the storage class in the metadata: the fields of `Listed`.
    pub(crate) bytes: u64,
    pub(crate) etag: ETag,
    pub(crate) modified_ms: u64,
    /// Unique for every write, and smaller than the stamp of every older version of the key.
    pub(crate) stamp: [u8; 16],
    /// `true` if clients see the version id `null`.
    pub(crate) is_null: bool,
    pub(crate) is_delete_marker: bool,
    /// `None` for the owner of the bucket.
    pub(crate) owner: Option<Owner>,
    pub(crate) checksum: Option<ObjectChecksum>,
    pub(crate) metadata: ObjectMetadata,
    pub(crate) extensions: Extensions,
    /// Stored behind the fields and in the body, and bytes in a [row](super::body).
    #[serde(skip)]
    pub(crate) content: Content,
}

/// The fields of a record that a listing shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) bytes: u64,
    pub(crate) etag: ETag,
    pub(crate) modified_ms: u64,
    pub(crate) stamp: [u8; 16],
    pub(crate) is_null: bool,
    pub(crate) is_delete_marker: bool,
    pub(crate) owner: Option<Owner>,
    pub(crate) checksum: Option<ObjectChecksum>,
    pub(crate) storage_class: Option<String>,
}

/// Extensions: fields that later versions of the store add without a new version of the record.
///
/// Each is a number and bytes. An unknown number below [`REQUIRED`] is ignored. The others change
/// the meaning of the record, so a record with an unknown one is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extensions(Vec<(u8, Vec<u8>)>);

/// The [`Renamed`] of an object that was renamed with a token.
const RENAMED: u8 = 2;
/// The digest of the MD5s of the parts, if the object was appended to.
const PART_MD5S: u8 = 3;
/// The [`KeyState`] of an upload that was created for a key.
const KEY_STATE: u8 = 4;
/// Present if the client of an upload chose no checksum, so that the upload has the store's default.
const DEFAULT_CHECKSUM: u8 = 5;
/// The [`VersionReplication`] of a version that is copied, or is a copy.
const REPLICATION: u8 = 6;
/// The last [`Restore`] of a version in an archive class. A program that does not know it reads such
/// versions freely.
const RESTORE: u8 = 7;
/// Number from which extensions must be known.
const REQUIRED: u8 = 128;
/// The retention and the legal hold of a locked version.
const LOCK: u8 = 128;
/// The encryption: an [`EncryptionRecord`] of an object or upload, the salt of the key of a part.
const ENCRYPTION: u8 = 129;
/// The access control list in opaque bytes, unless it is the default. It decides who may read, so a
/// program that does not know it must not answer.
const ACL: u8 = 130;
/// The entity tag computed from the content, if the object keeps the tag of another store. A
/// program that does not know it would take the object for damaged.
const CONTENT_TAG: u8 = 131;
/// The [`RemoteBody`] of a version whose body is in a tier. In a record only: in memory it is the
/// [content](Content::Remote). A program that does not know it would take the object for empty.
const REMOTE: u8 = 132;
/// The offset of a part's bytes in the [`RemoteBody`] of its object. Its record has no bytes.
const REMOTE_OFFSET: u8 = 133;
/// The [`EventHold`] of a version that has or had one. A program that does not know it would take
/// the end of the retention for fixed, and delete what is held.
const EVENT_HOLD: u8 = 134;

/// The id of the set of [annotations](super::annotation) of a version that has some. A program that does not
/// know it would leave the set behind when it removes the version.
const ANNOTATIONS: u8 = 135;

/// The rename by which an object got its key, so that a repetition is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Renamed {
    /// The token of the client.
    pub(crate) token: String,
    /// SHA-256 of the key of the source.
    pub(crate) source: [u8; 32],
}

/// The state of the key of an upload when the upload was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyState {
    /// The stamp of the newest version, if there was one.
    pub(crate) newest: Option<[u8; 16]>,
    /// `true` if the newest version was removed since.
    pub(crate) is_removed: bool,
}

impl Extensions {
    /// The rename that made the object.
    pub(crate) fn renamed(&self) -> Result<Option<Renamed>, StoreError> {
        self.get(RENAMED)
    }

    /// The same extensions, made by another rename or by none.
    pub(crate) fn with_renamed(self, renamed: Option<&Renamed>) -> Self {
        self.with(RENAMED, renamed)
    }

    /// The digest of the MD5s of the parts, if the object was appended to.
    pub(crate) fn part_md5s(&self) -> Result<Option<Md5>, StoreError> {
        self.get(PART_MD5S)
    }

    /// The same with the digest of other parts.
    pub(crate) fn with_part_md5s(self, md5s: Option<&Md5>) -> Self {
        self.with(PART_MD5S, md5s)
    }

    /// The state of the key of an upload.
    pub(crate) fn key_state(&self) -> Result<Option<KeyState>, StoreError> {
        self.get(KEY_STATE)
    }

    /// The same with another state of the key.
    pub(crate) fn with_key_state(self, state: Option<&KeyState>) -> Self {
        self.with(KEY_STATE, state)
    }

    /// `true` if the client of the upload chose no checksum.
    pub(crate) fn has_default_checksum(&self) -> Result<bool, StoreError> {
        Ok(self.get::<()>(DEFAULT_CHECKSUM)?.is_some())
    }

    /// The same, with or without the note that the client chose no checksum.
    pub(crate) fn with_default_checksum(self, is_default: bool) -> Self {
        self.with(DEFAULT_CHECKSUM, is_default.then_some(&()))
    }

    /// The state of the replication of the version.
    pub(crate) fn replication(&self) -> Result<Option<VersionReplication>, StoreError> {
        self.get(REPLICATION)
    }

    /// The same with another state of the replication.
    pub(crate) fn with_replication(self, state: Option<&VersionReplication>) -> Self {
        self.with(REPLICATION, state)
    }

    /// The last restore of the version.
    pub(crate) fn restore(&self) -> Result<Option<Restore>, StoreError> {
        self.get(RESTORE)
    }

    /// The same with another restore.
    pub(crate) fn with_restore(self, restore: Option<&Restore>) -> Self {
        self.with(RESTORE, restore)
    }

    /// The lock of the version.
    pub(crate) fn lock(&self) -> Result<ObjectLock, StoreError> {
        let locked: Option<(Option<Retention>, LegalHold)> = self.get(LOCK)?;
        let (retention, legal_hold) = locked.unwrap_or_default();
        let event_hold = self.get(EVENT_HOLD)?.unwrap_or_default();
        Ok(ObjectLock { retention, legal_hold, event_hold })
    }

    /// The same with another lock.
    pub(crate) fn with_lock(self, lock: ObjectLock) -> Self {
        let ObjectLock { retention, legal_hold, event_hold } = lock;
        let locked = (retention, legal_hold);
        let is_locked = locked != <(Option<Retention>, LegalHold)>::default();
        let is_held = event_hold != EventHold::Never;
        self.with(LOCK, is_locked.then_some(&locked))
            .with(EVENT_HOLD, is_held.then_some(&event_hold))
    }

    /// The access control list, unless it is the default.
    pub(crate) fn acl(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(ACL)
    }

    /// The same with another access control list.
    pub(crate) fn with_acl(self, acl: Option<&Vec<u8>>) -> Self {
        self.with(ACL, acl)
    }

    /// The entity tag computed from the content, unless the object has it.
    pub(crate) fn content_tag(&self) -> Result<Option<ETag>, StoreError> {
        self.get(CONTENT_TAG)
    }

    /// The same with another content tag.
    pub(crate) fn with_content_tag(self, tag: Option<&ETag>) -> Self {
        self.with(CONTENT_TAG, tag)
    }

    /// The set of annotations of the version, if it has some.
    pub(crate) fn annotations(&self) -> Result<Option<SetId>, StoreError> {
        self.get(ANNOTATIONS)
    }

    /// The same with another set of annotations.
    pub(crate) fn with_annotations(self, set: Option<&SetId>) -> Self {
        self.with(ANNOTATIONS, set)
    }

    fn get<T: DeserializeOwned>(&self, number: u8) -> Result<Option<T>, StoreError> {
        let found = self.0.iter().find(|(other, _)| *other == number);
        found.map(|(_, bytes)| record::take_all(bytes, WHAT)).transpose()
    }

    fn with(mut self, number: u8, value: Option<&impl Serialize>) -> Self {
        self.0.retain(|(other, _)| *other != number);
        self.0.extend(value.map(|value| (number, record::append(value, Vec::new()))));
        self
    }

    /// The offset of a part's bytes in the body of its object, which is in a tier.
    pub(crate) fn remote_offset(&self) -> Result<Option<u64>, StoreError> {
        self.get(REMOTE_OFFSET)
    }

    /// The same with another offset in a body in a tier.
    pub(crate) fn with_remote_offset(self, offset: Option<u64>) -> Self {
        self.with(REMOTE_OFFSET, offset.as_ref())
    }

    /// Refuses extensions that must be known and are not.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let is_known = |number: u8| {
            number < REQUIRED
                || matches!(
                    number,
                    LOCK | ENCRYPTION
                        | ACL
                        | CONTENT_TAG
                        | REMOTE
                        | REMOTE_OFFSET
                        | EVENT_HOLD
                        | ANNOTATIONS
                )
        };
        match self.0.iter().any(|(number, _)| !is_known(*number)) {
            true => {
                let known = u32::from(VERSION);
                Err(StoreError::FormatTooNew { found: known + 1, known })
            }
            false => Ok(()),
        }
    }

    /// The encryption of an object or upload.
    pub(crate) fn encryption(&self) -> Result<Option<EncryptionRecord>, StoreError> {
        self.get(ENCRYPTION)
    }

    /// The same with another encryption.
    pub(crate) fn with_encryption(self, encryption: Option<&EncryptionRecord>) -> Self {
        self.with(ENCRYPTION, encryption)
    }

    /// The salt of an encrypted part's key.
    pub(crate) fn part_salt(&self) -> Result<Option<PartSalt>, StoreError> {
        self.get(ENCRYPTION)
    }

    /// The same with another salt.
    pub(crate) fn with_part_salt(self, salt: Option<PartSalt>) -> Self {
        self.with(ENCRYPTION, salt.as_ref())
    }

    /// Length of the stored content for a body of `bytes`: more if it is encrypted.
    pub(crate) fn content_bytes(&self, bytes: u64) -> Option<u64> {
        match self.0.iter().any(|(number, _)| *number == ENCRYPTION) {
            false => Some(bytes),
            true => stored_bytes(bytes),
        }
    }
}

impl Listed {
    /// Decodes the front of the record at `place`.
    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        match record::split_version(bytes, VERSION)? {
            (1, fields) => version_1::listed(fields).map(|(listed, _)| listed),
            _ => Ok(record::take(Sealed::open(place, bytes, WHAT)?.fields, WHAT)?.0),
        }
    }

    pub(crate) fn version_id(&self) -> VersionId {
        version_id(self.is_null, self.stamp)
    }
}

impl ObjectRecord {
    /// The record at `place`, if there is one.
    pub(crate) fn read(from: &impl Read, place: &[u8]) -> Result<Option<Self>, StoreError> {
        match from.get(place)? {
            Some(bytes) => Self::decode(place, &bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn write(&self, to: &mut impl Write, place: &[u8]) -> Result<(), StoreError> {
        Ok(to.put(place, &self.encode(place))?)
    }

    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        let (stored, body) = self.content.to_stored();
        if let Content::Remote(remote) = &self.content {
            let extensions = self.extensions.clone().with(REMOTE, Some(&**remote));
            return record::seal(
                VERSION,
                place,
                &(Self { extensions, ..self.clone() }, stored),
                &[],
            );
        }
        record::seal(VERSION, place, &(self, stored), body)
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        let (record, stored, body) = Self::decode_fields(place, bytes)?;
        let body = body.verified(WHAT)?;
        let (record, stored) = match record.remote(stored)? {
            Ok(record) => return Ok(record),
            Err(local) => local,
        };
        let content = record.checked(Content::from_stored(stored, body, Some(&record.stamp))?)?;
        Ok(Self { content, ..record })
    }

    /// The record with its body in a tier, or as it was given.
    fn remote<'a>(
        mut self,
        stored: StoredContent<'a>,
    ) -> Result<Result<Self, (Self, StoredContent<'a>)>, StoreError> {
        let Some(remote) = self.extensions.get::<RemoteBody>(REMOTE)? else {
            return Ok(Err((self, stored)));
        };
        remote.check()?;
        if !matches!(stored, StoredContent::Inline { bytes: 0 }) {
            return Err(StoreError::corrupt("an object in a tier has a body here"));
        }
        self.extensions.0.retain(|(number, _)| *number != REMOTE);
        self.content = self.checked(Content::Remote(Box::new(remote)))?;
        Ok(Ok(self))
    }

    /// The content, if it has the size of the object.
    fn checked(&self, content: Content) -> Result<Content, StoreError> {
        let expected = self.extensions.content_bytes(self.bytes);
        match content.bytes().is_none_or(|bytes| Some(bytes) == expected) {
            true => Ok(content),
            false => Err(StoreError::corrupt("an object's size differs from its manifest's")),
        }
    }

    /// The last restore of a version, without its content.
    pub(crate) fn decode_restore(
        place: &[u8],
        bytes: &[u8],
    ) -> Result<Option<Restore>, StoreError> {
        Self::decode_fields(place, bytes)?.0.extensions.restore()
    }

    /// The content, without inline bytes: they may be damaged.
    pub(crate) fn decode_manifest(place: &[u8], bytes: &[u8]) -> Result<Content, StoreError> {
        let (record, stored, _) = Self::decode_fields(place, bytes)?;
        let (record, stored) = match record.remote(stored)? {
            Ok(record) => return Ok(record.content),
            Err(local) => local,
        };
        match stored {
            StoredContent::Inline { .. } => Ok(Content::default()),
            stored => record.checked(Content::from_stored(stored, &[], Some(&record.stamp))?),
        }
    }

    /// The record with empty content, and its content as it is stored.
    fn decode_fields<'a>(
        place: &[u8],
        bytes: &'a [u8],
    ) -> Result<(Self, StoredContent<'a>, Body<'a>), StoreError> {
        let (version, fields) = record::split_version(bytes, VERSION)?;
        if version == 1 {
            return version_1::object(fields);
        }
        let sealed = Sealed::open(place, bytes, WHAT)?;
        let ((record, stored), rest): ((Self, _), _) = record::take(sealed.fields, WHAT)?;
        record.extensions.check()?;
        match rest.is_empty() {
            true => Ok((record, stored, sealed.body)),
            false => Err(StoreError::corrupt("an object's record is too long")),
        }
    }

    /// The entity tag computed from the content. It is the tag of the object, unless the object
    /// came from another store.
    pub(crate) fn content_tag(&self) -> Result<ETag, StoreError> {
        Ok(self.extensions.content_tag()?.unwrap_or(self.etag))
    }

    pub(crate) fn version_id(&self) -> VersionId {
        version_id(self.is_null, self.stamp)
    }

    /// The delete marker, as reads report it.
    pub(crate) fn delete_marker(&self) -> DeleteMarker {
        DeleteMarker { version_id: self.version_id(), modified_ms: self.modified_ms }
    }

    /// Encryption scheme of the object.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub(crate) fn encryption_scheme(&self) -> Result<Option<EncryptionScheme>, StoreError> {
        Ok(self.extensions.encryption()?.map(|encryption| encryption.scheme))
    }
}

fn version_id(is_null: bool, stamp: [u8; 16]) -> VersionId {
    if is_null { VersionId::Null } else { VersionId::Id(stamp) }
}

#[cfg(test)]
pub(crate) mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::meta::ContentHeaders;
    use liteio_checksum::{ChecksumAlgorithm, ChecksumValue};

    const PLACE: &[u8] = b"place";

    pub(crate) fn sample() -> ObjectRecord {
        let value = ChecksumValue::new(ChecksumAlgorithm::Crc32, &[1, 2, 3, 4]).expect("fits");
        ObjectRecord {
            stamp: [5; 16],
            is_null: true,
            is_delete_marker: false,
            bytes: 5,
            etag: ETag::Md5([7; 16]),
            modified_ms: 1_700_000_000_000,
            owner: Some(Owner { id: "id".into(), display_name: "name".into() }),
            checksum: Some(ObjectChecksum::full_object(value)),
            metadata: ObjectMetadata {
                storage_class: Some("STANDARD_IA".into()),
                headers: ContentHeaders {
                    content_type: Some("text/plain".into()),
                    ..ContentHeaders::default()
                },
                user: vec![("a".into(), "b".into())],
                tags: vec![("k".into(), "v".into())],
            },
            extensions: Extensions(vec![(1, b"ignored".to_vec())]),
            content: Content::Inline(Bytes::from_static(b"hello")),
        }
    }

    #[test]
    fn a_record_survives_encoding_and_a_listing_sees_its_front() {
        let record = sample();
        let encoded = record.encode(PLACE);
        assert_eq!(ObjectRecord::decode(PLACE, &encoded).expect("own bytes"), record);
        let listed = Listed::decode(PLACE, &encoded).expect("own bytes");
        let expected = Listed {
            bytes: 5,
            etag: record.etag,
            modified_ms: record.modified_ms,
            stamp: record.stamp,
            is_null: true,
            is_delete_marker: false,
            owner: record.owner,
            checksum: record.checksum,
            storage_class: record.metadata.storage_class,
        };
        assert_eq!(listed, expected);
        assert_eq!(listed.version_id(), VersionId::Null);
    }

    #[test]
    fn a_lock_is_an_extension_that_is_left_out_where_there_is_none() {
        let lock = ObjectLock { legal_hold: LegalHold::On, ..ObjectLock::default() };
        let locked = Extensions::default().with_lock(lock);
        let encoded = ObjectRecord { extensions: locked, ..sample() }.encode(PLACE);
        let decoded = ObjectRecord::decode(PLACE, &encoded).expect("own bytes");
        assert_eq!(decoded.extensions.lock().expect("own bytes"), lock);
        let unlocked = decoded.extensions.with_lock(ObjectLock::default());
        assert_eq!(unlocked, Extensions::default());
        assert!(unlocked.lock().expect("none").is_none());
    }

    #[test]
    fn a_legal_hold_is_stored_as_the_bool_that_it_was() {
        for (legal_hold, was) in [(LegalHold::Off, 2_u8), (LegalHold::On, 1)] {
            let lock = ObjectLock { legal_hold, ..ObjectLock::default() };
            let stored = Extensions::default().with_lock(lock);
            let bytes = record::append(&(None::<Retention>, was), vec![]);
            assert_eq!(stored, Extensions(vec![(LOCK, bytes)]));
            assert_eq!(stored.lock().expect("own bytes"), lock);
        }
    }

    #[test]
    fn an_event_hold_is_an_extension_that_older_programs_refuse() {
        const { assert!(EVENT_HOLD >= REQUIRED) };
        let period = crate::meta::RetentionPeriod::Days(7);
        let mode = crate::meta::RetentionMode::Compliance;
        for event_hold in [EventHold::On(period), EventHold::Off] {
            let retention = Some(Retention { mode, until_ms: 5 });
            let lock = ObjectLock { retention, event_hold, ..ObjectLock::default() };
            let extensions = Extensions::default().with_lock(lock);
            let encoded = ObjectRecord { extensions, ..sample() }.encode(PLACE);
            let decoded = ObjectRecord::decode(PLACE, &encoded).expect("own bytes").extensions;
            assert_eq!(decoded.lock().expect("own bytes"), lock);
            assert!(decoded.0.iter().any(|(number, _)| *number == EVENT_HOLD));
            assert_eq!(decoded.with_lock(ObjectLock::default()), Extensions::default());
        }
    }

    #[test]
    fn a_set_of_annotations_is_an_extension_that_older_programs_refuse() {
        const { assert!(ANNOTATIONS >= REQUIRED) };
        let extensions = Extensions::default().with_annotations(Some(&[7; 16]));
        let encoded = ObjectRecord { extensions, ..sample() }.encode(PLACE);
        let decoded = ObjectRecord::decode(PLACE, &encoded).expect("own bytes").extensions;
        assert_eq!(decoded.annotations().expect("own bytes"), Some([7; 16]));
        assert_eq!(decoded.with_annotations(None), Extensions::default());
    }

    #[test]
    fn an_acl_is_an_extension_that_older_programs_refuse() {
        let acl = Extensions::default().with_acl(Some(&b"acl".to_vec()));
        assert_eq!(acl, Extensions(vec![(130, b"\x03acl".to_vec())]));
        let encoded = ObjectRecord { extensions: acl, ..sample() }.encode(PLACE);
        let decoded = ObjectRecord::decode(PLACE, &encoded).expect("own bytes");
        assert_eq!(decoded.extensions.acl().expect("own bytes"), Some(b"acl".to_vec()));
        let other = decoded.extensions.with_acl(Some(&b"other".to_vec()));
        assert_eq!(other.acl().expect("own bytes"), Some(b"other".to_vec()));
        assert_eq!(other.with_acl(None), Extensions::default());
        assert_eq!(Extensions::default().acl().expect("none"), None);
    }

    #[test]
    fn a_body_in_a_tier_is_an_extension_that_older_programs_refuse() {
        let remote = RemoteBody {
            id: [9; 16],
            tier: "COLD".to_owned(),
            bytes: 5,
            piece_bytes: crate::meta::remote::PIECE_BYTES,
            parts: None,
        };
        let record = ObjectRecord { content: Content::Remote(Box::new(remote)), ..sample() };
        let encoded = record.encode(PLACE);
        assert_eq!(ObjectRecord::decode(PLACE, &encoded).expect("own bytes"), record);
        let manifest = ObjectRecord::decode_manifest(PLACE, &encoded).expect("own bytes");
        assert_eq!(manifest, record.content);
        Listed::decode(PLACE, &encoded).expect("it can be listed");
        const { assert!(REMOTE >= REQUIRED && REMOTE_OFFSET >= REQUIRED) };
        // A body of another length than the object's, and one that is here as well.
        let wrong = ObjectRecord { bytes: 6, ..record.clone() }.encode(PLACE);
        ObjectRecord::decode(PLACE, &wrong).expect_err("another length");
        let Content::Remote(remote) = &record.content else { panic!("it is in a tier") };
        let extensions = Extensions::default().with(REMOTE, Some(&**remote));
        let both = ObjectRecord { extensions, ..sample() }.encode(PLACE);
        ObjectRecord::decode(PLACE, &both).expect_err("two bodies");
    }

    #[test]
    fn damage_is_refused() {
        let encoded = sample().encode(PLACE);
        for length in 0..encoded.len() {
            ObjectRecord::decode(PLACE, &encoded[..length]).expect_err("cut");
        }
        let body = encoded.len() - b"hello".len();
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            ObjectRecord::decode(PLACE, &damaged).expect_err("damaged");
            // Neither a listing nor the sweep reads the bytes.
            let is_body = bit / 8 >= body;
            assert_eq!(Listed::decode(PLACE, &damaged).is_ok(), is_body, "bit {bit}");
            assert_eq!(ObjectRecord::decode_manifest(PLACE, &damaged).is_ok(), is_body);
        }
        ObjectRecord::decode(b"other", &encoded).expect_err("under another key");
        Listed::decode(b"other", &encoded).expect_err("under another key");
        let mut newer = encoded;
        newer[0] = 3;
        let error = ObjectRecord::decode(PLACE, &newer).expect_err("newer");
        assert!(matches!(error, StoreError::FormatTooNew { found: 3, known: 2 }));
    }

    #[test]
    fn an_extension_that_must_be_known_is_refused() {
        let encrypted = Extensions(vec![(1, Vec::new()), (255, Vec::new())]);
        let encoded = ObjectRecord { extensions: encrypted, ..sample() }.encode(PLACE);
        let error = ObjectRecord::decode(PLACE, &encoded).expect_err("unknown");
        assert!(matches!(error, StoreError::FormatTooNew { .. }), "{error}");
        Listed::decode(PLACE, &encoded).expect("it can be listed");
    }
}
