//! Servers for clients that answer as a test wants, and the little of HTTP that tests send by hand.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// A server of HTTP that gives every request the bytes that a function makes of it, and closes.
pub(crate) struct Failing {
    url: String,
    address: SocketAddr,
    requests: Arc<(Mutex<Vec<String>>, Condvar)>,
    /// Connections that are never answered.
    held: Arc<Mutex<Vec<TcpStream>>>,
}

impl Failing {
    /// The function gets the head of a request and the number of requests before it. No bytes close the
    /// connection.
    pub(crate) fn start(
        answer: impl Fn(&str, usize) -> Vec<u8> + Send + Sync + 'static,
    ) -> Failing {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests: Arc<(Mutex<Vec<String>>, Condvar)> = Arc::default();
        let held: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let answer = Arc::new(answer);
        let (seen, kept) = (requests.clone(), held.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (seen, kept, answer) = (seen.clone(), kept.clone(), answer.clone());
                thread::spawn(move || {
                    let Some(head) = read_request(&stream) else { return };
                    let count = {
                        let (seen, more) = &*seen;
                        let mut seen = seen.lock().expect("unpoisoned");
                        seen.push(head.clone());
                        more.notify_all();
                        seen.len() - 1
                    };
                    let bytes = answer(&head, count);
                    if bytes == Failing::hang() {
                        kept.lock().expect("unpoisoned").push(stream);
                        return;
                    }
                    // The client may have gone.
                    let _ = (&stream).write_all(&bytes);
                });
            }
        });
        Failing { url: format!("http://{address}"), address, requests, held }
    }

    /// An answer that never comes.
    pub(crate) fn hang() -> Vec<u8> {
        b"hang".to_vec()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The heads of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.0.lock().expect("unpoisoned").clone()
    }

    /// Waits for a request of this method.
    pub(crate) fn await_request(&self, method: &str) {
        let (requests, more) = &*self.requests;
        let requests = requests.lock().expect("unpoisoned");
        let is_missing =
            |requests: &mut Vec<String>| !requests.iter().any(|it| it.starts_with(method));
        let limit = std::time::Duration::from_secs(60);
        let (_requests, waited) =
            more.wait_timeout_while(requests, limit, is_missing).expect("unpoisoned");
        assert!(!waited.timed_out(), "no {method} came");
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        self.held.lock().expect("unpoisoned").clear();
        // The thread that accepts ends with the process.
        let _ = TcpStream::connect(self.address);
    }
}

/// The head of a request; its body is read as well.
fn read_request(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[before..].trim().is_empty() {
            break;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<u64>().ok())?
    });
    std::io::copy(&mut reader.take(length.unwrap_or(0)), &mut std::io::sink()).ok()?;
    Some(head)
}

/// An answer of success. Its length is that of the body, unless the headers say otherwise.
pub(crate) fn ok(headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    answer(200, headers, body)
}

/// An error of S3.
pub(crate) fn error(status: u16, code: &str) -> Vec<u8> {
    let body = format!("<Error><Code>{code}</Code><Message>As the test wants</Message></Error>");
    answer(status, &[], body.as_bytes())
}

/// A listing of these entries.
pub(crate) fn listing(entries: &str) -> Vec<u8> {
    let body =
        format!("<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>");
    answer(200, &[], body.as_bytes())
}

fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Test\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "content-length") {
        head += &format!("content-length: {}\r\n", body.len());
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

/// Reads a URL.
pub(crate) fn get(url: &str) -> (u16, Vec<u8>) {
    get_with(url, "")
}

/// The same with more lines of headers, each with its end.
pub(crate) fn get_with(url: &str, headers: &str) -> (u16, Vec<u8>) {
    let (host, path) = split(url);
    let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{headers}connection: close\r\n\r\n");
    exchange(host, head.as_bytes())
}

/// Does what a command of `curl` with `-F` does, with these bytes for the file.
pub(crate) fn post_form(command: &str, file: &[u8]) {
    let mut words = command.strip_prefix("curl ").expect("a command").split(' ');
    let (host, path) = split(words.next().expect("a URL"));
    let mut body = Vec::new();
    for field in words.filter(|it| *it != "-F") {
        let (name, value) = field.split_once('=').expect("a pair");
        let value = value.replace('\\', "").replace("<NAME>", "");
        let (more, value) = match name {
            "file" => ("; filename=\"file\"", file),
            _ => ("", value.as_bytes()),
        };
        body.extend(
            format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"{more}\r\n\r\n")
                .into_bytes(),
        );
        body.extend(value);
        body.extend(b"\r\n");
    }
    body.extend(b"--b--\r\n");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n\
         content-type: multipart/form-data; boundary=b\r\n\r\n",
        body.len()
    );
    let (status, body) = exchange(host, &[head.as_bytes(), &body].concat());
    assert_eq!(status, 204, "{}", String::from_utf8_lossy(&body));
}

fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").expect("a URL");
    rest.split_at(rest.find('/').expect("a path"))
}

fn exchange(host: &str, request: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(host).expect("it listens");
    stream.write_all(request).expect("it reads");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("it answers");
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    (status, bytes[end + 4..].to_vec())
}
