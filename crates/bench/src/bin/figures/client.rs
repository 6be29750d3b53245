//! A client that costs as little as it can: one TCP connection, HTTP/1.1 by hand, presigned URLs.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

pub(crate) const ACCESS_KEY: &str = "figures";
pub(crate) const SECRET_KEY: &str = "figures-secret";

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
}

/// Makes presigned request targets for one server, valid for a day.
pub(crate) struct Signer {
    host: String,
    date: String,
    time: String,
    key: Vec<u8>,
}

impl Signer {
    pub(crate) fn new(address: SocketAddr) -> Signer {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let date = time[..8].to_owned();
        let mut key = hmac(format!("AWS4{SECRET_KEY}").as_bytes(), &date);
        for step in ["us-east-1", "s3", "aws4_request"] {
            key = hmac(&key, step);
        }
        Signer { host: address.to_string(), date, time, key }
    }

    /// `path` and `query` are already encoded, `query` is sorted and only of names before `X-Amz`
    /// or after it (such as `list-type=2`).
    pub(crate) fn target(&self, method: &str, path: &str, query: &str) -> String {
        let mut signed = format!(
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={ACCESS_KEY}%2F{}%2Fus-east-1%2Fs3%2F\
             aws4_request&X-Amz-Date={}&X-Amz-Expires=86400&X-Amz-SignedHeaders=host",
            self.date, self.time
        );
        if !query.is_empty() {
            let _ = write!(signed, "&{query}");
        }
        let request =
            format!("{method}\n{path}\n{signed}\nhost:{}\n\nhost\nUNSIGNED-PAYLOAD", self.host);
        let to_sign = format!(
            "AWS4-HMAC-SHA256\n{}\n{}/us-east-1/s3/aws4_request\n{}",
            self.time,
            self.date,
            hex(&Sha256::digest(request.as_bytes()))
        );
        format!("{path}?{signed}&X-Amz-Signature={}", hex(&hmac(&self.key, &to_sign)))
    }
}

/// One connection.
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    host: String,
    line: String,
    body: Vec<u8>,
}

impl Client {
    /// The bare connection, still open.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.writer
    }

    pub(crate) fn connect(address: SocketAddr) -> io::Result<Client> {
        let writer = TcpStream::connect(address)?;
        writer.set_nodelay(true)?;
        let reader = BufReader::with_capacity(1 << 16, writer.try_clone()?);
        let host = address.to_string();
        Ok(Client { reader, writer, host, line: String::new(), body: Vec::new() })
    }

    /// Sends a request and returns the status and the body.
    pub(crate) fn send(
        &mut self,
        method: &str,
        target: &str,
        body: &[u8],
    ) -> io::Result<(u16, &[u8])> {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        if body.len() <= 1 << 16 {
            let mut whole = head.into_bytes();
            whole.extend_from_slice(body);
            self.writer.write_all(&whole)?;
        } else {
            self.writer.write_all(head.as_bytes())?;
            self.writer.write_all(body)?;
        }
        self.receive(method == "HEAD")
    }

    fn receive(&mut self, head_only: bool) -> io::Result<(u16, &[u8])> {
        let (mut status, mut length, mut chunked) = (0, 0, false);
        loop {
            self.line.clear();
            if self.reader.read_line(&mut self.line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if status == 0 {
                status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
            } else if let Some((name, value)) = line.split_once(':') {
                if name.eq_ignore_ascii_case("content-length") {
                    length = value.trim().parse().unwrap_or(0);
                }
                chunked |= name.eq_ignore_ascii_case("transfer-encoding");
            }
        }
        self.body.clear();
        if chunked && !head_only {
            self.receive_chunks()?;
        } else if !head_only && status != 304 && status != 204 {
            self.body.resize(length, 0);
            self.reader.read_exact(&mut self.body)?;
        }
        Ok((status, &self.body))
    }

    fn receive_chunks(&mut self) -> io::Result<()> {
        loop {
            self.line.clear();
            self.reader.read_line(&mut self.line)?;
            let bytes =
                usize::from_str_radix(self.line.trim_end(), 16).map_err(io::Error::other)?;
            let start = self.body.len();
            self.body.resize(start + bytes + 2, 0);
            self.reader.read_exact(&mut self.body[start..])?;
            self.body.truncate(start + bytes);
            if bytes == 0 {
                return Ok(());
            }
        }
    }

    /// Like [`Client::send`], and any other status than `expected` is an error with the answer.
    pub(crate) fn expect(
        &mut self,
        expected: u16,
        method: &str,
        target: &str,
        body: &[u8],
    ) -> io::Result<&[u8]> {
        let (status, body) = self.send(method, target, body)?;
        if status == expected {
            Ok(body)
        } else {
            let text = String::from_utf8_lossy(body).into_owned();
            Err(io::Error::other(format!("{method} {target}: {status} {text}")))
        }
    }
}
