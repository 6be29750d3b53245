//! HTTPS, HTTP/2 and proxies, as users see them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use liteio::{FaultRule, MetricsAuth, Network, Server, ServerHandle, TestAccess};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::command::{Running, liteio, stderr};
use crate::harness::{RawRequest, User};

/// Nothing in these tests takes this long unless it hangs.
const LONG: Duration = Duration::from_secs(30);

/// The user that a server has without settings.
const DEFAULT: User = User { access_key: "liteio", secret_key: "liteio123", id: "" };

/// Writes a pair for these names, and returns the paths and the certificate.
fn write_pair(directory: &Path, names: &[&str], years: (i32, i32)) -> (PathBuf, PathBuf, Vec<u8>) {
    let key = KeyPair::generate().expect("a key");
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.not_before = date_time_ymd(years.0, 1, 1);
    params.not_after = date_time_ymd(years.1, 1, 1);
    let certificate = params.self_signed(&key).expect("a certificate");
    let (chain, secret) = (directory.join("chain.pem"), directory.join("key.pem"));
    fs::write(&chain, certificate.pem()).expect("the certificate is written");
    fs::write(&secret, key.serialize_pem()).expect("the key is written");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("the key is private");
    (chain, secret, certificate.der().to_vec())
}

const VALID: (i32, i32) = (2024, 2090);

/// Connects with trust in this certificate alone.
async fn try_connect(
    server: &ServerHandle,
    trusted: &[u8],
    name: &str,
    protocol: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(trusted.to_vec())).expect("a certificate");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let stream = TcpStream::connect(server.address()).await.expect("the server listens");
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

async fn connect(server: &ServerHandle, trusted: &[u8], name: &str) -> TlsStream<TcpStream> {
    try_connect(server, trusted, name, "http/1.1").await.expect("the certificate is trusted")
}

fn first_certificate(server: &ServerHandle) -> Vec<u8> {
    server.certificate().expect("it has TLS").swap_remove(0)
}

/// Sends a signed request by HTTP/2.
async fn by_http2(
    requests: &h2::client::SendRequest<Bytes>,
    request: RawRequest<'_>,
) -> Response<Vec<u8>> {
    let (mut head, body) = request.into_http("https", "localhost").into_parts();
    head.headers.insert("content-length", body.len().into());
    let mut requests = requests.clone().ready().await.expect("the connection is open");
    let request = http::Request::from_parts(head, ());
    let (answer, mut sent) = requests.send_request(request, body.is_empty()).expect("a stream");
    let mut body = Bytes::from(body);
    while !body.is_empty() {
        sent.reserve_capacity(body.len());
        let window = std::future::poll_fn(|context| sent.poll_capacity(context)).await;
        let bytes = window.expect("the stream is open").expect("the stream is open");
        let piece = body.split_to(bytes.min(body.len()));
        sent.send_data(piece, body.is_empty()).expect("the stream is open");
    }
    let (head, mut received) = answer.await.expect("an answer").into_parts();
    let mut bytes = Vec::new();
    while let Some(data) = received.data().await {
        let data = data.expect("the body is whole");
        received.flow_control().release_capacity(data.len()).expect("it was received");
        bytes.extend_from_slice(&data);
    }
    Response::from_parts(head, bytes)
}

/// The bytes of an answer by HTTP/2 that came before the error, if one came.
async fn broken_off(
    requests: &h2::client::SendRequest<Bytes>,
    request: RawRequest<'_>,
) -> (Vec<u8>, Option<h2::Error>) {
    let (head, _) = request.into_http("https", "localhost").into_parts();
    let mut sender = requests.clone().ready().await.expect("the connection is open");
    let sent = sender.send_request(http::Request::from_parts(head, ()), true);
    let mut received = Vec::new();
    let mut body = match sent.expect("a stream").0.await {
        Ok(answer) => answer.into_body(),
        Err(error) => return (received, Some(error)),
    };
    loop {
        match body.data().await {
            Some(Ok(data)) => received.extend_from_slice(&data),
            Some(Err(error)) => return (received, Some(error)),
            None => return (received, None),
        }
    }
}

