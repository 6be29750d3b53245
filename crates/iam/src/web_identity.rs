//! Web identities: OpenID Connect tokens, verified with the published keys of their issuer.
//!
//! The keys come from the key set named in the issuer's discovery document. They are refreshed when
//! they are an hour old or do not verify a token, but at most once a minute. They stay valid for a
//! day while the issuer is unreachable.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::asker::Asker;
use super::error::{self, ApiError, ApiResult};
use super::jwt::Token;
use super::published::Published;
use liteio_identity::{Directory, Issuer};

/// Age at which keys are refreshed.
const KEYS_SECONDS_FRESH: i64 = 3600;
/// Age from which keys are not used any more, even without newer ones.
const KEYS_SECONDS_MAX: i64 = 24 * 3600;
/// Minimum time between two requests to an issuer.
const ASK_SECONDS_MIN: i64 = 60;
/// Tolerance for an issuer's clock that runs ahead.
const AHEAD_SECONDS_MAX: i64 = 60;
/// Registered claims, which only the issuer sets.
const REGISTERED: [&str; 12] =
    ["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "azp", "amr", "acr", "auth_time", "nonce"];

/// A web identity verified by its issuer.
#[derive(Debug)]
pub(super) struct WebIdentity {
    pub(super) issuer: Issuer,
    pub(super) subject: String,
    pub(super) audience: String,
    /// All text claims as condition keys: `HOST/PATH:NAME`.
    pub(super) keys: Vec<(String, Vec<String>)>,
}

/// Verifies web identities.
pub(super) struct WebIdentities {
    asker: Arc<Asker>,
    /// Known keys by the issuer's URL.
    known: Mutex<HashMap<String, Arc<Known>>>,
}

/// The known documents of an issuer.
#[derive(Default)]
struct Known {
    /// The documents, and the time at which they were fetched.
    published: Mutex<Option<(Arc<Published>, i64)>>,
    /// The time of the last request. Locked during a request.
    asked: Arc<tokio::sync::Mutex<Option<i64>>>,
}

impl Known {
    /// The documents, unless they are older than `seconds`.
    fn published(&self, now: i64, seconds: i64) -> Option<Arc<Published>> {
        let published = self.published.lock().clone();
        published.filter(|(_, given)| now - given < seconds).map(|(published, _)| published)
    }
}

impl WebIdentities {
    /// A verifier; `ca_file` names additional certificate authorities for issuers.
    pub(super) fn new(ca_file: Option<PathBuf>) -> WebIdentities {
        let asker = Arc::new(Asker::new(ca_file));
        WebIdentities { asker, known: Mutex::default() }
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
        let known = self.known(issuer);
        let fresh = known.published(now, KEYS_SECONDS_FRESH);
        if !fresh.is_some_and(|published| published.verifies(&token)) {
            self.renew(&known, issuer, now).await;
            let published = known.published(now, KEYS_SECONDS_MAX).ok_or_else(|| {
                error::idp_communication("The keys of the identity provider cannot be read.")
            })?;
            if !published.verifies(&token) {
                return Err(not_valid());
            }
        }
        check_claims(&token, issuer, now)
    }

    fn known(&self, issuer: &Issuer) -> Arc<Known> {
        Arc::clone(self.known.lock().entry(issuer.url.clone()).or_default())
    }

    /// The documents of an issuer; `None` while they cannot be read.
    pub(super) async fn published(&self, issuer: &Issuer, now: i64) -> Option<Arc<Published>> {
        let known = self.known(issuer);
        if let Some(published) = known.published(now, KEYS_SECONDS_FRESH) {
            return Some(published);
        }
        self.renew(&known, issuer, now).await;
        known.published(now, KEYS_SECONDS_MAX)
    }

    /// The client for issuers.
    pub(super) fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Fetches the keys of an issuer, unless that was tried a short time ago. The request runs in
    /// its own task: the caller is unauthenticated, and its disconnect must not leave others
    /// without keys.
    async fn renew(&self, known: &Arc<Known>, issuer: &Issuer, now: i64) {
        let mut asked = Arc::clone(&known.asked).lock_owned().await;
        if asked.is_some_and(|then| now - then < ASK_SECONDS_MIN) {
            return;
        }
        *asked = Some(now);
        let (asker, known, issuer) = (Arc::clone(&self.asker), Arc::clone(known), issuer.clone());
        let task = tokio::spawn(async move {
            match asker.ask(&issuer).await {
                Ok(published) => {
                    *known.published.lock() = Some((Arc::new(published), now));
                }
                Err(reason) => {
                    let issuer = &issuer.url;
                    tracing::warn!(issuer, reason, "the keys of an issuer cannot be read");
                }
            }
            drop(asked);
        });
        // A panic leaves the keys as they were.
        let _ = task.await;
    }
}

/// Checks the claims of a token whose signature is verified.
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
    // With several audiences, `azp` names the party to which the token was issued.
    let mut meant = token.text("azp").into_iter().chain(audiences.iter().map(String::as_str));
    let audience = meant.find(|audience| issuer.takes(audience)).ok_or_else(|| match audiences
        .is_empty()
    {
        true => missing("aud"),
        false => error::invalid_identity_token("Incorrect token audience"),
    })?;
    let name = issuer.name();
    // Condition keys ignore case, and some issuers let users set claims of their own.
    let is_own = |claim: &&String| {
        let lower = claim.to_lowercase();
        **claim == lower || !(REGISTERED.contains(&&*lower) || token.claims.contains_key(&lower))
    };
    let keys = token.claims.keys().filter(is_own).filter_map(|claim| {
        let values = token.texts(claim);
        (!values.is_empty()).then(|| (format!("{name}:{claim}"), values))
    });
    // As in AWS: policies see the audience that was accepted.
    let mut keys: Vec<_> = keys.filter(|(key, _)| *key != format!("{name}:aud")).collect();
    keys.push((format!("{name}:aud"), vec![audience.to_owned()]));
    Ok(WebIdentity {
        issuer: issuer.clone(),
        subject: subject.to_owned(),
        audience: audience.to_owned(),
        keys,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use liteio_identity::DirectoryBuilder;

    const NOW: i64 = 1_800_000_000;

    fn coded(bytes: impl AsRef<[u8]>) -> String {
        base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
    }

    fn signed(pair: &EcdsaKeyPair, claims: &Value) -> String {
        let header = coded(json!({"alg": "ES256"}).to_string());
        let signed = format!("{header}.{}", coded(claims.to_string()));
        let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("signed");
        format!("{signed}.{}", coded(signature))
    }

    fn pair() -> EcdsaKeyPair {
        EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key")
    }

    fn issuer(url: &str, audiences: &[&str]) -> Issuer {
        let audiences = audiences.iter().map(|&it| it.to_owned()).collect();
        Issuer::new(url, audiences).expect("valid")
    }

    async fn answer(mut stream: TcpStream, discovery: &str, keys: &str) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a request"));
        }
        let body = if head.starts_with(b"GET /keys ") { keys } else { discovery };
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
        let answer = format!("{head}: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.expect("answered");
    }

    #[tokio::test]
    async fn a_request_that_is_broken_off_leaves_the_keys_to_others() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let (mine, other) = (pair(), pair());
        let point = mine.public_key().as_ref();
        let (x, y) = (coded(&point[1..33]), coded(&point[33..]));
        let keys = json!({"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y}]}).to_string();
        let discovery = json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string();
        let claims =
            json!({"iss": url, "sub": "me", "aud": "storage", "exp": NOW + KEYS_SECONDS_MAX + 1});
        let (good, rubbish) = (signed(&mine, &claims), signed(&other, &claims));
        let mut directory = DirectoryBuilder::default();
        directory.issuer(issuer(&url, &["storage"]));
        let directory = directory.build();
        let identities = WebIdentities::new(None);

        let first = tokio::select! {
            _ = identities.verify(&rubbish, &directory, "1", NOW) => panic!("nobody has answered"),
            accepted = listener.accept() => accepted.expect("asked").0,
        };
        let serve = async {
            answer(first, &discovery, &keys).await;
            answer(listener.accept().await.expect("asked").0, &discovery, &keys).await;
        };
        let verify = identities.verify(&good, &directory, "1", NOW);
        let (verified, ()) = tokio::join!(verify, serve);
        assert_eq!(verified.expect("a valid token").subject, "me");
        // Nobody answers any more.
        drop(listener);
        let later = |token: &'static str, seconds: i64| {
            let (identities, directory) = (&identities, &directory);
            async move { identities.verify(token, directory, "1", NOW + seconds).await }
        };
        let (good, rubbish) = (String::leak(good), String::leak(rubbish));
        later(good, KEYS_SECONDS_FRESH).await.expect("old keys count");
        let refused = later(rubbish, KEYS_SECONDS_FRESH + 1).await.expect_err("not signed");
        assert_eq!(refused.code(), "InvalidIdentityToken");
        later(good, KEYS_SECONDS_FRESH + 2).await.expect("old keys count");
        let refused = later(good, KEYS_SECONDS_MAX).await.expect_err("too old");
        assert_eq!(refused.code(), "IDPCommunicationError");
    }

    fn checked(claims: &Value, issuer: &Issuer) -> ApiResult<WebIdentity> {
        let text = signed(&pair(), claims);
        check_claims(&Token::parse(&text).expect("a token"), issuer, NOW)
    }

    #[test]
    fn an_issuer_vouches_for_its_audiences_alone() {
        let url = "https://login.example.com";
        let claims = json!({"sub": "me", "aud": "app", "exp": NOW + 1});
        assert!(Issuer::new(url, Vec::new()).is_err());
        assert!(checked(&claims, &issuer(url, &["*"])).is_ok());
        assert!(checked(&claims, &issuer(url, &["other", "app"])).is_ok());
        assert!(checked(&claims, &issuer(url, &["other"])).is_err());
        // An issuer created through IAM has the audiences that it was given, and no wildcard.
        let made = |audiences: &[&str]| {
            let audiences = audiences.iter().map(|&it| it.to_owned()).collect();
            Issuer { url: url.to_owned(), audiences, account: Some("1".to_owned()) }
        };
        assert!(checked(&claims, &made(&["app"])).is_ok());
        for none in [&[][..], &["*"]] {
            let refused = checked(&claims, &made(none)).expect_err("nobody is meant");
            assert_eq!(refused.message(), "Incorrect token audience");
        }
    }

    #[test]
    fn a_claim_of_the_issuer_is_not_that_of_its_user_in_another_case() {
        let url = "https://login.example.com";
        let claims = json!({
            "sub": "me", "SUB": "you", "aud": "app", "AUD": "storage", "AZP": "storage",
            "exp": NOW + 1, "Team": "red", "Groups": ["admins"], "groups": ["some"],
        });
        let identity = checked(&claims, &issuer(url, &["app"])).expect("valid");
        let keys = identity.keys.iter().map(|(key, _)| &key["login.example.com:".len()..]);
        assert_eq!(keys.collect::<BTreeSet<_>>(), BTreeSet::from(["Team", "aud", "groups", "sub"]));
    }
}
