//! Closures over what was fetched, piece by piece.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::{config, fill};
use crate::{Kv, KvConfig, KvError, Read, Write};

fn in_pieces() -> Kv {
    let kv = Kv::memory(KvConfig { runs_in_pieces: true, ..config() }).expect("opens");
    fill(&kv, 3, 10);
    let _ = kv.fetches();
    kv
}

#[test]
fn a_closure_in_pieces_runs_again_for_each_first_read_and_its_fetches_are_counted() {
    let kv = in_pieces();
    let read = kv.update::<_, KvError, _>(|transaction| {
        transaction.put(b"own", b"1")?;
        let own = transaction.get(b"own")?.map(|value| value.len());
        transaction.get(b"one")?;
        transaction.get(b"one")?;
        transaction.get(b"other")?;
        let mut cursor = transaction.cursor(Bound::Unbounded, Bound::Unbounded)?;
        let mut keys = 0;
        while cursor.next()?.is_some() {
            keys += 1;
        }
        Ok((own, keys))
    });
    assert_eq!(read.wait().expect("update"), (Some(1), 4));
    let fetches = kv.fetches();
    let counted: Vec<_> = fetches.updates.iter().map(|update| update.fetches).collect();
    // Two keys and the range; its own write needs none.
    assert_eq!((counted, fetches.snapshots), (vec![3], 0));
    let snapshot = kv.snapshot().expect("snapshot");
    for key in [b"a", b"b", b"a"] {
        snapshot.get(key).expect("readable");
    }
    assert_eq!(kv.fetches().snapshots, 2);
}

/// What it remembers of an earlier run makes this one do something else.
#[test]
fn a_closure_that_does_not_stand_a_replay_fails_in_pieces() {
    let kv = in_pieces();
    let runs = Arc::new(AtomicU8::new(0));
    let remembers = kv.update::<_, KvError, _>(move |transaction| {
        transaction.get(b"one")?;
        match runs.fetch_add(1, Ordering::Relaxed) {
            0 => transaction.put(b"first", b""),
            _ => Ok(()),
        }
    });
    remembers.wait().expect_err("it writes in its first run only");
    let runs = Arc::new(AtomicU64::new(0));
    let wanders = kv.update::<_, KvError, _>(move |transaction| {
        let number = runs.fetch_add(1, Ordering::Relaxed);
        transaction.get(&number.to_be_bytes()).map(|_| ())
    });
    wanders.wait().expect_err("it reads another key in each run");
    let swallows = kv.update::<_, KvError, _>(|transaction| {
        // Whatever it makes of the error: it runs again.
        let is_there = transaction.get(b"one").is_ok_and(|value| value.is_some());
        transaction.put(b"seen", &[u8::from(is_there)])
    });
    swallows.wait().expect("update");
    assert_eq!(kv.fetches().updates.last().map(|update| update.fetches), Some(1));
}
