//! Canned policies and their attachments.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::call::check_name;
use super::super::limits::{POLICIES_MAX, POLICIES_OF_ONE_MAX, POLICY_VERSIONS_MAX};
use super::super::records::{Document, Policies, PolicyRecord, VersionRecord};
use super::super::state::policy_arn;
use super::error::{self, AdminResult};
use super::{Desk, for_admin, name_of_policy, time};
use liteio_identity::{MANAGED_ARN, MANAGED_POLICIES, managed};
use liteio_policy::{MANAGED_POLICY_CHARACTERS_MAX, characters, is_s3_action};

/// The description of a policy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PolicyInfo {
    policy_name: String,
    pub policy: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    create_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update_date: Option<String>,
}

/// A request to attach policies to a user or a group, or to detach them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Association {
    policies: Vec<String>,
    #[serde(default)]
    user: String,
    #[serde(default)]
    group: String,
}

/// The policies of an [`Association`] that were newly attached or detached.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssociationChange {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies_attached: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies_detached: Vec<String>,
    updated_at: String,
}

/// The names whose attachments are requested.
#[derive(Debug, Default)]
pub struct EntitiesOf {
    /// Names of users; empty for all.
    pub users: Vec<String>,
    /// Names of groups; empty for all.
    pub groups: Vec<String>,
    /// Names of policies; empty for all.
    pub policies: Vec<String>,
}

/// Attachments of policies.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entities {
    timestamp: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    user_mappings: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    group_mappings: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_mappings: Vec<Value>,
}

fn names(policies: &Policies) -> Vec<&str> {
    policies.attached.iter().map(|arn| name_of_policy(arn)).collect()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The document of a policy in the form of AWS. MinIO writes null for members that a statement does not have, such as `"Action":
/// null` beside a `NotAction`, and the resource `**` for `*`.
pub fn in_aws_form(document: &str) -> Cow<'_, str> {
    /// Returns the number of changes.
    fn change(value: &mut Value) -> usize {
        match value {
            Value::Object(members) => {
                let count = members.len();
                members.retain(|_, member| !member.is_null());
                let mut changes = count - members.len();
                for (name, member) in members.iter_mut() {
                    changes += match name.as_str() {
                        "Resource" | "NotResource" => shorten(member),
                        _ => change(member),
                    };
                }
                changes
            }
            Value::Array(values) => values.iter_mut().map(change).sum(),
            _ => 0,
        }
    }
    /// The same for resources.
    fn shorten(resources: &mut Value) -> usize {
        match resources {
            Value::String(resource) if resource == "**" => {
                resource.pop();
                1
            }
            Value::Array(resources) => resources.iter_mut().map(shorten).sum(),
            _ => 0,
        }
    }
    let Ok(mut value) = serde_json::from_str::<Value>(document) else {
        return Cow::Borrowed(document);
    };
    match change(&mut value) {
        0 => Cow::Borrowed(document),
        _ => Cow::Owned(value.to_string()),
    }
}

/// Refuses actions of S3 that there are not, as MinIO does: a misspelled one would allow, or deny, nothing.
fn check_actions(text: &str) -> AdminResult<()> {
    let document = value(text);
    let statements = one_or_more(&document["Statement"]).iter();
    let lists = statements.flat_map(|statement| [&statement["Action"], &statement["NotAction"]]);
    let mut actions = lists.flat_map(one_or_more).filter_map(Value::as_str);
    let is_unknown = |action: &&str| {
        let is_of_s3 = action.get(..3).is_some_and(|vendor| vendor.eq_ignore_ascii_case("s3:"));
        is_of_s3 && !is_s3_action(action)
    };
    match actions.find(is_unknown) {
        None => Ok(()),
        Some(action) => Err(error::malformed_policy(format!(
            "unsupported action '{action}': S3 has no such action."
        ))),
    }
}

