//! The users of another MinIO, brought over before the first request.
//!
//! They are made by the operations of the admin API, as if the root user had sent them, and stored in one transaction.
//! Records that exist already stay as they are, so the same users can be brought over again.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use liteio_store::{KeyRing, Store, StoreError};
use serde_json::Value;

use super::groups::GroupChange;
use super::service_accounts::{NewServiceAccount, checked_name};
use super::users::{NewUser, status};
use super::{Desk, Draft};
use crate::permission::Circumstances;
use crate::records::{PolicyRecord, ServiceKeyRecord};
use crate::settings::{CredentialsSource, IdentitySettings};
use crate::users::{ConfiguredUsers, Users};
use liteio_wire::origin::Peer;
use liteio_wire::reply::ApiError;

/// The users, groups, policies and service accounts of a MinIO.
#[derive(Debug, Default)]
pub struct FormerUsers {
    /// The access key of its root user.
    pub root: String,
    /// Canned policies: name and document, which is empty if it could not be read.
    pub policies: Vec<(String, String)>,
    /// Users.
    pub users: Vec<FormerUser>,
    /// Groups.
    pub groups: Vec<FormerGroup>,
    /// Service accounts.
    pub service_accounts: Vec<FormerServiceAccount>,
}

impl FormerUsers {
    /// `true` if the policy of this name may deny something, or cannot be read.
    fn may_deny(&self, name: &str) -> bool {
        self.policies.iter().any(|(known, document)| known == name && !only_allows(document))
    }

    /// `true` if the members of a group have more rights without it.
    fn restricts(&self, group: &FormerGroup) -> bool {
        !group.is_enabled || group.policies.iter().any(|name| self.may_deny(name))
    }
}

/// `true` for a document whose statements all allow something: its holder has fewer rights without it.
fn only_allows(document: &str) -> bool {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let statements = match &document["Statement"] {
        Value::Array(statements) => statements.as_slice(),
        one => std::slice::from_ref(one),
    };
    statements.iter().all(|statement| statement["Effect"] == "Allow")
}

/// A user of a MinIO.
#[derive(Default)]
pub struct FormerUser {
    /// The access key, which is the user's name.
    pub access_key: String,
    /// The secret key.
    pub secret_key: String,
    /// True if the user may sign requests.
    pub is_enabled: bool,
    /// Names of the attached policies.
    pub policies: Vec<String>,
}

/// A group of a MinIO.
#[derive(Debug, Default)]
pub struct FormerGroup {
    /// The name.
    pub name: String,
    /// Access keys of the members.
    pub members: Vec<String>,
    /// True if it is enabled: members of a disabled group may do nothing.
    pub is_enabled: bool,
    /// Names of the attached policies.
    pub policies: Vec<String>,
}

/// A service account of a MinIO.
#[derive(Default)]
pub struct FormerServiceAccount {
    /// The access key.
    pub access_key: String,
    /// The secret key.
    pub secret_key: String,
    /// The access key of its user.
    pub parent: String,
    /// True if it may sign requests.
    pub is_enabled: bool,
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The time from which it is refused, in seconds since 1970.
    pub expires: Option<i64>,
    /// The document that narrows the rights of its user.
    pub policy: Option<Value>,
}

// Written by hand so that the secrets never appear in a log.
impl std::fmt::Debug for FormerUser {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FormerUser").field("access_key", &self.access_key).finish()
    }
}

impl std::fmt::Debug for FormerServiceAccount {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("FormerServiceAccount")
            .field("access_key", &self.access_key)
            .finish()
    }
}

/// The result of bringing users over.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// Records made.
    pub made: usize,
    /// Records that existed.
    pub present: usize,
    /// Records that cannot be made, with the reason.
    pub left_out: Vec<(String, String)>,
    /// Harmless differences, a line each.
    pub notes: Vec<String>,
}

impl Brought {
    fn count(&mut self, what: String, made: Result<(), ApiError>) {
        match made {
            Ok(()) => self.made += 1,
            Err(error) => self.left_out.push((what, error.message().to_owned())),
        }
    }
}

