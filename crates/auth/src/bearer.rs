//! Bearer tokens: `ACCESS-KEY.EXPIRY.CODE`, a message authentication code by the secret of an access key.
//!
//! A token has exactly the rights that the key has when it is used, and is refused once the key is gone, inactive or
//! has another secret. So no state and no key of the server is needed, and every server of a cluster accepts it.
//! Clients of the Iceberg REST catalog ask for one with the key and its secret, and send it instead of signatures.

use std::sync::Arc;

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::Request;
use http::header::AUTHORIZATION;
use http_body::Body;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::body::{AuthBody, Source};
use super::head::SecurityHeaders;
use super::signing_key::{hex_digest, same_signature};
use super::{Authenticator, Identity, Verified, error, finish};
use liteio_identity::AccessKey;
use liteio_wire::reply::{ApiError, BoxError};

/// Separates this use of a secret from the derivation of signing keys, which begins with `AWS4`.
const PURPOSE: &[u8] = b"liteio bearer token\n";

impl Authenticator {
    /// A token for the holder of an access key and its secret, good for `seconds`. Keys of sessions get none.
    ///
    /// # Errors
    /// `InvalidAccessKeyId` for an unknown key, and for a wrong secret.
    pub fn issue_bearer(
        &self,
        access_key: &str,
        secret: &str,
        seconds: u32,
    ) -> Result<String, ApiError> {
        let key = self.access_key(access_key, None)?;
        let is_right: bool = key.secret.expose().as_bytes().ct_eq(secret.as_bytes()).into();
        if !is_right {
            return Err(error::invalid_access_key_id(access_key));
        }
        let expires = self.now_unix_seconds().saturating_add(seconds.into());
        let code = code(&key, expires);
        Ok(format!("{}.{expires}.{}", key.id, String::from_utf8_lossy(&code)))
    }

    /// The key that a token is for.
    ///
    /// # Errors
    /// `InvalidToken`, `ExpiredToken`.
    fn key_of_bearer(&self, token: &str) -> Result<Arc<AccessKey>, ApiError> {
        // An access key may have dots.
        let mut fields = token.rsplitn(3, '.');
        let (Some(given), Some(expires), Some(id)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(error::invalid_token());
        };
        let expires: i64 = expires.parse().map_err(|_| error::invalid_token())?;
        let key = self.access_key(id, None).map_err(|_| error::invalid_token())?;
        // Before its expiry is told, which an invalid one has not.
        if !same_signature(&code(&key, expires), given) {
            return Err(error::invalid_token());
        }
        match self.now_unix_seconds() < expires {
            true => Ok(key),
            false => Err(error::expired_token()),
        }
    }

    /// Authenticates a request by a bearer token that it carries.
    ///
    /// # Errors
    /// `InvalidToken`, `ExpiredToken`, and the errors of the headers of a payload.
    pub fn authenticate_bearer<B>(
        &self,
        request: Request<B>,
        token: &str,
    ) -> Result<Request<AuthBody>, ApiError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let key = self.key_of_bearer(token)?;
        self.unsigned(request, Identity::User(key))
    }

    /// A request without a signature, as that of an anonymous sender.
    ///
    /// # Errors
    /// The errors of the headers of a payload.
    pub fn anonymous<B>(&self, request: Request<B>) -> Result<Request<AuthBody>, ApiError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.unsigned(request, Identity::Anonymous)
    }

    fn unsigned<B>(
        &self,
        request: Request<B>,
        identity: Identity,
    ) -> Result<Request<AuthBody>, ApiError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (mut parts, body) = request.into_parts();
        parts.headers.remove(AUTHORIZATION);
        let found = SecurityHeaders::scan(&parts.headers)?;
        let verified = Verified::without_key(identity, &found)?;
        let content_length = found.content_length;
        finish(&self.rules, parts, verified, Source::new(body), content_length)
    }
}

/// The code of a token for this key that expires then.
fn code(key: &AccessKey, expires: i64) -> [u8; 64] {
    let secret = Zeroizing::new([PURPOSE, key.secret.expose().as_bytes()].concat());
    // HMAC accepts a key of any length, so the fallback is unreachable.
    let mac = Hmac::<Sha256>::new_from_slice(&secret);
    let mac = mac.unwrap_or_else(|_| Hmac::new(&Default::default()));
    let mac = mac.chain_update(format!("{}.{expires}", key.id));
    hex_digest(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, SystemTime};

    use http_body_util::Empty;
    use liteio_identity::{CurrentDirectory, Sessions, only_user};

    use super::*;
    use crate::Rules;

    fn directory(secret: &str) -> Arc<CurrentDirectory> {
        let directory = only_user("some.key", secret, None).expect("a user");
        Arc::new(CurrentDirectory::new(directory, Sessions::default()))
    }

    fn of(directory: Arc<CurrentDirectory>, now: &Arc<AtomicU64>) -> Authenticator {
        let rules = Rules {
            region: "us-east-1".to_owned(),
            takes_any_region: false,
            takes_version_2: false,
            takes_unsigned_acl: false,
            takes_small_chunks: false,
            everyone_is: None,
        };
        let now = Arc::clone(now);
        let clock =
            move || SystemTime::UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed));
        Authenticator::new(directory, rules, Arc::new(clock))
    }

    #[test]
    fn a_token_is_good_until_it_expires_and_while_the_key_is_the_same() {
        let now = Arc::new(AtomicU64::new(1_000_000));
        let authenticator = of(directory("some-secret"), &now);
        let token = authenticator.issue_bearer("some.key", "some-secret", 60).expect("issued");
        let sender = |authenticator: &Authenticator, token: &str| {
            let request = Request::get("/_iceberg/v1/config").header("authorization", "Bearer x");
            let request = request.body(Empty::<Bytes>::new()).expect("a request");
            let request = authenticator.authenticate_bearer(request, token);
            request.map(|request| {
                assert!(!request.headers().contains_key(AUTHORIZATION));
                let identity = request.extensions().get::<Identity>().expect("an identity");
                identity.key().map(|key| key.id.clone())
            })
        };
        assert_eq!(sender(&authenticator, &token).expect("valid").as_deref(), Some("some.key"));
        for place in 0..token.len() {
            let mut other = token.clone().into_bytes();
            other[place] ^= 1;
            let other = String::from_utf8(other).expect("ASCII");
            assert_eq!(sender(&authenticator, &other).expect_err(&other).code(), "InvalidToken");
        }
        for other in ["", ".", "..", "some.key", "some.key.9999999999."] {
            assert_eq!(sender(&authenticator, other).expect_err(other).code(), "InvalidToken");
        }
        let changed = of(directory("other-secret"), &now);
        assert_eq!(sender(&changed, &token).expect_err("changed").code(), "InvalidToken");
        now.store(1_000_060, Ordering::Relaxed);
        assert_eq!(sender(&authenticator, &token).expect_err("expired").code(), "ExpiredToken");
    }

    #[test]
    fn a_wrong_secret_and_an_unknown_key_get_the_same_answer() {
        let authenticator = of(directory("some-secret"), &Arc::new(AtomicU64::new(0)));
        let refused = |key, secret| {
            let refused = authenticator.issue_bearer(key, secret, 60).expect_err("refused");
            (refused.code().to_owned(), refused.message().to_owned())
        };
        assert_eq!(refused("some.key", "other"), refused("other.key", "some-secret"));
    }
}
