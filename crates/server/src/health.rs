//! The client of `liteio health`.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use liteio_admin::operational::{READY_PATH, set_scripts_run};
use liteio_wire::tls::{Trust, client_config};

/// Timeout for connecting, and again for the whole exchange.
const TIMEOUT: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Notes for `/_localstack/init` that startup scripts are about to run, or have ended.
pub(crate) fn note_scripts(run: bool) {
    set_scripts_run(run);
}

/// Checks that the server at `url` (`http://HOST:PORT` or `https://HOST:PORT`, with an optional
/// path) is ready. Returns its response in one line. The certificate authorities in `ca_file` are
/// trusted in addition; without it, any certificate of a server on this machine is accepted.
///
/// # Errors
/// One line with the cause: the URL, the connection, or the response.
pub(crate) fn check(url: &str, ca_file: Option<&Path>) -> Result<String, String> {
    let url_parts = split_url(url)?;
    let answer = get(&url_parts, ca_file).map_err(|error| format!("{url}: {error}"))?;
    let (status, body) = parse_answer(&answer).ok_or(format!("{url}: not an HTTP answer"))?;
    match status {
        200 => Ok(first_line(body).to_owned()),
        _ => Err(format!("{url}: {status} {}", message(body))),
    }
}

fn first_line(body: &str) -> &str {
    body.lines().next().unwrap_or_default()
}

/// The message of an error document of S3, as a port for HTTPS answers a plain request; the first line of any other body.
fn message(body: &str) -> &str {
    let message = body.split_once("<Message>").and_then(|(_, rest)| rest.split_once("</Message>"));
    message.map_or(first_line(body), |(message, _)| message)
}

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Url {
    is_encrypted: bool,
    /// `HOST:PORT`.
    authority: String,
    path: String,
}

fn split_url(url: &str) -> Result<Url, String> {
    let advice =
        || format!("{url:?} is not a valid URL: give http://HOST:PORT or https://HOST:PORT");
    let (is_encrypted, rest) = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
        Some(_) => return Err(advice()),
        None => (false, url),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() || url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(advice());
    }
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    let port = if is_encrypted { 443 } else { 80 };
    let authority = if has_port { authority.to_owned() } else { format!("{authority}:{port}") };
    let path = if path.is_empty() { READY_PATH.to_owned() } else { format!("/{path}") };
    Ok(Url { is_encrypted, authority, path })
}

fn get(url: &Url, ca_file: Option<&Path>) -> Result<Vec<u8>, String> {
    let stream = connect(&url.authority).map_err(|error| error.to_string())?;
    let is_here = stream.peer_addr().is_ok_and(|it| it.ip().to_canonical().is_loopback());
    let stream = Timed { stream, deadline: Instant::now() + TIMEOUT };
    let answer = if url.is_encrypted {
        let trust = match ca_file {
            None if is_here => Trust::Any,
            file => Trust::Authorities(file),
        };
        exchange(encrypt(stream, &url.authority, client_config(trust)?)?, url)
    } else {
        exchange(stream, url)
    };
    answer.map_err(|error| match is_plain(&error) {
        true => "the server speaks plain HTTP there: ask http://, or start it with TLS".to_owned(),
        false => error.to_string(),
    })
}

/// `true` for the failure of a TLS handshake with a server that does not speak TLS.
fn is_plain(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidMessage(_)))
}

fn connect(authority: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A connection with a deadline for all operations together.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

/// Normalizes timeouts, which systems report as `WouldBlock` or `TimedOut`.
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer).map_err(timed_out)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn encrypt(
    stream: Timed,
    authority: &str,
    config: ClientConfig,
) -> Result<StreamOwned<ClientConnection, Timed>, String> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
    let connection = ClientConnection::new(Arc::new(config), name);
    Ok(StreamOwned::new(connection.map_err(|error| error.to_string())?, stream))
}

fn exchange(mut stream: impl Read + Write, url: &Url) -> io::Result<Vec<u8>> {
    let Url { authority, path, .. } = url;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n")?;
    stream.flush()?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(answer)
}

/// Status and body of a response.
fn parse_answer(answer: &[u8]) -> Option<(u16, &str)> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_document_is_told_by_its_message() {
        let document = "<?xml version=\"1.0\"?>\n<Error><Code>InvalidRequest</Code><Message>Use https://.</Message></Error>";
        assert_eq!(message(document), "Use https://.");
        assert_eq!(message("degraded: the device is full\nx"), "degraded: the device is full");
    }

    #[test]
    fn urls() {
        let rows = [
            ("http://127.0.0.1:9000", Some((false, "127.0.0.1:9000", READY_PATH))),
            ("http://127.0.0.1:9000/", Some((false, "127.0.0.1:9000", READY_PATH))),
            ("localhost:9000", Some((false, "localhost:9000", READY_PATH))),
            ("HTTP://[::1]:9000/x/y", Some((false, "[::1]:9000", "/x/y"))),
            ("http://liteio", Some((false, "liteio:80", READY_PATH))),
            ("https://127.0.0.1:9000", Some((true, "127.0.0.1:9000", READY_PATH))),
            ("https://liteio/x", Some((true, "liteio:443", "/x"))),
            ("ftp://127.0.0.1:9000", None),
            ("http://", None),
            ("http://a b:1", None),
        ];
        for (url, expected) in rows {
            let expected = expected.map(|(is_encrypted, authority, path)| Url {
                is_encrypted,
                authority: authority.to_owned(),
                path: path.to_owned(),
            });
            assert_eq!(split_url(url).ok(), expected, "{url}");
        }
    }

    #[test]
    fn answers() {
        let rows: [(&[u8], _); 4] = [
            (b"HTTP/1.1 200 OK\r\na: b\r\n\r\nready\n", Some((200, "ready\n"))),
            (b"HTTP/1.0 503 No\r\n\r\n", Some((503, ""))),
            (b"HTTP/1.1 200 OK\r\n", None),
            (b"SSH-2.0\r\n\r\n", None),
        ];
        for (answer, expected) in rows {
            assert_eq!(parse_answer(answer), expected);
        }
    }
}
