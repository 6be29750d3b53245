//! Servers that are started for a single figure.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use bytes::Bytes;
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::rows::{AT_REST, CONNECTION, LIST_KEYS, LIST_PREFIXES, RESTART};
use crate::client::sign::Service;
use crate::client::{
    Connection, Endpoint, Expect, Limit, Payload, PayloadMode, Request, Stock, drive,
};
use crate::process::Process;
use crate::run::metrics::{MEMORY, MEMORY_PEAK, THROUGHPUT};
use crate::run::{Failure, Phase};
use crate::s3::case::ROW;
use crate::s3::rival::{Rival, Site};
use crate::s3::session::{BUCKET, Session};

/// Number of clients that fill a server.
pub(super) const FILLERS: usize = 64;
/// Number of keys in each folder of a full server, and in a page of a listing.
const FOLDER_KEYS: usize = 1_000;
/// Number of measured listings.
const LISTINGS: u64 = 50;

/// A server that answers.
pub(super) struct Fresh {
    process: Process,
    endpoint: Arc<Endpoint>,
    /// Time from its start to the first byte of its first answer. A connection alone tells nothing: a server may listen
    /// before it has read its log.
    ready: Duration,
}

impl Fresh {
    pub(super) async fn start(rival: &Rival, directory: &Path) -> Result<Fresh, Failure> {
        fs::create_dir_all(directory)?;
        let site = Site::new(rival, directory.to_owned())?;
        let launch = rival.launch(&site)?;
        let endpoint = Arc::new(site.endpoint());
        let begin = Instant::now();
        let mut process = launch.start(directory, &directory.join("output.log"))?;
        while first_answer(&endpoint.host).await.is_err() {
            if let Some(ended) = process.ended() {
                return Err(ended.into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Fresh { process, endpoint, ready: begin.elapsed() })
    }

    /// A session with empty bodies. The bucket exists.
    pub(super) async fn session(&self) -> Result<Session, Failure> {
        let mode = PayloadMode::Unsigned;
        let stock = Rc::new(Stock::new([0], mode));
        let mut session = Session::new(Arc::clone(&self.endpoint), mode, stock);
        session.ready(Duration::from_secs(10)).await?;
        Ok(session)
    }
}

/// Asks for anything, and waits for the first byte of the answer.
async fn first_answer(host: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.read_u8().await.map(drop)
}

/// The start of a server without data.
pub(super) async fn start(rival: &Rival, directory: &Path) -> Result<Vec<Phase>, Failure> {
    let fresh = Fresh::start(rival, directory).await?;
    let mut phase = Phase::new(ROW);
    phase.add(1, fresh.ready);
    Ok(vec![phase])
}

/// The start after `kill -9` with many objects, and listings of them.
pub(super) async fn many(
    rival: &Rival,
    directory: &Path,
    objects: usize,
) -> Result<Vec<Phase>, Failure> {
    let filled = Fresh::start(rival, directory).await?;
    let mut session = filled.session().await?;
    let empty = session.payloads(0);
    let limit = Limit::count(objects as u64);
    let filling = drive(session.connections(FILLERS), limit, async |connection, number| {
        let (folder, key) = (number as usize / FOLDER_KEYS, number as usize % FOLDER_KEYS);
        connection.put(&format!("/{BUCKET}/{folder:03}/{key:03}"), empty.of(number), &[]).await
    });
    filling.await.first_failure()?;
    drop(filled);
    let again = Fresh::start(rival, directory).await?;
    let mut restart = Phase::new(RESTART);
    restart.add(1, again.ready);
    let mut session = again.session().await?;
    let middle = objects / FOLDER_KEYS / 2;
    let keys = format!("list-type=2&start-after={middle:03}%2F500");
    let folders = (objects / FOLDER_KEYS).min(FOLDER_KEYS);
    let mut phases = vec![restart];
    for (id, query, element, expected) in [
        (LIST_KEYS, keys.as_str(), "<Key>", FOLDER_KEYS),
        (LIST_PREFIXES, "delimiter=%2F&list-type=2", "<CommonPrefixes>", folders),
    ] {
        let limit = Limit::count(LISTINGS);
        let driven = drive(session.connections(1), limit, async |connection, _| {
            let path = format!("/{BUCKET}");
            let request = Request { query, ..Request::new(Method::GET, &path) };
            let answer = connection.send(request, &[200], Expect::Text).await?;
            match answer.text.matches(element).count() {
                found if found == expected => Ok(()),
                found => Err(format!("{found} of {element} instead of {expected}").into()),
            }
        });
        phases.push(driven.await.phase(id, None));
    }
    Ok(phases)
}

/// Memory of an idle server, and of each connection to it.
pub(super) async fn idle(
    rival: &Rival,
    directory: &Path,
    connections: usize,
) -> Result<Vec<Phase>, Failure> {
    let fresh = Fresh::start(rival, directory).await?;
    let live = "/_liteio/health/live";
    let mut open: Vec<Connection> = Vec::new();
    let mut at_rest = 0;
    for number in 0..=connections {
        let endpoint = Arc::clone(&fresh.endpoint);
        let mut connection = Connection::new(endpoint, PayloadMode::Unsigned, Service::S3);
        connection.send(Request::new(Method::GET, live), &[200], Expect::Anything).await?;
        open.push(connection);
        if number == 0 {
            at_rest = fresh.process.usage().memory_own_bytes;
        }
    }
    let grown = fresh.process.usage().memory_own_bytes.saturating_sub(at_rest);
    let phase = |id: &str, bytes: f64| {
        let mut phase = Phase::new(id);
        phase.add(1, Duration::ZERO);
        phase.value(MEMORY, bytes);
        phase
    };
    let each = grown as f64 / connections.max(1) as f64;
    Ok(vec![phase(AT_REST, at_rest as f64), phase(CONNECTION, each)])
}

/// Peak memory while clients upload large bodies, each in one request.
pub(super) async fn uploads(
    rival: &Rival,
    directory: &Path,
    clients: usize,
    mebibytes: usize,
) -> Result<Vec<Phase>, Failure> {
    let fresh = Fresh::start(rival, directory).await?;
    let mut session = fresh.session().await?;
    let body = Payload::repeated(Bytes::from(vec![7; 1 << 20]), mebibytes);
    let limit = Limit::count(clients as u64);
    let driven = drive(session.connections(clients), limit, async |connection, number| {
        connection.put(&format!("/{BUCKET}/upload-{number}"), &body, &[]).await
    });
    let driven = driven.await;
    let throughput = driven.rate() * (mebibytes << 20) as f64;
    let mut phase = driven.phase(ROW, None);
    phase.value(THROUGHPUT, throughput);
    phase.value(MEMORY_PEAK, fresh.process.usage().memory_peak_bytes as f64);
    Ok(vec![phase])
}
