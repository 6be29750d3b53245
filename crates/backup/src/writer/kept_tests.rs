//! Backups as earlier versions wrote them: they are verified and restored, and have what was backed up.
//!
//! A fixture is one file: the number of objects (4), for each its name and its bytes; then the number of pairs (4) that a restore
//! has, for each the key and the value. Before names, bytes, keys and values is their length (4). Numbers are little-endian.

use std::path::Path;

use bytes::Bytes;
use liteio_disk::Durability;

use super::tests::{Gone, Moments, repository, restore, write};
use crate::names::IDENTITY;
use crate::target::{PutMode, SimulatedTarget, Target as _};
use crate::testing::{Pairs, Workload};
use crate::{Error, Moment, Repository};

/// Backups that were written by earlier versions.
const BACKUPS: [(&str, &[u8]); 1] =
    [("format-1", include_bytes!("../../tests/fixtures/format-1.backup"))];

fn key() -> [u8; 32] {
    [5; 32]
}

fn pack(target: &SimulatedTarget, expected: &Pairs) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut push = |all: Vec<(Vec<u8>, Vec<u8>)>| {
        packed.extend((all.len() as u32).to_le_bytes());
        for bytes in all.iter().flat_map(|(first, second)| [first, second]) {
            packed.extend((bytes.len() as u32).to_le_bytes());
            packed.extend(bytes);
        }
    };
    let object = |name: &String| {
        let bytes = target.get(name).expect("there");
        (name.clone().into_bytes(), bytes.to_vec())
    };
    push(target.names().iter().map(object).collect());
    push(expected.clone().into_iter().collect());
    packed
}

fn unpack(mut packed: &[u8]) -> (SimulatedTarget, Pairs) {
    let packed = &mut packed;
    let target = SimulatedTarget::new();
    for _ in 0..number(packed) {
        let name = String::from_utf8(take(packed)).expect("a name");
        target.put(&name, Bytes::from(take(packed)), PutMode::New).expect("put");
    }
    let mut pairs = Pairs::new();
    for _ in 0..number(packed) {
        let key = take(packed);
        pairs.insert(key, take(packed));
    }
    (target, pairs)
}

fn number(packed: &mut &[u8]) -> usize {
    let (number, rest) = packed.split_first_chunk::<4>().expect("a number");
    *packed = rest;
    u32::from_le_bytes(*number) as usize
}

fn take(packed: &mut &[u8]) -> Vec<u8> {
    let length = number(packed);
    let (taken, rest) = packed.split_at(length);
    *packed = rest;
    taken.to_vec()
}

fn check(name: &str, packed: &[u8]) {
    let (target, expected) = unpack(packed);
    assert!(expected.len() > 20, "{name}");
    let repository = Repository::open(std::sync::Arc::new(target), Some(&key())).expect("opened");
    let verified = repository.verify(&mut |_| {}).expect("verified");
    assert_eq!(verified.damaged, [""; 0], "{name}");
    // For its settings.
    let workload = Workload::new(1, Durability::Fsync);
    let (found, restored) = restore(&repository, &workload, Moment::Newest).expect("restored");
    assert_eq!(restored.left_out, 0, "{name}");
    assert!(found == expected, "{name}: {} and {} pairs", found.len(), expected.len());
}

#[test]
fn backups_of_every_version_are_verified_and_restored() {
    for (name, packed) in BACKUPS {
        check(name, packed);
    }
}

/// A backup written by this version passes the same checks. With `LITEIO_FIXTURES` set to a directory, it is written there.
#[test]
fn a_backup_of_this_version_is_verified_and_restored() {
    let workload = Workload::new(41, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let mut moments = Moments::new();
    write(&workload, &repository, &Gone, &mut moments, &|| {}).expect("written");
    let (expected, _) = moments.last_key_value().expect("some").1;
    let packed = pack(&target, expected);
    if let Some(directory) = std::env::var_os("LITEIO_FIXTURES") {
        std::fs::write(Path::new(&directory).join("format.backup"), &packed).expect("written");
    }
    check("this version", &packed);
}

#[test]
fn a_backup_of_a_newer_format_is_refused_and_left_as_it_is() {
    let (target, _) = unpack(BACKUPS[0].1);
    let identity = target.get(IDENTITY).expect("there");
    let identity = String::from_utf8(identity.to_vec()).expect("JSON");
    let newer = identity.replacen("\"format\":1", "\"format\":2", 1);
    assert_ne!(newer, identity);
    target.put(IDENTITY, newer.clone().into(), PutMode::Replace).expect("put");
    let before = pack(&target, &Pairs::new());
    let shared = std::sync::Arc::new(target.clone());
    let opened = [
        Repository::open(shared.clone(), Some(&key())),
        Repository::open_or_create(shared, Some(&key()), 1_700_000_000_000),
    ];
    for refused in opened {
        let Err(Error::Refused(line)) = refused else { panic!("{refused:?}") };
        assert!(line.ends_with("has format 2: use a newer LiteIO"), "{line}");
    }
    assert_eq!(pack(&target, &Pairs::new()), before);
}
