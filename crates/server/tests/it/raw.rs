//! A small client that sends exactly the bytes it is told to: SDKs refuse to send what these tests are
//! about.

use std::io::{BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, SystemTime};

use liteio::{Limits, Server, ServerBuilder, ServerHandle};
use liteio_auth::fuzzing::signer::{Covered, Signer, framed_chunk, sha256_hex};
use liteio_store::Store;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::reply::Reply;

/// A hanging server fails its test after so long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) const EMPTY_SHA256: &str =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
pub(crate) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// The keys of a user.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) access: &'static str,
    pub(crate) secret: &'static str,
}

pub(crate) const OWNER: Keys = Keys { access: "OWNERKEY", secret: "the-owners-secret-key" };
pub(crate) const STRANGER: Keys = Keys { access: "STRANGERKEY", secret: "the-strangers-secret" };

const USERS: &str = r#"
    [[user]]
    name = "owner"
    access_key = "OWNERKEY"
    secret_key = "the-owners-secret-key"

    [[user]]
    name = "stranger"
    access_key = "STRANGERKEY"
    secret_key = "the-strangers-secret"
"#;

/// A server in memory with two users, and the bucket `bucket` of [`OWNER`].
pub(crate) struct RawServer {
    pub(crate) address: SocketAddr,
    // In this order: the server stops before its runtime and its file go.
    _handle: ServerHandle,
    _runtime: Runtime,
    _directory: TempDir,
}

impl RawServer {
    pub(crate) fn start() -> RawServer {
        RawServer::spawn(Server::builder())
    }

    pub(crate) fn with_limits(limits: Limits) -> RawServer {
        RawServer::spawn(Server::builder().limits(limits))
    }

    /// A server over a store that is open.
    pub(crate) fn over(store: Store) -> RawServer {
        RawServer::spawn(Server::builder().store(store))
    }

    fn spawn(builder: ServerBuilder) -> RawServer {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let users = directory.path().join("users.toml");
        std::fs::write(&users, USERS).expect("written");
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(2).enable_all().build().expect("a runtime");
        let spawned = runtime.block_on(builder.credentials_file(users).region("us-east-1").spawn());
        let handle = spawned.expect("the server starts");
        let address = handle.address();
        let server =
            RawServer { address, _handle: handle, _runtime: runtime, _directory: directory };
        let created = server.send(&Request::new("PUT", "/bucket").sign(OWNER).bytes());
        assert_eq!(created.status, 200, "{created:?}");
        server
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> Reply {
        send(self.address, bytes)
    }

    /// Sends a request of [`OWNER`] without a body.
    pub(crate) fn ask(&self, method: &str, target: &str) -> Reply {
        self.send(&Request::new(method, target).sign(OWNER).bytes())
    }

    /// Sends and then closes the sending side: the server sees the end of the bytes.
    pub(crate) fn send_and_end(&self, bytes: &[u8]) -> Option<Reply> {
        let mut stream = connect(self.address);
        // The server may have answered and closed before it has read everything.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        Reply::read(&mut BufReader::new(stream), is_head(bytes))
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server accepts");
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("a socket");
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).expect("a socket");
    stream
}

/// Sends bytes on a connection of their own and reads one answer.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Reply {
    let mut stream = connect(address);
    // The server may have answered and closed before it has read everything.
    let _ = stream.write_all(bytes);
    let reply = Reply::read(&mut BufReader::new(stream), is_head(bytes));
    reply.unwrap_or_else(|| panic!("no answer to {}", String::from_utf8_lossy(first_line(bytes))))
}

/// Sends bytes on a connection of their own and then reads one answer, as a client does that knows nothing of
/// early answers: the server must take everything.
pub(crate) fn send_all(address: SocketAddr, bytes: &[u8]) -> Reply {
    let mut stream = connect(address);
    stream.write_all(bytes).expect("the server takes what it refuses");
    Reply::read(&mut BufReader::new(stream), is_head(bytes)).expect("an answer")
}

fn is_head(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HEAD ")
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == b'\r').unwrap_or(bytes.len());
    &bytes[..end.min(200)]
}

