//! The least server: connections that are read, hashed, written and answered without a store behind them.
//!
//! It finds the end of a head and the length of a body, and looks at nothing else. What LiteIO needs beyond its
//! processor time is the cost of the protocol, of permissions and of the store.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http::Method;
use md5::{Digest as _, Md5};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use sha2::Sha256;

use crate::client::sign::Service;
use crate::client::{Connection, Endpoint, Limit, PayloadMode, Payloads, Request, Stock, drive};
use crate::process::usage::thread_cpu;
use crate::run::{Failure, Phase};
use crate::s3::case::{Case, ROW, Work};

/// Length of the pieces of a body that are hashed and written: a multiple of [`PAGE_BYTES`].
const PIECE_BYTES: usize = 256 << 10;
/// Alignment of what is written past the page cache.
const PAGE_BYTES: usize = 4 << 10;
/// Room for the head of a request without a body.
const HEAD_BYTES: usize = 8 << 10;
/// Limit of bytes that a round writes or reads.
const ROUND_BYTES_MAX: u64 = 1 << 30;

/// Everything that the server does for a request.
enum Answer {
    /// This answer, whatever was asked.
    Fixed(Vec<u8>),
    /// An empty answer, when the body is in files with this path and the number of the connection.
    Received(PathBuf),
}

/// True for rows that are compared with this server.
pub(super) fn serves(case: &Case) -> bool {
    match case.work {
        Work::Get { bytes } => bytes < PIECE_BYTES,
        Work::Head { existing: true } | Work::Multipart { .. } => true,
        Work::Put { bytes, .. } => bytes >= PIECE_BYTES && case.clients > 1,
        _ => false,
    }
}

/// Measures a row at this server. `path` is free for its files.
pub(super) async fn measure(
    case: &Case,
    path: &Path,
    stock: &Stock,
    time: Duration,
) -> Result<Phase, Failure> {
    let (clients, payloads) = (case.clients, stock.of(case.work.bytes_max()));
    let answer = match case.work {
        Work::Get { .. } => Answer::Fixed(fixed(&payloads.of(0).bytes)),
        Work::Head { .. } => Answer::Fixed(fixed(&[])),
        _ => Answer::Received(path.to_owned()),
    };
    let server = Running::start(answer, clients)?;
    let endpoint = Arc::new(Endpoint {
        host: server.address.clone(),
        others: Vec::new(),
        access_key: "access".to_owned(),
        secret_key: "secret".to_owned(),
        region: "us-east-1".to_owned(),
    });
    let client = || Connection::new(Arc::clone(&endpoint), PayloadMode::Signed, Service::S3);
    let mut connections: Vec<Connection> = (0..clients).map(|_| client()).collect();
    let operation = async |connection: &mut Connection, number| {
        operate(connection, case.work, &payloads, number).await
    };
    let moved = case.work.bytes_moved().max(1) as u64;
    let operations_min = 3.max(clients as u64);
    let operations_max = (ROUND_BYTES_MAX / moved).max(operations_min);
    let limit = Limit { time, operations_min, operations_max };
    let warmed = drive(&mut connections, Limit::count(clients as u64), operation).await;
    let driven = drive(&mut connections, limit, operation).await;
    drop(connections);
    // The connections are closed by tasks of this thread, so it must not wait for the server's.
    let cpu = tokio::task::spawn_blocking(move || server.stop()).await??;
    let share = driven.begun as f64 / (warmed.begun + driven.begun).max(1) as f64;
    warmed.first_failure()?;
    Ok(driven.phase(ROW, Some(cpu.mul_f64(share))))
}

/// An answer with this body, or to HEAD without any.
fn fixed(body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

async fn operate(
    connection: &mut Connection,
    work: Work,
    payloads: &Payloads,
    number: u64,
) -> Result<(), Failure> {
    let path = "/bucket/key";
    match work {
        Work::Get { .. } => connection.get(path, &payloads.of(0).bytes).await,
        Work::Head { .. } => connection.head(path, 0, &[]).await,
        Work::Multipart { parts, .. } => {
            connection.tell(Request::new(Method::POST, path), &[200]).await?;
            for part in 0..parts as u64 {
                connection.put(path, payloads.of(number + part), &[]).await?;
            }
            connection.tell(Request::new(Method::POST, path), &[200]).await
        }
        _ => connection.put(path, payloads.of(number), &[]).await,
    }
}

/// The threads of the server.
struct Running {
    address: String,
    threads: Vec<JoinHandle<io::Result<Duration>>>,
}

impl Running {
    fn start(answer: Answer, clients: usize) -> io::Result<Running> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let threads = match answer {
            Answer::Fixed(answer) => vec![thread::spawn(move || answer_all(&listener, &answer))],
            Answer::Received(path) => {
                let connection = |number| {
                    let listener = listener.try_clone()?;
                    let path = path.with_extension(format!("{number}"));
                    Ok(thread::spawn(move || {
                        let received = receive(listener.accept()?.0, &path);
                        let _ = std::fs::remove_file(&path);
                        received
                    }))
                };
                (0..clients).map(connection).collect::<io::Result<_>>()?
            }
        };
        Ok(Running { address, threads })
    }

    /// The processor time of all threads, once all connections are closed.
    fn stop(self) -> io::Result<Duration> {
        // A connection that says nothing ends a thread that still waits for one.
        for _ in &self.threads {
            drop(TcpStream::connect(&self.address));
        }
        let panicked = |_| io::Error::other("a thread of the bare server has panicked");
        let mut ended = self.threads.into_iter().map(|thread| thread.join().map_err(panicked)?);
        ended.try_fold(Duration::ZERO, |sum, time| Ok(sum + time?))
    }
}

