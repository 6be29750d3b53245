//! The bytes of a record, decrypted where there is a key.

use crate::checksum::{ChecksumAlgorithm, DigestSet, Digests};
use crate::encryption::{BodyKey, EncryptionKey, EncryptionRecord, Identity, object_body_key};
use crate::error::StoreError;
use crate::meta::content::Content;
use crate::meta::object::Extensions;
use crate::meta::upload::PartRecord;
use crate::object::{ObjectReader, OpenError, body_key};
use crate::store::Store;

use super::verifier::{Failure, Pace};

/// The key of an object or upload that is verified.
#[derive(Clone, Debug)]
pub(super) enum DataKey {
    /// It is not encrypted.
    None,
    /// It is encrypted, and can be decrypted.
    Known { key: EncryptionKey, hides_md5: bool },
    /// It is encrypted, and the key is that of a client, or not configured: its cipher text is verified
    /// with the checksums of records and blobs.
    Unknown,
}

/// The bytes of one record.
#[derive(Clone, Debug)]
pub(super) struct VerifiedBody<'a> {
    content: &'a Content,
    bytes: u64,
    key: Option<BodyKey>,
    hides_md5: bool,
}

impl DataKey {
    /// The key of the record with these extensions.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub(super) fn of(
        store: &Store,
        extensions: &Extensions,
        identity: Identity<'_>,
    ) -> Result<Self, StoreError> {
        let Some(encryption) = extensions.encryption()? else { return Ok(Self::None) };
        let EncryptionRecord { scheme, .. } = &encryption;
        match store.keys().unlock(&encryption, identity, None) {
            Ok(key) => Ok(Self::Known { key, hides_md5: scheme.hides_md5() }),
            Err(StoreError::CustomerKeyRequired | StoreError::KeyMissing { .. }) => {
                Ok(Self::Unknown)
            }
            Err(error) => Err(error),
        }
    }

    /// The body of an object of `bytes`.
    pub(super) fn body<'a>(&self, content: &'a Content, bytes: u64) -> VerifiedBody<'a> {
        match self {
            Self::None | Self::Unknown => VerifiedBody::stored(content),
            Self::Known { key, hides_md5 } => {
                let key = Some(object_body_key(key.clone()));
                VerifiedBody { content, bytes, key, hides_md5: *hides_md5 }
            }
        }
    }

    /// The body of a part of its object or upload.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when one of both is encrypted.
    pub(super) fn part<'a>(&self, part: &'a PartRecord) -> Result<VerifiedBody<'a>, StoreError> {
        let (data_key, hides_md5) = match self {
            Self::None => (None, false),
            Self::Unknown => return Ok(VerifiedBody::stored(&part.content)),
            Self::Known { key, hides_md5 } => (Some(key), *hides_md5),
        };
        let key = body_key(part, data_key)?;
        Ok(VerifiedBody { content: &part.content, bytes: part.facts.bytes, key, hides_md5 })
    }

    /// `true` if the bytes can be compared with what their record says of them.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown)
    }
}

impl<'a> VerifiedBody<'a> {
    /// The bytes as they are stored.
    fn stored(content: &'a Content) -> Self {
        let bytes = content.bytes().unwrap_or(0);
        Self { content, bytes, key: None, hides_md5: false }
    }

    /// The entity tag of bytes with this MD5.
    pub(super) fn tag(&self, md5: [u8; 16]) -> [u8; 16] {
        match &self.key {
            Some(key) if self.hides_md5 => key.hide_md5(&md5),
            _ => md5,
        }
    }

    /// The digests of the bytes.
    pub(super) fn digests(
        &self,
        store: &Store,
        algorithms: &[ChecksumAlgorithm],
        pace: &mut Pace<'_>,
    ) -> Result<Digests, Failure> {
        let section = store.shared().pins.section();
        let (content, bytes, key) = (self.content, self.bytes, self.key.as_ref());
        let opened = ObjectReader::open_body(store, content, bytes, 0..bytes, key);
        drop(section);
        let mut reader = opened.map_err(OpenError::into_inner)?;
        let mut digests = DigestSet::new(algorithms);
        while let Some(bytes) = reader.next()? {
            digests.update(&bytes);
            pace(bytes.len() as u64)?;
        }
        Ok(digests.finish())
    }
}
