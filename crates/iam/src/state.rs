//! The users, groups, roles and policies created at run time, at one moment.
//!
//! A change works on a [`Draft`] of one account, which collects the records to write. After they
//! are durable, the draft replaces the account, and the directory is rebuilt.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_store::{Identities, IdentityEntry, SecretKeys, StoreError, SystemRandom};

use super::records::{
    GroupRecord, Policies, PolicyRecord, ProviderRecord, Record, RemoteRecord, RoleRecord,
    ServiceKeyRecord, TierRecord, UserRecord,
};
use liteio_access::remote::{RemoteSources, RemoteTarget};
use liteio_access::tiers::{Tier, TierKind};
use liteio_identity::{
    AccessKey, Account, AttachedPolicy, Directory, DirectoryBuilder, Issuer, NameOf, Role,
    SecretKey, User,
};

/// Records of one kind, by name in lower case.
pub(super) type Table<R> = BTreeMap<String, Arc<R>>;

/// The purpose for which secrets of access keys are sealed.
const SECRET_PURPOSE: &str = "secret key";

/// The reason why a secret cannot be opened.
const NOT_GIVEN: &str = "its secret is sealed by a master key that is not given: give all keys there were, at a standby the file \
                         that its primary has now, by --master-key-file or LITEIO_MASTER_KEY, in the place of a MinIO by \
                         MINIO_KMS_SECRET_KEY";

/// All records of one account.
#[derive(Clone, Debug, Default)]
pub(super) struct AccountState {
    pub(super) users: Table<UserRecord>,
    pub(super) groups: Table<GroupRecord>,
    pub(super) roles: Table<RoleRecord>,
    pub(super) policies: Table<PolicyRecord>,
    pub(super) providers: Table<ProviderRecord>,
    /// Service accounts.
    pub(super) keys: Table<ServiceKeyRecord>,
    /// Targets of replication.
    pub(super) remotes: Table<RemoteRecord>,
    /// Tiers.
    pub(super) tiers: Table<TierRecord>,
}

/// Access to the table of a record kind.
pub(super) trait Tabled: Record {
    fn table(state: &AccountState) -> &Table<Self>;
    fn table_mut(state: &mut AccountState) -> &mut Table<Self>;
}

macro_rules! tabled {
    ($($record:ident $table:ident;)*) => {
        $(impl Tabled for $record {
            fn table(state: &AccountState) -> &Table<Self> {
                &state.$table
            }

            fn table_mut(state: &mut AccountState) -> &mut Table<Self> {
                &mut state.$table
            }
        })*

        impl AccountState {
            /// Reads a record; `false` if its kind is unknown.
            fn read(&mut self, kind: &str, name: &str, json: &[u8]) -> Result<bool, serde_json::Error> {
                $(if kind == $record::KIND {
                    let record: $record = serde_json::from_slice(json)?;
                    self.$table.insert(name.to_owned(), Arc::new(record));
                    return Ok(true);
                })*
                Ok(false)
            }
        }
    };
}

tabled! {
    UserRecord users;
    GroupRecord groups;
    RoleRecord roles;
    PolicyRecord policies;
    ProviderRecord providers;
    ServiceKeyRecord keys;
    RemoteRecord remotes;
    TierRecord tiers;
}

impl AccountState {
    /// The number of records.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn len(&self) -> usize {
        let AccountState { users, groups, roles, policies, providers, keys, remotes, tiers } = self;
        let of_users = users.len() + groups.len() + keys.len() + remotes.len() + tiers.len();
        of_users + roles.len() + policies.len() + providers.len()
    }

    /// The owner of this access key or service account.
    pub(super) fn owner_of_key(&self, id: &str) -> Option<&Arc<UserRecord>> {
        let owner = self.service_key(id).map(|key| &key.owner);
        let is_own = |user: &&Arc<UserRecord>| user.keys.iter().any(|key| key.id == id);
        self.users.values().find(|user| owner == Some(&user.id) || is_own(user))
    }

    /// The service account with exactly this access key.
    pub(super) fn service_key(&self, id: &str) -> Option<&Arc<ServiceKeyRecord>> {
        self.get::<ServiceKeyRecord>(id).filter(|key| key.id == id)
    }

    /// The record with this name, ignoring case.
    pub(super) fn get<R: Tabled>(&self, name: &str) -> Option<&Arc<R>> {
        R::table(self).get(&name.to_lowercase())
    }
}

