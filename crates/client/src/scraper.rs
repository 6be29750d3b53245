//! Bearer tokens of scrapers, as `mc admin prometheus generate` makes them: a JSON Web Token that a user
//! has signed with the secret key (HS512), for the issuer `prometheus`.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha512;

/// The issuer of tokens for scrapers.
pub const ISSUER: &str = "prometheus";
/// The algorithm of their signatures.
pub const ALGORITHM: &str = "HS512";

/// A token for scrapers in the name of this access key, signed with its secret key. It is valid until
/// `expires`, in seconds since 1970, and as long as the key.
#[must_use]
pub fn token(access_key: &str, secret_key: &str, expires: u64) -> String {
    let header = json!({"alg": ALGORITHM, "typ": "JWT"});
    let claims = json!({"exp": expires, "iss": ISSUER, "sub": access_key});
    signed(&header, &claims, secret_key)
}

/// A token with this header and these claims.
#[must_use]
pub fn signed(header: &Value, claims: &Value, secret_key: &str) -> String {
    let text = format!("{}.{}", coded(header.to_string()), coded(claims.to_string()));
    let signature = coded(mac(secret_key, &text).finalize().into_bytes());
    format!("{text}.{signature}")
}

/// `true` if this is the signature of a text. Compares in constant time.
#[must_use]
pub fn is_signature(secret_key: &str, text: &str, signature: &[u8]) -> bool {
    mac(secret_key, text).verify_slice(signature).is_ok()
}

fn mac(secret_key: &str, text: &str) -> Hmac<Sha512> {
    let mut mac =
        Hmac::<Sha512>::new_from_slice(secret_key.as_bytes()).expect("a key of any length is one");
    mac.update(text.as_bytes());
    mac
}

fn coded(bytes: impl AsRef<[u8]>) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
}
