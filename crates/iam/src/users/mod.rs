//! The configured users and the users created at run time. A credentials file is reloaded when it
//! changes.

mod configured;
mod owner;
mod secrets;
#[cfg(test)]
mod tests;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_store::{
    EncryptionKey, Identities, IdentityEntry, KeyRing, SecretKeys, Store, StoreError, SystemRandom,
};
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

pub use self::configured::ConfiguredUsers;
use self::configured::{Stamp, read};
pub use self::owner::other_owner_of_all;
use self::secrets::{OWN_KEY, own_id, own_key};
pub use self::secrets::{check_secrets, reseal_secrets};
pub use self::watch::Watch;
use crate::settings::{CredentialsSource, OidcIssuer};
use crate::state::{State, resealed};
use liteio_access::remote::RemoteTarget;
use liteio_access::tiers::Tier;
use liteio_identity::{CurrentDirectory, Directory, Sessions};

/// The users of a server: the configured ones, and those created at run time.
#[derive(Debug)]
pub struct Users {
    source: CredentialsSource,
    current: Arc<CurrentDirectory>,
    keys: SecretKeys,
    /// Additional certificate authorities for issuers.
    ca_file: Option<PathBuf>,
    issuers: Vec<OidcIssuer>,
    owner_id: Option<String>,
    parts: Mutex<Parts>,
    /// Serializes changes: each starts from the result of the previous one.
    changing: Arc<tokio::sync::Mutex<()>>,
    /// Another instance has replaced these users: changes here would have no effect.
    is_retired: AtomicBool,
}

/// The exclusive right to make the next change.
pub struct Changing(OwnedMutexGuard<()>);

/// The parts of the current directory. Locked while a new directory is built.
#[derive(Debug)]
struct Parts {
    configured: Arc<Directory>,
    stamps: Vec<Stamp>,
    state: Arc<State>,
    /// The epoch of the state, beside other servers, if it is known.
    epoch: Option<u64>,
}

/// All entries about users, with a line in the log for each damaged one.
fn read_identities(store: &Store) -> Result<Identities, StoreError> {
    let identities = store.identities()?;
    for error in &identities.damaged {
        tracing::error!(%error, "an entry about users is damaged: its content is not in effect");
    }
    Ok(identities)
}

