//! Encryption of bodies: below records, above blobs. A body is encrypted before it goes inline into
//! a record, to the log or to a file.
//!
//! ```text
//!  master key, named key, customer key
//!      │ HMAC-SHA256 (salt) = a key that is used once
//!      ▼
//!  wraps the data key of an object (AES-256-GCM, bound to the object's identity)
//!      │                         └── of an upload: HMAC-SHA256 (salt of the part) = the key of a part
//!      ▼
//! encrypts the blocks of one body (AES-256-GCM; nonce: block number, and a flag for the last
//! block)
//! ```
//! No nonce is used twice under one key. A wrapping key is derived from 16 random bytes and used
//! once. A body's key is random, or derived from 16 random bytes, and encrypts each block once. A
//! part that is uploaded again gets a new salt. The tag of a block proves its position in the body,
//! and that the last block is the last one.

mod cipher;
mod kept;
mod key;
mod ring;
mod scheme;
mod sealing;
mod secrets;
mod wrap;

pub(crate) use cipher::{BLOCK_BYTES, BodyKey, Opener, PLAIN_BLOCK_BYTES, Sealer, stored_bytes};
pub(crate) use kept::{KeptBlock, KeptBlocks};
pub use key::EncryptionKey;
pub(crate) use ring::Wrapping;
pub use ring::{KeyRing, MissingKeys, NamedKey, WrappingKeyId};
pub use scheme::{DefaultEncryption, DefaultMethod, Encryption, EncryptionScheme};
pub use sealing::Sealing;
pub(crate) use sealing::{
    ObjectSealing, PartSalt, SealingTarget, annotation_key, object_body_key, part_body_key,
};
pub use secrets::SecretKeys;
pub(crate) use wrap::{EncryptionRecord, Identity};
