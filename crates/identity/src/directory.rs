//! All accounts, users and keys at one moment.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::account::Account;
use super::issuer::Issuer;
use super::key::AccessKey;
use super::managed::managed;
use super::role::Role;
use super::user::User;
use super::{IdentityError, fail};
use liteio_policy::Policy;

/// All accounts, users and keys at one moment. Immutable once built.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    accounts: HashMap<String, Arc<Account>>,
    /// Accounts by canonical id.
    by_canonical_id: HashMap<String, Arc<Account>>,
    /// Access keys by id.
    keys: HashMap<String, Arc<AccessKey>>,
    /// Users by unique id; root users by the id of their account.
    users: HashMap<String, Arc<User>>,
    /// Roles by unique id.
    roles: HashMap<String, Arc<Role>>,
    roles_by_arn: HashMap<String, Arc<Role>>,
    /// Managed policies of accounts, by ARN.
    policies: HashMap<String, Arc<Policy>>,
    issuers: Vec<Issuer>,
    /// Lower-case names of configured users and roles, by account.
    configured: HashSet<(String, NameOf, String)>,
    /// The account that was added first.
    first_account: Option<Arc<Account>>,
    serial: u64,
}

/// The kinds of names that are unique in an account, ignoring case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameOf {
    /// The name of a user.
    User,
    /// The name of a role.
    Role,
}

impl Directory {
    /// The id of a key of the user with this unique id: the first in order, if there are several.
    pub fn key_of_user(&self, user_id: &str) -> Option<&str> {
        let own = self.keys.values().filter(|key| key.user.caller.user_id == user_id);
        own.map(|key| &*key.id).min()
    }

    /// The keys of the user with this unique id, without its service accounts.
    pub(super) fn long_term_keys(&self, user_id: &str) -> impl Iterator<Item = &Arc<AccessKey>> {
        let keys = self.keys.values().filter(|key| !key.is_of_service);
        keys.filter(move |key| key.user.caller.user_id == user_id)
    }

    /// The key with this id.
    pub fn find(&self, access_key: &str) -> Option<&Arc<AccessKey>> {
        self.keys.get(access_key)
    }

    /// The user with this unique id.
    pub fn user_of_id(&self, id: &str) -> Option<&Arc<User>> {
        self.users.get(id)
    }

    /// `true` if the configuration has a user (including the root user) or a role with this name in
    /// the account.
    pub fn is_configured(&self, account: &str, kind: NameOf, name: &str) -> bool {
        self.configured.contains(&(account.to_owned(), kind, name.to_lowercase()))
    }

    /// The role with this unique id.
    pub(super) fn role_of_id(&self, id: &str) -> Option<&Arc<Role>> {
        self.roles.get(id)
    }

    /// The role with this ARN.
    pub fn role(&self, arn: &str) -> Option<&Arc<Role>> {
        self.roles_by_arn.get(arn)
    }

    /// The issuer with this URL, if it may vouch for roles of the account.
    pub fn issuer(&self, url: &str, account: &str) -> Option<&Issuer> {
        let url = url.trim_end_matches('/');
        let is_open = |issuer: &Issuer| issuer.account.as_deref().is_none_or(|it| it == account);
        self.issuers.iter().find(|issuer| issuer.url == url && is_open(issuer))
    }

    /// The managed policy with this ARN, of an account or of AWS.
    pub fn policy(&self, arn: &str) -> Option<Arc<Policy>> {
        let own = self.policies.get(arn);
        own.or_else(|| managed(arn).map(|(_, policy)| policy)).cloned()
    }

    /// The serial number, unique among the directories of this process.
    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    /// `true` if all users belong to one account.
    pub fn has_one_account(&self) -> bool {
        self.accounts.len() == 1
    }

    /// The first configured account.
    pub fn first_account(&self) -> Option<&Arc<Account>> {
        self.first_account.as_ref()
    }

    /// The account with this 12-digit id.
    pub fn account(&self, id: &str) -> Option<&Arc<Account>> {
        self.accounts.get(id)
    }

