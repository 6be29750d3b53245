//! Real servers, a client of the AWS SDK, and signed requests made by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use hmac::{Hmac, KeyInit as _, Mac as _};
use liteio::{Server, ServerHandle};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A user of the test servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) access_key: &'static str,
    pub(crate) secret_key: &'static str,
    pub(crate) id: &'static str,
}

pub(crate) const ALICE: User =
    User { access_key: "alice-key", secret_key: "alice's secret", id: "alice-id" };
pub(crate) const BOB: User =
    User { access_key: "bob-key", secret_key: "bob's secret", id: "bob-id" };

const USERS: &str = r#"
    [[user]]
    name = "alice"
    display_name = "Alice"
    id = "alice-id"
    access_key = "alice-key"
    secret_key = "alice's secret"

    [[user]]
    name = "bob"
    id = "bob-id"
    access_key = "bob-key"
    secret_key = "bob's secret"
"#;

/// Headers of a request.
pub(crate) type Headers<'a> = Vec<(&'a str, &'a str)>;

/// A server and the files it needs.
pub(crate) struct TestServer {
    handle: ServerHandle,
    region: &'static str,
    /// Name of its backend, for messages.
    pub(crate) backend: &'static str,
    _directory: TempDir,
}

/// One server for each way to keep data: in memory, and in a directory.
pub(crate) async fn both() -> [TestServer; 2] {
    [start("memory", "us-east-1").await, start("directory", "us-east-1").await]
}

/// A server in memory, for what has nothing to do with storage.
pub(crate) async fn memory() -> TestServer {
    start("memory", "us-east-1").await
}

/// A server in memory, in another region.
pub(crate) async fn in_region(region: &'static str) -> TestServer {
    start("memory", region).await
}

async fn start(backend: &'static str, region: &'static str) -> TestServer {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let users = directory.path().join("users.toml");
    std::fs::write(&users, USERS).expect("the users are written");
    let builder = Server::builder().credentials_file(users).region(region);
    let builder = match backend {
        "memory" => builder.memory(),
        _ => builder.data_dir(directory.path().join("data")),
    };
    let handle = builder.spawn().await.expect("the server starts");
    TestServer { handle, region, backend, _directory: directory }
}

impl TestServer {
    /// For clients of other makes.
    pub(crate) fn endpoint(&self) -> String {
        self.handle.endpoint()
    }

    /// A client of the AWS SDK for Alice.
    pub(crate) fn client(&self) -> Client {
        self.client_of(ALICE)
    }

    pub(crate) fn client_of(&self, user: User) -> Client {
        let credentials = Credentials::new(user.access_key, user.secret_key, None, None, "test");
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .credentials_provider(credentials)
            .endpoint_url(self.handle.endpoint())
            .force_path_style(true)
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .region(Region::new(self.region));
        Client::from_conf(config.build())
    }

    /// A request by Alice, to be signed and sent.
    pub(crate) fn request(&self, method: &'static str, path_and_query: &str) -> RawRequest<'_> {
        RawRequest::new(self.handle.address(), self.region, method, path_and_query)
    }

    /// An operation of S3 Vectors by Alice, to be signed and sent.
    pub(crate) fn vectors(&self, operation: &str, body: impl AsRef<[u8]>) -> RawRequest<'_> {
        RawRequest::of_vectors(self.handle.address(), self.region, operation, body)
    }

    pub(crate) async fn get(&self, path_and_query: &str) -> RawResponse {
        self.request("GET", path_and_query).send().await
    }

    pub(crate) async fn head(&self, path_and_query: &str) -> RawResponse {
        self.request("HEAD", path_and_query).send().await
    }

    pub(crate) async fn delete(&self, path_and_query: &str) -> RawResponse {
        self.request("DELETE", path_and_query).send().await
    }

    pub(crate) async fn put(&self, path_and_query: &str, body: impl AsRef<[u8]>) -> RawResponse {
        self.request("PUT", path_and_query).body(body).send().await
    }

    pub(crate) async fn post(&self, path_and_query: &str, body: impl AsRef<[u8]>) -> RawResponse {
        self.request("POST", path_and_query).body(body).send().await
    }

    /// Alice's policy for a form upload: time, signature, and the policy in base64.
    pub(crate) fn sign_policy(&self, conditions: &str) -> (String, String, String) {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let date = &time[..8];
        let credential = format!("{}/{date}/{}/s3/aws4_request", ALICE.access_key, self.region);
        let policy = format!(
            "{{\"expiration\": \"2100-01-01T00:00:00Z\", \"conditions\": [{conditions}, \
             {{\"bucket\": \"mine\"}}, {{\"x-amz-algorithm\": \"AWS4-HMAC-SHA256\"}}, \
             {{\"x-amz-credential\": \"{credential}\"}}, {{\"x-amz-date\": \"{time}\"}}]}}"
        );
        let policy = base64(policy.as_bytes());
        let signature = hex(&hmac(&signing_key(ALICE, date, self.region, "s3"), policy.as_bytes()));
        (time.clone(), signature, policy)
    }

