//! The configured users and the users created at run time. A credentials file is reloaded when it
//! changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use liteio_store::vectors::ListVectorBuckets;
use liteio_store::{
    EncryptionKey, Identities, IdentityEntry, KeyRing, ListBuckets, Owner, RandomSource as _,
    SecretKeys, Store, StoreError, SystemRandom,
};
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::state::{State, resealed};
use crate::settings::{CredentialsSource, IdentitySettings, OidcIssuer};
use liteio_access::remote::RemoteTarget;
use liteio_access::state::App;
use liteio_access::tiers::Tier;
use liteio_identity::{
    CurrentDirectory, Directory, DirectoryBuilder, Issuer, Sessions, canonical_id_of_key,
    only_user, read_credentials,
};
use liteio_wire::file_stamp::FileStamp;

/// Interval between two checks of the credentials file.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The configured users, read once.
#[derive(Debug)]
pub struct ConfiguredUsers {
    source: CredentialsSource,
    directory: Directory,
    /// The stamps of the files, taken before they were read.
    stamps: Vec<Stamp>,
    ca_file: Option<PathBuf>,
    issuers: Vec<OidcIssuer>,
    /// The owner of all data, if it differs from the default of the only user's access key.
    owner_id: Option<String>,
}

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

/// A file at one moment.
#[derive(Debug)]
struct Stamp {
    path: PathBuf,
    /// `None` for a missing file.
    state: Option<FileStamp>,
}

impl Stamp {
    fn of(path: PathBuf) -> Stamp {
        let state = FileStamp::of(&path);
        Stamp { path, state }
    }

    fn is_of_now(&self) -> bool {
        self.state == FileStamp::of(&self.path)
    }
}

impl ConfiguredUsers {
    /// Reads the configured users.
    ///
    /// # Errors
    /// One line that tells what to change, without secrets.
    pub fn read(settings: &IdentitySettings) -> Result<ConfiguredUsers, String> {
        let mut stamps = Vec::new();
        let (source, issuers) = (settings.credentials.clone(), settings.oidc_issuers.clone());
        let directory = read(&source, None, &issuers, &mut stamps)?;
        let ca_file = settings.ca_file.clone();
        Ok(ConfiguredUsers { source, directory, stamps, ca_file, issuers, owner_id: None })
    }

    /// The owner of what the server makes: the first account.
    pub fn owner(&self) -> Option<Owner> {
        let account = self.directory.first_account()?;
        let (id, display_name) = (account.canonical_id.clone(), account.display_name.clone());
        Some(Owner { id, display_name })
    }

    /// Makes the only configured user the owner of all data in the store, even after its access key
    /// was changed.
    ///
    /// # Errors
    /// One line.
    pub fn take_over(mut self, store: &Store) -> Result<ConfiguredUsers, String> {
        let CredentialsSource::Pair { access_key, .. } = &self.source else { return Ok(self) };
        let owner_id = other_owner_of_all(store, access_key).map_err(|error| error.to_string())?;
        if owner_id.is_some() {
            let issuers = &self.issuers;
            self.directory = read(&self.source, owner_id.as_deref(), issuers, &mut self.stamps)?;
            self.owner_id = owner_id;
        }
        Ok(self)
    }
}

