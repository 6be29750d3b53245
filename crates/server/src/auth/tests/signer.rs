//! A signer of its own, so that tests do not check the layer against itself.

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit, Mac};
use http::Request;
use sha2::{Digest, Sha256};

use super::{ACCESS_KEY, DATE, SECRET_KEY, TestBody};

pub(super) fn sha256_hex(data: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(data))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac(key: &[u8], data: &str) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.chain_update(data).finalize().into_bytes().to_vec()
}

/// A request being signed. Path and query must be given in canonical form.
#[derive(Clone)]
pub(super) struct Signer {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) payload_hash: String,
    pub(super) access_key: String,
    pub(super) secret_key: String,
    pub(super) date: String,
    pub(super) region: String,
    pub(super) service: String,
}

impl Signer {
    /// A signed request of the example user, at the example date, with host and date.
    pub(super) fn new(method: &'static str, path: &str, payload_hash: &str) -> Self {
        let signer = Signer {
            method,
            path: path.to_owned(),
            query: String::new(),
            headers: BTreeMap::new(),
            payload_hash: payload_hash.to_owned(),
            access_key: ACCESS_KEY.to_owned(),
            secret_key: SECRET_KEY.to_owned(),
            date: DATE.to_owned(),
            region: "us-east-1".to_owned(),
            service: "s3".to_owned(),
        };
        signer
            .header("host", "examplebucket.s3.amazonaws.com")
            .header("x-amz-date", DATE)
            .header("x-amz-content-sha256", payload_hash)
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub(super) fn date(mut self, date: &str) -> Self {
        self.date = date.to_owned();
        self.header("x-amz-date", date)
    }

    pub(super) fn query(mut self, query: &str) -> Self {
        self.query = query.to_owned();
        self
    }

    pub(super) fn scope(&self) -> String {
        format!("{}/{}/{}/aws4_request", &self.date[..8], self.region, self.service)
    }

    pub(super) fn signed_headers(&self) -> String {
        self.headers.keys().cloned().collect::<Vec<_>>().join(";")
    }

    pub(super) fn sign(&self, text: &str) -> String {
        let key = hmac(format!("AWS4{}", self.secret_key).as_bytes(), &self.date[..8]);
        let key = hmac(&hmac(&key, &self.region), &self.service);
        hex(&hmac(&hmac(&key, "aws4_request"), text))
    }

    pub(super) fn signature(&self) -> String {
        let headers: String = self.headers.iter().map(|(n, v)| format!("{n}:{v}\n")).collect();
        let canonical = format!(
            "{}\n{}\n{}\n{headers}\n{}\n{}",
            self.method,
            self.path,
            self.query,
            self.signed_headers(),
            self.payload_hash
        );
        let hash = sha256_hex(canonical);
        self.sign(&format!("AWS4-HMAC-SHA256\n{}\n{}\n{hash}", self.date, self.scope()))
    }

    pub(super) fn authorization(&self) -> String {
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={},Signature={}",
            self.access_key,
            self.scope(),
            self.signed_headers(),
            self.signature()
        )
    }

    pub(super) fn request(&self) -> Request<TestBody> {
        self.request_with(TestBody::default())
    }

    pub(super) fn request_with(&self, body: TestBody) -> Request<TestBody> {
        let authorization = self.authorization();
        self.build(&self.query).header("authorization", authorization).body(body).expect("valid")
    }

    fn build(&self, query: &str) -> http::request::Builder {
        let separator = if query.is_empty() { "" } else { "?" };
        let mut builder =
            Request::builder().method(self.method).uri(format!("{}{separator}{query}", self.path));
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        builder
    }

    /// The same as a presigned URL; `expires` is put in as it is.
    pub(super) fn presigned(mut self, expires: &str) -> Request<TestBody> {
        for name in ["x-amz-date", "x-amz-content-sha256"] {
            self.headers.remove(name);
        }
        let credential = format!("{}/{}", self.access_key, self.scope()).replace('/', "%2F");
        self.query = format!(
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={credential}&X-Amz-Date={}&\
             X-Amz-Expires={expires}&X-Amz-SignedHeaders={}{}{}",
            self.date,
            self.signed_headers().replace(';', "%3B"),
            if self.query.is_empty() { "" } else { "&" },
            self.query,
        );
        let query = format!("{}&X-Amz-Signature={}", self.query, self.signature());
        self.build(&query).body(TestBody::default()).expect("valid")
    }

    pub(super) fn chunk_signature(&self, previous: &str, data: &[u8]) -> String {
        let (scope, empty) = (self.scope(), sha256_hex(b""));
        self.sign(&format!(
            "AWS4-HMAC-SHA256-PAYLOAD\n{}\n{scope}\n{previous}\n{empty}\n{}",
            self.date,
            sha256_hex(data)
        ))
    }

    pub(super) fn trailer_signature(&self, previous: &str, lines: &str) -> String {
        let (date, scope, hash) = (&self.date, self.scope(), sha256_hex(lines));
        self.sign(&format!("AWS4-HMAC-SHA256-TRAILER\n{date}\n{scope}\n{previous}\n{hash}"))
    }
}
