//! Tests of the log: replay, and the detection of its end.

use liteio_disk::{OpenMode, SimulatedDisk};

use super::*;

fn records(log: &mut Log, count: u8) {
    let mut record = Record::new();
    for i in 0..count {
        record.clear();
        record.put(&[i], &[i; 30]);
        record.delete(&[i, i]);
        log.append(&mut record, true).expect("appends");
    }
}

fn round(nonce: Nonce, number: u64) -> Round {
    Round { number, nonce, version: Version::Current }
}

fn replay(disk: &SimulatedDisk, nonce: Nonce, number: u64) -> Vec<u8> {
    let mut found = Vec::new();
    let mut log = Log::open(disk, "log", 100).expect("opens");
    let all = |_, _: Operation<'_>| Ok(true);
    log.replay(&round(nonce, number), false, all, |_, _, operation| {
        match operation {
            Operation::Put { key, value } => {
                assert_eq!(value, &[key[0]; 30]);
                found.push(key[0]);
            }
            Operation::Delete { key } => assert_eq!(key, &[found[found.len() - 1]; 2]),
            other => panic!("never written: {other:?}"),
        }
        Ok(())
    })
    .expect("replays");
    found
}

#[test]
fn replays_what_follows_the_checkpoint_under_its_nonce_only() {
    let disk = SimulatedDisk::new(1);
    let mut log = Log::open(&disk, "log", 100).expect("opens");
    log.start(&round([1; 16], 10));
    records(&mut log, 5);
    assert_eq!(replay(&disk, [1; 16], 10), [0, 1, 2, 3, 4]);
    assert!(replay(&disk, [2; 16], 10).is_empty(), "another nonce");
    assert!(replay(&disk, [1; 16], 9).is_empty(), "another number");
    // A new round never accepts records behind its end.
    log.start(&round([3; 16], 15));
    records(&mut log, 2);
    assert_eq!(replay(&disk, [3; 16], 15), [0, 1]);
    assert!(replay(&disk, [1; 16], 10).is_empty());
}

fn ending(disk: &SimulatedDisk, nonce: Nonce, number: u64) -> Ending {
    let mut log = Log::open(disk, "log", 100).expect("opens");
    let all = |_, _: Operation<'_>| Ok(true);
    log.replay(&round(nonce, number), false, all, |_, _, _| Ok(())).expect("replays");
    log.ending().expect("reads").0
}

/// A log of four records, written over an older and longer round.
fn four_records(sync: bool) -> (SimulatedDisk, Log) {
    let disk = SimulatedDisk::new(1);
    let mut log = Log::open(&disk, "log", 100).expect("opens");
    log.start(&round([7; 16], 0));
    records(&mut log, 9);
    log.start(&round([1; 16], 9));
    let mut record = Record::new();
    for i in 0..4 {
        record.clear();
        record.put(&[i], &[i; 30]);
        log.append(&mut record, sync).expect("appends");
    }
    (disk, log)
}

#[test]
fn a_changed_byte_is_damage_where_a_later_record_proves_it_and_a_torn_end_in_the_last() {
    let (disk, log) = four_records(true);
    assert_eq!(ending(&disk, [1; 16], 9), Ending::Orderly);
    let record_bytes = log.bytes() / 4;
    for at in 0..log.bytes() {
        let mut byte = [0];
        log.files[0].file.read_at(&mut byte, at).expect("reads");
        log.files[0].file.write_at(&[byte[0] ^ 0x10], at).expect("writes");
        let record = at / record_bytes;
        match ending(&disk, [1; 16], 9) {
            Ending::Damaged { tail, durable: 12 } if record < 3 => {
                assert_eq!((tail.number, tail.position), (10 + record, record * record_bytes));
            }
            Ending::Torn(tail) if record == 3 => {
                let expected = (13, 13, 3 * record_bytes, record_bytes);
                let found = (tail.number, tail.newest, tail.position, tail.bytes.min(record_bytes));
                assert_eq!(found, expected, "byte {at}");
            }
            other => panic!("byte {at}: {other:?}"),
        }
        log.files[0].file.write_at(&byte, at).expect("writes");
    }
    // Several records, and a whole sector.
    log.files[0].file.write_at(&vec![0; 2 * record_bytes as usize + 3], 0).expect("writes");
    assert!(matches!(ending(&disk, [1; 16], 9), Ending::Damaged { durable: 12, .. }));
}

