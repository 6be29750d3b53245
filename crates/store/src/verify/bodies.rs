//! The bytes of a record, decrypted if the key is available.

use liteio_checksum::{ChecksumAlgorithm, DigestSet, Digests};

use crate::encryption::{
    BodyKey, EncryptionKey, EncryptionRecord, Identity, Wrapping, WrappingKeyId, object_body_key,
};
use crate::error::StoreError;
use crate::meta::content::Content;
use crate::meta::object::Extensions;
use crate::meta::upload::PartRecord;
use crate::object::{ObjectReader, OpenError, body_key};
use crate::store::Store;

use super::verifier::{Failure, Pace};

/// The data key of an object or upload being verified.
#[derive(Clone, Debug)]
pub(super) enum DataKey {
    /// Not encrypted.
    None,
    /// Encrypted, with an available key.
    Known { key: EncryptionKey, hides_md5: bool },
    /// Encrypted with a customer key, or with this key, which is not configured. Only the
    /// ciphertext is verified, by the checksums of records and blobs.
    Unknown { missing: Option<WrappingKeyId> },
}

/// The body of one record.
#[derive(Clone, Debug)]
pub(super) struct VerifiedBody<'a> {
    content: &'a Content,
    bytes: u64,
    key: Option<BodyKey>,
    hides_md5: bool,
}

impl DataKey {
    /// The key of a record with these extensions.
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
        match store.keys().wrapping(&encryption) {
            // Not damage: the process does not have the key.
            Wrapping::Customer => Ok(Self::Unknown { missing: None }),
            Wrapping::Missing(key) => Ok(Self::Unknown { missing: Some(key) }),
            Wrapping::Newest | Wrapping::Former => {
                let key = store.keys().unlock(&encryption, identity, None)?;
                Ok(Self::Known { key, hides_md5: scheme.hides_md5() })
            }
        }
    }

    /// The body of an object of `bytes` bytes.
    pub(super) fn body<'a>(&self, content: &'a Content, bytes: u64) -> VerifiedBody<'a> {
        match self {
            Self::None | Self::Unknown { .. } => VerifiedBody::stored(content),
            Self::Known { key, hides_md5 } => {
                let key = Some(object_body_key(key.clone()));
                VerifiedBody { content, bytes, key, hides_md5: *hides_md5 }
            }
        }
    }

    /// The body of a part of this object or upload.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if only one of the two is encrypted.
    pub(super) fn part<'a>(&self, part: &'a PartRecord) -> Result<VerifiedBody<'a>, StoreError> {
        let (data_key, hides_md5) = match self {
            Self::None => (None, false),
            Self::Unknown { .. } => return Ok(VerifiedBody::stored(&part.content)),
            Self::Known { key, hides_md5 } => (Some(key), *hides_md5),
        };
        let key = body_key(part, data_key)?;
        Ok(VerifiedBody { content: &part.content, bytes: part.facts.bytes, key, hides_md5 })
    }

    /// `true` if the plaintext can be compared with the record.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }
}

impl<'a> VerifiedBody<'a> {
    /// The stored bytes, without decryption.
    fn stored(content: &'a Content) -> Self {
        let bytes = content.bytes().unwrap_or(0);
        Self { content, bytes, key: None, hides_md5: false }
    }

    /// The entity tag of a body with this MD5.
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
        // A section, as for any reader: the blob must not be deleted between snapshot
        // and open.
        let section = store.shared().cluster.reading();
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
