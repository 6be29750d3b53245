//! Rewrapping of data keys after the key that wraps them was replaced.
//!
//! Bodies stay as they are, because a data key does not change. Afterwards the former versions of
//! the wrapping keys are no longer needed.

use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Transaction, Write as _};

use crate::encryption::{EncryptionRecord, Identity};
use crate::error::StoreError;
use crate::meta::object::ObjectRecord;
use crate::meta::space;
use crate::meta::upload::UploadRecord;
use crate::name::ObjectKey;
use crate::object::identity;
use crate::pending::Committed;
use crate::store::{Shared, Store};

/// The result of [`Store::rewrap_keys`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewrapReport {
    /// Number of objects and uploads whose data key was rewrapped.
    pub rewrapped: u64,
    /// Number of objects and uploads whose wrapping key is not configured.
    pub missing: u64,
}

/// Key spaces of records with wrapped keys.
const SPACES: [&[u8]; 3] = [space::ALL_CURRENT, space::ALL_HISTORY, space::ALL_UPLOADS];

/// The outcome for one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Unchanged,
    Rewrapped,
    Missing,
}

impl Store {
    /// Rewraps every data key that is not wrapped by the first version of its key. It may be
    /// interrupted and repeated.
    ///
    /// # Errors
    /// The errors of a write; [`StoreError::Corrupt`] for an unreadable record.
    pub fn rewrap_keys(&self) -> Result<RewrapReport, StoreError> {
        let mut report = RewrapReport::default();
        for space in SPACES {
            let mut position = Bound::Included(space.to_vec());
            loop {
                let batch = self.read_batch(space, &position)?;
                let Some((last, _)) = batch.last() else { break };
                position = Bound::Excluded(last.clone());
                let mut places = Vec::new();
                for (place, value) in batch {
                    if self.is_outdated(&place, &value)? {
                        places.push(place);
                    }
                }
                self.rewrap(places, &mut report)?;
            }
        }
        Ok(report)
    }

    fn is_outdated(&self, place: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        let encryption = match space::is_upload(place) {
            true => UploadRecord::decode(place, value)?.extensions.encryption()?,
            false => ObjectRecord::decode(place, value)?.extensions.encryption()?,
        };
        Ok(encryption.is_some_and(|encryption| self.keys().is_outdated(&encryption)))
    }

    fn rewrap(&self, places: Vec<Vec<u8>>, report: &mut RewrapReport) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        // The records are read again inside the transaction: they may have changed since the batch
        // was read.
        let update = self.update(move |write, shared| {
            let mut outcomes = Vec::with_capacity(places.len());
            for place in &places {
                outcomes.push(match space::is_upload(place) {
                    true => rewrap_upload(write, shared, place)?,
                    false => rewrap_object(write, shared, place)?,
                });
            }
            Ok(Committed::new(outcomes))
        });
        for outcome in update.wait()? {
            match outcome {
                Outcome::Unchanged => {}
                Outcome::Rewrapped => report.rewrapped += 1,
                Outcome::Missing => report.missing += 1,
            }
        }
        Ok(())
    }
}

fn rewrap_object(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    place: &[u8],
) -> Result<Outcome, StoreError> {
    let Some(record) = ObjectRecord::read(write, place)? else { return Ok(Outcome::Unchanged) };
    let Some(encryption) = record.extensions.encryption()? else { return Ok(Outcome::Unchanged) };
    let split = space::split_current(place).map(|(bucket, key)| (bucket, key.to_vec()));
    let split = split.or_else(|| space::split_history(place).map(|it| (it.0, it.1)));
    let key = split.and_then(|(bucket, key)| {
        let key = ObjectKey::new(String::from_utf8(key).ok()?).ok()?;
        Some((bucket, key))
    });
    let (bucket, key) = key.ok_or_else(|| StoreError::corrupt("the key of a record"))?;
    let identity = identity(bucket, &key, &record.stamp, &record.content);
    let (outcome, encryption) = rewrapped(shared, &encryption, identity)?;
    if let Some(encryption) = encryption {
        let extensions = record.extensions.clone().with_encryption(Some(&encryption));
        ObjectRecord { extensions, ..record }.write(write, place)?;
    }
    Ok(outcome)
}

fn rewrap_upload(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    place: &[u8],
) -> Result<Outcome, StoreError> {
    let id = space::split_upload(place).ok_or_else(|| StoreError::corrupt("an upload's key"))?;
    let Some(record) = UploadRecord::read(write, &id)? else { return Ok(Outcome::Unchanged) };
    let Some(encryption) = record.extensions.encryption()? else { return Ok(Outcome::Unchanged) };
    let identity = record.identity(&id);
    let (outcome, encryption) = rewrapped(shared, &encryption, identity)?;
    if let Some(encryption) = encryption {
        let extensions = record.extensions.clone().with_encryption(Some(&encryption));
        write.put(place, &UploadRecord { extensions, ..record }.encode(place))?;
    }
    Ok(outcome)
}

/// The encryption record with its data key rewrapped, if that is needed and possible.
fn rewrapped(
    shared: &Shared,
    encryption: &EncryptionRecord,
    identity: Identity<'_>,
) -> Result<(Outcome, Option<EncryptionRecord>), StoreError> {
    let config = &shared.config;
    if !config.keys.is_outdated(encryption) {
        return Ok((Outcome::Unchanged, None));
    }
    match config.keys.rewrap(encryption, identity, &*config.random) {
        Ok(encryption) => Ok((Outcome::Rewrapped, Some(encryption))),
        Err(StoreError::KeyMissing { .. }) => Ok((Outcome::Missing, None)),
        Err(error) => Err(error),
    }
}
