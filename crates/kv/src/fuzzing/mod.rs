//! Properties that must hold for any bytes, for a fuzz target of `fuzz/`. A test of this module
//! runs its corpus and variations of it.

#[cfg(test)]
mod tests;

use crc_fast::{CrcAlgorithm, Digest};
use liteio_disk::{Disk, OpenMode, SimulatedDisk};

use crate::KvError;
use crate::log::{Log, Nonce, Operation, Record, Round, Version};

const NONCE: Nonce = [0x5A; 16];
const ROUND: Round = Round { number: 0, nonce: NONCE, version: Version::Current };
const PATH: &str = "log";
/// The path of the first log file.
const FILE: &str = "log.log";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Note(Vec<u8>, Vec<u8>),
    Mark(u64),
}

/// Replays any file up to the first record that does not verify, or refuses it.
///
/// # Panics
/// If a record is read that was not written, or a whole one is left out.
pub fn log(data: &[u8]) {
    replay(&file(data));
    whole_records(data);
    own_records(data);
}

fn file(bytes: &[u8]) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let file = disk.open(FILE, OpenMode::CreateOrWrite).expect("a simulated file");
    file.write_at(bytes, 0).expect("a simulated write");
    disk
}

fn replay(disk: &SimulatedDisk) -> (Vec<Write>, Option<KvError>) {
    let mut writes = Vec::new();
    let mut log = Log::open(disk, PATH, 64).expect("a simulated file");
    let all = |_, _: Operation<'_>| Ok(true);
    let result = log.replay(&ROUND, false, all, |_, _, operation| {
        writes.push(match operation {
            Operation::Put { key, value } => Write::Put(key.to_vec(), value.to_vec()),
            Operation::Delete { key } => Write::Delete(key.to_vec()),
            Operation::Note { attachment, contents } => {
                Write::Note(attachment.to_vec(), contents.to_vec())
            }
            Operation::Mark { number } => Write::Mark(number),
        });
        Ok(())
    });
    if let Err(error) = &result {
        assert!(matches!(error, KvError::Corrupt(_)), "{error}");
    }
    _ = log.ending().expect("a simulated file");
    (writes, result.err())
}

/// Encodes operations as the format describes them.
fn encode(writes: &[Write]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for write in writes {
        let (tag, key, value) = match write {
            Write::Put(key, value) => (1, key.clone(), &value[..]),
            Write::Delete(key) => (2, key.clone(), &[][..]),
            Write::Note(attachment, contents) => (3, attachment.clone(), &contents[..]),
            Write::Mark(number) => (4, number.to_le_bytes().to_vec(), &[][..]),
        };
        bytes.push(tag);
        bytes.extend_from_slice(&u32::try_from(key.len()).expect("short").to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(value.len()).expect("short").to_le_bytes());
        bytes.extend_from_slice(&key);
        bytes.extend_from_slice(value);
    }
    bytes
}

/// Encodes a record, as the format describes it, around any operations.
fn seal(number: u64, operations: &[u8]) -> Vec<u8> {
    let fields = [number, operations.len() as u64, 0].map(u64::to_le_bytes).concat();
    let sum = |algorithm, bytes: &[u8]| {
        let mut digest = Digest::new(algorithm);
        digest.update(&NONCE);
        digest.update(bytes);
        digest.finalize()
    };
    let sum_of_fields = sum(CrcAlgorithm::Crc32Iscsi, &fields) as u32;
    let frame = [&fields[..], &sum_of_fields.to_le_bytes()].concat();
    let covered = [&frame, operations, &frame].concat();
    [&sum(CrcAlgorithm::Crc64Nvme, &covered).to_le_bytes()[..], &covered].concat()
}

/// Any operations in a record that verifies are read as the format says, or refused.
fn whole_records(operations: &[u8]) {
    let (writes, error) = replay(&file(&seal(1, operations)));
    let encoded = encode(&writes);
    if error.is_none() {
        assert_eq!(encoded, operations, "operations have one encoding");
    } else {
        assert!(operations.starts_with(&encoded), "what precedes the damage is read");
    }
    let (none, error) = replay(&file(&seal(2, operations)));
    assert!(none.is_empty() && error.is_none(), "records have their numbers");
}

/// Writes taken from the input, split into records: they are replayed as written, and after damage
/// up to the record before it.
fn own_records(data: &[u8]) {
    let Some((&[place_low, place_high, flip], mut rest)) = data.split_first_chunk() else { return };
    let disk = file(&[]);
    let mut log = Log::open(&disk, PATH, 64).expect("a simulated file");
    log.start(&ROUND);
    let (mut written, mut ends) = (Vec::new(), Vec::new());
    while let Some((&[head, key_bytes, value_bytes], after)) = rest.split_first_chunk() {
        let (key, after) = after.split_at(after.len().min(key_bytes.into()));
        let (value, after) = after.split_at(after.len().min(value_bytes.into()));
        rest = after;
        let mut record = Record::new();
        // A record may have any number of operations: this one has up to three.
        for _ in 0..head % 4 {
            match head >> 2 & 3 {
                0 => {
                    record.put(key, value);
                    written.push(Write::Put(key.to_vec(), value.to_vec()));
                }
                1 => {
                    record.delete(key);
                    written.push(Write::Delete(key.to_vec()));
                }
                2 => {
                    record.note(key, value);
                    written.push(Write::Note(key.to_vec(), value.to_vec()));
                }
                _ => {
                    record.mark(head.into());
                    written.push(Write::Mark(head.into()));
                }
            }
        }
        log.append(&mut record, false).expect("a simulated write");
        ends.push((log.bytes(), written.len()));
    }
    let (found, error) = replay(&disk);
    assert!(error.is_none());
    assert_eq!(found, written);

    let place = u64::from(u16::from_le_bytes([place_low, place_high]));
    if flip == 0 || log.bytes() == 0 {
        return;
    }
    let place = place % log.bytes();
    let file = disk.open(FILE, OpenMode::Write).expect("a simulated file");
    let mut byte = [0];
    file.read_at(&mut byte, place).expect("a simulated read");
    file.write_at(&[byte[0] ^ flip], place).expect("a simulated write");
    let sound = ends.iter().rev().find(|(end, _)| *end <= place).map_or(0, |(_, count)| *count);
    let (found, error) = replay(&disk);
    assert!(error.is_none());
    assert_eq!(found, written[..sound], "replay ends before the damage");
}