/// Creates the records of `former` in a store that no server uses. Secrets are sealed with the newest master key of
/// `ring`, otherwise with the key of the directory.
///
/// # Errors
/// One line: the configured users have no root user, or the store failed. Nothing was changed then.
pub fn bring(
    settings: &IdentitySettings,
    store: &Store,
    ring: &KeyRing,
    former: &FormerUsers,
) -> Result<Brought, String> {
    let of_store = |error: StoreError| error.to_string();
    if settings.credentials == CredentialsSource::Made {
        return Err("the users of MinIO belong to its root user: give MINIO_ROOT_USER and \
                    MINIO_ROOT_PASSWORD"
            .to_owned());
    }
    let configured = ConfiguredUsers::read(settings)?.take_over(store)?;
    let users = Users::open(configured, store, ring).map_err(of_store)?;
    let configured = users.configured();
    let root = configured.first_account().and_then(|account| {
        let id = configured.key_of_user(&account.id)?;
        configured.find(id)
    });
    let root = root.ok_or("the credentials file has no root user to bring users over for")?;
    let now = i64::try_from(store.now_ms() / 1000).unwrap_or(i64::MAX);
    // The root user is never refused, so no condition of a policy reads these.
    let context = Circumstances {
        sender: None,
        peer: Peer { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), secure: true, tls: None },
        user_agent: None,
        now,
        more: Vec::new(),
    };
    let (state, account) = (users.state(), &root.user.account.id);
    let mut desk = Desk {
        draft: Draft::new(account, &state.account(account)),
        key: Arc::clone(root),
        context: &context,
        configured: Arc::clone(&configured),
        directory: users.current().now(),
        secrets: users.keys(),
        now,
        state: Arc::clone(&state),
    };
    let brought = desk.bring(former);
    let (changes, _) = desk.draft.finish();
    if !changes.is_empty() {
        store.change_identities(changes, Some(state.stamp())).wait().map_err(of_store)?;
    }
    Ok(brought)
}

