//! The keys that seal the secrets of access keys, and the id that sessions are bound to.

use liteio_store::{
    EncryptionKey, IdentityEntry, KeyRing, RandomSource as _, SecretKeys, Store, StoreError,
    SystemRandom,
};

use crate::state::{State, resealed};

/// The generated key of a data directory without a master key.
pub(super) fn own_key(entries: &[IdentityEntry]) -> Option<EncryptionKey> {
    let own = entries.iter().find(|entry| entry.key == OWN_KEY);
    let own = own.and_then(|entry| <[u8; 32]>::try_from(entry.value.as_deref()?).ok());
    own.map(EncryptionKey::new)
}

/// Seals the secrets of all access keys with the newest master key. Without `changes` it only looks
/// for secrets that cannot be sealed anew.
///
/// # Errors
/// [`StoreError::KeyMissing`] if a secret is sealed by a master key that `ring` lacks, and
/// [`StoreError::Corrupt`] if an entry about users cannot be read: nothing is changed then. Other
/// errors of the store.
pub fn reseal_secrets(store: &Store, ring: &KeyRing, changes: bool) -> Result<(), StoreError> {
    let identities = store.identities()?;
    let state = State::read(&identities);
    let unreadable = identities.damaged.len() as u64 + state.skipped();
    if unreadable > 0 {
        let what = format!(
            "{unreadable} entries about users, which may have secrets, cannot be read: they are damaged, or of a \
             newer version of LiteIO"
        );
        return Err(StoreError::Corrupt { what });
    }
    let keys = SecretKeys::new(ring, own_key(&identities.entries).as_ref());
    let (resealed, missing) = resealed(&state, &keys)?;
    if missing > 0 {
        let key = format!("a master key ({missing} secrets of access keys)");
        return Err(StoreError::KeyMissing { key });
    }
    if changes && !resealed.is_empty() {
        store.change_identities(resealed, Some(identities.stamp)).wait()?;
    }
    Ok(())
}

/// Checks that all secrets of access keys are sealed with master keys of `ring`, and not with the generated key of their
/// directory, which has no place among several servers.
///
/// # Errors
/// [`StoreError::KeyMissing`] if one is not; the errors of [`reseal_secrets`].
pub fn check_secrets(store: &Store, ring: &KeyRing) -> Result<(), StoreError> {
    reseal_secrets(store, ring, false)?;
    let state = State::read(&store.identities()?);
    let (_, of_directory) = resealed(&state, &SecretKeys::new(ring, None))?;
    if of_directory > 0 {
        let key = format!("the directory's own key ({of_directory} secrets of access keys)");
        return Err(StoreError::KeyMissing { key });
    }
    Ok(())
}

/// The entry with the generated key of a data directory without a master key. Entries of users
/// begin with their kind and a slash.
pub(super) const OWN_KEY: &[u8] = b"own-key";

/// The entry with the random id of a data directory, to which session tokens are bound.
const OWN_ID: &[u8] = b"own-id";
const ID_BYTES: usize = 16;

/// The id of the data directory, generated if there is none.
pub(super) fn own_id(entries: &[IdentityEntry], store: &Store) -> Result<Vec<u8>, StoreError> {
    let known = entries.iter().find(|entry| entry.key == OWN_ID);
    let known = known.and_then(|entry| entry.value.clone());
    if let Some(id) = known.clone().filter(|id| id.len() == ID_BYTES) {
        return Ok(id);
    }
    let mut id = vec![0; ID_BYTES];
    SystemRandom.fill(&mut id)?;
    match known {
        // A damaged one.
        Some(_) => {
            let entry = IdentityEntry { key: OWN_ID.to_vec(), value: Some(id.clone()) };
            store.change_identities(vec![entry], None).wait().map(|_| id.clone())
        }
        None => store.identity_or(OWN_ID.to_vec(), id.clone()).wait(),
    }
    .or_else(|error| {
        // The storage device may be full. Reading works, with sessions that end with the process.
        tracing::warn!(%error, "sessions will not outlive this process");
        Ok(id)
    })
}