/// The canonical id of the owner of all buckets and vector buckets. `None` if there are several
/// owners, or if it is the default of this access key.
///
/// # Errors
/// Errors of the store.
pub fn other_owner_of_all(store: &Store, access_key: &str) -> Result<Option<String>, StoreError> {
    let own = canonical_id_of_key(access_key);
    let mut found: Option<String> = None;
    let mut is_other = |id: String| {
        let is_the_same = found.as_ref().is_none_or(|it| *it == id);
        let is_other = is_the_same && id != own;
        found = Some(id);
        is_other
    };
    let mut query = ListBuckets { max: usize::MAX, ..ListBuckets::default() };
    loop {
        let page = store.list_buckets(&query)?;
        if !page.buckets.into_iter().all(|bucket| is_other(bucket.owner.id)) {
            return Ok(None);
        }
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let mut query = ListVectorBuckets { max: usize::MAX, ..ListVectorBuckets::default() };
    loop {
        let page = store.list_vector_buckets(&query)?;
        if !page.buckets.into_iter().all(|bucket| is_other(bucket.owner.id)) {
            return Ok(None);
        }
        query.after = page.next;
        if query.after.is_none() {
            return Ok(found);
        }
    }
}

/// The generated key of a data directory without a master key.
fn own_key(entries: &[IdentityEntry]) -> Option<EncryptionKey> {
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
const OWN_KEY: &[u8] = b"own-key";

/// The entry with the random id of a data directory, to which session tokens are bound.
const OWN_ID: &[u8] = b"own-id";
const ID_BYTES: usize = 16;

/// The id of the data directory, generated if there is none.
fn own_id(entries: &[IdentityEntry], store: &Store) -> Result<Vec<u8>, StoreError> {
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

/// All entries about users, with a line in the log for each damaged one.
fn read_identities(store: &Store) -> Result<Identities, StoreError> {
    let identities = store.identities()?;
    for error in &identities.damaged {
        tracing::error!(%error, "an entry about users is damaged: what it said is not in effect");
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
            let made = EncryptionKey::generate(&SystemRandom)?;
            store.identity_or(OWN_KEY.to_vec(), made.expose().to_vec()).wait()?;
            own = Some(made);
        }
        let keys = SecretKeys::new(ring, own.as_ref());
        let mut state = State::read(&identities);
        let (resealed, _) = resealed(&state, &keys)?;
        // A standby leaves that to its primary.
        if !resealed.is_empty() && store.suspended().is_none() {
            let stamp = store.change_identities(resealed, Some(identities.stamp)).wait()?;
            state = state.stamped(stamp);
        }
        let state = Arc::new(state);
        let ConfiguredUsers { source, directory, stamps, ca_file, issuers, owner_id } = configured;
        let current = state.directory(&directory, &keys);
        let sessions = Sessions::new(keys.clone(), &own_id(entries, store)?);
        Ok(Users {
            source,
            current: Arc::new(CurrentDirectory::new(current, sessions)),
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
    pub(super) fn state(&self) -> Arc<State> {
        Arc::clone(&self.parts.lock().state)
    }

    /// The configured users.
    pub(super) fn configured(&self) -> Arc<Directory> {
        Arc::clone(&self.parts.lock().configured)
    }

    /// The file of additional certificate authorities for issuers.
    pub(super) fn ca_file(&self) -> Option<&Path> {
        self.ca_file.as_deref()
    }

    /// The keys that seal secrets.
    pub(super) fn keys(&self) -> &SecretKeys {
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
    pub(super) async fn change(
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
        (parts.state, parts.epoch) = (Arc::new(state), epoch);
        self.current.replace(parts.state.directory(&parts.configured, &self.keys));
    }

    /// Reads the records again that were created at run time: a standby's are those of its primary.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn read_store_again(&self, store: &Store) -> Result<(), StoreError> {
        let identities = read_identities(store)?;
        self.replace(State::read(&identities), identities.epoch);
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
        match read(&self.source, self.owner_id.as_deref(), &self.issuers, &mut parts.stamps) {
            Ok(configured) => {
                parts.configured = Arc::new(configured);
                self.current.replace(parts.state.directory(&parts.configured, &self.keys));
                tracing::info!("the users were read again");
            }
            Err(error) => tracing::warn!("the users stay as they were: {error}"),
        }
    }

    /// Checks the file every second while the result lives.
    pub fn watch(self: &Arc<Users>, app: &Arc<App>) -> Watch {
        if matches!(self.source, CredentialsSource::Pair { .. }) {
            return Watch(None);
        }
        let (users, app) = (Arc::clone(self), Arc::clone(app));
        Watch(Some(tokio::spawn(async move {
            let mut ticks = interval(LOOK_AGAIN);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let users = Arc::clone(&users);
                let looked = app.blocking(move |_| -> Result<(), StoreError> {
                    users.read_again_if_changed();
                    Ok(())
                });
                if let Err(error) = looked.await {
                    tracing::debug!(%error, "the users were not read again");
                }
            }
        })))
    }
}

/// The task that reloads users. It ends when this is dropped.
pub struct Watch(Option<JoinHandle<()>>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Reads the users. The stamps are taken before, so that a change during the read is noticed.
fn read(
    source: &CredentialsSource,
    owner_id: Option<&str>,
    issuers: &[OidcIssuer],
    stamps: &mut Vec<Stamp>,
) -> Result<Directory, String> {
    let mut directory = DirectoryBuilder::from(read_source(source, owner_id, stamps)?);
    for issuer in issuers {
        let issuer = Issuer::new(&issuer.url, issuer.audiences.clone());
        directory.issuer(issuer.map_err(|error| error.to_string())?);
    }
    Ok(directory.build())
}

fn read_source(
    source: &CredentialsSource,
    owner_id: Option<&str>,
    stamps: &mut Vec<Stamp>,
) -> Result<Directory, String> {
    let path = match source {
        CredentialsSource::Pair { access_key, secret_key } => {
            let directory = only_user(access_key, secret_key, owner_id);
            return directory.map_err(|error| error.to_string());
        }
        CredentialsSource::File(path) => path,
        CredentialsSource::Made => return Err("the credentials were not made".to_owned()),
    };
    let mut read = |path: &Path| {
        stamps.push(Stamp::of(path.to_owned()));
        let text = fs::read_to_string(path);
        text.map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let text = read(path)?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let directory = read_credentials(&text, &mut |name| read(&beside.join(name)));
    directory.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use liteio_store::StoreConfig;

    use super::super::records::{Document, ProviderRecord, ServiceKeyRecord};
    use super::super::state::{Draft, seal_secret};
    use super::*;

    fn users_of(credentials: CredentialsSource, store: &Store) -> Arc<Users> {
        let configured = ConfiguredUsers::read(&IdentitySettings::new(credentials));
        let users = Users::open(configured.expect("valid"), store, &KeyRing::default());
        Arc::new(users.expect("opens"))
    }

    #[test]
    fn a_damaged_key_of_the_data_directory_is_not_replaced() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let entry = IdentityEntry { key: OWN_KEY.to_vec(), value: Some(vec![7; 31]) };
        store.change_identities(vec![entry.clone()], None).wait().expect("written");
        let credentials =
            CredentialsSource::Pair { access_key: "alice".into(), secret_key: "a secret".into() };
        let configured = || {
            let config = IdentitySettings::new(credentials.clone());
            ConfiguredUsers::read(&config).expect("valid")
        };
        assert!(Users::open(configured(), &store, &KeyRing::default()).is_err());
        assert_eq!(store.identities().expect("read").entries, [entry]);
        let ring = KeyRing::new(vec![EncryptionKey::new([1; 32])], Vec::new());
        assert!(Users::open(configured(), &store, &ring).is_ok());
    }

    #[tokio::test]
    async fn a_change_that_is_broken_off_is_in_effect_once_it_is_durable() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let credentials =
            CredentialsSource::Pair { access_key: "alice".into(), secret_key: "a secret".into() };
        let users = users_of(credentials, &store);
        let account = "000000000000";
        let mut draft = Draft::new(account, &users.state().account(account));
        draft.put(ProviderRecord {
            url: "login.example.com".to_owned(),
            created: 0,
            client_ids: vec!["storage".to_owned()],
            thumbprints: Vec::new(),
            tags: Default::default(),
        });
        let (changes, changed) = draft.finish();
        let state = users.state().with(account.to_owned(), changed);
        let change = users.change(&store, users.changing().await, changes, state);
        tokio::select! {
            biased;
            _ = change => {}
            () = std::future::ready(()) => {}
        }
        let _next = users.changing().await;
        let entries = store.identities().expect("read").entries;
        assert!(entries.iter().any(|entry| entry.key.starts_with(b"provider/")), "it is durable");
        assert!(users.current().now().issuer("https://login.example.com", account).is_some());
    }

    #[test]
    fn a_service_account_is_there_after_a_start_with_another_master_key() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let key = |byte: u8| EncryptionKey::new([byte; 32]);
        let (former, both) = (
            KeyRing::new(vec![key(1)], Vec::new()),
            KeyRing::new(vec![key(2), key(1)], Vec::new()),
        );
        let account = "000000000000";
        let policy = r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject",
            "Resource":"*"}}"#;
        let secret = seal_secret(b"a service secret", &SecretKeys::new(&former, None));
        let mut draft = Draft::new(account, &Default::default());
        draft.put(ServiceKeyRecord {
            id: "Service".to_owned(),
            secret: secret.expect("random bytes"),
            active: true,
            created: 0,
            owner: account.to_owned(),
            name: None,
            description: None,
            expires: Some(100),
            policy: Some(Document::of_identity(policy).expect("a policy")),
        });
        store.change_identities(draft.finish().0, None).wait().expect("written");
        let credentials =
            CredentialsSource::Pair { access_key: "alice".into(), secret_key: "a secret".into() };
        let open = |ring: &KeyRing| {
            let config = IdentitySettings::new(credentials.clone());
            let configured = ConfiguredUsers::read(&config).expect("valid");
            Users::open(configured, &store, ring).expect("opens")
        };
        for ring in [&former, &both, &KeyRing::new(vec![key(2)], Vec::new())] {
            let users = open(ring);
            let found = users.current().key("Service", None, 99).expect("known");
            assert_eq!(found.secret.expose(), "a service secret");
            assert!(found.user.is_root() && found.user.session_policies.is_some());
            assert!(users.current().key("Service", None, 100).is_err(), "it has ended");
            let root = users.current().now().user_of_id(account).cloned().expect("the root user");
            assert!(root.session_policies.is_none(), "its own rights are not narrowed");
        }
    }

    const ALICE: &str =
        "[[user]]\nname = 'alice'\naccess_key = 'alice-key'\nsecret_key = 'a secret'\n";

    #[test]
    fn a_changed_file_is_read_again_and_a_bad_one_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users.toml");
        let write = |text: &str| fs::write(&path, text).expect("written");
        write(ALICE);
        let credentials = CredentialsSource::File(path.clone());
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let users = users_of(credentials, &store);
        let knows = |key: &str| {
            users.read_again_if_changed();
            users.current().key(key, None, 0).is_ok()
        };
        assert!(knows("alice-key"));

        let member = "[[user]]\nname = 'bob'\nparent = 'alice'\naccess_key = 'bob-key'\n\
                      secret_key = 'b secret'\npolicy_files = ['bob.json']\n";
        write(&format!("{ALICE}{member}"));
        assert!(!knows("bob-key"), "its policy is missing");
        let policy = r#"{"Version": "2012-10-17", "Statement":
            {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}"#;
        fs::write(folder.path().join("bob.json"), policy).expect("written");
        assert!(knows("bob-key"), "the missing file was looked for");

        write("[[user]]\nname = 'eve'");
        assert!(knows("alice-key") && knows("bob-key"), "a file that is not valid is ignored");
        write(&ALICE.replace("alice-key", "other-key"));
        assert!(!knows("alice-key") && !knows("bob-key") && knows("other-key"));
        fs::remove_file(&path).expect("removed");
        assert!(knows("other-key"));
    }
}
