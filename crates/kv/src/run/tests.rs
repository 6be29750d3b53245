//! Runs as they are written, read and damaged.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::{Bound, Range};
use std::os::fd::BorrowedFd;

use liteio_disk::{Disk, DiskFile, OpenMode, SimulatedDisk, effort};
use proptest::prelude::*;

use super::footer::Footer;
use super::{Damaged, Run, RunCursor, derive, hash, write};
use crate::KvError;
use crate::drainer::MergedRuns;
use crate::engine::Changes as _;
use crate::memtable::Entry;

type Model = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

fn written(disk: &SimulatedDisk, number: u64, model: &Model) -> Run {
    let entries = model.iter().map(|(key, value)| Entry { key, value: value.as_deref() });
    write(Some((disk, "t")), number, entries, model.len() as u64, |_| ()).expect("written")
}

/// `count` pairs of about 60 bytes, some of them tombstones.
fn model(count: u32) -> Model {
    let value = |i: u32| (!i.is_multiple_of(7)).then(|| vec![i as u8; 50]);
    (0..count).map(|i| (format!("key {:06}", i * 2).into_bytes(), value(i))).collect()
}

fn pair(entry: Entry<'_>) -> (Vec<u8>, Option<Vec<u8>>) {
    (entry.key.to_vec(), entry.value.map(<[u8]>::to_vec))
}

fn shown(cursor: &RunCursor<'_>) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    cursor.pair().map(|it| pair(it.entry()))
}

fn all(run: &Run) -> Result<Model, KvError> {
    let mut cursor = RunCursor::new(run);
    cursor.go_to_first(Bound::Unbounded)?;
    let mut all = Model::new();
    while let Some((key, value)) = shown(&cursor) {
        all.insert(key, value);
        cursor.next()?;
    }
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_run_is_what_was_written(
        model in proptest::collection::btree_map(
            proptest::collection::vec(0_u8..4, 0..4),
            proptest::option::of(proptest::collection::vec(any::<u8>(), 0..3_000)),
            0..80,
        ),
        probes in proptest::collection::vec(proptest::collection::vec(0_u8..4, 0..4), 20),
    ) {
        let disk = SimulatedDisk::new(1);
        let made = written(&disk, 7, &model);
        let (opened, lost) = Run::open(&disk, "t", made.name(), Damaged::Refuse).expect("opens");
        prop_assert_eq!(lost, 0);
        for run in [&made, &opened] {
            prop_assert_eq!(&all(run).expect("whole"), &model);
            for key in &probes {
                let found = run.get(key, hash(key)).expect("whole").map(|it| pair(it.entry()));
                prop_assert_eq!(found, model.get_key_value(key).map(|(k, v)| (k.clone(), v.clone())));
                for bound in [Bound::Included(&key[..]), Bound::Excluded(key), Bound::Unbounded] {
                    let owned = bound.map(<[u8]>::to_vec);
                    let range = |from, to| model.range::<Vec<u8>, _>((from, to));
                    let mut cursor = RunCursor::new(run);
                    cursor.go_to_first(bound).expect("whole");
                    for expected in range(owned.clone(), Bound::Unbounded) {
                        prop_assert_eq!(shown(&cursor), Some((expected.0.clone(), expected.1.clone())));
                        cursor.next().expect("whole");
                    }
                    prop_assert_eq!(shown(&cursor), None);
                    cursor.go_to_last(bound).expect("whole");
                    for expected in range(Bound::Unbounded, owned).rev() {
                        prop_assert_eq!(shown(&cursor), Some((expected.0.clone(), expected.1.clone())));
                        cursor.previous().expect("whole");
                    }
                    prop_assert_eq!(shown(&cursor), None);
                }
            }
        }
    }

    #[test]
    fn several_runs_are_one_order_with_the_newest_of_each_key(
        models in proptest::collection::vec(
            proptest::collection::btree_map(
                proptest::collection::vec(0_u8..4, 0..3),
                proptest::option::of(proptest::collection::vec(any::<u8>(), 0..2_000)),
                0..30,
            ),
            1..5,
        ),
        part in 1_usize..8,
    ) {
        let disk = SimulatedDisk::new(1);
        let runs: Vec<Run> =
            (0..).zip(&models).map(|(number, model)| written(&disk, number, model)).collect();
        let mut expected = Model::new();
        models.iter().for_each(|model| expected.extend(model.clone()));
        let without: BTreeSet<_> = expected.keys().step_by(5).cloned().collect();
        without.iter().for_each(|key| _ = expected.remove(key));
        let mut found = Model::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let lower = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let merged = MergedRuns::new(runs.iter().rev(), lower, &without).expect("whole");
            let mut merged = merged.take(part);
            while let Some(change) = merged.next().expect("whole") {
                found.insert(change.key.to_vec(), change.value.map(<[u8]>::to_vec));
            }
            if merged.is_at_end() {
                break;
            }
            after = merged.last_key().map(<[u8]>::to_vec);
        }
        prop_assert_eq!(found, expected);
    }
}

