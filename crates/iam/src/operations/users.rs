//! Users.

use std::sync::Arc;

use super::super::call::{Call, checked_path, new_name};
use super::super::error::{self, ApiResult};
use super::super::limits::USERS_MAX;
use super::super::records::{GroupRecord, Policies, UserRecord};
use super::super::state::user_arn;
use super::super::xml::Xml;
use super::tags::{new_tags, write_tags};
use super::{Answer, Done};
use liteio_identity::NameOf;
use liteio_policy::CallerKind;

/// Writes the elements of a user.
pub(super) fn write_user(xml: &mut Xml, account: &str, user: &UserRecord) {
    xml.text("Path", &user.path);
    xml.text("UserName", &user.name);
    xml.text("UserId", &user.id);
    xml.text("Arn", &user_arn(account, &user.path, &user.name));
    xml.time("CreateDate", user.created);
}

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let name = new_name::<UserRecord>(call.form, "UserName")?;
    super::refuse_boundary(call)?;
    let (path, tags) = (call.path()?, new_tags(call.form)?);
    check_free(call, &name)?;
    if call.draft.state.users.len() >= USERS_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for UsersPerAccount: {USERS_MAX}"
        )));
    }
    let user = UserRecord {
        name,
        path,
        id: call.new_id("AIDA")?,
        created: call.now,
        keys: Vec::new(),
        disabled: false,
        policies: Policies::default(),
        tags,
    };
    let mut xml = Xml::default();
    xml.element("User", |xml| {
        write_user(xml, call.account(), &user);
        write_tags(xml, &user.tags);
    });
    call.draft.put(user);
    Ok(Some(xml))
}

fn check_free(call: &Call<'_>, name: &str) -> ApiResult<()> {
    let is_configured = call.directory.is_configured(call.account(), NameOf::User, name);
    match is_configured || call.draft.state.get::<UserRecord>(name).is_some() {
        true => Err(error::already_exists(format!("User with name {name} already exists."))),
        false => Ok(()),
    }
}

pub(super) fn get(call: &mut Call<'_>) -> Answer {
    let mut xml = Xml::default();
    let caller = &call.sender.caller;
    let own = caller.name.as_deref().unwrap_or_default();
    let is_own = call.form.text("UserName").is_none_or(|name| name == own);
    let is_made = call.draft.state.get::<UserRecord>(own).is_some_and(|it| it.id == caller.user_id);
    let is_user = matches!(caller.kind, CallerKind::Root | CallerKind::User);
    if is_own && is_user && !is_made {
        // A configured user: its creation time is unknown.
        xml.element("User", |xml| {
            xml.text("Path", "/");
            xml.text("UserName", own);
            xml.text("UserId", &caller.user_id);
            xml.text("Arn", &caller.arn);
            xml.time("CreateDate", 0);
        });
        return Ok(Some(xml));
    }
    let user: UserRecord = call.named()?;
    xml.element("User", |xml| {
        write_user(xml, call.account(), &user);
        write_tags(xml, &user.tags);
    });
    Ok(Some(xml))
}

pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let prefix = call.form.text("PathPrefix").unwrap_or("/");
    let users = call.draft.state.users.iter().filter(|(_, user)| user.path.starts_with(prefix));
    let page = call.page(users.map(|(key, user)| (key.clone(), user)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "Users", |xml, user| write_user(xml, call.account(), user));
    Ok(Some(xml))
}

pub(super) fn update(call: &mut Call<'_>) -> Done {
    let mut user: UserRecord = call.named()?;
    let former = user.name.clone();
    if call.form.text("NewUserName").is_some() {
        user.name = new_name::<UserRecord>(call.form, "NewUserName")?;
    }
    if let Some(path) = call.form.text("NewPath") {
        user.path = checked_path(path)?;
    }
    // Policies name users by ARN: with the ARN of another user, it would get the rights meant for
    // the other.
    call.check("UpdateUser", &user_arn(call.account(), &user.path, &user.name))?;
    if user.name != former {
        call.draft.delete::<UserRecord>(&former);
        check_free(call, &user.name)?;
    }
    call.draft.put(user);
    Ok(None)
}

pub(super) fn delete(call: &mut Call<'_>) -> Done {
    let user: UserRecord = call.named()?;
    let has_group = call.draft.state.groups.values().any(|it| it.members.contains(&user.id));
    let has_service_key = call.draft.state.keys.values().any(|key| key.owner == user.id);
    let first = match () {
        () if has_service_key || !user.keys.is_empty() => Some("delete access keys first"),
        () if !user.policies.inline.is_empty() => Some("delete policies first"),
        () if !user.policies.attached.is_empty() => Some("detach all policies first"),
        () if has_group => Some("remove users from group first"),
        () => None,
    };
    if let Some(first) = first {
        return Err(error::delete_conflict(format!("Cannot delete entity, must {first}.")));
    }
    call.draft.delete::<UserRecord>(&user.name);
    Ok(None)
}

pub(super) fn list_groups(call: &mut Call<'_>) -> Answer {
    let user: UserRecord = call.named()?;
    let groups = call.draft.state.groups.iter();
    let groups = groups.filter(|(_, group)| group.members.contains(&user.id));
    let page = call.page(groups.map(|(key, group)| (key.clone(), group)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "Groups", |xml, group: &Arc<GroupRecord>| {
        super::groups::write_group(xml, call.account(), group);
    });
    Ok(Some(xml))
}
