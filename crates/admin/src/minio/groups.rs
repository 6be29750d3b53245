//! Groups of users.

use std::sync::Arc;

use axum::extract::State;

use super::call::{Call, done, json};
use super::{Admin, Answer};
use liteio_iam::minio::GroupChange;

pub(super) async fn change(State(admin): State<Arc<Admin>>, mut call: Call) -> Answer {
    call.begin("AdminUpdateGroupMembers", &[])?;
    let right = &["admin:AddUserToGroup"];
    call.may(right)?;
    let change: GroupChange = call.json().await?;
    let changed = admin.manager.change(call.sender(), "AdminUpdateGroupMembers", |desk| {
        desk.may(right)?;
        desk.change_group(&change)
    });
    changed.await?;
    done()
}

pub(super) async fn info(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let name = call.begin("AdminGetGroup", &["group"])?.required("group")?;
    json(&admin.manager.read(call.sender(), |desk| {
        desk.may(&["admin:GetGroup"])?;
        desk.group_info(name)
    })?)
}

pub(super) async fn list(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    call.begin("AdminListGroups", &[])?;
    json(&admin.manager.read(call.sender(), |desk| {
        desk.may(&["admin:ListGroups"])?;
        Ok(desk.list_groups())
    })?)
}

pub(super) async fn set_status(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("AdminSetGroupStatus", &["group", "status"])?;
    let (name, status) = (query.required("group")?, query.required("status")?);
    let set = admin.manager.change(call.sender(), "AdminSetGroupStatus", |desk| {
        desk.may(&["admin:EnableGroup"])?;
        desk.set_group_status(name, status)
    });
    set.await?;
    done()
}
