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
use super::reached::{broken, in_one_line};
use super::refusal::{described, told};
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
    pub(crate) fn region_of(&self, bucket: &str) -> String {
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
            let (error, scope) = match self.reason_by_get(request, &error).await {
                Some((told, scope)) => (Error::Service(told), scope),
                None => (error, request.bucket.as_str()),
            };
            // A wrong region is learned once for each request, so that two services that name each
            // other cannot cause a loop. This attempt is not counted.
            if !moved
                && let Some(region) = error.region()
                && region != self.region_of(&request.bucket)
            {
                moved = true;
                let mut regions = self.regions.lock().expect("no panic while regions are locked");
                regions.insert(scope.to_owned(), region.to_owned());
                continue;
            }
            if attempt == self.settings.retries || !may_pass(&error, request.repeatable) {
                return (Err(error), attempt);
            }
            pause(attempt).await;
            attempt += 1;
        }
    }

    /// The reason of a refused HEAD, whose answer has no document, and the bucket whose region it tells: the refusal
    /// of a request without a bucket, which tells a wrong key, a wrong region of all, or that the address is one of TLS;
    /// or the refusal of the same request with GET, which tells that a name is not valid.
    async fn reason_by_get<'r>(
        &self,
        request: &'r Request,
        error: &Error,
    ) -> Option<(ServiceError, &'r str)> {
        let Error::Service(ServiceError { status: 400 | 403, region: None, .. }) = error else {
            return None;
        };
        if request.method != Method::HEAD {
            return None;
        }
        let of_all = self.refusal_of(&Request::new(Method::GET, "", "")).await;
        if error.status() == Some(403) {
            // Wrong keys are refused whatever is asked. Right ones may be refused the list of buckets.
            return Some((of_all.filter(ServiceError::is_about_keys)?, ""));
        }
        if let Some(told) = of_all
            && (told.status == 400 || told.region.is_some())
        {
            return Some((told, ""));
        }
        let told = self.refusal_of(&Request { method: Method::GET, ..request.clone() }).await?;
        (told.status == 400).then_some((told, request.bucket.as_str()))
    }

    /// The refusal of a request that is sent once; `None` if it is accepted, or has no answer.
    async fn refusal_of(&self, request: &Request) -> Option<ServiceError> {
        let answer = self.send_once(request).await.ok()?;
        match answer.status.is_success() {
            true => None,
            false => Some(refusal(answer).await),
        }
    }

    /// Sends an unsigned request without body to a path of the host, once. The status 400 is an error: it is
    /// the answer to plain HTTP at an address of TLS.
    pub(crate) async fn ask(&self, path: &str) -> Result<StatusCode, Error> {
        let url = format!("{}://{}{path}", self.endpoint.scheme(), self.endpoint.authority());
        let request = http::Request::get(url)
            .body(Payload::new(Bytes::new(), Arc::default()))
            .map_err(|error| Error::refused(format!("the address is not valid: {error}")))?;
        match timeout(self.settings.idle, self.http.request(request)).await {
            Ok(Ok(response)) if response.status() == StatusCode::BAD_REQUEST => {
                Err(Error::Service(refusal(self.received(response)).await))
            }
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
        let response = self.received(self.exchange(request, signed, &gone, counted).await?);
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
        Ok(self.received(result?))
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
        Error::Transport {
            reason: format!(
                "{} has not answered for {}",
                self.endpoint.url(),
                in_seconds(self.settings.idle)
            ),
            remedy: Some("see that the service runs, or raise --conn-read-deadline"),
            again: Again::Repeatable,
        }
    }

    fn broken(&self, error: &hyper_util::client::legacy::Error) -> Error {
        broken(&self.endpoint.url(), error)
    }

    fn received(&self, response: http::Response<Incoming>) -> Response {
        let (parts, body) = response.into_parts();
        let Settings { idle, .. } = self.settings;
        Response { status: parts.status, headers: parts.headers, body, idle }
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
                    let reason =
                        format!("the answer has stood still for {}", in_seconds(self.idle));
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

fn in_seconds(duration: Duration) -> String {
    match duration == Duration::from_secs(1) {
        true => "1 second".to_owned(),
        false => format!("{} seconds", duration.as_secs_f64()),
    }
}

async fn refusal(response: Response) -> ServiceError {
    let (status, headers) = (response.status, response.headers.clone());
    // Without its body, the status still tells something.
    let body = response.bytes().await.unwrap_or_default();
    told(status, &headers, &body)
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

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::super::connect::connect;
    use super::super::endpoint::Style;
    use super::*;

    /// A service that answers a request with the status and the document of its first line, until the test ends.
    fn service(answer: fn(&str) -> (&'static str, &'static str)) -> S3 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let serve = move |stream: TcpStream| -> std::io::Result<()> {
            let mut lines = BufReader::new(stream.try_clone()?).lines();
            let first = lines.next().transpose()?.unwrap_or_default();
            while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
            let (status, document) = answer(&first);
            let length = document.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            (&stream).write_all(format!("{head}{document}").as_bytes())
        };
        std::thread::spawn(move || listener.incoming().flatten().for_each(|it| drop(serve(it))));
        let url = format!("http://{address}");
        let endpoint = Endpoint::parse(&url, Style::Auto).expect("it is valid");
        let settings = Settings { idle: Duration::from_secs(60), retries: 0 };
        let http = connect(true, None).expect("it needs no file");
        S3::new(endpoint, None, "us-east-1".to_owned(), http, settings)
    }

    #[test]
    fn one_second_is_singular() {
        for (milliseconds, expected) in
            [(1000, "1 second"), (500, "0.5 seconds"), (60_000, "60 seconds")]
        {
            assert_eq!(in_seconds(Duration::from_millis(milliseconds)), expected);
        }
    }

    #[tokio::test]
    async fn a_refused_head_of_a_bucket_has_the_reason_of_a_get() {
        let s3 = service(|line| match line {
            "GET / HTTP/1.1" => ("200 OK", ""),
            "GET /my_bucket HTTP/1.1" | "GET /my_bucket/k HTTP/1.1" => (
                "400 Bad Request",
                "<Error><Code>InvalidBucketName</Code><Message>A name has no underscore.</Message></Error>",
            ),
            "GET /fine HTTP/1.1" => ("200 OK", "<ListBucketResult/>"),
            _ => ("400 Bad Request", ""),
        });
        let of_bucket = s3.head_bucket("my_bucket").await.expect_err("refused");
        let of_object = s3.head("my_bucket", "k", None).await.map(drop).expect_err("refused");
        for error in [of_bucket, of_object] {
            let expected = "A name has no underscore (InvalidBucketName, status 400)";
            assert_eq!(error.to_string(), expected);
        }
        // A GET that succeeds has no reason.
        let error = s3.head_bucket("fine").await.expect_err("refused");
        assert_eq!(error.to_string(), "the request is not valid (BadRequest, status 400)");
    }
}
