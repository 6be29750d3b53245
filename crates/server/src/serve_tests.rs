//! Tests raw sockets against a server with the test's own handler.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::{Server, ServerBuilder, ServerHandle};
use liteio_admin::operational::{Health, Operational, Readiness, Way};
use liteio_observe::trace::{Audience, Tracer};
use liteio_wire::front::body::RequestBody;
use liteio_wire::front::limits::{BODY_WINDOW_BYTES_MAX, Limits};
use liteio_wire::front::{Allowance, Handler, HandlerFuture, Plan, Planned};
use liteio_wire::origin::Origin;
use liteio_wire::reply::{ApiError, Dialect, ErrorCode, Reply, ReplyBody};

const SHORT: Duration = Duration::from_millis(40);
/// Timeout that is only reached if a test hangs.
const LONG: Duration = Duration::from_secs(20);

/// Answers with the body it was sent.
async fn echo(request: Request<RequestBody>) -> Reply {
    let body = request.into_body().collect().await?;
    Ok(Response::new(ReplyBody::from(body.to_bytes())))
}

/// Refuses without reading the body.
async fn refuse(_request: Request<RequestBody>) -> Reply {
    Err(ApiError::new(ErrorCode::AccessDenied, "Access Denied"))
}

/// A handler behind the server's operational routes.
struct WithHealth<H> {
    operational: Arc<Operational>,
    handler: H,
}

impl<H> WithHealth<H> {
    fn new(handler: H) -> WithHealth<H> {
        let health = Health::new(
            || Readiness::Ready,
            || Box::pin(async { serde_json::Map::new() }),
            || Box::pin(async { false }),
        );
        let health = Arc::new(health);
        let audience = Audience::new(Arc::new(Tracer::default()), Arc::default());
        let operational = Arc::new(Operational::new(health, audience, None));
        WithHealth { operational, handler }
    }
}

impl<H: Handler> Handler for WithHealth<H> {
    fn plan<'h>(&'h self, head: &'h Parts, origin: &'h Origin) -> Planned<'h> {
        let claim = Operational::claim(head, &origin.target);
        let exempt = claim.is_some_and(|claim| claim.way == Way::Health);
        Planned::Now(Plan { exempt, ..Plan::default() })
    }

    fn call(
        &self,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: Allowance,
    ) -> HandlerFuture {
        let (head, body) = request.into_parts();
        let claim = Operational::claim(&head, &origin.target);
        let request = Request::from_parts(head, body);
        if claim.is_none() {
            return self.handler.call(request, origin, allowance);
        }
        let operational = Arc::clone(&self.operational);
        Box::pin(async move { operational.call(request.map(|_| ReplyBody::empty())).await })
    }
}

async fn spawn(builder: ServerBuilder) -> ServerHandle {
    builder.spawn().await.expect("the server starts")
}

async fn connect(server: &ServerHandle) -> TcpStream {
    TcpStream::connect(server.address()).await.expect("the server accepts")
}

async fn send(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    stream.write_all(bytes.as_ref()).await.expect("the server reads");
}

/// Reads until the server closes.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let read = tokio::time::timeout(LONG, stream.read_to_end(&mut text)).await;
    read.expect("the server closes").expect("the connection is not reset");
    String::from_utf8(text).expect("answers are text")
}

