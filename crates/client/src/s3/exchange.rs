//! Exchange of requests and answers: signatures, time limits, repetitions after temporary failures.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio::time::timeout;

use super::connect::Http;
use super::document::Element;
use super::encode;
use super::endpoint::Endpoint;
use super::request::{Feed, Payload, Request, Sent};
use super::sign::{Credentials, S3 as SERVICE, Signer, ToSign, UNSIGNED, sha256_hex};
use crate::error::{Again, Error, ServiceError};

/// A service with the credentials of its user. Without them, requests are anonymous.
#[derive(Debug)]
pub(crate) struct S3 {
    pub(super) endpoint: Endpoint,
    pub(super) credentials: Option<Credentials>,
    pub(super) region: String,
    http: Http,
    settings: Settings,
    /// Learned regions by bucket; under the empty name, the region of the service.
    regions: Mutex<HashMap<String, String>>,
}

/// Limits of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Time without progress after which a connection counts as dead.
    pub(crate) idle: Duration,
    /// Number of repetitions after the first attempt.
    pub(crate) retries: u32,
}

/// Size up to which documents are read into memory.
const DOCUMENT_BYTES_MAX: usize = 64 << 20;
/// Time that a service may take for a copy or the completion of an upload before it answers.
const SLOW: Duration = Duration::from_secs(15 * 60);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Answer to an accepted request.
pub(crate) struct Response {
    pub(super) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    idle: Duration,
}

