//! Entries about users, which the store keeps and does not interpret.

use liteio_kv::{Read as _, Write as _};

use crate::agreement::USERS;
use crate::error::StoreError;
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::meta::{identity, space};
use crate::pending::{Committed, Pending};
use crate::store::Store;

/// Longest key of an entry.
const KEY_BYTES_MAX: usize = 512;

/// An entry about users: a key, and a value that only the caller interprets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityEntry {
    /// The key, at most 512 bytes.
    pub key: Vec<u8>,
    /// The value; `None` deletes the entry.
    pub value: Option<Vec<u8>>,
}

/// All entries about users, as one server sees them.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    /// The entries, ordered by key.
    pub entries: Vec<IdentityEntry>,
    /// An error for each damaged entry, which is left out.
    pub damaged: Vec<StoreError>,
    /// The epoch of what was seen, beside other servers: see [`Agreed::users`](crate::Agreed::users).
    pub epoch: Option<u64>,
    /// For a change of what was seen: see [`Store::change_identities`].
    pub stamp: u64,
}

impl Store {
    /// All entries about users.
    ///
    /// # Errors
    /// [`StoreError::Io`], or [`StoreError::Corrupt`] if the key space cannot be read.
    pub fn identities(&self) -> Result<Identities, StoreError> {
        let snapshot = self.snapshot()?;
        let stamp = self.shared().cluster.users_stamp(&snapshot)?;
        let epoch = Self::epoch_of(&snapshot, USERS)?;
        let mut all = Identities { epoch, stamp, ..Identities::default() };
        self.walk(&snapshot, space::ALL_IDENTITIES, &mut |place, value| {
            match identity::decode(place, value) {
                Ok(value) => all.entries.push(IdentityEntry {
                    key: space::identity_key(place).to_vec(),
                    value: Some(value.to_vec()),
                }),
                Err(error) => all.damaged.push(error),
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Puts or deletes entries about users, atomically. With the `stamp` of [`Store::identities`] only if
    /// nobody has changed them since. Returns the new stamp.
    ///
    /// Fails with [`StoreError::InvalidRequest`] for a key or a value that is too long, and with
    /// [`StoreError::ChangedMeanwhile`].
    pub fn change_identities(
        &self,
        changes: Vec<IdentityEntry>,
        stamp: Option<u64>,
    ) -> Pending<u64> {
        if let Err(refused) = changes.iter().try_for_each(check) {
            return Pending::ready(Err(refused));
        }
        self.update(move |write, shared| {
            let stamp = shared.cluster.change_users(stamp, write)?;
            for IdentityEntry { key, value } in &changes {
                let place = space::identity(key);
                match value {
                    Some(value) => write.put(&place, &identity::encode(&place, value))?,
                    None => write.delete(&place)?,
                }
            }
            Ok(Committed::new(stamp))
        })
    }

    /// The value of an entry about users: `value` from now on, if there is none yet. It is the same for
    /// all servers that begin at the same time.
    ///
    /// Fails as [`Store::change_identities`].
    pub fn identity_or(&self, key: Vec<u8>, value: Vec<u8>) -> Pending<Vec<u8>> {
        let entry = IdentityEntry { key, value: Some(value) };
        if let Err(refused) = check(&entry) {
            return Pending::ready(Err(refused));
        }
        self.update(move |write, shared| {
            let place = space::identity(&entry.key);
            if let Some(kept) = write.get(&place)? {
                return Ok(Committed::new(identity::decode(&place, &kept)?.to_vec()));
            }
            shared.cluster.change_users(None, write)?;
            let value = entry.value.clone().unwrap_or_default();
            write.put(&place, &identity::encode(&place, &value))?;
            Ok(Committed::new(value))
        })
    }
}

fn check(change: &IdentityEntry) -> Result<(), StoreError> {
    let is_too_long = change.key.len() > KEY_BYTES_MAX
        || change.value.as_ref().is_some_and(|value| value.len() > DOCUMENT_BYTES_MAX);
    match is_too_long {
        true => {
            let message = "an entry about users is too long".to_owned();
            Err(StoreError::InvalidRequest { message })
        }
        false => Ok(()),
    }
}
