//! Group sync: one sync of a directory for many blobs.

use std::io;

use liteio_disk::Disk;
use parking_lot::{Condvar, Mutex};

/// Groups the syncs of one directory.
///
/// A sync covers the names that existed when it *began*. So any sync that begins after a call covers it;
/// callers that arrive while one is running wait for the next one, which then covers them all.
#[derive(Debug, Default)]
pub(super) struct DirectorySync {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// Syncs begun so far.
    begun: u64,
    /// The last sync that succeeded.
    succeeded: u64,
    is_running: bool,
}

impl DirectorySync {
    /// Makes every name durable that was in the directory `path` before the call.
    ///
    /// # Errors
    /// As [`Disk::sync_dir`]. A failure is the result of the caller that ran the sync; those that waited
    /// for it try again, which a poisoned disk refuses.
    pub(super) fn sync(&self, disk: &dyn Disk, path: &str) -> io::Result<()> {
        let mut progress = self.progress.lock();
        let needed = progress.begun + 1;
        while progress.succeeded < needed {
            if progress.is_running {
                self.changed.wait(&mut progress);
                continue;
            }
            progress.begun += 1;
            progress.is_running = true;
            let current = progress.begun;
            drop(progress);
            let result = disk.sync_dir(path);
            progress = self.progress.lock();
            progress.is_running = false;
            if result.is_ok() {
                progress.succeeded = current;
            }
            self.changed.notify_all();
            result?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use liteio_disk::{DirEntry, DiskFile, Fault, Health, OpenMode, SimulatedDisk};

    use super::super::contract::{check_reads_back, seal};
    use super::super::{BlobError, BlobStore, FileBlobStore, SealedBlob};
    use super::*;
    use crate::Durability;

    /// Counts the syncs of directories and holds each until others are waiting for the next.
    #[derive(Debug)]
    struct SlowSyncDisk {
        disk: SimulatedDisk,
        syncs: AtomicU64,
        links: AtomicU64,
        /// Links that the first sync waits for, before it ends.
        links_awaited: u64,
    }

    impl Disk for SlowSyncDisk {
        fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
            self.disk.open(path, mode)
        }
        fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
            self.disk.create_temporary()
        }
        fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()> {
            self.disk.link(file, path)?;
            self.links.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.disk.rename(from, to)
        }
        fn remove(&self, path: &str) -> io::Result<()> {
            self.disk.remove(path)
        }
        fn create_dir(&self, path: &str) -> io::Result<()> {
            self.disk.create_dir(path)
        }
        fn sync_dir(&self, path: &str) -> io::Result<()> {
            if self.links.load(Ordering::SeqCst) == 0 {
                // Opening the store.
                return self.disk.sync_dir(path);
            }
            // What was linked by now is covered; what comes while this waits is not.
            self.disk.sync_dir(path)?;
            if self.syncs.fetch_add(1, Ordering::SeqCst) == 0 {
                while self.links.load(Ordering::SeqCst) < self.links_awaited {
                    thread::yield_now();
                }
            }
            Ok(())
        }
        fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
            self.disk.list(path)
        }
        fn free_bytes(&self) -> io::Result<u64> {
            self.disk.free_bytes()
        }
        fn health(&self) -> &Health {
            self.disk.health()
        }
    }

    #[test]
    fn seals_at_the_same_time_share_a_sync_that_begins_after_their_link() {
        const WRITERS: u8 = 16;
        let disk = Arc::new(SlowSyncDisk {
            disk: SimulatedDisk::new(1),
            syncs: AtomicU64::new(0),
            links: AtomicU64::new(0),
            links_awaited: u64::from(WRITERS),
        });
        let store = open(Arc::clone(&disk) as Arc<dyn Disk>);
        let sealed: Vec<SealedBlob> = thread::scope(|scope| {
            let store = &store;
            let run = |seed: u8| scope.spawn(move || seal(store, seed, &[seed; 10]));
            let writers: Vec<_> = (0..WRITERS).map(run).collect();
            writers.into_iter().map(|writer| writer.join().expect("no panic")).collect()
        });
        let syncs = disk.syncs.load(Ordering::SeqCst);
        // The first serves those that were linked before it began; all others share the second, or, for
        // one that was about to ask while the second began, the third.
        assert!((2..=u64::from(WRITERS) / 2).contains(&syncs), "{syncs} syncs");
        let after = open(Arc::new(disk.disk.crash()));
        for sealed in sealed {
            check_reads_back(&after, sealed, &[sealed.id.0[1]; 10]);
        }
    }

    #[test]
    fn a_failed_sync_fails_every_seal_that_is_not_durable() {
        const WRITERS: u8 = 8;
        for seed in 0..50 {
            let disk = SimulatedDisk::new(seed);
            let store = open(Arc::new(disk.clone()));
            // Each seal has six operations; the fault falls on any of their syncs.
            disk.set_fault(disk.operations() + seed % 48, Fault::FailedSync);
            let results: Vec<Result<SealedBlob, BlobError>> = thread::scope(|scope| {
                let run = |seed: u8| {
                    let store = &store;
                    scope.spawn(move || {
                        let mut writer = store.begin(store.next_id([seed; 16]), None)?;
                        writer.append(&[seed; 10])?;
                        writer.seal(false).map(|it| it.blob)
                    })
                };
                let writers: Vec<_> = (0..WRITERS).map(run).collect();
                writers.into_iter().map(|writer| writer.join().expect("no panic")).collect()
            });
            let after = open(Arc::new(disk.crash()));
            for result in results {
                match result {
                    Ok(sealed) => check_reads_back(&after, sealed, &[sealed.id.0[1]; 10]),
                    Err(error) => {
                        assert!(matches!(error, BlobError::Poisoned { .. }), "seed {seed}: {error}")
                    }
                }
            }
        }
    }

    fn open(disk: Arc<dyn Disk>) -> FileBlobStore {
        FileBlobStore::open(disk, Durability::Fsync, 0).expect("opened")
    }
}
