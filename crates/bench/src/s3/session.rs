//! One target while it is measured: its connections, the fixed objects in it, the next free number.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::api::{DELETE_KEYS_MAX, path};
use super::case::{KeyShape, Listing, SCALE_BYTES, Work};
use crate::client::sign::Service;
use crate::client::{Connection, Endpoint, Limit, PayloadMode, Payloads, Pool, drive};
use crate::run::Failure;

/// The bucket of everything but listings.
pub(crate) const BUCKET: &str = "bench";
/// Clients that prepare and clean up.
const HELPERS: usize = 8;

/// The bodies of all sizes that a run needs.
#[derive(Debug)]
pub(crate) struct Stock {
    sizes: BTreeMap<usize, Rc<Payloads>>,
}

/// A target that answers.
#[derive(Debug)]
pub(crate) struct Session {
    endpoint: Arc<Endpoint>,
    mode: PayloadMode,
    service: Service,
    stock: Rc<Stock>,
    connections: Vec<Connection>,
    /// The number of the next new object.
    next: Cell<u64>,
    /// Fixed objects, listings and scale sets that are there.
    fixed: HashSet<String>,
    /// Bytes of all bodies that were put, measured or not.
    pub(crate) bytes_put: Cell<u64>,
}

impl Stock {
    /// The bodies of these sizes, and those that every run needs.
    pub(crate) fn new(sizes: impl IntoIterator<Item = usize>, mode: PayloadMode) -> Stock {
        let mut sizes: Vec<usize> = sizes.into_iter().collect();
        sizes.extend([SCALE_BYTES, 1 << 10]);
        let pool = Pool::new(sizes.iter().copied().max().unwrap_or(0));
        let payloads = |bytes: usize| {
            let payloads = pool.payloads(bytes);
            if mode != PayloadMode::Unsigned {
                payloads.compute_hashes(mode == PayloadMode::Streaming);
            }
            (bytes, Rc::new(payloads))
        };
        Stock { sizes: sizes.into_iter().map(payloads).collect() }
    }

    /// The bodies of a size.
    pub(crate) fn of(&self, bytes: usize) -> Rc<Payloads> {
        Rc::clone(self.sizes.get(&bytes).expect("the stock was made for all rows"))
    }
}

impl Session {
    pub(crate) fn new(endpoint: Arc<Endpoint>, mode: PayloadMode, stock: Rc<Stock>) -> Session {
        Session {
            endpoint,
            mode,
            service: Service::S3,
            stock,
            connections: Vec::new(),
            next: Cell::new(0),
            fixed: HashSet::new(),
            bytes_put: Cell::new(0),
        }
    }

    /// From now on it speaks to another service of the target.
    pub(crate) fn speak(&mut self, service: Service) {
        self.service = service;
        self.connections.clear();
    }

    /// The bodies of a size.
    pub(crate) fn payloads(&self, bytes: usize) -> Rc<Payloads> {
        self.stock.of(bytes)
    }

    /// So many connections, those that are open first.
    pub(crate) fn connections(&mut self, count: usize) -> &mut [Connection] {
        while self.connections.len() < count {
            self.connections.push(Connection::new(
                Arc::clone(&self.endpoint),
                self.mode,
                self.service,
            ));
        }
        &mut self.connections[..count]
    }

    /// Closes all connections but the first, so that a row does not find the idle ones of another.
    pub(crate) fn close_others(&mut self) {
        self.connections.truncate(1);
    }

    /// Takes so many numbers for new objects and returns the first.
    pub(crate) fn take_numbers(&self, count: u64) -> u64 {
        let first = self.next.get();
        self.next.set(first + count);
        first
    }

    /// Waits until the target stores an object and gives it back.
    pub(crate) async fn ready(&mut self, time: Duration) -> Result<(), Failure> {
        let deadline = Instant::now() + time;
        let payloads = self.payloads(1 << 10);
        let key = path(BUCKET, "ready");
        let connection = &mut self.connections(1)[0];
        loop {
            let attempt = async {
                connection.list_buckets().await?;
                if connection.head_bucket(BUCKET).await.is_err() {
                    connection.create_bucket(BUCKET).await?;
                }
                connection.put(&key, payloads.of(0), &[]).await?;
                connection.get(&key, &payloads.of(0).bytes).await?;
                connection.delete(&key).await
            };
            match attempt.await {
                Ok(()) => return Ok(()),
                Err(failure) if Instant::now() >= deadline => return Err(failure),
                Err(_) => tokio::time::sleep(Duration::from_millis(25)).await,
            }
        }
    }

    /// Puts the fixed objects that a row reads, unless they are there.
    pub(crate) async fn prepare(&mut self, work: Work) -> Result<(), Failure> {
        match work {
            Work::Get { bytes }
            | Work::Range { of: bytes, .. }
            | Work::Copy { bytes }
            | Work::Mixed { bytes, .. } => self.prepare_objects(bytes).await,
            Work::Head { existing: true } => self.prepare_objects(1 << 10).await,
            Work::List(listing) => self.prepare_listing(listing).await,
            _ => Ok(()),
        }
    }

