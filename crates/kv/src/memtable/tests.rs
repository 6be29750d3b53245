//! The table compared with a map, and readers concurrent with the writer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use proptest::prelude::*;

use super::*;

/// By key: versions with their sequence, oldest first.
type Model = BTreeMap<Vec<u8>, Vec<(u64, Option<Vec<u8>>)>>;

fn put(table: &Memtable, key: &[u8], value: Option<&[u8]>, sequence: u64) -> Place {
    table.insert(key, hash(key), value, sequence).expect("there is room")
}

fn seen(model: &Model, sequence: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let newest = |versions: &[(u64, Option<Vec<u8>>)]| {
        versions.iter().rev().find(|version| version.0 <= sequence).map(|it| it.1.clone())
    };
    model.iter().filter_map(|(key, them)| newest(them).map(|it| (key.clone(), it))).collect()
}

fn owned(entry: Entry<'_>) -> (Vec<u8>, Option<Vec<u8>>) {
    (entry.key.to_vec(), entry.value.map(<[u8]>::to_vec))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_reader_sees_what_was_there_at_its_sequence(
        writes in prop::collection::vec((0..40_u8, prop::option::of(0..300_u16), 0..8_u8), 1..400),
        step in 1..5_u64,
        first in 1..100_u64,
        shared in 0..12_usize,
    ) {
        let mut from = first;
        let key_of = |key: u8| [vec![b'/'; shared], vec![key; 1 + usize::from(key) % 5]].concat();
        let table = Memtable::new();
        let mut model = Model::new();
        for (sequence, (key, value, fate)) in (1..).zip(&writes) {
            let key = key_of(*key);
            let value = value.map(|bytes| vec![sequence as u8; bytes.into()]);
            let place = put(&table, &key, value.as_deref(), sequence);
            if *fate == 0 {
                table.take_back(place);
            } else {
                model.entry(key).or_default().push((sequence, value));
            }
            if *fate == 1 && sequence >= from {
                // Then what was written so far is put in order, few or many at a time.
                from = sequence * step;
                let found = table.entries(sequence).next().map(owned);
                prop_assert_eq!(found, seen(&model, sequence).first().cloned());
            }
        }
        let newest = writes.len() as u64;
        for sequence in [0, 1, newest / 3, newest - 1, newest, u64::MAX] {
            let expected = seen(&model, sequence);
            let found: Vec<_> = table.entries(sequence).map(owned).collect();
            prop_assert_eq!(&found, &expected);
            let mut back = Vec::new();
            let mut entry = table.last(sequence);
            while let Some(it) = entry {
                back.push(owned(it));
                entry = table.before(it.key, sequence);
            }
            back.reverse();
            prop_assert_eq!(&back, &expected);
            for key in 0..41_u8 {
                let key = key_of(key);
                let of_key = expected.iter().find(|it| it.0 == key);
                prop_assert_eq!(table.get(&key, hash(&key), sequence).map(owned), of_key.cloned());
                let behind = expected.iter().find(|it| it.0 >= key);
                let before = expected.iter().rev().find(|it| it.0 <= key);
                prop_assert_eq!(table.at_or_before(&key, sequence).map(owned), before.cloned());
                let from = table.entries_from(&key, sequence).next().map(owned);
                prop_assert_eq!(from, behind.cloned());
            }
            // Beside all keys.
            for key in [&b""[..], b".", b"//////////////", b"0"] {
                let behind = expected.iter().find(|it| &it.0[..] >= key);
                let before = expected.iter().rev().find(|it| &it.0[..] < key);
                let from = table.entries_from(key, sequence).next().map(owned);
                prop_assert_eq!(from, behind.cloned());
                prop_assert_eq!(table.before(key, sequence).map(owned), before.cloned());
            }
        }
    }
}

#[test]
fn values_larger_than_a_chunk_come_back() {
    let table = Memtable::new();
    let mut sizes = vec![0, 1, 1 << 20, (1 << 20) - 60, 5, 3 << 20, (2 << 20) + 1, 7];
    // The sizes do not match the chunks that are allocated together.
    sizes.extend([5 << 20; 8]);
    let key = |sequence: u8| format!("{sequence}");
    for (sequence, bytes) in (1..).zip(&sizes) {
        let value = vec![sequence; *bytes];
        put(&table, key(sequence).as_bytes(), Some(&value), sequence.into());
    }
    for (sequence, bytes) in (1..).zip(sizes) {
        let key = key(sequence);
        let found = table.get(key.as_bytes(), hash(key.as_bytes()), u64::MAX).expect("there");
        assert!(found.value == Some(&vec![sequence; bytes][..]), "{bytes}");
    }
}

#[test]
fn readers_beside_the_writer_see_all_that_was_published_and_nothing_else() {
    const KEYS: u64 = 512;
    const WRITES: u64 = 60_000;
    let table = Memtable::new();
    let published = AtomicU64::new(0);
    let ended = AtomicBool::new(false);
    // The newest sequence up to `at` whose write was one of `key`.
    let newest =
        |key: u64, at: u64| (at >= key).then(|| at - (at - key) % KEYS).filter(|it| *it > 0);
    thread::scope(|scope| {
        for reader in 0..2_u64 {
            let (table, published, ended) = (&table, &published, &ended);
            scope.spawn(move || {
                let mut key = reader;
                while !ended.load(Ordering::Relaxed) {
                    key = (key * 25 + 13) % KEYS;
                    let at = published.load(Ordering::Acquire);
                    let bytes = key.to_be_bytes();
                    let found = table.get(&bytes, hash(&bytes), at);
                    let value =
                        found.and_then(|it| it.value).map(|it| it.try_into().expect("8 bytes"));
                    assert_eq!(value.map(u64::from_be_bytes), newest(key, at), "{key} at {at}");
                    if key % 64 == 0 {
                        let all = table.entries(at).count() as u64;
                        assert_eq!(all, at.min(KEYS), "at {at}");
                    }
                }
            });
        }
        for sequence in 1..=WRITES {
            let key = (sequence % KEYS).to_be_bytes();
            put(&table, &key, Some(&sequence.to_be_bytes()), sequence);
            published.store(sequence, Ordering::Release);
        }
        ended.store(true, Ordering::Relaxed);
    });
}
