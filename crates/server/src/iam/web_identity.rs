//! Web identities: tokens of OpenID Connect, verified with the keys that their issuer publishes.
//!
//! The keys are those of the key set that the issuer's discovery document names. They are kept for an hour, and
//! asked for again when a token names one that is not among them, once a minute at most.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, USER_AGENT};
use http_body_util::{BodyExt as _, Full, Limited};
use parking_lot::Mutex;
use serde_json::Value;

use super::error::{self, ApiError, ApiResult};
use super::jwt::{Key, Token, keys_of};
use crate::http_client::{HttpClient, http_client, in_one_line};
use crate::identity::{Directory, Issuer};

/// Age at which keys are asked for again.
const KEYS_SECONDS_MAX: i64 = 3600;
/// Age at which they are not used any more.
const STALE_SECONDS_MAX: i64 = 24 * 3600;
/// At least so long between two requests to an issuer.
const ASK_SECONDS_MIN: i64 = 60;
/// For a request to an issuer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A document of an issuer.
const DOCUMENT_BYTES_MAX: usize = 256 << 10;
/// The clock of an issuer may run ahead by so much.
const AHEAD_SECONDS_MAX: i64 = 60;

/// A web identity that its issuer has vouched for.
#[derive(Debug)]
pub(super) struct WebIdentity {
    pub(super) issuer: Issuer,
    pub(super) subject: String,
    pub(super) audience: String,
    /// All claims that are texts, as condition keys: `HOST/PATH:NAME`.
    pub(super) keys: Vec<(String, Vec<String>)>,
}

/// Verifies web identities.
pub(super) struct WebIdentities {
    ca_file: Option<PathBuf>,
    client: OnceLock<HttpClient>,
    known: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Known>>>>,
}

/// What is known of an issuer. Locked while it is asked.
#[derive(Default)]
struct Known {
    keys: Vec<(Option<String>, Key)>,
    /// When it was asked last, and when it answered.
    asked: Option<i64>,
    answered: Option<i64>,
}

impl Known {
    fn verifies(&self, token: &Token<'_>) -> bool {
        let is_meant = |id: &Option<String>| token.key_id.is_none() || *id == token.key_id;
        self.keys.iter().any(|(id, key)| is_meant(id) && token.is_signed_by(key))
    }
}

impl WebIdentities {
    /// `ca_file` names authorities that certificates of issuers are trusted by, too.
    pub(super) fn new(ca_file: Option<PathBuf>) -> WebIdentities {
        WebIdentities { ca_file, client: OnceLock::new(), known: Mutex::default() }
    }

    /// Verifies a token for a role of `account`.
    ///
    /// # Errors
    /// `InvalidIdentityToken`, `ExpiredTokenException`, `IDPCommunicationError`.
    pub(super) async fn verify(
        &self,
        text: &str,
        directory: &Directory,
        account: &str,
        now: i64,
    ) -> ApiResult<WebIdentity> {
        let not_valid = || error::invalid_identity_token("The web identity token is not valid.");
        let token = Token::parse(text).ok_or_else(not_valid)?;
        let issuer = token.text("iss").unwrap_or_default();
        let issuer = directory.issuer(issuer, account).ok_or_else(|| {
            error::invalid_identity_token(
                "No OpenIDConnect provider found in your account for the issuer of the token",
            )
        })?;
        let entry = Arc::clone(self.known.lock().entry(issuer.url.clone()).or_default());
        let mut known = entry.lock().await;
        let is_younger =
            |known: &Known, seconds: i64| known.answered.is_some_and(|then| now - then < seconds);
        let is_enough = is_younger(&known, KEYS_SECONDS_MAX) && known.verifies(&token);
        if !is_enough && known.asked.is_none_or(|then| now - then >= ASK_SECONDS_MIN) {
            known.asked = Some(now);
            match self.ask(issuer).await {
                Ok(keys) => (known.keys, known.answered) = (keys, Some(now)),
                Err(reason) => {
                    let issuer = &issuer.url;
                    tracing::warn!(issuer, reason, "the keys of an issuer cannot be read");
                }
            }
        }
        // Keys of an issuer that does not answer are good for a day.
        if !is_younger(&known, STALE_SECONDS_MAX) {
            let message = "The keys of the identity provider cannot be read.";
            return Err(error::idp_communication(message));
        }
        match known.verifies(&token) {
            true => check_claims(&token, issuer, now),
            false => Err(not_valid()),
        }
    }

