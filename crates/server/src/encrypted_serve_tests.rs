//! Tests TLS connections and HTTP/2 streams against a server with the test's own handler.

use std::collections::HashSet;
use std::future::Future as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use http::header::{CONTENT_LENGTH, DATE, HOST};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::{Server, ServerBuilder, ServerHandle};
use liteio_wire::front::body::RequestBody;
use liteio_wire::front::limits::{Limits, STREAM_RESETS_MAX};
use liteio_wire::origin::Origin;
use liteio_wire::reply::{ApiError, ErrorCode, Reply, ReplyBody};
use liteio_wire::tls::{Trust, client_config};

const SHORT: Duration = Duration::from_millis(100);
/// Timeout that is only reached if a test hangs.
const LONG: Duration = Duration::from_secs(20);

/// Responds with the request body, and reports its scheme and host.
async fn echo(request: Request<RequestBody>) -> Reply {
    let origin = request.extensions().get::<Arc<Origin>>().map(Arc::clone);
    let host = request.headers().get(HOST).cloned();
    let target = request.uri().to_string();
    let body = request.into_body().collect().await?;
    let mut response = Response::new(ReplyBody::from(body.to_bytes()));
    let scheme = origin.map_or("", |origin| origin.peer.scheme());
    response.headers_mut().insert("x-scheme", scheme.parse().expect("a header"));
    response.headers_mut().insert("x-target", target.parse().expect("a header"));
    if let Some(host) = host {
        response.headers_mut().insert("x-host", host);
    }
    Ok(response)
}

/// Responds with 4 MiB below `/big`, else with an echo.
async fn big_or_echo(request: Request<RequestBody>) -> Reply {
    match request.uri().path() {
        "/big" => Ok(Response::new(ReplyBody::from(vec![b'x'; 4 << 20]))),
        _ => echo(request).await,
    }
}

async fn spawn(builder: ServerBuilder) -> ServerHandle {
    builder.tls_self_signed().spawn().await.expect("the server starts")
}

async fn connect(server: &ServerHandle) -> TcpStream {
    TcpStream::connect(server.address()).await.expect("the server accepts")
}

async fn encrypted(server: &ServerHandle, protocols: &[&str]) -> TlsStream<TcpStream> {
    let mut config = client_config(Trust::Any).expect("TLS");
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, connect(server).await).await;
    stream.expect("the handshake succeeds")
}

