//! The work on any engine. Every phase checks its reads outside the measured time.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::data::{Data, KEY_BYTES, Key, Seen, VALUE_BYTES, Value};
use super::engine::{Engine, Failure, NoSuchThing, Synced};
use super::scan::{SCANS_AT_ONCE, expected};
use super::task::{Exercise, Work};
use super::{space, trickle};
use crate::process::disk_used;
use crate::process::usage::of_this_process;
use crate::run::metrics::{DISK, LOST, MEMORY_OWN, MEMORY_PEAK, TIME};
use crate::worker::measured::Measured;
use crate::worker::{Phase, Task};

/// Number of operations that are prepared, then measured together, then checked.
const BLOCK: u64 = 1_000;
/// Number of entries of a phase that are read back after it, evenly spread.
const CHECKS: u64 = 1_000;
/// Entries in each transaction of the preload.
const PRELOAD_BATCH: u64 = 1_000;

/// Runs a task with an engine, and returns its phases.
///
/// # Errors
/// The failure of the engine.
pub fn run<E: Engine>(task: &Task<Exercise>) -> Result<Vec<Phase>, Failure> {
    let site = Site {
        directory: &task.directory,
        sync: task.work.sync,
        data: Data::new(task.seed),
        time: Duration::from_secs_f64(task.seconds_max),
    };
    match &task.work.work {
        Work::Single { puts, gets, scans, scan_entries } => {
            site.single::<E>(*puts, *gets, *scans, *scan_entries)
        }
        Work::Timed { puts } => site.timed::<E>(*puts),
        Work::Ahead { puts, window } => site.ahead::<E>(*puts, (*window).max(1)),
        Work::Writers { preload, writers, puts } => site.writers::<E>(*preload, *writers, *puts),
        Work::Batches { preload, size, puts } => site.batches::<E>(*preload, *size, *puts),
        Work::UntilKilled { preload, acknowledged, .. } => {
            site.until_killed::<E>(*preload, acknowledged)
        }
        Work::Reopen { entries } => site.reopen::<E>(*entries),
        Work::Space { puts, value_bytes, idle_seconds } => {
            let idle = Duration::from_secs(*idle_seconds);
            space::run::<E>(&task.directory, site.data, (*puts, *value_bytes), idle)
        }
        Work::Trickle { puts, value_bytes, idle_seconds } => {
            let time = Duration::from_secs(*idle_seconds);
            trickle::run::<E>(&task.directory, site.data, (*puts, *value_bytes), time)
        }
        Work::Floor(_) => Err(NoSuchThing("it is an engine").into()),
    }
}

/// The blocks of `numbers` that are run together.
pub(super) fn blocks(numbers: Range<u64>, size: u64) -> impl Iterator<Item = Range<u64>> {
    let end = numbers.end;
    numbers.step_by(size as usize).map(move |start| start..end.min(start + size))
}

struct Site<'a> {
    directory: &'a Path,
    sync: Synced,
    data: Data,
    time: Duration,
}

