//! Service accounts: access keys of any user, with all or fewer of its rights.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::super::limits::SERVICE_KEYS_OF_USER_MAX;
use super::super::records::{Document, ServiceKeyRecord};
use super::super::state::{opens, seal_secret};
use super::error::{self, AdminResult};
use super::policies::in_aws_form;
use super::users::{check_key, is_enabled};
use super::{Desk, time};
use liteio_identity::random_secret;
use liteio_policy::{CallerKind, SESSION_POLICY_CHARACTERS_MAX, characters};
use liteio_wire::reply::ApiError;

/// Maximum bytes of a name and of a description, as in MinIO's client.
const NAME_BYTES_MAX: usize = 32;
const DESCRIPTION_BYTES_MAX: usize = 256;
/// The reason why nobody signs in with a key that is enabled.
const NOT_OPENED: &str = "its secret is sealed by a key that the server lacks: start it with all master keys, in the place of a \
                          MinIO with MINIO_KMS_SECRET_KEY, or set a new secret key";

/// A request for a new service account. Clients leave fields out, or send `null` or nothing in them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NewServiceAccount {
    pub(super) policy: Value,
    #[serde(deserialize_with = "text")]
    pub(super) target_user: String,
    #[serde(deserialize_with = "text")]
    pub(super) access_key: String,
    #[serde(deserialize_with = "text")]
    pub(super) secret_key: String,
    #[serde(deserialize_with = "text")]
    pub(super) name: String,
    #[serde(deserialize_with = "text")]
    pub(super) description: String,
    /// The description under the name that old clients use.
    #[serde(deserialize_with = "text")]
    pub(super) comment: String,
    /// `enabled` if it is empty.
    #[serde(deserialize_with = "text")]
    pub(super) status: String,
    #[serde(deserialize_with = "seconds")]
    pub(super) expiration: Option<i64>,
}

/// Changes of a service account; empty fields leave values unchanged.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServiceAccountChange {
    new_policy: Value,
    #[serde(deserialize_with = "text")]
    new_secret_key: String,
    #[serde(deserialize_with = "text")]
    new_status: String,
    #[serde(deserialize_with = "text")]
    new_name: String,
    #[serde(deserialize_with = "text")]
    new_description: String,
    #[serde(deserialize_with = "seconds")]
    new_expiration: Option<i64>,
}

/// The keys of a new service account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyInfo {
    access_key: String,
    secret_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration: Option<String>,
}

/// The description of a service account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccountInfo {
    parent_user: String,
    account_status: &'static str,
    implied_policy: bool,
    access_key: String,
    /// The policy as text, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration: Option<String>,
}

/// The kinds of keys in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedKeys {
    /// Users only.
    None,
    /// Session keys, which the server does not store.
    Sessions,
    /// Service accounts.
    Service,
}

/// The keys of a user.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessKeys {
    service_accounts: Vec<ServiceAccountInfo>,
    #[serde(rename = "stsKeys")]
    session_keys: Vec<ServiceAccountInfo>,
}

/// A text; empty for `null`.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

/// A time in seconds since 1970; none if it is empty. The years 1 and 1970 mean none.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let text = text(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let time: Timestamp = text.parse().map_err(serde::de::Error::custom)?;
    Ok(Some(time.as_second()).filter(|seconds| *seconds > 0))
}

/// The policy that narrows a service account; `None` for an empty one.
fn policy(value: &Value) -> AdminResult<Option<Document>> {
    let is_empty = match value {
        Value::Null => true,
        Value::Object(members) => {
            members.values().all(|it| matches!(it, Value::Null) || it == "" || it == &json!([]))
        }
        _ => false,
    };
    if is_empty {
        return Ok(None);
    }
    let text = value.to_string();
    let text = in_aws_form(&text);
    if characters(&text) > SESSION_POLICY_CHARACTERS_MAX {
        let max = SESSION_POLICY_CHARACTERS_MAX;
        let message = format!("The policy of a service account has at most {max} characters.");
        return Err(error::malformed_policy(message));
    }
    let document = Document::of_identity(&text).map(Some);
    document.map_err(|error| error::malformed_policy(error.explained()))
}

