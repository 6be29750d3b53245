//! The keys of bodies that are being received.

use liteio_disk::RandomSource;

use super::{BodyKey, EncryptionKey, EncryptionRecord, EncryptionScheme, Identity};
use crate::error::StoreError;
use crate::name::UploadId;

/// The encryption of one body to be received, see [`Store::seal_object`](crate::Store::seal_object)
/// and [`Store::seal_part`](crate::Store::seal_part).
#[derive(Clone, Debug)]
pub struct Sealing {
    key: BodyKey,
    hides_md5: bool,
    target: SealingTarget,
}

/// The future owner of a body.
#[derive(Clone, Debug)]
pub(crate) enum SealingTarget {
    Object(Box<ObjectSealing>),
    /// A part: its upload, and the salt of its key.
    Part {
        upload: UploadId,
        salt: PartSalt,
    },
}

/// The salt of a part's key: extension 129 of its record.
pub(crate) type PartSalt = [u8; 16];

/// A data key with the key that will wrap it.
#[derive(Clone, Debug)]
pub(crate) struct ObjectSealing {
    data: EncryptionKey,
    pub(crate) scheme: EncryptionScheme,
    wrapping: EncryptionKey,
}

impl ObjectSealing {
    pub(super) fn new(
        data: EncryptionKey,
        scheme: EncryptionScheme,
        wrapping: EncryptionKey,
    ) -> Self {
        Self { data, scheme, wrapping }
    }

    /// The encryption record with the wrapped data key.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the random source fails.
    pub(crate) fn wrap(
        &self,
        identity: Identity<'_>,
        random: &dyn RandomSource,
    ) -> Result<EncryptionRecord, StoreError> {
        let scheme = self.scheme.clone();
        EncryptionRecord::wrap(&self.data, &self.wrapping, scheme, identity, random)
    }

    /// The sealing of one part of the object, in the list `list`.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the random source fails.
    pub(crate) fn part(
        &self,
        list: UploadId,
        random: &dyn RandomSource,
    ) -> Result<Sealing, StoreError> {
        Sealing::part(list, &self.scheme, &self.data, random)
    }
}

impl ObjectSealing {
    /// The data key.
    pub(crate) fn data(&self) -> &EncryptionKey {
        &self.data
    }
}

impl Sealing {
    pub(crate) fn object(sealing: ObjectSealing) -> Self {
        // The data key is new for each body, so it may encrypt the body itself.
        let key = object_body_key(sealing.data.clone());
        let hides_md5 = sealing.scheme.hides_md5();
        Self { key, hides_md5, target: SealingTarget::Object(Box::new(sealing)) }
    }

    /// The sealing of a part of `upload`, whose data key is `data`. The random salt makes its key
    /// unique.
    pub(crate) fn part(
        upload: UploadId,
        scheme: &EncryptionScheme,
        data: &EncryptionKey,
        random: &dyn RandomSource,
    ) -> Result<Self, StoreError> {
        // A part may be uploaded again under its number. Block numbers, and so nonces, repeat then,
        // and only another key keeps them apart.
        let mut salt = PartSalt::default();
        random.fill(&mut salt)?;
        let key = part_body_key(data, &salt);
        let target = SealingTarget::Part { upload, salt };
        Ok(Self { key, hides_md5: scheme.hides_md5(), target })
    }

    pub(crate) fn key(&self) -> &BodyKey {
        &self.key
    }

    pub(crate) fn into_target(self) -> SealingTarget {
        self.target
    }

    /// The entity tag of a body with this MD5.
    pub(crate) fn tag(&self, md5: &[u8; 16]) -> [u8; 16] {
        match self.hides_md5 {
            true => self.key.hide_md5(md5),
            false => *md5,
        }
    }
}

/// The body key of an object, which is its data key.
pub(crate) fn object_body_key(data: EncryptionKey) -> BodyKey {
    BodyKey::new(data)
}

/// The body key of a part, derived from the upload's data key.
pub(crate) fn part_body_key(data: &EncryptionKey, salt: &PartSalt) -> BodyKey {
    BodyKey::new(data.derive(b"liteio part", salt))
}

/// The key of the payload of an annotation, derived from the data key of its object. The name is a part of it, so
/// that a payload under another name does not open.
pub(crate) fn annotation_key(data: &EncryptionKey, salt: &[u8; 16], name: &str) -> BodyKey {
    BodyKey::new(data.derive(b"liteio annotation", &[&salt[..], name.as_bytes()].concat()))
}
