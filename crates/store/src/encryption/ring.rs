//! The keys that the process holds, which wrap data keys.

use std::collections::BTreeMap;
use std::fmt;

use liteio_disk::RandomSource;

use super::key::Fingerprint;
use super::{
    Encryption, EncryptionKey, EncryptionRecord, EncryptionScheme, Identity, ObjectSealing,
};
use crate::error::StoreError;

/// A named key with its former versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKey {
    /// The name.
    pub name: String,
    /// The versions: the first one wraps, the others only unwrap. A key without versions is never
    /// used.
    pub versions: Vec<EncryptionKey>,
}

/// The identity of a wrapping key, without the key. Sorted by name, the master key first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WrappingKeyId {
    /// The name; `None` for a master key.
    pub name: Option<String>,
    fingerprint: Fingerprint,
}

impl fmt::Display for WrappingKeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            None => write!(formatter, "the master key ")?,
            Some(name) => write!(formatter, "the key {name:?} ")?,
        }
        self.fingerprint.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The number of records by the wrapping key that the process lacks.
pub type MissingKeys = BTreeMap<WrappingKeyId, u64>;

/// The wrapping key of a record, as a ring knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// A key of the client.
    Customer,
    /// The first version of its key, which also wraps new data keys.
    Newest,
    /// A former version of its key.
    Former,
    /// A key that the ring lacks.
    Missing(WrappingKeyId),
}

/// The keys that wrap data keys. With an empty ring only customer keys can encrypt.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyRing {
    /// The first one wraps, the others only unwrap.
    master: Vec<EncryptionKey>,
    named: Vec<NamedKey>,
}

impl KeyRing {
    /// A ring of these keys. The first master key wraps, the others only unwrap.
    #[must_use]
    pub fn new(master: Vec<EncryptionKey>, named: Vec<NamedKey>) -> Self {
        Self { master, named }
    }

    /// `true` if there is a master key, so that objects can be encrypted without a named one.
    #[must_use]
    pub fn has_master(&self) -> bool {
        !self.master.is_empty()
    }

