//! Engines do the work of their tasks, and what they do wrong is seen.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::engine::{Engine, Failure, Key, NoSuchThing, Show, Synced, Value};
use super::roster::{MEMORY, OWN};
use super::task::{Exercise, Work};
use super::work;
use crate::random::SEED;
use crate::worker::{Candidate, Phase, Task};

fn phases(
    candidate: &Candidate<Exercise>,
    directory: &Path,
    work: Work,
) -> Result<Vec<Phase>, Failure> {
    let sync = if candidate.name == MEMORY { Synced::No } else { Synced::Each };
    (candidate.measure)(&Task {
        engine: candidate.name.to_owned(),
        directory: directory.to_owned(),
        seed: SEED,
        seconds_max: 60.0,
        work: Exercise { sync, work },
    })
}

/// The engine of ours and the rival that is in this program.
fn compared() -> [Candidate<Exercise>; 2] {
    ["liteio", "redb"].map(|name| {
        OWN.into_iter().find(|candidate| candidate.name == name).expect("the roster has it")
    })
}

fn run(candidate: &Candidate<Exercise>, work: Work) -> Result<Vec<Phase>, Failure> {
    let directory = tempfile::tempdir().expect("a directory can be made");
    phases(candidate, directory.path(), work)
}

#[test]
fn only_some_engines_put_ahead() {
    let [liteio, redb] = compared();
    let ahead = Work::Ahead { puts: 250, window: 100 };
    let phases = run(&liteio, ahead.clone()).expect("our own can");
    assert_eq!((phases[0].operations, phases[0].errors), (250, 0));
    let failure = run(&redb, ahead).expect_err("redb cannot");
    assert!(failure.is::<NoSuchThing>(), "{failure}");
}

#[test]
fn what_is_gone_after_reopening_is_counted() {
    let [liteio, redb] = compared();
    for candidate in [liteio, redb] {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let batches = Work::Batches { preload: 0, size: 10, puts: 40 };
        phases(&candidate, directory.path(), batches).expect("the engine works");
        let reopen = Work::Reopen { entries: 43 };
        let found = phases(&candidate, directory.path(), reopen).expect("it can be opened again");
        let value = |id: &str| found[0].values.get(id).copied();
        assert_eq!((value("lost"), value("wrong")), (Some(3.0), Some(0.0)), "{}", candidate.name);
    }
}

#[test]
fn space_is_measured_until_it_is_given_back_and_entries_are_looked_for() {
    let [liteio, redb] = compared();
    for candidate in [liteio, redb] {
        let phases =
            run(&candidate, Work::Space { puts: 1_200, value_bytes: 1_024, idle_seconds: 0 });
        let phases = phases.expect("the engine works");
        let ids: Vec<&str> = phases.iter().map(|phase| phase.id.as_str()).collect();
        assert_eq!(ids, ["space_put", "space_deleted", "space_idle", "space_restart"]);
        for phase in phases {
            assert_eq!(phase.errors, 0, "{}: {phase:?}", candidate.name);
            assert!(phase.values["disk"] > 0.0, "{}: {phase:?}", candidate.name);
        }
    }
}

#[test]
fn a_trickle_is_timed_while_space_is_given_back() {
    let [liteio, redb] = compared();
    for candidate in [liteio, redb] {
        let work = Work::Trickle { puts: 1_200, value_bytes: 1_024, idle_seconds: 0 };
        let phases = run(&candidate, work).expect("the engine works");
        let ids: Vec<&str> = phases.iter().map(|phase| phase.id.as_str()).collect();
        assert_eq!(ids, ["trickle_put", "trickle_get"]);
        for phase in phases {
            assert_eq!((phase.operations, phase.errors), (1, 0), "{}: {phase:?}", candidate.name);
            assert!(phase.values["max"] > 0.0 && phase.values.contains_key("idle"), "{phase:?}");
        }
    }
}

#[test]
fn each_put_is_timed_and_the_bytes_written_are_counted() {
    let [liteio, redb] = compared();
    for candidate in [liteio.clone(), redb] {
        let timed = run(&candidate, Work::Timed { puts: 1_500 }).expect("the engine works");
        let value = |id: &str| timed[0].values[id];
        assert_eq!(timed[0].operations, 1_500);
        assert!(
            0.0 < value("p50") && value("p50") <= value("p999") && value("p999") <= value("max")
        );
        assert!(value("max") <= timed[0].nanoseconds as f64 && value("time") > 0.0);
        assert!(value("operation_cpu") > 0.0, "{timed:?}");
    }
    let single = Work::Single { puts: 1_500, gets: 10, scans: 0, scan_entries: 1 };
    let phases = run(&liteio, single).expect("the engine works");
    let value = |id: &str| phases[0].values[id];
    // Other tests of this process write, too.
    assert!(value("log_factor") >= 1.0 && value("tree_factor") >= 1.0, "{phases:?}");
}

/// An engine that forgets an entry, or mixes up values.
struct Faulty<const FORGETS: bool> {
    entries: Mutex<BTreeMap<Key, Value>>,
}

impl<const FORGETS: bool> Engine for Faulty<FORGETS> {
    fn open(_: &Path, _: Synced) -> Result<Self, Failure> {
        Ok(Faulty { entries: Mutex::default() })
    }

    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        let mut value = *value;
        value[99] ^= u8::from(key[0] == 7);
        if key[0] != 7 || !FORGETS {
            self.entries.lock().unwrap_or_else(PoisonError::into_inner).insert(*key, value);
        }
        Ok(())
    }

    fn put_all(&self, _: &[(Key, Value)]) -> Result<(), Failure> {
        Err(NoSuchThing("it has no transactions").into())
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(entries.get(key).map(|found| value.extend_from_slice(found)).is_some())
    }

    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.range(*from..).take(count).for_each(|(key, value)| show(key, value));
        Ok(())
    }
}

#[test]
fn a_lost_entry_or_a_wrong_value_is_an_error_in_every_phase() {
    let version = || "1".to_owned();
    for candidate in [
        Candidate { name: "forgetful", version, measure: work::run::<Faulty<true>> },
        Candidate { name: "confused", version, measure: work::run::<Faulty<false>> },
    ] {
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
