//! The directory that is current, and the sessions of its users.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use liteio_store::StoreError;
use parking_lot::RwLock;

use super::directory::Directory;
use super::key::AccessKey;
use super::session::{Issued, Session, Sessions, TokenError};

/// The current directory for authentication, and the sessions of its users.
#[derive(Debug, Default)]
pub struct CurrentDirectory {
    now: RwLock<Arc<Directory>>,
    sessions: Sessions,
    /// The credentials file has changed and is not usable, so the directory is not its.
    is_file_refused: AtomicBool,
    /// Secrets that no key opens.
    unopened: AtomicU64,
}

/// The reason why a key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// No key has this id.
    Unknown,
    /// Its session token is refused.
    Token(TokenError),
}

impl CurrentDirectory {
    /// Starts with this directory.
    pub fn new(directory: Directory, sessions: Sessions) -> CurrentDirectory {
        CurrentDirectory {
            now: RwLock::new(Arc::new(directory)),
            sessions,
            is_file_refused: AtomicBool::new(false),
            unopened: AtomicU64::new(0),
        }
    }

    /// The current directory.
    pub fn now(&self) -> Arc<Directory> {
        Arc::clone(&self.now.read())
    }

    /// The current key with this id; a session's key requires its token. `now` is the time in
    /// seconds since 1970.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn key(&self, id: &str, token: Option<&str>, now: i64) -> Result<Arc<AccessKey>, KeyError> {
        match token {
            None => {
                let found = self.now.read().find(id).cloned();
                let is_good = |key: &Arc<AccessKey>| key.expires.is_none_or(|end| now < end);
                found.filter(is_good).ok_or(KeyError::Unknown)
            }
            Some(token) => {
                let directory = self.now();
                self.sessions.key(&directory, id, token, now).map_err(KeyError::Token)
            }
        }
    }

    /// `true` for a key of these users, expired or not; a session's key requires its token.
    pub fn knows(&self, id: &str, token: Option<&str>) -> bool {
        let directory = self.now();
        match token {
            None => directory.find(id).is_some(),
            Some(token) => self.sessions.issued(&directory, id, token),
        }
    }

    /// The current state of a key found earlier, with the current rights of its user.
    ///
    /// # Errors
    /// [`KeyError`] if it would be refused now.
    pub fn again(&self, key: &AccessKey, now: i64) -> Result<Arc<AccessKey>, KeyError> {
        let found = self.key(&key.id, key.token.as_deref(), now)?;
        // A new key that reuses the id has not signed the request.
        if found.secret == key.secret { Ok(found) } else { Err(KeyError::Unknown) }
    }

    /// Issues the keys of a session.
    ///
    /// # Errors
    /// [`StoreError`] without random bytes.
    pub fn begin(&self, session: Session) -> Result<Issued, StoreError> {
        self.sessions.issue(&self.now(), session)
    }

    /// Issues the keys of a session of the holder of `key` that begins now, takes at most `seconds`,
    /// and is narrowed by `policy` unless the holder's own session is narrowed already.
    ///
    /// # Errors
    /// [`StoreError`] without random bytes, or for a key whose token is not of this server.
    pub fn narrow(
        &self,
        key: &AccessKey,
        now: i64,
        seconds: u32,
        policy: String,
    ) -> Result<Issued, StoreError> {
        let session = self.sessions.narrowed(key, now, seconds, policy);
        self.begin(session.ok_or(StoreError::NoMasterKey)?)
    }

    /// Notes whether the credentials file was refused when it was last read.
    pub fn note_file_refused(&self, is_refused: bool) {
        self.is_file_refused.store(is_refused, Ordering::Relaxed);
    }

    /// `true` while the changed credentials file is not usable, and the users stay as they were.
    pub fn is_file_refused(&self) -> bool {
        self.is_file_refused.load(Ordering::Relaxed)
    }

    /// Notes the number of secrets of access keys, targets and tiers that no key of the server opens.
    pub fn note_unopened(&self, secrets: u64) {
        self.unopened.store(secrets, Ordering::Relaxed);
    }

    /// Secrets of access keys, targets and tiers that no key of the server opens, so that they are not in the directory.
    pub fn unopened(&self) -> u64 {
        self.unopened.load(Ordering::Relaxed)
    }

    /// Replaces the directory. Requests authenticated from now on see the new one.
    pub fn replace(&self, directory: Directory) {
        let former = std::mem::replace(&mut *self.now.write(), Arc::new(directory));
        // Dropped after the unlock: freeing thousands of users takes time.
        drop(former);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_replaced_as_a_whole() {
        let one = Directory::of_roots(&[("alice", "alice-key", "alice-secret")]).expect("valid");
        let current = CurrentDirectory::new(one, Sessions::default());
        let find = |id: &str| current.key(id, None, 0).ok();
        let before = current.now();
        let alice = find("alice-key").expect("known");
        let account = before.account_of_canonical_id(&alice.user.account.canonical_id);
        assert_eq!(account, Some(&alice.user.account));
        assert_eq!(before.account(&alice.user.account.id), Some(&alice.user.account));

        let same_id = [("bob", "bob-key", "bob-secret"), ("eve", "alice-key", "eve-secret")];
        current.replace(Directory::of_roots(&same_id).expect("valid"));
        assert_eq!(before.find("alice-key").expect("of then").user.name, "alice");
        let eve = find("alice-key").expect("another");
        assert_eq!(eve.user.name, "eve");
        assert_ne!(eve.serial, alice.serial);
        current.replace(Directory::default());
        assert!(find("alice-key").is_none());
    }
}
