//! An overlay shows what is below until it is changed, and changes nothing below.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use liteio_disk::{Disk, OpenMode, OverlayDisk, RealDisk, SimulatedDisk};

use crate::contract::{content, create};

const NAMES: [&str; 6] = ["a", "b", "d/a", "d/b", "e/a", "new/a"];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.below(NAMES.len() as u64) as usize]
    }
}

/// Two directories with files of up to some blocks.
fn fill(disk: &dyn Disk, random: &mut Random) {
    for directory in ["d", "e"] {
        disk.create_dir(directory).expect("made");
    }
    for name in ["a", "d/a", "d/b", "e/a"] {
        let bytes: Vec<u8> = (0..random.below(20_000)).map(|at| (at / 7) as u8 | 1).collect();
        create(disk, name).write_at(&bytes, 0).expect("written");
    }
}

/// One operation, the same on every disk for the same numbers; its outcome.
fn step(disk: &dyn Disk, random: &mut Random) -> Result<(), ErrorKind> {
    let (name, other) = (random.name(), random.name());
    let (kind, offset, count) = (random.below(9), random.below(24_000), random.below(9_000));
    let bytes = vec![random.below(256) as u8; count as usize];
    let result = match kind {
        0..=2 => disk.open(name, OpenMode::Write).and_then(|file| file.write_at(&bytes, offset)),
        3 => disk.open(name, OpenMode::Write).and_then(|file| file.set_len(offset)),
        4 => disk.open(name, OpenMode::CreateOrWrite).and_then(|file| file.write_at(&bytes, 0)),
        5 => disk.remove(name),
        6 => disk.rename(name, other),
        7 => disk.create_temporary().and_then(|file| {
            file.write_at(&bytes, offset)?;
            disk.link(&*file, name)
        }),
        _ => disk.create_dir("new"),
    };
    result.map_err(|error| error.kind())
}

/// All files with their bytes, and all directories but that of temporary files: a disk makes it where files
/// without a name are not to be had.
fn tree(disk: &dyn Disk) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut tree = BTreeMap::new();
    let mut left = vec![String::new()];
    while let Some(directory) = left.pop() {
        for entry in disk.list(&directory).expect("listed") {
            let path = match &*directory {
                "" => entry.name,
                directory => format!("{directory}/{}", entry.name),
            };
            if path == "tmp" {
                continue;
            }
            tree.insert(path.clone(), (!entry.is_dir).then(|| content(disk, &path)));
            if entry.is_dir {
                left.push(path);
            }
        }
    }
    tree
}

#[test]
fn an_overlay_of_a_disk_and_the_disk_itself_change_alike_and_nothing_below_does() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let below = SimulatedDisk::new(seed);
        fill(&below, &mut random);
        // Another disk with the same files.
        let plain = SimulatedDisk::new(seed);
        fill(&plain, &mut Random(seed));
        let before = tree(&below);
        assert_eq!(tree(&plain), before);
        let operations = below.operations();
        let overlay = OverlayDisk::new(Arc::new(below.clone()));
        assert_eq!(tree(&overlay), before, "seed {seed}");
        for number in 0..40 {
            let mut same = Random(random.0);
            let outcomes = (step(&plain, &mut random), step(&overlay, &mut same));
            assert_eq!(outcomes.0, outcomes.1, "seed {seed}, step {number}");
            assert_eq!(tree(&overlay), tree(&plain), "seed {seed}, step {number}");
        }
        assert_eq!(below.operations(), operations, "seed {seed}");
        assert_eq!(tree(&below), before, "seed {seed}");
    }
}

#[test]
fn a_reader_that_came_first_sees_what_is_written_later() {
    let below = SimulatedDisk::new(1);
    create(&below, "a").write_at(&[1; 10_000], 0).expect("written");
    let overlay = OverlayDisk::new(Arc::new(below));
    let reader = overlay.open("a", OpenMode::Read).expect("opens");
    drop(overlay.open("a", OpenMode::Read).expect("opens"));
    overlay.open("a", OpenMode::Write).expect("opens").write_at(b"new", 5_000).expect("written");
    let mut bytes = [0; 5];
    assert_eq!(reader.read_at(&mut bytes, 4_999).expect("reads"), 5);
    assert_eq!(&bytes, b"\x01new\x01");
}

#[test]
fn a_file_that_lost_its_end_below_is_an_error_and_not_zeros() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a");
    std::fs::write(&path, [1; 10_000]).expect("written");
    let disk = RealDisk::open(directory.path()).expect("opens");
    let overlay = OverlayDisk::new(Arc::new(disk));
    let file = overlay.open("a", OpenMode::Write).expect("opens");
    std::fs::write(&path, [1; 5_000]).expect("written");
    let error = file.read_at(&mut [0; 10], 6_000).expect_err("not there any more");
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    file.write_at(b"x", 6_000).expect_err("the rest of the block is unknown");
    assert_eq!(file.read_at(&mut [0; 10], 0).expect("still there"), 10);
}
