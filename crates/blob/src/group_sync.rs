//! Group sync: one sync of a directory or a file for many blobs.

use std::io;

use parking_lot::{Condvar, Mutex};

/// Groups the syncs of one directory or file.
///
/// A sync covers the names or bytes that existed when it *began*. So a sync that begins after a call covers
/// that call. Callers that arrive during a sync wait for the next one, which covers all of them:
///
/// ```text
/// sync 1   |-----------------|
/// caller A     ^ needs 2      |-- sync 2, run by A or B --| both return
/// caller B          ^ needs 2
/// ```
#[derive(Debug, Default)]
pub(super) struct GroupSync {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// Number of syncs begun so far.
    begun: u64,
    /// Number of the last sync that succeeded.
    succeeded: u64,
    is_running: bool,
}

impl GroupSync {
    /// Makes everything durable that was there before the call, by `run` or a `run` of another
    /// caller that began later.
    ///
    /// # Errors
    /// The errors of `run`. A failure is returned to the caller that ran the sync. The others retry,
    /// which a poisoned disk refuses.
    pub(super) fn sync(&self, run: impl Fn() -> io::Result<()>) -> io::Result<()> {
        let mut progress = self.progress.lock();
        // The running sync may have begun before this caller's bytes were there, so it does not count.
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
            let result = run();
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

    use liteio_disk::{Disk, Durability, Fault, HookedDisk, Moment, SimulatedDisk};

    use super::super::contract::{check_reads_back, seal};
    use super::super::{BlobError, BlobStore, FileBlobStore, Lengths, Seal, SealedBlob};

    /// A disk that counts the syncs of directories. The first does not end before there are
    /// `links_awaited` links.
    fn slow_disk(disk: &SimulatedDisk, links_awaited: u64) -> (HookedDisk, Arc<AtomicU64>) {
        let (links, syncs) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&syncs);
        let hooked = HookedDisk::new(disk, move |moment| match moment {
            Moment::Linked(_) => _ = links.fetch_add(1, Ordering::SeqCst),
            // Without a link the store is being opened. The sync covers the links made so far, not
            // those made while this waits.
            Moment::Synced(_) if links.load(Ordering::SeqCst) > 0 => {
                if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                    while links.load(Ordering::SeqCst) < links_awaited {
                        thread::yield_now();
                    }
                }
            }
            Moment::Synced(_) | Moment::Open(..) => {}
        });
        (hooked, syncs)
    }

    #[test]
    fn seals_at_the_same_time_share_a_sync_that_begins_after_their_link() {
        const WRITERS: u8 = 16;
        let disk = SimulatedDisk::new(1);
        let (slow, syncs) = slow_disk(&disk, u64::from(WRITERS));
        let store = open(Arc::new(slow));
        let sealed: Vec<SealedBlob> = thread::scope(|scope| {
            let store = &store;
            let run = |seed: u8| scope.spawn(move || seal(store, seed, &[seed; 10]));
            let writers: Vec<_> = (0..WRITERS).map(run).collect();
            writers.into_iter().map(|writer| writer.join().expect("no panic")).collect()
        });
        let syncs = syncs.load(Ordering::SeqCst);
        // The first serves those that were linked before it began; all others share the second, or,
        // for one that was about to ask while the second began, the third.
        assert!((2..=u64::from(WRITERS) / 2).contains(&syncs), "{syncs} syncs");
        let after = open(Arc::new(disk.crash()));
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
                        writer.seal(Seal::Now).map(|it| it.blob)
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
        FileBlobStore::open(disk, Durability::Fsync, 0, Lengths::new(0)).expect("opened")
    }
}
