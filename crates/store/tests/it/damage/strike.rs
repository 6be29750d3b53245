//! Damaging a file.

use std::collections::{BTreeMap, BTreeSet};

use liteio_disk::{Disk, OpenMode, SimulatedDisk};
use liteio_store::SeededRandom;

use crate::read_only::{SECTOR_BYTES, Sectors};

/// The kind of the damaged file. The lock of the directory is a file of real directories only: `directory` tells
/// that its content does not matter. Codes of vectors are derived, and used only where there are more vectors
/// than these stores have: `vectors_damage` tells that they are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Format,
    Clean,
    Tree,
    /// The checksums of the pages of the tree, if the store keeps them.
    TreeSums,
    /// A sorted run above the tree. Not all of these stores have one.
    Run,
    Log,
    Blob,
    Slots,
}

impl Target {
    pub(super) const ALL: [Self; 8] = [
        Self::Format,
        Self::Clean,
        Self::Tree,
        Self::TreeSums,
        Self::Run,
        Self::Log,
        Self::Blob,
        Self::Slots,
    ];

    fn is(self, path: &str) -> bool {
        match self {
            Self::Format => path == "format",
            Self::Clean => path == "clean",
            Self::Tree => path == "meta.redb",
            Self::TreeSums => path == "meta.redb.sums",
            Self::Run => path.starts_with("meta.redb.run."),
            Self::Log => path == "meta.redb.log" || path == "meta.redb.log2",
            Self::Blob => path.starts_with("blobs/") && !path.starts_with("blobs/lost/"),
            Self::Slots => path.ends_with(".slots"),
        }
    }
}

/// What is done to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    FlippedBit,
    ZeroedSector,
    GarbageSector,
    Truncated,
    Removed,
    /// Its content as it was some writes before; of a file that never changes, that of another one.
    Older,
}

impl Damage {
    pub(super) const ALL: [Self; 6] = [
        Self::FlippedBit,
        Self::ZeroedSector,
        Self::GarbageSector,
        Self::Truncated,
        Self::Removed,
        Self::Older,
    ];
}

/// Files with their contents.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// All files of a disk.
pub(super) fn files(disk: &SimulatedDisk) -> Files {
    let mut files = Files::new();
    let mut left = vec![String::new()];
    while let Some(directory) = left.pop() {
        for entry in disk.list(&directory).expect("the disk runs") {
            let path = match &*directory {
                "" => entry.name,
                directory => format!("{directory}/{}", entry.name),
            };
            if entry.is_dir {
                left.push(path);
            } else {
                let content = content(disk, &path);
                files.insert(path, content);
            }
        }
    }
    files
}

fn content(disk: &SimulatedDisk, path: &str) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).expect("it was listed");
    let mut content = vec![0; file.len().expect("a length") as usize];
    file.read_at(&mut content, 0).expect("the disk runs");
    content
}

/// A disk with these files.
pub(super) fn disk_of(seed: u64, files: &Files) -> SimulatedDisk {
    let disk = SimulatedDisk::new(seed);
    // It may be empty, and is never missing.
    disk.create_dir("blobs").expect("the disk runs");
    for (path, content) in files {
        for (at, _) in path.match_indices('/') {
            disk.create_dir(&path[..at]).expect("the disk runs");
        }
        let file = disk.open(path, OpenMode::CreateOrWrite).expect("the disk runs");
        file.write_at(content, 0).expect("the disk runs");
    }
    disk
}

/// Damages a file of that kind, mostly where it is `read`; `false` if there is none, or if it would stay the same.
pub(super) fn strike(
    disk: &SimulatedDisk,
    target: Target,
    damage: Damage,
    older: &Files,
    read: &Sectors,
    random: &SeededRandom,
) -> bool {
    let present = files(disk);
    let of_kind: Vec<&String> = present.keys().filter(|path| target.is(path)).collect();
    if of_kind.is_empty() {
        return false;
    }
    let path = of_kind[random.below(of_kind.len() as u64) as usize];
    let before = &present[path];
    let mut after = before.clone();
    match damage {
        Damage::Removed => {
            disk.remove(path).expect("the disk runs");
            return true;
        }
        Damage::Older => {
            let other = of_kind[random.below(of_kind.len() as u64) as usize];
            let found = older.get(path).filter(|older| *older != before);
            let Some(found) = found.or_else(|| present.get(other)) else { return false };
            after.clone_from(found);
        }
        // Nothing to change.
        _ if before.is_empty() => return false,
        Damage::FlippedBit => after[place(before, read.get(path), random)] ^= 1 << random.below(8),
        Damage::Truncated => after.truncate(place(before, read.get(path), random)),
        Damage::ZeroedSector | Damage::GarbageSector => {
            let start = place(before, read.get(path), random) / SECTOR_BYTES * SECTOR_BYTES;
            let end = before.len().min(start + SECTOR_BYTES);
            let byte = |_| match damage {
                Damage::ZeroedSector => 0,
                _ => random.below(256) as u8,
            };
            let sector: Vec<u8> = (start..end).map(byte).collect();
            after[start..end].copy_from_slice(&sector);
        }
    }
    if after == *before {
        return false;
    }
    let file = disk.open(path, OpenMode::Write).expect("it was listed");
    file.set_len(after.len() as u64).expect("the disk runs");
    file.write_at(&after, 0).expect("the disk runs");
    true
}

/// Most of a file may be free space: mostly a byte that is not zero, in a sector that is read.
fn place(content: &[u8], read: Option<&BTreeSet<usize>>, random: &SeededRandom) -> usize {
    let one_of = |places: &[usize]| match places.len() as u64 {
        0 => None,
        count => Some(places[random.below(count) as usize]),
    };
    let bytes = |sector: usize| {
        let start = sector * SECTOR_BYTES;
        start.min(content.len())..content.len().min(start + SECTOR_BYTES)
    };
    let is_used = |sector: &usize| content[bytes(*sector)].iter().any(|byte| *byte != 0);
    let used: Vec<usize> = read.into_iter().flatten().copied().filter(is_used).collect();
    match (random.below(8), one_of(&used)) {
        (1.., Some(sector)) => {
            let used: Vec<usize> = bytes(sector).filter(|at| content[*at] != 0).collect();
            one_of(&used).expect("the sector is used")
        }
        _ => random.below(content.len() as u64) as usize,
    }
}
