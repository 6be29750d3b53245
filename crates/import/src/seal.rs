//! The encryption of imported versions.
//!
//! A version that is encrypted in its source is encrypted here, with the keys of the data directory. All others are encrypted
//! as the bucket encrypts new objects, or not at all.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_store::limits::PART_BYTES_MAX;
use liteio_store::{
    Bucket, DefaultEncryption, DefaultMethod, ETag, Encryption, ImportedContent, KeyRing,
    StagedBody, Store,
};
use parking_lot::Mutex;

use crate::failure::Failure;
use crate::stage::{Sealing, Stager};

/// The advice to an import of encrypted objects without a key.
pub(crate) const ADVICE: &str = "give the keys that the server is started with, by --master-key-file FILE (LITEIO_MASTER_KEY_FILE), \
     of a MinIO by MINIO_KMS_SECRET_KEY as it has it, or --decrypt to store such objects without encryption";

/// The encryption of a version in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceEncryption {
    /// With a key of the service (SSE-S3).
    Master,
    /// With a named key (SSE-KMS).
    Named {
        /// The name or identifier of the key; `None` if it is not known.
        key: Option<String>,
        /// The encryption context, in base64.
        context: Option<String>,
    },
}

impl SourceEncryption {
    /// The encryption in the value of `x-amz-server-side-encryption`; `None` without one.
    pub(crate) fn of_header(method: Option<&str>, key: Option<&str>) -> Option<SourceEncryption> {
        match method.filter(|method| !method.is_empty())? {
            method if method.starts_with("aws:kms") => {
                Some(SourceEncryption::Named { key: key.map(str::to_owned), context: None })
            }
            _ => Some(SourceEncryption::Master),
        }
    }
}

/// Chooses the encryption of versions.
#[derive(Debug, Default)]
pub(crate) struct Sealer {
    /// Encrypted versions are stored as plain ones of the bucket are if there is no key.
    pub(crate) decrypts: bool,
    /// Names of keys that the ring lacks.
    missing: Mutex<BTreeSet<String>>,
    /// Number of versions that were stored without their encryption.
    decrypted: AtomicU64,
}

impl Sealer {
    pub(crate) fn new(decrypts: bool) -> Sealer {
        Sealer { decrypts, ..Sealer::default() }
    }

    /// The encryption of a version in `bucket`; `None` for none.
    ///
    /// # Errors
    /// [`Failure::Source`] if it is encrypted in its source and there is no key;
    /// [`Failure::LeftOut`] if the bucket's own key is missing.
    fn choose(
        &self,
        ring: &KeyRing,
        bucket: &Bucket,
        source: Option<&SourceEncryption>,
    ) -> Result<Option<Encryption>, Failure> {
        let Some(source) = source else { return of_bucket(ring, bucket) };
        match source {
            SourceEncryption::Named { key, context } => {
                let asked = key.as_deref().unwrap_or_default();
                if let Some(name) = ring.find_name(asked) {
                    let (key, context) = (Some(name.to_owned()), context.clone());
                    return Ok(Some(Encryption::Named { key, context, bucket_key: false }));
                }
                if ring.has_master() {
                    self.missing.lock().insert(asked.to_owned());
                }
            }
            SourceEncryption::Master => {}
        }
        match (ring.has_master(), self.decrypts) {
            (true, _) => Ok(Some(Encryption::Master)),
            (false, true) => {
                // What the bucket does with an object that is plain in the source.
                let encryption = of_bucket(ring, bucket)?;
                if encryption.is_none() {
                    self.decrypted.fetch_add(1, Ordering::Relaxed);
                }
                Ok(encryption)
            }
            (false, false) => Err(Failure::Source(format!(
                "the source has encrypted objects, and there is no master key to encrypt them with here: {ADVICE}"
            ))),
        }
    }

