//! Bearer tokens of scrapers, as created by `mc admin prometheus generate`: a JSON Web Token that a
//! user has signed with the secret key (HS512), for the issuer `prometheus`.

use liteio_client::scraper::{ALGORITHM, ISSUER, is_signature};
use liteio_identity::SecretKey;
use serde_json::{Map, Value};

/// Longest accepted token; it has a header and three claims.
const BYTES_MAX: usize = 4_096;

/// A token whose signature is not verified yet.
#[derive(Debug)]
pub(super) struct Token<'t> {
    claims: Map<String, Value>,
    signed: &'t str,
    signature: Vec<u8>,
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    base64_simd::URL_SAFE_NO_PAD.decode_to_vec(text).ok()
}

fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&decoded(text)?).ok()
}

impl<'t> Token<'t> {
    /// Parses a token. Its contents are untrusted until [`Token::is_good`].
    pub(super) fn parse(text: &'t str) -> Option<Token<'t>> {
        if text.len() > BYTES_MAX {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header = object(header)?;
        // Only this algorithm is accepted: a token must not choose another one, or none.
        if header.get("alg")?.as_str()? != ALGORITHM || header.contains_key("crit") {
            return None;
        }
        Some(Token { claims: object(claims)?, signed, signature: decoded(signature)? })
    }

    /// The access key that the token names.
    pub(super) fn access_key(&self) -> Option<&str> {
        self.claims.get("sub")?.as_str()
    }

    /// True if the token is signed with this key, for scrapers, and valid at `now`, in seconds
    /// since 1970.
    pub(super) fn is_good(&self, key: &SecretKey, now: i64) -> bool {
        if !is_signature(key.expose(), self.signed, &self.signature) {
            return false;
        }
        let seconds = |name| {
            let value: Option<&Value> = self.claims.get(name);
            value.map(|value| value.as_f64().unwrap_or(f64::NAN))
        };
        // A time that is not a number is never valid.
        let has_begun = seconds("nbf").is_none_or(|begin| begin <= now as f64);
        let is_open = seconds("exp").is_some_and(|end| (now as f64) < end);
        let issuer = self.claims.get("iss").and_then(Value::as_str);
        issuer == Some(ISSUER) && has_begun && is_open
    }
}

#[cfg(test)]
mod tests {
    use liteio_client::scraper::{signed as token, token as scraper_token};
    use serde_json::json;

    use super::*;

    fn key(secret: &str) -> SecretKey {
        SecretKey::new(secret).expect("a secret")
    }

    fn header() -> Value {
        json!({"alg": "HS512", "typ": "JWT"})
    }

    fn is_good(text: &str, secret: &str) -> bool {
        Token::parse(text).is_some_and(|token| token.is_good(&key(secret), 1_000))
    }

    #[test]
    fn the_token_of_minios_client() {
        // Created by `mc admin prometheus generate` with the secret minioadmin.
        let text = "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.\
            eyJleHAiOjQ4MTAwNzIxNDQsImlzcyI6InByb21ldGhldXMiLCJzdWIiOiJtaW5pb2FkbWluIn0.\
            tzoJ7ifMxgx4jXfUKdD_Sq5Ll2-YlbaBu6FuNTZcc88t9o9STyg4yicRAgYmezVGFwYR2VFKvBSBnOnVnb0n4w";
        let token = Token::parse(text).expect("a token");
        assert_eq!(token.access_key(), Some("minioadmin"));
        assert!(token.is_good(&key("minioadmin"), 1_800_000_000));
        assert!(!token.is_good(&key("minioadmin"), 4_810_072_144), "its time is over");
        assert!(!token.is_good(&key("minioadmiN"), 1_800_000_000));
    }

    #[test]
    fn a_token_is_good_for_its_key_until_its_time_is_over() {
        let text = scraper_token("me", "a long secret", 1_001);
        let token = Token::parse(&text).expect("a token");
        assert_eq!(token.access_key(), Some("me"));
        assert!(is_good(&text, "a long secret") && !is_good(&text, "another secret"));
        assert!(!token.is_good(&key("a long secret"), 1_001));
    }

    #[test]
    fn what_is_not_for_scrapers_or_not_of_now_is_refused() {
        let good = json!({"sub": "me", "iss": "prometheus", "exp": 1_001});
        let secret = "a long secret";
        assert!(is_good(&token(&header(), &good, secret), secret));
        for (name, value) in [
            ("iss", json!("sts")),
            ("iss", Value::Null),
            ("exp", json!(1_000)),
            ("exp", json!("1001")),
            ("exp", Value::Null),
            ("nbf", json!(1_001)),
            ("nbf", json!("0")),
        ] {
            let mut claims = good.clone();
            claims[name] = value;
            assert!(!is_good(&token(&header(), &claims, secret), secret), "{claims}");
        }
        let mut claims = good.clone();
        claims.as_object_mut().expect("an object").remove("exp");
        assert!(!is_good(&token(&header(), &claims, secret), secret), "for ever");
    }

    #[test]
    fn another_algorithm_and_what_is_no_token_are_refused() {
        let good = json!({"sub": "me", "iss": "prometheus", "exp": 1_001});
        let secret = "a long secret";
        for header in [
            json!({"alg": "none"}),
            json!({"alg": "HS256"}),
            json!({}),
            json!({"alg": "HS512", "crit": []}),
        ] {
            assert!(Token::parse(&token(&header, &good, secret)).is_none(), "{header}");
        }
        let text = token(&header(), &good, secret);
        for wrong in ["", ".", "..", "a.b.c", &text[1..], &text[..text.len() - 2]] {
            assert!(!is_good(wrong, secret), "{wrong}");
        }
        let (unsigned, _) = text.rsplit_once('.').expect("three parts");
        assert!(!is_good(&format!("{unsigned}."), secret));
        assert!(Token::parse(&"a.".repeat(BYTES_MAX)).is_none());
    }
}