impl Site<'_> {
    fn pair(&self, number: u64) -> (Key, Value) {
        (self.data.key(number), self.data.value(number))
    }

    fn pairs(&self, numbers: Range<u64>) -> Vec<(Key, Value)> {
        numbers.map(|number| self.pair(number)).collect()
    }

    /// Opens the engine with `entries` entries, put without a wait for the disk.
    fn preloaded<E: Engine>(&self, entries: u64) -> Result<E, Failure> {
        let engine = E::open(self.directory, Synced::No)?;
        for block in blocks(0..entries, PRELOAD_BATCH) {
            let pairs = self.pairs(block);
            match engine.put_all(&pairs) {
                Err(failure) if failure.is::<NoSuchThing>() => put_each(&engine, &pairs)?,
                done => done?,
            }
        }
        if self.sync == Synced::No {
            return Ok(engine);
        }
        engine.close()?;
        E::open(self.directory, self.sync)
    }

    fn single<E: Engine>(
        &self,
        puts: u64,
        gets: u64,
        scans: u64,
        scan_entries: u64,
    ) -> Result<Vec<Phase>, Failure> {
        let engine = E::open(self.directory, self.sync)?;
        let mut put = Measured::begin("put");
        for block in blocks(0..puts, BLOCK) {
            let pairs = self.pairs(block);
            put.time(pairs.len(), || put_each(&engine, &pairs))?;
            if self.is_over(&put) {
                break;
            }
        }
        let entries = put.phase.operations;
        self.check(&engine, 0..entries, &mut put);
        let mut get = Measured::begin("get");
        self.gets(&engine, gets, entries, &mut get)?;
        get.stop();
        let mut scan = Measured::begin("scan");
        match self.scans(&engine, scans, scan_entries.min(entries), entries, &mut scan) {
            Err(failure) if failure.is::<NoSuchThing>() => {
                scan.phase.absent = Some(failure.to_string());
            }
            done => done?,
        }
        scan.stop();
        let usage = of_this_process();
        put.phase.value(MEMORY_PEAK, usage.memory_peak_bytes as f64);
        put.phase.value(MEMORY_OWN, usage.memory_own_bytes as f64);
        let begin = Instant::now();
        engine.close()?;
        put.phase.value("close", begin.elapsed().as_secs_f64());
        put.phase.value(DISK, disk_used(self.directory) as f64);
        let usage = of_this_process();
        let bytes = put.phase.operations.max(1) as f64 * (KEY_BYTES + VALUE_BYTES) as f64;
        for (id, written) in [
            ("disk_written_factor", Some(usage.disk_written_bytes)),
            ("passed_factor", Some(usage.passed_bytes)),
            ("tree_factor", E::written().map(|written| written.tree_bytes)),
            ("log_factor", E::written().map(|written| written.log_bytes)),
        ] {
            if let Some(written) = written {
                put.phase.value(id, written as f64 / bytes);
            }
        }
        let phases = [put, get, scan].map(Measured::end);
        Ok(phases.into_iter().filter(|phase| !phase.is_empty()).collect())
    }

    fn gets(
        &self,
        engine: &impl Engine,
        gets: u64,
        entries: u64,
        measured: &mut Measured,
    ) -> Result<(), Failure> {
        let mut values = Vec::new();
        let mut ends = Vec::new();
        for block in blocks(0..gets, BLOCK) {
            let numbers: Vec<u64> =
                block.map(|step| self.data.random_entry(step, entries)).collect();
            let keys: Vec<Key> = numbers.iter().map(|number| self.data.key(*number)).collect();
            values.clear();
            ends.clear();
            measured.time(keys.len(), || {
                for key in &keys {
                    engine.get(key, &mut values)?;
                    ends.push(values.len());
                }
                Ok(())
            })?;
            let mut begin = 0;
            for (number, end) in numbers.iter().zip(&ends) {
                if values[begin..*end] != self.data.value(*number) {
                    measured.phase.fail(format!("entry {number} is missing or wrong"));
                }
                begin = *end;
            }
            if self.is_over(measured) {
                break;
            }
        }
        Ok(())
    }

    /// A scan is compared by a digest of its keys and values.
    fn scans(
        &self,
        engine: &impl Engine,
        scans: u64,
        count: u64,
        entries: u64,
        measured: &mut Measured,
    ) -> Result<(), Failure> {
        for block in blocks(0..scans, SCANS_AT_ONCE) {
            let start = |step| self.data.key(self.data.random_entry(step, entries));
            let starts: Vec<Key> = block.map(start).collect();
            let mut shown = Vec::new();
            for from in &starts {
                let mut seen = Seen::default();
                measured.sample(1, || {
                    let mut show = |key: &[u8], value: &[u8]| seen.add(key, value);
                    engine.scan(from, count as usize, &mut show)
                })?;
                shown.push(seen);
                if self.is_over(measured) {
                    break;
                }
            }
            let starts = &starts[..shown.len()];
            for (seen, expected) in shown.iter().zip(expected(&self.data, starts, count, entries)) {
                if *seen != expected {
                    let count = seen.count;
                    measured.phase.fail(format!("a scan shows {count} entries, or wrong ones"));
                }
            }
            if self.is_over(measured) {
                break;
            }
        }
        Ok(())
    }

    fn timed<E: Engine>(&self, puts: u64) -> Result<Vec<Phase>, Failure> {
        let engine = E::open(self.directory, self.sync)?;
        let mut measured = Measured::begin("timed");
        for block in blocks(0..puts, BLOCK) {
            let pairs = self.pairs(block);
            measured.time_each(&pairs, |(key, value)| engine.put(key, value))?;
            if self.is_over(&measured) {
                break;
            }
        }
        let phase = &mut measured.phase;
        let time = phase.nanoseconds as f64 / phase.operations.max(1) as f64;
        phase.value(TIME, time);
        self.finish(engine, 0, measured)
    }

    fn ahead<E: Engine>(&self, puts: u64, window: u64) -> Result<Vec<Phase>, Failure> {
        let engine = E::open(self.directory, self.sync)?;
        let mut measured = Measured::begin("ahead");
        for block in blocks(0..puts, window) {
            let pairs = self.pairs(block);
            measured.time(pairs.len(), || engine.put_ahead(&pairs))?;
            if self.is_over(&measured) {
                break;
            }
        }
        self.finish(engine, 0, measured)
    }

    fn writers<E: Engine>(
        &self,
        preload: u64,
        writers: u64,
        puts: u64,
    ) -> Result<Vec<Phase>, Failure> {
        let engine = self.preloaded::<E>(preload)?;
        let mut measured = Measured::begin("writers");
        let is_over = |number: u64, elapsed: Duration| number >= puts || elapsed >= self.time;
        measured.threads(writers, is_over, |number| {
            let (key, value) = self.pair(preload + number);
            let begin = Instant::now();
            engine.put(&key, &value)?;
            Ok(begin.elapsed())
        })?;
        self.finish(engine, preload, measured)
    }

    fn batches<E: Engine>(
        &self,
        preload: u64,
        size: u64,
        puts: u64,
    ) -> Result<Vec<Phase>, Failure> {
        let engine = self.preloaded::<E>(preload)?;
        let mut measured = Measured::begin("batch");
        for block in blocks(preload..preload + puts, size) {
            let pairs = self.pairs(block);
            measured.sample(pairs.len(), || engine.put_all(&pairs))?;
            if self.is_over(&measured) {
                break;
            }
        }
        self.finish(engine, preload, measured)
    }

    fn until_killed<E: Engine>(
        &self,
        preload: u64,
        acknowledged: &str,
    ) -> Result<Vec<Phase>, Failure> {
        let engine = self.preloaded::<E>(preload)?;
        let file = File::options().write(true).create(true).truncate(false).open(acknowledged)?;
        for number in 0.. {
            let (key, value) = self.pair(preload + number);
            engine.put(&key, &value)?;
            file.write_all_at(&(number + 1_u64).to_le_bytes(), 0)?;
        }
        Ok(Vec::new())
    }

    fn reopen<E: Engine>(&self, entries: u64) -> Result<Vec<Phase>, Failure> {
        let mut measured = Measured::begin("reopen");
        let mut value = Vec::new();
        let mut opened = None;
        measured.time(1, || {
            let engine = opened.insert(E::open(self.directory, self.sync)?);
            // An engine is open once it answers: some put the work off until the first read.
            engine.get(&self.data.key(0), &mut value).map(drop)
        })?;
        let engine = opened.ok_or("it is not open")?;
        let (mut lost, mut wrong) = (0.0, 0.0);
        for number in 0..entries {
            value.clear();
            match engine.get(&self.data.key(number), &mut value)? {
                true if value == self.data.value(number) => {}
                true => wrong += 1.0,
                false => lost += 1.0,
            }
        }
        measured.phase.value(LOST, lost);
        measured.phase.value("wrong", wrong);
        engine.close()?;
        Ok(vec![measured.end()])
    }

    /// Ends a phase that has put entries after the preload.
    fn finish(
        &self,
        engine: impl Engine,
        preload: u64,
        mut measured: Measured,
    ) -> Result<Vec<Phase>, Failure> {
        self.check(&engine, 0..preload + measured.phase.operations, &mut measured);
        engine.close()?;
        Ok(vec![measured.end()])
    }

    /// Reads some entries back, including the first and the last.
    fn check(&self, engine: &impl Engine, numbers: Range<u64>, measured: &mut Measured) {
        measured.stop();
        let step = ((numbers.end - numbers.start) / CHECKS).max(1);
        let last = numbers.end.checked_sub(1).filter(|last| numbers.contains(last));
        let mut value = Vec::new();
        for number in numbers.step_by(step as usize).chain(last) {
            value.clear();
            let wrong = match engine.get(&self.data.key(number), &mut value) {
                Ok(true) if value == self.data.value(number) => continue,
                Ok(true) => format!("entry {number} is wrong after the phase"),
                Ok(false) => format!("entry {number} is missing after the phase"),
                Err(failure) => failure.to_string(),
            };
            measured.phase.fail(wrong);
        }
    }

    fn is_over(&self, measured: &Measured) -> bool {
        measured.elapsed() >= self.time
    }
}

fn put_each(engine: &impl Engine, pairs: &[(Key, Value)]) -> Result<(), Failure> {
    pairs.iter().try_for_each(|(key, value)| engine.put(key, value))
}
