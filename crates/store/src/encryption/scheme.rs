//! The ways to encrypt an object.

use serde::{Deserialize, Serialize};

use super::{EncryptionKey, KeyRing};

/// The encryption that a client, or the default of a bucket, asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// With the master key (SSE-S3).
    Master,
    /// With a named key (SSE-KMS).
    Named {
        /// The name of the key; none is the first one of the ring.
        key: Option<String>,
        /// The encryption context, which is needed to decrypt as well.
        context: Option<String>,
        /// A bucket key was asked for. It is noted and has no effect.
        bucket_key: bool,
    },
    /// With a key that the client sends with each request, and nobody keeps (SSE-C).
    Customer(EncryptionKey),
}

/// The encryption of new objects of a bucket that name none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultEncryption {
    /// Its method.
    pub method: DefaultMethod,
    /// Bucket keys are asked for.
    pub bucket_key: bool,
}

impl DefaultEncryption {
    /// The encryption that it stands for, with the keys of `ring`.
    ///
    /// # Errors
    /// The name or identifier of the key that the ring does not have.
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
    /// With a named key (SSE-KMS); none is the first one of the ring.
    Named {
        /// The name or identifier of the key, as it was given.
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
        /// A bucket key was asked for.
        bucket_key: bool,
    },
    /// With a key of the client (SSE-C).
    Customer,
}

impl EncryptionScheme {
    /// `true` when entity tags are no MD5, as with AWS for all but SSE-S3.
    pub(crate) fn hides_md5(&self) -> bool {
        !matches!(self, Self::Master)
    }
}
