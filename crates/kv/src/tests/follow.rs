//! Followers: with the pairs read since, they have every state of the key space.

use std::collections::BTreeMap;

use liteio_disk::{Durability, Fault, SimulatedDisk, effort};

use super::crash::{Setup, State, config, open, state, write};
use super::{Change, EngineKind, Kv, KvConfig, KvError, Spilling, Write, changes};
use crate::{Compacting, Followed, append_change};

const SETUP: Setup = Setup {
    engine: EngineKind::Redb,
    spilling: Spilling::Always { merged: 2 },
    compacting: Compacting::WhereItPays,
};
const BYTES_MAX: usize = 1 << 20;

fn apply(mut followed: Followed, to: &mut State) {
    let (mut before, through) = (0, followed.through);
    while let Some((number, record)) = followed.next() {
        assert!(before < number && number <= through, "in order");
        before = number;
        for change in changes(record.as_ref()) {
            match change.expect("own bytes") {
                Change::Put { key, value } => drop(to.insert(key.to_vec(), value.to_vec())),
                Change::Delete { key } => drop(to.remove(key)),
            }
        }
    }
}

#[test]
fn what_is_followed_leads_to_the_state_of_each_moment() {
    for durability in [Durability::Fsync, Durability::Os] {
        let disk = SimulatedDisk::new(1);
        let kv = open(&disk, SETUP, durability).expect("opens");
        (0..5).for_each(|i| write(&kv, 1, i).expect("writes"));
        let follower = kv.follow(BYTES_MAX).expect("follows");
        // As a page of a backup sees it: with some of the records that are followed.
        write(&kv, 1, 5).expect("writes");
        let mut copy = state(&kv);
        let first = follower.take().expect("holds it");
        let through = first.through;
        assert!(through > follower.start());
        apply(first, &mut copy);
        assert_eq!(copy, state(&kv), "a record that was seen changes nothing");
        for i in 6..20 {
            write(&kv, 1, i).expect("writes");
            if i % 4 == 0 {
                kv.sync().expect("a mark");
            }
            assert!(follower.newest() > through);
            apply(follower.take().expect("holds it"), &mut copy);
            assert_eq!(copy, state(&kv), "{durability:?}, {i}");
        }
        assert!(follower.take().expect("nothing").is_empty());
    }
}

#[test]
fn at_fsync_a_power_cut_loses_nothing_that_was_followed() {
    let operations = {
        let disk = SimulatedDisk::new(2);
        let kv = open(&disk, SETUP, Durability::Fsync).expect("opens");
        (0..12).for_each(|i| write(&kv, 2, i).expect("writes"));
        drop(kv);
        disk.operations()
    };
    for at in effort::one_in(5, 0..operations) {
        let disk = SimulatedDisk::new(2 ^ (at << 8));
        disk.set_fault(at, Fault::Crash);
        let Ok(kv) = open(&disk, SETUP, Durability::Fsync) else { continue };
        let follower = kv.follow(BYTES_MAX).expect("follows");
        let mut copy = BTreeMap::new();
        for i in 0..12 {
            let _ = write(&kv, 2, i);
            apply(follower.take().expect("holds it"), &mut copy);
        }
        let kv = open(&disk.crash(), SETUP, Durability::Fsync).expect("opens");
        // The last record may be durable although its writer was told of a failure.
        let found = state(&kv);
        let counter = |state: &State| state.get(&b"counter"[..]).cloned();
        assert!(counter(&found) >= counter(&copy), "operation {at}: {found:?}, {copy:?}");
    }
}

#[test]
fn notes_are_not_followed() {
    let disk = SimulatedDisk::new(3);
    let kv = open(&disk, SETUP, Durability::Fsync).expect("opens");
    let follower = kv.follow(BYTES_MAX).expect("follows");
    let noted = kv.update::<(), KvError, _>(|transaction| {
        transaction.put(b"key", b"value")?;
        transaction.note(b"attachment", b"contents");
        transaction.delete(b"missing")
    });
    noted.wait().expect("writes");
    let mut followed = follower.take().expect("holds it");
    let (_, record) = followed.next().expect("one");
    let changes: Vec<_> = changes(record.as_ref()).map(|it| it.expect("own bytes")).collect();
    assert_eq!(changes, [Change::Put { key: b"key", value: b"value" }]);
    assert!(followed.is_empty() && followed.next().is_none());
}