/// Reads one response with a content length.
async fn read_answer(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let complete = |text: &[u8]| {
        let text = std::str::from_utf8(text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.map_or(0, |digits| digits.parse().expect("a length"));
        (body.len() >= length).then_some(())
    };
    while complete(&text).is_none() {
        let read = tokio::time::timeout(LONG, stream.read_buf(&mut text)).await;
        let bytes = read.expect("an answer comes").expect("the connection is not reset");
        assert_ne!(bytes, 0, "closed after {:?}", String::from_utf8_lossy(&text));
    }
    String::from_utf8(text).expect("answers are text")
}

fn assert_s3_error(answer: &str, status: u16, code: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    for part in [&*format!("<Code>{code}</Code>"), "<Resource>/", "<RequestId>", "<HostId>"] {
        assert!(answer.contains(part), "{part} is not in {answer}");
    }
    assert!(answer.contains("x-amz-request-id: ") && answer.contains("x-amz-id-2: "), "{answer}");
}

#[tokio::test]
async fn many_requests_share_a_connection() {
    let server = spawn(Server::builder().handler(echo)).await;
    let mut stream = connect(&server).await;
    let mut ids = std::collections::HashSet::new();
    for body in ["", "one", "two"] {
        let request =
            format!("PUT /b/k HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        send(&mut stream, request).await;
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
        let id = answer.lines().find_map(|line| line.strip_prefix("x-amz-request-id: "));
        assert!(ids.insert(id.expect("every answer has an id").to_owned()));
    }
    server.stop().await;
    assert_eq!(read_to_end(&mut stream).await, "", "stopping closes idle connections");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = spawn(Server::builder().handler(echo)).await;
    let mut stream = connect(&server).await;
    let put = |body: &str| {
        format!("PUT /b/k HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    send(&mut stream, put("first") + &put("second") + "BAD REQUEST LINE\r\n\r\n").await;
    let answers = read_to_end(&mut stream).await;
    let places = ["first", "second", "<Code>InvalidRequest</Code>"].map(|part| answers.find(part));
    assert!(places.is_sorted() && places[0].is_some(), "{answers}");
}

#[tokio::test]
async fn what_is_no_request_gets_an_s3_error() {
    let server = spawn(Server::builder().handler(echo)).await;
    let many: String = (0..101).map(|n| format!("x-{n}: y\r\n")).collect();
    let rows = [
        ("nonsense\r\n\r\n".to_owned(), 400, "InvalidRequest"),
        ("GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n".to_owned(), 400, "InvalidRequest"),
        ("GET / HTTP/1.1\r\nhost: x\r\na: b\x01\r\n\r\n".to_owned(), 400, "InvalidRequest"),
        (
            "PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"
                .to_owned(),
            400,
            "InvalidRequest",
        ),
        (
            "PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n".to_owned(),
            400,
            "InvalidRequest",
        ),
        (
            "PUT / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n".to_owned(),
            400,
            "InvalidRequest",
        ),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 400, "InvalidRequest"),
        (format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n"), 400, "RequestHeaderSectionTooLarge"),
        (
            format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(40 << 10)),
            400,
            "RequestHeaderSectionTooLarge",
        ),
        (
            format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "y".repeat(20 << 10)),
            414,
            "RequestURITooLong",
        ),
        (
            format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "y".repeat(1 << 20)),
            414,
            "RequestURITooLong",
        ),
        ("GET /b HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(), 400, "InvalidRequest"),
    ];
    for (request, status, code) in rows {
        let mut stream = connect(&server).await;
        send(&mut stream, &request).await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(LONG, async {
            while !answer.ends_with(b"</Error>") {
                assert_ne!(
                    stream.read_buf(&mut answer).await.expect("not reset"),
                    0,
                    "{request:.60}"
                );
            }
        });
        read.await.expect("an answer comes");
        assert_s3_error(&String::from_utf8_lossy(&answer), status, code);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_refusal_comes_before_100_continue() {
    let server = spawn(Server::builder().handler(refuse)).await;
    let mut stream = connect(&server).await;
    send(
        &mut stream,
        "PUT /b/k HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 9000000\r\n\r\n",
    )
    .await;
    let answer = read_to_end(&mut stream).await;
    assert_s3_error(&answer, 403, "AccessDenied");
    assert!(answer.contains("Connection: close"), "{answer}");
}

#[tokio::test]
async fn an_accepted_body_is_asked_for() {
    let server = spawn(Server::builder().handler(echo)).await;
    let mut stream = connect(&server).await;
    send(
        &mut stream,
        "PUT /b/k HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n",
    )
    .await;
    assert_eq!(read_answer(&mut stream).await, "HTTP/1.1 100 Continue\r\n\r\n");
    send(&mut stream, "hi").await;
    assert!(read_answer(&mut stream).await.ends_with("\r\n\r\nhi"));
}

#[tokio::test]
async fn who_waits_in_vain_with_an_empty_body_is_told_to_connect_again() {
    let server = spawn(Server::builder().handler(echo)).await;
    for (expect, is_closed) in [("expect: 100-continue\r\n", true), ("", false)] {
        let mut stream = connect(&server).await;
        send(
            &mut stream,
            format!("PUT /b/k HTTP/1.1\r\nhost: x\r\n{expect}content-length: 0\r\n\r\n"),
        )
        .await;
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(answer.contains("Connection: close"), is_closed, "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_sends_on_still_sees_the_refusal() {
    let server = spawn(Server::builder().handler(refuse)).await;
    let mut stream = connect(&server).await;
    send(&mut stream, "PUT /b/k HTTP/1.1\r\nhost: x\r\ncontent-length: 4194304\r\n\r\n").await;
    send(&mut stream, vec![b'x'; 4 << 20]).await;
    assert_s3_error(&read_to_end(&mut stream).await, 403, "AccessDenied");
}

#[tokio::test]
async fn a_slow_head_is_closed_and_a_body_that_stalls_is_a_request_timeout() {
    let limits = Limits { header_timeout: SHORT, body_window: SHORT, ..Limits::default() };
    let server = spawn(Server::builder().handler(echo).limits(limits)).await;
    let mut slow = connect(&server).await;
    send(&mut slow, "GET / HTTP/1.1\r\nhost:").await;
    assert_s3_error(&read_to_end(&mut slow).await, 400, "RequestTimeout");

    let mut stalled = connect(&server).await;
    send(&mut stalled, "PUT /b/k HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc").await;
    let answer = read_to_end(&mut stalled).await;
    assert_s3_error(&answer, 400, "RequestTimeout");
    assert!(answer.contains("<Resource>/b/k</Resource>"), "{answer}");
}

#[tokio::test]
async fn an_idle_connection_is_parked_then_closed() {
    let limits =
        Limits { park_after: SHORT, idle_timeout: Duration::from_secs(1), ..Limits::default() };
    let server = spawn(Server::builder().handler(echo).limits(limits)).await;
    let get = "GET /b/k HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut stream = connect(&server).await;
    send(&mut stream, get).await;
    assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200"));
    // Longer than the time to park the connection, shorter than the time to close it.
    let silence = tokio::time::timeout(2 * SHORT, stream.readable()).await;
    assert!(silence.is_err(), "the server stays silent");
    send(&mut stream, get).await;
    assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200"));
    assert_eq!(read_to_end(&mut stream).await, "");
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_off() {
    let limits = Limits { answer_window: SHORT, ..Limits::default() };
    let endless = |_request: Request<RequestBody>| async {
        Ok(Response::new(ReplyBody::from(vec![b'x'; 64 << 20])))
    };
    let server = spawn(Server::builder().handler(endless).limits(limits)).await;
    let mut stream = connect(&server).await;
    send(&mut stream, "GET /b/k HTTP/1.1\r\nhost: x\r\n\r\n").await;
    // Stopping waits for requests in flight: it ends only because the response is abandoned.
    tokio::time::timeout(LONG, server.stop()).await.expect("the connection is given up");
    let mut answer = Vec::new();
    // Truncated: an end or a reset, but not the whole body.
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.len() < 64 << 20);
}

#[tokio::test]
async fn over_the_budget_is_slow_down_and_normal_again_at_once() {
    let (entered, mut is_in) = tokio::sync::mpsc::channel(3);
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let waiting = move |request: Request<RequestBody>| {
        let (entered, gate) = (entered.clone(), Arc::clone(&opened));
        async move {
            if let Some(allowance) = request.extensions().get::<Allowance>() {
                allowance.admit_body()?;
            }
            let body = request.into_body().collect().await?;
            entered.send(()).await.expect("the test listens");
            drop(gate.acquire().await);
            Ok(Response::new(ReplyBody::from(body.to_bytes())))
        }
    };
    // One address can use half of it.
    let limits =
        Limits { body_bytes_max: 2 * BODY_WINDOW_BYTES_MAX, requests_max: 6, ..Limits::default() };
    let server = spawn(Server::builder().handler(WithHealth::new(waiting)).limits(limits)).await;
    let body = "x".repeat(BODY_WINDOW_BYTES_MAX as usize);
    let head = format!(
        "PUT /b/k HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut first = connect(&server).await;
    send(&mut first, &head).await;
    assert_eq!(read_answer(&mut first).await, "HTTP/1.1 100 Continue\r\n\r\n");
    send(&mut first, &body).await;
    is_in.recv().await.expect("the first has the budget");
    let mut second = connect(&server).await;
    send(&mut second, &head).await;
    let refusal = read_to_end(&mut second).await;
    assert_s3_error(&refusal, 503, "SlowDown");
    assert!(refusal.contains("\r\nRetry-After: 1\r\n"), "{refusal}");
    assert!(refusal.contains("<Detail>too many bytes of request bodies"), "{refusal}");
    // Small bodies have a reserve of their own.
    let mut small = connect(&server).await;
    send(&mut small, "PUT /b/k HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi").await;
    is_in.recv().await.expect("the small one is taken");
    // Health checks distinguish overload from death.
    let mut health = connect(&server).await;
    send(&mut health, "GET /_liteio/health/live HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(read_answer(&mut health).await.starts_with("HTTP/1.1 200"));

    gate.add_permits(2);
    assert!(read_answer(&mut small).await.ends_with("\r\n\r\nhi"));
    assert!(read_answer(&mut first).await.starts_with("HTTP/1.1 200"));
    let mut third = connect(&server).await;
    send(&mut third, &head).await;
    assert_eq!(read_answer(&mut third).await, "HTTP/1.1 100 Continue\r\n\r\n");
    send(&mut third, &body).await;
    assert!(read_answer(&mut third).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn over_the_connections_is_slow_down_and_normal_again() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    let server = spawn(Server::builder().handler(echo).limits(limits)).await;
    let get = "GET /b/k HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut first = connect(&server).await;
    send(&mut first, get).await;
    assert!(read_answer(&mut first).await.starts_with("HTTP/1.1 200"));
    let mut second = connect(&server).await;
    let refusal = read_to_end(&mut second).await;
    assert_s3_error(&refusal, 503, "SlowDown");
    assert!(refusal.contains("\r\nRetry-After: 1\r\n"), "{refusal}");
    assert!(refusal.contains("<Detail>too many open connections"), "{refusal}");
    drop(first);
    let recovered = async {
        loop {
            let mut next = connect(&server).await;
            // A refused connection may be closed before the request is sent.
            if next.write_all(get.as_bytes()).await.is_ok() {
                let mut start = [0; 12];
                if next.read_exact(&mut start).await.is_ok() && &start == b"HTTP/1.1 200" {
                    return;
                }
            }
        }
    };
    tokio::time::timeout(LONG, recovered).await.expect("a place is free again");
}

#[tokio::test]
async fn stopping_finishes_what_is_in_flight() {
    let (entered, mut is_in) = tokio::sync::mpsc::channel(1);
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let handler = move |request: Request<RequestBody>| {
        let (entered, gate) = (entered.clone(), Arc::clone(&opened));
        async move {
            entered.send(()).await.expect("the test listens");
            drop(gate.acquire().await);
            echo(request).await
        }
    };
    let server = spawn(Server::builder().handler(handler)).await;
    let address = server.address();
    let mut busy = connect(&server).await;
    send(&mut busy, "PUT /b/k HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nlast").await;
    is_in.recv().await.expect("the request is in flight");
    let stopped = tokio::spawn(server.stop());
    // The listener closes first, so once connecting fails the server is stopping.
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(LONG, refused).await.expect("no more connections");
    gate.add_permits(1);
    let answer = read_to_end(&mut busy).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("last"), "{answer}");
    stopped.await.expect("the server stops");
}

#[tokio::test]
async fn dropping_the_handle_stops_the_server() {
    let server = spawn(Server::builder().handler(echo)).await;
    let mut stream = connect(&server).await;
    send(&mut stream, "GET /b/k HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(read_answer(&mut stream).await.starts_with("HTTP/1.1 200"));
    drop(server);
    assert_eq!(read_to_end(&mut stream).await, "");
}

#[tokio::test]
async fn operational_routes() {
    let server = spawn(Server::builder().handler(WithHealth::new(refuse))).await;
    let rows = [
        ("GET", "x", "/_liteio/health/live", 200, "{\"status\":\"live\"}\n"),
        ("GET", "x", "/_liteio/health/ready", 200, "{\"status\":\"ready\"}\n"),
        ("GET", "x", "/_liteio/health/ready?now", 200, "{\"status\":\"ready\"}\n"),
        ("HEAD", "x", "/_liteio/health/live", 200, ""),
        ("PUT", "x", "/_liteio/health/live", 405, "MethodNotAllowed"),
        ("GET", "x", "/_liteio/other", 404, "NoSuchKey"),
        ("PUT", "x", "/_liteio", 404, "NoSuchKey"),
        // A key of the bucket `photos`.
        ("GET", "photos.localhost", "/_liteio/health/live", 403, "AccessDenied"),
        ("GET", "x", "/_liteios/health/live", 403, "AccessDenied"),
    ];
    for (method, host, path, status, body) in rows {
        let mut stream = connect(&server).await;
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        send(&mut stream, request).await;
        let answer = read_to_end(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {answer}");
        let (head, found) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        assert!(found.contains(body) && (found.is_empty() == body.is_empty()), "{path}: {answer}");
        assert!(head.contains("x-amz-request-id: "), "{head}");
    }
}

#[tokio::test]
async fn head_errors_and_not_modified_have_no_body() {
    let not_modified = |_request: Request<RequestBody>| async {
        let (dialect, status) = (Dialect::S3, StatusCode::NOT_MODIFIED);
        Err(ApiError::with_status(dialect, "NotModified", status, "Not Modified"))
    };
    let server = spawn(Server::builder().handler(not_modified)).await;
    for method in ["GET", "HEAD"] {
        let mut stream = connect(&server).await;
        let request = format!("{method} /b/k HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        send(&mut stream, request).await;
        let answer = read_to_end(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 304 ") && answer.ends_with("\r\n\r\n"), "{answer}");
    }
}
