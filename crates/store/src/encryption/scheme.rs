//! The ways to encrypt an object.

use serde::{Deserialize, Serialize};

use super::{EncryptionKey, KeyRing};

/// The encryption that a request, or the default of a bucket, selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// With the master key (SSE-S3).
    Master,
    /// With a named key (SSE-KMS).
    Named {
        /// The name of the key; `None` for the first one of the ring.
        key: Option<String>,
        /// The encryption context, which decryption needs as well.
        context: Option<String>,
        /// `true` if a bucket key was requested. It is stored and has no effect.
        bucket_key: bool,
    },
    /// With a key that the client sends with each request, and that is not stored (SSE-C).
    Customer(EncryptionKey),
}

/// The default encryption of a bucket's new objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultEncryption {
    /// The method.
    pub method: DefaultMethod,
    /// `true` if bucket keys are requested.
    pub bucket_key: bool,
}

impl DefaultEncryption {
    /// The encryption that this default selects, with the keys of `ring`.
    ///
    /// # Errors
    /// The name or identifier of a key that the ring lacks.
    pub fn encryption(&self, ring: &KeyRing) -> Result<Encryption, &str> {
        Ok(match &self.method {
            DefaultMethod::Master => Encryption::Master,
            DefaultMethod::Named { key } => {
                let find = |key: &'_ String| ring.find_name(key).map(str::to_owned);
                let key = key.as_ref().map(|key| find(key).ok_or(key.as_str())).transpose()?;
                Encryption::Named { key, context: None, bucket_key: self.bucket_key }
            }
        })
    }
}

/// The method of a [`DefaultEncryption`].
// The order is part of the record format: add at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefaultMethod {
    /// With the master key (SSE-S3).
    Master,
    /// With a named key (SSE-KMS); `None` for the first one of the ring.
    Named {
        /// The name or identifier of the key, as given.
        key: Option<String>,
    },
}

/// The encryption of an object.
// The order is part of the record format: add at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EncryptionScheme {
    /// With the master key (SSE-S3).
    Master,
    /// With a named key (SSE-KMS).
    Named {
        /// The name of the key.
        key: String,
        /// The encryption context.
        context: Option<String>,
        /// `true` if a bucket key was requested.
        bucket_key: bool,
    },
    /// With a customer key (SSE-C).
    Customer,
}

impl EncryptionScheme {
    /// `true` if entity tags are no MD5, as in AWS for everything except SSE-S3.
    pub(crate) fn hides_md5(&self) -> bool {
        !matches!(self, Self::Master)
    }
}
