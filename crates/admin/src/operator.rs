//! [`Operator`]: the authenticated sender of an operational request, and its authorization.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::header::USER_AGENT;
use http::request::Parts;

use liteio_auth::Identity;
use liteio_iam::minio::Sender;
use liteio_iam::{self as iam, Circumstances};
use liteio_identity::{AccessKey, SecretKey, User};
use liteio_wire::origin::{DenialBy, Moment, Origin};
use liteio_wire::reply::{ApiError, ErrorCode};

/// The resource of server-wide actions.
const SERVER: &str = "arn:aws:s3:::*";

/// The user who signed a request.
pub struct Operator {
    key: Arc<AccessKey>,
    origin: Arc<Origin>,
    user_agent: Option<String>,
    now: i64,
}

impl Operator {
    /// Checks that the user may do `action`, for example `admin:ServerTrace`.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub fn may(&self, action: &str) -> Result<(), ApiError> {
        iam::check(&self.key.user, action, SERVER, &self.circumstances()).map_err(|refusal| {
            let message = refusal.message().to_owned();
            self.origin.found.note_denial(DenialBy::Sender, || message.clone());
            ApiError::new(ErrorCode::AccessDenied, message)
        })
    }

    /// The context of the request for policy conditions.
    pub fn circumstances(&self) -> Circumstances<'_> {
        Circumstances {
            sender: Some(&self.key.user),
            peer: self.origin.peer,
            user_agent: self.user_agent.as_deref(),
            now: self.now,
            more: Vec::new(),
        }
    }

    /// The user.
    pub fn user(&self) -> &User {
        &self.key.user
    }

    /// The access key that signed the request.
    pub fn key(&self) -> &AccessKey {
        &self.key
    }

    /// The secret key that signed the request.
    pub fn secret(&self) -> &SecretKey {
        &self.key.secret
    }

    /// The origin of the request.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Records the operation, for the log and for observers.
    pub(crate) fn note_operation(&self, name: &'static str) {
        self.origin.found.note_operation(name);
    }

    /// The sender, for user management.
    pub fn sender(&self) -> Sender<'_> {
        Sender { key: &self.key, context: self.circumstances() }
    }
}

impl<S: Sync> FromRequestParts<S> for Operator {
    type Rejection = Refused;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Operator, Refused> {
        let key = head.extensions.get().and_then(Identity::key);
        let now = head.extensions.get::<Moment>();
        let (Some(key), Some(origin), Some(Moment(now))) =
            (key, head.extensions.get::<Arc<Origin>>(), now)
        else {
            return Err(Refused(ApiError::new(
                ErrorCode::AccessDenied,
                "Only users may ask for this: sign the request (AWS Signature Version 4).",
            )));
        };
        let user_agent = head.headers.get(USER_AGENT).and_then(|it| it.to_str().ok());
        Ok(Operator {
            key: Arc::clone(key),
            origin: Arc::clone(origin),
            user_agent: user_agent.map(str::to_owned),
            now: *now,
        })
    }
}

/// An [`ApiError`] that passes through the router as a value, in the extensions of an empty
/// response.
#[derive(Debug)]
pub struct Refused(ApiError);

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Refused {
        Refused(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.0.status().into_response();
        response.extensions_mut().insert(self.0);
        response
    }
}
