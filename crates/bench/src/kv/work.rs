//! The work itself, on any engine. Every phase checks what it has read, outside the measured time.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::data::{Data, Key, Value};
use super::engine::{Candidate, Engine, Failure, NoSuchThing, Synced};
use super::seen::Seen;
use super::task::{Task, Work};
use crate::counting_allocator::Allocations;
use crate::process::disk_used;
use crate::process::usage::of_this_process;
use crate::samples::Samples;
use crate::worker::Phase;
use crate::worker::measured::Measured;

/// Operations that are prepared, then measured together, then checked.
const BLOCK: u64 = 1_000;
/// Entries of a phase that are read back after it, evenly spread.
const CHECKS: u64 = 1_000;
/// Entries in each transaction of what is there before.
const PRELOAD_BATCH: u64 = 1_000;

/// Does a task and returns its phases. An operation that the engine lacks is in its phase, a failure
/// keeps the rest of the task from being done.
pub(super) fn run(candidate: &Candidate, task: &Task) -> Result<Vec<Phase>, Failure> {
    let site = Site {
        candidate,
        directory: &task.directory,
        sync: task.sync,
        data: Data::new(task.seed),
        time: Duration::from_secs_f64(task.seconds_max),
    };
    match &task.work {
        Work::Single { puts, gets, scans, scan_entries } => {
            site.single(*puts, *gets, *scans, *scan_entries)
        }
        Work::Ahead { puts, window } => site.ahead(*puts, *window),
        Work::Writers { preload, writers, puts } => site.writers(*preload, *writers, *puts),
        Work::Batches { preload, size, puts } => site.batches(*preload, *size, *puts),
        Work::UntilKilled { preload, acknowledged } => site.until_killed(*preload, acknowledged),
        Work::Reopen { entries } => site.reopen(*entries),
    }
}

struct Site<'a> {
    candidate: &'a Candidate,
    directory: &'a Path,
    sync: Synced,
    data: Data,
    time: Duration,
}

