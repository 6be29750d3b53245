//! Engines do the work of their tasks, and what they do wrong is seen.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use super::data::{Key, SEED, Value};
use super::engine::{Candidate, Engine, Failure, NoSuchThing, Synced};
use super::liteio::{LITEIO, LITEIO_MEMORY};
use super::plain_redb::REDB;
use super::task::{Task, Work};
use super::work;
use crate::worker::Phase;

fn phases(candidate: &Candidate, directory: &Path, work: Work) -> Result<Vec<Phase>, Failure> {
    let task = Task {
        engine: candidate.name.to_owned(),
        directory: directory.to_owned(),
        sync: if candidate.name == LITEIO_MEMORY.name { Synced::No } else { Synced::Each },
        seed: SEED,
        seconds_max: 60.0,
        work,
    };
    work::run(candidate, &task)
}

fn run(candidate: &Candidate, work: Work) -> Result<Vec<Phase>, Failure> {
    let directory = tempfile::tempdir().expect("a directory can be made");
    phases(candidate, directory.path(), work)
}

const SINGLE: Work = Work::Single { puts: 250, gets: 1_200, scans: 3, scan_entries: 100 };

#[test]
fn every_engine_of_ours_does_all_work_without_an_error() {
    for candidate in [LITEIO, LITEIO_MEMORY, REDB] {
        for (work, expected) in [
            (SINGLE, &[("put", 250), ("get", 1_200), ("scan", 3)][..]),
            (Work::Writers { preload: 1_500, writers: 4, puts: 50 }, &[("writers", 50)]),
            (Work::Batches { preload: 1_500, size: 20, puts: 60 }, &[("batch", 60)]),
        ] {
            let phases = run(&candidate, work.clone()).expect("the engine works");
            let done: Vec<(&str, u64)> =
                phases.iter().map(|phase| (phase.id.as_str(), phase.operations)).collect();
            assert_eq!(done, expected, "{}: {work:?}", candidate.name);
            for phase in &phases {
                assert_eq!(phase.errors, 0, "{}: {phase:?}", candidate.name);
                assert!(phase.nanoseconds > 0, "{}: {phase:?}", candidate.name);
            }
        }
    }
}

#[test]
fn only_some_engines_put_ahead() {
    let ahead = Work::Ahead { puts: 250, window: 100 };
    let phases = run(&LITEIO, ahead.clone()).expect("our own can");
    assert_eq!((phases[0].operations, phases[0].errors), (250, 0));
    let failure = run(&REDB, ahead).expect_err("redb cannot");
    assert!(failure.is::<NoSuchThing>(), "{failure}");
}

#[test]
fn what_is_gone_after_reopening_is_counted() {
    for candidate in [LITEIO, REDB] {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let batches = Work::Batches { preload: 0, size: 10, puts: 40 };
        phases(&candidate, directory.path(), batches).expect("the engine works");
        let reopen = Work::Reopen { entries: 43 };
        let found = phases(&candidate, directory.path(), reopen).expect("it can be opened again");
        let value = |id: &str| found[0].values.get(id).copied();
        assert_eq!((value("lost"), value("wrong")), (Some(3.0), Some(0.0)), "{}", candidate.name);
    }
}

/// An engine that forgets an entry, or mixes up values.
struct Faulty {
    entries: Mutex<BTreeMap<Key, Value>>,
    fault: fn(&mut BTreeMap<Key, Value>, Key, Value),
}

impl Engine for Faulty {
    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        let mut entries = self.entries.lock().expect("nobody panics with it");
        (self.fault)(&mut entries, *key, *value);
        Ok(())
    }

    fn put_all(&self, _: &[(Key, Value)]) -> Result<(), Failure> {
        Err(NoSuchThing("it has no transactions").into())
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        let entries = self.entries.lock().expect("nobody panics with it");
        Ok(entries.get(key).map(|found| value.extend_from_slice(found)).is_some())
    }

    fn scan(
        &self,
        from: &Key,
        count: usize,
        entry: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<(), Failure> {
        let entries = self.entries.lock().expect("nobody panics with it");
        entries.range(*from..).take(count).for_each(|(key, value)| entry(key, value));
        Ok(())
    }
}

fn faulty(fault: fn(&mut BTreeMap<Key, Value>, Key, Value)) -> Result<Box<dyn Engine>, Failure> {
    Ok(Box::new(Faulty { entries: Mutex::default(), fault }))
}

#[test]
fn a_lost_entry_or_a_wrong_value_is_an_error_in_every_phase() {
    let forgetful = Candidate {
        name: "forgetful",
        version: || "1",
        open: |_, _| {
            faulty(|entries, key, value| {
                if key[0] != 7 {
                    entries.insert(key, value);
                }
            })
        },
    };
    let confused = Candidate {
        name: "confused",
        version: || "1",
        open: |_, _| {
            faulty(|entries, key, mut value| {
                value[99] ^= u8::from(key[0] == 7);
                entries.insert(key, value);
            })
        },
    };
    for candidate in [forgetful, confused] {
        let work = Work::Single { puts: 1_000, gets: 2_000, scans: 20, scan_entries: 500 };
        let phases = run(&candidate, work).expect("the work goes on");
        assert_eq!(phases.len(), 3);
        for phase in phases {
            assert!(phase.errors > 0, "{}: {phase:?}", candidate.name);
            assert!(phase.first_error.is_some(), "{}: {phase:?}", candidate.name);
        }
        let failure = run(&candidate, Work::Batches { preload: 0, size: 10, puts: 10 });
        assert!(failure.is_err_and(|failure| failure.is::<NoSuchThing>()), "{}", candidate.name);
    }
}
