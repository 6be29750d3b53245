//! Encryption of bodies: below records, above blobs. A body is cipher text before it is inline, in the log
//! or in a file.
//!
//! ```text
//!  master key, named key, key of a client
//!      │ HMAC-SHA256 (salt) = a key that is used once
//!      ▼
//!  wraps the data key of an object (AES-256-GCM, bound to what the object is)
//!      │                         └── of an upload: HMAC-SHA256 (salt of the part) = the key of a part
//!      ▼
//!  encrypts the blocks of one body (AES-256-GCM; the nonce is the number of the block, and whether it is
//!  the last)
//! ```
//! No nonce is used twice under a key: a key that wraps is derived from 16 random bytes and used once, and a
//! key of a body is random, or derived from 16 random bytes, and encrypts each block once. A part that is
//! uploaded again has another salt. The tag of a block proves its place in its body, and that the last one is
//! the last.

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
pub use ring::{KeyRing, NamedKey};
pub use scheme::{DefaultEncryption, DefaultMethod, Encryption, EncryptionScheme};
pub use sealing::Sealing;
pub(crate) use sealing::{ObjectSealing, PartSalt, SealingTarget, object_body_key, part_body_key};
pub use secrets::SecretKeys;
pub(crate) use wrap::{EncryptionRecord, Identity};
