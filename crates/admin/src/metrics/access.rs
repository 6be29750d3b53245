//! Authorizes access to metrics.
//!
//! As in MinIO: access needs a token of a user who may do `admin:Prometheus`, or the server is
//! configured to allow everybody. A signed request of such a user is accepted instead of a token.

use std::sync::Arc;

use axum::extract::FromRequestParts as _;
use http::header::AUTHORIZATION;
use http::request::Parts;

use super::Metrics;
use super::figures::Owner;
use super::token::Token;
use crate::operator::{Operator, Refused};
use liteio_auth::Identity;
use liteio_wire::origin::{Moment, Origin};
use liteio_wire::reply::{ApiError, ErrorCode};

/// The policy action, with MinIO's name.
const ACTION: &str = "admin:Prometheus";

/// Authorizes the sender of a request, and returns the buckets that the page names: the buckets of
/// the sender's account, or all buckets if everybody may read metrics.
///
/// # Errors
/// `AccessDenied`.
pub(super) async fn decide(metrics: &Metrics, head: &mut Parts) -> Result<Owner, Refused> {
    if metrics.app.metrics_are_public {
        return Ok(None);
    }
    if let Some(token) = bearer(head) {
        let key = of_token(metrics, token).ok_or_else(not_valid)?;
        if let Some(origin) = head.extensions.get::<Arc<Origin>>() {
            origin.found.note_user(&key.user.name, key.user.canonical_id());
            origin.found.note_key(&key.id, key.user.session.is_some());
        }
        head.extensions.insert(Identity::User(key));
        head.extensions.insert(Moment(metrics.app.now_unix_seconds()));
    }
    if head.extensions.get().and_then(Identity::key).is_none() {
        return Err(refusal().into());
    }
    let operator = Operator::from_request_parts(head, &()).await?;
    operator.may(ACTION)?;
    Ok(Some(operator.user().canonical_id().to_owned()))
}

fn bearer(head: &Parts) -> Option<&str> {
    let (scheme, token) = head.headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The access key of a token that is valid now.
fn of_token(metrics: &Metrics, token: &str) -> Option<Arc<liteio_identity::AccessKey>> {
    let now = metrics.app.now_unix_seconds();
    let token = Token::parse(token)?;
    let key = metrics.app.directory.key(token.access_key()?, None, now).ok()?;
    token.is_good(&key.secret, now).then_some(key)
}

/// One error for all tokens that are not valid: details would only help unauthorized clients.
fn not_valid() -> ApiError {
    ApiError::new(
        ErrorCode::AccessDenied,
        "The token is not valid: it was made with another key, or its key has changed, or its time is over; make one \
         with `liteio metrics-token`.",
    )
}

/// The error for a request without a token or signature.
fn refusal() -> ApiError {
    ApiError::new(
        ErrorCode::AccessDenied,
        "Metrics need a token: make one with `liteio metrics-token` or `mc admin prometheus generate ALIAS`, sign the \
         request, or start the server with --metrics-auth public.",
    )
}