impl Desk<'_> {
    fn bring(&mut self, former: &FormerUsers) -> Brought {
        let mut brought = Brought::default();
        for (name, document) in &former.policies {
            match self.draft.state.get::<PolicyRecord>(name).is_some_and(|it| it.name == *name) {
                true => brought.present += 1,
                // The reader of the volume has reported it.
                false if document.is_empty() => {}
                false => {
                    let made = self.store_policy(name, document);
                    brought.count(format!("the policy {name}"), made);
                }
            }
        }
        let mut new_users = BTreeSet::new();
        for user in &former.users {
            match self.user(&user.access_key).is_ok() {
                true => brought.present += 1,
                false => {
                    let mut notes = Vec::new();
                    let made = self.bring_user(user, former, &mut notes);
                    // Of one that is left out they would tell that it is brought over without something.
                    if made.is_ok() {
                        brought.notes.append(&mut notes);
                        new_users.insert(user.access_key.as_str());
                    }
                    brought.count(format!("the user {}", user.access_key), made);
                }
            }
        }
        for group in &former.groups {
            match self.group(&group.name).is_ok() {
                true => brought.present += 1,
                false => {
                    let mut notes = Vec::new();
                    let made = self.bring_group(group, former, &mut notes);
                    if made.is_ok() {
                        brought.notes.append(&mut notes);
                    } else if former.restricts(group) {
                        self.disable_members(group, &new_users, &mut brought.notes);
                    }
                    brought.count(format!("the group {}", group.name), made);
                }
            }
        }
        for key in &former.service_accounts {
            let is_over = key.expires.is_some_and(|expires| expires <= self.now);
            match self.draft.state.get::<ServiceKeyRecord>(&key.access_key) {
                Some(_) => brought.present += 1,
                // MinIO deletes it when it is next read.
                None if is_over => {}
                None => {
                    let made = self.bring_service_account(key, former);
                    brought.count(format!("the service account {}", key.access_key), made);
                }
            }
        }
        brought
    }

    /// Disables the new users in a group that is not brought over: without it they would have more rights.
    fn disable_members(
        &mut self,
        group: &FormerGroup,
        new_users: &BTreeSet<&str>,
        notes: &mut Vec<String>,
    ) {
        let members = group.members.iter().filter(|member| new_users.contains(member.as_str()));
        for member in members {
            let told = match self.set_user_status(member, "disabled") {
                Ok(()) => format!(
                    "the user {member} is disabled: MinIO's group {}, which is not brought over, may take rights from him",
                    group.name
                ),
                Err(error) => format!("the user {member} is not disabled: {}", error.message()),
            };
            notes.push(told);
        }
    }

    /// The names of the policies to attach to a holder, separated by commas. A policy that only allows and could not be
    /// brought over is left out.
    ///
    /// # Errors
    /// A policy that may deny what others allow could not be brought over.
    fn attachable(
        &self,
        holder: &str,
        policies: &[String],
        former: &FormerUsers,
        notes: &mut Vec<String>,
    ) -> Result<String, ApiError> {
        let mut names = BTreeSet::new();
        for name in policies {
            match self.policy_arn(name) {
                Ok(_) => {
                    names.insert(name.as_str());
                }
                Err(_) if former.may_deny(name) => {
                    let reason = format!(
                        "Its policy {name}, which may deny something, could not be brought over."
                    );
                    return Err(super::invalid_argument(reason));
                }
                Err(_) if former.policies.iter().any(|(known, _)| known == name) => {
                    notes.push(format!("{holder} is brought over without its policy {name}"));
                }
                // MinIO ignores it, too.
                Err(_) => notes.push(format!("{holder} had the policy {name}, which MinIO lacks")),
            }
        }
        Ok(names.into_iter().collect::<Vec<_>>().join(","))
    }

    fn bring_user(
        &mut self,
        user: &FormerUser,
        former: &FormerUsers,
        notes: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let holder = format!("the user {}", user.access_key);
        let new = NewUser {
            secret_key: user.secret_key.clone(),
            policy: self.attachable(&holder, &user.policies, former, notes)?,
            status: status(user.is_enabled).to_owned(),
        };
        self.add_user(&user.access_key, &new)
    }

    fn bring_group(
        &mut self,
        group: &FormerGroup,
        former: &FormerUsers,
        notes: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let holder = format!("the group {}", group.name);
        let policies = self.attachable(&holder, &group.policies, former, notes)?;
        let (members, others): (Vec<&String>, Vec<&String>) =
            group.members.iter().partition(|member| self.user(member).is_ok());
        // Its rights do not depend on them.
        if !others.is_empty() {
            let count = others.len();
            notes.push(format!(
                "{holder} is brought over without {count} members that are no users"
            ));
        }
        self.change_group(&GroupChange {
            group: group.name.clone(),
            members: Some(members.into_iter().cloned().collect()),
            group_status: status(group.is_enabled).to_owned(),
            is_remove: false,
        })?;
        self.set_policies(&policies, &group.name, true)
    }

    fn bring_service_account(
        &mut self,
        key: &FormerServiceAccount,
        former: &FormerUsers,
    ) -> Result<(), ApiError> {
        // The root user may have another access key here.
        let is_of_root = key.parent == former.root;
        // A name that no client of today makes, as by an older MinIO, is kept as text.
        let (name, description) = match checked_name(&key.name).is_ok() {
            true => (key.name.clone(), key.description.clone()),
            false => {
                let text = format!("{} {}", key.name, key.description);
                (String::new(), text.trim_end().to_owned())
            }
        };
        let new = NewServiceAccount {
            policy: key.policy.clone().unwrap_or_default(),
            target_user: if is_of_root { String::new() } else { key.parent.clone() },
            access_key: key.access_key.clone(),
            secret_key: key.secret_key.clone(),
            name,
            description,
            status: status(key.is_enabled).to_owned(),
            expiration: key.expires,
            ..NewServiceAccount::default()
        };
        if new.secret_key.is_empty() {
            return Err(super::invalid_argument("It has no secret key."));
        }
        self.add_service_account(&new).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use liteio_store::StoreConfig;

    use super::*;

    fn former() -> FormerUsers {
        let user = |name: &str, policies: &[&str]| FormerUser {
            access_key: name.to_owned(),
            secret_key: format!("{name}-secret"),
            is_enabled: name != "off",
            policies: policies.iter().map(|&it| it.to_owned()).collect(),
        };
        let key = |name: &str, parent: &str| FormerServiceAccount {
            access_key: name.to_owned(),
            secret_key: format!("{name}-secret"),
            parent: parent.to_owned(),
            is_enabled: true,
            name: "a name / of old".to_owned(),
            ..FormerServiceAccount::default()
        };
        let reading = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::plain/*"]}]}"#;
        let most = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":null,"NotAction":["s3:Delete*"],"Resource":["**"]}]}"#;
        FormerUsers {
            root: "old-root".to_owned(),
            policies: vec![
                ("reading".to_owned(), reading.to_owned()),
                // As MinIO stores it.
                ("most".to_owned(), most.to_owned()),
                // Its reader has told of it.
                ("unread".to_owned(), String::new()),
                ("broken".to_owned(), "{".to_owned()),
            ],
            users: vec![
                user("alice", &["reading", "most", "readwrite", "nowhere"]),
                user("off", &[]),
                user("bob", &["broken"]),
            ],
            groups: vec![FormerGroup {
                name: "team".to_owned(),
                members: vec!["alice".to_owned(), "cn=ldap".to_owned()],
                is_enabled: true,
                policies: vec!["reading".to_owned()],
            }],
            service_accounts: vec![
                FormerServiceAccount {
                    policy: serde_json::from_str(&reading.replace("arn:aws:s3:::plain/*", "**"))
                        .ok(),
                    ..key("narrow", "alice")
                },
                key("of-root", "old-root"),
                key("orphan", "nobody"),
                FormerServiceAccount { expires: Some(9), ..key("over", "alice") },
            ],
        }
    }

    #[test]
    fn users_are_brought_over_once_and_the_rest_is_named() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let ring = KeyRing::default();
        let settings = IdentitySettings::new(CredentialsSource::well_known());
        let brought = bring(&settings, &store, &ring, &former()).expect("brought");
        assert_eq!((brought.made, brought.present), (7, 0), "{brought:?}");
        let names: Vec<&str> = brought.left_out.iter().map(|(name, _)| &**name).collect();
        let expected = ["the policy broken", "the user bob", "the service account orphan"];
        assert_eq!(names, expected, "{brought:?}");
        assert_eq!(brought.notes.len(), 2, "{brought:?}");

        let configured = ConfiguredUsers::read(&settings).expect("read");
        let users = Users::open(configured, &store, &ring).expect("opens");
        let find = |id: &str| users.current().now().find(id).cloned();
        let alice = find("alice").expect("a key");
        assert_eq!(alice.user.policies.len(), 4, "its own three and the group's");
        assert!(find("off").is_none() && find("bob").is_none() && find("over").is_none());
        let narrow = find("narrow").expect("a key");
        assert!(narrow.user.session_policies.is_some());
        assert!(find("of-root").expect("a key").user.is_root());

        let again = bring(&settings, &store, &ring, &former()).expect("brought");
        assert_eq!((again.made, again.present), (0, 7), "{again:?}");
    }

    /// IAM's names have no spaces and colons, MinIO's may.
    #[test]
    fn a_name_that_iam_lacks_takes_no_more_than_its_own_rights_and_gives_none() {
        let allow = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"Resource":["arn:aws:s3:::*"]}]}"#;
        let deny = allow.replace("Allow", "Deny");
        let user = |name: &str, policies: &[&str]| FormerUser {
            access_key: name.to_owned(),
            secret_key: format!("{name}-secret"),
            is_enabled: true,
            policies: policies.iter().map(|&it| it.to_owned()).collect(),
        };
        let group = |name: &str, member: &str, is_enabled, policy: &str| FormerGroup {
            name: name.to_owned(),
            members: vec![member.to_owned()],
            is_enabled,
            policies: vec![policy.to_owned()],
        };
        let former = FormerUsers {
            root: "old-root".to_owned(),
            policies: vec![
                ("reading".to_owned(), allow.to_owned()),
                ("team a rw".to_owned(), allow.to_owned()),
                ("no:reading".to_owned(), deny),
            ],
            users: vec![
                user("dora", &["team a rw", "reading"]),
                user("erik", &["no:reading", "reading"]),
                user("disabled-by-group", &["reading"]),
                user("denied-by-group", &["reading"]),
                user("denied-by-policy", &["reading"]),
                user("allowed-by-group", &["reading"]),
                user("Jörg Müller", &["team a rw"]),
            ],
            groups: vec![
                group("Dev Team", "disabled-by-group", false, "reading"),
                group("Night Shift", "denied-by-group", true, "no:reading"),
                group("night", "denied-by-policy", true, "no:reading"),
                group("Day Shift", "allowed-by-group", true, "reading"),
            ],
            service_accounts: Vec::new(),
        };
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let ring = KeyRing::default();
        let settings = IdentitySettings::new(CredentialsSource::well_known());
        let brought = bring(&settings, &store, &ring, &former).expect("brought");
        let configured = ConfiguredUsers::read(&settings).expect("read");
        let users = Users::open(configured, &store, &ring).expect("opens");
        let policies = |id: &str| users.current().now().find(id).map(|it| it.user.policies.len());
        assert_eq!(policies("dora"), Some(1), "{brought:?}");
        assert_eq!(policies("allowed-by-group"), Some(1), "{brought:?}");
        for name in ["erik", "disabled-by-group", "denied-by-group", "denied-by-policy"] {
            assert_eq!(policies(name), None, "{name}: {brought:?}");
        }
        let disabled = brought.notes.iter().filter(|it| it.contains("is disabled")).count();
        assert_eq!((disabled, brought.left_out.len()), (3, 8), "{brought:?}");
        // Who is left out is not brought over without a policy.
        assert!(!brought.notes.iter().any(|it| it.contains("Müller")), "{brought:?}");
    }

    #[test]
    fn without_a_root_user_there_is_nobody_to_bring_them_to() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let settings = IdentitySettings::new(CredentialsSource::Made);
        let refused = bring(&settings, &store, &KeyRing::default(), &former());
        assert!(refused.expect_err("refused").contains("MINIO_ROOT_USER"));
    }
}
