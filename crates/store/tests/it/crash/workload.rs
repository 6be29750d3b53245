//! Random workloads: what is done, as data.

use liteio_store::SeededRandom;

use super::disk::{INLINE_BYTES_MAX, PART_BYTES_MIN};
use super::model::{Expected, Model, Turn};

pub(super) const BUCKETS: [&str; 2] = ["first-bucket", "second-bucket"];
/// The bucket whose versions may be locked.
pub(super) const LOCKABLE: &str = BUCKETS[1];
/// Names of annotations.
pub(super) const NAMES: [&str; 2] = ["a", "a.b"];
/// Among them one that is a prefix of another, and one that must be escaped in keys of records.
pub(super) const KEYS: [&str; 4] = ["a", "a/b", "a/b\0c", "z"];

/// The target of events.
pub(super) const TARGET: &str = "target";

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
    /// A version of another store, in so many parts.
    Import {
        place: Place,
        bytes: usize,
        parts: usize,
    },
    Delete {
        place: Place,
    },
    /// All keys of a bucket in one call.
    DeleteAll {
        bucket: usize,
    },
    /// Enables versioning, or suspends it.
    SetVersioning {
        bucket: usize,
        is_enabled: bool,
    },
    /// The version that so many newer ones of its key precede, delete markers among them.
    DeleteVersion {
        place: Place,
        newer: usize,
    },
    /// A legal hold on the current version, or none.
    Hold {
        place: Place,
        is_held: bool,
    },
    /// An annotation of the current version, by the number of its name; without bytes none.
    Annotate {
        place: Place,
        name: usize,
        bytes: usize,
    },
    Copy {
        from: Place,
        to: Place,
        is_relabelled: bool,
    },
    /// At the end of the object.
    Append {
        place: Place,
        bytes: usize,
    },
    /// The object of one key to another of its bucket.
    Rename {
        from: Place,
        to: usize,
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
    /// Everything that happens in a bucket is told.
    Notify {
        bucket: usize,
    },
    /// The oldest events were taken.
    Deliver {
        count: usize,
    },
    Reclaim,
    Sync,
    /// Closes the store and opens it again.
    Reopen,
}

/// The steps of `seed`, most of them such that they succeed if all before them did.
pub(super) fn workload(seed: u64) -> Vec<Step> {
    let random = SeededRandom::new(seed);
    let mut model = Model::default();
    let mut steps = Vec::new();
    let length = 7 + random.below(7) as usize;
    while steps.len() < length {
        let step = match steps.len() {
            0 => Step::CreateBucket { bucket: 0 },
            1 if seed.is_multiple_of(3) => Step::SetVersioning { bucket: 0, is_enabled: true },
            1 if seed % 9 == 1 => Step::CreateBucket { bucket: 1 },
            2 if seed % 4 == 2 => Step::Notify { bucket: 0 },
            6 if seed % 8 == 2 => Step::Deliver { count: 2 },
            _ => {
                let is_begin = |step: &&Step| matches!(step, Step::CreateUpload { .. });
                next_step(&random, &model, steps.iter().filter(is_begin).count() as u32)
            }
        };
        if let Expected::Done(next) = model.expect(&step, &Turn::new(seed, steps.len())) {
            model = next;
        }
        steps.push(step);
    }
    steps
}

/// `next_slot` is the number that no upload has yet.
fn next_step(random: &SeededRandom, model: &Model, next_slot: u32) -> Step {
    let anywhere = || -> Place {
        (usize::from(random.below(8) == 0), random.below(KEYS.len() as u64) as usize)
    };
    // A place with an object, most of the time.
    let somewhere = || {
        let places =
            (0..BUCKETS.len()).flat_map(|bucket| (0..KEYS.len()).map(move |key| (bucket, key)));
        let taken: Vec<Place> = places.filter(|place| model.object(*place).is_some()).collect();
        pick(random, &taken).unwrap_or_else(anywhere)
    };
    // An upload in progress, most of the time.
    let open = model.uploads.iter().filter(|(_, upload)| upload.is_open);
    let open: Vec<u32> = open.map(|(slot, _)| *slot).collect();
    let slot = || pick(random, &open).unwrap_or_else(|| random.below(u64::from(next_slot)) as u32);
    let number = || 1 + random.below(3) as u16;
    match random.below(152) {
        138.. => {
            let bytes = if random.below(4) == 0 { 0 } else { body_bytes(random).max(1) };
            Step::Annotate { place: somewhere(), name: random.below(2) as usize, bytes }
        }
        100..104 => {
            let bucket = usize::from(random.below(3) == 0);
            Step::SetVersioning { bucket, is_enabled: random.below(4) > 0 }
        }
        104..115 => Step::DeleteVersion { place: somewhere(), newer: random.below(3) as usize },
        128.. => Step::Append { place: somewhere(), bytes: body_bytes(random).max(1) },
        125..128 => {
            let parts = 1 + random.below(3) as usize;
            Step::Import { place: somewhere(), bytes: body_bytes(random).max(parts), parts }
        }
        120..125 => {
            Step::Rename { from: somewhere(), to: random.below(KEYS.len() as u64) as usize }
        }
        115.. => Step::Hold { place: somewhere(), is_held: random.below(4) > 0 },
        0..3 => Step::CreateBucket { bucket: random.below(2) as usize },
        3..6 => Step::DeleteBucket { bucket: random.below(2) as usize },
        6..18 => Step::Put { place: anywhere(), bytes: body_bytes(random) },
        18..28 => Step::Put { place: somewhere(), bytes: body_bytes(random) },
        28..37 => Step::Delete { place: somewhere() },
        37..39 => Step::DeleteAll { bucket: 0 },
        39..47 => {
            Step::Copy { from: somewhere(), to: anywhere(), is_relabelled: random.below(2) == 0 }
        }
        // Onto what is there already, often itself.
        47..52 => Step::Copy { from: somewhere(), to: somewhere(), is_relabelled: true },
        52..55 => Step::Reclaim,
        55..57 => Step::Sync,
        57..59 => Step::Reopen,
        59..66 => Step::CreateUpload { slot: next_slot, place: anywhere() },
        _ if next_slot == 0 => Step::CreateUpload { slot: next_slot, place: anywhere() },
        66..77 => {
            let bytes = body_bytes(random).max(PART_BYTES_MIN as usize);
            Step::PutPart { slot: slot(), number: number(), bytes }
        }
        77..86 => Step::CopyPart {
            slot: slot(),
            number: number(),
            from: somewhere(),
            is_whole: random.below(2) == 0,
        },
        86..97 => Step::Complete { slot: slot() },
        _ => Step::Abort { slot: slot() },
    }
}

/// One of `choices`, but now and then none.
fn pick<T: Copy>(random: &SeededRandom, choices: &[T]) -> Option<T> {
    if choices.is_empty() || random.below(8) == 0 {
        return None;
    }
    Some(choices[random.below(choices.len() as u64) as usize])
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