#[test]
fn a_follower_that_does_not_take_falls_behind_and_holds_nothing_up() {
    let disk = SimulatedDisk::new(4);
    let kv = open(&disk, SETUP, Durability::Fsync).expect("opens");
    let slow = kv.follow(200).expect("follows");
    let quick = kv.follow(BYTES_MAX).expect("follows");
    (0..20).for_each(|i| write(&kv, 4, i).expect("writes"));
    assert!(slow.take().is_err());
    write(&kv, 4, 20).expect("writes");
    assert!(slow.take().is_err(), "for good");
    let mut copy = State::new();
    apply(quick.take().expect("holds it"), &mut copy);
    assert_eq!(copy, state(&kv));
    drop((slow, quick));
    write(&kv, 4, 21).expect("writes");
}

#[test]
fn records_that_are_still_read_keep_their_bytes_while_others_are_followed() {
    let disk = SimulatedDisk::new(5);
    let kv = open(&disk, SETUP, Durability::Fsync).expect("opens");
    let follower = kv.follow(64 << 20).expect("follows");
    let put = |number: u8, bytes: usize| {
        let value = vec![number; bytes];
        let put = kv.update(move |write| -> Result<(), KvError> { write.put(&[number], &value) });
        put.wait().expect("writes");
    };
    // Short ones share a chunk, and a long one has its own.
    let lengths = [10, 100_000, 200_000, 0, 1 << 20, 5];
    let mut held = Vec::new();
    for round in 0..3_u8 {
        for (at, bytes) in (0_u8..).zip(lengths) {
            put(round * 10 + at, bytes);
        }
        let waiting = follower.waiting_bytes();
        assert!(waiting > lengths.iter().sum(), "{waiting}");
        let mut followed = follower.take().expect("holds it");
        assert_eq!(follower.waiting_bytes(), 0);
        while let Some((_, record)) = followed.next() {
            held.push(record);
        }
        assert!(followed.is_empty());
    }
    let numbers = (0..3_u8).flat_map(|round| (0..6).map(move |at| round * 10 + at));
    for ((number, record), bytes) in numbers.zip(&held).zip(lengths.iter().cycle()) {
        let mut changes = changes(record.as_ref());
        let change = changes.next().expect("one").expect("own bytes");
        assert_eq!(change, Change::Put { key: &[number], value: &vec![number; *bytes] });
        assert_eq!(change.encoded_bytes(), record.as_ref().len());
        assert!(changes.next().is_none());
    }
    assert_eq!(held.len(), 18);
    // A reader does not keep an ended follower alive.
    drop(follower);
    put(99, 10);
    assert_eq!(held.len(), 18);
}

#[test]
fn a_key_space_in_memory_is_not_followed() {
    let config = KvConfig { log_bytes: 1 << 20, ..config(SETUP, Durability::Fsync) };
    let kv = Kv::memory(config).expect("opens");
    assert!(matches!(kv.follow(BYTES_MAX), Err(KvError::Io(_))));
}

#[test]
fn changes_survive_encoding_and_foreign_bytes_are_refused() {
    let mut bytes = Vec::new();
    append_change(Change::Put { key: b"a", value: b"1" }, &mut bytes);
    append_change(Change::Delete { key: b"b" }, &mut bytes);
    let read: Vec<_> = changes(&bytes).map(|it| it.expect("own bytes")).collect();
    assert_eq!(read, [Change::Put { key: b"a", value: b"1" }, Change::Delete { key: b"b" }]);
    let first = 11;
    for length in (1..bytes.len()).filter(|length| *length != first) {
        assert!(changes(&bytes[..length]).any(|it| it.is_err()), "cut at {length}");
    }
    for tag in [0, 3, 4, 5] {
        let foreign = [&[tag], &bytes[1..]].concat();
        assert!(changes(&foreign).any(|it| it.is_err()), "only puts and deletes: {tag}");
    }
}