/// All accounts with records.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    accounts: BTreeMap<String, Arc<AccountState>>,
    /// Number of entries that were skipped: unreadable, or of a newer version.
    skipped: u64,
    /// The stamp of the entries. See [`Identities::stamp`].
    stamp: u64,
}

/// The key of a record.
fn key_of(kind: &str, account: &str, name: &str) -> Vec<u8> {
    format!("{kind}/{account}/{name}").into_bytes()
}

impl State {
    /// Reads entries of the key space. Unreadable ones are logged and skipped. A skipped policy
    /// denies everything to its holders. A skipped group loses its rights, but also its denials.
    pub(super) fn read(identities: &Identities) -> State {
        let mut accounts: BTreeMap<String, AccountState> = BTreeMap::new();
        let mut skipped = 0;
        for IdentityEntry { key, value } in &identities.entries {
            let Some(value) = value else { continue };
            let text = String::from_utf8_lossy(key);
            let mut words = text.splitn(3, '/');
            let (Some(kind), Some(account), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            match accounts.entry(account.to_owned()).or_default().read(kind, name, value) {
                Ok(true) => {}
                Ok(false) => {
                    tracing::warn!(entry = %text, "an entry of a newer version is ignored");
                    skipped += 1;
                }
                Err(error) => {
                    tracing::error!(entry = %text, %error, "an entry cannot be read");
                    skipped += 1;
                }
            }
        }
        let accounts = accounts.into_iter().map(|(id, it)| (id, Arc::new(it))).collect();
        State { accounts, skipped, stamp: identities.stamp }
    }

    /// The stamp of the entries.
    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The same state, as it was written with this stamp.
    pub(super) fn stamped(self, stamp: u64) -> State {
        State { stamp, ..self }
    }

    /// The number of entries that were skipped.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The users, groups, roles, policies and providers of an account.
    pub(super) fn account(&self, id: &str) -> Arc<AccountState> {
        self.accounts.get(id).cloned().unwrap_or_default()
    }

    /// `true` if an access key created at run time has this id, ignoring case.
    pub(super) fn has_key(&self, id: &str) -> bool {
        self.accounts.values().any(|account| {
            let mut of_users = account.users.values().flat_map(|user| &user.keys);
            account.keys.contains_key(&id.to_lowercase())
                || of_users.any(|key| key.id.eq_ignore_ascii_case(id))
        })
    }

    /// The state with one account replaced.
    pub(super) fn with(&self, account: String, state: AccountState) -> State {
        let mut accounts = self.accounts.clone();
        accounts.insert(account, Arc::new(state));
        State { accounts, ..*self }
    }

    /// The targets of replication of all accounts. Those whose secret no key opens are left out.
    pub(super) fn remote_targets(&self, keys: &SecretKeys) -> Vec<RemoteTarget> {
        let remotes = self.accounts.values().flat_map(|account| account.remotes.values());
        let target = |remote: &Arc<RemoteRecord>| {
            let Some(secret_key) = open_foreign_secret(&remote.secret, keys) else {
                tracing::warn!(target = remote.arn, "the target cannot be used: {NOT_GIVEN}");
                return None;
            };
            Some(RemoteTarget {
                arn: remote.arn.clone(),
                url: remote.url.clone(),
                bucket: remote.bucket.clone(),
                access_key: remote.access_key.clone(),
                secret_key,
                region: remote.region.clone(),
                kind: None,
                sources: RemoteSources::One { name: remote.source.clone(), id: remote.source_id },
            })
        };
        remotes.filter_map(target).collect()
    }

    /// The tiers of all accounts. Those whose secret no key opens are left out.
    pub(super) fn tiers(&self, keys: &SecretKeys) -> Vec<Tier> {
        let records = self.accounts.values().flat_map(|account| account.tiers.values());
        let tier = |record: &Arc<TierRecord>| {
            let (Some(secret_key), Some(kind)) =
                (open_foreign_secret(&record.secret, keys), TierKind::of_name(&record.kind))
            else {
                tracing::warn!(tier = record.name, "the tier cannot be used: {NOT_GIVEN}");
                return None;
            };
            let tier = Tier {
                name: record.name.clone(),
                kind,
                url: record.url.clone(),
                bucket: record.bucket.clone(),
                prefix: record.prefix.clone(),
                access_key: record.access_key.clone(),
                secret_key,
                region: record.region.clone(),
                storage_class: record.storage_class.clone(),
                classes: Vec::new(),
                is_made: true,
            };
            let checked = tier.checked();
            checked.inspect_err(|reason| tracing::warn!(reason, "a tier cannot be used")).ok()
        };
        records.filter_map(tier).collect()
    }

    /// The directory of the configured users and of all records.
    pub(super) fn directory(&self, configured: &Directory, keys: &SecretKeys) -> Directory {
        let mut directory = DirectoryBuilder::over(configured);
        for (id, state) in &self.accounts {
            match configured.account(id) {
                Some(account) => state.add_to(&mut directory, account, keys),
                None => tracing::warn!(account = id, "users of an account without root user"),
            }
        }
        directory.build()
    }
}

impl AccountState {
    fn add_to(&self, directory: &mut DirectoryBuilder, account: &Arc<Account>, keys: &SecretKeys) {
        for policy in self.policies.values() {
            if let Some(version) = policy.current() {
                let arn = policy_arn(&account.id, policy);
                directory.policy(arn, Arc::clone(&version.document.policy));
            }
        }
        for provider in self.providers.values() {
            directory.issuer(Issuer {
                url: format!("https://{}", provider.url),
                audiences: provider.client_ids.clone(),
                account: Some(account.id.clone()),
            });
        }
        for role in self.roles.values() {
            if directory.so_far().is_configured(&account.id, NameOf::Role, &role.name) {
                tracing::warn!(role = role.name, "the role of the credentials file counts");
                continue;
            }
            let role = self.role(role, account, directory.so_far());
            if let Err(error) = directory.role(role) {
                tracing::warn!(%error, "the role is left out");
            }
        }
        let mut groups: BTreeMap<&str, Vec<&GroupRecord>> = BTreeMap::new();
        for group in self.groups.values() {
            for member in &group.members {
                groups.entry(member).or_default().push(group);
            }
        }
        for record in self.users.values().filter(|user| !user.disabled) {
            // Policies name users by ARN, so one of two users with the same name would get the
            // rights of the other.
            if directory.so_far().is_configured(&account.id, NameOf::User, &record.name) {
                tracing::warn!(user = record.name, "the user of the credentials file counts");
                continue;
            }
            let groups = groups.get(record.id.as_str()).map(Vec::as_slice).unwrap_or_default();
            let user = self.user(record, groups, account, directory.so_far());
            self.add_keys(record, Arc::new(user), directory, keys);
        }
        for key in self.keys.values().filter(|key| key.active) {
            if let Err(reason) = add_service_key(key, account, directory, keys) {
                tracing::warn!(access_key = key.id, reason, "the key cannot be used");
            }
        }
    }