    /// Creates Alice's bucket.
    pub(crate) async fn bucket(&self, name: &str) {
        self.put(&format!("/{name}"), "").await.expect_status(200);
    }
}

/// A request made by hand.
#[must_use = "a request is only made when it is sent"]
pub(crate) struct RawRequest<'a> {
    address: SocketAddr,
    region: &'a str,
    service: &'static str,
    user: Option<User>,
    method: &'static str,
    path_and_query: String,
    headers: BTreeMap<String, Vec<u8>>,
    body: Vec<u8>,
}

impl<'a> RawRequest<'a> {
    fn new(
        address: SocketAddr,
        region: &'a str,
        method: &'static str,
        path_and_query: &str,
    ) -> RawRequest<'a> {
        RawRequest {
            address,
            region,
            service: "s3",
            user: Some(ALICE),
            method,
            path_and_query: path_and_query.to_owned(),
            headers: BTreeMap::new(),
            body: Vec::new(),
        }
    }

    /// An operation of S3 Vectors, as boto3 sends it: the signature covers the hash of the body, no
    /// header tells it.
    pub(crate) fn of_vectors(
        address: SocketAddr,
        region: &'a str,
        operation: &str,
        body: impl AsRef<[u8]>,
    ) -> RawRequest<'a> {
        let request = RawRequest::new(address, region, "POST", &format!("/{operation}"));
        RawRequest { service: "s3vectors", ..request.body(body) }
    }

    pub(crate) fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.insert(name.to_ascii_lowercase(), value.as_ref().to_vec());
        self
    }

    pub(crate) fn headers(self, headers: &[(&str, &str)]) -> Self {
        headers.iter().fold(self, |request, (name, value)| request.header(name, value))
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    pub(crate) fn by(mut self, user: User) -> Self {
        self.user = Some(user);
        self
    }

    pub(crate) fn anonymous(mut self) -> Self {
        self.user = None;
        self
    }

    /// Signs and sends it on a connection of its own.
    pub(crate) async fn send(self) -> RawResponse {
        let (method, length) = (self.method, self.body.len());
        let (address, mut message, body) = self.message();
        let end = format!("content-length: {length}\r\nconnection: close\r\n\r\n");
        message.extend_from_slice(end.as_bytes());
        message.extend_from_slice(&body);
        exchange(address, method, &message).await
    }

    /// Signs and sends it to a server that may be killed meanwhile: `None` when no whole answer came.
    pub(crate) async fn try_send(self) -> Option<RawResponse> {
        let (method, length) = (self.method, self.body.len());
        let (address, mut message, body) = self.message();
        let end = format!("content-length: {length}\r\nconnection: close\r\n\r\n");
        message.extend_from_slice(end.as_bytes());
        message.extend_from_slice(&body);
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.write_all(&message).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        let text = String::from_utf8_lossy(&answer);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let head = head.to_ascii_lowercase();
        let (_, declared) = head.split_once("content-length: ")?;
        let declared: usize = declared.lines().next()?.parse().ok()?;
        (declared == body.len()).then(|| RawResponse::parse(method, &answer))
    }

    /// Sends these bytes behind a head that says nothing about their number.
    pub(crate) async fn send_without_length(self, body: &[u8]) -> RawResponse {
        let method = self.method;
        let (address, mut message, _) = self.message();
        message.extend_from_slice(b"connection: close\r\n\r\n");
        message.extend_from_slice(body);
        exchange(address, method, &message).await
    }

    /// Sends the first `bytes` of the body and closes the connection.
    pub(crate) async fn cut_off(self, bytes: usize) {
        let length = self.body.len();
        let (address, mut message, body) = self.message();
        message.extend_from_slice(format!("content-length: {length}\r\n\r\n").as_bytes());
        message.extend_from_slice(&body[..bytes]);
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        stream.write_all(&message).await.expect("the server reads");
        stream.shutdown().await.expect("the connection closes");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
    }

    /// Target address, head without its end, and body.
    fn message(mut self) -> (SocketAddr, Vec<u8>, Vec<u8>) {
        let address = self.address;
        let host = address.to_string();
        self.headers.entry("host".to_owned()).or_insert_with(|| host.into_bytes());
        if let Some(user) = self.user {
            self.sign(user);
        }
        let mut message =
            format!("{} {} HTTP/1.1\r\n", self.method, self.path_and_query).into_bytes();
        for (name, value) in &self.headers {
            message.extend_from_slice(name.as_bytes());
            message.extend_from_slice(b": ");
            message.extend_from_slice(value);
            message.extend_from_slice(b"\r\n");
        }
        (address, message, self.body)
    }

    fn sign(&mut self, user: User) {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let date = &time[..8];
        self.headers.insert("x-amz-date".to_owned(), time.clone().into_bytes());
        let hash = match self.service {
            "s3" => {
                let hash = b"UNSIGNED-PAYLOAD".to_vec();
                self.headers.entry("x-amz-content-sha256".to_owned()).or_insert(hash).clone()
            }
            _ => hex(&Sha256::digest(&self.body)).into_bytes(),
        };
        let (path, query) =
            self.path_and_query.split_once('?').unwrap_or((&self.path_and_query, ""));
        // Paths are encoded once more than they are sent, but for those of S3.
        let path = match self.service {
            "s3" => path.to_owned(),
            _ => percent_encode(path.as_bytes(), ENCODED_IN_PATHS).to_string(),
        };
        let mut pairs: Vec<String> =
            query.split('&').filter(|pair| !pair.is_empty()).map(canonical_pair).collect();
        pairs.sort();
        let names: Vec<&str> = self.headers.keys().map(String::as_str).collect();
        let names = names.join(";");
        let mut canonical = format!("{}\n{path}\n{}\n", self.method, pairs.join("&")).into_bytes();
        for (name, value) in &self.headers {
            canonical.extend_from_slice(format!("{name}:").as_bytes());
            canonical.extend_from_slice(value);
            canonical.push(b'\n');
        }
        canonical.extend_from_slice(format!("\n{names}\n").as_bytes());
        canonical.extend_from_slice(&hash);
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let string =
            format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        let key = signing_key(user, date, self.region, self.service);
        let signature = hex(&hmac(&key, string.as_bytes()));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            user.access_key
        );
        self.headers.insert("authorization".to_owned(), authorization.into_bytes());
    }
}