#[tokio::test]
async fn objects_are_written_and_read_by_http2() {
    let server = Server::builder().memory().tls_self_signed().spawn().await.expect("it starts");
    let certificate = first_certificate(&server);
    let stream =
        try_connect(&server, &certificate, "localhost", "h2").await.expect("it is trusted");
    let (requests, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
    tokio::spawn(connection);
    let request = |method, path: &str| {
        RawRequest::of_s3(server.address(), "us-east-1", method, path).by(DEFAULT)
    };
    let put = by_http2(&requests, request("PUT", "/bucket")).await;
    assert_eq!(put.status(), 200);
    let body: Vec<u8> = (0..3 << 20).map(|at: u32| (at % 251) as u8).collect();
    let put = by_http2(&requests, request("PUT", "/bucket/a%20key").body(&body)).await;
    assert_eq!(put.status(), 200, "{}", String::from_utf8_lossy(put.body()));
    let get = by_http2(&requests, request("GET", "/bucket/a%20key")).await;
    assert!(get.status() == 200 && *get.body() == body);
    let range = request("GET", "/bucket/a%20key").header("range", "bytes=10-19");
    let part = by_http2(&requests, range).await;
    assert_eq!((part.status().as_u16(), &part.body()[..]), (206, &body[10..20]));
    let head = by_http2(&requests, request("HEAD", "/bucket/a%20key")).await;
    assert_eq!(head.headers()["content-length"], body.len().to_string());
    let list = by_http2(&requests, request("GET", "/bucket?list-type=2")).await;
    assert!(String::from_utf8_lossy(list.body()).contains("<Key>a key</Key>"));
    let missing = by_http2(&requests, request("GET", "/bucket/other")).await;
    assert_eq!(missing.status(), 404);
    let refused = by_http2(&requests, request("GET", "/bucket/a").anonymous()).await;
    assert_eq!(refused.status(), 403);
    // Addresses in answers lead back here.
    let location = by_http2(&requests, request("POST", "/bucket/parts?uploads")).await;
    assert_eq!(location.status(), 200);
    let keyed = request("PUT", "/bucket/c").body("x").headers(&[
        ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
        (
            "x-amz-server-side-encryption-customer-key",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        ),
        ("x-amz-server-side-encryption-customer-key-md5", "cLyPS3KoaSFGi/joRB3OUQ=="),
    ]);
    let keyed = by_http2(&requests, keyed).await;
    let text = String::from_utf8_lossy(keyed.body()).into_owned();
    assert!(!text.contains("secure connection"), "{text}");
    server.stop().await;
}

#[tokio::test]
async fn faults_meet_requests_by_http2() {
    let builder = Server::builder().memory().tls_self_signed().test_api(TestAccess::Local);
    let server = builder.spawn().await.expect("it starts");
    let certificate = first_certificate(&server);
    let stream =
        try_connect(&server, &certificate, "localhost", "h2").await.expect("it is trusted");
    let (requests, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
    tokio::spawn(connection);
    let request = |method, path: &str| {
        RawRequest::of_s3(server.address(), "us-east-1", method, path).by(DEFAULT)
    };
    let tests = server.test_control().expect("it has the test API");
    let fault = |rule: FaultRule| tests.add_fault(FaultRule { times: Some(1), ..rule });
    by_http2(&requests, request("PUT", "/bucket")).await;
    fault(FaultRule { status: Some(503), ..FaultRule::default() }).expect("a rule");
    let put = by_http2(&requests, request("PUT", "/bucket/key").body("value")).await;
    assert_eq!(put.status(), 503);
    fault(FaultRule { bandwidth: Some(1 << 20), ..FaultRule::default() }).expect("a rule");
    let put = by_http2(&requests, request("PUT", "/bucket/key").body("value")).await;
    assert_eq!(put.status(), 200);
    // The stream is reset behind the bytes, and the connection goes on.
    fault(FaultRule { cut_after_bytes: Some(2), ..FaultRule::default() }).expect("a rule");
    let (received, ended) = broken_off(&requests, request("GET", "/bucket/key")).await;
    assert!(ended.is_some() && received.len() <= 2, "{ended:?} {received:?}");
    for (method, path) in [
        ("HEAD", "/bucket/key"),
        ("HEAD", "/bucket/none"),
        ("GET", "/bucket/none"),
        ("DELETE", "/bucket/none"),
    ] {
        fault(FaultRule { cut_after_bytes: Some(0), ..FaultRule::default() }).expect("a rule");
        let (received, ended) = broken_off(&requests, request(method, path)).await;
        assert!(ended.is_some() && received.is_empty(), "{method} {path}: {received:?}");
    }
    let get = by_http2(&requests, request("GET", "/bucket/key")).await;
    assert_eq!((get.status().as_u16(), &get.body()[..]), (200, &b"value"[..]));
    server.stop().await;
}

#[tokio::test]
async fn certificates_are_chosen_by_name() {
    let directories = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let [(a_chain, a_key, a), (b_chain, b_key, b)] = [
        write_pair(directories[0].path(), &["a.example"], VALID),
        write_pair(directories[1].path(), &["b.example", "*.b.example"], VALID),
    ];
    let server = Server::builder().memory().tls_certificate(a_chain, a_key);
    let server = server.tls_certificate(b_chain, b_key).spawn().await.expect("it starts");
    connect(&server, &a, "a.example").await;
    connect(&server, &b, "b.example").await;
    connect(&server, &b, "photos.b.example").await;
    assert!(try_connect(&server, &b, "a.example", "http/1.1").await.is_err());
    // The first for all other names.
    let other = try_connect(&server, &a, "other.example", "http/1.1").await.expect_err("no name");
    assert!(other.to_string().contains("a.example"), "{other}");
    server.stop().await;
}

#[tokio::test]
async fn a_certificate_is_read_again_when_it_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let (chain, key, first) = write_pair(directory.path(), &["localhost"], VALID);
    let server = Server::builder().memory().tls_certificate(&chain, &key);
    let server = server.spawn().await.expect("it starts");
    let mut open = connect(&server, &first, "localhost").await;
    // One that is no pair changes nothing.
    let (_, _, second) = write_pair(directory.path(), &["localhost"], VALID);
    let changed = async {
        while try_connect(&server, &second, "localhost", "http/1.1").await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, changed).await.expect("the certificate is read again");
    assert_eq!(first_certificate(&server), second);
    fs::write(&key, "no key").expect("the key is written");
    let request = "GET /_liteio/health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    open.write_all(request.as_bytes()).await.expect("the connection goes on");
    let mut answer = String::new();
    open.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, _, third) = write_pair(directory.path(), &["localhost"], VALID);
    let changed = async {
        while first_certificate(&server) != third {
            assert!(first_certificate(&server) == second, "the one before is kept");
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, changed).await.expect("the certificate is read again");
    server.stop().await;
}

#[tokio::test]
async fn the_metrics_have_the_end_of_a_certificate_and_a_renewal_that_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let (chain, key, certificate) = write_pair(directory.path(), &["localhost"], VALID);
    let server = Server::builder().memory().tls_certificate(&chain, &key);
    let server = server.metrics_auth(MetricsAuth::Public).spawn().await.expect("it starts");
    let get = async |path: &str| {
        let mut stream = connect(&server, &certificate, "localhost").await;
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        answer
    };
    let page = async || get("/_liteio/metrics").await;
    let first = page().await;
    // The first second of 2090.
    assert!(
        first.contains("\nliteio_tls_certificate_expiry_timestamp_seconds 3786912000\n"),
        "{first}"
    );
    assert!(first.contains("\nliteio_tls_certificates_refused 0\n"), "{first}");
    fs::write(&key, "no key").expect("the key is written");
    let refused = async {
        while !page().await.contains("\nliteio_tls_certificates_refused 1\n") {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, refused).await.expect("the renewal is refused");
    let health = get("/_liteio/health/ready").await;
    assert!(health.contains("\"certificates_refused\":1"), "{health}");
    server.stop().await;
}

/// The log of an earlier change may be long gone.
#[test]
fn sighup_tells_again_of_a_certificate_that_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let (chain, key, _) = write_pair(directory.path(), &["localhost"], VALID);
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0", "--tls-cert"]).arg(&chain);
    let mut running = Running::start(command.arg("--tls-key").arg(&key));
    fs::write(&key, "no key").expect("the key is written");
    running.logs("the certificate before stays in use");
    running.send("HUP");
    let told = running.logs("they need a restart");
    assert!(told.contains("the certificate before stays in use"), "{told}");
    running.signal("TERM");
}