    fn role(&self, role: &RoleRecord, account: &Arc<Account>, so_far: &Directory) -> Role {
        let mut policies = Vec::new();
        add_policies(&mut policies, "", &role.policies, so_far);
        Role {
            name: role.name.clone(),
            arn: role_arn(&account.id, role),
            unique_id: role.id.clone(),
            account: Arc::clone(account),
            trust: Arc::clone(&role.trust.policy),
            tags: role.tags.clone().into_iter().collect(),
            policies: policies.into(),
            session_seconds_max: role.session_seconds_max,
        }
    }

    fn user(
        &self,
        record: &UserRecord,
        groups: &[&GroupRecord],
        account: &Arc<Account>,
        so_far: &Directory,
    ) -> User {
        let mut policies = Vec::new();
        add_policies(&mut policies, "", &record.policies, so_far);
        for group in groups {
            // As on MinIO, members of a disabled group may do nothing, whatever their own policies
            // and their other groups allow. IAM has no disabled groups.
            match group.disabled {
                true => policies.push(AttachedPolicy::of_disabled_group(&group.name)),
                false => {
                    let prefix = format!("{}/", group.name);
                    add_policies(&mut policies, &prefix, &group.policies, so_far);
                }
            }
        }
        let UserRecord { name, path, id, tags, .. } = record;
        let tags = tags.clone().into_iter().collect();
        User::made(name, path, id.clone(), Arc::clone(account), policies.into(), tags)
    }