impl Site<'_> {
    fn open(&self, sync: Synced) -> Result<Box<dyn Engine>, Failure> {
        (self.candidate.open)(self.directory, sync)
    }

    fn pair(&self, number: u64) -> (Key, Value) {
        (self.data.key(number), self.data.value(number))
    }

    fn pairs(&self, numbers: std::ops::Range<u64>) -> Vec<(Key, Value)> {
        numbers.map(|number| self.pair(number)).collect()
    }

    /// Opens it with so many entries, which were put without waiting for the disk.
    fn preloaded(&self, entries: u64) -> Result<Box<dyn Engine>, Failure> {
        let engine = self.open(Synced::No)?;
        for start in (0..entries).step_by(PRELOAD_BATCH as usize) {
            let pairs = self.pairs(start..entries.min(start + PRELOAD_BATCH));
            match engine.put_all(&pairs) {
                Err(failure) if failure.is::<NoSuchThing>() => {
                    pairs.iter().try_for_each(|(key, value)| engine.put(key, value))?;
                }
                done => done?,
            }
        }
        if self.sync == Synced::No {
            return Ok(engine);
        }
        engine.close()?;
        self.open(self.sync)
    }

    fn single(
        &self,
        puts: u64,
        gets: u64,
        scans: u64,
        scan_entries: u64,
    ) -> Result<Vec<Phase>, Failure> {
        let engine = self.open(self.sync)?;
        let mut put = Measured::begin("put");
        for start in (0..puts).step_by(BLOCK as usize) {
            let pairs = self.pairs(start..puts.min(start + BLOCK));
            put.time(pairs.len(), || {
                pairs.iter().try_for_each(|(key, value)| engine.put(key, value))
            })?;
            if self.is_over(&put) {
                break;
            }
        }
        let entries = put.phase.operations;
        put.stop();
        self.check(&*engine, 0..entries, &mut put);
        let mut get = Measured::begin("get");
        self.gets(&*engine, gets, entries, &mut get)?;
        let mut scan = Measured::begin("scan");
        self.scans(&*engine, scans, scan_entries, entries, &mut scan)?;
        put.phase.value("memory_peak", of_this_process().memory_peak_bytes as f64);
        engine.close()?;
        put.phase.value("disk", disk_used(self.directory) as f64);
        let phases = [put, get, scan].map(Measured::end);
        Ok(phases.into_iter().filter(|phase| !phase.is_empty()).collect())
    }

    fn gets(
        &self,
        engine: &dyn Engine,
        gets: u64,
        entries: u64,
        measured: &mut Measured,
    ) -> Result<(), Failure> {
        let mut values = Vec::new();
        let mut ends = Vec::new();
        for start in (0..gets).step_by(BLOCK as usize) {
            let steps = start..gets.min(start + BLOCK);
            let numbers: Vec<u64> =
                steps.map(|step| self.data.random_entry(step, entries)).collect();
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

    fn scans(
        &self,
        engine: &dyn Engine,
        scans: u64,
        scan_entries: u64,
        entries: u64,
        measured: &mut Measured,
    ) -> Result<(), Failure> {
        if scans == 0 {
            return Ok(());
        }
        // A scan is compared by the sum over its keys and values.
        let mut order: Vec<(Key, u64)> = (0..entries).map(|n| (self.data.key(n), n)).collect();
        order.sort_unstable();
        let count = scan_entries.min(entries) as usize;
        let mut samples = Samples::new();
        for step in 0..scans {
            let first = self.data.random_entry(step, entries - count as u64 + 1) as usize;
            let mut seen = Seen::default();
            let allocations = Allocations::now();
            let begin = Instant::now();
            let result =
                engine.scan(&order[first].0, count, &mut |key, value| seen.add(key, value));
            let elapsed = begin.elapsed();
            match result {
                Err(failure) if failure.is::<NoSuchThing>() => {
                    measured.phase.absent = Some(failure.to_string());
                    return Ok(());
                }
                result => result?,
            }
            let mut expected = Seen::default();
            for (key, number) in &order[first..first + count] {
                expected.add(key, &self.data.value(*number));
            }
            if seen != expected {
                measured
                    .phase
                    .fail(format!("a scan shows {} entries, or others than were put", seen.count));
                continue;
            }
            samples.record(elapsed);
            measured.add(1, elapsed, allocations);
            if self.is_over(measured) {
                break;
            }
        }
        measured.phase.percentiles(samples);
        Ok(())
    }

    fn ahead(&self, puts: u64, window: u64) -> Result<Vec<Phase>, Failure> {
        let engine = self.open(self.sync)?;
        let mut measured = Measured::begin("ahead");
        for start in (0..puts).step_by(window.max(1) as usize) {
            let pairs = self.pairs(start..puts.min(start + window.max(1)));
            measured.time(pairs.len(), || engine.put_ahead(&pairs))?;
            if self.is_over(&measured) {
                break;
            }
        }
        measured.stop();
        self.check(&*engine, 0..measured.phase.operations, &mut measured);
        engine.close()?;
        Ok(vec![measured.end()])
    }

    fn writers(&self, preload: u64, writers: u64, puts: u64) -> Result<Vec<Phase>, Failure> {
        let engine = self.preloaded(preload)?;
        let mut measured = Measured::begin("writers");
        let next = AtomicU64::new(0);
        let allocations = Allocations::now();
        let failure = Mutex::new(None);
        let begin = Instant::now();
        let samples: Vec<Samples> = thread::scope(|scope| {
            let work = || {
                let mut samples = Samples::new();
                while begin.elapsed() < self.time {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= puts {
                        break;
                    }
                    let (key, value) = self.pair(preload + number);
                    let before = Instant::now();
                    match engine.put(&key, &value) {
                        Ok(()) => samples.record(before.elapsed()),
                        Err(error) => {
                            failure.lock().map(|mut slot| *slot = Some(error)).unwrap_or(());
                            break;
                        }
                    }
                }
                samples
            };
            let threads: Vec<_> = (0..writers).map(|_| scope.spawn(work)).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let elapsed = begin.elapsed();
        if let Ok(Some(failure)) = failure.into_inner() {
            return Err(failure);
        }
        let mut all = Samples::new();
        samples.into_iter().for_each(|samples| all.merge(samples));
        measured.add(all.len() as u64, elapsed, allocations);
        measured.phase.percentiles(all);
        measured.stop();
        self.check(&*engine, 0..preload + measured.phase.operations, &mut measured);
        engine.close()?;
        Ok(vec![measured.end()])
    }

    fn batches(&self, preload: u64, size: u64, puts: u64) -> Result<Vec<Phase>, Failure> {
        let engine = self.preloaded(preload)?;
        let mut measured = Measured::begin("batch");
        let mut samples = Samples::new();
        let mut next = preload;
        while next < preload + puts && !self.is_over(&measured) {
            let pairs = self.pairs(next..next + size);
            let time = measured.time(pairs.len(), || engine.put_all(&pairs))?;
            samples.record(time);
            next += size;
        }
        measured.phase.percentiles(samples);
        measured.stop();
        self.check(&*engine, 0..next, &mut measured);
        engine.close()?;
        Ok(vec![measured.end()])
    }

    fn until_killed(&self, preload: u64, acknowledged: &Path) -> Result<Vec<Phase>, Failure> {
        let engine = self.preloaded(preload)?;
        let file = File::options().write(true).create(true).truncate(false).open(acknowledged)?;
        for number in 0.. {
            let (key, value) = self.pair(preload + number);
            engine.put(&key, &value)?;
            file.write_all_at(&(number + 1_u64).to_le_bytes(), 0)?;
        }
        Ok(Vec::new())
    }

    fn reopen(&self, entries: u64) -> Result<Vec<Phase>, Failure> {
        let mut measured = Measured::begin("reopen");
        let mut value = Vec::new();
        let allocations = Allocations::now();
        let begin = Instant::now();
        let engine = self.open(self.sync)?;
        // Open is what answers: some engines put the work off to the first question.
        engine.get(&self.data.key(0), &mut value)?;
        measured.add(1, begin.elapsed(), allocations);
        let (mut lost, mut wrong) = (0.0, 0.0);
        for number in 0..entries {
            value.clear();
            match engine.get(&self.data.key(number), &mut value)? {
                true if value == self.data.value(number) => {}
                true => wrong += 1.0,
                false => lost += 1.0,
            }
        }
        measured.phase.value("lost", lost);
        measured.phase.value("wrong", wrong);
        engine.close()?;
        Ok(vec![measured.end()])
    }

    /// Reads some of the entries back, the first and the last among them.
    fn check(&self, engine: &dyn Engine, numbers: std::ops::Range<u64>, measured: &mut Measured) {
        let count = numbers.end - numbers.start;
        let step = (count / CHECKS).max(1);
        let last = numbers.end.checked_sub(1).filter(|last| numbers.contains(last));
        let mut value = Vec::new();
        for number in numbers.step_by(step as usize).chain(last) {
            value.clear();
            match engine.get(&self.data.key(number), &mut value) {
                Ok(true) if value == self.data.value(number) => {}
                Ok(true) => measured.phase.fail(format!("entry {number} is wrong after the phase")),
                Ok(false) => {
                    measured.phase.fail(format!("entry {number} is missing after the phase"))
                }
                Err(failure) => measured.phase.fail(failure.to_string()),
            }
        }
    }

    fn is_over(&self, measured: &Measured) -> bool {
        measured.elapsed() >= self.time
    }
}
