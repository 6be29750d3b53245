//! Service accounts. Users may manage their own without a policy, so request bodies are read for
//! all users.

use std::sync::Arc;

use axum::extract::State;
use axum::response::IntoResponse as _;
use http::StatusCode;
use serde_json::json;

use super::call::Call;
use super::{Admin, Answer};
use liteio_iam::minio::{ListedKeys, NewServiceAccount, ServiceAccountChange, invalid_argument};

pub(super) async fn add(State(admin): State<Arc<Admin>>, mut call: Call) -> Answer {
    call.begin("AdminAddServiceAccount", &[])?;
    let new: NewServiceAccount = call.sealed_json(&admin).await?;
    let added = admin
        .manager
        .change(call.sender(), "AdminAddServiceAccount", |desk| desk.add_service_account(&new));
    let added = added.await?;
    call.seal(&admin, &added).await
}

pub(super) async fn update(State(admin): State<Arc<Admin>>, mut call: Call) -> Answer {
    let known = &["accessKey"];
    let query = call.begin("AdminUpdateServiceAccount", known)?;
    let id = query.required("accessKey")?.to_owned();
    let right = &["admin:UpdateServiceAccount"];
    call.may(right)?;
    let change: ServiceAccountChange = call.sealed_json(&admin).await?;
    let changed = admin.manager.change(call.sender(), "AdminUpdateServiceAccount", |desk| {
        desk.may(right)?;
        desk.change_service_account(&id, &change)
    });
    changed.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn remove(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let id = call.begin("AdminDeleteServiceAccount", &["accessKey"])?.required("accessKey")?;
    let removed = admin
        .manager
        .change(call.sender(), "AdminDeleteServiceAccount", |desk| desk.remove_service_account(id));
    removed.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn info(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let id = call.begin("AdminInfoServiceAccount", &["accessKey"])?.required("accessKey")?;
    let info = admin.manager.read(call.sender(), |desk| desk.service_account_info(id))?;
    call.seal(&admin, &info).await
}

pub(super) async fn list(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let user = call.begin("AdminListServiceAccounts", &["user"])?.text("user");
    let accounts = admin.manager.read(call.sender(), |desk| desk.list_service_accounts(user))?;
    call.seal(&admin, &json!({ "accounts": accounts })).await
}

pub(super) async fn list_all(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("AdminListAccessKeys", &["listType", "users", "all"])?;
    let listed = ListedKeys::parse(query.required("listType")?)?;
    let (users, is_all) = (query.all("users"), query.text("all") == "true");
    if is_all && !users.is_empty() {
        return Err(invalid_argument("Name users or ask for all, not both.").into());
    }
    let keys =
        admin.manager.read(call.sender(), |desk| desk.list_access_keys(&users, is_all, listed))?;
    call.seal(&admin, &keys).await
}
