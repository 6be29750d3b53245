//! Users in the terms of MinIO's admin API, stored as IAM records.
//!
//! A MinIO user is an IAM user with an access key of the same name. A canned policy is a managed
//! policy, of the account or [predefined](liteio_identity::MANAGED_POLICIES). A service account is
//! a [`ServiceKeyRecord`](super::records::ServiceKeyRecord). So each API shows the changes of the
//! other.

mod bring;
mod error;
mod groups;
mod policies;
mod remotes;
mod service_accounts;
mod tiers;
mod users;

use std::sync::Arc;

use jiff::Timestamp;
use liteio_store::SecretKeys;

pub use self::bring::{Brought, FormerGroup, FormerServiceAccount, FormerUser, FormerUsers, bring};
pub use self::error::{
    AdminResult, bad_json, invalid_argument, kms_key_exists, kms_not_configured, no_such_bucket,
    not_implemented, of_store, remote_target, tier_exists, tier_in_use, tier_invalid,
    tier_not_found, too_large,
};
pub use self::groups::GroupChange;
pub use self::policies::{Association, EntitiesOf, in_aws_form};
pub use self::remotes::{ListedRemote, NewRemote};
pub use self::service_accounts::{ListedKeys, NewServiceAccount, ServiceAccountChange};
pub use self::users::NewUser;

use super::permission::{Circumstances, check, is_denied};
use super::records::{GroupRecord, PolicyRecord, UserRecord};
use super::state::{Draft, State, policy_arn};
use super::users::Users;
use liteio_access::state::App;
use liteio_identity::{AccessKey, Directory, KeyError, MANAGED_ARN, managed, random_id};
use liteio_policy::CallerKind;
use liteio_wire::reply::{ApiError, Dialect};

/// The resource for actions on users: MinIO's policies have none.
const ANYTHING: &str = "arn:aws:s3:::*";

/// Reads and changes the users of a server.
pub struct Manager {
    app: Arc<App>,
    users: Arc<Users>,
}

/// The sender of a request.
pub struct Sender<'s> {
    /// The access key that signed the request.
    pub key: &'s AccessKey,
    /// Facts that the conditions of policies read.
    pub context: Circumstances<'s>,
}

/// The users in the sender's account at one moment.
pub struct Desk<'d> {
    key: Arc<AccessKey>,
    context: &'d Circumstances<'d>,
    draft: Draft,
    state: Arc<State>,
    configured: Arc<Directory>,
    directory: Arc<Directory>,
    secrets: &'d SecretKeys,
    now: i64,
}

impl Manager {
    /// A manager of these users.
    pub fn new(app: Arc<App>, users: Arc<Users>) -> Manager {
        Manager { app, users }
    }

    /// Reads the users.
    ///
    /// # Errors
    /// Errors of `run`, and the refusal of a key that is not valid any more.
    pub fn read<T>(
        &self,
        sender: Sender<'_>,
        run: impl FnOnce(&Desk<'_>) -> AdminResult<T>,
    ) -> AdminResult<T> {
        run(&self.desk(&sender)?)
    }

    /// Changes the users. On return the change is durable and in effect.
    ///
    /// # Errors
    /// Errors of `run` and of the store, and the refusal of a key that is not valid any more.
    pub async fn change<T>(
        &self,
        sender: Sender<'_>,
        operation: &'static str,
        run: impl FnOnce(&mut Desk<'_>) -> AdminResult<T>,
    ) -> AdminResult<T> {
        let changing = self.users.changing().await;
        let mut desk = self.desk(&sender)?;
        let user = Arc::clone(&desk.key.user);
        // As in IAM: a session of the console has the rights of its user.
        let is_plain = user.session.as_ref().is_some_and(|session| !session.is_of_console);
        if is_plain && user.caller.kind != CallerKind::AssumedRole {
            let message = "Keys of GetSessionToken cannot change users: use the user's own keys.";
            return Err(error::access_denied(message));
        }
        let done = run(&mut desk)?;
        let Desk { draft, state, .. } = desk;
        let (changes, changed) = draft.finish();
        if !changes.is_empty() {
            let state = state.with(user.account.id.clone(), changed);
            let changed = self.users.change(&self.app.store, changing, changes, state).await;
            changed.map_err(|error| error::of_store(&error))?;
            tracing::info!(operation, user = user.name, "users were changed");
        }
        Ok(done)
    }

    /// Puts the targets of replication that were added at run time into effect. Configured ones with
    /// the same ARN stay.
    pub fn refresh_remotes(&self) {
        self.app.remote_targets.replace_made(self.users.remote_targets());
    }

    /// Puts the tiers that were added at run time into effect. Configured ones with the same name
    /// stay.
    pub fn refresh_tiers(&self) {
        self.app.tiers.replace_made(self.users.tiers());
    }

    fn desk<'d>(&'d self, sender: &'d Sender<'_>) -> AdminResult<Desk<'d>> {
        let (context, now) = (&sender.context, self.app.now_unix_seconds());
        // A body takes time to arrive, and meanwhile the key may be removed, or the rights of its
        // user reduced.
        let key = self.users.current().again(sender.key, now).map_err(|refused| {
            let message = match refused {
                KeyError::Unknown => "The access key does not exist any more.",
                KeyError::Token(_) => "The session has ended.",
            };
            error::access_denied(message)
        })?;
        let state = self.users.state();
        let account = &key.user.account.id;
        Ok(Desk {
            draft: Draft::new(account, &state.account(account)),
            key,
            context,
            state,
            configured: self.users.configured(),
            directory: self.users.current().now(),
            secrets: self.users.keys(),
            now,
        })
    }
}

