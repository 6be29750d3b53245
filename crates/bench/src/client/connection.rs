//! The measuring client: hyper on one kept connection, one request at a time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::Payload;
use super::pieces::Pieces;
use super::sign::{EMPTY_SHA256, Endpoint, PayloadMode, Service, Signer, ToSign};
use crate::run::Failure;

/// Time after which a request has failed.
const REQUEST_TIME: Duration = Duration::from_secs(120);

/// Length of an answer that is kept to explain a failure.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// A request before it is signed.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    /// The path, encoded.
    pub(crate) path: &'a str,
    /// The query, encoded and sorted, every name with a `=`.
    pub(crate) query: &'a str,
    /// Headers that are signed, in lower case.
    pub(crate) signed: Vec<(String, String)>,
    /// Other headers.
    pub(crate) plain: Vec<(&'static str, String)>,
    pub(crate) body: Option<&'a Payload>,
}

impl<'a> Request<'a> {
    /// A request without query, headers and body.
    pub(crate) fn new(method: Method, path: &'a str) -> Request<'a> {
        Request { method, path, query: "", signed: Vec::new(), plain: Vec::new(), body: None }
    }

    /// A POST of a body.
    pub(crate) fn post(path: &'a str, body: &'a Payload) -> Request<'a> {
        Request { body: Some(body), ..Request::new(Method::POST, path) }
    }
}

/// Use of the body of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect<'a> {
    /// It is read and dropped.
    Anything,
    /// It is read and kept.
    Text,
    /// It is compared byte by byte while it arrives.
    Exactly(&'a [u8]),
}

/// An answer with an expected status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    /// The body, if it was to be kept.
    pub(crate) text: String,
}

/// One client: a connection, opened when needed and kept.
#[derive(Debug)]
pub(crate) struct Connection {
    endpoint: Arc<Endpoint>,
    signer: Signer,
    mode: PayloadMode,
    sender: Option<SendRequest<Pieces>>,
}

impl Connection {
    /// A client that is not connected yet.
    pub(crate) fn new(endpoint: Arc<Endpoint>, mode: PayloadMode, service: Service) -> Connection {
        let signer = Signer::new(Arc::clone(&endpoint), service);
        Connection { endpoint, signer, mode, sender: None }
    }

