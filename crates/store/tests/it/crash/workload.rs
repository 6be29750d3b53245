//! Random workloads: what is done, as data.

use liteio_store::SeededRandom;

use super::disk::INLINE_BYTES_MAX;
use super::model::{Expected, Model, Turn};

pub(super) const BUCKETS: [&str; 2] = ["first-bucket", "second-bucket"];
/// Among them one that is a prefix of another, and one that must be escaped in keys of records.
pub(super) const KEYS: [&str; 4] = ["a", "a/b", "a/b\0c", "z"];

/// An object, by the numbers of its bucket and key.
pub(super) type Place = (usize, usize);

/// One call. Uploads are known by a number of their own, `slot`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    CreateBucket {
        bucket: usize,
    },
    DeleteBucket {
        bucket: usize,
    },
    Put {
        place: Place,
        bytes: usize,
    },
    Delete {
        place: Place,
    },
    /// All keys of a bucket in one call.
    DeleteAll {
        bucket: usize,
    },
    Copy {
        from: Place,
        to: Place,
        is_relabelled: bool,
    },
    CreateUpload {
        slot: u32,
        place: Place,
    },
    PutPart {
        slot: u32,
        number: u16,
        bytes: usize,
    },
    CopyPart {
        slot: u32,
        number: u16,
        from: Place,
        is_whole: bool,
    },
    /// Also of an upload that was completed before: then it answers as the first time.
    Complete {
        slot: u32,
    },
    Abort {
        slot: u32,
    },
    Reclaim,
    /// Closes the store and opens it again.
    Reopen,
}

/// The steps of `seed`, most of them such that they succeed if all before them did.
pub(super) fn workload(seed: u64) -> Vec<Step> {
    let random = SeededRandom::new(seed);
    let mut model = Model::default();
    let mut steps = vec![Step::CreateBucket { bucket: 0 }];
    let length = 7 + random.below(7) as usize;
    let mut slots = 0;
    while steps.len() < length {
        let turn = Turn::new(seed, steps.len());
        if let Expected::Done(next) = model.expect(steps.last().expect("never empty"), &turn) {
            model = next;
        }
        steps.push(next_step(&random, &mut slots));
    }
    steps
}

fn next_step(random: &SeededRandom, slots: &mut u32) -> Step {
    let place = || -> Place {
        let bucket = usize::from(random.below(6) == 0);
        (bucket, random.below(KEYS.len() as u64) as usize)
    };
    let slot = |slots: &u32| random.below(u64::from(*slots)) as u32;
    let number = || 1 + random.below(3) as u16;
    match random.below(100) {
        0..4 => Step::CreateBucket { bucket: random.below(2) as usize },
        4..6 => Step::DeleteBucket { bucket: random.below(2) as usize },
        6..32 => Step::Put { place: place(), bytes: body_bytes(random) },
        32..40 => Step::Delete { place: place() },
        40..42 => Step::DeleteAll { bucket: 0 },
        42..52 => Step::Copy { from: place(), to: place(), is_relabelled: random.below(2) == 0 },
        52..56 => Step::Reclaim,
        56..58 => Step::Reopen,
        58..66 => {
            *slots += 1;
            Step::CreateUpload { slot: *slots - 1, place: (0, place().1) }
        }
        _ if *slots == 0 => Step::Put { place: place(), bytes: body_bytes(random) },
        66..80 => {
            let bytes = body_bytes(random).max(8);
            Step::PutPart { slot: slot(slots), number: number(), bytes }
        }
        80..86 => Step::CopyPart {
            slot: slot(slots),
            number: number(),
            from: place(),
            is_whole: random.below(2) == 0,
        },
        86..97 => Step::Complete { slot: slot(slots) },
        _ => Step::Abort { slot: slot(slots) },
    }
}

fn body_bytes(random: &SeededRandom) -> usize {
    match random.below(60) {
        0..3 => 0,
        3..20 => 1 + random.below(INLINE_BYTES_MAX as u64) as usize,
        // More than one block of a blob.
        20 => 270_000,
        _ => INLINE_BYTES_MAX + 1 + random.below(5_000) as usize,
    }
}
