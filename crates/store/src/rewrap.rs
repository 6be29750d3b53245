//! Rewrapping of data keys after the key that wraps them was replaced.
//!
//! Bodies stay as they are, because a data key does not change. Afterwards the former versions of
//! the wrapping keys are no longer needed.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_kv::{Read as _, Transaction, Write as _};

use crate::encryption::{EncryptionRecord, Identity, MissingKeys, Wrapping};
use crate::error::StoreError;
use crate::meta::bucket::BucketRecord;
use crate::meta::object::ObjectRecord;
use crate::meta::space;
use crate::meta::upload::UploadRecord;
use crate::name::ObjectKey;
use crate::object::identity;
use crate::pending::Committed;
use crate::process::Job;
use crate::store::{Shared, Store};

/// The wrapping keys of all objects and uploads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrappingReport {
    /// Number of objects and uploads whose data key is wrapped by the newest version of its key.
    pub newest: u64,
    /// Number of objects and uploads whose data key is wrapped by a former version.
    pub former: u64,
    /// Number of objects and uploads by the key that is not configured.
    pub missing: MissingKeys,
}

/// The result of [`Store::rewrap_keys`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewrapped {
    /// All data keys are wrapped by the newest versions of their keys: `rewrapped` of them since
    /// this call, `newest` before.
    All {
        /// Number of objects and uploads whose data key was rewrapped.
        rewrapped: u64,
        /// Number of objects and uploads whose data key needed no rewrapping.
        newest: u64,
    },
    /// Keys of objects and uploads are not configured. Nothing was rewrapped.
    Refused(MissingKeys),
}

/// The place and the encryption of a record with a wrapped key.
type Wrapped = (Vec<u8>, EncryptionRecord);

/// Key spaces of records with wrapped keys.
const SPACES: [&[u8]; 3] = [space::ALL_CURRENT, space::ALL_HISTORY, space::ALL_UPLOADS];

impl Store {
    /// Rewraps every data key that is not wrapped by the first version of its key. A call that was
    /// interrupted can be repeated. If a key is missing, the call rewraps nothing: after a partial
    /// success, a caller might remove the former keys.
    ///
    /// # Errors
    /// The errors of a write; [`StoreError::Suspended`] if another server does this;
    /// [`StoreError::KeyMissing`] if an object with a missing key was
    /// written meanwhile; [`StoreError::Corrupt`] for an unreadable record.
    pub fn rewrap_keys(&self) -> Result<Rewrapped, StoreError> {
        let store = self.must_do(Job::Rewrap)?;
        let WrappingReport { newest, missing, .. } = self.wrapping_keys()?;
        if !missing.is_empty() {
            return Ok(Rewrapped::Refused(missing));
        }
        let mut rewrapped = 0;
        self.walk_wrapped(&mut |found| {
            let is_outdated = |(_, encryption): &Wrapped| {
                let wrapping = self.keys().wrapping(encryption);
                matches!(wrapping, Wrapping::Former | Wrapping::Missing(_))
            };
            let places = found.into_iter().filter(is_outdated).map(|(place, _)| place).collect();
            rewrapped += store.rewrap(places)?;
            Ok(())
        })?;
        Ok(Rewrapped::All { rewrapped, newest })
    }

    /// The wrapping keys of all objects and uploads, from every record.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for an unreadable record.
    pub fn wrapping_keys(&self) -> Result<WrappingReport, StoreError> {
        let mut report = WrappingReport::default();
        self.walk_wrapped(&mut |found| {
            for (_, encryption) in found {
                match self.keys().wrapping(&encryption) {
                    Wrapping::Customer => {}
                    Wrapping::Newest => report.newest += 1,
                    Wrapping::Former => report.former += 1,
                    Wrapping::Missing(key) => *report.missing.entry(key).or_default() += 1,
                }
            }
            Ok(())
        })?;
        Ok(report)
    }

    /// The keys that are not configured, of a sample of the objects: one batch of the current ones and one of the older versions
    /// of each bucket in one batch of buckets, so that it takes no longer with many objects.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for an unreadable record.
    pub fn sample_missing_keys(&self) -> Result<MissingKeys, StoreError> {
        let batch = |prefix: &[u8]| self.read_batch(prefix, &Bound::Included(prefix.to_vec()));
        let mut missing = MissingKeys::new();
        for (place, value) in batch(space::ALL_BUCKETS)? {
            let id = BucketRecord::decode(&place, &value)?.id;
            for prefix in [space::current_of(id), space::history_prefix(id, &[])] {
                for (place, value) in batch(&prefix)? {
                    let Some(encryption) = encryption_of(&place, &value)? else { continue };
                    if let Wrapping::Missing(key) = self.keys().wrapping(&encryption) {
                        *missing.entry(key).or_default() += 1;
                    }
                }
            }
        }
        Ok(missing)
    }