/// Changes every byte of a run: a read returns the right pairs, or an error.
#[test]
fn a_changed_byte_is_never_taken_for_another_pair() {
    const STEP: u64 = 7;
    let model = model(200);
    let disk = SimulatedDisk::new(1);
    let name = written(&disk, 1, &model).name();
    let file = disk.open(&name.path("t"), OpenMode::Write).expect("there");
    let bytes = file.len().expect("a length");
    let (mut whole, mut refused, mut salvaged) = (0, 0, 0);
    for at in effort::one_in(STEP, 0..bytes) {
        let mut byte = [0];
        file.read_at(&mut byte, at).expect("reads");
        file.write_at(&[byte[0] ^ 0x20], at).expect("written");
        let (run, _) = match Run::open(&disk, "t", name, Damaged::Refuse) {
            Ok(run) => run,
            Err(error) => panic!("one block is damaged, or what is derived: {error}"),
        };
        match all(&run) {
            Ok(found) => {
                assert_eq!(found, model, "byte {at}");
                whole += 1;
            }
            Err(KvError::Corrupt(_)) => {
                refused += 1;
                let (run, lost) =
                    Run::open(&disk, "t", name, Damaged::PassOver).expect("what is whole");
                let found = all(&run).expect("whole");
                assert!(
                    lost == 1 && found.iter().all(|(key, value)| model.get(key) == Some(value))
                );
                salvaged += found.len();
            }
            Err(error) => panic!("byte {at}: {error}"),
        }
        file.write_at(&byte, at).expect("written");
    }
    let step = effort::amount(STEP, 1) as usize;
    assert!(whole > 100 / step && refused > 10_000 / step && salvaged > refused * 100);
}

#[test]
fn a_run_that_was_cut_is_refused_and_what_is_left_can_be_salvaged() {
    let model = model(500);
    let disk = SimulatedDisk::new(1);
    let name = written(&disk, 1, &model).name();
    let path = name.path("t");
    let file = disk.open(&path, OpenMode::Write).expect("there");
    let bytes = file.len().expect("a length");
    let mut content = vec![0; bytes as usize];
    file.read_at(&mut content, 0).expect("reads");
    for cut in (0..bytes).step_by(331) {
        file.set_len(cut).expect("cut");
        match Run::open(&disk, "t", name, Damaged::Refuse) {
            Ok((run, _)) => assert_eq!(all(&run).expect("whole"), model, "the end is derived"),
            Err(error) => assert!(matches!(error, KvError::Corrupt(_)), "{error}"),
        }
        let (run, _) = Run::open(&disk, "t", name, Damaged::PassOver).expect("opens");
        let found = all(&run).expect("whole");
        assert!(found.iter().eq(model.iter().take(found.len())));
        file.write_at(&content, 0).expect("written");
    }
    disk.remove(&path).expect("removed");
    assert!(matches!(Run::open(&disk, "t", name, Damaged::Refuse), Err(KvError::Corrupt(_))));
    let (run, lost) = Run::open(&disk, "t", name, Damaged::PassOver).expect("opens");
    assert!(all(&run).expect("empty").is_empty() && lost == name.blocks);
}

/// A file with unreadable bytes.
#[derive(Debug)]
struct Failing {
    file: Box<dyn DiskFile>,
    unreadable: Range<u64>,
}

impl DiskFile for Failing {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        const EIO: i32 = 5;
        if offset < self.unreadable.end && offset + buf.len() as u64 > self.unreadable.start {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.file.read_at(buf, offset)
    }

    fn try_read_at(&self, _: &mut [u8], _: u64) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn start_writeback(&self, offset: u64, bytes: u64) {
        self.file.start_writeback(offset, bytes);
    }

    fn try_lock(&self) -> io::Result<()> {
        self.file.try_lock()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn a_sector_that_cannot_be_read_takes_only_the_blocks_in_it() {
    let disk = SimulatedDisk::new(1);
    let run = written(&disk, 1, &model(5_000));
    let (name, bytes) = (run.name(), run.bytes());
    let failing = |unreadable| Failing {
        file: disk.open(&name.path("t"), OpenMode::Read).expect("there"),
        unreadable,
    };
    // The damaged end is rebuilt from the blocks.
    let end = failing(bytes / 4096 * 4096..bytes);
    assert!(Footer::read_derived(&end, bytes, &name).expect("no failure").is_none());
    let (index, _) = derive(&end, bytes, &name).expect("no failure");
    assert_eq!(index.len() as u64, name.blocks);
    for sector in [0, 4096, 40 * 4096] {
        let hole = failing(sector..sector + 4096);
        let (index, _) = derive(&hole, bytes, &name).expect("no failure");
        let lost = name.blocks - index.len() as u64;
        // A block has some more than a sector.
        assert!((1..=2).contains(&lost), "{lost} at {sector}");
    }
}
