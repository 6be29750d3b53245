//! A small client that sends exactly the bytes it is told to, and a signer of its own: SDKs refuse
//! to send what these tests are about.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit as _, Mac as _};
use liteio::Limits;
use liteio::{Server, ServerHandle};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::runtime::Runtime;

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
        RawServer::with_limits(Limits::default())
    }

    pub(crate) fn with_limits(limits: Limits) -> RawServer {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let users = directory.path().join("users.toml");
        std::fs::write(&users, USERS).expect("written");
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(2).enable_all().build().expect("a runtime");
        let builder = Server::builder().memory().credentials_file(users).limits(limits);
        let spawned = runtime.block_on(builder.spawn());
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
        read_reply(&mut BufReader::new(stream), is_head(bytes))
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
    let reply = read_reply(&mut BufReader::new(stream), is_head(bytes));
    reply.unwrap_or_else(|| panic!("no answer to {}", String::from_utf8_lossy(first_line(bytes))))
}

fn is_head(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HEAD ")
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == b'\r').unwrap_or(bytes.len());
    &bytes[..end.min(200)]
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The text of the first element with this name.
    pub(crate) fn element(&self, name: &str) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        let (value, _) = rest.split_once(&format!("</{name}>"))?;
        Some(value.to_owned())
    }

    /// The code of an error, or nothing.
    pub(crate) fn code(&self) -> String {
        self.element("Code").unwrap_or_default()
    }

    /// Head and body, to search in.
    pub(crate) fn everything(&self) -> String {
        format!("{:?}\n{}", self.headers, self.text())
    }
}

/// Reads one answer, interim answers skipped; `None` when the connection ends before it.
pub(crate) fn read_reply(stream: &mut BufReader<TcpStream>, head_only: bool) -> Option<Reply> {
    let (status, headers) = loop {
        let (status, headers) = read_head(stream)?;
        if status >= 200 {
            break (status, headers);
        }
    };
    let mut reply = Reply { status, headers, body: Vec::new() };
    if head_only || matches!(status, 204 | 304) {
        // Whatever came nevertheless would be seen as the next answer: the connection is over.
        return Some(reply);
    }
    if let Some(length) = reply.header("content-length").and_then(|text| text.parse().ok()) {
        reply.body.resize(length, 0);
        stream.read_exact(&mut reply.body).ok()?;
    } else if reply.header("transfer-encoding") == Some("chunked") {
        read_chunks(stream, &mut reply.body)?;
    } else {
        stream.read_to_end(&mut reply.body).ok()?;
    }
    Some(reply)
}

/// The status and the headers of the next answer, interim ones too.
pub(crate) fn read_head(stream: &mut BufReader<TcpStream>) -> Option<(u16, Vec<(String, String)>)> {
    let status_line = read_line(stream)?;
    let status = status_line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream)?;
        let Some((name, value)) = line.split_once(':') else { return Some((status, headers)) };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// One line without its end; bytes that are no UTF-8 are replaced.
fn read_line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        match byte {
            [b'\n'] => break,
            [byte] => line.push(byte),
        }
    }
    let line = line.strip_suffix(b"\r").unwrap_or(&line);
    Some(String::from_utf8_lossy(line).into_owned())
}

fn read_chunks(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let size = usize::from_str_radix(&read_line(stream)?, 16).ok()?;
        let start = body.len();
        body.resize(start + size, 0);
        stream.read_exact(&mut body[start..]).ok()?;
        read_line(stream)?;
        if size == 0 {
            return Some(());
        }
    }
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

    fn date(&self) -> String {
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
        let date = self.date();
        if !self.headers.iter().any(|(name, _)| name == "x-amz-content-sha256") {
            let hash = sha256_hex(&self.body);
            self.headers.push(("x-amz-content-sha256".to_owned(), hash.into_bytes()));
        }
        self.headers.push(("x-amz-date".to_owned(), date.clone().into_bytes()));
        let hash = self.headers.iter().find(|(name, _)| name == "x-amz-content-sha256");
        let hash = String::from_utf8_lossy(&hash.expect("just added").1).into_owned();
        let scope = self.scope_text(&date);
        let chain = Chain { key: self.key(keys, &date), date, scope, previous: String::new() };
        let (signed_headers, signature) = self.signature(&chain, &hash);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={signed_headers},\
             Signature={signature}",
            keys.access, chain.scope
        );
        let chain = Chain { previous: signature, ..chain };
        (self.header("authorization", authorization), chain)
    }

    /// Signs in the query, for so many seconds.
    pub(crate) fn presign(mut self, keys: Keys, expires: &str) -> Request {
        let date = self.date();
        let scope = self.scope_text(&date);
        let names = self.signed_names().join("%3B");
        let separator = if self.target.contains('?') { '&' } else { '?' };
        let credential = format!("{}/{scope}", keys.access).replace('/', "%2F");
        self.target = format!(
            "{}{separator}X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={credential}&\
             X-Amz-Date={date}&X-Amz-Expires={expires}&X-Amz-SignedHeaders={names}",
            self.target
        );
        let chain = Chain { key: self.key(keys, &date), date, scope, previous: String::new() };
        let (_, signature) = self.signature(&chain, UNSIGNED);
        self.target = format!("{}&X-Amz-Signature={signature}", self.target);
        self
    }

    /// Adds to the target, after it may have been signed.
    pub(crate) fn target_suffix(mut self, suffix: &str) -> Request {
        self.target.push_str(suffix);
        self
    }

    fn scope_text(&self, date: &str) -> String {
        format!("{}/{}/{}/aws4_request", &date[..8], self.region, self.service)
    }

    fn key(&self, keys: Keys, date: &str) -> Vec<u8> {
        let key = hmac(format!("AWS4{}", keys.secret).as_bytes(), &date.as_bytes()[..8]);
        let key = hmac(&hmac(&key, self.region.as_bytes()), self.service.as_bytes());
        hmac(&key, b"aws4_request")
    }

    fn signed_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.headers.iter().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn signature(&self, chain: &Chain, payload_hash: &str) -> (String, String) {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let mut pairs: Vec<String> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| if pair.contains('=') { pair.to_owned() } else { format!("{pair}=") })
            .collect();
        pairs.sort_unstable();
        let names = self.signed_names();
        let mut canonical = format!("{}\n{path}\n{}\n", self.method, pairs.join("&")).into_bytes();
        for name in &names {
            let values: Vec<&[u8]> = self
                .headers
                .iter()
                .filter(|(other, _)| other == name)
                .map(|(_, value)| value.trim_ascii())
                .collect();
            canonical.extend_from_slice(format!("{name}:").as_bytes());
            canonical.extend_from_slice(&values.join(&b','));
            canonical.push(b'\n');
        }
        let signed_headers = names.join(";");
        canonical.extend_from_slice(format!("\n{signed_headers}\n{payload_hash}").as_bytes());
        let (date, scope) = (&chain.date, &chain.scope);
        let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256_hex(&canonical));
        (signed_headers, hex(&hmac(&chain.key, text.as_bytes())))
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