/// An HTTP/2 client with its connection.
struct Http2 {
    requests: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

async fn http2(server: &ServerHandle) -> Http2 {
    let stream = encrypted(server, &["h2", "http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    // An unread stream must not fill the connection's window.
    let mut builder = h2::client::Builder::new();
    builder.initial_connection_window_size(1 << 20);
    let (requests, connection) = builder.handshake(stream).await.expect("HTTP/2");
    Http2 { requests, connection: tokio::spawn(connection) }
}

impl Http2 {
    async fn begin(&self, request: http::request::Builder, ends: bool) -> Begun {
        let mut requests = self.requests.clone().ready().await.expect("the connection is open");
        let request = request.body(()).expect("a request");
        let (answer, body) = requests.send_request(request, ends).expect("a stream");
        Begun { answer, body }
    }

    async fn get(&self, path: &str) -> Answer {
        self.begin(to(path), true).await.answer().await.expect("an answer")
    }
}

fn to(path: &str) -> http::request::Builder {
    Request::builder().uri(format!("https://localhost{path}"))
}

/// A request whose head is sent.
struct Begun {
    answer: ResponseFuture,
    body: SendStream<Bytes>,
}

#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Begun {
    async fn head(self) -> Result<Response<RecvStream>, h2::Error> {
        timeout(LONG, self.answer).await.expect("an answer comes")
    }

    async fn answer(self) -> Result<Answer, h2::Error> {
        let (head, mut body) = self.head().await?.into_parts();
        let mut bytes = Vec::new();
        while let Some(data) = timeout(LONG, body.data()).await.expect("the body goes on") {
            let data = data?;
            body.flow_control().release_capacity(data.len()).expect("it was received");
            bytes.extend_from_slice(&data);
        }
        Ok(Answer { status: head.status, headers: head.headers, body: bytes })
    }

    /// Sends a whole body, as the server's windows allow it.
    async fn send(&mut self, mut data: Bytes) {
        while !data.is_empty() {
            self.body.reserve_capacity(data.len());
            let window = std::future::poll_fn(|context| self.body.poll_capacity(context));
            let window = timeout(LONG, window).await.expect("the window opens");
            let bytes = window.expect("the stream is open").expect("the stream is open");
            let piece = data.split_to(bytes.min(data.len()));
            self.body.send_data(piece, data.is_empty()).expect("the stream is open");
        }
    }
}

fn is_error(answer: &Answer, status: u16, code: &str) -> bool {
    let text = String::from_utf8_lossy(&answer.body);
    answer.status.as_u16() == status && text.contains(&format!("<Code>{code}</Code>"))
}

/// Reads until the server closes; it may reset the connection.
async fn read_to_end(mut stream: impl tokio::io::AsyncRead + Unpin) -> String {
    let mut text = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut text)).await.expect("the server closes");
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn http1_is_served_encrypted_and_parked() {
    let limits = Limits { park_after: SHORT, ..Limits::default() };
    let server = spawn(Server::builder().handler(echo).limits(limits)).await;
    assert!(server.endpoint().starts_with("https://127.0.0.1:"));
    for protocols in [&["http/1.1"][..], &[]] {
        let mut stream = encrypted(&server, protocols).await;
        for _ in 0..2 {
            let request = "PUT /b/k HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi";
            stream.write_all(request.as_bytes()).await.expect("the server reads");
            let mut answer = String::new();
            while !answer.ends_with("\r\n\r\nhi") {
                let mut piece = [0; 1024];
                let read = timeout(LONG, stream.read(&mut piece)).await.expect("an answer comes");
                let bytes = read.expect("the connection is open");
                assert_ne!(bytes, 0, "{answer}");
                answer.push_str(&String::from_utf8_lossy(&piece[..bytes]));
            }
            assert!(answer.contains("x-scheme: https\r\n"), "{answer}");
            // Longer than the time to park the connection.
            let silence = timeout(2 * SHORT, stream.read_u8()).await;
            assert!(silence.is_err(), "the server stays silent");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn streams_are_answered_as_requests_are() {
    let server = spawn(Server::builder().handler(echo)).await;
    let client = http2(&server).await;
    let answer = client.get("/b/k%20?x=y").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["x-scheme"], "https");
    assert_eq!(answer.headers["x-host"], "localhost");
    assert_eq!(answer.headers["x-target"], "/b/k%20?x=y");
    assert_eq!(answer.headers["server"], "LiteIO");
    assert!(answer.headers.contains_key(DATE) && answer.headers.contains_key("x-amz-request-id"));

    // A body larger than all windows, in both directions.
    let body = Bytes::from(vec![b'y'; 5 << 20]);
    let mut put = client.begin(to("/b/k").method(Method::PUT), false).await;
    put.send(body.clone()).await;
    let answer = put.answer().await.expect("an answer");
    assert!(answer.body == body);
    assert_eq!(answer.headers[CONTENT_LENGTH], body.len().to_string());

    let head = client.begin(to("/b/k").method(Method::HEAD), true).await.answer().await;
    let head = head.expect("an answer");
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));

    let mut ids = HashSet::new();
    let begun = (0..100).map(|_| client.begin(to("/b/k"), true));
    for begun in futures_util::future::join_all(begun).await {
        let answer = begun.answer().await.expect("an answer");
        assert!(ids.insert(answer.headers["x-amz-request-id"].clone()));
    }
    server.stop().await;
    client.connection.await.expect("it ends").expect("stopping closes it in order");
}

#[tokio::test]
async fn a_read_that_waits_holds_up_no_other() {
    let gate = Arc::new(Notify::new());
    let handler = {
        let gate = Arc::clone(&gate);
        move |request: Request<RequestBody>| {
            let gate = Arc::clone(&gate);
            async move {
                if request.uri().path() == "/b/slow" {
                    gate.notified().await;
                }
                echo(request).await
            }
        }
    };
    let server = spawn(Server::builder().handler(handler)).await;
    let client = http2(&server).await;
    let mut slow = Vec::new();
    for _ in 0..3 {
        slow.push(client.begin(to("/b/slow"), true).await);
        assert_eq!(client.get("/b/k").await.headers["x-target"], "/b/k");
    }
    for begun in slow {
        gate.notify_one();
        assert_eq!(begun.answer().await.expect("an answer").headers["x-target"], "/b/slow");
    }
    server.stop().await;
    client.connection.await.expect("it ends").expect("stopping closes it in order");
}

#[tokio::test]
async fn a_refused_stream_costs_no_other() {
    let refuse = |_request: Request<RequestBody>| async {
        Err(ApiError::new(ErrorCode::AccessDenied, "Access Denied"))
    };
    let server = spawn(Server::builder().handler(refuse)).await;
    let client = http2(&server).await;
    let unsent = client.begin(to("/b/k").method(Method::PUT), false).await;
    assert!(is_error(&unsent.answer().await.expect("an answer"), 403, "AccessDenied"));
    let two_hosts = client.begin(to("/b/k").header("host", "other"), true).await;
    assert!(is_error(&two_hosts.answer().await.expect("an answer"), 400, "InvalidRequest"));
    let many = (0..101).fold(to("/b/k"), |it, at| it.header(format!("x-{at}"), "y"));
    let many = client.begin(many, true).await.answer().await.expect("an answer");
    assert!(is_error(&many, 400, "RequestHeaderSectionTooLarge"), "{many:?}");
    let large = to("/b/k").header("x", "y".repeat(40 << 10));
    let large = client.begin(large, true).await.answer().await;
    assert!(large.is_err() || large.is_ok_and(|it| it.status == 431));
    assert!(is_error(&client.get("/b/k").await, 403, "AccessDenied"), "the connection goes on");
}

#[tokio::test]
async fn a_body_is_asked_for_if_the_client_expects_it() {
    let server = spawn(Server::builder().handler(echo)).await;
    let client = http2(&server).await;
    let put = to("/b/k").method(Method::PUT).header("expect", "100-continue");
    let mut put = client.begin(put, false).await;
    let asked = std::future::poll_fn(|context| put.answer.poll_informational(context));
    let asked = timeout(LONG, asked).await.expect("the body is asked for");
    assert_eq!(asked.expect("an answer").expect("an answer").status(), 100);
    put.send(Bytes::from_static(b"hi")).await;
    assert_eq!(put.answer().await.expect("an answer").body, b"hi");
}

#[tokio::test]
async fn plain_http_is_told_to_use_https() {
    let server = spawn(Server::builder().handler(echo)).await;
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /b/k HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("the server reads");
    let answer = read_to_end(stream).await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("use https://"), "{answer}");

