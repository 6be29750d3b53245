//! Signature Version 4 at the lowest cost: the key is derived once a day and the date formatted
//! once a second, so a signature takes two hashes of a few hundred bytes.
//!
//! `aws-sigv4` derives the key for every request, allocates some forty times, and brings the SDK's
//! runtime. On a client that shares the machine with the server, this cost would be measured as the
//! server's. A test compares every signature with it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::payload::{CHUNK_BYTES, Payload, hex};

/// Protection of a body by the signature.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum PayloadMode {
    /// The hash of the body is signed.
    #[default]
    Signed,
    /// The body is unsigned.
    Unsigned,
    /// The body is sent in chunks, each with a signature.
    Streaming,
}

/// The service that requests are signed for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Service {
    /// S3: the hash of the body is a header of its own.
    #[default]
    S3,
    /// S3 Vectors: the hash of the body is signed, but not sent.
    S3Vectors,
}

/// Hash of an empty body.
pub(crate) const EMPTY_SHA256: &str =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const STREAMING: &str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";

/// Address of a service, with the credentials for it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Host with port.
    pub(crate) host: String,
    /// The same of other servers with the same data: connections are made to all of them in turn.
    pub(crate) others: Vec<String>,
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    /// Region for signatures.
    pub(crate) region: String,
}

impl Endpoint {
    /// The host of the next connection.
    pub(crate) fn next_host(&self) -> &str {
        static TURN: AtomicUsize = AtomicUsize::new(0);
        let turn = TURN.fetch_add(1, Ordering::Relaxed) % (self.others.len() + 1);
        turn.checked_sub(1).map_or(&self.host, |other| &self.others[other])
    }
}

/// Signs requests to one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    endpoint: Arc<Endpoint>,
    service: Service,
    second: u64,
    time: String,
    key: Vec<u8>,
}

/// The parts of a request that are signed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToSign<'a> {
    pub(crate) method: &'a str,
    /// The path, encoded as it is sent.
    pub(crate) path: &'a str,
    /// The query, encoded and sorted as it is signed: `uploads=`, not `uploads`.
    pub(crate) query: &'a str,
    /// Further headers that are signed, in lower case.
    pub(crate) headers: &'a [(String, String)],
}

/// The headers of a signature.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) authorization: String,
    pub(crate) date: String,
    /// `x-amz-content-sha256`, if it is sent.
    pub(crate) content_sha256: Option<String>,
    signature: String,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Service::S3 => "s3",
            Service::S3Vectors => "s3vectors",
        }
    }
}

impl Signer {
    pub(crate) fn new(endpoint: Arc<Endpoint>, service: Service) -> Signer {
        Signer { endpoint, service, second: u64::MAX, time: String::new(), key: Vec::new() }
    }

    /// Signs a request without a body, or with a body whose hash is `content_sha256`.
    pub(crate) fn sign(&mut self, request: ToSign<'_>, content_sha256: &str) -> Signature {
        self.sign_at(request, content_sha256, SystemTime::now())
    }

    /// [`Signer::sign`] at a given time.
    pub(crate) fn sign_at(
        &mut self,
        request: ToSign<'_>,
        content_sha256: &str,
        time: SystemTime,
    ) -> Signature {
        self.set_time(time);
        let mut canonical = String::with_capacity(512);
        let ToSign { method, path, query, headers } = request;
        let _ = write!(canonical, "{method}\n{path}\n{query}\n");
        let mut all =
            vec![("host", self.endpoint.host.as_str()), ("x-amz-date", self.time.as_str())];
        if self.service == Service::S3 {
            all.push(("x-amz-content-sha256", content_sha256));
        }
        all.extend(headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        all.sort_unstable();
        for (name, value) in &all {
            let _ = writeln!(canonical, "{name}:{value}");
        }
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let _ = write!(canonical, "\n{names}\n{content_sha256}");
        let hash = hex(&Sha256::digest(canonical.as_bytes()));
        let scope = self.scope();
        let signature = self.seal(&format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{hash}", self.time));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.endpoint.access_key
        );
        let is_sent = self.service == Service::S3;
        let content_sha256 = is_sent.then(|| content_sha256.to_owned());
        Signature { authorization, date: self.time.clone(), content_sha256, signature }
    }

    /// Signs a request whose body is sent in signed chunks, and makes those chunks.
    pub(crate) fn sign_chunks(
        &mut self,
        request: ToSign<'_>,
        body: &Payload,
    ) -> (Signature, Vec<Bytes>) {
        let signature = self.sign(request, STREAMING);
        let mut previous = signature.signature.clone();
        let mut parts = Vec::new();
        let hashes = body.chunk_sha256();
        for place in 0..=hashes.len() {
            let hash = hashes.get(place).map_or(EMPTY_SHA256, String::as_str);
            let start = (place * CHUNK_BYTES).min(body.bytes.len());
            let chunk = body.bytes.slice(start..body.bytes.len().min(start + CHUNK_BYTES));
            previous = self.seal(&format!(
                "AWS4-HMAC-SHA256-PAYLOAD\n{}\n{}\n{previous}\n{EMPTY_SHA256}\n{hash}",
                self.time,
                self.scope()
            ));
            let mut head = BytesMut::new();
            let _ = write!(head, "{:x};chunk-signature={previous}\r\n", chunk.len());
            parts.extend([head.freeze(), chunk, Bytes::from_static(b"\r\n")]);
        }
        (signature, parts)
    }

    fn scope(&self) -> String {
        format!("{}/{}/{}/aws4_request", &self.time[..8], self.endpoint.region, self.service.name())
    }

    fn seal(&self, text: &str) -> String {
        hex(&hmac(&self.key, text))
    }

    fn set_time(&mut self, time: SystemTime) {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        if since.as_secs() == self.second {
            return;
        }
        self.second = since.as_secs();
        let stamp = jiff::Timestamp::from_second(since.as_secs().cast_signed()).unwrap_or_default();
        let text = stamp.strftime("%Y%m%dT%H%M%SZ").to_string();
        if self.key.is_empty() || self.time[..8] != text[..8] {
            self.key = hmac(format!("AWS4{}", self.endpoint.secret_key).as_bytes(), &text[..8]);
            for step in [self.endpoint.region.as_str(), self.service.name(), "aws4_request"] {
                self.key = hmac(&self.key, step);
            }
        }
        self.time = text;
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length is a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}