impl S3 {
    pub(crate) fn new(
        endpoint: Endpoint,
        credentials: Option<Credentials>,
        region: String,
        http: Http,
        settings: Settings,
    ) -> S3 {
        let regions = Mutex::default();
        S3 { endpoint, credentials, region, http, settings, regions }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// `true` if both are the same user of the same service, which can then copy by itself.
    pub(crate) fn is_same_service(&self, other: &S3) -> bool {
        let key = |it: &S3| it.credentials.as_ref().map(|it| it.access_key.clone());
        self.endpoint.url() == other.endpoint.url() && key(self) == key(other)
    }

    /// Region for which requests to a bucket are signed.
    pub(super) fn region_of(&self, bucket: &str) -> String {
        let regions = self.regions.lock().expect("no panic while regions are locked");
        regions.get(bucket).or_else(|| regions.get("")).unwrap_or(&self.region).clone()
    }

    pub(super) fn retries(&self) -> u32 {
        self.settings.retries
    }

    /// Sends a request until it is accepted, refused for good, or out of attempts.
    pub(crate) async fn send(&self, request: &Request) -> Result<Response, Error> {
        self.send_counted(request).await.0
    }

    /// As [`S3::send`], with the number of repetitions: with any, an earlier attempt may have had its
    /// effect before its answer was lost.
    pub(super) async fn send_counted(&self, request: &Request) -> (Result<Response, Error>, u32) {
        let mut attempt = 0;
        let mut moved = false;
        loop {
            let error = match self.send_once(request).await {
                Ok(response) if response.status.is_success() => return (Ok(response), attempt),
                Ok(response) => Error::Service(refusal(response).await),
                Err(error) => error,
            };
            // A wrong region is learned once for each request, so that two services that name each
            // other cannot cause a loop. This attempt is not counted.
            if !moved
                && let Some((bucket, region)) = self.other_region(request, &error).await
                && region != self.region_of(&request.bucket)
            {
                moved = true;
                let mut regions = self.regions.lock().expect("no panic while regions are locked");
                regions.insert(bucket, region);
                continue;
            }
            if attempt == self.settings.retries || !may_pass(&error, request.repeatable) {
                return (Err(error), attempt);
            }
            pause(attempt).await;
            attempt += 1;
        }
    }

    /// The region that the service expects, with the bucket that it is for; for an empty name it is
    /// for all.
    async fn other_region(&self, request: &Request, error: &Error) -> Option<(String, String)> {
        let Error::Service(error) = error else { return None };
        if let Some(region) = &error.region {
            return Some((request.bucket.clone(), region.clone()));
        }
        // An answer to HEAD has no document. If no header names the region, the answer to another
        // request does.
        if request.method != Method::HEAD || error.status != 400 || self.credentials.is_none() {
            return None;
        }
        let answer = self.send_once(&Request::new(Method::GET, "", "")).await.ok()?;
        if answer.status.is_success() {
            return None;
        }
        Some((String::new(), refusal(answer).await.region?))
    }

    /// Sends an unsigned request without body to a path of the host, once.
    pub(crate) async fn ask(&self, path: &str) -> Result<StatusCode, Error> {
        let url = format!("{}://{}{path}", self.endpoint.scheme(), self.endpoint.authority());
        let request = http::Request::get(url)
            .body(Payload::new(Bytes::new(), Arc::default()))
            .map_err(|error| Error::refused(format!("the address is not valid: {error}")))?;
        match timeout(self.settings.idle, self.http.request(request)).await {
            Ok(Ok(response)) => Ok(response.status()),
            Ok(Err(error)) => Err(self.broken(&error)),
            Err(_) => Err(self.hangs()),
        }
    }

    /// Sends a request once, with a body of `bytes` that another task feeds and that is not signed:
    /// the caller sends a digest of it.
    pub(crate) async fn send_fed(
        &self,
        request: &Request,
        bytes: u64,
        feed: Feed,
    ) -> Result<Response, Error> {
        let gone = Arc::new(AtomicU64::new(0));
        let payload = Payload::fed(bytes, feed, gone.clone());
        let signed = self.signed_with(request, UNSIGNED.to_owned(), payload)?;
        let counted = Counted { sent: None, told: 0 };
        let response = self.exchange(request, signed, &gone, counted).await?;
        let (parts, body) = response.into_parts();
        let Settings { idle, .. } = self.settings;
        let response = Response { status: parts.status, headers: parts.headers, body, idle };
        match response.status.is_success() {
            true => Ok(response),
            false => Err(Error::Service(refusal(response).await)),
        }
    }

    async fn send_once(&self, request: &Request) -> Result<Response, Error> {
        let gone = Arc::new(AtomicU64::new(0));
        let payload = Payload::new(request.body.clone(), gone.clone());
        let content_sha256 = sha256_hex(&request.body);
        let signed = self.signed_with(request, content_sha256, payload)?;
        let counted = Counted { sent: request.sent.as_ref(), told: 0 };
        let result = self.exchange(request, signed, &gone, counted).await;
        let response = result?;
        let (parts, body) = response.into_parts();
        let Settings { idle, .. } = self.settings;
        Ok(Response { status: parts.status, headers: parts.headers, body, idle })
    }

    /// Waits for the head of the answer as long as bytes are being sent.
    async fn exchange(
        &self,
        request: &Request,
        signed: http::Request<Payload>,
        gone: &AtomicU64,
        mut counted: Counted<'_>,
    ) -> Result<http::Response<Incoming>, Error> {
        let idle = if request.slow { SLOW.max(self.settings.idle) } else { self.settings.idle };
        // Short enough for a smooth progress bar.
        let step = Duration::from_millis(200).min(idle);
        let mut waited = Duration::ZERO;
        let answer = self.http.request(signed);
        tokio::pin!(answer);
        loop {
            // The connection is alive while bytes leave, also if the answer takes long.
            let before = gone.load(Ordering::Relaxed);
            match timeout(step, &mut answer).await {
                Ok(Ok(response)) => {
                    if response.status().is_success() {
                        counted.tell(request.body.len() as u64);
                        counted.keep();
                    }
                    return Ok(response);
                }
                Ok(Err(error)) => return Err(self.broken(&error)),
                Err(_) => {}
            }
            let now = gone.load(Ordering::Relaxed);
            counted.tell(now);
            waited = if now == before { waited + step } else { Duration::ZERO };
            if waited >= idle {
                return Err(self.hangs());
            }
        }
    }

    fn signed_with(
        &self,
        request: &Request,
        content_sha256: String,
        payload: Payload,
    ) -> Result<http::Request<Payload>, Error> {
        let region = self.region_of(&request.bucket);
        let address = self.endpoint.address(&request.bucket, &request.key, &region);
        let query = encode::query(&request.query);
        let mut headers = request.headers.clone();
        headers.push(("host".to_owned(), address.authority.clone()));
        if let Some(credentials) = &self.credentials {
            let signer =
                Signer { credentials, region: &region, service: SERVICE, time: Timestamp::now() };
            headers.push(("x-amz-date".to_owned(), signer.date()));
            headers.push(("x-amz-content-sha256".to_owned(), content_sha256.clone()));
            if let Some(token) = &credentials.session_token {
                headers.push(("x-amz-security-token".to_owned(), token.clone()));
            }
            let authorization = signer.authorization(ToSign {
                method: request.method.as_str(),
                path: &address.path,
                query: &query,
                headers: &headers,
                content_sha256: &content_sha256,
            });
            headers.push(("authorization".to_owned(), authorization));
        } else if !request.body.is_empty() && !headers.iter().any(|(it, _)| it == "content-md5") {
            // Without a signature, this digest is the only protection of the body.
            let digest = super::checksum::md5_base64(&request.body);
            headers.push(("content-md5".to_owned(), digest));
        }
        // Without a body no length is sent, but some services require it.
        if payload.is_end_stream() && matches!(request.method, Method::PUT | Method::POST) {
            headers.push(("content-length".to_owned(), "0".to_owned()));
        }
        let question = if query.is_empty() { String::new() } else { format!("?{query}") };
        let scheme = self.endpoint.scheme();
        let url = format!("{scheme}://{}{}{question}", address.authority, address.path);
        let mut builder = http::Request::builder().method(request.method.clone()).uri(url);
        for (name, value) in &headers {
            builder = builder.header(name, value);
        }
        builder.body(payload).map_err(|error| {
            Error::refused(format!("a name or a value cannot be sent in a header: {error}"))
        })
    }

    fn hangs(&self) -> Error {
        let seconds = self.settings.idle.as_secs_f64();
        Error::Transport {
            reason: format!("{} has not answered for {seconds} seconds", self.endpoint.url()),
            remedy: Some("see that the service runs, or raise --conn-read-deadline"),
            again: Again::Repeatable,
        }
    }

    fn broken(&self, error: &hyper_util::client::legacy::Error) -> Error {
        let reason = in_one_line(error);
        if error.is_connect() {
            let (remedy, again) = if reason.contains("certificate") {
                let remedy = "put its authority into certs/CAs below the configuration directory, \
                    or use --insecure";
                (remedy, Again::None)
            } else {
                ("see that the service runs, and that the URL of the alias is right", Again::All)
            };
            let reason = format!("cannot connect to {}: {reason}", self.endpoint.url());
            return Error::Transport { reason, remedy: Some(remedy), again };
        }
        Error::transport(format!("the connection to {} broke: {reason}", self.endpoint.url()))
    }
}

/// The reported progress of one attempt. It is taken back unless the attempt succeeds.
struct Counted<'a> {
    sent: Option<&'a Sent>,
    told: u64,
}