/// The values of a list, or the one that stands in its place.
fn one_or_more(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

impl Desk<'_> {
    /// All policies, by name.
    pub fn list_policies(&self) -> BTreeMap<String, Value> {
        let managed = MANAGED_POLICIES.iter();
        let managed = managed.map(|policy| (policy.name.to_owned(), value(policy.document)));
        let own = self.draft.state.policies.values().filter_map(|policy| {
            Some((policy.name.clone(), value(&policy.current()?.document.text)))
        });
        // Policies of the account take precedence.
        managed.chain(own).collect()
    }

    /// The description of a policy.
    pub fn policy_info(&self, name: &str) -> AdminResult<PolicyInfo> {
        if let Some((policy, _)) = managed(&self.policy_arn(name)?) {
            let (policy_name, policy) = (name.to_owned(), value(policy.document));
            return Ok(PolicyInfo { policy_name, policy, create_date: None, update_date: None });
        }
        let record = self.draft.state.get::<PolicyRecord>(name);
        let found = record.and_then(|record| Some((record, record.current()?)));
        let (record, version) = found.ok_or_else(|| error::no_such_policy(name))?;
        Ok(PolicyInfo {
            policy_name: record.name.clone(),
            policy: value(&version.document.text),
            create_date: Some(time(record.created)),
            update_date: Some(time(record.updated)),
        })
    }

    /// Creates a policy of the account, or adds a new version of its document, whose actions of S3 must be known.
    pub fn put_policy(&mut self, name: &str, text: &str) -> AdminResult<()> {
        check_actions(text)?;
        self.store_policy(name, text)
    }

    /// The same with any actions, as a former MinIO of another version had them.
    pub(super) fn store_policy(&mut self, name: &str, text: &str) -> AdminResult<()> {
        check_name(name, "name", 128).map_err(|error| for_admin(&error))?;
        if name.contains(',') {
            return Err(error::invalid_argument("The name of a policy has no comma."));
        }
        let text = &*in_aws_form(text);
        let document = Document::of_identity(text)
            .map_err(|error| error::malformed_policy(error.explained()))?;
        if characters(text) > MANAGED_POLICY_CHARACTERS_MAX {
            let max = MANAGED_POLICY_CHARACTERS_MAX;
            return Err(error::malformed_policy(format!(
                "The policy is longer than {max} characters."
            )));
        }
        let policies = &self.draft.state.policies;
        let mut policy = match policies.get(&name.to_lowercase()) {
            Some(policy) if policy.name == name => PolicyRecord::clone(policy),
            Some(_) => {
                let message = "There is a policy whose name differs in case alone.";
                return Err(error::invalid_argument(message));
            }
            None if policies.len() >= POLICIES_MAX => {
                let message = format!("An account has at most {POLICIES_MAX} policies.");
                return Err(error::too_many(message));
            }
            None => PolicyRecord {
                name: name.to_owned(),
                path: "/".to_owned(),
                id: self.new_id("ANPA")?,
                created: self.now,
                updated: self.now,
                description: None,
                versions: Vec::new(),
                default: 1,
                next: 1,
                tags: Default::default(),
            },
        };
        let version = VersionRecord { number: policy.next, created: self.now, document };
        (policy.default, policy.updated) = (policy.next, self.now);
        policy.next += 1;
        policy.versions.push(version);
        let surplus = policy.versions.len().saturating_sub(POLICY_VERSIONS_MAX);
        policy.versions.drain(..surplus);
        self.draft.put(policy);
        Ok(())
    }

    /// Deletes an unattached policy of the account.
    pub fn remove_policy(&mut self, name: &str) -> AdminResult<()> {
        let arn = self.policy_arn(name)?;
        if managed(&arn).is_some() {
            let message = format!("The policy {name} is part of the server.");
            return Err(error::not_allowed(message));
        }
        let state = &self.draft.state;
        let of_users = state.users.values().map(|user| &user.policies);
        let of_groups = state.groups.values().map(|group| &group.policies);
        let of_roles = state.roles.values().map(|role| &role.policies);
        let mut all = of_users.chain(of_groups).chain(of_roles);
        if all.any(|policies| policies.attached.contains(&arn)) {
            return Err(error::policy_in_use(name));
        }
        self.draft.delete::<PolicyRecord>(name);
        Ok(())
    }

    /// Attaches policies to a user or a group, or detaches them.
    pub fn associate(
        &mut self,
        association: &Association,
        is_attach: bool,
    ) -> AdminResult<AssociationChange> {
        let Association { policies, user, group } = association;
        if policies.is_empty() {
            return Err(error::invalid_argument("No policy is named."));
        }
        let changed = match (&**user, &**group) {
            (user, "") if !user.is_empty() => {
                let mut record = self.user(user)?;
                let changed = self.change_attached(&mut record.policies, policies, is_attach)?;
                self.draft.put(record);
                changed
            }
            ("", group) if !group.is_empty() => {
                let mut record = self.group(group)?;
                let changed = self.change_attached(&mut record.policies, policies, is_attach)?;
                self.draft.put(record);
                changed
            }
            _ => return Err(error::invalid_argument("Name one user or one group.")),
        };
        let (policies_attached, policies_detached) = match is_attach {
            true => (changed, Vec::new()),
            false => (Vec::new(), changed),
        };
        Ok(AssociationChange { policies_attached, policies_detached, updated_at: time(self.now) })
    }

    /// The names of the changed policies.
    fn change_attached(
        &self,
        policies: &mut Policies,
        names: &[String],
        is_attach: bool,
    ) -> AdminResult<Vec<String>> {
        let mut changed = Vec::new();
        for name in names {
            let arn = self.policy_arn(name)?;
            let is_changed = match is_attach {
                true => policies.attached.insert(arn),
                // A predefined policy and one of the account may share a name.
                false => {
                    let other = format!("{MANAGED_ARN}{name}");
                    policies.attached.remove(&arn) | policies.attached.remove(&other)
                }
            };
            if is_changed {
                changed.push(name.clone());
            }
        }
        if policies.attached.len() > POLICIES_OF_ONE_MAX {
            let message = format!("At most {POLICIES_OF_ONE_MAX} policies can be attached.");
            return Err(error::too_many(message));
        }
        match changed.is_empty() {
            true => Err(error::already_applied()),
            false => Ok(changed),
        }
    }

    /// Replaces all policies attached to a user or a group. `names` is separated by commas.
    pub fn set_policies(&mut self, names: &str, holder: &str, is_group: bool) -> AdminResult<()> {
        let arns = names.split(',').filter(|name| !name.is_empty());
        let arns: BTreeSet<String> =
            arns.map(|name| self.policy_arn(name)).collect::<Result<_, _>>()?;
        if arns.len() > POLICIES_OF_ONE_MAX {
            let message = format!("At most {POLICIES_OF_ONE_MAX} policies can be attached.");
            return Err(error::too_many(message));
        }
        match is_group {
            true => {
                let mut group = self.group(holder)?;
                group.policies.attached = arns;
                self.draft.put(group);
            }
            false => {
                let mut user = self.user(holder)?;
                user.policies.attached = arns;
                self.draft.put(user);
            }
        }
        Ok(())
    }

    /// The requested attachments; of all policies, if nothing is named.
    pub fn entities(&self, of: &EntitiesOf) -> AdminResult<Entities> {
        let state = &self.draft.state;
        let is_all = of.users.is_empty() && of.groups.is_empty() && of.policies.is_empty();
        let of_group = |group: &str| -> AdminResult<Value> {
            let group = self.group(group)?;
            Ok(json!({ "group": group.name, "policies": names(&group.policies) }))
        };
        let of_user = |user: &String| -> AdminResult<Value> {
            let user = self.user(user)?;
            let groups = state.groups.values().filter(|group| group.members.contains(&user.id));
            let groups =
                groups.map(|group| of_group(&group.name)).collect::<Result<Vec<_>, _>>()?;
            Ok(json!({
                "user": user.name,
                "policies": names(&user.policies),
                "memberOfMappings": groups,
            }))
        };
        let wanted: Vec<String> = match is_all {
            true => self.list_policies().into_keys().collect(),
            false => of.policies.clone(),
        };
        let mut policy_mappings = Vec::new();
        for name in wanted {
            let arn = self.policy_arn(&name)?;
            let has = |policies: &Policies| policies.attached.contains(&arn);
            let users = state.users.values().filter(|user| has(&user.policies));
            let users: Vec<&str> = users.map(|user| &*user.name).collect();
            let groups = state.groups.values().filter(|group| has(&group.policies));
            let groups: Vec<&str> = groups.map(|group| &*group.name).collect();
            if !is_all || !users.is_empty() || !groups.is_empty() {
                policy_mappings.push(json!({ "policy": name, "users": users, "groups": groups }));
            }
        }
        Ok(Entities {
            timestamp: time(self.now),
            user_mappings: of.users.iter().map(of_user).collect::<Result<_, _>>()?,
            group_mappings: of.groups.iter().map(|it| of_group(it)).collect::<Result<_, _>>()?,
            policy_mappings,
        })
    }

    /// ARN and document of every attached policy, to describe the rights of a key.
    pub(super) fn documents(&self, policies: &Policies) -> Vec<Value> {
        let attached = policies.attached.iter().filter_map(|arn| match managed(arn) {
            Some((policy, _)) => Some(value(policy.document)),
            None => {
                let mut own = self.draft.state.policies.values();
                let policy = own.find(|policy| policy_arn(self.account(), policy) == *arn)?;
                Some(value(&policy.current()?.document.text))
            }
        });
        let inline = policies.inline.values().map(|document| value(&document.text));
        attached.chain(inline).collect()
    }
}
