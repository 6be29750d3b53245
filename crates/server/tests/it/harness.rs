//! Real servers, a client of the AWS SDK, and signed requests made by hand.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use liteio::{
    EventSettings, KeySources, MasterKeySource, ObjectOwnership, Server, ServerBuilder,
    ServerHandle,
};
use liteio_auth::fuzzing::signer::{Covered, Signer, encoded_path, hex, sha256_hex};
use md5::{Digest as _, Md5};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::raw::UNSIGNED;
use crate::reply::Reply;

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

/// A user of Alice's account, without any policy.
pub(crate) const CAROL: User =
    User { access_key: "carol-key", secret_key: "carol's secret", id: "alice-id" };

/// The accounts of Alice and Bob, with numbers that policies name, and Carol.
pub(crate) const ACCOUNTS: &str = r#"
    [[user]]
    name = "alice"
    id = "alice-id"
    account = "111111111111"
    access_key = "alice-key"
    secret_key = "alice's secret"

    [[user]]
    name = "bob"
    id = "bob-id"
    account = "222222222222"
    access_key = "bob-key"
    secret_key = "bob's secret"

    [[user]]
    name = "carol"
    parent = "alice"
    access_key = "carol-key"
    secret_key = "carol's secret"
"#;

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
    directory: TempDir,
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

/// The same with a master key and the KMS keys `first` and `second`, which takes keys of clients.
pub(crate) async fn with_keys() -> [TestServer; 2] {
    let with_keys = |builder: ServerBuilder, directory: &Path| {
        let (master, kms) = (directory.join("master.key"), directory.join("kms.toml"));
        std::fs::write(&master, MASTER_KEY).expect("the master key is written");
        std::fs::write(&kms, KMS_KEYS).expect("the keys are written");
        let master = Some(MasterKeySource::File(master));
        builder.keys(KeySources { master, kms_file: Some(kms) }).allow_insecure_sse_c()
    };
    [
        start_with("memory", "us-east-1", with_keys).await,
        start_with("directory", "us-east-1", with_keys).await,
    ]
}

/// A server in memory that tells events.
pub(crate) async fn with_events(events: EventSettings) -> TestServer {
    start_with("memory", "us-east-1", |builder, _| builder.events(events)).await
}

/// A server in memory whose new buckets have that object ownership.
pub(crate) async fn with_ownership(ownership: ObjectOwnership) -> TestServer {
    start_with("memory", "us-east-1", |builder, _| builder.object_ownership(ownership)).await
}

/// A server in memory with the users of this file.
pub(crate) async fn in_memory_with_users(users: &str) -> TestServer {
    start_with("memory", "us-east-1", |builder, directory| {
        let file = directory.join("other-users.toml");
        std::fs::write(&file, users).expect("the users are written");
        builder.credentials_file(file)
    })
    .await
}

const MASTER_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";
const KMS_KEYS: &str = r#"
[[key]]
name = "first"
versions = ["AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="]

[[key]]
name = "second"
versions = ["AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="]
"#;

async fn start(backend: &'static str, region: &'static str) -> TestServer {
    start_with(backend, region, |builder, _| builder).await
}

pub(crate) async fn start_with(
    backend: &'static str,
    region: &'static str,
    settings: impl FnOnce(ServerBuilder, &Path) -> ServerBuilder,
) -> TestServer {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let users = directory.path().join("users.toml");
    std::fs::write(&users, USERS).expect("the users are written");
    let builder = Server::builder().credentials_file(users).region(region);
    let builder = settings(builder, directory.path());
    let builder = match backend {
        "memory" => builder.memory(),
        _ => builder.data_dir(directory.path().join("data")),
    };
    let handle = builder.spawn().await.expect("the server starts");
    TestServer { handle, region, backend, directory }
}

impl TestServer {
    /// For clients of other makes.
    pub(crate) fn endpoint(&self) -> String {
        self.handle.endpoint()
    }

    /// Ends the server as an operator does.
    pub(crate) async fn stop(self) {
        self.handle.stop().await;
    }