    /// The keys of an issuer.
    async fn ask(&self, issuer: &Issuer) -> Result<Vec<(Option<String>, Key)>, String> {
        let discovery =
            self.get(&format!("{}/.well-known/openid-configuration", issuer.url)).await?;
        let text = |name: &str| discovery.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("issuer").trim_end_matches('/') != issuer.url {
            return Err("its discovery document is of another issuer".to_owned());
        }
        let keys = text("jwks_uri");
        if issuer.url.starts_with("https:") && !keys.starts_with("https:") {
            return Err("its keys do not come by HTTPS".to_owned());
        }
        let keys = keys_of(&self.get(keys).await?);
        match keys.is_empty() {
            true => Err("it has no key for RS256 or ES256".to_owned()),
            false => Ok(keys),
        }
    }

    async fn get(&self, url: &str) -> Result<Value, String> {
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let made = http_client(self.ca_file.as_deref())?;
                self.client.get_or_init(|| made)
            }
        };
        let request = Request::get(url)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("LiteIO/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::new()))
            .map_err(|error| error.to_string())?;
        let answer = async {
            let answer = client.request(request).await.map_err(|error| in_one_line(&error))?;
            if answer.status() != http::StatusCode::OK {
                return Err(format!("it answered {}", answer.status()));
            }
            let body = Limited::new(answer.into_body(), DOCUMENT_BYTES_MAX).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            serde_json::from_slice(&body).map_err(|_| "its answer is not JSON".to_owned())
        };
        let answered = tokio::time::timeout(TIMEOUT, answer).await;
        answered.unwrap_or_else(|_| Err(format!("no answer within {} s", TIMEOUT.as_secs())))
    }
}

/// Checks what a token says whose signature is that of its issuer.
fn check_claims(token: &Token<'_>, issuer: &Issuer, now: i64) -> Result<WebIdentity, ApiError> {
    let missing = |name: &str| {
        error::invalid_identity_token(format!("The web identity token has no claim {name}."))
    };
    let expires = token.time("exp").ok_or_else(|| missing("exp"))?;
    if now >= expires {
        return Err(error::expired_identity_token());
    }
    if token.time("nbf").is_some_and(|from| from > now + AHEAD_SECONDS_MAX) {
        return Err(error::invalid_identity_token("The web identity token is not valid yet."));
    }
    let subject = token.text("sub").filter(|it| !it.is_empty()).ok_or_else(|| missing("sub"))?;
    let audiences = token.texts("aud");
    // With several audiences, `azp` is the one that the token was issued to.
    let mut meant = token.text("azp").into_iter().chain(audiences.iter().map(String::as_str));
    let is_known = |audience: &&str| {
        issuer.audiences.is_empty() || issuer.audiences.iter().any(|known| known == audience)
    };
    let audience = meant.find(is_known).ok_or_else(|| match audiences.is_empty() {
        true => missing("aud"),
        false => error::invalid_identity_token("Incorrect token audience"),
    })?;
    let name = issuer.name();
    let keys = token.claims.keys().filter_map(|claim| {
        let values = token.texts(claim);
        (!values.is_empty()).then(|| (format!("{name}:{claim}"), values))
    });
    // As AWS: the audience that policies see is the one that counted.
    let mut keys: Vec<_> = keys.filter(|(key, _)| *key != format!("{name}:aud")).collect();
    keys.push((format!("{name}:aud"), vec![audience.to_owned()]));
    Ok(WebIdentity {
        issuer: issuer.clone(),
        subject: subject.to_owned(),
        audience: audience.to_owned(),
        keys,
    })
}
