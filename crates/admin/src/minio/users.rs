//! Users.

use std::sync::Arc;

use axum::extract::State;

use super::call::{Call, done, json};
use super::{Admin, Answer};
use liteio_iam::minio::NewUser;

pub(super) async fn add(State(admin): State<Arc<Admin>>, mut call: Call) -> Answer {
    let name = call.begin("AdminAddUser", &["accessKey"])?.required("accessKey")?.to_owned();
    let right = &["admin:CreateUser"];
    call.may(right)?;
    let new: NewUser = call.sealed_json(&admin).await?;
    let added = admin.manager.change(call.sender(), "AdminAddUser", |desk| {
        desk.may(right)?;
        desk.add_user(&name, &new)
    });
    added.await?;
    done()
}

pub(super) async fn remove(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let name = call.begin("AdminRemoveUser", &["accessKey"])?.required("accessKey")?;
    let removed = admin.manager.change(call.sender(), "AdminRemoveUser", |desk| {
        desk.may(&["admin:DeleteUser"])?;
        desk.remove_user(name)
    });
    removed.await?;
    done()
}

pub(super) async fn list(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    call.begin("AdminListUsers", &[])?;
    let users = admin.manager.read(call.sender(), |desk| {
        desk.may(&["admin:ListUsers"])?;
        Ok(desk.list_users())
    })?;
    call.seal(&admin, &users).await
}

pub(super) async fn info(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let name = call.begin("AdminGetUserInfo", &["accessKey"])?.required("accessKey")?;
    json(&admin.manager.read(call.sender(), |desk| desk.user_info(name))?)
}

pub(super) async fn set_status(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("AdminSetUserStatus", &["accessKey", "status"])?;
    let (name, status) = (query.required("accessKey")?, query.required("status")?);
    let set = admin.manager.change(call.sender(), "AdminSetUserStatus", |desk| {
        // As in MinIO, which has separate actions for enabling and disabling but checks only this
        // one.
        desk.may(&["admin:EnableUser"])?;
        desk.set_user_status(name, status)
    });
    set.await?;
    done()
}