impl Users {
    /// Adds the users created at run time. Without a master key, secrets are sealed with a key that
    /// is kept in the key space.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn open(
        configured: ConfiguredUsers,
        store: &Store,
        ring: &KeyRing,
    ) -> Result<Users, StoreError> {
        let identities = read_identities(store)?;
        let (entries, damaged) = (&identities.entries, &identities.damaged);
        let mut own = own_key(entries);
        if own.is_none() && SecretKeys::new(ring, None).is_empty() {
            // A new key would make all secrets and sessions unreadable for good, while a damaged
            // entry may return with a restored backup.
            if !damaged.is_empty() || entries.iter().any(|entry| entry.key == OWN_KEY) {
                let what = "the key that secrets of users are sealed by, or another entry about users, is \
                            damaged: restore the data directory from a backup, or start with a master key \
                            and make new access keys";
                return Err(StoreError::Corrupt { what: what.to_owned() });
            }
            if store.suspended().is_some() {
                // A primary without a master key has made its own key before its first backup.
                let reason = "The primary has a master key, and this standby has none: start it with the primary's, by \
                              --master-key-file (LITEIO_MASTER_KEY_FILE) or as the primary has it.";
                return Err(StoreError::Suspended { reason: reason.to_owned() });
            }
            let made = EncryptionKey::generate(&SystemRandom)?;
            store.identity_or(OWN_KEY.to_vec(), made.expose().to_vec()).wait()?;
            own = Some(made);
        }
        let keys = SecretKeys::new(ring, own.as_ref());
        let mut state = State::read(&identities);
        let (resealed, unopened) = resealed(&state, &keys)?;
        // A standby leaves that to its primary.
        if !resealed.is_empty() && store.suspended().is_none() {
            let stamp = store.change_identities(resealed, Some(identities.stamp)).wait()?;
            state = state.stamped(stamp);
        }
        let state = Arc::new(state);
        let ConfiguredUsers { source, directory, stamps, ca_file, issuers, owner_id } = configured;
        let current = state.directory(&directory, &keys);
        let sessions = Sessions::new(keys.clone(), &own_id(entries, store)?);
        let current = CurrentDirectory::new(current, sessions);
        current.note_unopened(unopened);
        Ok(Users {
            source,
            current: Arc::new(current),
            keys,
            ca_file,
            issuers,
            owner_id,
            parts: Mutex::new(Parts {
                configured: Arc::new(directory),
                stamps,
                state,
                epoch: None,
            }),
            changing: Arc::default(),
            is_retired: AtomicBool::new(false),
        })
    }

    /// The targets of replication that were added at run time.
    pub fn remote_targets(&self) -> Vec<RemoteTarget> {
        self.state().remote_targets(&self.keys)
    }

    /// The tiers that were added at run time.
    pub fn tiers(&self) -> Vec<Tier> {
        self.state().tiers(&self.keys)
    }

    /// All records created at run time.
    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.parts.lock().state)
    }

    /// The configured users.
    pub(crate) fn configured(&self) -> Arc<Directory> {
        Arc::clone(&self.parts.lock().configured)
    }

    /// The file of additional certificate authorities for issuers.
    pub(crate) fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    /// The keys that seal secrets.
    pub(crate) fn keys(&self) -> &SecretKeys {
        &self.keys
    }

    /// Waits for the exclusive right to make a change.
    pub async fn changing(&self) -> Changing {
        Changing(Arc::clone(&self.changing).lock_owned().await)
    }

    /// Refuses all changes from now on, including waiting ones.
    pub fn retire(&self, changing: Changing) {
        self.is_retired.store(true, Ordering::Release);
        drop(changing);
    }

    /// Makes changes durable, then puts the changed state into effect. Both happen or neither, even
    /// if the result is not awaited because the client has disconnected.
    ///
    /// # Errors
    /// Errors of the store; [`StoreError::Closed`] if these users are retired.
    pub(crate) async fn change(
        self: &Arc<Users>,
        store: &Store,
        changing: Changing,
        changes: Vec<IdentityEntry>,
        state: State,
    ) -> Result<(), StoreError> {
        if self.is_retired.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        let (users, store) = (Arc::clone(self), store.clone());
        let task = tokio::spawn(async move {
            let Changing(_alone) = changing;
            let stamp = store.change_identities(changes, Some(state.stamp())).await?;
            // Of no epoch that is known: the next request reads what this has become.
            users.replace(state.stamped(stamp), None);
            Ok(())
        });
        task.await.unwrap_or_else(|error| Err(StoreError::Internal { what: error.to_string() }))
    }

    /// Puts another durable state into effect.
    fn replace(&self, state: State, epoch: Option<u64>) {
        let mut parts = self.parts.lock();
        // Keys may have been deleted, and the primary of a standby may seal with a master key that was made since.
        if let Ok((_, unopened)) = resealed(&state, &self.keys) {
            self.current.note_unopened(unopened);
        }
        (parts.state, parts.epoch) = (Arc::new(state), epoch);
        self.current.replace(parts.state.directory(&parts.configured, &self.keys));
    }

    /// Reads the records again that were created at run time: a standby's are those of its primary.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn read_store_again(&self, store: &Store) -> Result<(), StoreError> {
        let identities = read_identities(store)?;
        let state = State::read(&identities);
        self.replace(state, identities.epoch);
        Ok(())
    }

    /// `true` if the records are those of this epoch: see [`Agreed`](liteio_store::Agreed).
    pub fn are_of(&self, epoch: u64) -> bool {
        self.parts.lock().epoch == Some(epoch)
    }

    /// The current directory, kept up to date.
    pub fn current(&self) -> &Arc<CurrentDirectory> {
        &self.current
    }

    /// `true` for an access key of these users, whether valid, expired or inactive.
    pub fn know(&self, access_key: &str, token: Option<&str>) -> bool {
        self.current.knows(access_key, token) || self.state().has_key(access_key)
    }

    /// `true` for an access key of the configuration.
    pub fn configure(&self, access_key: &str) -> bool {
        self.configured().find(access_key).is_some()
    }

    /// Reloads the file. An invalid file leaves the users as they are.
    pub fn read_again(&self) {
        self.read_into(&mut self.parts.lock());
    }

    /// Reloads the file if it has changed since it was last read.
    fn read_again_if_changed(&self) {
        let mut parts = self.parts.lock();
        if !parts.stamps.iter().all(Stamp::is_of_now) {
            self.read_into(&mut parts);
        }
    }

    fn read_into(&self, parts: &mut Parts) {
        parts.stamps.clear();
        let read = read(&self.source, self.owner_id.as_deref(), &self.issuers, &mut parts.stamps);
        self.current.note_file_refused(read.is_err());
        match read {
            Ok(configured) => {
                parts.configured = Arc::new(configured);
                self.current.replace(parts.state.directory(&parts.configured, &self.keys));
                tracing::info!("the users were read again");
            }
            Err(error) => tracing::warn!("the users stay as they were: {error}"),
        }
    }
}
