//! The choice of operations.

use liteio_store::SeededRandom;

use super::model::Model;
use super::op::{BUCKETS, Condition, KEYS, LOCKABLE, Named, Op, OpId, Place, USERS};
use super::server::Server;

/// Most uploads of a bucket.
const UPLOADS_MAX: usize = 4;

/// The next operation of a server.
pub(super) fn next_op(random: &SeededRandom, model: &Model, server: &Server, now_ms: u64) -> Op {
    let bucket = usize::from(random.below(4) == 0);
    let anywhere = || -> Place { (bucket, random.below(KEYS.len() as u64) as usize) };
    let somewhere = || -> Place {
        let places = (0..BUCKETS.len()).flat_map(|it| (0..KEYS.len()).map(move |key| (it, key)));
        let has_object = |place: &Place| {
            model.buckets.get(&place.0).is_some_and(|it| it.current(place.1).is_some())
        };
        let taken: Vec<Place> = places.filter(has_object).collect();
        pick(random, &taken).unwrap_or_else(anywhere)
    };
    // A version, mostly of those that there are.
    let version = || -> (Place, Named) {
        let place = somewhere();
        let versions = model.buckets.get(&place.0).map_or(&[][..], |it| it.versions(place.1));
        let ids: Vec<Named> = versions.iter().map(|version| version.made.name()).collect();
        (place, pick(random, &ids).unwrap_or(Named::Null))
    };
    let uploads: Vec<OpId> = model.uploads.keys().copied().collect();
    let open: Vec<OpId> =
        model.buckets.values().flat_map(|it| it.uploads.keys().copied()).collect();
    let upload = || pick(random, &open).or_else(|| pick(random, &uploads));
    let upload = || upload().and_then(|upload| Some((upload, *model.uploads.get(&upload)?)));
    match random.below(150) {
        _ if !model.buckets.contains_key(&bucket) && random.below(3) > 0 => {
            Op::CreateBucket { bucket }
        }
        0..3 => Op::DeleteBucket { bucket },
        3..6 => Op::SetVersioning { bucket, is_enabled: random.below(3) > 0 },
        6..9 => Op::SetTold { bucket, is_told: random.below(4) > 0 },
        9..12 => Op::SetDocument { bucket },
        12..14 => Op::SetLifecycle { bucket },
        14..26 => Op::Put { place: anywhere(), bytes: bytes(random), condition: Condition::None },
        26..34 => Op::Put { place: somewhere(), bytes: bytes(random), condition: Condition::None },
        34..38 => Op::Put { place: anywhere(), bytes: bytes(random), condition: Condition::IsNew },
        38..42 => {
            let place = somewhere();
            let current = model.buckets.get(&place.0).and_then(|it| it.current(place.1));
            let etag = current.and_then(|it| it.content.as_ref()).map(|it| it.etag.clone());
            let etag = etag.unwrap_or_else(|| "0123456789abcdef0123456789abcdef".to_owned());
            Op::Put { place, bytes: bytes(random), condition: Condition::Is(etag) }
        }
        42..46 => Op::Stage { bytes: bytes(random).max(70) },
        46..50 => match server.staged.first() {
            Some((staged, bytes)) => {
                Op::PutStaged { place: anywhere(), staged: *staged, bytes: *bytes }
            }
            None => Op::Stage { bytes: bytes(random).max(70) },
        },
        50..51 => Op::DropStaged,
        51..57 => Op::Copy { from: somewhere(), to: anywhere() },
        57..66 => Op::Delete { place: somewhere() },
        66..67 => Op::Put { place: (bucket, 4), bytes: bytes(random), condition: Condition::None },
        67..69 => Op::DeleteAll { bucket },
        69..75 => {
            let (place, version) = version();
            Op::DeleteVersion { place, version }
        }
        75..79 => {
            let places = 0..KEYS.len();
            let has = |key: &usize| {
                model.buckets.get(&LOCKABLE).is_some_and(|it| it.current(*key).is_some())
            };
            let key = pick(random, &places.filter(has).collect::<Vec<_>>()).unwrap_or(0);
            match random.below(4) {
                0 => Op::Hold { place: (LOCKABLE, key), is_held: random.below(2) == 0 },
                _ => Op::Retain {
                    place: (LOCKABLE, key),
                    until_ms: now_ms + random.below(900) * 1_000,
                },
            }
        }
        79..83 => match open.len() < UPLOADS_MAX {
            true => Op::CreateUpload { place: anywhere() },
            false => Op::Uploads { bucket },
        },
        83..101 => match upload() {
            None => Op::CreateUpload { place: anywhere() },
            Some((upload, place)) => match random.below(10) {
                0..5 => Op::PutPart {
                    place,
                    upload,
                    number: 1 + random.below(3) as u16,
                    bytes: bytes(random).max(8),
                },
                5..9 => {
                    let parts = model.buckets.values().find_map(|it| it.uploads.get(&upload));
                    let numbers: Vec<u16> =
                        parts.map(|it| it.parts.keys().copied().collect()).unwrap_or_default();
                    match numbers.is_empty() {
                        false => Op::Complete { place, upload, numbers },
                        true => Op::Complete { place, upload, numbers: vec![1] },
                    }
                }
                _ => Op::Abort { place, upload },
            },
        },
        101..104 => Op::ChangeUser {
            user: random.below(u64::from(USERS)) as u8,
            if_unchanged: random.below(2) == 0,
        },
        104..109 => Op::Users,
        109..117 => Op::Get { place: somewhere() },
        117..120 => {
            let (place, version) = version();
            Op::GetVersion { place, version }
        }
        120..127 => match server.has_reader {
            false => Op::OpenReader { place: somewhere() },
            true => Op::ReadOn,
        },
        127..131 => Op::List {
            bucket,
            prefix: ["", "b/", "b"][random.below(3) as usize],
            is_grouped: random.below(2) == 0,
        },
        131..134 => Op::Versions { bucket },
        134..135 => Op::Uploads { bucket },
        135..138 => Op::Usage { bucket },
        138..142 => Op::Settings { bucket },
        142..144 => Op::Events,
        144..146 => Op::Forget { count: 1 + random.below(3) as usize },
        146..148 => Op::Lifecycle,
        _ => Op::Tidy,
    }
}

/// One of `choices`, but now and then none.
pub(super) fn pick<T: Copy>(random: &SeededRandom, choices: &[T]) -> Option<T> {
    if choices.is_empty() || random.below(8) == 0 {
        return None;
    }
    Some(choices[random.below(choices.len() as u64) as usize])
}

fn bytes(random: &SeededRandom) -> usize {
    match random.below(10) {
        0 => 0,
        1..3 => 1 + random.below(60) as usize,
        _ => 65 + random.below(500) as usize,
    }
}