    /// Takes these as [`StoreStats::missing_keys`](crate::StoreStats::missing_keys).
    pub fn note_missing_keys(&self, missing: &MissingKeys) {
        self.shared().counters.missing_keys.store(missing.len() as u64, Ordering::Relaxed);
    }

    /// Calls `found` with the encrypted objects and uploads of each batch of records, by place.
    fn walk_wrapped(
        &self,
        found: &mut dyn FnMut(Vec<Wrapped>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for space in SPACES {
            let mut position = Bound::Included(space.to_vec());
            loop {
                let batch = self.read_batch(space, &position)?;
                let Some((last, _)) = batch.last() else { break };
                position = Bound::Excluded(last.clone());
                let mut encrypted = Vec::new();
                for (place, value) in batch {
                    if let Some(encryption) = encryption_of(&place, &value)? {
                        encrypted.push((place, encryption));
                    }
                }
                found(encrypted)?;
            }
        }
        Ok(())
    }

    /// Rewraps the data keys of the records at `places`, and returns how many.
    fn rewrap(&self, places: Vec<Vec<u8>>) -> Result<u64, StoreError> {
        if places.is_empty() {
            return Ok(0);
        }
        // The records are read again inside the transaction: they may have changed since the batch
        // was read.
        let update = self.update(move |write, shared| {
            write.fetch(&places)?;
            let mut rewrapped = 0;
            for place in &places {
                rewrapped += u64::from(match space::is_upload(place) {
                    true => rewrap_upload(write, shared, place)?,
                    false => rewrap_object(write, shared, place)?,
                });
            }
            Ok(Committed::new(rewrapped))
        });
        update.wait()
    }
}

/// The encryption of the object or upload at `place`.
fn encryption_of(place: &[u8], value: &[u8]) -> Result<Option<EncryptionRecord>, StoreError> {
    match space::is_upload(place) {
        true => UploadRecord::decode(place, value)?.extensions.encryption(),
        false => ObjectRecord::decode(place, value)?.extensions.encryption(),
    }
}

fn rewrap_object(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    place: &[u8],
) -> Result<bool, StoreError> {
    let Some(record) = ObjectRecord::read(write, place)? else { return Ok(false) };
    let Some(encryption) = record.extensions.encryption()? else { return Ok(false) };
    let split = space::split_current(place).map(|(bucket, key)| (bucket, key.to_vec()));
    let split = split.or_else(|| space::split_history(place).map(|it| (it.0, it.1)));
    let key = split.and_then(|(bucket, key)| {
        let key = ObjectKey::new(String::from_utf8(key).ok()?).ok()?;
        Some((bucket, key))
    });
    let (bucket, key) = key.ok_or_else(|| StoreError::corrupt("the key of a record"))?;
    let identity = identity(bucket, &key, &record.stamp, &record.content);
    let Some(encryption) = rewrapped(shared, &encryption, identity)? else { return Ok(false) };
    let extensions = record.extensions.clone().with_encryption(Some(&encryption));
    ObjectRecord { extensions, ..record }.write(write, place)?;
    Ok(true)
}

fn rewrap_upload(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    place: &[u8],
) -> Result<bool, StoreError> {
    let id = space::split_upload(place).ok_or_else(|| StoreError::corrupt("an upload's key"))?;
    let Some(record) = UploadRecord::read(write, &id)? else { return Ok(false) };
    let Some(encryption) = record.extensions.encryption()? else { return Ok(false) };
    let encryption = rewrapped(shared, &encryption, record.identity(&id))?;
    let Some(encryption) = encryption else { return Ok(false) };
    let extensions = record.extensions.clone().with_encryption(Some(&encryption));
    write.put(place, &UploadRecord { extensions, ..record }.encode(place))?;
    Ok(true)
}

/// The encryption record with its data key rewrapped; `None` if that is not needed.
fn rewrapped(
    shared: &Shared,
    encryption: &EncryptionRecord,
    identity: Identity<'_>,
) -> Result<Option<EncryptionRecord>, StoreError> {
    let config = &shared.config;
    match config.keys.wrapping(encryption) {
        Wrapping::Customer | Wrapping::Newest => Ok(None),
        // A missing key is an error of `unlock`, which names it.
        Wrapping::Former | Wrapping::Missing(_) => {
            config.keys.rewrap(encryption, identity, &*config.random).map(Some)
        }
    }
}
