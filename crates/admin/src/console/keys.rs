//! The access keys that users make for themselves: service accounts, with an end and fewer rights if
//! they like.
//!
//! MinIO's admin API has the same, in bodies that are encrypted under the secret key of the sender
//! with Argon2. A page has no Argon2, and its requests are signed as all others are.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Console;
use super::routes::json_answer;
use crate::operator::{Operator, Refused};
use liteio_iam::minio::{NewServiceAccount, ServiceAccountChange, invalid_argument};
use liteio_wire::reply::ApiError;

fn parsed<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    let parsed = serde_json::from_slice(body);
    parsed.map_err(|error| invalid_argument(format!("The access key: {error}.")))
}

/// Lists the sender's own keys, without their secrets.
pub(super) async fn list(
    State(console): State<Arc<Console>>,
    operator: Operator,
) -> Result<Response, Refused> {
    operator.note_operation("AdminListServiceAccounts");
    let sender = operator.sender();
    let keys = console.manager.read(sender, |desk| desk.list_service_accounts(""))?;
    Ok(json_answer(&json!({ "keys": keys })))
}

/// Creates a key. Its secret is told now and never again.
pub(super) async fn create(
    State(console): State<Arc<Console>>,
    operator: Operator,
    body: Bytes,
) -> Result<Response, Refused> {
    const NAME: &str = "AdminAddServiceAccount";
    operator.note_operation(NAME);
    let new: NewServiceAccount = parsed(&body)?;
    let sender = operator.sender();
    let made = console.manager.change(sender, NAME, |desk| desk.add_service_account(&new));
    Ok(json_answer(&made.await?))
}

/// Describes a key with its policy.
pub(super) async fn info(
    State(console): State<Arc<Console>>,
    Path(id): Path<String>,
    operator: Operator,
) -> Result<Response, Refused> {
    operator.note_operation("AdminInfoServiceAccount");
    let told = console.manager.read(operator.sender(), |desk| desk.service_account_info(&id))?;
    Ok(json_answer(&json!(told)))
}

/// Changes the state, the end or the policy of a key.
pub(super) async fn change(
    State(console): State<Arc<Console>>,
    Path(id): Path<String>,
    operator: Operator,
    body: Bytes,
) -> Result<Response, Refused> {
    const NAME: &str = "AdminUpdateServiceAccount";
    operator.note_operation(NAME);
    let change: ServiceAccountChange = parsed(&body)?;
    let sender = operator.sender();
    let changed =
        console.manager.change(sender, NAME, |desk| desk.change_service_account(&id, &change));
    changed.await?;
    Ok(json_answer(&json!({})))
}

/// Deletes a key.
pub(super) async fn remove(
    State(console): State<Arc<Console>>,
    Path(id): Path<String>,
    operator: Operator,
) -> Result<Response, Refused> {
    const NAME: &str = "AdminDeleteServiceAccount";
    operator.note_operation(NAME);
    let sender = operator.sender();
    let removed = console.manager.change(sender, NAME, |desk| desk.remove_service_account(&id));
    removed.await?;
    Ok(json_answer(&json!({})))
}