#[test]
fn where_nothing_was_synced_a_changed_byte_may_be_torn_and_what_was_synced_may_not() {
    let (disk, mut log) = four_records(false);
    log.files[0].file.write_at(&[0xee], 3).expect("writes");
    let Ending::Torn(tail) = ending(&disk, [1; 16], 9) else { panic!("nothing was durable") };
    assert_eq!((tail.number, tail.newest), (10, 13));
    // A mark is synced, and the record behind it says so.
    let mut record = Record::new();
    record.mark(13);
    log.append(&mut record, true).expect("appends");
    assert!(matches!(ending(&disk, [1; 16], 9), Ending::Torn(_)), "nobody knows of the sync yet");
    record.clear();
    record.put(b"key", b"value");
    log.append(&mut record, false).expect("appends");
    assert!(matches!(ending(&disk, [1; 16], 9), Ending::Damaged { durable: 14, .. }));
}

#[test]
fn what_is_left_of_an_end_is_kept() {
    let (disk, log) = four_records(true);
    let record_bytes = log.bytes() / 4;
    log.files[0].file.write_at(&[0xee], 3 * record_bytes + 40).expect("writes");
    let mut log = Log::open(&disk, "log", 100).expect("opens");
    log.replay(&round([1; 16], 9), false, |_, _| Ok(true), |_, _, _| Ok(())).expect("replays");
    let (ending, parts) = log.ending().expect("reads");
    let Ending::Torn(mut tail) = ending else { panic!("the last record") };
    for _ in 0..2 {
        log.keep(&disk, "log.dropped", &parts, &mut tail).expect("copies");
        assert_eq!(tail.copy.as_deref(), Some("log.dropped"));
        let copy = disk.open("log.dropped", OpenMode::Read).expect("there");
        assert_eq!(copy.len().expect("a length"), tail.bytes);
    }
}

#[test]
fn salvage_passes_over_what_is_damaged_and_names_it() {
    let (disk, log) = four_records(true);
    let record_bytes = log.bytes() / 4;
    log.files[0].file.write_at(&[0xee; 50], record_bytes + 10).expect("writes");
    let mut log = Log::open(&disk, "log", 100).expect("opens");
    let mut found = Vec::new();
    let passed_over = log.replay(
        &round([1; 16], 9),
        true,
        |_, _| Ok(true),
        |_, _, operation| {
            if let Operation::Put { key, .. } = operation {
                found.push(key[0]);
            }
            Ok(())
        },
    );
    assert_eq!(passed_over.expect("replays"), [11..=11]);
    assert_eq!(found, [0, 2, 3]);
    assert_eq!(log.ending().expect("reads").0, Ending::Orderly);
}

/// The result of the check of a tree that ends with record 3, and a log of which only the second file has records, from
/// number 10 on, under the tree's nonce or another one; `change` is made to the second file before.
fn checked(nonce: Nonce, change: impl FnOnce(&Log)) -> Result<(), String> {
    let disk = SimulatedDisk::new(1);
    let mut log = Log::open(&disk, "log", 1 << 10).expect("opens");
    log.start(&round(nonce, 9));
    log.switch();
    records(&mut log, 2);
    change(&log);
    let log = Log::open(&disk, "log", 1 << 10).expect("opens");
    log.check(&round([1; 16], 3), [0; LOG_FILES])
}

