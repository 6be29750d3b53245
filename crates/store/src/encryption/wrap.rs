//! Wrapped data keys, as stored in records.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use liteio_disk::RandomSource;
use serde::{Deserialize, Serialize};

use super::cipher::TAG_BYTES;
use super::key::{Fingerprint, KEY_BYTES};
use super::{EncryptionKey, EncryptionScheme};
use crate::error::StoreError;
use crate::name::{BucketId, UploadId};

/// The encryption of an object or an upload: extension 129 of its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EncryptionRecord {
    cipher: Cipher,
    pub(crate) scheme: EncryptionScheme,
    /// Fingerprint of the wrapping key; zeros for a customer key.
    wrapped_by: Fingerprint,
    salt: [u8; 16],
    /// The encrypted data key.
    key: [u8; KEY_BYTES],
    tag: [u8; TAG_BYTES],
}

/// The cipher of the blocks, and the version of the wrapping.
// The order is part of the record format: add at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Cipher {
    /// AES-256-GCM, blocks of 256 KiB. The wrapped key of parts is bound to the id of their list.
    Aes256Gcm,
    /// The same blocks. The wrapped key of parts is also bound to bucket, key and version.
    Aes256GcmInPlace,
}

/// The owner of a wrapped key. The key cannot be unwrapped under any other identity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Identity<'a> {
    /// One version of an object, in whatever place.
    Object { bucket: BucketId, key: &'a str, stamp: &'a [u8; 16] },
    /// The part list of an upload (without `stamp`), of the object that it becomes, or of a copy.
    Parts { list: &'a UploadId, bucket: BucketId, key: &'a str, stamp: Option<&'a [u8; 16]> },
}

impl Identity<'_> {
    /// The associated data of the wrapping: identity and scheme. It is encoded unambiguously, with
    /// a tag byte and a length.
    fn associated(&self, cipher: Cipher, scheme: &EncryptionScheme) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        match self {
            Self::Object { bucket, key, stamp } => {
                bytes.push(0);
                bytes.extend_from_slice(&bucket.0.to_be_bytes());
                bytes.extend_from_slice(*stamp);
                // The only field of variable length comes behind its length.
                bytes.extend_from_slice(&(key.len() as u64).to_be_bytes());
                bytes.extend_from_slice(key.as_bytes());
            }
            Self::Parts { list, .. } if cipher == Cipher::Aes256Gcm => {
                bytes.push(1);
                bytes.extend_from_slice(&list.0);
            }
            Self::Parts { list, bucket, key, stamp } => {
                bytes.push(2);
                bytes.extend_from_slice(&list.0);
                bytes.extend_from_slice(&bucket.0.to_be_bytes());
                // The key of a client is not there when its upload is completed and the version
                // becomes known.
                let stamp = stamp.filter(|_| !matches!(scheme, EncryptionScheme::Customer));
                bytes.extend_from_slice(stamp.unwrap_or(&[0; 16]));
                bytes.extend_from_slice(&(key.len() as u64).to_be_bytes());
                bytes.extend_from_slice(key.as_bytes());
            }
        }
        postcard::to_extend(scheme, bytes).expect("memory takes every field")
    }
}

impl EncryptionRecord {
    /// Wraps `data_key` under `wrapping`.
    pub(super) fn wrap(
        data_key: &EncryptionKey,
        wrapping: &EncryptionKey,
        scheme: EncryptionScheme,
        identity: Identity<'_>,
        random: &dyn RandomSource,
    ) -> Result<Self, StoreError> {
        let mut salt = [0; 16];
        random.fill(&mut salt)?;
        let wrapped_by = match scheme {
            // Nothing about a customer key is stored.
            EncryptionScheme::Customer => Fingerprint::default(),
            _ => wrapping.fingerprint(),
        };
        let version = match identity {
            // Older programs read it, too.
            Identity::Object { .. } => Cipher::Aes256Gcm,
            Identity::Parts { .. } => Cipher::Aes256GcmInPlace,
        };
        let aad = Aad::from(identity.associated(version, &scheme));
        let mut key = *data_key.expose();
        let sealed = cipher(wrapping, &salt).seal_in_place_separate_tag(nonce(), aad, &mut key);
        let sealed = sealed.expect("a key is short");
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(sealed.as_ref());
        Ok(Self { cipher: version, scheme, wrapped_by, salt, key, tag })
    }

    /// The data key; `None` unless `wrapping` wrapped it for `identity`.
    pub(super) fn unwrap(
        &self,
        wrapping: &EncryptionKey,
        identity: Identity<'_>,
    ) -> Option<EncryptionKey> {
        let aad = Aad::from(identity.associated(self.cipher, &self.scheme));
        let mut key = [0; KEY_BYTES];
        let opened = cipher(wrapping, &self.salt);
        let opened = opened.open_separate_gather(nonce(), aad, &self.key, &self.tag, &mut key);
        opened.is_ok().then(|| EncryptionKey::new(key))
    }

    pub(super) fn wrapped_by(&self) -> &Fingerprint {
        &self.wrapped_by
    }
}