#[test]
fn pairs_that_cannot_be_used_are_one_line_and_exit_code_2() {
    let pairs = tempfile::tempdir().expect("a directory");
    let (chain, key, _) = write_pair(pairs.path(), &["localhost"], VALID);
    let other = tempfile::tempdir().expect("a directory");
    let (_, other_key, _) = write_pair(other.path(), &["localhost"], VALID);
    let encrypted = pairs.path().join("encrypted.pem");
    let text = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    fs::write(&encrypted, text).expect("it is written");
    let missing = pairs.path().join("missing.pem");
    let rows = [
        (&chain, &other_key, "do not belong together"),
        (&chain, &encrypted, "encrypted.pem: the key is encrypted"),
        (&chain, &missing, "cannot read"),
        (&missing, &key, "missing.pem"),
        (&key, &key, "no certificate"),
        (&chain, &chain, "no private key"),
    ];
    for (chain, key, expected) in rows {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = liteio(&directory);
        command
            .args(["--address", "127.0.0.1:0", "--tls-cert"])
            .arg(chain)
            .arg("--tls-key")
            .arg(key);
        let output = command.output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("--tls-cert (LITEIO_TLS_CERT)"), "{message}");
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
        let left = fs::read_dir(directory.path()).expect("the directory").count();
        assert_eq!(left, 0, "the directory has been touched");
    }
}