    let mut nonsense = connect(&server).await;
    nonsense.write_all(&[0xff; 64]).await.expect("the server reads");
    let answer = read_to_end(nonsense).await;
    assert!(!answer.contains("HTTP/1.1 2"), "{answer}");
}

#[tokio::test]
async fn handshakes_that_stall_are_given_up_and_stop_nobody() {
    let limits = Limits { header_timeout: SHORT, idle_timeout: 4 * SHORT, ..Limits::default() };
    let server = spawn(Server::builder().handler(echo).limits(limits)).await;
    // The start of a record with a ClientHello of 512 bytes.
    let begin = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];
    let mut slow = Vec::new();
    for at in 0..200 {
        let mut stream = connect(&server).await;
        if at % 2 == 0 {
            stream.write_all(&begin).await.expect("the server reads");
        }
        slow.push(stream);
    }
    let client = http2(&server).await;
    assert_eq!(client.get("/b/k").await.status, 200);
    for stream in slow {
        assert_eq!(read_to_end(stream).await, "", "closed without an answer");
    }
    // A connection without streams is closed in order.
    client.connection.await.expect("it ends").expect("it is closed in order");
}

#[tokio::test]
async fn a_connection_over_the_limit_is_told_so_encrypted() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    let server = spawn(Server::builder().handler(echo).limits(limits)).await;
    let first = http2(&server).await;
    assert_eq!(first.get("/b/k").await.status, 200);
    // HTTP/1.1, whatever ALPN offers: HTTP/2 is not started for a single response.
    let second = encrypted(&server, &["h2", "http/1.1"]).await;
    let answer = read_to_end(second).await;
    assert!(answer.contains("<Code>SlowDown</Code>"), "{answer}");
}

#[tokio::test]
async fn a_stalled_stream_is_cut_off_and_stalls_no_other() {
    let limits = Limits { answer_window: 4 * SHORT, body_window: 4 * SHORT, ..Limits::default() };
    let server = spawn(Server::builder().handler(big_or_echo).limits(limits)).await;
    let client = http2(&server).await;
    // One client does not read its response, one does not send its body.
    let taking = client.begin(to("/big"), true).await.head().await.expect("an answer");
    let sending = client.begin(to("/b/k").method(Method::PUT), false).await;
    for _ in 0..20 {
        assert_eq!(client.get("/b/k").await.status, 200);
    }
    assert!(is_error(&sending.answer().await.expect("an answer"), 400, "RequestTimeout"));
    let mut body = taking.into_body();
    let (mut bytes, mut failure) = (0, None);
    // Flow-control capacity is not released.
    while let Some(data) = timeout(LONG, body.data()).await.expect("the stream ends") {
        match data {
            Ok(data) => bytes += data.len(),
            Err(error) => {
                failure = error.reason();
                break;
            }
        }
    }
    assert_eq!(failure, Some(Reason::CANCEL), "after {bytes} bytes");
    assert_eq!(client.get("/b/k").await.status, 200, "the connection goes on");
}

