//! Groups of users.

use std::collections::BTreeSet;

use super::super::call::{Call, checked_path, new_name};
use super::super::error;
use super::super::limits::{GROUPS_MAX, GROUPS_OF_USER_MAX};
use super::super::records::{GroupRecord, Policies, UserRecord};
use super::super::state::group_arn;
use super::super::xml::Xml;
use super::users::write_user;
use super::{Answer, Done};

/// Writes the elements of a group.
pub(super) fn write_group(xml: &mut Xml, account: &str, group: &GroupRecord) {
    xml.text("Path", &group.path);
    xml.text("GroupName", &group.name);
    xml.text("GroupId", &group.id);
    xml.text("Arn", &group_arn(account, group));
    xml.time("CreateDate", group.created);
}

fn check_free(call: &Call<'_>, name: &str) -> Result<(), error::ApiError> {
    match call.draft.state.get::<GroupRecord>(name) {
        Some(_) => Err(error::already_exists(format!("Group with name {name} already exists."))),
        None => Ok(()),
    }
}

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let name = new_name::<GroupRecord>(call.form, "GroupName")?;
    let path = call.path()?;
    check_free(call, &name)?;
    if call.draft.state.groups.len() >= GROUPS_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for GroupsPerAccount: {GROUPS_MAX}"
        )));
    }
    let group = GroupRecord {
        name,
        path,
        id: call.new_id("AGPA")?,
        created: call.now,
        members: BTreeSet::new(),
        disabled: false,
        policies: Policies::default(),
    };
    let mut xml = Xml::default();
    xml.element("Group", |xml| write_group(xml, call.account(), &group));
    call.draft.put(group);
    Ok(Some(xml))
}

pub(super) fn get(call: &mut Call<'_>) -> Answer {
    let group: GroupRecord = call.named()?;
    let members = call.draft.state.users.iter();
    let members = members.filter(|(_, user)| group.members.contains(&user.id));
    let page = call.page(members.map(|(key, user)| (key.clone(), user)))?;
    let mut xml = Xml::default();
    xml.element("Group", |xml| write_group(xml, call.account(), &group));
    page.write(&mut xml, "Users", |xml, user| write_user(xml, call.account(), user));
    Ok(Some(xml))
}

pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let prefix = call.form.text("PathPrefix").unwrap_or("/");
    let groups = call.draft.state.groups.iter();
    let groups = groups.filter(|(_, group)| group.path.starts_with(prefix));
    let page = call.page(groups.map(|(key, group)| (key.clone(), group)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "Groups", |xml, group| write_group(xml, call.account(), group));
    Ok(Some(xml))
}

pub(super) fn update(call: &mut Call<'_>) -> Done {
    let mut group: GroupRecord = call.named()?;
    let former = group.name.clone();
    if call.form.text("NewGroupName").is_some() {
        group.name = new_name::<GroupRecord>(call.form, "NewGroupName")?;
    }
    if let Some(path) = call.form.text("NewPath") {
        group.path = checked_path(path)?;
    }
    call.check("UpdateGroup", &group_arn(call.account(), &group))?;
    if group.name != former {
        call.draft.delete::<GroupRecord>(&former);
        check_free(call, &group.name)?;
    }
    call.draft.put(group);
    Ok(None)
}

pub(super) fn delete(call: &mut Call<'_>) -> Done {
    let group: GroupRecord = call.named()?;
    let first = match () {
        () if !group.members.is_empty() => Some("remove users from group first"),
        () if !group.policies.inline.is_empty() => Some("delete policies first"),
        () if !group.policies.attached.is_empty() => Some("detach all policies first"),
        () => None,
    };
    if let Some(first) = first {
        return Err(error::delete_conflict(format!("Cannot delete entity, must {first}.")));
    }
    call.draft.delete::<GroupRecord>(&group.name);
    Ok(None)
}

pub(super) fn add_user(call: &mut Call<'_>) -> Done {
    let mut group: GroupRecord = call.named()?;
    let user: UserRecord = call.get(call.form.required("UserName")?)?;
    let groups = call.draft.state.groups.values();
    let others = groups.filter(|it| it.id != group.id && it.members.contains(&user.id));
    if others.count() >= GROUPS_OF_USER_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for GroupsPerUser: {GROUPS_OF_USER_MAX}"
        )));
    }
    group.members.insert(user.id);
    call.draft.put(group);
    Ok(None)
}

pub(super) fn remove_user(call: &mut Call<'_>) -> Done {
    let mut group: GroupRecord = call.named()?;
    let user: UserRecord = call.get(call.form.required("UserName")?)?;
    if !group.members.remove(&user.id) {
        return Err(error::no_such_entity(format!(
            "User with the name {} is not in the group {}.",
            user.name, group.name
        )));
    }
    call.draft.put(group);
    Ok(None)
}