#[test]
fn doubtful_pairs_are_served_with_a_warning() {
    let pairs = tempfile::tempdir().expect("a directory");
    let (chain, key, _) = write_pair(pairs.path(), &["localhost"], (2020, 2021));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("the key is public");
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = liteio(&directory);
    command.args(["--memory", "--address", "127.0.0.1:0"]);
    let server = Running::start(command.arg("--tls-cert").arg(chain).arg("--tls-key").arg(key));
    assert!(server.endpoint().starts_with("https://127.0.0.1:"), "{}", server.endpoint());
    let (code, log) = server.signal("TERM");
    assert_eq!(code, Some(0), "{log}");
    for warning in ["the certificate has expired on 2021-01-01", "chmod o-rwx"] {
        assert!(log.contains(warning), "{warning} is not in {log}");
    }
}

#[test]
fn a_self_signed_certificate_is_made_once_and_health_is_asked_over_https() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = [
        "--data-dir",
        "data",
        "--address",
        "127.0.0.1:0",
        "--plain-address",
        "127.0.0.1:0",
        "--tls-self-signed",
        "--domain",
        "s3.example",
    ];
    let mut fingerprints = Vec::new();
    for _ in 0..2 {
        let server = Running::start_with(&directory, &arguments, &[]);
        let endpoint = server.endpoint().to_owned();
        let line = |name: &str| {
            let line = server.block().lines().find(|line| line.trim().starts_with(name));
            line.expect("the block has it").to_owned()
        };
        assert!(line("Certificate").contains("data/tls/certificate.pem, SHA-256 "));
        assert!(line("Plain HTTP").contains("http://127.0.0.1:"));
        let bundle = line("AWS_CA_BUNDLE=/");
        assert!(bundle.contains("/data/tls/certificate.pem AWS_ACCESS_KEY_ID="), "{bundle}");
        fingerprints.push(line("Certificate"));
        let health = |arguments: &[&str], variables: &[(&str, &str)]| {
            let mut command = liteio(&directory);
            command.arg("health").args(arguments).envs(variables.iter().copied());
            let output = command.output().expect("it runs");
            (output.status.code(), stderr(&output))
        };
        assert_eq!(health(&[&endpoint], &[]).0, Some(0));
        let file = "data/tls/certificate.pem";
        assert_eq!(health(&[&endpoint, "--ca-file", file], &[]).0, Some(0));
        let address = endpoint.trim_start_matches("https://");
        let variables = [("LITEIO_ADDRESS", address), ("LITEIO_TLS_SELF_SIGNED", "1")];
        assert_eq!(health(&[], &variables).0, Some(0));
        let (code, reason) = health(&[&format!("http://{address}")], &[]);
        assert!(code == Some(1) && reason.contains(": 400 This address"), "{reason}");
        assert!(reason.contains("use https:// instead of http://."), "{reason}");
        let (code, reason) = health(&[&endpoint, "--ca-file", "data/tls/key.pem"], &[]);
        assert!(code == Some(1) && reason.lines().count() == 1, "{reason}");
        let (code, log) = server.signal("TERM");
        assert_eq!(code, Some(0), "{log}");
        assert!(!log.contains("not for this name"), "{log}");
    }
    assert_eq!(fingerprints[0], fingerprints[1]);
    let key = fs::metadata(directory.path().join("data/tls/key.pem")).expect("a key");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
}

