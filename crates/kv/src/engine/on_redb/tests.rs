//! Tests of the sums of a tree that replaced another.

use liteio_disk::{Disk as _, OpenMode, SimulatedDisk};

use super::Engine;
use super::sums::{PAGE_BYTES, Sums};
use crate::engine::{Checkpoint, NoChanges};

const CACHE_BYTES: usize = 1 << 20;

#[test]
fn a_tree_finds_its_sums_whatever_page_differs_from_those_of_the_tree_before() {
    let original = SimulatedDisk::new(1);
    let checkpoint = Checkpoint { identity: 7, ..Checkpoint::without_log() };
    let engine = Engine::open(&original, "tree", CACHE_BYTES).expect("opens");
    engine.apply(&mut NoChanges, &checkpoint).expect("applied");
    drop(engine);
    let bytes = original.open("tree", OpenMode::Read).expect("there").len().expect("a length");
    for offset in (0..bytes).step_by(PAGE_BYTES).skip(1) {
        let disk = original.kill();
        let sums = disk.open("tree.sums", OpenMode::Read).expect("there");
        let mut content = vec![0; sums.len().expect("a length") as usize];
        sums.read_at(&mut content, 0).expect("reads");
        let copy = disk.open("tree.compact.sums", OpenMode::CreateOrWrite).expect("opens");
        copy.write_at(&content, 0).expect("writes");
        let others = Sums::load(&disk, "tree.sums").expect("reads").expect("whole");
        others.begin(0, 6);
        others.written(offset, &[1; PAGE_BYTES]);
        others.sync().expect("syncs");

        let engine = Engine::open(&disk, "tree", CACHE_BYTES);
        let engine = engine.unwrap_or_else(|error| panic!("page at {offset}: {error}"));
        let found = engine.read_checkpoint().expect("readable").map(|it| it.identity);
        assert_eq!(found, Some(7), "page at {offset}");
    }
}