impl Desk<'_> {
    /// Checks the right to perform one of `actions`.
    ///
    /// # Errors
    /// `AccessDenied`, for the first of them.
    pub fn may(&self, actions: &[&str]) -> AdminResult<()> {
        let mut refusal = None;
        for action in actions {
            match check(&self.key.user, action, ANYTHING, self.context) {
                Ok(()) => return Ok(()),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(()), |error| Err(error.in_dialect(Dialect::Admin)))
    }

    /// Like [`Desk::may`], but on its own entities the sender is refused only by an explicit deny.
    fn may_for(&self, owner: &str, action: &str) -> AdminResult<()> {
        let user = &self.key.user;
        if user.caller.user_id == owner && !is_denied(user, action, ANYTHING, self.context) {
            return Ok(());
        }
        self.may(&[action])
    }

    fn account(&self) -> &str {
        &self.key.user.account.id
    }

    fn user(&self, name: &str) -> AdminResult<UserRecord> {
        let found = self.draft.state.get::<UserRecord>(name).filter(|user| user.name == name);
        found.map(|user| UserRecord::clone(user)).ok_or_else(|| error::no_such_user(name))
    }

    fn group(&self, name: &str) -> AdminResult<GroupRecord> {
        let found = self.draft.state.get::<GroupRecord>(name).filter(|it| it.name == name);
        found.map(|group| GroupRecord::clone(group)).ok_or_else(|| error::no_such_group(name))
    }

    /// The ARN of the policy with this name: of the account, otherwise a predefined one.
    fn policy_arn(&self, name: &str) -> AdminResult<String> {
        let own = self.draft.state.get::<PolicyRecord>(name).filter(|it| it.name == name);
        if let Some(policy) = own {
            return Ok(policy_arn(self.account(), policy));
        }
        let arn = format!("{MANAGED_ARN}{name}");
        managed(&arn).map(|_| arn).ok_or_else(|| error::no_such_policy(name))
    }

    /// The name of a user by its unique id; for a configured user, its access key.
    fn name_of(&self, user_id: &str) -> Option<String> {
        let made = self.draft.state.users.values().find(|user| user.id == user_id);
        let made = made.map(|user| user.name.clone());
        made.or_else(|| self.configured.key_of_user(user_id).map(str::to_owned))
    }

    /// The unique id of a user of the account, by name or by a configured access key.
    fn id_of(&self, name: &str) -> Option<String> {
        if let Ok(user) = self.user(name) {
            return Some(user.id);
        }
        let key = self.configured.find(name)?;
        let is_own = key.user.account.id == self.account();
        is_own.then(|| key.user.caller.user_id.clone())
    }

    fn new_id(&self, prefix: &str) -> AdminResult<String> {
        random_id(prefix).map_err(|error| error::of_store(&error))
    }

    /// Refuses an access key id that exists in any account.
    fn check_new_key(&self, id: &str) -> AdminResult<()> {
        match self.configured.find(id).is_some() || self.state.has_key(id) {
            true => {
                let message = "There is an access key of this name: choose another.";
                Err(error::invalid_access_key(message))
            }
            false => Ok(()),
        }
    }
}

/// A time in seconds since 1970, in Go's format.
fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// The name of a policy: the end of its ARN.
fn name_of_policy(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or_default()
}

/// IAM's errors about names, in this API's format.
fn for_admin(of: &ApiError) -> ApiError {
    error::invalid_argument(of.message())
}