async fn exchange(address: SocketAddr, method: &str, message: &[u8]) -> RawResponse {
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    // A server that refuses a request need not read its body.
    let _ = stream.write_all(message).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    RawResponse::parse(method, &answer)
}

/// The bytes that are percent-encoded in what a signature covers.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

const ENCODED_IN_PATHS: &AsciiSet = &ENCODED.remove(b'/');

/// A pair of the query as it is signed: decoded and encoded again.
fn canonical_pair(pair: &str) -> String {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let encode = |text: &str| {
        let decoded: Vec<u8> = percent_decode_str(text).collect();
        percent_encode(&decoded, &ENCODED).to_string()
    };
    format!("{}={}", encode(name), encode(value))
}

fn signing_key(user: User, date: &str, region: &str, service: &str) -> Vec<u8> {
    let key = hmac(format!("AWS4{}", user.secret_key).as_bytes(), date.as_bytes());
    [region, service, "aws4_request"].iter().fold(key, |key, part| hmac(&key, part.as_bytes()))
}

fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

pub(crate) fn md5(bytes: &[u8]) -> [u8; 16] {
    md5::Md5::digest(bytes).into()
}

/// The ETag of an object of these bytes, with quotes.
pub(crate) fn etag(bytes: &[u8]) -> String {
    format!("\"{}\"", hex(&md5(bytes)))
}

/// An answer.
#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl RawResponse {
    fn parse(method: &str, answer: &[u8]) -> RawResponse {
        let text = String::from_utf8_lossy(answer);
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no whole answer: {text}"));
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut body = answer[end + 4..].to_vec();
        let is_chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
        if is_chunked {
            body = unchunk(&body);
        }
        let declared = headers.iter().find(|(name, _)| name == "content-length");
        if let (Some((_, length)), false) = (declared, method == "HEAD") {
            assert_eq!(length, &body.len().to_string(), "content-length of {text}");
        }
        RawResponse { status: status.parse().expect("a number"), headers, body }
    }

    #[track_caller]
    pub(crate) fn expect_status(self, status: u16) -> RawResponse {
        assert_eq!(self.status, status, "{}", self.describe());
        self
    }

    /// An error with this status and code.
    #[track_caller]
    pub(crate) fn expect_error(self, status: u16, code: &str) -> RawResponse {
        assert_eq!(
            (self.status, self.element("Code").as_str()),
            (status, code),
            "{}",
            self.describe()
        );
        assert!(!self.element("Message").is_empty(), "{}", self.describe());
        self
    }

    fn describe(&self) -> String {
        format!("{} {:?}\n{}", self.status, self.headers, self.text())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The text of the first element of this name; empty if there is none.
    pub(crate) fn element(&self, name: &str) -> String {
        self.elements(name).into_iter().next().unwrap_or_default()
    }

    /// The texts of all elements of this name, unescaped.
    pub(crate) fn elements(&self, name: &str) -> Vec<String> {
        let text = self.text();
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let inner = text.split(&open).skip(1).filter_map(|rest| rest.split(&close).next());
        inner
            .map(|text| quick_xml::escape::unescape(text).expect("escaped text").into_owned())
            .collect()
    }

    pub(crate) fn has_element(&self, name: &str) -> bool {
        self.text().contains(&format!("<{name}>"))
    }
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n").expect("a chunk size");
        let size = std::str::from_utf8(&body[..end]).expect("digits");
        let size = usize::from_str_radix(size, 16).expect("a hexadecimal number");
        body = &body[end + 2..];
        if size == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[..size]);
        body = &body[size + 2..];
    }
}