    /// Sends a request and reads the whole answer. Any status that is not in `statuses`, a body
    /// other than expected, a broken connection and two minutes without an answer are failures.
    pub(crate) async fn send(
        &mut self,
        request: Request<'_>,
        statuses: &[u16],
        expect: Expect<'_>,
    ) -> Result<Answer, Failure> {
        let what = format_args!("{} {}", request.method, request.path).to_string();
        let signed = self.signed(request)?;
        let exchange = tokio::time::timeout(REQUEST_TIME, self.exchange(signed, statuses, expect));
        let outcome = match exchange.await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("no answer within {REQUEST_TIME:?}").into()),
        };
        if outcome.is_err() {
            // Bytes of the failed request may be left on the connection.
            self.sender = None;
        }
        outcome.map_err(|failure| format!("{what}: {failure}").into())
    }

    /// Sends a request and ignores the body of the answer.
    pub(crate) async fn tell(
        &mut self,
        request: Request<'_>,
        statuses: &[u16],
    ) -> Result<(), Failure> {
        self.send(request, statuses, Expect::Anything).await.map(drop)
    }

    /// Sends a request and returns the text of its answer. Some operations of S3 report a failure
    /// there, after the status.
    pub(crate) async fn text(&mut self, request: Request<'_>) -> Result<String, Failure> {
        without_error(self.send(request, &[200], Expect::Text).await?.text)
    }

    async fn exchange(
        &mut self,
        request: http::Request<Pieces>,
        statuses: &[u16],
        expect: Expect<'_>,
    ) -> Result<Answer, Failure> {
        let head_only = request.method() == Method::HEAD;
        let sender = self.connected().await?;
        let answer = sender.send_request(request).await?;
        let (head, body) = answer.into_parts();
        if !statuses.contains(&head.status.as_u16()) {
            let text = if head_only { String::new() } else { read_text(body).await? };
            let text: String = text.chars().take(300).collect();
            return Err(format!("status {} {text}", head.status.as_u16()).into());
        }
        let text = match expect {
            Expect::Text => read_text(body).await?,
            Expect::Anything => {
                read(body, |_| Ok(())).await?;
                String::new()
            }
            Expect::Exactly(expected) => {
                read_exactly(body, expected).await?;
                String::new()
            }
        };
        Ok(Answer { headers: head.headers, text })
    }

    /// The open connection, or a new one.
    async fn connected(&mut self) -> Result<&mut SendRequest<Pieces>, Failure> {
        let open = match &mut self.sender {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        if !open {
            let stream = TcpStream::connect(self.endpoint.next_host()).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            self.sender = None;
            return Ok(self.sender.insert(sender));
        }
        self.sender.as_mut().ok_or_else(|| "no connection".into())
    }

    fn signed(&mut self, mut request: Request<'_>) -> Result<http::Request<Pieces>, Failure> {
        let method = request.method.clone();
        let streaming = self.mode == PayloadMode::Streaming && request.body.is_some();
        if let Some(body) = request.body.filter(|_| streaming) {
            let length = body.bytes.len().to_string();
            request.signed.push(("x-amz-decoded-content-length".to_owned(), length));
            request.plain.push(("content-encoding", "aws-chunked".to_owned()));
        }
        let to_sign = ToSign {
            method: method.as_str(),
            path: request.path,
            query: request.query,
            headers: &request.signed,
        };
        let (signature, pieces) = match (request.body, self.mode) {
            (None, _) => (self.signer.sign(to_sign, EMPTY_SHA256), Vec::new()),
            (Some(body), PayloadMode::Streaming) => self.signer.sign_chunks(to_sign, body),
            (Some(body), PayloadMode::Unsigned) => (
                self.signer.sign(to_sign, "UNSIGNED-PAYLOAD"),
                vec![body.bytes.clone(); body.times],
            ),
            (Some(body), PayloadMode::Signed) => {
                (self.signer.sign(to_sign, body.sha256()), vec![body.bytes.clone()])
            }
        };
        let mut target = String::with_capacity(request.path.len() + request.query.len() + 1);
        target.push_str(request.path);
        if !request.query.is_empty() {
            target.push('?');
            target.push_str(request.query);
        }
        let mut built = http::Request::builder()
            .method(request.method)
            .uri(target)
            .header("host", &self.endpoint.host)
            .header("authorization", signature.authorization)
            .header("x-amz-date", signature.date);
        if let Some(hash) = signature.content_sha256 {
            built = built.header("x-amz-content-sha256", hash);
        }
        for (name, value) in request.signed {
            built = built.header(name, value);
        }
        for (name, value) in request.plain {
            built = built.header(name, value);
        }
        let pieces = Pieces::new(pieces);
        if request.body.is_some() {
            // hyper leaves the header out for an empty body, but S3 requires it.
            built = built.header("content-length", pieces.bytes_left());
        }
        Ok(built.body(pieces)?)
    }
}

pub(super) fn without_error(text: String) -> Result<String, Failure> {
    match text.find("<Error>") {
        Some(start) => Err(text[start..].chars().take(300).collect::<String>().into()),
        None => Ok(text),
    }
}

/// Reads a body to its end, and passes on the bytes as they arrive.
async fn read(
    mut body: Incoming,
    mut take: impl FnMut(Bytes) -> Result<(), Failure>,
) -> Result<(), Failure> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            take(data)?;
        }
    }
    Ok(())
}

async fn read_text(body: Incoming) -> Result<String, Failure> {
    let mut text = Vec::new();
    read(body, |data| {
        // Listings are larger than errors, but no answer is larger than this.
        let room = (ERROR_BYTES_MAX * 64).saturating_sub(text.len());
        text.extend_from_slice(&data[..data.len().min(room)]);
        Ok(())
    })
    .await?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

async fn read_exactly(body: Incoming, expected: &[u8]) -> Result<(), Failure> {
    let mut read_so_far = 0;
    read(body, |data| {
        let end = read_so_far + data.len();
        if expected.get(read_so_far..end) != Some(&data[..]) {
            return Err(format!("wrong bytes in {read_so_far}..{end} of the body").into());
        }
        read_so_far = end;
        Ok(())
    })
    .await?;
    if read_so_far == expected.len() {
        Ok(())
    } else {
        Err(format!("a body of {read_so_far} bytes instead of {}", expected.len()).into())
    }
}
