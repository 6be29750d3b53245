//! A server that does nothing, to measure the cost of the client alone.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;

/// Answers every GET with the same body, and every other request without one, until the process
/// ends.
#[derive(Debug)]
pub(crate) struct EmptyServer {
    pub(crate) address: SocketAddr,
}

impl EmptyServer {
    pub(crate) fn start(body: Bytes) -> io::Result<EmptyServer> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        let answer = Arc::new([head.as_bytes(), &body].concat());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(stream, &answer));
            }
        });
        Ok(EmptyServer { address })
    }
}

/// Serves one connection to its end.
fn serve(stream: TcpStream, to_get: &[u8]) -> io::Result<()> {
    const TO_OTHERS: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::with_capacity(64 << 10, stream);
    let mut line = String::new();
    loop {
        let (mut is_get, mut length, mut first) = (false, 0_u64, true);
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if std::mem::take(&mut first) {
                is_get = line.starts_with("GET ");
            } else if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
        writer.write_all(if is_get { to_get } else { TO_OTHERS })?;
    }
}