    async fn prepare_objects(&mut self, bytes: usize) -> Result<(), Failure> {
        let name = format!("objects {bytes}");
        if self.fixed.contains(&name) {
            return Ok(());
        }
        let keys = (0..fixed_count(bytes)).map(|number| path(BUCKET, &fixed_key(bytes, number)));
        self.put_all(keys.collect(), bytes).await?;
        self.fixed.insert(name);
        Ok(())
    }

    async fn prepare_listing(&mut self, listing: Listing) -> Result<(), Failure> {
        let bucket = listing_bucket(listing);
        if self.fixed.contains(&bucket) {
            return Ok(());
        }
        self.connections(1)[0].create_bucket(&bucket).await?;
        let keys = (0..listing.keys).map(|number| match listing.folders {
            0 => path(&bucket, &format!("key-{number:06}")),
            folders => path(&bucket, &format!("folder-{:03}/key-{number:06}", number % folders)),
        });
        self.put_all(keys.collect(), SCALE_BYTES).await?;
        self.fixed.insert(bucket);
        Ok(())
    }

    /// Puts an object under each path, the n-th with the n-th body.
    pub(crate) async fn put_all(
        &mut self,
        paths: Vec<String>,
        bytes: usize,
    ) -> Result<(), Failure> {
        let payloads = self.payloads(bytes);
        self.bytes_put.set(self.bytes_put.get() + (bytes * paths.len()) as u64);
        let limit = Limit::count(paths.len() as u64);
        let driven = drive(self.connections(HELPERS), limit, async |connection, number| {
            connection.put(&paths[number as usize], payloads.of(number), &[]).await
        });
        driven.await.first_failure()
    }

    /// Notes that the objects of a scale row are there. Returns whether they were before.
    pub(crate) fn scale_is_there(&mut self, prefix: &str) -> bool {
        !self.fixed.insert(prefix.to_owned())
    }

    pub(crate) fn scale_is_gone(&mut self, prefix: &str) {
        self.fixed.remove(prefix);
    }

    /// Deletes objects, as fast as the target can. A failure leaves them: nothing depends on it.
    pub(crate) async fn remove_all(&mut self, keys: &[String]) {
        let batches: Vec<&[String]> = keys.chunks(DELETE_KEYS_MAX).collect();
        let limit = Limit::count(batches.len() as u64);
        let driven = drive(self.connections(2), limit, async |connection, number| {
            connection.delete_many(BUCKET, batches[number as usize]).await
        });
        if driven.await.errors > 0 {
            let limit = Limit::count(keys.len() as u64);
            let driven = drive(self.connections(HELPERS), limit, async |connection, number| {
                connection.delete(&path(BUCKET, &keys[number as usize])).await
            });
            driven.await;
        }
    }
}

/// The number of fixed objects of a size: enough not to read one and the same, few enough for
/// the slowest target.
pub(crate) fn fixed_count(bytes: usize) -> u64 {
    match bytes {
        0..=65_536 => 128,
        65_537..=1_048_576 => 16,
        1_048_577..=10_485_760 => 4,
        _ => 1,
    }
}

/// The key of a fixed object.
pub(crate) fn fixed_key(bytes: usize, number: u64) -> String {
    format!("fixed/{bytes}/{number:04}")
}

/// The bucket of a listing: those with the same keys share it.
pub(crate) fn listing_bucket(listing: Listing) -> String {
    format!("bench-list-{}-{}", listing.keys, listing.folders)
}

/// The key of a new object.
pub(crate) fn new_key(shape: KeyShape, number: u64) -> String {
    match shape {
        KeyShape::Plain => format!("new/{number:09}"),
        // One segment, short enough for servers that make a file name of it.
        KeyShape::Long => format!("new/{}/{number:09}", "k".repeat(242)),
        KeyShape::Unicode => format!("neu/Grüße-Ελλάδα-日本語-🦀/{number:09}"),
        KeyShape::Deep => {
            let folders: Vec<String> = (1..=20).map(|depth| format!("folder-{depth}")).collect();
            format!("new/{}/{number:09}", folders.join("/"))
        }
    }
}

/// So many entries of user metadata.
pub(crate) fn metadata(entries: usize) -> Vec<(String, String)> {
    let entry =
        |number| (format!("x-amz-meta-entry-{number:02}"), format!("value of entry {number}"));
    (0..entries).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_their_rows_say() {
        assert_eq!(new_key(KeyShape::Long, 7).len(), 256);
        assert_eq!(new_key(KeyShape::Deep, 7).matches('/').count(), 21);
        assert!(!new_key(KeyShape::Unicode, 7).is_ascii());
        assert_eq!(metadata(20).len(), 20);
    }
}
