//! Entries about users, which the store keeps and does not interpret.

use liteio_kv::Write as _;

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

impl Store {
    /// All entries about users, ordered by key. The second list has an error for each damaged
    /// entry, which the first one leaves out.
    ///
    /// # Errors
    /// [`StoreError::Io`], or [`StoreError::Corrupt`] if the key space cannot be read.
    pub fn identities(&self) -> Result<(Vec<IdentityEntry>, Vec<StoreError>), StoreError> {
        let (mut entries, mut damaged) = (Vec::new(), Vec::new());
        self.walk(&self.snapshot()?, space::ALL_IDENTITIES, &mut |place, value| {
            match identity::decode(place, value) {
                Ok(value) => entries.push(IdentityEntry {
                    key: space::identity_key(place).to_vec(),
                    value: Some(value.to_vec()),
                }),
                Err(error) => damaged.push(error),
            }
            Ok(())
        })?;
        Ok((entries, damaged))
    }

    /// Puts or deletes entries about users, atomically.
    ///
    /// Fails with [`StoreError::InvalidRequest`] for a key or a value that is too long.
    pub fn change_identities(&self, changes: Vec<IdentityEntry>) -> Pending<()> {
        let is_too_long = |change: &IdentityEntry| {
            change.key.len() > KEY_BYTES_MAX
                || change.value.as_ref().is_some_and(|value| value.len() > DOCUMENT_BYTES_MAX)
        };
        if changes.iter().any(is_too_long) {
            let message = "an entry about users is too long".to_owned();
            return Pending::ready(Err(StoreError::InvalidRequest { message }));
        }
        self.update(move |write, _| {
            for IdentityEntry { key, value } in &changes {
                let place = space::identity(key);
                match value {
                    Some(value) => write.put(&place, &identity::encode(&place, value))?,
                    None => write.delete(&place)?,
                }
            }
            Ok(Committed::new(()))
        })
    }
}
