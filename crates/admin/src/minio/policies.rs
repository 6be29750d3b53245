//! Canned policies, and their attachment to users and groups.

use std::sync::Arc;

use axum::extract::State;

use super::call::{Call, done, json};
use super::{Admin, Answer};
use liteio_iam::minio::{Association, EntitiesOf, invalid_argument};

pub(super) async fn add(State(admin): State<Arc<Admin>>, mut call: Call) -> Answer {
    let name = call.begin("AdminAddCannedPolicy", &["name"])?.required("name")?.to_owned();
    let right = &["admin:CreatePolicy"];
    call.may(right)?;
    let body = call.body().await?;
    let text = str::from_utf8(&body).map_err(|_| invalid_argument("The policy is no UTF-8."))?;
    let added = admin.manager.change(call.sender(), "AdminAddCannedPolicy", |desk| {
        desk.may(right)?;
        desk.put_policy(&name, text)
    });
    added.await?;
    done()
}

pub(super) async fn remove(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let name = call.begin("AdminRemoveCannedPolicy", &["name"])?.required("name")?;
    let removed = admin.manager.change(call.sender(), "AdminRemoveCannedPolicy", |desk| {
        desk.may(&["admin:DeletePolicy"])?;
        desk.remove_policy(name)
    });
    removed.await?;
    done()
}

pub(super) async fn list(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    call.begin("AdminListCannedPolicies", &[])?;
    json(&admin.manager.read(call.sender(), |desk| {
        desk.may(&["admin:ListUserPolicies"])?;
        Ok(desk.list_policies())
    })?)
}

pub(super) async fn info(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("AdminInfoCannedPolicy", &["name", "v"])?;
    let name = query.required("name")?;
    let info = admin.manager.read(call.sender(), |desk| {
        desk.may(&["admin:GetPolicy"])?;
        desk.policy_info(name)
    })?;
    match query.text("v") {
        "2" => json(&info),
        "" => json(&info.policy),
        _ => Err(invalid_argument("v must be 2.").into()),
    }
}

pub(super) async fn attach(admin: State<Arc<Admin>>, call: Call) -> Answer {
    associate(admin, call, "AdminAttachPolicy", true).await
}

pub(super) async fn detach(admin: State<Arc<Admin>>, call: Call) -> Answer {
    associate(admin, call, "AdminDetachPolicy", false).await
}

async fn associate(
    State(admin): State<Arc<Admin>>,
    mut call: Call,
    operation: &'static str,
    is_attach: bool,
) -> Answer {
    call.begin(operation, &[])?;
    let rights = &["admin:UpdatePolicyAssociation", "admin:AttachUserOrGroupPolicy"];
    call.may(rights)?;
    let association: Association = call.sealed_json(&admin).await?;
    let changed = admin.manager.change(call.sender(), operation, |desk| {
        desk.may(rights)?;
        desk.associate(&association, is_attach)
    });
    let changed = changed.await?;
    call.seal(&admin, &changed).await
}

pub(super) async fn set(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let known = &["policyName", "userOrGroup", "isGroup"];
    let query = call.begin("AdminSetPolicy", known)?;
    let (names, holder) = (query.text("policyName"), query.required("userOrGroup")?);
    let is_group = match query.required("isGroup")? {
        "true" => true,
        "false" => false,
        _ => return Err(invalid_argument("isGroup must be true or false.").into()),
    };
    let set = admin.manager.change(call.sender(), "AdminSetPolicy", |desk| {
        desk.may(&["admin:AttachUserOrGroupPolicy"])?;
        desk.set_policies(names, holder, is_group)
    });
    set.await?;
    done()
}

pub(super) async fn entities(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("AdminListPolicyEntities", &["user", "group", "policy"])?;
    let of = EntitiesOf {
        users: query.all("user"),
        groups: query.all("group"),
        policies: query.all("policy"),
    };
    let entities = admin.manager.read(call.sender(), |desk| {
        desk.may(&["admin:ListUserPolicies"])?;
        desk.may(&["admin:ListUsers"])?;
        desk.may(&["admin:ListGroups"])?;
        desk.entities(&of)
    })?;
    call.seal(&admin, &entities).await
}
