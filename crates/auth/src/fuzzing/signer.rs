//! The signer of the tests and fuzz targets: Signature Version 4 as described by AWS, written
//! independently of the verifier, so that the verifier is not tested against itself.

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use sha2::{Digest as _, Sha256};

/// The bytes that are percent-encoded in signed texts.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const ENCODED_IN_PATHS: AsciiSet = ENCODED.remove(b'/');

/// The part of a request that its signature covers.
#[derive(Clone, Debug)]
pub struct Covered<'a> {
    /// The method.
    pub method: &'a str,
    /// The path as signed: for S3 as sent, for others [encoded](encoded_path) once more.
    pub path: &'a str,
    /// The query as sent.
    pub query: &'a str,
    /// Names in lower case, and values. Values of the same name are joined.
    pub headers: Vec<(&'a str, &'a [u8])>,
    /// The value of `x-amz-content-sha256`, whether it is sent or not.
    pub payload_hash: &'a str,
}

impl Covered<'_> {
    fn names(&self) -> String {
        let names: BTreeMap<&str, ()> = self.headers.iter().map(|(name, _)| (*name, ())).collect();
        names.into_keys().collect::<Vec<_>>().join(";")
    }

    fn canonical(&self) -> Vec<u8> {
        let mut values = BTreeMap::<&str, Vec<&[u8]>>::new();
        for (name, value) in &self.headers {
            values.entry(name).or_default().push(value.trim_ascii());
        }
        let mut pairs: Vec<String> =
            self.query.split('&').filter(|pair| !pair.is_empty()).map(canonical_pair).collect();
        pairs.sort_unstable();
        let query = pairs.join("&");
        let mut canonical = format!("{}\n{}\n{query}\n", self.method, self.path).into_bytes();
        for (name, values) in values {
            canonical.extend_from_slice(name.as_bytes());
            canonical.push(b':');
            canonical.extend_from_slice(&values.join(&b','));
            canonical.push(b'\n');
        }
        canonical
            .extend_from_slice(format!("\n{}\n{}", self.names(), self.payload_hash).as_bytes());
        canonical
    }
}

/// A query parameter as signed: decoded and encoded again.
fn canonical_pair(pair: &str) -> String {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let encode = |text: &str| {
        let decoded: Vec<u8> = percent_decode_str(text).collect();
        percent_encode(&decoded, &ENCODED).to_string()
    };
    format!("{}={}", encode(name), encode(value))
}

/// A path as signed for services other than S3.
pub fn encoded_path(path: &str) -> String {
    percent_encode(path.as_bytes(), &ENCODED_IN_PATHS).to_string()
}

/// A user at one time, who signs for one service in one region.
#[derive(Clone, Copy, Debug)]
pub struct Signer<'a> {
    /// The access key.
    pub access_key: &'a str,
    /// The secret key.
    pub secret_key: &'a str,
    /// The time as in `x-amz-date`: `20130524T000000Z`.
    pub time: &'a str,
    /// The region.
    pub region: &'a str,
    /// The service: `s3`, `s3vectors`.
    pub service: &'a str,
}

impl Signer<'_> {
    /// The day, region and service from which the key is derived.
    pub fn scope(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.day(), self.region, self.service)
    }

    fn day(&self) -> &str {
        self.time.get(..8).unwrap_or(self.time)
    }

    /// The access key with the scope.
    pub fn credential(&self) -> String {
        format!("{}/{}", self.access_key, self.scope())
    }

    /// The signature of a text, such as the policy of a form.
    pub fn sign(&self, text: &str) -> String {
        let key = hmac(format!("AWS4{}", self.secret_key).as_bytes(), self.day());
        let key = hmac(&hmac(&key, self.region), self.service);
        hex(&hmac(&hmac(&key, "aws4_request"), text))
    }

    /// The signature of a request.
    pub fn signature(&self, covered: &Covered<'_>) -> String {
        self.sign_as("AWS4-HMAC-SHA256", &[&sha256_hex(covered.canonical())])
    }

    /// The Authorization header of a request.
    pub fn authorization(&self, covered: &Covered<'_>) -> String {
        format!(
            "AWS4-HMAC-SHA256 Credential={},SignedHeaders={},Signature={}",
            self.credential(),
            covered.names(),
            self.signature(covered)
        )
    }

    /// The query of a URL valid for a number of seconds: the query of the request plus the
    /// signature. The seconds are inserted as given.
    pub fn presigned_query(&self, covered: &Covered<'_>, expires: &str) -> String {
        let query = format!(
            "{}{}X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}&X-Amz-Date={}&\
             X-Amz-Expires={expires}&X-Amz-SignedHeaders={}",
            covered.query,
            if covered.query.is_empty() { "" } else { "&" },
            self.credential().replace('/', "%2F"),
            self.time,
            covered.names().replace(';', "%3B"),
        );
        let signature = self.signature(&Covered { query: &query, ..covered.clone() });
        format!("{query}&X-Amz-Signature={signature}")
    }

    /// The signature of a chunk, which covers the signature before it: of the previous chunk, or of
    /// the head.
    pub fn chunk_signature(&self, previous: &str, data: &[u8]) -> String {
        let hashes = [previous, &sha256_hex(b""), &sha256_hex(data)];
        self.sign_as("AWS4-HMAC-SHA256-PAYLOAD", &hashes)
    }

    /// The signature of a trailer of these lines, each with `\n` at its end.
    pub fn trailer_signature(&self, previous: &str, lines: &str) -> String {
        self.sign_as("AWS4-HMAC-SHA256-TRAILER", &[previous, &sha256_hex(lines)])
    }

    fn sign_as(&self, algorithm: &str, lines: &[&str]) -> String {
        self.sign(&format!("{algorithm}\n{}\n{}\n{}", self.time, self.scope(), lines.join("\n")))
    }
}

/// A framed chunk. The empty last chunk lacks the line end behind the trailer.
pub fn framed_chunk(signature: &str, data: &[u8]) -> Vec<u8> {
    let mut framed = format!("{:x};chunk-signature={signature}\r\n", data.len()).into_bytes();
    framed.extend_from_slice(data);
    if !data.is_empty() {
        framed.extend_from_slice(b"\r\n");
    }
    framed
}

/// A SHA-256 digest in lower-case hexadecimal digits.
pub fn sha256_hex(data: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(data))
}

/// Bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
}

fn hmac(key: &[u8], data: &str) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.chain_update(data).finalize().into_bytes().to_vec()
}
