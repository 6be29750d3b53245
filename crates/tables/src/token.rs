//! The token endpoint of OAuth: bearer tokens for access keys (`client_credentials`).

use http::HeaderValue;
use serde_json::json;

use super::limits::TOKEN_SECONDS;
use super::{Answer, Call, Output};

const TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:access_token";

pub(crate) fn issue(call: &Call<'_>) -> Answer {
    let fields: Vec<(String, String)> = form_urlencoded::parse(call.body).into_owned().collect();
    let field = |name: &str| {
        let found = fields.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    };
    match field("grant_type") {
        Some("client_credentials") => {}
        Some("urn:ietf:params:oauth:grant-type:token-exchange") => {
            return refuse(
                "unsupported_grant_type",
                "LiteIO does not exchange tokens: set token-exchange-enabled to false, and get a new token by \
                 client_credentials.",
            );
        }
        _ => return refuse("unsupported_grant_type", "grant_type must be client_credentials."),
    }
    let basic = call.sent.basic.as_ref().and_then(credentials);
    let (id, secret) = match (field("client_id"), field("client_secret"), &basic) {
        (Some(id), Some(secret), _) => (id, secret),
        (_, _, Some((id, secret))) => (&**id, &**secret),
        _ => {
            return refuse(
                "invalid_client",
                "client_id must be an access key, and client_secret its secret key.",
            );
        }
    };
    let Some(token) = call.shared.tokens.issue(id, secret, TOKEN_SECONDS) else {
        return refuse(
            "invalid_client",
            "The access key is unknown, or its secret key is another.",
        );
    };
    let scope = field("scope").unwrap_or("catalog");
    Output::json(&json!({
        "access_token": token,
        "token_type": "bearer",
        "issued_token_type": TOKEN_TYPE,
        "expires_in": TOKEN_SECONDS,
        "scope": scope,
    }))
}

/// An error in the format of OAuth, which this route has by the specification.
fn refuse(error: &str, description: &str) -> Answer {
    let body = json!({ "error": error, "error_description": description });
    Ok(Output::Unauthorized(body.to_string().into_bytes()))
}

/// Name and password of the scheme Basic.
fn credentials(header: &HeaderValue) -> Option<(String, String)> {
    let (scheme, encoded) = header.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = base64_simd::STANDARD.decode_to_vec(encoded.trim()).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    Some((id.to_owned(), secret.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_read_or_ignored() {
        let of = |text| credentials(&HeaderValue::from_static(text));
        let expected = Some(("key".to_owned(), "secret:1".to_owned()));
        assert_eq!(of("Basic a2V5OnNlY3JldDox"), expected);
        for text in ["Basic", "Basic !", "Basic a2V5", "Bearer a2V5OnNlY3JldDox"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