    /// The names of the named keys, the default key first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|named| named.name.as_str())
    }

    /// The master keys, the newest first.
    #[must_use]
    pub fn master(&self) -> &[EncryptionKey] {
        &self.master
    }

    /// The scheme of `encryption`, and its wrapping key.
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
                // Without a name, the first key is the default.
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
        // What is behind `alias/`, and the last segment of an ARN, are tried as names, too: the alias of AWS's own key has a slash.
        // MinIO's ARN has the name alone.
        let of_minio = asked.strip_prefix("arn:aws:kms:");
        let alias = asked.rsplit_once("alias/").map(|(_, name)| name);
        let last = asked.rsplit('/').next();
        let mut names = [Some(asked), of_minio, alias, last].into_iter().flatten();
        let found = names.find_map(|name| self.named.iter().find(|it| it.name == name));
        found.map(|it| it.name.as_str())
    }

    /// `true` if `name` is the key that `asked` names; without a name, the default key.
    pub(crate) fn is_name(&self, name: &str, asked: Option<&str>) -> bool {
        let default = || self.named.first().map(|named| named.name.as_str());
        asked.or_else(default) == Some(name)
    }

    /// A new data key for an object, to be wrapped as `encryption` requires.
    ///
    /// # Errors
    /// The errors of [`KeyRing::resolve`]; [`StoreError::Io`] if the random source fails.
    pub(crate) fn new_key(
        &self,
        encryption: &Encryption,
        random: &dyn RandomSource,
    ) -> Result<ObjectSealing, StoreError> {
        let data = EncryptionKey::generate(random)?;
        self.sealing(encryption, data)
    }

    /// The data key `data`, to be wrapped as `encryption` requires.
    pub(crate) fn sealing(
        &self,
        encryption: &Encryption,
        data: EncryptionKey,
    ) -> Result<ObjectSealing, StoreError> {
        let (scheme, wrapping) = self.resolve(encryption)?;
        Ok(ObjectSealing::new(data, scheme, wrapping.clone()))
    }

    /// The unwrapped data key of a record.
    ///
    /// # Errors
    /// [`StoreError::CustomerKeyRequired`], [`StoreError::CustomerKeyNotApplicable`],
    /// [`StoreError::WrongCustomerKey`]; [`StoreError::KeyMissing`] if the ring lacks the key;
    /// [`StoreError::Corrupt`].
    pub(crate) fn unlock(
        &self,
        record: &EncryptionRecord,
        identity: Identity<'_>,
        customer: Option<&EncryptionKey>,
    ) -> Result<EncryptionKey, StoreError> {
        // A key of the client that does not fit is the client's mistake. A key of the ring was
        // found by its fingerprint, so a wrong tag is damage.
        let (wrapping, error) = match (&record.scheme, customer) {
            (EncryptionScheme::Customer, Some(key)) => (key, StoreError::WrongCustomerKey),
            (EncryptionScheme::Customer, None) => return Err(StoreError::CustomerKeyRequired),
            (_, Some(_)) => return Err(StoreError::CustomerKeyNotApplicable),
            (EncryptionScheme::Master, None) => {
                (find(&self.master, record, "the master key")?, damaged())
            }
            (EncryptionScheme::Named { key, .. }, None) => {
                (find(self.versions(key), record, key)?, damaged())
            }
        };
        record.unwrap(wrapping, identity).ok_or(error)
    }

    /// The data key `data` of a record, to be rewrapped by the record's scheme. `customer` is the
    /// customer key.
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

    /// The record with its data key rewrapped by the first version of its key.
    ///
    /// # Errors
    /// The errors of [`KeyRing::unlock`].
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

    /// The wrapping key of a record, among the keys of this ring.
    pub(crate) fn wrapping(&self, record: &EncryptionRecord) -> Wrapping {
        let (name, versions) = match &record.scheme {
            EncryptionScheme::Customer => return Wrapping::Customer,
            EncryptionScheme::Master => (None, &self.master[..]),
            EncryptionScheme::Named { key, .. } => (Some(key), self.versions(key)),
        };
        let fingerprint = *record.wrapped_by();
        match versions.iter().position(|key| key.fingerprint() == fingerprint) {
            Some(0) => Wrapping::Newest,
            Some(_) => Wrapping::Former,
            None => Wrapping::Missing(WrappingKeyId { name: name.cloned(), fingerprint }),
        }
    }

    /// The identities of all keys: the master keys, then the named ones, each with its newest
    /// version first.
    #[must_use]
    pub fn ids(&self) -> Vec<WrappingKeyId> {
        let id = |name: Option<&String>, key: &EncryptionKey| WrappingKeyId {
            name: name.cloned(),
            fingerprint: key.fingerprint(),
        };
        let master = self.master.iter().map(|key| id(None, key));
        let versions = |named: &'_ NamedKey| {
            let ids: Vec<_> = named.versions.iter().map(|key| id(Some(&named.name), key)).collect();
            ids
        };
        master.chain(self.named.iter().flat_map(versions)).collect()
    }

    /// The versions of a named key. For a name that the ring lacks the master keys: they may have had it when they wrapped, and a
    /// record tells by the fingerprint whether it was one of them.
    fn versions(&self, name: &str) -> &[EncryptionKey] {
        let named = self.named.iter().find(|named| named.name == name);
        named.map_or(&self.master, |named| &named.versions)
    }

    /// The current wrapping key of a scheme; `None` for customer keys.
    fn first(&self, scheme: &EncryptionScheme) -> Option<&EncryptionKey> {
        match scheme {
            EncryptionScheme::Customer => None,
            EncryptionScheme::Master => self.master.first(),
            EncryptionScheme::Named { key, .. } => self.versions(key).first(),
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
    // Former versions stay in the ring, so that they can unwrap.
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
