//! [`Traffic`]: counters of the bytes that clients sent to and received from each bucket.
//!
//! Only names of existing buckets are counted, and at most [`BUCKETS_MAX`] of them. The names are in
//! shards, each under a lock that requests take for reading only, unless a bucket is new.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_wire::front::Finished;
use liteio_wire::origin::MAIN_SPACE;
use parking_lot::RwLock;

/// Limit of the names of one shard: 16,384 in all, about 3 MB. Further buckets share a counter.
const BUCKETS_MAX: usize = 16_384 / SHARDS;
const SHARDS: usize = 16;

/// Bytes of bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// Bytes of request bodies.
    pub(super) received: u64,
    /// Bytes of response bodies.
    pub(super) sent: u64,
}

/// The counters of one bucket.
#[derive(Debug, Default)]
struct Cell {
    received: AtomicU64,
    sent: AtomicU64,
}

type Shard = RwLock<HashMap<Box<str>, Cell>>;

/// The counters of all buckets.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    hasher: RandomState,
    shards: [Shard; SHARDS],
    rest: Cell,
}

impl Traffic {
    /// Counts a request to an existing bucket of the main space.
    pub(super) fn finished(&self, finished: &Finished<'_>) {
        let found = &finished.origin.found;
        let is_of_main = found.locale().is_none_or(|locale| locale.space == MAIN_SPACE);
        // The owner is known once the name is resolved. Buckets of vectors have other names.
        if found.owner().is_none() || found.vectors().is_some() || !is_of_main {
            return;
        }
        self.count(finished.origin.target.bucket(), finished.bytes_in, finished.bytes_out);
    }

    fn count(&self, bucket: &str, received: u64, sent: u64) {
        if received == 0 && sent == 0 {
            return;
        }
        let shard = &self.shards[self.hasher.hash_one(bucket) as usize % SHARDS];
        if let Some(cell) = shard.read().get(bucket) {
            cell.add(received, sent);
            return;
        }
        let mut shard = shard.write();
        if shard.len() >= BUCKETS_MAX && !shard.contains_key(bucket) {
            self.rest.add(received, sent);
        } else {
            shard.entry(bucket.into()).or_default().add(received, sent);
        }
    }

    /// The bytes of each bucket that `exists`, and of the others together. Forgets deleted ones.
    pub(super) fn figures(&self, exists: impl Fn(&str) -> bool) -> (HashMap<String, Moved>, Moved) {
        let mut all = HashMap::new();
        for shard in &self.shards {
            let mut shard = shard.write();
            shard.retain(|name, _| exists(name));
            all.extend(shard.iter().map(|(name, cell)| (name.to_string(), cell.moved())));
        }
        (all, self.rest.moved())
    }
}

impl Cell {
    fn add(&self, received: u64, sent: u64) {
        self.received.fetch_add(received, Ordering::Relaxed);
        self.sent.fetch_add(sent, Ordering::Relaxed);
    }

    fn moved(&self) -> Moved {
        let (received, sent) = (&self.received, &self.sent);
        Moved { received: received.load(Ordering::Relaxed), sent: sent.load(Ordering::Relaxed) }
    }
}

impl Moved {
    pub(super) fn plus(self, more: Moved) -> Moved {
        Moved {
            received: self.received.saturating_add(more.received),
            sent: self.sent.saturating_add(more.sent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_by_bucket_and_deleted_buckets_forgotten() {
        let traffic = Traffic::default();
        traffic.count("photos", 4, 0);
        traffic.count("photos", 0, 10);
        traffic.count("gone", 1, 1);
        traffic.count("silent", 0, 0);
        let (of, rest) = traffic.figures(|name| name != "gone");
        assert_eq!(of, HashMap::from([("photos".to_owned(), Moved { received: 4, sent: 10 })]));
        assert_eq!(rest, Moved::default());
        traffic.count("gone", 2, 2);
        let (of, _) = traffic.figures(|_| true);
        assert_eq!(of["gone"], Moved { received: 2, sent: 2 }, "a new bucket of that name");
    }

    #[test]
    fn names_have_a_limit_and_bytes_none() {
        let traffic = Traffic::default();
        let count = 2 * BUCKETS_MAX * SHARDS;
        for number in 0..count {
            traffic.count(&format!("bucket-{number}"), 1, 0);
        }
        let (of, rest) = traffic.figures(|_| true);
        assert!(of.len() <= BUCKETS_MAX * SHARDS, "{}", of.len());
        assert_eq!(of.len() as u64 + rest.received, count as u64);
    }
}