/// Answers requests without a body on any number of connections, until one is closed before its
/// first request. Returns the processor time of the thread.
fn answer_all(listener: &TcpListener, answer: &[u8]) -> io::Result<Duration> {
    let mut open: Vec<(TcpStream, bool)> = Vec::new();
    let mut head = [0; HEAD_BYTES];
    loop {
        let mut polled: Vec<PollFd<'_>> = vec![PollFd::new(listener, PollFlags::IN)];
        polled.extend(open.iter().map(|(stream, _)| PollFd::new(stream, PollFlags::IN)));
        poll(&mut polled, None)?;
        let mut ready = polled.iter().map(|it| !it.revents().is_empty()).collect::<Vec<_>>();
        let is_new = ready.remove(0);
        // From behind, so that a removal moves none that is still to come.
        for at in (0..ready.len()).rev().filter(|at| ready[*at]) {
            let (stream, has_asked) = &mut open[at];
            match stream.read(&mut head)? {
                0 if *has_asked => drop(open.swap_remove(at)),
                0 => return Ok(thread_cpu()),
                read if head[..read].ends_with(b"\r\n\r\n") => {
                    *has_asked = true;
                    stream.write_all(answer)?;
                }
                _ => {}
            }
        }
        if is_new {
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            open.push((stream, false));
        }
    }
}

/// Receives bodies on one connection until it is closed: each is hashed, written past the page
/// cache and synced before it is answered. Returns the processor time of the thread.
fn receive(mut stream: TcpStream, path: &Path) -> io::Result<Duration> {
    stream.set_nodelay(true)?;
    let file = uncached(path)?;
    let mut room = vec![0; PIECE_BYTES + PAGE_BYTES];
    let start = room.as_ptr().align_offset(PAGE_BYTES);
    let piece = &mut room[start..start + PIECE_BYTES];
    let mut filled = 0;
    loop {
        let end = loop {
            let found = piece[..filled].windows(4).position(|bytes| bytes == b"\r\n\r\n");
            if let Some(place) = found {
                break place + 4;
            }
            match stream.read(&mut piece[filled..])? {
                0 => return Ok(thread_cpu()),
                read => filled += read,
            }
        };
        let mut left = content_length(&piece[..end]);
        piece.copy_within(end..filled, 0);
        filled -= end;
        let (mut md5, mut sha256, mut offset) = (Md5::new(), Sha256::new(), 0);
        while left > 0 {
            let bytes = left.min(PIECE_BYTES);
            while filled < bytes {
                match stream.read(&mut piece[filled..])? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => filled += read,
                }
            }
            // The ETag, and the hash that the client has signed.
            md5.update(&piece[..bytes]);
            sha256.update(&piece[..bytes]);
            file.write_all_at(&piece[..bytes.next_multiple_of(PAGE_BYTES)], offset)?;
            (left, offset) = (left - bytes, offset + bytes as u64);
            piece.copy_within(bytes..filled, 0);
            filled -= bytes;
        }
        if offset > 0 {
            std::hint::black_box((md5.finalize(), sha256.finalize()));
            file.sync_data()?;
        }
        stream.write_all(&fixed(&[]))?;
    }
}

/// A file whose writes go past the page cache, if the file system can do that.
fn uncached(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).write(true).truncate(true);
    let direct = options.clone().custom_flags(OFlags::DIRECT.bits() as i32).open(path);
    direct.or_else(|_| options.open(path))
}

/// The length of the body behind a head of the benchmark's client; 0 without one.
fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head);
    let lines = head.lines().filter_map(|line| line.strip_prefix("content-length: "));
    lines.filter_map(|length| length.parse().ok()).next().unwrap_or(0)
}