pub(super) fn checked_name(name: &str) -> AdminResult<Option<String>> {
    // MinIO's clients check no more of it.
    let is_name = name.len() <= NAME_BYTES_MAX
        && !name.contains(char::is_control)
        && name.bytes().next().is_none_or(|first| first.is_ascii_alphabetic());
    match is_name {
        true => Ok(Some(name.to_owned()).filter(|name| !name.is_empty())),
        false => Err(error::invalid_argument(format!(
            "The name has at most {NAME_BYTES_MAX} bytes, begins with a letter, and has no control characters."
        ))),
    }
}

fn checked_description(text: &str) -> AdminResult<Option<String>> {
    match text.len() <= DESCRIPTION_BYTES_MAX {
        true => Ok(Some(text.to_owned()).filter(|text| !text.is_empty())),
        false => {
            let message = format!("The description has at most {DESCRIPTION_BYTES_MAX} bytes.");
            Err(error::invalid_argument(message))
        }
    }
}

impl Desk<'_> {
    /// Creates a service account for the sender, or for another user.
    pub fn add_service_account(&mut self, new: &NewServiceAccount) -> AdminResult<Value> {
        let owner = self.target(&new.target_user, "admin:CreateServiceAccount")?;
        let expires = self.checked_expiration(new.expiration)?;
        self.refuse_more_rights(&owner)?;
        self.refuse_later_end(&owner, expires)?;
        let own = self.draft.state.keys.values().filter(|key| key.owner == owner).count();
        if own >= SERVICE_KEYS_OF_USER_MAX {
            let message =
                format!("A user has at most {SERVICE_KEYS_OF_USER_MAX} service accounts.");
            return Err(error::too_many(message));
        }
        let id = match new.access_key.is_empty() {
            true => self.new_id("AKIA")?,
            false => new.access_key.clone(),
        };
        let secret = match new.secret_key.is_empty() {
            true => random_secret().map_err(|error| error::of_store(&error))?,
            false => new.secret_key.clone(),
        };
        check_key(&id, &secret)?;
        self.check_new_key(&id)?;
        let description = match new.description.is_empty() {
            true => &new.comment,
            false => &new.description,
        };
        let sealed = seal_secret(secret.as_bytes(), self.secrets);
        let record = ServiceKeyRecord {
            id: id.clone(),
            secret: sealed.map_err(|error| error::of_store(&error))?,
            active: new.status.is_empty() || is_enabled(&new.status)?,
            created: self.now,
            owner,
            name: checked_name(&new.name)?,
            description: checked_description(description)?,
            expires,
            policy: policy(&new.policy)?,
        };
        let expiration = record.expires.map(time);
        self.draft.put(record);
        let credentials = KeyInfo { access_key: id, secret_key: secret, expiration };
        Ok(json!({ "credentials": credentials }))
    }

    /// Prevents privilege escalation: creating or changing keys of a user gives all rights of the
    /// user. Keys of the root user are reserved to the root user, and keys with narrowed rights may
    /// not manage keys of their own user.
    pub(super) fn refuse_more_rights(&self, owner: &str) -> AdminResult<()> {
        let user = &self.key.user;
        if user.is_narrowed_to_less_than(owner) {
            return Err(error::access_denied(
                "A key that a policy narrows makes and changes no other keys of its user.",
            ));
        }
        let is_root = user.is_root() && !user.is_narrowed();
        match owner == self.account() && !is_root {
            true => Err(error::access_denied(
                "Only the root user, by a key without a policy, makes and changes service accounts of \
                 the root user.",
            )),
            false => Ok(()),
        }
    }

    /// Prevents that a key outlives itself: one that ends neither makes nor changes a key of its own
    /// user that ends later, and does not move its own end away.
    pub(super) fn refuse_later_end(&self, owner: &str, expires: Option<i64>) -> AdminResult<()> {
        match self.key.ends_before(owner, expires) {
            true => Err(error::access_denied(
                "A key that ends makes and changes no keys of its user that end later.",
            )),
            false => Ok(()),
        }
    }

    fn checked_expiration(&self, expiration: Option<i64>) -> AdminResult<Option<i64>> {
        match expiration {
            Some(seconds) if seconds <= self.now => {
                Err(error::invalid_argument("The expiration must be in the future."))
            }
            _ => Ok(expiration),
        }
    }

    /// The unique id of the named user (the sender by default), if the sender may do `action` for
    /// it.
    fn target(&self, name: &str, action: &str) -> AdminResult<String> {
        let caller = &self.key.user.caller;
        let is_own = name.is_empty() || name == self.key.id;
        let found = match is_own {
            true if matches!(caller.kind, CallerKind::Root | CallerKind::User) => {
                Some(caller.user_id.clone())
            }
            true => {
                let message = "A session of a role has no access keys: name a user.";
                return Err(error::not_allowed(message));
            }
            false => self.id_of(name),
        };
        let Some(owner) = found else {
            return Err(self.missing(action, error::no_such_user(name)));
        };
        self.may_for(&owner, action)?;
        Ok(owner)
    }

    /// The service account with this id, if the sender may do `action` for its user.
    fn service_account(&self, id: &str, action: &str) -> AdminResult<ServiceKeyRecord> {
        let Some(key) = self.draft.state.service_key(id) else {
            return Err(self.missing(action, error::no_such_service_account(id)));
        };
        self.may_for(&key.owner, action)?;
        Ok(ServiceKeyRecord::clone(key))
    }

    /// The error for a missing entity: only a sender who may do `action` for everyone learns that
    /// it is missing.
    fn missing(&self, action: &str, error: ApiError) -> ApiError {
        self.may(&[action]).err().unwrap_or(error)
    }

    /// Changes a service account.
    pub fn change_service_account(
        &mut self,
        id: &str,
        change: &ServiceAccountChange,
    ) -> AdminResult<()> {
        let mut key = self.service_account(id, "admin:UpdateServiceAccount")?;
        let expires = self.checked_expiration(change.new_expiration)?.or(key.expires);
        self.refuse_more_rights(&key.owner)?;
        self.refuse_later_end(&key.owner, expires)?;
        if !change.new_secret_key.is_empty() {
            check_key(id, &change.new_secret_key)?;
            let sealed = seal_secret(change.new_secret_key.as_bytes(), self.secrets);
            key.secret = sealed.map_err(|error| error::of_store(&error))?;
        }
        if !change.new_status.is_empty() {
            key.active = is_enabled(&change.new_status)?;
        }
        key.name = checked_name(&change.new_name)?.or(key.name);
        key.description = checked_description(&change.new_description)?.or(key.description);
        key.expires = expires;
        if !change.new_policy.is_null() {
            key.policy = policy(&change.new_policy)?;
        }
        self.draft.put(key);
        Ok(())
    }

    /// Deletes a service account.
    pub fn remove_service_account(&mut self, id: &str) -> AdminResult<()> {
        let key = self.service_account(id, "admin:RemoveServiceAccount")?;
        self.draft.delete::<ServiceKeyRecord>(&key.id);
        Ok(())
    }

    /// The service accounts of a user, by default of the sender.
    pub fn list_service_accounts(&self, user: &str) -> AdminResult<Vec<ServiceAccountInfo>> {
        let owner = self.target(user, "admin:ListServiceAccounts")?;
        Ok(self.service_accounts_of(&owner))
    }

    fn service_accounts_of(&self, owner: &str) -> Vec<ServiceAccountInfo> {
        let keys = self.draft.state.keys.values().filter(|key| key.owner == owner);
        let described = keys.map(|key| {
            let told = self.describe(key, None);
            // In lists the client treats the start of 1970 as none, and fails without a value.
            let expiration = told.expiration.or_else(|| Some(time(0)));
            ServiceAccountInfo { expiration, ..told }
        });
        described.collect()
    }

    /// A service account with its policy, or the policy of its user.
    pub fn service_account_info(&self, id: &str) -> AdminResult<ServiceAccountInfo> {
        let key = self.service_account(id, "admin:ListServiceAccounts")?;
        let policy = match &key.policy {
            Some(document) => document.text.clone(),
            None => self.policy_of(&key.owner).to_string(),
        };
        Ok(self.describe(&key, Some(policy)))
    }

    /// All rights of a user in one document.
    fn policy_of(&self, owner: &str) -> Value {
        let state = &self.draft.state;
        let mut documents = Vec::new();
        if let Some(user) = state.users.values().find(|user| user.id == owner) {
            let groups = state.groups.values().filter(|group| group.members.contains(owner));
            let groups: Vec<_> = groups.collect();
            // Members of a disabled group may do nothing.
            if !groups.iter().any(|group| group.disabled) {
                documents.extend(self.documents(&user.policies));
                for group in groups {
                    documents.extend(self.documents(&group.policies));
                }
            }
        }
        let statements = documents.iter().flat_map(|document| match &document["Statement"] {
            Value::Array(statements) => statements.clone(),
            one => vec![one.clone()],
        });
        let statements: Vec<Value> = statements.collect();
        json!({ "Version": "2012-10-17", "Statement": statements })
    }

    fn describe(&self, key: &ServiceKeyRecord, policy: Option<String>) -> ServiceAccountInfo {
        ServiceAccountInfo {
            parent_user: self.name_of(&key.owner).unwrap_or_default(),
            account_status: if key.active { "on" } else { "off" },
            implied_policy: key.policy.is_none(),
            access_key: key.id.clone(),
            policy,
            name: key.name.clone(),
            description: self.description(key),
            expiration: key.expires.map(time),
        }
    }

    /// The description of a key. MinIO's protocol has no other place to tell that its secret cannot be used.
    fn description(&self, key: &ServiceKeyRecord) -> Option<String> {
        match &key.description {
            description if opens(&key.secret, self.secrets) => description.clone(),
            None => Some(NOT_OPENED.to_owned()),
            Some(description) => Some(format!("{description} ({NOT_OPENED})")),
        }
    }

    /// The keys of users: of the named ones, of all, or of the sender.
    pub fn list_access_keys(
        &self,
        users: &[String],
        is_all: bool,
        listed: &[ListedKeys],
    ) -> AdminResult<BTreeMap<String, AccessKeys>> {
        let mut found = BTreeMap::new();
        let names = match (is_all, users) {
            (true, _) => {
                self.may(&["admin:ListUsers"])?;
                self.may(&["admin:ListServiceAccounts"])?;
                let made = self.draft.state.users.values().map(|user| user.name.clone());
                let own = self.name_of(&self.key.user.caller.user_id);
                made.chain(own).collect()
            }
            (false, []) => vec![String::new()],
            (false, users) => users.to_vec(),
        };
        for name in names {
            let owner = self.target(&name, "admin:ListServiceAccounts")?;
            let service_accounts = match listed.contains(&ListedKeys::Service) {
                true => self.service_accounts_of(&owner),
                false => Vec::new(),
            };
            // A list of keys omits users without any.
            if service_accounts.is_empty() && *listed != [ListedKeys::None] && listed.len() == 1 {
                continue;
            }
            let name = self.name_of(&owner).unwrap_or(name);
            found.insert(name, AccessKeys { service_accounts, session_keys: Vec::new() });
        }
        Ok(found)
    }
}

impl ListedKeys {
    /// Parses the parameter of a list.
    pub fn parse(text: &str) -> AdminResult<&'static [ListedKeys]> {
        match text {
            "users-only" => Ok(&[ListedKeys::None]),
            "sts-only" => Ok(&[ListedKeys::Sessions]),
            "svcacc-only" => Ok(&[ListedKeys::Service]),
            "all" => Ok(&[ListedKeys::Sessions, ListedKeys::Service]),
            _ => Err(error::invalid_argument(
                "listType must be users-only, sts-only, svcacc-only or all.",
            )),
        }
    }
}
