//! Users.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::call::check_name;
use super::super::limits::{POLICIES_OF_ONE_MAX, USERS_MAX};
use super::super::records::{GroupRecord, KeyRecord, Policies, ServiceKeyRecord, UserRecord};
use super::super::state::seal_secret;
use super::error::{self, AdminResult};
use super::{Desk, for_admin, name_of_policy, time};
use liteio_identity::{NameOf, SecretKey};

/// A request for a new user.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewUser {
    #[serde(default)]
    pub(super) secret_key: String,
    /// Policy names, separated by commas.
    #[serde(default)]
    pub(super) policy: String,
    #[serde(default)]
    pub(super) status: String,
}

/// The description of a user.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInfo {
    #[serde(skip_serializing_if = "String::is_empty")]
    policy_name: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    member_of: Vec<String>,
    updated_at: String,
}

/// The status word of a user, a group or a key.
pub(super) fn status(is_enabled: bool) -> &'static str {
    if is_enabled { "enabled" } else { "disabled" }
}

/// Parses a status word.
pub(super) fn is_enabled(status: &str) -> AdminResult<bool> {
    match status {
        "enabled" | "on" => Ok(true),
        "disabled" | "off" => Ok(false),
        _ => Err(error::invalid_argument("The status must be enabled or disabled.")),
    }
}

/// The names of attached policies, separated by commas.
pub(super) fn policy_names(policies: &Policies) -> String {
    let names: Vec<&str> = policies.attached.iter().map(|arn| name_of_policy(arn)).collect();
    names.join(",")
}

impl Desk<'_> {
    /// All users, by name.
    pub fn list_users(&self) -> BTreeMap<String, UserInfo> {
        let users = self.draft.state.users.values();
        users.map(|user| (user.name.clone(), self.info(user))).collect()
    }

    /// The description of a user.
    pub fn user_info(&self, name: &str) -> AdminResult<UserInfo> {
        let own = self.id_of(name).unwrap_or_default();
        self.may_for(&own, "admin:GetUser")?;
        let user = self.user(name)?;
        Ok(self.info(&user))
    }

    fn info(&self, user: &UserRecord) -> UserInfo {
        let groups = self.draft.state.groups.values();
        let groups = groups.filter(|group| group.members.contains(&user.id));
        UserInfo {
            policy_name: policy_names(&user.policies),
            status: status(!user.disabled),
            member_of: groups.map(|group| group.name.clone()).collect(),
            updated_at: time(user.created),
        }
    }

    /// Creates a user with an access key of the same name, or changes its secret.
    pub fn add_user(&mut self, name: &str, new: &NewUser) -> AdminResult<()> {
        let is_new = self.user(name).is_err();
        let mut user = match self.user(name) {
            Ok(user) => user,
            Err(_) => self.new_user(name)?,
        };
        if !new.secret_key.is_empty() {
            self.set_secret(&mut user, &new.secret_key)?;
        } else if is_new {
            return Err(error::invalid_secret_key("A new user needs a secret key."));
        }
        if !new.status.is_empty() {
            user.disabled = !is_enabled(&new.status)?;
        }
        for policy in new.policy.split(',').filter(|name| !name.is_empty()) {
            user.policies.attached.insert(self.policy_arn(policy)?);
        }
        if user.policies.attached.len() > POLICIES_OF_ONE_MAX {
            return Err(error::too_many(format!(
                "A user has at most {POLICIES_OF_ONE_MAX} policies."
            )));
        }
        self.draft.put(user);
        Ok(())
    }

    fn new_user(&self, name: &str) -> AdminResult<UserRecord> {
        check_name(name, "accessKey", 64).map_err(|error| for_admin(&error))?;
        let of_account = &self.draft.state.users;
        let is_taken = of_account.contains_key(&name.to_lowercase())
            || self.directory.is_configured(self.account(), NameOf::User, name);
        if is_taken {
            let message =
                "There is a user whose name differs in case alone, or in the configuration.";
            return Err(error::invalid_access_key(message));
        }
        if of_account.len() >= USERS_MAX {
            return Err(error::too_many(format!("An account has at most {USERS_MAX} users.")));
        }
        Ok(UserRecord {
            name: name.to_owned(),
            path: "/".to_owned(),
            id: self.new_id("AIDA")?,
            created: self.now,
            keys: Vec::new(),
            disabled: false,
            policies: Policies::default(),
            tags: Default::default(),
        })
    }

    fn set_secret(&self, user: &mut UserRecord, secret: &str) -> AdminResult<()> {
        self.refuse_more_rights(&user.id)?;
        self.refuse_later_end(&user.id, None)?;
        check_key(&user.name, secret)?;
        let sealed = seal_secret(secret.as_bytes(), self.secrets);
        let secret = sealed.map_err(|error| error::of_store(&error))?;
        match user.keys.iter_mut().find(|key| key.id == user.name) {
            Some(key) => *key = KeyRecord { secret, active: true, ..key.clone() },
            None => {
                self.check_new_key(&user.name)?;
                let (id, created) = (user.name.clone(), self.now);
                user.keys.push(KeyRecord { id, secret, active: true, created });
            }
        }
        Ok(())
    }

    /// Enables or disables a user's keys and sessions.
    pub fn set_user_status(&mut self, name: &str, status: &str) -> AdminResult<()> {
        let is_enabled = is_enabled(status)?;
        let user = self.user(name)?;
        if user.id == self.key.user.caller.user_id {
            return Err(error::not_allowed("A user cannot change its own status."));
        }
        self.draft.put(UserRecord { disabled: !is_enabled, ..user });
        Ok(())
    }

    /// Deletes a user with its keys and service accounts.
    pub fn remove_user(&mut self, name: &str) -> AdminResult<()> {
        let user = self.user(name)?;
        if user.id == self.key.user.caller.user_id {
            return Err(error::not_allowed("A user cannot remove itself."));
        }
        let state = self.draft.state.clone();
        for group in state.groups.values().filter(|group| group.members.contains(&user.id)) {
            let mut group = GroupRecord::clone(group);
            group.members.remove(&user.id);
            self.draft.put(group);
        }
        for key in state.keys.values().filter(|key| key.owner == user.id) {
            self.draft.delete::<ServiceKeyRecord>(&key.id);
        }
        self.draft.delete::<UserRecord>(name);
        Ok(())
    }
}

/// Refuses an access key or a secret that no signature can carry.
pub(super) fn check_key(id: &str, secret: &str) -> AdminResult<()> {
    liteio_identity::check_key_id(id).map_err(|it| error::invalid_access_key(it.to_string()))?;
    let secret = SecretKey::new(secret);
    secret.map(drop).map_err(|it| error::invalid_secret_key(it.to_string()))
}
