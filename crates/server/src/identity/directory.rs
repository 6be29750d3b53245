//! All accounts, users and keys, as they are at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::account::Account;
use super::key::AccessKey;
use super::user::User;
use super::{IdentityError, fail};

/// All accounts, users and keys, as they are at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directory {
    accounts: HashMap<String, Arc<Account>>,
    /// By canonical id.
    by_canonical_id: HashMap<String, Arc<Account>>,
    /// By id.
    keys: HashMap<String, Arc<AccessKey>>,
}

impl Directory {
    /// The key with this id.
    pub(crate) fn find(&self, access_key: &str) -> Option<&Arc<AccessKey>> {
        self.keys.get(access_key)
    }

    /// The account with this id of 12 digits.
    pub(crate) fn account(&self, id: &str) -> Option<&Arc<Account>> {
        self.accounts.get(id)
    }

    /// The account with this canonical id.
    pub(crate) fn account_of_canonical_id(&self, canonical_id: &str) -> Option<&Arc<Account>> {
        self.by_canonical_id.get(canonical_id)
    }
}

/// A directory that is being made.
#[derive(Debug, Default)]
pub(crate) struct DirectoryBuilder {
    directory: Directory,
}

impl DirectoryBuilder {
    /// Adds an account.
    ///
    /// # Errors
    /// [`IdentityError`] when there is one with this id or canonical id.
    pub(crate) fn account(&mut self, account: Account) -> Result<Arc<Account>, IdentityError> {
        let Directory { accounts, by_canonical_id, .. } = &mut self.directory;
        if by_canonical_id.contains_key(&account.canonical_id) {
            return fail("the id is that of another user");
        }
        if accounts.contains_key(&account.id) {
            return fail(format!(
                "the account {} is that of another user; give account = \"…\", 12 digits",
                account.id
            ));
        }
        let account = Arc::new(account);
        accounts.insert(account.id.clone(), Arc::clone(&account));
        by_canonical_id.insert(account.canonical_id.clone(), Arc::clone(&account));
        Ok(account)
    }

    /// Adds a key, and with it its user.
    ///
    /// # Errors
    /// [`IdentityError`] when there is one with this id.
    pub(crate) fn key(&mut self, key: AccessKey) -> Result<(), IdentityError> {
        let id = key.id.clone();
        match self.directory.keys.insert(id, Arc::new(key)) {
            None => Ok(()),
            Some(key) => fail(format!("the access_key {:?} is that of another user", key.id)),
        }
    }

    /// The directory.
    pub(crate) fn build(self) -> Directory {
        self.directory
    }
}

impl Directory {
    /// A directory of root users, each with an account of its own: `(name, access key, secret key)`.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of_roots(users: &[(&str, &str, &str)]) -> Result<Directory, IdentityError> {
        use super::account::{canonical_id_of_key, id_of_canonical_id};
        let mut directory = DirectoryBuilder::default();
        for (name, access_key, secret_key) in users {
            let canonical_id = canonical_id_of_key(access_key);
            let id = id_of_canonical_id(&canonical_id);
            let account = directory.account(Account::new(id, canonical_id, (*name).to_owned())?)?;
            let user = Arc::new(User::root(name, account)?);
            let secret = super::SecretKey::new(*secret_key)?;
            directory.key(AccessKey::new(*access_key, secret, user)?)?;
        }
        Ok(directory.build())
    }
}

/// The directory that requests are authenticated against.
#[derive(Debug, Default)]
pub(crate) struct CurrentDirectory(RwLock<Arc<Directory>>);

impl CurrentDirectory {
    /// Starts with this directory.
    pub(crate) fn new(directory: Directory) -> CurrentDirectory {
        CurrentDirectory(RwLock::new(Arc::new(directory)))
    }

    /// The directory as it is now.
    pub(crate) fn now(&self) -> Arc<Directory> {
        Arc::clone(&self.0.read())
    }

    /// The key with this id, as it is now.
    pub(crate) fn find(&self, access_key: &str) -> Option<Arc<AccessKey>> {
        self.0.read().find(access_key).cloned()
    }

    /// Puts another directory in its place.
    pub(crate) fn replace(&self, directory: Directory) {
        let former = std::mem::replace(&mut *self.0.write(), Arc::new(directory));
        // Thousands of users are not freed under the lock.
        drop(former);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_replaced_as_a_whole() {
        let one = Directory::of_roots(&[("alice", "alice-key", "alice-secret")]).expect("valid");
        let current = CurrentDirectory::new(one);
        let before = current.now();
        let alice = current.find("alice-key").expect("known");
        let account = before.account_of_canonical_id(&alice.user.account.canonical_id);
        assert_eq!(account, Some(&alice.user.account));
        assert_eq!(before.account(&alice.user.account.id), Some(&alice.user.account));

        let same_id = [("bob", "bob-key", "bob-secret"), ("eve", "alice-key", "eve-secret")];
        current.replace(Directory::of_roots(&same_id).expect("valid"));
        assert_eq!(before.find("alice-key").expect("of then").user.name, "alice");
        let eve = current.find("alice-key").expect("another");
        assert_eq!(eve.user.name, "eve");
        assert_ne!(eve.serial, alice.serial);
        current.replace(Directory::default());
        assert!(current.find("alice-key").is_none());
    }
}
