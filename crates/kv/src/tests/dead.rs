//! Cursors over deleted keys beside a writer.

use std::ops::Bound;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::{config, runs};
use crate::{EngineKind, Kv, KvConfig, KvError, Read as _, Snapshot, Write as _};

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn keys(snapshot: &Snapshot) -> Vec<Vec<u8>> {
    let mut cursor = snapshot.cursor(Bound::Unbounded, Bound::Unbounded).expect("a cursor");
    let mut keys = Vec::new();
    while let Some((key, _)) = cursor.next().expect("reads") {
        keys.push(key.to_vec());
    }
    // The way back meets no range, and must find the same.
    let mut back = Vec::new();
    while let Some((key, _)) = cursor.previous().expect("reads") {
        back.push(key.to_vec());
    }
    back.reverse();
    assert_eq!(keys, back);
    keys
}

/// A queue: the writer puts at the end and deletes at the front, so that all before the front is
/// dead and grows.
#[test]
fn a_cursor_over_a_growing_dead_range_misses_no_key() {
    const LENGTH: u32 = 10;
    for (count, config) in [
        (3_000, config()),
        (1_500, KvConfig { memory_bytes: 4096, ..runs::config(EngineKind::Redb) }),
    ] {
        let kv = Kv::memory(config).expect("opens");
        let (put, deleting) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for number in 1..=count {
                    kv.update(move |write| write.put(&key(number), b"value")).wait().expect("put");
                    put.store(number, Ordering::Release);
                    if number > LENGTH {
                        deleting.store(number - LENGTH, Ordering::Release);
                        let deleted = kv.update(move |write| write.delete(&key(number - LENGTH)));
                        deleted.wait().expect("deleted");
                    }
                    if number % 100 == 0 {
                        // A key in the middle of the dead, which lives for a moment.
                        let middle = key(number / 2);
                        let update = kv.update(move |write| write.put(&middle, b"again"));
                        update.wait().expect("put");
                        assert_eq!(keys(&kv.snapshot().expect("a snapshot"))[0], middle);
                        kv.update(move |write| write.delete(&middle)).wait().expect("deleted");
                        // What is rolled back was never there.
                        let failed = kv.update(move |write| {
                            write.put(&key(number / 3), b"never")?;
                            Err::<(), _>(KvError::NoSpace)
                        });
                        failed.wait().expect_err("it fails");
                    }
                }
            });
            while !writer.is_finished() {
                let last = put.load(Ordering::Acquire);
                let snapshot = kv.snapshot().expect("a snapshot");
                let first = deleting.load(Ordering::Acquire) + 1;
                let found = keys(&snapshot);
                for number in first..=last {
                    assert!(found.contains(&key(number).to_vec()), "{number} of {first}..={last}");
                }
            }
        });
        let expected: Vec<Vec<u8>> =
            (count - LENGTH + 1..=count).map(|it| key(it).to_vec()).collect();
        assert_eq!(keys(&kv.snapshot().expect("a snapshot")), expected);
    }
}