    /// The default encryption of a bucket as it can be set here, from that in the source.
    ///
    /// # Errors
    /// The reason why the bucket cannot have it.
    pub(crate) fn bucket_default(
        &self,
        ring: &KeyRing,
        source: DefaultEncryption,
    ) -> Result<DefaultEncryption, String> {
        let DefaultEncryption { method, bucket_key } = source;
        let method = match method {
            DefaultMethod::Named { key: Some(key) } => match ring.find_name(&key) {
                Some(name) => DefaultMethod::Named { key: Some(name.to_owned()) },
                None => {
                    if ring.has_master() {
                        self.missing.lock().insert(key);
                    }
                    DefaultMethod::Master
                }
            },
            DefaultMethod::Named { key: None } if ring.names().next().is_some() => {
                DefaultMethod::Named { key: None }
            }
            DefaultMethod::Named { key: None } | DefaultMethod::Master => DefaultMethod::Master,
        };
        match method == DefaultMethod::Master && !ring.has_master() {
            true if self.decrypts => {
                Err("with --decrypt its objects are stored without encryption".to_owned())
            }
            true => {
                Err("there is no master key: give the one of the server, by --master-key-file or LITEIO_MASTER_KEY. With the \
                     profile minio it is MINIO_KMS_SECRET_KEY"
                    .to_owned())
            }
            false => Ok(DefaultEncryption { method, bucket_key }),
        }
    }

    /// Lines about what is encrypted otherwise than in the source.
    pub(crate) fn notes(&self) -> Vec<String> {
        let missing = self.missing.lock();
        let mut notes: Vec<String> = missing
            .iter()
            .map(|key| {
                format!(
                    "the key {key:?} of SSE-KMS is not given, so its objects are encrypted with the master key (SSE-S3)"
                )
            })
            .collect();
        let decrypted = self.decrypted.load(Ordering::Relaxed);
        if decrypted > 0 {
            notes.push(format!(
                "{decrypted} versions that are encrypted in the source are stored without encryption, as requested"
            ));
        }
        notes
    }
}

/// The encryption of new objects in `bucket`; `None` for none.
///
/// # Errors
/// [`Failure::LeftOut`] if its key is missing.
fn of_bucket(ring: &KeyRing, bucket: &Bucket) -> Result<Option<Encryption>, Failure> {
    let default = bucket.settings.default_encryption.as_ref();
    default.map(|default| default.encryption(ring)).transpose().map_err(|key| {
        Failure::LeftOut(format!(
            "the bucket encrypts with the key {key:?}, which is not given: give --kms-key-file"
        ))
    })
}

/// The place of a version that is being read: the store, and the encryption of the bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination<'t> {
    pub(crate) store: &'t Store,
    pub(crate) bucket: &'t Bucket,
    pub(crate) sealer: &'t Sealer,
}

/// The shape of an object in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One byte sequence of this length.
    Whole(u64),
    Parts,
}

impl<'t> Destination<'t> {
    /// Begins the bodies of an object.
    ///
    /// # Errors
    /// There is no key for an object that is encrypted in the source; errors of the store.
    pub(crate) fn object(
        &self,
        shape: Shape,
        source: Option<&SourceEncryption>,
    ) -> Result<Bodies<'t>, Failure> {
        let encryption = self.sealer.choose(self.store.keys(), self.bucket, source)?;
        // A key encrypts one body, so a long sequence, which becomes several, is stored as parts.
        let is_one = matches!(shape, Shape::Whole(bytes) if bytes <= PART_BYTES_MAX);
        let sealing = match encryption {
            None => Sealing::None,
            Some(encryption) if is_one => Sealing::One(encryption),
            Some(encryption) => Sealing::Parts(self.store.seal_imported_parts(&encryption)?),
        };
        let bodies = Vec::new();
        Ok(Bodies { store: self.store, shape, sealing, bodies, md5s: Vec::new() })
    }
}

/// The bodies of one object.
pub(crate) struct Bodies<'s> {
    store: &'s Store,
    shape: Shape,
    sealing: Sealing,
    bodies: Vec<StagedBody>,
    md5s: Vec<[u8; 16]>,
}

