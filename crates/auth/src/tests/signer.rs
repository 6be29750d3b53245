//! Requests signed by the signer of all tests.

use std::collections::BTreeMap;

use http::Request;

use super::{ACCESS_KEY, DATE, SECRET_KEY, TestBody};
pub(super) use crate::fuzzing::signer::sha256_hex;
use crate::fuzzing::signer::{self, Covered, framed_chunk};

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

    fn signer(&self) -> signer::Signer<'_> {
        signer::Signer {
            access_key: &self.access_key,
            secret_key: &self.secret_key,
            time: &self.date,
            region: &self.region,
            service: &self.service,
        }
    }

    fn covered(&self) -> Covered<'_> {
        Covered {
            method: self.method,
            path: &self.path,
            query: &self.query,
            headers: self.headers.iter().map(|(name, value)| (&**name, value.as_bytes())).collect(),
            payload_hash: &self.payload_hash,
        }
    }

    pub(super) fn credential(&self) -> String {
        self.signer().credential()
    }

    pub(super) fn sign(&self, text: &str) -> String {
        self.signer().sign(text)
    }

    pub(super) fn signature(&self) -> String {
        self.signer().signature(&self.covered())
    }

    pub(super) fn authorization(&self) -> String {
        self.signer().authorization(&self.covered())
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
        let query = self.signer().presigned_query(&self.covered(), expires);
        self.build(&query).body(TestBody::default()).expect("valid")
    }

    /// The chunks, each signed, up to and with the final one; then the signature of that.
    pub(super) fn chunks(&self, chunks: &[&[u8]]) -> (Vec<u8>, String) {
        let (mut framed, mut previous) = (Vec::new(), self.signature());
        for chunk in chunks.iter().chain([&&b""[..]]) {
            previous = self.signer().chunk_signature(&previous, chunk);
            framed.extend(framed_chunk(&previous, chunk));
        }
        (framed, previous)
    }

    pub(super) fn trailer_signature(&self, previous: &str, lines: &str) -> String {
        self.signer().trailer_signature(previous, lines)
    }
}