    /// The directory of its data, unless they are in memory.
    pub(crate) fn data_dir(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    /// What SIGUSR1 does.
    pub(crate) fn scrub(&self) {
        self.handle.scrub();
    }

    /// What SIGHUP does.
    pub(crate) fn reload(&self) {
        self.handle.reload();
    }

    /// Replaces the users while the server runs.
    pub(crate) fn set_users(&self, text: &str) {
        let users = self.directory.path().join("users.toml");
        std::fs::write(users, text).expect("the users are written");
        self.handle.reload();
    }

    /// A request by Alice, to be signed and sent.
    pub(crate) fn request(&self, method: &'static str, path_and_query: &str) -> RawRequest<'_> {
        RawRequest::new(self.handle.address(), self.region, method, path_and_query)
    }

    /// An operation of S3 Vectors by Alice, to be signed and sent.
    pub(crate) fn vectors(&self, operation: &str, body: impl AsRef<[u8]>) -> RawRequest<'_> {
        RawRequest::of_vectors(self.handle.address(), self.region, operation, body)
    }

    /// A request of IAM or STS by Alice, to be signed and sent.
    pub(crate) fn form(&self, service: &'static str, form: &str) -> RawRequest<'_> {
        RawRequest::of_form(self.handle.address(), service, form)
    }

    pub(crate) async fn get(&self, path_and_query: &str) -> Reply {
        self.request("GET", path_and_query).send().await
    }

    pub(crate) async fn head(&self, path_and_query: &str) -> Reply {
        self.request("HEAD", path_and_query).send().await
    }

    pub(crate) async fn delete(&self, path_and_query: &str) -> Reply {
        self.request("DELETE", path_and_query).send().await
    }

    pub(crate) async fn put(&self, path_and_query: &str, body: impl AsRef<[u8]>) -> Reply {
        self.request("PUT", path_and_query).body(body).send().await
    }

    pub(crate) async fn post(&self, path_and_query: &str, body: impl AsRef<[u8]>) -> Reply {
        self.request("POST", path_and_query).body(body).send().await
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

    /// An operation of S3, at a server in a process of its own.
    pub(crate) fn of_s3(
        address: SocketAddr,
        region: &'a str,
        method: &'static str,
        path_and_query: &str,
    ) -> RawRequest<'a> {
        RawRequest::new(address, region, method, path_and_query)
    }

    /// An operation of IAM or STS: a form, signed as clients do for the region in which AWS has these.
    pub(crate) fn of_form(
        address: SocketAddr,
        service: &'static str,
        form: &str,
    ) -> RawRequest<'static> {
        let version = if service == "iam" { "2010-05-08" } else { "2011-06-15" };
        let request = RawRequest::new(address, "us-east-1", "POST", "/");
        let request = request.body(format!("{form}&Version={version}"));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        RawRequest { service, ..request }
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

    /// The service that it is signed for.
    pub(crate) fn service(self, service: &'static str) -> Self {
        Self { service, ..self }
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

    /// The same, signed for another service.
    pub(crate) fn for_service(self, service: &'static str) -> Self {
        Self { service, ..self }
    }

    pub(crate) fn anonymous(mut self) -> Self {
        self.user = None;
        self
    }

    /// Signs and sends it on a connection of its own.
    pub(crate) async fn send(self) -> Reply {
        self.send_owned().await
    }

    /// As [`RawRequest::send`], with a future that borrows nothing.
    pub(crate) fn send_owned(self) -> impl Future<Output = Reply> + use<> {
        let (method, length) = (self.method, self.body.len());
        let (address, mut message, body) = self.message();
        let end = format!("content-length: {length}\r\nconnection: close\r\n\r\n");
        message.extend_from_slice(end.as_bytes());
        message.extend_from_slice(&body);
        async move { exchange(address, method, &message).await }
    }

    /// Signs and sends it to a server that may be killed meanwhile: `None` when no whole answer came.
    pub(crate) async fn try_send(self) -> Option<Reply> {
        let (method, length) = (self.method, self.body.len());
        let (address, mut message, body) = self.message();
        let end = format!("content-length: {length}\r\nconnection: close\r\n\r\n");
        message.extend_from_slice(end.as_bytes());
        message.extend_from_slice(&body);
        let mut stream = TcpStream::connect(address).await.ok()?;
        stream.write_all(&message).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        whole_reply(method, &answer)
    }

    /// Sends these bytes behind a head that says nothing about their number.
    pub(crate) async fn send_without_length(self, body: &[u8]) -> Reply {
        let method = self.method;
        let (address, mut message, _) = self.message();
        message.extend_from_slice(b"connection: close\r\n\r\n");
        message.extend_from_slice(body);
        exchange(address, method, &message).await
    }

    /// Sends the head, and the body once the server waits for it and `meanwhile` is done.
    pub(crate) async fn send_after(self, meanwhile: impl Future<Output = ()>) -> Reply {
        let (method, length) = (self.method, self.body.len());
        let (address, mut message, body) = self.message();
        let end = format!(
            "content-length: {length}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n"
        );
        message.extend_from_slice(end.as_bytes());
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        stream.write_all(&message).await.expect("the server reads");
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).await.expect("an interim answer");
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        meanwhile.await;
        stream.write_all(&body).await.expect("the server reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer");
        whole_reply(method, &answer).expect("a whole answer")
    }

    /// Sends the head, waits until the server wants the body, calls `meanwhile`, and sends the body.
    pub(crate) async fn send_when_wanted(self, meanwhile: impl FnOnce()) -> Reply {
        let (method, length) = (self.method, self.body.len());
        let (address, mut message, body) = self.message();
        let end = format!(
            "content-length: {length}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n"
        );
        message.extend_from_slice(end.as_bytes());
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        stream.write_all(&message).await.expect("the server reads");
        let mut interim = Vec::new();
        while !interim.ends_with(b"\r\n\r\n") {
            interim.push(stream.read_u8().await.expect("an interim answer"));
        }
        assert!(interim.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&interim));
        meanwhile();
        let _ = stream.write_all(&body).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        whole_reply(method, &answer).expect("a whole answer")
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

    /// The signed request, for clients that send it their own way to `scheme://authority`.
    pub(crate) fn into_http(mut self, scheme: &str, authority: &str) -> http::Request<Vec<u8>> {
        self.headers.insert("host".to_owned(), authority.as_bytes().to_vec());
        if let Some(user) = self.user {
            self.sign(user);
        }
        self.headers.remove("host");
        let uri = format!("{scheme}://{authority}{}", self.path_and_query);
        let request = http::Request::builder().method(self.method).uri(uri);
        let request =
            self.headers.iter().fold(request, |it, (name, value)| it.header(name, &value[..]));
        request.body(self.body).expect("a request")
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

    /// Path and query of a URL that its user has signed, which holds for so many seconds.
    pub(crate) fn presigned(self, expires: &str) -> String {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let (path, query) =
            self.path_and_query.split_once('?').unwrap_or((&self.path_and_query, ""));
        let user = self.user.expect("somebody signs it");
        let (access_key, secret_key) = (user.access_key, user.secret_key);
        let (region, service) = (self.region, self.service);
        let signer = Signer { access_key, secret_key, time: &time, region, service };
        let host = self.address.to_string();
        let query = signer.presigned_query(
            &Covered {
                method: self.method,
                path,
                query,
                headers: vec![("host", host.as_bytes())],
                payload_hash: UNSIGNED,
            },
            expires,
        );
        format!("{path}?{query}")
    }

    fn sign(&mut self, user: User) {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        self.headers.insert("x-amz-date".to_owned(), time.clone().into_bytes());
        let (path, query) =
            self.path_and_query.split_once('?').unwrap_or((&self.path_and_query, ""));
        let (path, payload_hash) = match self.service {
            "s3" | "s3express" => {
                let hash = self.headers.entry("x-amz-content-sha256".to_owned());
                let hash = hash.or_insert(UNSIGNED.into());
                (path.to_owned(), String::from_utf8_lossy(hash).into_owned())
            }
            _ => (encoded_path(path), sha256_hex(&self.body)),
        };
        let signer = Signer {
            access_key: user.access_key,
            secret_key: user.secret_key,
            time: &time,
            region: self.region,
            service: self.service,
        };
        let authorization = signer.authorization(&Covered {
            method: self.method,
            path: &path,
            query,
            headers: self.headers.iter().map(|(name, value)| (&**name, &**value)).collect(),
            payload_hash: &payload_hash,
        });
        self.headers.insert("authorization".to_owned(), authorization.into_bytes());
    }
}

async fn exchange(address: SocketAddr, method: &str, message: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(address).await.expect("the server listens");
    // A server that refuses a request need not read its body.
    let _ = stream.write_all(message).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let whole = whole_reply(method, &answer);
    whole.unwrap_or_else(|| panic!("no whole answer: {}", String::from_utf8_lossy(&answer)))
}

/// The one answer that these bytes are.
fn whole_reply(method: &str, mut answer: &[u8]) -> Option<Reply> {
    let reply = Reply::read(&mut answer, method == "HEAD")?;
    assert!(answer.is_empty(), "{answer:?} behind {}", reply.everything());
    Some(reply)
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

pub(crate) fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

/// The ETag of an object of these bytes, with quotes.
pub(crate) fn etag(bytes: &[u8]) -> String {
    format!("\"{}\"", hex(&md5(bytes)))
}
