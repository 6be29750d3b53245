//! Clients that write while the server is killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::restored::{contents, fill};
use super::{ROOT, Served, directory, location, now_ms, serve_restored};
use crate::harness::RawRequest;

/// Clients, each with keys of its own.
const CLIENTS: u64 = 4;
/// Keys of a client, which it replaces and deletes in turn.
const KEYS: u64 = 5;
/// Sizes of objects: in the record, in a segment, in a file.
const SIZES: [usize; 3] = [100, 20 << 10, 2 << 20];
/// Writes of all clients, before and after the moment that is waited for.
const WRITES: u64 = 60;

/// A write of a key: the object that is there after it, and the time of its answer, if it had one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) number: u64,
    pub(super) is_delete: bool,
    answered_ms: Option<u64>,
}

/// The object of a write: its size by its number, its bytes by both.
pub(super) fn object(client: u64, number: u64) -> Vec<u8> {
    let size = SIZES[number as usize % SIZES.len()];
    let mark = format!("{client} {number} ");
    mark.bytes().cycle().take(size).collect()
}

/// Writes until the server answers no more. Returns the writes of each key, in order.
pub(super) async fn write(
    address: std::net::SocketAddr,
    client: u64,
    written: Arc<AtomicU64>,
) -> BTreeMap<String, Vec<Write>> {
    let mut writes: BTreeMap<String, Vec<Write>> = BTreeMap::new();
    for number in 0.. {
        let path = format!("/photos/{client}-{}", number % KEYS);
        let is_delete = number % 7 == 6;
        let method = if is_delete { "DELETE" } else { "PUT" };
        let request = RawRequest::of_s3(address, "us-east-1", method, &path).by(ROOT);
        let body = if is_delete { Vec::new() } else { object(client, number) };
        let reply = request.body(body).try_send().await;
        let is_answered = reply.is_some_and(|reply| matches!(reply.status, 200 | 204));
        let answered_ms = is_answered.then(now_ms);
        writes.entry(path).or_default().push(Write { number, is_delete, answered_ms });
        if !is_answered {
            break;
        }
        written.fetch_add(1, Ordering::Relaxed);
    }
    writes
}

/// Waits until so many writes have been made.
pub(super) async fn until(written: &AtomicU64, count: u64) {
    while written.load(Ordering::Relaxed) < count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn everything_acknowledged_before_the_kept_moment_survives_the_loss_of_the_directory() {
    let directory = directory();
    let location = location(&directory);
    let server = Served::backed_up(&directory, "data", &["--backup", &location]);
    fill(&server).await;
    let before = contents(&server).await;
    server.put("/photos", "").await;
    let written = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(write(server.address, client, Arc::clone(&written))))
        .collect();
    until(&written, WRITES).await;
    let kept_ms = server.kept().await;
    until(&written, written.load(Ordering::Relaxed) + WRITES).await;
    let kept_ms = server.kept_ms().await.expect("a base").max(kept_ms);
    server.running.signal("KILL");
    let mut writes = BTreeMap::new();
    for (client, task) in (0..CLIENTS).zip(clients) {
        let of_client = task.await.expect("no panic");
        writes.extend(of_client.into_iter().map(|(path, of_key)| (path, (client, of_key))));
    }
    std::fs::remove_dir_all(directory.path().join("data")).expect("lost");

    let restored = serve_restored(&directory, &location, &[]);
    assert!(contents(&restored).await == before, "what was there at first");
    let mut kept = 0;
    for (path, (client, of_key)) in writes {
        let is_kept = |it: &&Write| it.answered_ms.is_some_and(|answered| answered < kept_ms);
        let newest = of_key.iter().rev().find(is_kept).map(|it| it.number);
        kept += of_key.iter().filter(is_kept).count();
        let reply = restored.get(&path).await;
        // The newest write before the moment, or a later one.
        let allowed = of_key.iter().filter(|it| newest.is_none_or(|newest| it.number >= newest));
        let is_found = |it: &Write| match (it.is_delete, reply.status) {
            (true, 404) => true,
            (false, 200) => reply.body == object(client, it.number),
            _ => false,
        };
        let is_allowed = allowed.clone().any(is_found) || newest.is_none() && reply.status == 404;
        let found = String::from_utf8_lossy(&reply.body[..reply.body.len().min(20)]).into_owned();
        assert!(is_allowed, "{path}: {} {found} of {of_key:?}", reply.status);
    }
    assert!(kept as u64 >= WRITES, "{kept} writes before the moment");
    restored.end();
}