/// A request being made. Headers that are added before it is signed are signed.
#[derive(Clone)]
pub(crate) struct Request {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    /// Distance of the date of the signature from now, in seconds.
    age: i64,
    region: &'static str,
    service: &'static str,
    /// Lets [`Request::bytes`] write `content-length`.
    with_length: bool,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Request {
        Request {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: vec![("host".to_owned(), b"localhost".to_vec())],
            body: Vec::new(),
            age: 0,
            region: "us-east-1",
            service: "s3",
            with_length: true,
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Request {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Request {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Request {
        self.body = body.as_ref().to_vec();
        self
    }

    /// Signed so many seconds ago, or in the future when negative.
    pub(crate) fn age(mut self, seconds: i64) -> Request {
        self.age = seconds;
        self
    }

    pub(crate) fn scope(mut self, region: &'static str, service: &'static str) -> Request {
        (self.region, self.service) = (region, service);
        self
    }

    /// Leaves the length of the body to the headers that were given.
    pub(crate) fn no_length(mut self) -> Request {
        self.with_length = false;
        self
    }

    fn time(&self) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        let seconds = i64::try_from(now.as_secs()).expect("this age") - self.age;
        let time = jiff::Timestamp::from_second(seconds).expect("in range");
        time.strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    /// Signs in the Authorization header, with the hash of the body unless the request says another.
    pub(crate) fn sign(self, keys: Keys) -> Request {
        self.sign_with_chain(keys).0
    }

    /// Signs; the chain signs the chunks of the body.
    pub(crate) fn sign_with_chain(mut self, keys: Keys) -> (Request, Chain) {
        let time = self.time();
        if !self.headers.iter().any(|(name, _)| name == "x-amz-content-sha256") {
            let hash = sha256_hex(&self.body);
            self.headers.push(("x-amz-content-sha256".to_owned(), hash.into_bytes()));
        }
        self.headers.push(("x-amz-date".to_owned(), time.clone().into_bytes()));
        let hash = self.headers.iter().find(|(name, _)| name == "x-amz-content-sha256");
        let hash = String::from_utf8_lossy(&hash.expect("just added").1).into_owned();
        let (region, service) = (self.region, self.service);
        let mut chain = Chain { keys, time, region, service, previous: String::new() };
        let covered = self.covered(&hash);
        chain.previous = chain.signer().signature(&covered);
        let authorization = chain.signer().authorization(&covered);
        (self.header("authorization", authorization), chain)
    }

    /// Signs the hash of the body, which no header names: the way of SDKs for services other than S3.
    pub(crate) fn sign_unnamed(mut self, keys: Keys) -> Request {
        let time = self.time();
        self.headers.push(("x-amz-date".to_owned(), time.clone().into_bytes()));
        let hash = sha256_hex(&self.body);
        let signer = signer(keys, &time, self.region, self.service);
        let authorization = signer.authorization(&self.covered(&hash));
        self.header("authorization", authorization)
    }

    /// Signs in the query, for so many seconds.
    pub(crate) fn presign(mut self, keys: Keys, expires: &str) -> Request {
        let covered = self.covered(UNSIGNED);
        let time = self.time();
        let query =
            signer(keys, &time, self.region, self.service).presigned_query(&covered, expires);
        self.target = format!("{}?{query}", covered.path);
        self
    }

    fn covered<'a>(&'a self, payload_hash: &'a str) -> Covered<'a> {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let headers = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        Covered { method: &self.method, path, query, headers, payload_hash }
    }

    /// Adds to the target, after it may have been signed.
    pub(crate) fn target_suffix(mut self, suffix: &str) -> Request {
        self.target.push_str(suffix);
        self
    }

    /// The request as it is sent: head and body.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The head alone.
    pub(crate) fn head_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        if self.with_length {
            bytes.extend_from_slice(format!("content-length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

fn signer<'a>(keys: Keys, time: &'a str, region: &'a str, service: &'a str) -> Signer<'a> {
    Signer { access_key: keys.access, secret_key: keys.secret, time, region, service }
}

/// Signs the chunks of an aws-chunked body, each over the one before.
#[derive(Clone)]
pub(crate) struct Chain {
    keys: Keys,
    time: String,
    region: &'static str,
    service: &'static str,
    previous: String,
}

impl Chain {
    fn signer(&self) -> Signer<'_> {
        signer(self.keys, &self.time, self.region, self.service)
    }

    pub(crate) fn chunk(&mut self, data: &[u8]) -> Vec<u8> {
        self.previous = self.signer().chunk_signature(&self.previous, data);
        framed_chunk(&self.previous, data)
    }

    /// The trailer of one line, with its signature.
    pub(crate) fn trailer(&self, name: &str, value: &str) -> Vec<u8> {
        let line = format!("{name}:{value}");
        let signature = self.signer().trailer_signature(&self.previous, &format!("{line}\n"));
        format!("{line}\r\nx-amz-trailer-signature:{signature}\r\n\r\n").into_bytes()
    }
}

/// The fields of a form that a user has signed: those given, and what the signature needs.
pub(crate) fn form_fields(
    keys: Keys,
    expires_seconds: i64,
    conditions: &str,
    fields: &[(&str, &str)],
) -> Vec<(String, String)> {
    let time = Request::new("POST", "/").time();
    let signer = signer(keys, &time, "us-east-1", "s3");
    let expiration = Request::new("POST", "/").age(-expires_seconds).time();
    let expiration = expiration.parse::<jiff::Timestamp>().expect("a time");
    let credential = signer.credential();
    let policy = format!(
        r#"{{"expiration": "{}", "conditions": [{conditions}{{"x-amz-credential": "{credential}"}},
        {{"x-amz-algorithm": "AWS4-HMAC-SHA256"}}, {{"x-amz-date": "{time}"}}]}}"#,
        expiration.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    );
    let policy = base64_simd::STANDARD.encode_to_string(policy);
    let signature = signer.sign(&policy);
    let mut all: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for (name, value) in [
        ("x-amz-algorithm", "AWS4-HMAC-SHA256"),
        ("x-amz-credential", &*credential),
        ("x-amz-date", &*time),
        ("policy", &*policy),
        ("x-amz-signature", &*signature),
    ] {
        all.push((name.to_owned(), value.to_owned()));
    }
    all
}

/// A form upload to a bucket.
pub(crate) fn form_request(target: &str, fields: &[(String, String)], file: &[u8]) -> Request {
    let body = form_body(fields, file);
    Request::new("POST", target).header("content-type", FORM_TYPE).body(body)
}

/// The type of a [`form_body`].
pub(crate) const FORM_TYPE: &str = "multipart/form-data; boundary=edge";

/// A form with a file behind its fields.
pub(crate) fn form_body(fields: &[(String, String)], file: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend_from_slice(
            format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                .as_bytes(),
        );
    }
    body.extend_from_slice(
        b"--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n",
    );
    body.extend_from_slice(file);
    body.extend_from_slice(b"\r\n--edge--\r\n");
    body
}