#[tokio::test]
async fn a_connection_that_takes_nothing_is_cut_off() {
    let limits = Limits { answer_window: SHORT, ..Limits::default() };
    let server = spawn(Server::builder().handler(big_or_echo).limits(limits)).await;
    let stream = encrypted(&server, &["h2"]).await;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(1 << 30).initial_connection_window_size(1 << 30);
    let (requests, connection) = builder.handshake::<_, Bytes>(stream).await.expect("HTTP/2");
    let mut connection = Box::pin(connection);
    let mut begun = Vec::new();
    for _ in 0..20 {
        let mut requests = requests.clone();
        let request = to("/big").body(()).expect("a request");
        begun.push(requests.send_request(request, true).expect("a stream"));
    }
    // Sends the requests, then reads nothing.
    std::future::poll_fn(|context| {
        let _ = connection.as_mut().poll(context);
        std::task::Poll::Ready(())
    })
    .await;
    timeout(LONG, server.stop()).await.expect("the connection is given up");
}

#[tokio::test]
async fn rapid_resets_close_their_connection_alone() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let handler = move |request: Request<RequestBody>| {
        let gate = Arc::clone(&opened);
        async move {
            if request.uri().path() == "/wait" {
                drop(gate.acquire().await);
            }
            echo(request).await
        }
    };
    let server = spawn(Server::builder().handler(handler)).await;
    let other = http2(&server).await;
    let attacker = http2(&server).await;
    let mut resets = 0;
    while let Ok(mut requests) = attacker.requests.clone().ready().await {
        let request = to("/wait").body(()).expect("a request");
        let Ok((_, mut body)) = requests.send_request(request, false) else {
            break;
        };
        tokio::task::yield_now().await;
        body.send_reset(Reason::CANCEL);
        resets += 1;
        assert!(resets < 100 * STREAM_RESETS_MAX, "the connection is still open");
    }
    let ended = timeout(LONG, attacker.connection).await.expect("it ends").expect("it ends");
    let reason = ended.err().and_then(|error| error.reason());
    assert!(matches!(reason, None | Some(Reason::ENHANCE_YOUR_CALM)), "{reason:?}");
    assert_eq!(other.get("/b/k").await.status, 200);
    drop(gate);
}

#[tokio::test]
async fn streams_share_the_places_of_their_address() {
    let (entered, mut is_in) = tokio::sync::mpsc::channel(16);
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
    // One address can use half of them.
    let limits = Limits { requests_max: 7, ..Limits::default() };
    let server = spawn(Server::builder().handler(handler).limits(limits)).await;
    let (first, second) = (http2(&server).await, http2(&server).await);
    let mut begun = Vec::new();
    for client in [&first, &second] {
        for _ in 0..2 {
            begun.push(client.begin(to("/b/k"), true).await);
            is_in.recv().await.expect("it is at work");
        }
    }
    for client in [&first, &second] {
        assert!(is_error(&client.get("/b/k").await, 503, "SlowDown"));
    }
    // A slot is free again as soon as its stream is reset.
    let mut given_up = begun.pop().expect("a stream");
    given_up.body.send_reset(Reason::CANCEL);
    let taken = async {
        loop {
            let mut again = first.begin(to("/b/k"), true).await;
            tokio::select! {
                _ = is_in.recv() => return again,
                answer = &mut again.answer => assert_eq!(answer.expect("an answer").status(), 503),
            }
        }
    };
    begun.push(timeout(LONG, taken).await.expect("a place is free again"));
    gate.add_permits(16);
    for begun in begun {
        assert_eq!(begun.answer().await.expect("an answer").status, 200);
    }
}

#[tokio::test]
async fn stopping_finishes_the_streams_in_flight() {
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
    let client = http2(&server).await;
    let mut busy = client.begin(to("/b/k").method(Method::PUT), false).await;
    busy.send(Bytes::from_static(b"last")).await;
    is_in.recv().await.expect("the request is in flight");
    let stopped = tokio::spawn(server.stop());
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(LONG, refused).await.expect("no more connections");
    gate.add_permits(1);
    assert_eq!(busy.answer().await.expect("an answer").body, b"last");
    stopped.await.expect("the server stops");
    client.connection.await.expect("it ends").expect("it is closed in order");
}
