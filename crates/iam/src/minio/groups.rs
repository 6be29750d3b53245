//! Groups of users.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::call::check_name;
use super::super::limits::{GROUPS_MAX, GROUPS_OF_USER_MAX};
use super::super::records::{GroupRecord, Policies};
use super::error::{self, AdminResult};
use super::users::{is_enabled, policy_names, status};
use super::{Desk, for_admin, time};

/// A request to add or remove members.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupChange {
    pub(super) group: String,
    #[serde(default)]
    pub(super) members: Option<Vec<String>>,
    #[serde(default)]
    pub(super) group_status: String,
    #[serde(default)]
    pub(super) is_remove: bool,
}

/// The description of a group.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupInfo {
    name: String,
    status: &'static str,
    members: Vec<String>,
    policy: String,
    updated_at: String,
}

impl Desk<'_> {
    /// The names of all groups.
    pub fn list_groups(&self) -> Vec<String> {
        self.draft.state.groups.values().map(|group| group.name.clone()).collect()
    }

    /// The description of a group.
    pub fn group_info(&self, name: &str) -> AdminResult<GroupInfo> {
        let group = self.group(name)?;
        let members = group.members.iter().filter_map(|id| self.name_of(id));
        let mut members: Vec<String> = members.collect();
        members.sort();
        Ok(GroupInfo {
            status: status(!group.disabled),
            members,
            policy: policy_names(&group.policies),
            updated_at: time(group.created),
            name: group.name,
        })
    }

    /// Adds members to a group, creating it if necessary, or removes them. Removing without members
    /// deletes the group.
    pub fn change_group(&mut self, change: &GroupChange) -> AdminResult<()> {
        let GroupChange { group: name, members, group_status, is_remove } = change;
        let members = members.as_deref().unwrap_or_default();
        if *is_remove && members.is_empty() {
            let group = self.group(name)?;
            if !group.members.is_empty() {
                return Err(error::group_not_empty(name));
            }
            self.draft.delete::<GroupRecord>(&group.name);
            return Ok(());
        }
        let mut group = match self.group(name) {
            Ok(group) => group,
            Err(refusal) if *is_remove => return Err(refusal),
            Err(_) => self.new_group(name)?,
        };
        for member in members {
            let user = self.user(member)?;
            match is_remove {
                true => {
                    group.members.remove(&user.id);
                }
                false => {
                    self.check_room(&group, &user.id)?;
                    group.members.insert(user.id);
                }
            }
        }
        if !group_status.is_empty() {
            group.disabled = !is_enabled(group_status)?;
        }
        self.draft.put(group);
        Ok(())
    }

    fn check_room(&self, group: &GroupRecord, user: &str) -> AdminResult<()> {
        let groups = self.draft.state.groups.values();
        let others = groups.filter(|it| it.id != group.id && it.members.contains(user));
        match others.count() < GROUPS_OF_USER_MAX {
            true => Ok(()),
            false => {
                let message = format!("A user is in at most {GROUPS_OF_USER_MAX} groups.");
                Err(error::too_many(message))
            }
        }
    }

    fn new_group(&self, name: &str) -> AdminResult<GroupRecord> {
        check_name(name, "group", 128).map_err(|error| for_admin(&error))?;
        let groups = &self.draft.state.groups;
        if groups.contains_key(&name.to_lowercase()) {
            let message = "There is a group whose name differs in case alone.";
            return Err(error::invalid_argument(message));
        }
        if groups.len() >= GROUPS_MAX {
            return Err(error::too_many(format!("An account has at most {GROUPS_MAX} groups.")));
        }
        Ok(GroupRecord {
            name: name.to_owned(),
            path: "/".to_owned(),
            id: self.new_id("AGPA")?,
            created: self.now,
            members: BTreeSet::new(),
            disabled: false,
            policies: Policies::default(),
        })
    }

    /// Enables or disables a group. Members of a disabled one may do nothing.
    pub fn set_group_status(&mut self, name: &str, status: &str) -> AdminResult<()> {
        let (is_enabled, group) = (is_enabled(status)?, self.group(name)?);
        self.draft.put(GroupRecord { disabled: !is_enabled, ..group });
        Ok(())
    }
}
