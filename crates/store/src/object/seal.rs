//! Keys of objects: new ones, and keys for reading.

use crate::encryption::{
    Encryption, EncryptionKey, EncryptionRecord, EncryptionScheme, Identity, KeyRing, Sealing,
};
use crate::error::StoreError;
use crate::meta::content::Content;
use crate::meta::object::ObjectRecord;
use crate::name::{BucketId, ObjectKey};
use crate::process::Shared;
use crate::store::Store;

impl Store {
    /// The encryption of one body that will become an object.
    ///
    /// # Errors
    /// [`StoreError::NoMasterKey`], [`StoreError::NoSuchNamedKey`]; [`StoreError::Io`] if the
    /// random source fails.
    pub fn seal_object(&self, encryption: &Encryption) -> Result<Sealing, StoreError> {
        let config = &self.shared().config;
        Ok(Sealing::object(config.keys.new_key(encryption, &*config.random)?))
    }

    /// The keys that objects are encrypted with.
    #[must_use]
    pub fn keys(&self) -> &KeyRing {
        &self.shared().config.keys
    }
}

/// The identity that the wrapped key of a version is bound to.
pub(crate) fn identity<'a>(
    bucket: BucketId,
    key: &'a ObjectKey,
    stamp: &'a [u8; 16],
    content: &'a Content,
) -> Identity<'a> {
    match content {
        Content::Parts { list, .. } => {
            Identity::Parts { list, bucket, key: key.as_str(), stamp: Some(stamp) }
        }
        // The key was wrapped while the parts were here.
        Content::Remote(remote) => match &remote.parts {
            Some(parts) => {
                let list = &parts.upload;
                Identity::Parts { list, bucket, key: key.as_str(), stamp: Some(stamp) }
            }
            None => Identity::Object { bucket, key: key.as_str(), stamp },
        },
        _ => Identity::Object { bucket, key: key.as_str(), stamp },
    }
}

/// The data key of a version; `None` if it is not encrypted.
///
/// # Errors
/// The errors of [`KeyRing::unlock`].
pub(crate) fn unlock(
    shared: &Shared,
    bucket: BucketId,
    key: &ObjectKey,
    record: &ObjectRecord,
    customer: Option<&EncryptionKey>,
) -> Result<Option<EncryptionKey>, StoreError> {
    match record.extensions.encryption()? {
        None if customer.is_some() => Err(StoreError::CustomerKeyNotApplicable),
        None => Ok(None),
        Some(encryption) => {
            let identity = identity(bucket, key, &record.stamp, &record.content);
            shared.config.keys.unlock(&encryption, identity, customer).map(Some)
        }
    }
}

/// `true` if a copy with the encryption `asked` may share the content of a source whose client sent
/// the key `customer`: the data key stays, and is only rewrapped.
pub(crate) fn may_share(
    keys: &KeyRing,
    source: Option<&EncryptionRecord>,
    customer: Option<&EncryptionKey>,
    asked: Option<&Encryption>,
) -> bool {
    // The stored bytes stay as they are, so both encryptions must be of one kind.
    let (source, asked) = match (source, asked) {
        (None, None) => return true,
        (Some(source), Some(asked)) => (source, asked),
        _ => return false,
    };
    match (&source.scheme, asked) {
        (EncryptionScheme::Master, Encryption::Master) => true,
        (
            EncryptionScheme::Named { key, context, .. },
            Encryption::Named { key: asked, context: asked_context, .. },
        ) => keys.is_name(key, asked.as_deref()) && context == asked_context,
        (EncryptionScheme::Customer, Encryption::Customer(key)) => customer == Some(key),
        _ => false,
    }
}
