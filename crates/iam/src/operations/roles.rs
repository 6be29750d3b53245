//! Roles.

use super::super::call::{Call, new_name};
use super::super::constraint::Rule;
use super::super::error::{self, ApiResult};
use super::super::records::{Document, Policies, RoleRecord};
use super::super::state::role_arn;
use super::super::xml::Xml;
use super::tags::{new_tags, write_tags};
use super::{Answer, Done};
use liteio_identity::{NameOf, SESSION_SECONDS_DEFAULT, SESSION_SECONDS_MAX};
use liteio_policy::{TRUST_POLICY_CHARACTERS_MAX, characters};

/// Maximum roles of an account (as AWS).
const ROLES_MAX: usize = 1000;

fn write_role(xml: &mut Xml, account: &str, role: &RoleRecord) {
    write_new_role(xml, account, role);
    xml.text("MaxSessionDuration", &role.session_seconds_max.to_string());
}

/// Writes a role as CreateRole does: as on AWS, without the maximum of its sessions.
fn write_new_role(xml: &mut Xml, account: &str, role: &RoleRecord) {
    xml.text("Path", &role.path);
    xml.text("RoleName", &role.name);
    xml.text("RoleId", &role.id);
    xml.text("Arn", &role_arn(account, role));
    xml.time("CreateDate", role.created);
    xml.document("AssumeRolePolicyDocument", &role.trust.text);
    xml.optional("Description", role.description.as_deref());
}

fn trust(text: &str) -> ApiResult<Document> {
    if characters(text) > TRUST_POLICY_CHARACTERS_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for ACLSizePerRole: {TRUST_POLICY_CHARACTERS_MAX}"
        )));
    }
    Document::of_trust(text).map_err(|error| error::malformed_policy(&error))
}

fn description(call: &Call<'_>) -> ApiResult<Option<String>> {
    match call.form.text("Description") {
        Some(text) if text.chars().count() > 1000 => {
            Err(Rule::LongerThan(1000).of_iam("Description"))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

fn session_seconds(call: &Call<'_>) -> ApiResult<Option<u32>> {
    call.form.number("MaxSessionDuration", SESSION_SECONDS_DEFAULT, SESSION_SECONDS_MAX)
}

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let name = new_name::<RoleRecord>(call.form, "RoleName")?;
    super::refuse_boundary(call)?;
    let (path, tags) = (call.path()?, new_tags(call.form)?);
    let trust = trust(call.form.required("AssumeRolePolicyDocument")?)?;
    let is_configured = call.directory.is_configured(call.account(), NameOf::Role, &name);
    if is_configured || call.draft.state.get::<RoleRecord>(&name).is_some() {
        return Err(error::already_exists(format!("Role with name {name} already exists.")));
    }
    if call.draft.state.roles.len() >= ROLES_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for RolesPerAccount: {ROLES_MAX}"
        )));
    }
    let role = RoleRecord {
        name,
        path,
        id: call.new_id("AROA")?,
        created: call.now,
        description: description(call)?,
        session_seconds_max: session_seconds(call)?.unwrap_or(SESSION_SECONDS_DEFAULT),
        trust,
        policies: Policies::default(),
        tags,
    };
    let mut xml = Xml::default();
    xml.element("Role", |xml| {
        write_new_role(xml, call.account(), &role);
        write_tags(xml, &role.tags);
    });
    call.draft.put(role);
    Ok(Some(xml))
}

pub(super) fn get(call: &mut Call<'_>) -> Answer {
    let role: RoleRecord = call.named()?;
    let mut xml = Xml::default();
    xml.element("Role", |xml| {
        write_role(xml, call.account(), &role);
        write_tags(xml, &role.tags);
        xml.element("RoleLastUsed", |_| {});
    });
    Ok(Some(xml))
}

pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let prefix = call.form.text("PathPrefix").unwrap_or("/");
    let roles = call.draft.state.roles.iter().filter(|(_, role)| role.path.starts_with(prefix));
    let page = call.page(roles.map(|(key, role)| (key.clone(), role)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "Roles", |xml, role| write_role(xml, call.account(), role));
    Ok(Some(xml))
}

pub(super) fn update(call: &mut Call<'_>) -> Answer {
    let mut role: RoleRecord = call.named()?;
    // A missing text stays unchanged, an empty one removes it.
    if call.form.has("Description") {
        role.description = description(call)?;
    }
    if let Some(seconds) = session_seconds(call)? {
        role.session_seconds_max = seconds;
    }
    call.draft.put(role);
    Ok(Some(Xml::default()))
}

pub(super) fn update_description(call: &mut Call<'_>) -> Answer {
    let mut role: RoleRecord = call.named()?;
    role.description = description(call)?;
    let mut xml = Xml::default();
    xml.element("Role", |xml| write_role(xml, call.account(), &role));
    call.draft.put(role);
    Ok(Some(xml))
}

pub(super) fn update_trust(call: &mut Call<'_>) -> Done {
    let mut role: RoleRecord = call.named()?;
    role.trust = trust(call.form.required("PolicyDocument")?)?;
    call.draft.put(role);
    Ok(None)
}

pub(super) fn delete(call: &mut Call<'_>) -> Done {
    let role: RoleRecord = call.named()?;
    let first = match () {
        () if !role.policies.inline.is_empty() => Some("delete policies first"),
        () if !role.policies.attached.is_empty() => Some("detach all policies first"),
        () => None,
    };
    if let Some(first) = first {
        return Err(error::delete_conflict(format!("Cannot delete entity, must {first}.")));
    }
    call.draft.delete::<RoleRecord>(&role.name);
    Ok(None)
}

/// Instance profiles do not exist here.
pub(super) fn list_profiles(call: &mut Call<'_>) -> Answer {
    let _: RoleRecord = call.named()?;
    super::account::empty(call, "InstanceProfiles")
}
