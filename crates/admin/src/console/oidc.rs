//! The sign-in by OpenID Connect: the page begins and ends it by two requests of its own, and
//! leaves for the issuer in between.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use http::Uri;
use http::header::ORIGIN;
use serde::Deserialize;
use serde_json::json;

use super::routes::{issue, json_answer};
use super::{Console, PATH, session};
use crate::operator::Refused;
use liteio_iam::{Returned, SignIn};
use liteio_wire::origin::Origin;
use liteio_wire::reply::{ApiError, ErrorCode};

/// The answer of the issuer, as the page received it, with the flow that it kept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    flow: String,
    code: String,
    state: String,
    #[serde(default)]
    iss: Option<String>,
}

fn refused(message: &'static str) -> ApiError {
    ApiError::new(ErrorCode::AccessDenied, message)
}

fn configured(console: &Console) -> Result<&SignIn, ApiError> {
    let sign_in = console.sign_in.as_ref().filter(|_| !console.is_open);
    sign_in.ok_or_else(|| refused("No issuer is configured for the console: sign in with keys."))
}

/// The address to which the issuer returns: the console's, at the origin of the page that asks.
/// Browsers send the origin of a page with every POST, and no page can change it.
fn redirect(headers: &HeaderMap) -> Result<String, ApiError> {
    let origin = headers.get(ORIGIN).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let uri = origin.parse::<Uri>().ok().filter(|uri| {
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let is_bare = uri.path() == "/" && uri.query().is_none() && !origin.ends_with('/');
        is_http && is_bare && uri.authority().is_some_and(|it| !it.as_str().contains('@'))
    });
    match uri {
        Some(_) => Ok(format!("{origin}{PATH}")),
        None => Err(refused("Only the pages of the console sign in by an issuer.")),
    }
}

/// Begins a sign-in: the address of the issuer's page, and the flow to keep.
pub(super) async fn begin(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let sign_in = configured(&console)?;
    let begun = sign_in.begin(&redirect(&headers)?, console.app.now_unix_seconds()).await?;
    Ok(json_answer(&json!({ "url": begun.url, "flow": begun.flow })))
}

/// Ends a sign-in: a session of a role that trusts the person.
pub(super) async fn finish(
    State(console): State<Arc<Console>>,
    Extension(origin): Extension<Arc<Origin>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let sign_in = configured(&console)?;
    let redirect = redirect(&headers)?;
    let answer: Answer = serde_json::from_slice(&body).map_err(|error| {
        ApiError::new(ErrorCode::InvalidArgument, format!("The answer of the issuer: {error}."))
    })?;
    let returned = Returned {
        flow: &answer.flow,
        code: &answer.code,
        state: &answer.state,
        issuer: answer.iss.as_deref(),
    };
    let now = console.app.now_unix_seconds();
    let signed_in = sign_in.finish(&returned, &redirect, now, origin.peer).await?;
    let session = session::from_address(signed_in.session, origin.peer.address.ip());
    let mut told = issue(&console, session)?;
    told["user"] = json!(signed_in.name);
    told["arn"] = json!(signed_in.arn);
    let (user, role) = (&signed_in.name, &signed_in.arn);
    tracing::info!(user, role, client = %origin.peer.name(), "signed in to the console by an issuer");
    Ok(json_answer(&told))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn an_issuer_returns_to_the_console_at_the_origin_of_the_page() {
        let of = |origin: &'static str| {
            redirect(&HeaderMap::from_iter([(ORIGIN, HeaderValue::from_static(origin))])).ok()
        };
        let expected = Some("https://s3.example.com:9000/_liteio/console/".to_owned());
        assert_eq!(of("https://s3.example.com:9000"), expected);
        let wrong = [
            "null",
            "",
            "https://s3.example.com/",
            "https://s3.example.com/evil",
            "https://s3.example.com?x",
            "https://me@evil.example",
            "ftp://s3.example.com",
            "s3.example.com",
        ];
        for origin in wrong {
            assert_eq!(of(origin), None, "{origin}");
        }
        assert!(redirect(&HeaderMap::new()).is_err());
    }
}
