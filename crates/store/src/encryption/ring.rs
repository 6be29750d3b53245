//! The keys that the process holds, which wrap data keys.

use std::fmt;

use liteio_disk::RandomSource;

use super::{
    Encryption, EncryptionKey, EncryptionRecord, EncryptionScheme, Identity, ObjectSealing,
};
use crate::error::StoreError;

/// A named key with its former versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKey {
    /// Its name.
    pub name: String,
    /// Its versions: the first wraps, the others only unwrap. A name without any is never used.
    pub versions: Vec<EncryptionKey>,
}

/// The keys that wrap data keys. Empty, nothing can be encrypted but with keys of clients.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyRing {
    /// The first wraps, the others only unwrap.
    master: Vec<EncryptionKey>,
    named: Vec<NamedKey>,
}

impl KeyRing {
    /// A ring of these keys. The first master key wraps, the others only unwrap.
    #[must_use]
    pub fn new(master: Vec<EncryptionKey>, named: Vec<NamedKey>) -> Self {
        Self { master, named }
    }

    /// The master keys.
    pub(super) fn master(&self) -> &[EncryptionKey] {
        &self.master
    }

    /// The scheme that `encryption` stands for, and the key that wraps by it.
    ///
    /// # Errors
    /// [`StoreError::NoMasterKey`], [`StoreError::NoSuchNamedKey`].
    fn resolve<'a>(
        &'a self,
        encryption: &'a Encryption,
    ) -> Result<(EncryptionScheme, &'a EncryptionKey), StoreError> {
        match encryption {
            Encryption::Customer(key) => Ok((EncryptionScheme::Customer, key)),
            Encryption::Master => {
                let key = self.master.first().ok_or(StoreError::NoMasterKey)?;
                Ok((EncryptionScheme::Master, key))
            }
            Encryption::Named { key: asked, context, bucket_key } => {
                let wanted = |named: &&NamedKey| asked.as_ref().is_none_or(|it| *it == named.name);
                let found = self.named.iter().find(wanted);
                let missing = || StoreError::NoSuchNamedKey { key: asked.clone() };
                let found = found.ok_or_else(missing)?;
                let key = found.versions.first().ok_or_else(missing)?;
                let (name, context) = (found.name.clone(), context.clone());
                let bucket_key = *bucket_key;
                Ok((EncryptionScheme::Named { key: name, context, bucket_key }, key))
            }
        }
    }

    /// The name of a key as the ring has it, from the name or the identifier that a client gives.
    #[must_use]
    pub fn find_name(&self, asked: &str) -> Option<&str> {
        let last = asked.rsplit('/').next().unwrap_or(asked);
        let named = |name: &str| self.named.iter().find(|it| it.name == name);
        named(asked).or_else(|| named(last)).map(|it| it.name.as_str())
    }

    /// `true` when `name` is the key that `asked` names; without a name, the first one.
    pub(crate) fn is_name(&self, name: &str, asked: Option<&str>) -> bool {
        let default = || self.named.first().map(|named| named.name.as_str());
        asked.or_else(default) == Some(name)
    }

    /// A new data key for an object.
    ///
    /// # Errors
    /// As [`KeyRing::resolve`]; [`StoreError::Io`] when there are no random bytes.
    pub(crate) fn new_key(
        &self,
        encryption: &Encryption,
        random: &dyn RandomSource,
    ) -> Result<ObjectSealing, StoreError> {
        let data = EncryptionKey::generate(random)?;
        self.sealing(encryption, data)
    }

    /// A data key that is to be wrapped as `encryption` says.
    pub(crate) fn sealing(
        &self,
        encryption: &Encryption,
        data: EncryptionKey,
    ) -> Result<ObjectSealing, StoreError> {
        let (scheme, wrapping) = self.resolve(encryption)?;
        Ok(ObjectSealing::new(data, scheme, wrapping.clone()))
    }

    /// The data key of a record.
    ///
    /// # Errors
    /// [`StoreError::CustomerKeyRequired`], [`StoreError::CustomerKeyNotApplicable`],
    /// [`StoreError::WrongCustomerKey`]; [`StoreError::KeyMissing`] when the ring does not have the key;
    /// [`StoreError::Corrupt`].
    pub(crate) fn unlock(
        &self,
        record: &EncryptionRecord,
        identity: Identity<'_>,
        customer: Option<&EncryptionKey>,
    ) -> Result<EncryptionKey, StoreError> {
        let (wrapping, error) = match (&record.scheme, customer) {
            (EncryptionScheme::Customer, Some(key)) => (key, StoreError::WrongCustomerKey),
            (EncryptionScheme::Customer, None) => return Err(StoreError::CustomerKeyRequired),
            (_, Some(_)) => return Err(StoreError::CustomerKeyNotApplicable),
            (EncryptionScheme::Master, None) => {
                (find(&self.master, record, "the master key")?, damaged())
            }
            (EncryptionScheme::Named { key, .. }, None) => {
                let named = self.named.iter().find(|named| named.name == *key);
                let versions = named.map_or(&[][..], |named| &named.versions);
                (find(versions, record, key)?, damaged())
            }
        };
        record.unwrap(wrapping, identity).ok_or(error)
    }

    /// The data key `data` of a record, to be wrapped anew as it is in the record. `customer` is the key of
    /// its client.
    ///
    /// # Errors
    /// [`StoreError::CustomerKeyRequired`], [`StoreError::NoMasterKey`].
    pub(crate) fn resealing(
        &self,
        record: &EncryptionRecord,
        data: EncryptionKey,
        customer: Option<&EncryptionKey>,
    ) -> Result<ObjectSealing, StoreError> {
        let scheme = record.scheme.clone();
        let wrapping = match &scheme {
            EncryptionScheme::Customer => customer.ok_or(StoreError::CustomerKeyRequired)?,
            scheme => self.first(scheme).ok_or(StoreError::NoMasterKey)?,
        };
        Ok(ObjectSealing::new(data, scheme, wrapping.clone()))
    }

    /// The record with its data key wrapped by the first version of its key.
    ///
    /// # Errors
    /// As [`KeyRing::unlock`].
    pub(crate) fn rewrap(
        &self,
        record: &EncryptionRecord,
        identity: Identity<'_>,
        random: &dyn RandomSource,
    ) -> Result<EncryptionRecord, StoreError> {
        let data = self.unlock(record, identity, None)?;
        let wrapping = self.first(&record.scheme).ok_or(StoreError::NoMasterKey)?;
        EncryptionRecord::wrap(&data, wrapping, record.scheme.clone(), identity, random)
    }

    /// `true` when the key that wrapped the data key of the record is not the one that wraps now.
    pub(crate) fn is_outdated(&self, record: &EncryptionRecord) -> bool {
        let first = self.first(&record.scheme);
        first.is_some_and(|first| first.fingerprint() != *record.wrapped_by())
    }

    /// The key that wraps by a scheme; none for keys of clients.
    fn first(&self, scheme: &EncryptionScheme) -> Option<&EncryptionKey> {
        match scheme {
            EncryptionScheme::Customer => None,
            EncryptionScheme::Master => self.master.first(),
            EncryptionScheme::Named { key, .. } => {
                let named = self.named.iter().find(|named| named.name == *key);
                named.and_then(|named| named.versions.first())
            }
        }
    }
}

fn damaged() -> StoreError {
    StoreError::corrupt("a wrapped data key does not have its tag")
}

fn find<'a>(
    versions: &'a [EncryptionKey],
    record: &EncryptionRecord,
    name: &str,
) -> Result<&'a EncryptionKey, StoreError> {
    let found = versions.iter().find(|key| key.fingerprint() == *record.wrapped_by());
    found.ok_or_else(|| StoreError::KeyMissing { key: name.to_owned() })
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.named.iter().map(|named| named.name.as_str()).collect();
        formatter
            .debug_struct("KeyRing")
            .field("master", &self.master.len())
            .field("named", &names)
            .finish()
    }
}