/// The access log of a server that trusts this network, after a request with these headers.
fn log_of(network: &[&str], headers: &str) -> (String, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut arguments = vec!["--memory", "--address", "127.0.0.1:0"];
    arguments.extend(network.iter().flat_map(|network| ["--trusted-proxy", network]));
    let server = Running::start_with(&directory, &arguments, &[]);
    let address = server.endpoint().trim_start_matches("http://").to_owned();
    let mut stream = std::net::TcpStream::connect(&address).expect("the server listens");
    let request = format!("GET /bucket HTTP/1.1\r\nhost: x\r\n{headers}connection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).expect("an answer");
    (answer, server.signal("TERM").1)
}

#[test]
fn only_trusted_proxies_tell_the_client() {
    let headers = "x-forwarded-for: 203.0.113.9, 192.0.2.7\r\n";
    let (_, log) = log_of(&["127.0.0.0/8"], headers);
    assert!(log.contains("192.0.2.7") && !log.contains("203.0.113.9"), "{log}");
    let (_, log) = log_of(&["127.0.0.1", "192.0.2.0/24"], headers);
    assert!(log.contains("203.0.113.9"), "{log}");
    for network in [&[][..], &["10.0.0.0/8"]] {
        let (_, log) = log_of(network, headers);
        assert!(!log.contains("192.0.2.7") && log.contains("127.0.0.1:"), "{log}");
    }
    let both = "x-forwarded-for: 192.0.2.7\r\nforwarded: for=192.0.2.8\r\n";
    let (answer, _) = log_of(&["127.0.0.1"], both);
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("InvalidRequest"), "{answer}");
    let (answer, _) = log_of(&[], both);
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn what_a_trusted_proxy_tells_counts_for_signatures_and_secrets() {
    let server = Server::builder().memory();
    let server = server.trusted_proxy(Network::parse("127.0.0.1").expect("a network"));
    let server = server.spawn().await.expect("it starts");
    let request = |method, path: &str| {
        RawRequest::of_s3(server.address(), "us-east-1", method, path).by(DEFAULT)
    };
    request("PUT", "/bucket").send().await.expect_status(200);
    let keyed = || {
        request("PUT", "/bucket/c").body("x").headers(&[
            ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
            (
                "x-amz-server-side-encryption-customer-key",
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            ),
            ("x-amz-server-side-encryption-customer-key-md5", "cLyPS3KoaSFGi/joRB3OUQ=="),
        ])
    };
    let refused = keyed().send().await.expect_status(400).text();
    assert!(refused.contains("--trusted-proxy ADDRESS=for+proto"), "{refused}");
    keyed().header("x-forwarded-proto", "https").send().await.expect_status(200);
    keyed().header("forwarded", "for=192.0.2.1;proto=http").send().await.expect_status(400);
    server.stop().await;
}