/// The cipher that wraps one data key.
fn cipher(wrapping: &EncryptionKey, salt: &[u8; 16]) -> LessSafeKey {
    let key = wrapping.derive(b"liteio wrap", salt);
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.expose()).expect("a key of 32 bytes"))
}

/// The only nonce: each key is used once.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

#[cfg(test)]
mod tests {
    use super::*;
    use liteio_disk::SeededRandom;

    #[test]
    fn a_key_is_unwrapped_only_with_its_key_as_what_it_belongs_to() {
        let (data, one, other) =
            (EncryptionKey::new([1; 32]), EncryptionKey::new([2; 32]), EncryptionKey::new([3; 32]));
        let random = SeededRandom::new(1);
        let scheme = EncryptionScheme::Named {
            key: "name".to_owned(),
            context: Some("e30=".to_owned()),
            bucket_key: false,
        };
        let stamp = [7; 16];
        let identity = Identity::Object { bucket: BucketId(1), key: "key", stamp: &stamp };
        let wrap = || {
            EncryptionRecord::wrap(&data, &one, scheme.clone(), identity, &random).expect("random")
        };
        let record = wrap();
        assert_ne!((record.salt, record.key), (wrap().salt, wrap().key), "never the same bytes");
        assert!(record.unwrap(&one, identity) == Some(data.clone()));
        assert!(record.unwrap(&other, identity).is_none());
        for identity in [
            Identity::Object { bucket: BucketId(2), key: "key", stamp: &stamp },
            Identity::Object { bucket: BucketId(1), key: "other", stamp: &stamp },
            Identity::Object { bucket: BucketId(1), key: "key", stamp: &[8; 16] },
            Identity::Parts {
                list: &UploadId([7; 16]),
                bucket: BucketId(1),
                key: "key",
                stamp: Some(&stamp),
            },
        ] {
            assert!(record.unwrap(&one, identity).is_none(), "{identity:?}");
        }
        let mut changed = record.clone();
        changed.scheme = EncryptionScheme::Master;
        assert!(changed.unwrap(&one, identity).is_none(), "another scheme");
        for bit in 0..KEY_BYTES * 8 {
            let mut changed = record.clone();
            changed.key[bit / 8] ^= 1 << (bit % 8);
            assert!(changed.unwrap(&one, identity).is_none());
        }
        for bit in 0..TAG_BYTES * 8 {
            let (mut salt, mut tag) = (record.clone(), record.clone());
            salt.salt[bit / 8] ^= 1 << (bit % 8);
            tag.tag[bit / 8] ^= 1 << (bit % 8);
            assert!(salt.unwrap(&one, identity).is_none() && tag.unwrap(&one, identity).is_none());
        }
    }

    #[test]
    fn the_key_of_parts_is_bound_to_their_place() {
        let (data, wrapping) = (EncryptionKey::new([1; 32]), EncryptionKey::new([2; 32]));
        let random = SeededRandom::new(1);
        let (list, other) = (UploadId([5; 16]), UploadId([6; 16]));
        let (one, two) = ([7; 16], [8; 16]);
        let parts = |list, bucket, key, stamp| Identity::Parts { list, bucket, key, stamp };
        let here = parts(&list, BucketId(1), "key", Some(&one));
        // The identity, and whether the key is unwrapped: by the server's key, by a client's.
        let rows = [
            (here, true, true),
            (parts(&other, BucketId(1), "key", Some(&one)), false, false),
            (parts(&list, BucketId(2), "key", Some(&one)), false, false),
            (parts(&list, BucketId(1), "other", Some(&one)), false, false),
            (parts(&list, BucketId(1), "key", Some(&two)), false, true),
            (parts(&list, BucketId(1), "key", None), false, true),
        ];
        for (scheme, is_of_client) in
            [(EncryptionScheme::Master, false), (EncryptionScheme::Customer, true)]
        {
            let wrap = EncryptionRecord::wrap(&data, &wrapping, scheme.clone(), here, &random);
            let record = wrap.expect("random bytes");
            for (identity, by_server, by_client) in rows {
                let expected = if is_of_client { by_client } else { by_server };
                let found = record.unwrap(&wrapping, identity).is_some();
                assert_eq!(found, expected, "{scheme:?} {identity:?}");
            }
            // One of an earlier version is bound to the list alone, and still opens.
            let aad = Aad::from(here.associated(Cipher::Aes256Gcm, &scheme));
            let (mut key, salt) = (*data.expose(), [9; 16]);
            let sealed = cipher(&wrapping, &salt)
                .seal_in_place_separate_tag(nonce(), aad, &mut key)
                .expect("a key is short");
            let mut tag = [0; TAG_BYTES];
            tag.copy_from_slice(sealed.as_ref());
            let old = EncryptionRecord { cipher: Cipher::Aes256Gcm, salt, key, tag, ..record };
            for (identity, ..) in rows {
                let is_of_list =
                    !matches!(identity, Identity::Parts { list, .. } if *list == other);
                assert_eq!(old.unwrap(&wrapping, identity).is_some(), is_of_list, "{identity:?}");
            }
        }
    }
}