impl Counted<'_> {
    fn tell(&mut self, gone: u64) {
        if let Some(sent) = self.sent {
            sent(gone as i64 - self.told as i64);
            self.told = gone;
        }
    }

    fn keep(&mut self) {
        self.told = 0;
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if self.told > 0 {
            self.tell(0);
        }
    }
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next bytes of the body; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match timeout(self.idle, self.body.frame()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => return Ok(Some(data)),
                    Err(_) => continue, // Trailers.
                },
                Ok(Some(Err(error))) => {
                    let reason = in_one_line(&error);
                    return Err(Error::transport(format!("the answer broke off: {reason}")));
                }
                Err(_) => {
                    let seconds = self.idle.as_secs_f64();
                    let reason = format!("the answer has stood still for {seconds} seconds");
                    return Err(Error::transport(reason));
                }
            }
        }
    }

    pub(crate) async fn bytes(mut self) -> Result<Bytes, Error> {
        let mut bytes = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if bytes.len() + chunk.len() > DOCUMENT_BYTES_MAX {
                return Err(Error::transport("the answer is larger than any of S3"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes.freeze())
    }

    /// The document in the body. S3 may send an error in a document after a head that promised
    /// success.
    pub(super) async fn document(self) -> Result<Element, Error> {
        let status = self.status.as_u16();
        let root = Element::parse(&self.bytes().await?)?;
        match root.name.as_str() {
            "Error" => {
                let error = described(&root, ServiceError { status, ..ServiceError::default() });
                // The status was sent before the failure, so it says nothing.
                let status = if error.code == "SlowDown" { 503 } else { 500 };
                Err(Error::Service(ServiceError { status, ..error }))
            }
            _ => Ok(root),
        }
    }
}

async fn refusal(response: Response) -> ServiceError {
    let status = response.status.as_u16();
    let region = response.header("x-amz-bucket-region").map(ToOwned::to_owned);
    let error = ServiceError { status, region: region.clone(), ..ServiceError::default() };
    let body = response.bytes().await.unwrap_or_default();
    let mut error = match Element::parse(&body) {
        Ok(root) if root.name == "Error" => described(&root, error),
        _ => described_in_json(&body, error),
    };
    // An answer to HEAD has no document.
    let known = match status {
        301 | 307 | 308 => ("Redirect", "the service answers with a redirect"),
        400 => ("BadRequest", "the request is not valid"),
        403 => ("AccessDenied", "access denied"),
        404 => ("NotFound", "it does not exist"),
        405 => ("MethodNotAllowed", "this is not allowed here"),
        412 => ("PreconditionFailed", "it has changed meanwhile"),
        501 => ("NotImplemented", "the service does not know this operation"),
        503 => ("ServiceUnavailable", "the service is busy"),
        _ => ("", ""),
    };
    if error.code.is_empty() {
        error.code = known.0.to_owned();
    }
    if error.message.is_empty() {
        error.message = known.1.to_owned();
    }
    // HEAD names the region of a bucket in a header, in answers of any status. Only these say that
    // it is a wrong one.
    if !matches!(status, 301 | 307 | 400) {
        error.region = None;
    }
    error
}

fn described(root: &Element, error: ServiceError) -> ServiceError {
    let text = |name: &str| root.text(name).unwrap_or_default().to_owned();
    let region = root.text("Region").map(ToOwned::to_owned).or(error.region);
    ServiceError { code: text("Code"), message: text("Message"), region, ..error }
}

/// Errors of admin APIs are JSON.
fn described_in_json(body: &[u8], error: ServiceError) -> ServiceError {
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(body) else { return error };
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    ServiceError { code: text("Code"), message: text("Message"), ..error }
}

/// `true` if the same request may succeed later.
fn may_pass(error: &Error, repeatable: bool) -> bool {
    match error {
        // A request that is refused for lack of capacity was not begun.
        Error::Service(ServiceError { status: 503 | 429, .. }) => true,
        Error::Service(error) => {
            let code = matches!(error.code.as_str(), "RequestTimeout" | "InternalError");
            repeatable && (matches!(error.status, 408 | 500 | 502 | 504) || code)
        }
        Error::Transport { again, .. } => match again {
            Again::All => true,
            Again::Repeatable => repeatable,
            Again::None => false,
        },
        _ => false,
    }
}

/// Waits, longer after every attempt. The time is random between half and all of the limit, so that
/// many clients spread.
pub(super) async fn pause(attempt: u32) {
    let whole = (FIRST_PAUSE * 2u32.saturating_pow(attempt)).min(PAUSE_MAX);
    let chance = f64::from(getrandom::u32().unwrap_or(u32::MAX)) / f64::from(u32::MAX);
    tokio::time::sleep(whole.mul_f64(0.5 + chance / 2.0)).await;
}

fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        line = format!("{line}: {next}");
        cause = next.source();
    }
    line.replace(['\n', '\r'], " ")
}
