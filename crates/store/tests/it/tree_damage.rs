//! A damaged tree: never wrong bytes, never a panic.

use std::sync::Arc;

use liteio_disk::{Disk, OpenMode, SimulatedDisk};
use liteio_store::{ListQuery, Selection, Store};

use crate::harness::*;

const TREE: &str = "meta.redb";
const OBJECTS: u64 = 200;
const ROUNDS: u64 = 200;

fn object(number: u64) -> String {
    format!("an object with a name that is not short/{number:03}")
}

/// A store that was closed: everything is in its tree, small bodies included.
fn closed() -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), config(1)).expect("opens");
    create_bucket(&store, "bucket");
    for number in 0..OBJECTS {
        put(&store, &object(number), &bytes(number, INLINE_BYTES));
    }
    store.close();
    drop(store);
    disk
}

/// Reads everything, every way. The bytes that come are right.
fn read_all(disk: &SimulatedDisk, context: &str) -> Option<u64> {
    let store = Store::open_on(Arc::new(disk.clone()), config(2)).ok()?;
    let bucket = store.bucket(&name("bucket")).ok()?;
    let mut right = 0;
    for number in 0..OBJECTS {
        if let Ok((_, body)) = try_get(&store, &object(number), Selection::Whole) {
            assert_eq!(body, bytes(number, INLINE_BYTES), "{context}, object {number}");
            right += 1;
        }
    }
    let _ = store.list_objects(&bucket, &ListQuery::default());
    let _ = store.verify(&mut |_| {});
    // A write may be refused. What it was told is so.
    let written = store.put_object(
        &bucket,
        key("new"),
        stage(&store, b"new").expect("in memory"),
        liteio_store::PutOptions::default(),
    );
    if written.wait().is_ok()
        && let Ok((_, body)) = try_get(&store, "new", Selection::Whole)
    {
        assert_eq!(body, b"new", "{context}");
    }
    store.close();
    Some(right)
}

#[test]
fn whatever_is_damaged_in_the_tree_no_wrong_byte_leaves_and_nothing_panics() {
    let whole = closed();
    let file = whole.open(TREE, OpenMode::Read).expect("there");
    let length = file.len().expect("a length");
    let (mut refused, mut partly) = (0, 0);
    for round in 0..ROUNDS {
        let random = liteio_store::SeededRandom::new(round);
        let disk = whole.kill();
        let tree = disk.open(TREE, OpenMode::Write).expect("there");
        // Most of the file is free pages: where bytes are, damage can matter.
        let mut at = random.below(length);
        let mut byte = [0];
        while byte == [0] {
            at = random.below(length);
            tree.read_at(&mut byte, at).expect("reads");
        }
        match round % 3 {
            0 => tree.write_at(&[byte[0] ^ (1 << random.below(8))], at).expect("writes"),
            1 => tree.write_at(&[0; 512], at / 512 * 512).expect("writes"),
            _ => {
                let garbage: Vec<u8> = (0..64).map(|_| random.below(256) as u8).collect();
                tree.write_at(&garbage, at).expect("writes");
            }
        }
        match read_all(&disk, &format!("round {round}, byte {at}")) {
            None => refused += 1,
            Some(right) if right < OBJECTS => partly += 1,
            Some(_) => {}
        }
    }
    assert!(refused > 0 && partly > 0, "{refused} refused, {partly} with some objects only");
}
