//! A session with one target: its connections, its fixed objects, the next free number.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::api::{DELETE_KEYS_MAX, path};
use super::case::{KeyShape, Listing, SCALE_BYTES, Work};
use crate::client::sign::Service;
use crate::client::{Connection, Endpoint, Limit, PayloadMode, Payloads, Stock, drive};
use crate::process::evict;
use crate::run::Failure;

/// Bucket of everything except listings.
pub(crate) const BUCKET: &str = "bench";
/// Number of clients that prepare and clean up.
const HELPERS: usize = 8;

/// A target that answers.
#[derive(Debug)]
pub(crate) struct Session {
    endpoint: Arc<Endpoint>,
    mode: PayloadMode,
    service: Service,
    stock: Rc<Stock>,
    connections: Vec<Connection>,
    /// Number of the next new object.
    next: Cell<u64>,
    /// Fixed objects, listings and scale sets that exist.
    pub(crate) fixed: HashSet<String>,
    /// Length of all bodies put, measured or not.
    pub(crate) bytes_put: Cell<u64>,
    /// `Ok` if the target encrypts, or the reason that it does not; `None` while unknown.
    encrypts: Option<Result<(), String>>,
    /// The directory of the target, if the benchmark has started it.
    directory: Option<PathBuf>,
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
            encrypts: None,
            directory: None,
        }
    }

    /// Switches to another service of the target.
    pub(crate) fn speak(&mut self, service: Service) {
        self.service = service;
        self.connections.clear();
    }

    /// Records that the target does not encrypt, whatever it answers.
    pub(crate) fn encrypts_nothing(&mut self, reason: &str) {
        self.encrypts = Some(Err(reason.to_owned()));
    }

    /// Records where the target keeps its data.
    pub(crate) fn is_in(&mut self, directory: &Path) {
        self.directory = Some(directory.to_owned());
    }

    /// Removes the data of the target from the page cache.
    ///
    /// # Errors
    /// The target was not started by the benchmark, or its files cannot be synced.
    pub(crate) fn evict(&self) -> Result<(), Failure> {
        let directory = self.directory.as_deref();
        evict(directory.ok_or("its directory is not known")?).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Asks the target once if it encrypts with a key of its own.
    ///
    /// # Errors
    /// The reason that it does not.
    pub(crate) async fn encrypts(&mut self) -> Result<(), String> {
        if self.encrypts.is_none() {
            let (key, payloads) = (path(BUCKET, "encrypted"), self.payloads(1 << 10));
            let connection = &mut self.connections(1)[0];
            let put = connection.put_encrypted(&key, payloads.of(0)).await;
            // The object may stay: nothing depends on it.
            drop(connection.delete(&key).await);
            self.encrypts = Some(put.map_err(|failure| format!("no SSE-S3: {failure}")));
        }
        self.encrypts.clone().unwrap_or(Ok(()))
    }

    /// The bodies of a size.
    pub(crate) fn payloads(&self, bytes: usize) -> Rc<Payloads> {
        self.stock.of(bytes)
    }

    /// `count` connections, open ones first.
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

    /// Closes all connections but the first, so that a row does not find idle connections of
    /// another row.
    pub(crate) fn close_others(&mut self) {
        self.connections.truncate(1);
    }

    /// Reserves `count` numbers for new objects, and returns the first.
    pub(crate) fn take_numbers(&self, count: u64) -> u64 {
        let first = self.next.get();
        self.next.set(first + count);
        first
    }

    /// Waits until the target stores and returns an object.
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

    /// Puts the fixed objects of a row, unless they exist.
    pub(crate) async fn prepare(&mut self, work: Work) -> Result<(), Failure> {
        match work {
            Work::Get { bytes }
            | Work::Range { of: bytes, .. }
            | Work::Copy { bytes }
            | Work::Mixed { bytes, .. } => self.prepare_objects(bytes).await,
            Work::GetEncrypted { bytes } => self.prepare_encrypted(bytes).await,
            Work::Head { existing: true } => self.prepare_objects(1 << 10).await,
            Work::List(listing) => self.prepare_listing(listing).await,
            Work::PutVersion { .. } => self.prepare_versioned(VERSIONED).await,
            Work::ListVersions { versions } => self.prepare_versions(versions).await,
            _ => Ok(()),
        }
    }

    async fn prepare_objects(&mut self, bytes: usize) -> Result<(), Failure> {
        let keys = (0..fixed_count(bytes)).map(|number| path(BUCKET, &fixed_key(bytes, number)));
        self.put_fixed(&format!("objects {bytes}"), keys.collect(), bytes).await
    }

    async fn prepare_encrypted(&mut self, bytes: usize) -> Result<(), Failure> {
        if self.encrypts().await.is_err() || !self.fixed.insert(format!("encrypted {bytes}")) {
            return Ok(());
        }
        let payloads = self.payloads(bytes);
        for number in 0..fixed_count(bytes) {
            let path = path(BUCKET, &encrypted_key(bytes, number));
            self.connections(1)[0].put_encrypted(&path, payloads.of(number)).await?;
            self.bytes_put.set(self.bytes_put.get() + bytes as u64);
        }
        Ok(())
    }

    /// Makes a bucket with versioning, unless it exists.
    async fn prepare_versioned(&mut self, bucket: &str) -> Result<(), Failure> {
        if self.fixed.insert(bucket.to_owned()) {
            let connection = &mut self.connections(1)[0];
            connection.create_bucket(bucket).await?;
            connection.enable_versioning(bucket).await?;
        }
        Ok(())
    }

    async fn prepare_versions(&mut self, versions: usize) -> Result<(), Failure> {
        self.prepare_versioned(LISTED_VERSIONS).await?;
        let keys = versions / 10;
        let paths =
            (0..versions).map(|number| path(LISTED_VERSIONS, &format!("key-{:06}", number % keys)));
        self.put_fixed(&format!("versions {versions}"), paths.collect(), SCALE_BYTES).await
    }

    async fn prepare_listing(&mut self, listing: Listing) -> Result<(), Failure> {
        let bucket = listing_bucket(listing);
        if !self.fixed.contains(&bucket) {
            self.connections(1)[0].create_bucket(&bucket).await?;
        }
        let keys = (0..listing.keys).map(|number| match listing.folders {
            0 => path(&bucket, &format!("key-{number:06}")),
            folders => path(&bucket, &format!("folder-{:03}/key-{number:06}", number % folders)),
        });
        self.put_fixed(&bucket, keys.collect(), listing.bytes).await
    }

    /// Puts an object under each path, unless the set with this name exists.
    pub(crate) async fn put_fixed(
        &mut self,
        name: &str,
        paths: Vec<String>,
        bytes: usize,
    ) -> Result<(), Failure> {
        if !self.fixed.contains(name) {
            self.put_all(paths, bytes).await?;
            self.fixed.insert(name.to_owned());
        }
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

    /// Deletes objects as fast as the target can. After a failure they stay: nothing depends on it.
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

/// The bucket of new versions.
pub(crate) const VERSIONED: &str = "bench-versioned";
/// The bucket whose versions are listed.
pub(crate) const LISTED_VERSIONS: &str = "bench-list-versions";

/// Number of fixed objects of a size: several, so that reads vary, and few enough for the slowest
/// target.
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

/// The key of a fixed object that is encrypted.
pub(crate) fn encrypted_key(bytes: usize, number: u64) -> String {
    format!("fixed-encrypted/{bytes}/{number:04}")
}

/// Bucket of a listing. Listings with the same keys share it.
pub(crate) fn listing_bucket(listing: Listing) -> String {
    format!("bench-list-{}-{}-{}", listing.keys, listing.folders, listing.bytes)
}

/// The key of a new object.
pub(crate) fn new_key(shape: KeyShape, number: u64) -> String {
    match shape {
        KeyShape::Plain => format!("new/{number:09}"),
        // One segment, short enough for servers that use it as a file name.
        KeyShape::Long => format!("new/{}/{number:09}", "k".repeat(242)),
        KeyShape::Unicode => format!("neu/Grüße-Ελλάδα-日本語-🦀/{number:09}"),
        KeyShape::Deep => {
            let folders: Vec<String> = (1..=20).map(|depth| format!("folder-{depth}")).collect();
            format!("new/{}/{number:09}", folders.join("/"))
        }
    }
}

/// User metadata with this many entries.
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
