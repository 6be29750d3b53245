//! A damaged log: acknowledged writes are never taken for a torn end, and nothing is swept for them.

use std::sync::Arc;

use liteio_disk::{Disk, OpenMode, SimulatedDisk};
use liteio_store::{Selection, Store, StoreError};

use crate::harness::*;

const LOG: &str = "meta.redb.log";
const OBJECTS: u64 = 12;

/// The disk after a kill of a store into which objects were put, with blobs of their own.
fn killed() -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), config(1)).expect("opens");
    create_bucket(&store, "bucket");
    for object in 0..OBJECTS {
        put(&store, &format!("{object:02}"), &bytes(object, 100));
    }
    disk.kill()
}

/// The objects that are there, after everything that a start sweeps was swept.
fn objects(disk: &SimulatedDisk) -> Result<Vec<u64>, StoreError> {
    let store = Store::open_on(Arc::new(disk.clone()), config(2))?;
    store.sweep()?;
    let there = |object: &u64| match try_get(&store, &format!("{object:02}"), Selection::Whole) {
        Ok(found) => {
            assert_eq!(found.1, bytes(*object, 100), "object {object}");
            true
        }
        Err(StoreError::NoSuchKey { .. } | StoreError::NoSuchBucket { .. }) => false,
        Err(error) => panic!("object {object}: {error}"),
    };
    Ok((0..OBJECTS).filter(there).collect())
}

#[test]
fn a_flipped_bit_in_the_log_is_refused_and_costs_nothing_once_it_is_mended() {
    let left = killed();
    let file = left.open(LOG, OpenMode::Read).expect("there");
    let mut log = vec![0; file.len().expect("a length") as usize];
    file.read_at(&mut log, 0).expect("reads");
    let end = log.iter().rposition(|byte| *byte != 0).expect("records");
    let all: Vec<u64> = (0..OBJECTS).collect();
    let mut refused = 0;
    for at in (0..=end).step_by(7) {
        let disk = left.kill();
        let file = disk.open(LOG, OpenMode::Write).expect("there");
        file.write_at(&[log[at] ^ 4], at as u64).expect("writes");
        match objects(&disk) {
            Err(StoreError::Corrupt { what, .. }) => {
                assert!(what.contains(LOG) && what.contains("at byte"), "{what}");
                refused += 1;
                file.write_at(&[log[at]], at as u64).expect("writes");
                assert_eq!(objects(&disk).expect("mended"), all, "byte {at}");
            }
            // The last record may have been torn, and what earlier rounds left does not count.
            Ok(found) => {
                assert!(all.starts_with(&found) && found.len() >= all.len() - 1, "byte {at}")
            }
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert!(refused > 10, "{refused} of {end}");
}
