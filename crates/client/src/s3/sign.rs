//! Signature Version 4, in headers and in queries.
//!
//! Our own implementation, because AWS's crate brings the runtime of its SDK into the binary. A
//! test compares the signatures with it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// The keys of a user.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) session_token: Option<String>,
}

// Secrets are never shown.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

/// Hash that stands for an unsigned body.
pub(super) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
/// The service of S3 in the scope of a signature.
pub(super) const S3: &str = "s3";
pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Credentials with the time, region and service for which they sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signer<'a> {
    pub(super) credentials: &'a Credentials,
    pub(super) region: &'a str,
    /// The service as in the scope of a signature: `s3`.
    pub(super) service: &'a str,
    pub(super) time: Timestamp,
}

/// The parts of a request that are signed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToSign<'a> {
    pub(super) method: &'a str,
    /// Path as it is sent.
    pub(super) path: &'a str,
    /// Query, encoded and sorted.
    pub(super) query: &'a str,
    /// All headers, with names in lower case.
    pub(super) headers: &'a [(String, String)],
    /// The hash of the body in hexadecimal, or [`UNSIGNED`].
    pub(super) content_sha256: &'a str,
}

impl Signer<'_> {
    /// The time in the form of signatures.
    pub(super) fn date(&self) -> String {
        self.time.strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    /// Access key with the scope of the signature.
    pub(super) fn credential(&self) -> String {
        format!("{}/{}", self.credentials.access_key, self.scope())
    }

    fn scope(&self) -> String {
        let day = self.time.strftime("%Y%m%d");
        format!("{day}/{}/{}/aws4_request", self.region, self.service)
    }

    /// The value of the header `Authorization`.
    pub(super) fn authorization(&self, request: ToSign<'_>) -> String {
        let (names, signature) = self.signature(request);
        let credential = self.credential();
        format!("{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}")
    }

    /// The names of the signed headers, and the signature in hexadecimal.
    pub(super) fn signature(&self, request: ToSign<'_>) -> (String, String) {
        let ToSign { method, path, query, headers, content_sha256 } = request;
        let mut headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.trim())).collect();
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String =
            headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{content_sha256}");
        let hash = sha256_hex(canonical.as_bytes());
        let signature =
            self.seal(&format!("{ALGORITHM}\n{}\n{}\n{hash}", self.date(), self.scope()));
        (names, signature)
    }

    /// The signature of a text, also of the policy of a form.
    pub(super) fn seal(&self, text: &str) -> String {
        let secret = format!("AWS4{}", self.credentials.secret_key);
        let day = self.time.strftime("%Y%m%d").to_string();
        let key = hmac(secret.as_bytes(), &day);
        let key = hmac(&hmac(&hmac(&key, self.region), self.service), "aws4_request");
        hex(&hmac(&key, text))
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    hmac.update(text.as_bytes());
    hmac.finalize().into_bytes().to_vec()
}

pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
}

#[cfg(test)]
mod tests {
    use aws_sigv4::http_request::{
        SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign,
    };
    use aws_sigv4::sign::v4::SigningParams;

    use super::*;

    fn credentials(token: Option<&str>) -> Credentials {
        Credentials {
            access_key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: token.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn signatures_are_those_of_aws() {
        let credentials = credentials(None);
        let time: Timestamp = "2026-02-03T04:05:06Z".parse().expect("a time");
        let signer = Signer { credentials: &credentials, region: "eu-west-1", service: S3, time };
        let hash = sha256_hex(b"body");
        let headers = [
            ("host", "localhost:9000"),
            ("x-amz-date", "20260203T040506Z"),
            ("x-amz-content-sha256", hash.as_str()),
            ("x-amz-meta-key", "two  words"),
            ("content-type", "text/plain"),
        ];
        let path = "/bucket/a%20b/%C3%BC";
        let query = "prefix=a%2Fb&uploads=";
        let owned = headers.map(|(name, value)| (name.to_owned(), value.replace("  ", " ")));
        let request = ToSign { method: "PUT", path, query, headers: &owned, content_sha256: &hash };
        let ours = signer.authorization(request);

        let identity = aws_credential_types::Credentials::from_keys(
            credentials.access_key.clone(),
            credentials.secret_key.clone(),
            None,
        )
        .into();
        let mut settings = SigningSettings::default();
        settings.percent_encoding_mode = aws_sigv4::http_request::PercentEncodingMode::Single;
        settings.uri_path_normalization_mode =
            aws_sigv4::http_request::UriPathNormalizationMode::Disabled;
        settings.signature_location = SignatureLocation::Headers;
        let parameters = SigningParams::builder()
            .identity(&identity)
            .region("eu-west-1")
            .name("s3")
            .time(time.into())
            .settings(settings)
            .build()
            .expect("all is set");
        let url = format!("http://localhost:9000{path}?{query}");
        let signable =
            SignableRequest::new("PUT", &url, headers.into_iter(), SignableBody::Bytes(b"body"));
        let (instructions, _) =
            sign(signable.expect("valid"), &parameters.into()).expect("signed").into_parts();
        let theirs = instructions
            .headers()
            .find(|(name, _)| name.eq_ignore_ascii_case("authorization"))
            .map(|(_, value)| value.to_owned());
        assert_eq!(Some(ours), theirs);
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", credentials(Some("token")));
        assert!(!shown.contains("wJalr") && !shown.contains("token"), "{shown}");
    }
}
