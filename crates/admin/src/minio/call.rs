//! [`Call`]: a request of the admin API, as its handler sees it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use liteio_store::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::{Admin, Answer};
use crate::operator::{Operator, Refused};
use liteio_client::sealed::{self, Unsealable};
use liteio_iam::minio::{Sender, bad_json, invalid_argument, of_store, too_large};
use liteio_wire::reply::ApiError;

/// One key derivation at a time, because each takes 64 MiB. An async mutex, so that waiting requests
/// do not occupy blocking threads.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Longest body. MinIO's limit.
const BODY_BYTES_MAX: usize = 256 << 10;

/// A signed request.
pub(super) struct Call {
    operator: Operator,
    query: Vec<(String, String)>,
    body: Body,
}

/// The query parameters of a request, all of them known to its handler.
pub(super) struct Query<'c>(&'c [(String, String)]);

impl<S: Sync> FromRequest<S> for Call {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Call, Refused> {
        let (mut head, body) = request.into_parts();
        let operator = Operator::from_request_parts(&mut head, state).await?;
        let query = head.uri.query().unwrap_or_default();
        let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Ok(Call { operator, query, body })
    }
}

impl Call {
    /// Records the operation for the log, and returns the parameters.
    ///
    /// # Errors
    /// `XMinioAdminInvalidArgument` for an unknown parameter.
    pub(super) fn begin(
        &self,
        operation: &'static str,
        known: &[&str],
    ) -> Result<Query<'_>, ApiError> {
        self.operator.note_operation(operation);
        match self.query.iter().find(|(name, _)| !known.contains(&&**name)) {
            None => Ok(Query(&self.query)),
            Some((name, _)) => {
                let name: String = name.chars().take(64).collect();
                Err(invalid_argument(format!("The parameter {name} is not known.")))
            }
        }
    }

    /// Checks that the sender may do one of `actions`, before the body is read.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub(super) fn may(&self, actions: &[&str]) -> Result<(), ApiError> {
        let mut refusal = None;
        for action in actions {
            match self.operator.may(action) {
                Ok(()) => return Ok(()),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    pub(super) fn sender(&self) -> Sender<'_> {
        self.operator.sender()
    }

    /// The name of the sender.
    pub(super) fn user_name(&self) -> &str {
        &self.operator.user().name
    }

    /// The canonical ID of the sender's account.
    pub(super) fn account_id(&self) -> &str {
        self.operator.user().canonical_id()
    }

    /// True for an encrypted connection, and the host that the sender used.
    pub(super) fn entrance(&self) -> (bool, &str) {
        let origin = self.operator.origin();
        (origin.peer.secure, origin.target.host())
    }

    /// The raw body.
    pub(super) async fn body(&mut self) -> Result<Bytes, ApiError> {
        let body = std::mem::take(&mut self.body);
        let collected = Limited::new(body, BODY_BYTES_MAX).collect().await;
        collected.map(|it| it.to_bytes()).map_err(|error| {
            let known = ApiError::find(&*error).cloned();
            known.unwrap_or_else(|| match error.is::<LengthLimitError>() {
                true => too_large(BODY_BYTES_MAX),
                false => invalid_argument("The body could not be read."),
            })
        })
    }

    /// Parses the JSON document in the body.
    pub(super) async fn json<T: DeserializeOwned>(&mut self) -> Result<T, ApiError> {
        parse(&self.body().await?)
    }

    /// Decrypts and parses the JSON document in the body.
    pub(super) async fn sealed_json<T: DeserializeOwned>(
        &mut self,
        admin: &Admin,
    ) -> Result<T, ApiError> {
        let body = self.body().await?;
        let secret = self.operator.secret().clone();
        let _alone = ALONE.lock().await;
        let opened = admin.app.blocking(move |_| -> Result<_, StoreError> {
            Ok(sealed::open(secret.expose(), &body))
        });
        let plain = opened.await.map_err(|error| of_store(&error))?.map_err(|refused| {
            invalid_argument(match refused {
                Unsealable::Cut => "The body is too short to be encrypted.",
                Unsealable::UnknownCipher => "The cipher of the body is not known.",
                Unsealable::NotAuthentic => {
                    "The body is not encrypted under the secret key of the sender, or was changed."
                }
            })
        })?;
        parse(&plain)
    }

    /// Responds with an encrypted JSON document.
    pub(super) async fn seal(self, admin: &Admin, value: &impl Serialize) -> Answer {
        let plain = json_of(value)?;
        self.seal_bytes(admin, plain).await
    }

    /// Responds with these bytes, encrypted.
    pub(super) async fn seal_bytes(self, admin: &Admin, plain: Vec<u8>) -> Answer {
        let secret = self.operator.secret().clone();
        let _alone = ALONE.lock().await;
        let sealed = admin.app.blocking(move |_| {
            sealed::seal(secret.expose(), &plain).map_err(|error| StoreError::Io(Arc::new(error)))
        });
        let sealed = sealed.await.map_err(|error| of_store(&error))?;
        Ok(([(CONTENT_TYPE, "application/json")], sealed).into_response())
    }
}

impl<'c> Query<'c> {
    /// The value of a parameter; empty if missing.
    pub(super) fn text(&self, name: &str) -> &'c str {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The value of a required parameter.
    ///
    /// # Errors
    /// `XMinioAdminInvalidArgument`.
    pub(super) fn required(&self, name: &str) -> Result<&'c str, ApiError> {
        match self.text(name) {
            "" => Err(invalid_argument(format!("The parameter {name} is missing."))),
            value => Ok(value),
        }
    }

    /// All values of a parameter.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        let found = self.0.iter().filter(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| value.clone()).collect()
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // serde's data errors name the field at fault. Syntax errors are not passed on.
    serde_json::from_slice(bytes).map_err(|error| {
        let what = match error.classify() {
            serde_json::error::Category::Data => error.to_string(),
            _ => "it is no JSON".to_owned(),
        };
        bad_json(format!("The document in the body cannot be read: {what}"))
    })
}

fn json_of(value: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(value).map_err(|error| {
        let what = format!("an answer of the admin API: {error}");
        of_store(&StoreError::Internal { what })
    })
}

/// Responds with a JSON document.
pub(super) fn json(value: &impl Serialize) -> Answer {
    Ok(([(CONTENT_TYPE, "application/json")], json_of(value)?).into_response())
}

/// Responds with success and no content.
pub(super) fn done() -> Answer {
    Ok(Response::default())
}