#[test]
fn a_file_that_begins_with_a_record_of_another_round_is_refused_and_a_torn_one_is_not() {
    checked([1; 16], |_| {}).expect("the round of the tree");
    let refused = checked([2; 16], |_| {}).expect_err("another round");
    assert!(refused.contains("log.log2 begins at byte 0 with record 10"), "{refused}");
    // The write of the record failed after some bytes, and no later one reached the device.
    for nonce in [[1; 16], [2; 16]] {
        for bytes in 9..HEADER_BYTES {
            let zeros = vec![0; (1 << 10) - bytes];
            let tear =
                |log: &Log| log.files[1].file.write_at(&zeros, bytes as u64).expect("writes");
            checked(nonce, tear).unwrap_or_else(|what| panic!("{bytes} bytes: {what}"));
        }
    }
    // The rest of a record that was overwritten does not complete it.
    let other = |log: &Log| log.files[1].file.write_at(&[0xee; 3], 20).expect("writes");
    checked([1; 16], other).expect("no record of another round");
    let far = |log: &Log| log.files[1].file.write_at(&[0xff; 8], 16).expect("writes");
    checked([2; 16], far).expect("a length beyond the file is none");
}

/// A record as the old version wrote it.
fn old_record(nonce: Nonce, number: u64, key: u8) -> Vec<u8> {
    let operation = [&[1][..], &1_u32.to_le_bytes(), &0_u32.to_le_bytes(), &[key]].concat();
    let fields = [number, operation.len() as u64].map(u64::to_le_bytes).concat();
    let mut record = [&[0; 8][..], &fields, &operation].concat();
    let sum = checksum(&nonce, &record);
    record[..8].copy_from_slice(&sum.to_le_bytes());
    record
}

#[test]
fn records_of_the_old_version_are_read_and_their_damage_is_found() {
    for (in_order, is_damaged) in [(false, None), (true, None), (true, Some(40)), (false, Some(40))]
    {
        let disk = SimulatedDisk::new(1);
        let file = disk.open("log.log", OpenMode::CreateOrWrite).expect("opens");
        let old: Vec<u8> = (1..=4).flat_map(|n| old_record([1; 16], n, n as u8)).collect();
        file.write_at(&old, 0).expect("writes");
        if let Some(at) = is_damaged {
            file.write_at(&[0xff], at).expect("writes");
        }
        let mut log = Log::open(&disk, "log", 100).expect("opens");
        let round = Round { number: 0, nonce: [1; 16], version: Version::Old { in_order } };
        let mut found = 0;
        let count = |_, _, _: Operation<'_>| {
            found += 1;
            Ok(())
        };
        log.replay(&round, false, |_, _| Ok(true), count).expect("replays");
        match (in_order, is_damaged) {
            (_, None) => {
                assert_eq!((found, log.ending().expect("reads").0), (4, Ending::Orderly));
            }
            (true, _) => {
                assert_eq!(found, 1);
                assert!(matches!(
                    log.ending().expect("reads").0,
                    Ending::Damaged { durable: 3, .. }
                ));
            }
            (false, _) => assert!(matches!(log.ending().expect("reads").0, Ending::Torn(_))),
        }
    }
}

#[test]
fn values_that_look_like_records_are_no_damage_and_no_endless_work() {
    let disk = SimulatedDisk::new(1);
    let mut log = Log::open(&disk, "log", 1 << 20).expect("opens");
    log.start(&round([1; 16], 0));
    let fakes: Vec<u8> =
        (0..40_000_u64).flat_map(|_| [7_u64, 3, 500_000].map(u64::to_le_bytes).concat()).collect();
    let mut record = Record::new();
    record.put(b"key", &fakes);
    log.append(&mut record, true).expect("appends");
    log.files[0].file.write_at(&[0xff], 30).expect("writes");
    assert!(matches!(ending(&disk, [1; 16], 0), Ending::Torn(tail) if tail.newest == 1));
}

#[test]
fn a_changed_byte_ends_the_replay_before_its_record() {
    let disk = SimulatedDisk::new(1);
    let mut log = Log::open(&disk, "log", 100).expect("opens");
    log.start(&round([1; 16], 0));
    records(&mut log, 3);
    let record_bytes = log.bytes() / 3;
    for at in 0..log.bytes() {
        let mut byte = [0];
        log.files[0].file.read_at(&mut byte, at).expect("reads");
        log.files[0].file.write_at(&[byte[0] ^ 0x10], at).expect("writes");
        let whole: Vec<u8> = (0..(at / record_bytes) as u8).collect();
        assert_eq!(replay(&disk, [1; 16], 0), whole, "byte {at}");
        log.files[0].file.write_at(&byte, at).expect("writes");
    }
}