    fn add_keys(
        &self,
        record: &UserRecord,
        user: Arc<User>,
        directory: &mut DirectoryBuilder,
        keys: &SecretKeys,
    ) {
        directory.user(Arc::clone(&user));
        for key in record.keys.iter().filter(|key| key.active) {
            if directory.so_far().find(&key.id).is_some() {
                tracing::warn!(access_key = key.id, "the key of the credentials file counts");
                continue;
            }
            let Some(secret) = open_secret(&key.secret, keys) else {
                tracing::warn!(access_key = key.id, "the key cannot be used: {NOT_GIVEN}");
                continue;
            };
            let added = AccessKey::new(key.id.clone(), secret, Arc::clone(&user));
            if let Err(error) = added.and_then(|key| directory.key(key)) {
                tracing::warn!(access_key = key.id, %error, "the key cannot be used");
            }
        }
    }
}

/// Adds a service account: its user, with the rights narrowed by its policy.
fn add_service_key(
    record: &ServiceKeyRecord,
    account: &Account,
    directory: &mut DirectoryBuilder,
    keys: &SecretKeys,
) -> Result<(), String> {
    let Some(user) = directory.so_far().user_of_id(&record.owner) else {
        tracing::debug!(access_key = record.id, "the user of the key is disabled, or gone");
        return Ok(());
    };
    if user.account.id != account.id {
        return Err("its user is of another account".to_owned());
    }
    if directory.so_far().find(&record.id).is_some() {
        return Err(
            "the credentials file or a user has this access key, which takes precedence".to_owned()
        );
    }
    let user = match &record.policy {
        None => Arc::clone(user),
        Some(document) => {
            let name = format!("policy of {}", record.id);
            let policy = AttachedPolicy { name, policy: Arc::clone(&document.policy) };
            Arc::new(User { session_policies: Some([policy].into()), ..User::clone(user) })
        }
    };
    let secret = open_secret(&record.secret, keys).ok_or(NOT_GIVEN)?;
    let key = AccessKey::new(record.id.clone(), secret, user).map_err(|error| error.to_string())?;
    directory.service_key(key.of_service(record.expires)).map_err(|error| error.to_string())
}

/// Entries to write for users with keys whose secrets are not sealed with the first of `keys`,
/// sealed anew; and the number of secrets that none of `keys` opens.
pub(super) fn resealed(
    state: &State,
    keys: &SecretKeys,
) -> Result<(Vec<IdentityEntry>, u64), StoreError> {
    let (mut entries, mut missing) = (Vec::new(), 0);
    for (account, state) in &state.accounts {
        let mut draft = Draft::new(account, state);
        for user in state.users.values() {
            let mut changed = UserRecord::clone(user);
            let mut is_changed = false;
            for key in &mut changed.keys {
                is_changed |= reseal(&mut key.secret, keys, &mut missing)?;
            }
            if is_changed {
                draft.put(changed);
            }
        }
        for key in state.keys.values() {
            let mut changed = ServiceKeyRecord::clone(key);
            if reseal(&mut changed.secret, keys, &mut missing)? {
                draft.put(changed);
            }
        }
        for remote in state.remotes.values() {
            let mut changed = RemoteRecord::clone(remote);
            if reseal(&mut changed.secret, keys, &mut missing)? {
                draft.put(changed);
            }
        }
        for tier in state.tiers.values() {
            let mut changed = TierRecord::clone(tier);
            if reseal(&mut changed.secret, keys, &mut missing)? {
                draft.put(changed);
            }
        }
        entries.extend(draft.finish().0);
    }
    Ok((entries, missing))
}

/// Seals a secret with the first of `keys`, unless it is already. Counts a secret that no key opens
/// as `missing`.
fn reseal(secret: &mut String, keys: &SecretKeys, missing: &mut u64) -> Result<bool, StoreError> {
    let sealed = base64_simd::STANDARD.decode_to_vec(secret.as_bytes()).unwrap_or_default();
    if keys.is_newest(&sealed) {
        return Ok(false);
    }
    let Some(opened) = keys.open(SECRET_PURPOSE, &sealed) else {
        *missing += 1;
        return Ok(false);
    };
    *secret = seal_secret(&opened, keys)?;
    Ok(true)
}

/// Seals a secret for a record.
///
/// # Errors
/// [`StoreError`] without random bytes.
pub(super) fn seal_secret(secret: &[u8], keys: &SecretKeys) -> Result<String, StoreError> {
    let sealed = keys.seal(SECRET_PURPOSE, secret, &SystemRandom)?;
    Ok(base64_simd::STANDARD.encode_to_string(sealed))
}

/// Opens the secret of a record.
fn open_secret(sealed: &str, keys: &SecretKeys) -> Option<SecretKey> {
    SecretKey::new(open_foreign_secret(sealed, keys)?).ok()
}

/// `true` if one of `keys` opens the secret of a record.
pub(super) fn opens(sealed: &str, keys: &SecretKeys) -> bool {
    open_foreign_secret(sealed, keys).is_some()
}

/// Opens the secret of a record that is of another service, which has rules of its own.
fn open_foreign_secret(sealed: &str, keys: &SecretKeys) -> Option<String> {
    let sealed = base64_simd::STANDARD.decode_to_vec(sealed).ok()?;
    String::from_utf8(keys.open(SECRET_PURPOSE, &sealed)?).ok()
}

fn add_policies(
    to: &mut Vec<AttachedPolicy>,
    prefix: &str,
    policies: &Policies,
    so_far: &Directory,
) {
    for (name, document) in &policies.inline {
        let name = format!("{prefix}{name}");
        to.push(AttachedPolicy { name, policy: Arc::clone(&document.policy) });
    }
    for arn in &policies.attached {
        let name = format!("{prefix}{arn}");
        to.push(match so_far.policy(arn) {
            Some(policy) => AttachedPolicy { name, policy },
            // An attached policy cannot be deleted, so it is unreadable rather than absent.
            None => AttachedPolicy::missing(name),
        });
    }
}

pub(super) fn user_arn(account: &str, path: &str, name: &str) -> String {
    format!("arn:aws:iam::{account}:user{path}{name}")
}

pub(super) fn group_arn(account: &str, group: &GroupRecord) -> String {
    format!("arn:aws:iam::{account}:group{}{}", group.path, group.name)
}

pub(super) fn role_arn(account: &str, role: &RoleRecord) -> String {
    format!("arn:aws:iam::{account}:role{}{}", role.path, role.name)
}

pub(super) fn policy_arn(account: &str, policy: &PolicyRecord) -> String {
    format!("arn:aws:iam::{account}:policy{}{}", policy.path, policy.name)
}

pub(super) fn provider_arn(account: &str, url: &str) -> String {
    format!("arn:aws:iam::{account}:oidc-provider/{url}")
}

/// An account under change.
#[derive(Debug)]
pub(super) struct Draft {
    account: String,
    pub(super) state: AccountState,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Draft {
    pub(super) fn new(account: &str, state: &AccountState) -> Draft {
        Draft { account: account.to_owned(), state: state.clone(), changes: BTreeMap::new() }
    }

    /// Stores a record, replacing the one with the same name.
    pub(super) fn put<R: Tabled>(&mut self, record: R) {
        let name = record.name().to_lowercase();
        let json = serde_json::to_vec(&record).unwrap_or_default();
        self.changes.insert(key_of(R::KIND, &self.account, &name), Some(json));
        R::table_mut(&mut self.state).insert(name, Arc::new(record));
    }

    /// Deletes the record with this name.
    pub(super) fn delete<R: Tabled>(&mut self, name: &str) {
        let name = name.to_lowercase();
        self.changes.insert(key_of(R::KIND, &self.account, &name), None);
        R::table_mut(&mut self.state).remove(&name);
    }

    /// The changes to write, and the account after them.
    pub(super) fn finish(self) -> (Vec<IdentityEntry>, AccountState) {
        let changes = self.changes.into_iter();
        (changes.map(|(key, value)| IdentityEntry { key, value }).collect(), self.state)
    }
}
