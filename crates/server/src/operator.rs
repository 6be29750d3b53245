//! [`Operator`]: the sender of a request to an operational route, and the decision what it may do there.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::header::USER_AGENT;
use http::request::Parts;
use jiff::Timestamp;

use crate::auth::Identity;
use crate::iam::{self, Circumstances};
use crate::identity::User;
use crate::origin::Origin;
use crate::reply::{ApiError, ErrorCode};

/// The resource of actions that are about the server.
const SERVER: &str = "arn:aws:s3:::*";

/// The user who has signed a request.
pub(crate) struct Operator {
    user: Arc<User>,
    origin: Arc<Origin>,
    user_agent: Option<String>,
}

impl Operator {
    /// Decides whether the user may do `action`, `admin:ServerTrace` for example.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub(crate) fn may(&self, action: &str) -> Result<(), ApiError> {
        let context = Circumstances {
            sender: Some(&self.user),
            peer: self.origin.peer,
            user_agent: self.user_agent.as_deref(),
            now: Timestamp::now().as_second(),
            more: Vec::new(),
        };
        iam::check(&self.user, action, SERVER, &context).map_err(|refusal| {
            let message = refusal.message().to_owned();
            self.origin.found.note_denial(|| message.clone());
            ApiError::new(ErrorCode::AccessDenied, message)
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Operator, ApiError> {
        let user = head.extensions.get().and_then(Identity::user);
        let (Some(user), Some(origin)) = (user, head.extensions.get::<Arc<Origin>>()) else {
            return Err(ApiError::new(
                ErrorCode::AccessDenied,
                "Only users may ask for this: sign the request (AWS Signature Version 4).",
            ));
        };
        let user_agent = head.headers.get(USER_AGENT).and_then(|it| it.to_str().ok());
        Ok(Operator {
            user: Arc::clone(user),
            origin: Arc::clone(origin),
            user_agent: user_agent.map(str::to_owned),
        })
    }
}

/// An error leaves the router as a value, in the extensions of an empty response.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}
