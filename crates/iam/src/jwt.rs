//! JSON Web Tokens, signed with RSA or on the curve P-256, verified with the keys of a key set.
//!
//! A token names its own signature algorithm. Only RS256 and ES256 are accepted, and a key only for
//! the algorithm of its kind. So unsigned tokens are refused, as are tokens that abuse a public key
//! as an HMAC secret (algorithm confusion, RFC 8725).
//!
//! The crate `jsonwebtoken` 11.1 on aws-lc would save 43 of these 200 lines. It would add four
//! crates, among them second versions of `base64` and `untrusted`, and aws-lc-rs with its default
//! features.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Map, Value};

/// Maximum bytes of a token (as AWS).
pub(crate) const TOKEN_BYTES_MAX: usize = 20_000;

/// A parsed token with an unverified signature.
#[derive(Debug)]
pub(crate) struct Token<'t> {
    algorithm: Algorithm,
    /// The id of the signing key.
    pub(crate) key_id: Option<String>,
    /// The claims, which are unverified.
    pub claims: Map<String, Value>,
    signed: &'t str,
    signature: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Es256,
}

/// A key of a key set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// RSA modulus and exponent.
    Rsa { n: Vec<u8>, e: Vec<u8> },
    /// An uncompressed point on P-256.
    P256(Vec<u8>),
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    base64_simd::URL_SAFE_NO_PAD.decode_to_vec(text).ok()
}

impl<'t> Token<'t> {
    /// Parses a token. Its content is untrusted until the signature is verified.
    pub(crate) fn parse(text: &'t str) -> Option<Token<'t>> {
        if text.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let Value::Object(header) = serde_json::from_slice(&decoded(header)?).ok()? else {
            return None;
        };
        let Value::Object(claims) = serde_json::from_slice(&decoded(claims)?).ok()? else {
            return None;
        };
        let algorithm = match header.get("alg")?.as_str()? {
            "RS256" => Algorithm::Rs256,
            "ES256" => Algorithm::Es256,
            _ => return None,
        };
        // Critical extensions that this verifier does not understand (RFC 7515, section 4.1.11).
        if header.contains_key("crit") {
            return None;
        }
        let key_id = header.get("kid").and_then(Value::as_str).map(str::to_owned);
        Some(Token { algorithm, key_id, claims, signed, signature: decoded(signature)? })
    }

    /// `true` if this key signed the token.
    pub(crate) fn is_signed_by(&self, key: &Key) -> bool {
        let (message, signature) = (self.signed.as_bytes(), &self.signature);
        match (self.algorithm, key) {
            (Algorithm::Rs256, Key::Rsa { n, e }) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
            (Algorithm::Es256, Key::P256(point)) => {
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature).is_ok()
            }
            (Algorithm::Rs256, Key::P256(_)) | (Algorithm::Es256, Key::Rsa { .. }) => false,
        }
    }

    /// A text claim.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name).and_then(Value::as_str)
    }

    /// A time claim in seconds since 1970. Some issuers write fractions.
    pub(crate) fn time(&self, name: &str) -> Option<i64> {
        let value = self.claims.get(name)?;
        value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64))
    }

    /// A claim that is a text or a list of texts.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        match self.claims.get(name) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => {
                items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The signing keys of a key set (JWKS) with their ids. Keys of other kinds are skipped.
pub(crate) fn keys_of(set: &Value) -> Vec<(Option<String>, Key)> {
    let keys = set.get("keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    keys.iter().filter_map(key_of).collect()
}

fn key_of(key: &Value) -> Option<(Option<String>, Key)> {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    if text("use").is_some_and(|used| used != "sig") {
        return None;
    }
    let id = text("kid").map(str::to_owned);
    let field = |name: &str| text(name).and_then(decoded);
    match text("kty")? {
        "RSA" => {
            let stripped = |bytes: Vec<u8>| -> Vec<u8> {
                bytes.into_iter().skip_while(|byte| *byte == 0).collect()
            };
            let (n, e) = (stripped(field("n")?), stripped(field("e")?));
            Some((id, Key::Rsa { n, e }))
        }
        "EC" if text("crv") == Some("P-256") => {
            let (x, y) = (field("x")?, field("y")?);
            let is_point = x.len() == 32 && y.len() == 32;
            is_point.then(|| (id, Key::P256([&[4][..], &x, &y].concat())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;

    fn coded(bytes: impl AsRef<[u8]>) -> String {
        base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
    }

    fn pair() -> EcdsaKeyPair {
        EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key")
    }

    fn token(pair: &EcdsaKeyPair, algorithm: &str) -> String {
        let header = coded(json!({"alg": algorithm, "kid": "1"}).to_string());
        let signed = format!("{header}.{}", coded(json!({"sub": "me", "exp": 7.5}).to_string()));
        let signature = pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("signed");
        format!("{signed}.{}", coded(signature))
    }

    fn set(pair: &EcdsaKeyPair) -> Value {
        let point = pair.public_key().as_ref();
        json!({"keys": [
            {"kty": "oct", "k": "c2VjcmV0", "kid": "0"},
            {"kty": "EC", "crv": "P-256", "kid": "1", "x": coded(&point[1..33]), "y": coded(&point[33..])},
        ]})
    }

    #[test]
    fn a_token_is_signed_by_its_key_alone() {
        let (mine, other) = (pair(), pair());
        let (keys, others) = (keys_of(&set(&mine)), keys_of(&set(&other)));
        assert_eq!((keys.len(), keys[0].0.as_deref()), (1, Some("1")));
        let text = token(&mine, "ES256");
        let parsed = Token::parse(&text).expect("a token");
        assert_eq!((parsed.text("sub"), parsed.time("exp")), (Some("me"), Some(7)));
        assert!(parsed.is_signed_by(&keys[0].1) && !parsed.is_signed_by(&others[0].1));
        let (_, rest) = text.split_once('.').expect("three parts");
        for header in
            [r#"{"alg":"none"}"#, r#"{"alg":"HS256"}"#, r#"{"alg":"ES256","crit":[]}"#, "{}"]
        {
            let forged = format!("{}.{rest}", coded(header));
            assert!(Token::parse(&forged).is_none(), "{header}");
        }
        let as_rsa = format!("{}.{rest}", coded(r#"{"alg":"RS256"}"#));
        assert!(!Token::parse(&as_rsa).expect("a token").is_signed_by(&keys[0].1));
        let last = if text.ends_with('A') { "B" } else { "A" };
        let changed = format!("{}{last}", &text[..text.len() - 1]);
        assert!(Token::parse(&changed).is_none_or(|token| !token.is_signed_by(&keys[0].1)));
        for wrong in ["", ".", "..", "a.b.c", &text[1..]] {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
    }
}