impl<'s> Bodies<'s> {
    /// Begins the only byte sequence of the object, or its next part, of known length.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn stager(&self, bytes: u64) -> Result<Stager<'s>, Failure> {
        Ok(Stager::new(self.store, bytes, &self.sealing)?)
    }

    /// Ends what [`Bodies::stager`] has begun.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn add(&mut self, stager: Stager<'s>) -> Result<(), Failure> {
        let (bodies, md5) = stager.finish()?;
        self.bodies.extend(bodies);
        self.md5s.push(md5);
        Ok(())
    }

    /// The MD5 of each part so far.
    pub(crate) fn md5s(&self) -> &[[u8; 16]] {
        &self.md5s
    }

    /// The content, and the entity tag. Without `etag` it is computed.
    pub(crate) fn finish(self, etag: Option<ETag>) -> (ImportedContent, Option<ETag>) {
        let whole = match (self.shape, &self.md5s[..]) {
            (Shape::Whole(_), [md5]) => Some(*md5),
            _ => None,
        };
        match (self.sealing, whole) {
            (Sealing::Parts(sealing), whole) => {
                // The store makes a tag that does not tell the MD5, where it is hidden.
                let whole = whole.filter(|_| !sealing.hides_md5());
                let etag = etag.or(whole.map(ETag::Md5));
                (ImportedContent::SealedParts(self.bodies, sealing), etag)
            }
            (_, Some(md5)) => (ImportedContent::Whole { bodies: self.bodies, md5 }, etag),
            (_, None) => (ImportedContent::Parts(self.bodies), etag),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use liteio_store::{EncryptionKey, NamedKey, Owner, StoreConfig};

    use super::*;
    use crate::tally::Tally;
    use crate::target::{BucketSettings, Target};

    /// A store with the key `reports` and no master key, and a bucket with this default encryption.
    fn target(encryption: Option<DefaultEncryption>) -> (Target, Arc<Bucket>) {
        let versions = vec![EncryptionKey::new([1; 32])];
        let named = vec![NamedKey { name: "reports".to_owned(), versions }];
        let keys = Arc::new(KeyRing::new(Vec::new(), named));
        let store = Store::open(StoreConfig { keys, ..StoreConfig::memory() }).expect("opens");
        let target = Target::of(store, Tally::new(0), Owner::default(), Path::new("data"));
        let bucket = target.bucket("bucket").expect("made");
        let settings = BucketSettings { encryption, ..BucketSettings::default() };
        let bucket = target.set(&bucket, settings).expect("set");
        (target, bucket)
    }

    fn by_name() -> DefaultEncryption {
        let method = DefaultMethod::Named { key: Some("reports".to_owned()) };
        DefaultEncryption { method, bucket_key: false }
    }

    #[test]
    fn the_tag_of_a_long_file_is_no_md5_where_its_encryption_hides_it() {
        let (target, bucket) = target(Some(by_name()));
        let to = Destination { store: &target.store, bucket: &bucket, sealer: &target.sealer };
        // Longer than a body, so it becomes parts, of which one stands for all.
        let mut bodies = to.object(Shape::Whole(PART_BYTES_MAX + 1), None).expect("begun");
        let mut stager = bodies.stager(4).expect("begun");
        assert!(stager.write(b"body").expect("written"));
        bodies.add(stager).expect("staged");
        let (content, etag) = bodies.finish(None);
        assert!(matches!(content, ImportedContent::SealedParts(..)));
        assert_eq!(etag, None, "the store makes it");
    }

    #[test]
    fn what_is_decrypted_is_encrypted_as_its_bucket_encrypts() {
        let lost = SourceEncryption::Named { key: Some("lost".to_owned()), context: None };
        for (default, plain) in [(Some(by_name()), 0), (None, 2)] {
            let (target, bucket) = target(default.clone());
            let sealer = Sealer::new(true);
            let of = |source: Option<&SourceEncryption>| {
                sealer.choose(target.store.keys(), &bucket, source).expect("chosen")
            };
            let expected = default.as_ref().map(|it| it.encryption(target.store.keys()));
            let expected = expected.transpose().expect("a key");
            assert_eq!(of(None), expected);
            assert_eq!(of(Some(&SourceEncryption::Master)), expected);
            assert_eq!(of(Some(&lost)), expected);
            let told = sealer.decrypted.load(Ordering::Relaxed);
            assert_eq!(told, plain, "only what is plain counts");
        }
    }
}
