//! A damaged tree: never wrong bytes, never a panic.

use std::sync::Arc;

use liteio_disk::{Disk, OpenMode, SimulatedDisk, effort};
use liteio_store::{DeleteTarget, ListQuery, Selection, Store, StoreError, StoreHealth};

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
    liteio_kv::silence_panics_of_damage();
    let whole = closed();
    let file = whole.open(TREE, OpenMode::Read).expect("there");
    let length = file.len().expect("a length");
    let (mut refused, mut partly) = (0, 0);
    for round in effort::seeds(50, ROUNDS) {
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

#[test]
fn a_tree_that_verification_finds_whole_takes_writes() {
    liteio_kv::silence_panics_of_damage();
    let whole = closed();
    let content = |disk: &SimulatedDisk| {
        let tree = disk.open(TREE, OpenMode::Read).expect("there");
        let mut content = vec![0; tree.len().expect("a length") as usize];
        tree.read_at(&mut content, 0).expect("reads");
        content
    };
    let (mut sound, mut found_beside_records) = (0, 0);
    for (page, bytes) in content(&whole).chunks(4096).enumerate() {
        let Some(at) = bytes.iter().rposition(|byte| *byte != 0) else { continue };
        let disk = whole.kill();
        let tree = disk.open(TREE, OpenMode::Write).expect("there");
        tree.write_at(&[bytes[at] ^ 4], (page * 4096 + at) as u64).expect("writes");
        let looked_at = Arc::new(disk.clone());
        let report = Store::verify_closed_on(looked_at, config(2), &mut |_| {}).expect("a report");
        if report.damaged.is_empty() {
            let store = Store::open_on(Arc::new(disk.clone()), config(2)).expect("opens");
            put(&store, "a name to be looked for", b"new");
            store.close();
            let has_it = content(&disk).windows(23).any(|it| it == b"a name to be looked for");
            assert!(has_it, "page {page}: the change is not in the tree");
            sound += 1;
        } else if read_all(&disk, &format!("page {page}")) == Some(OBJECTS) {
            found_beside_records += 1;
        }
    }
    assert!(sound > 0 && found_beside_records > 0, "{sound} sound, {found_beside_records} found");
}

/// The leaves in which the name of an object stands.
fn leaves(disk: &SimulatedDisk) -> Vec<u64> {
    let tree = disk.open(TREE, OpenMode::Read).expect("there");
    let mut content = vec![0; tree.len().expect("a length") as usize];
    tree.read_at(&mut content, 0).expect("reads");
    let name = &object(0)[..20];
    let is_leaf = |page: &[u8]| page[0] == 1;
    let has_name =
        |page: &[u8]| is_leaf(page) && page.windows(name.len()).any(|it| it == name.as_bytes());
    let pages = (0_u64..).zip(content.chunks(4096));
    pages.filter(|(_, page)| has_name(page)).map(|(page, _)| page).collect()
}

#[test]
fn a_damaged_leaf_fails_the_updates_that_need_it_and_no_others() {
    liteio_kv::silence_panics_of_damage();
    let whole = closed();
    let leaves = leaves(&whole);
    let (mut failed_deletes, mut refused, mut need_all) = (0, 0, 0);
    for leaf in &leaves {
        let disk = whole.kill();
        let tree = disk.open(TREE, OpenMode::Write).expect("there");
        tree.write_at(&[0; 512], leaf * 4096 + 1024).expect("writes");
        // The first of them has the record of the store, too, without which nothing is opened.
        let Ok(store) = Store::open_on(Arc::new(disk.clone()), config(2)) else {
            refused += 1;
            continue;
        };
        let bucket = store.bucket(&name("bucket")).expect("there");
        // Most of them wait in one group.
        let deletes: Vec<_> = (0..OBJECTS)
            .step_by(2)
            .map(|number| {
                let deleted =
                    store.delete_object(&bucket, DeleteTarget::new(key(&object(number)), None));
                (number, deleted)
            })
            .collect();
        let mut deleted = Vec::new();
        for (number, answer) in deletes {
            match answer.wait() {
                Ok(_) => deleted.push(number),
                Err(StoreError::Corrupt { .. }) => failed_deletes += 1,
                Err(error) => panic!("page {leaf}, object {number}: {error}"),
            }
        }
        // A delete looks for uploads of its key, which are all in one leaf.
        if deleted.is_empty() {
            need_all += 1;
            continue;
        }
        assert!(deleted.len() > 50, "page {leaf}: {} were deleted", deleted.len());
        // Before all others and behind them: one of the two is in another leaf.
        let ends = ["a", "z"].map(|end| try_put(&store, end, b"new", Default::default()));
        assert!(ends.iter().any(Result::is_ok), "page {leaf}: {ends:?}");
        assert_eq!(store.health(), StoreHealth::Ready, "page {leaf}");
        store.close();
        drop(store);

        let store = Store::open_on(Arc::new(disk.clone()), config(3)).expect("opens again");
        for (end, put) in ["a", "z"].iter().zip(ends) {
            assert!(put.is_err() || get(&store, end) == b"new");
        }
        for number in 0..OBJECTS {
            match try_get(&store, &object(number), Selection::Whole) {
                Ok((_, body)) => {
                    assert_eq!(body, bytes(number, INLINE_BYTES));
                    assert!(!deleted.contains(&number), "page {leaf}, object {number}");
                }
                Err(StoreError::NoSuchKey { .. }) => assert!(deleted.contains(&number)),
                // Where the damaged page is the only one that could have it.
                Err(StoreError::Corrupt { .. }) => {}
                Err(error) => panic!("page {leaf}, object {number}: {error}"),
            }
        }
        let again = ["a", "z"].map(|end| try_put(&store, end, b"again", Default::default()));
        assert!(again.iter().any(Result::is_ok), "page {leaf}: {again:?}");
    }
    assert!(refused <= 1 && failed_deletes > 0, "{refused} refused of {}", leaves.len());
    assert!(need_all <= 1, "{need_all} of {}", leaves.len());
}