    /// The account with this canonical id.
    pub fn account_of_canonical_id(&self, canonical_id: &str) -> Option<&Arc<Account>> {
        self.by_canonical_id.get(canonical_id)
    }
}

/// A directory under construction.
#[derive(Debug, Default)]
pub struct DirectoryBuilder {
    directory: Directory,
}

impl DirectoryBuilder {
    /// Starts with the configured directory, whose names are taken.
    pub fn over(configured: &Directory) -> DirectoryBuilder {
        let mut directory = configured.clone();
        let users = configured.users.values();
        let users = users.map(|it| (it.account.id.clone(), NameOf::User, it.name.to_lowercase()));
        let roles = configured.roles.values();
        let roles = roles.map(|it| (it.account.id.clone(), NameOf::Role, it.name.to_lowercase()));
        directory.configured = users.chain(roles).collect();
        DirectoryBuilder { directory }
    }

    /// Adds an account.
    ///
    /// # Errors
    /// [`IdentityError`] if its id or canonical id is taken.
    pub fn account(&mut self, account: Account) -> Result<Arc<Account>, IdentityError> {
        let Directory { accounts, by_canonical_id, first_account, .. } = &mut self.directory;
        if by_canonical_id.contains_key(&account.canonical_id) {
            return fail(
                "another user has this access key or canonical id: give each user an access key of its own",
            );
        }
        if accounts.contains_key(&account.id) {
            return fail(format!(
                "the account {} belongs to another user; give account = \"…\", 12 digits",
                account.id
            ));
        }
        let account = Arc::new(account);
        first_account.get_or_insert_with(|| Arc::clone(&account));
        accounts.insert(account.id.clone(), Arc::clone(&account));
        by_canonical_id.insert(account.canonical_id.clone(), Arc::clone(&account));
        Ok(account)
    }

    /// Adds a key and its user.
    ///
    /// # Errors
    /// [`IdentityError`] if its id is taken.
    pub fn key(&mut self, key: AccessKey) -> Result<(), IdentityError> {
        self.user(Arc::clone(&key.user));
        self.service_key(key)
    }

    /// Adds a key only: its user may have fewer rights than the user with the same unique id.
    ///
    /// # Errors
    /// [`IdentityError`] if its id is taken.
    pub fn service_key(&mut self, key: AccessKey) -> Result<(), IdentityError> {
        let id = key.id.clone();
        match self.directory.keys.insert(id, Arc::new(key)) {
            None => Ok(()),
            Some(key) => fail(format!("another user has the access_key {:?}", key.id)),
        }
    }

    /// Adds a user, with or without keys.
    pub fn user(&mut self, user: Arc<User>) {
        self.directory.users.insert(user.caller.user_id.clone(), user);
    }

    /// Adds a role.
    ///
    /// # Errors
    /// [`IdentityError`] if its ARN is taken.
    pub fn role(&mut self, role: Role) -> Result<(), IdentityError> {
        if self.directory.roles_by_arn.contains_key(&role.arn) {
            return fail(format!("there are two roles {}", role.arn));
        }
        let role = Arc::new(role);
        self.directory.roles.insert(role.unique_id.clone(), Arc::clone(&role));
        self.directory.roles_by_arn.insert(role.arn.clone(), role);
        Ok(())
    }

    /// Adds a managed policy of an account.
    pub fn policy(&mut self, arn: String, policy: Arc<Policy>) {
        self.directory.policies.insert(arn, policy);
    }

    /// Adds an issuer of web identities.
    pub fn issuer(&mut self, issuer: Issuer) {
        self.directory.issuers.push(issuer);
    }

    /// The directory built so far.
    pub fn so_far(&self) -> &Directory {
        &self.directory
    }

    /// The directory.
    pub fn build(mut self) -> Directory {
        static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);
        self.directory.serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        self.directory
    }
}

impl From<Directory> for DirectoryBuilder {
    fn from(directory: Directory) -> DirectoryBuilder {
        DirectoryBuilder { directory }
    }
}

impl Directory {
    /// A directory of root users, each with its own account: `(name, access key, secret key)`.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn of_roots(users: &[(&str, &str, &str)]) -> Result<Directory, IdentityError> {
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
