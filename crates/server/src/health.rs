//! The client of `liteio health`.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::operational::READY_PATH;

/// For the connection, and again for the whole answer.
const TIMEOUT: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Asks the server at `url` (`http://HOST:PORT`, a path is optional) whether it is ready. Returns its
/// answer in one line.
///
/// # Errors
/// One line on what is wrong: the URL, the connection, or the answer.
pub(crate) fn check(url: &str) -> Result<String, String> {
    let (authority, path) = split_url(url)?;
    let answer = get(&authority, &path).map_err(|error| format!("{url}: {error}"))?;
    let (status, body) = parse_answer(&answer).ok_or(format!("{url}: not an HTTP answer"))?;
    match status {
        200 => Ok(body.to_owned()),
        _ => Err(format!("{url}: {status} {body}")),
    }
}

/// `HOST:PORT` and the path.
fn split_url(url: &str) -> Result<(String, String), String> {
    let advice = || format!("{url:?} is no URL to check: give http://HOST:PORT");
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some(_) => return Err(advice()),
        None => url,
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() || url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(advice());
    }
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
    let path = if path.is_empty() { READY_PATH.to_owned() } else { format!("/{path}") };
    Ok((authority, path))
}

fn get(authority: &str, path: &str) -> io::Result<Vec<u8>> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => return exchange(stream, authority, path),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn exchange(mut stream: TcpStream, authority: &str, path: &str) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + TIMEOUT;
    stream.set_write_timeout(Some(TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while (answer.len() as u64) < ANSWER_BYTES_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(bytes) => answer.extend_from_slice(&piece[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Systems report a read timeout as `WouldBlock` or as `TimedOut`.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}

/// Status and body, in one line.
fn parse_answer(answer: &[u8]) -> Option<(u16, &str)> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.lines().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let rows = [
            ("http://127.0.0.1:9000", Some(("127.0.0.1:9000", READY_PATH))),
            ("http://127.0.0.1:9000/", Some(("127.0.0.1:9000", READY_PATH))),
            ("localhost:9000", Some(("localhost:9000", READY_PATH))),
            ("HTTP://[::1]:9000/x/y", Some(("[::1]:9000", "/x/y"))),
            ("http://liteio", Some(("liteio:80", READY_PATH))),
            ("https://127.0.0.1:9000", None),
            ("http://", None),
            ("http://a b:1", None),
        ];
        for (url, expected) in rows {
            let split = split_url(url).ok();
            let split = split.as_ref().map(|(authority, path)| (&**authority, &**path));
            assert_eq!(split, expected, "{url}");
        }
    }

    #[test]
    fn answers() {
        let rows: [(&[u8], _); 4] = [
            (b"HTTP/1.1 200 OK\r\na: b\r\n\r\nready\n", Some((200, "ready"))),
            (b"HTTP/1.0 503 No\r\n\r\n", Some((503, ""))),
            (b"HTTP/1.1 200 OK\r\n", None),
            (b"SSH-2.0\r\n\r\n", None),
        ];
        for (answer, expected) in rows {
            assert_eq!(parse_answer(answer), expected);
        }
    }
}