/// Signs the chunks of an aws-chunked body, each over the one before.
#[derive(Clone)]
pub(crate) struct Chain {
    key: Vec<u8>,
    date: String,
    scope: String,
    previous: String,
}

impl Chain {
    pub(crate) fn chunk(&mut self, data: &[u8]) -> Vec<u8> {
        let signature = hex(&hmac(
            &self.key,
            format!(
                "AWS4-HMAC-SHA256-PAYLOAD\n{}\n{}\n{}\n{EMPTY_SHA256}\n{}",
                self.date,
                self.scope,
                self.previous,
                sha256_hex(data)
            )
            .as_bytes(),
        ));
        let mut chunk = format!("{:x};chunk-signature={signature}\r\n", data.len()).into_bytes();
        chunk.extend_from_slice(data);
        if !data.is_empty() {
            chunk.extend_from_slice(b"\r\n");
        }
        self.previous = signature;
        chunk
    }

    /// The trailer of one line, with its signature.
    pub(crate) fn trailer(&self, name: &str, value: &str) -> Vec<u8> {
        let hash = sha256_hex(format!("{name}:{value}\n").as_bytes());
        let text = format!(
            "AWS4-HMAC-SHA256-TRAILER\n{}\n{}\n{}\n{hash}",
            self.date, self.scope, self.previous
        );
        let signature = hex(&hmac(&self.key, text.as_bytes()));
        format!("{name}:{value}\r\nx-amz-trailer-signature:{signature}\r\n\r\n").into_bytes()
    }
}

/// The fields of a form that a user has signed: those given, and what the signature needs.
pub(crate) fn form_fields(
    keys: Keys,
    expires_seconds: i64,
    conditions: &str,
    fields: &[(&str, &str)],
) -> Vec<(String, String)> {
    let request = Request::new("POST", "/");
    let date = request.date();
    let scope = request.scope_text(&date);
    let expiration = Request::new("POST", "/").age(-expires_seconds).date();
    let expiration = expiration.parse::<jiff::Timestamp>().expect("a time");
    let credential = format!("{}/{scope}", keys.access);
    let policy = format!(
        r#"{{"expiration": "{}", "conditions": [{conditions}{{"x-amz-credential": "{credential}"}},
        {{"x-amz-algorithm": "AWS4-HMAC-SHA256"}}, {{"x-amz-date": "{date}"}}]}}"#,
        expiration.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    );
    let policy = base64_simd::STANDARD.encode_to_string(policy);
    let signature = hex(&hmac(&request.key(keys, &date), policy.as_bytes()));
    let mut all: Vec<(String, String)> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for (name, value) in [
        ("x-amz-algorithm", "AWS4-HMAC-SHA256"),
        ("x-amz-credential", &*credential),
        ("x-amz-date", &*date),
        ("policy", &*policy),
        ("x-amz-signature", &*signature),
    ] {
        all.push((name.to_owned(), value.to_owned()));
    }
    all
}

/// A form upload to a bucket.
pub(crate) fn form_request(target: &str, fields: &[(String, String)], file: &[u8]) -> Request {
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
    Request::new("POST", target)
        .header("content-type", "multipart/form-data; boundary=edge")
        .body(body)
}

pub(crate) fn sha256_hex(data: &[u8]) -> String {
    hex(&Sha256::digest(data))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.chain_update(data).finalize().into_bytes().to_vec()
}
