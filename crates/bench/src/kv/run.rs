//! A whole run: build, measure in rounds, report.

use std::path::PathBuf;
use std::time::Duration;

use super::data::{KEY_BYTES, VALUE_BYTES};
use super::engine::{CACHE_BYTES, Synced};
use super::options::Options;
use super::roster::{Entry, FLOOR, MEMORY};
use super::rows::jobs;
use super::task::{Exercise, Work};
use crate::error::BenchError;
use crate::process::usage::WRITTEN_NOTE;
use crate::random::SEED;
use crate::report::{Published, Report, Target};
use crate::run::metrics::{DISK, LOST, MEMORY_OWN, MEMORY_PEAK};
use crate::run::{Bench, Job, Outcome, RowPlan, Subject, block_on, turns};
use crate::worker::contestant::{Contestant, Ended, Pace, Site};

/// Limit of a process relative to its measured phases, because it also loads and checks.
const TIME_FACTOR: u32 = 6;

/// Runs the benchmark and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. An engine that does not work is in the report
/// instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    block_on(run_all(options, &options.entries()?))
}

async fn run_all(options: &Options, entries: &[&'static Entry]) -> Result<Report, BenchError> {
    let mut jobs = jobs(&options.sizes(), &options.run.row_filter());
    jobs.retain(|job| entries.iter().any(|entry| entry.does(job)));
    let taking_part = |job: &Job<Exercise>| entries.iter().filter(|it| it.does(job)).count();
    let turns = turns(&jobs, &options.run, taking_part);
    let mut bench = Bench::begin("key-value engines", &options.run, turns)?;
    let own = options.run.own_engine("kv-engine")?;
    let pace = Pace { phase: options.time(), process: options.time() * TIME_FACTOR };
    let engine = |entry: &&'static Entry| {
        let program = || entry.program(&own, &options.run.rivals, options.prebuilt.as_deref());
        let durability = entry.durability();
        let mut contestant = Contestant::new(&bench, entry.name, durability, pace, program);
        contestant.target.notes.push(entry.memory());
        Engine { entry, contestant, data: bench.data().to_owned() }
    };
    let mut engines: Vec<Engine> = entries.iter().map(engine).collect();
    bench.baseline(&engines, &[Some(&options.baseline)]);
    for job in &jobs {
        bench.job(&mut engines, job).await;
    }
    notes(&mut bench.report, options);
    Ok(bench.finish(engines.into_iter().map(|engine| engine.contestant.target)))
}

impl Entry {
    /// Engines do the work of engines; the floor does its own.
    fn does(&self, job: &Job<Exercise>) -> bool {
        matches!(job.work.work, Work::Floor(_)) == (self.name == FLOOR)
    }
}

/// An engine in the run.
struct Engine {
    entry: &'static Entry,
    contestant: Contestant,
    data: PathBuf,
}

impl Subject for Engine {
    type Work = Exercise;

    fn target(&self) -> &Target {
        &self.contestant.target
    }

    fn published(&self, _: &Job<Exercise>, row: &RowPlan) -> Option<Published> {
        self.entry.published(&row.name)
    }

    fn shows(row: &RowPlan, id: &str) -> bool {
        match id {
            // A row of its own.
            LOST => row.metric == LOST,
            // A row of its own, or of the whole engine.
            DISK => row.metric == DISK,
            // Values of the whole engine, and errors.
            "wrong" => false,
            _ if RESOURCES.contains(&id) => row.metric == id,
            _ => row.metric != LOST,
        }
    }

    fn takes_part(&self, job: &Job<Exercise>) -> bool {
        self.entry.does(job)
    }

    fn cpu(&self) -> Duration {
        self.contestant.cpu
    }

    async fn measure(&mut self, job: &Job<Exercise>, _: usize) -> Option<Outcome> {
        let on_disk = matches!(
            job.work.work,
            Work::UntilKilled { .. } | Work::Space { .. } | Work::Trickle { .. }
        );
        if self.entry.name == MEMORY && (on_disk || job.work.sync == Synced::Each) {
            return Some(Outcome::absent("in memory"));
        }
        let work = async |site: Site<'_>| match &job.work.work {
            Work::UntilKilled { .. } => kill(&site, &job.work).await.unwrap_or_else(|ended| ended),
            _ => site.ask(&job.work).await,
        };
        let outcome = self.contestant.work(job, &self.data, work).await?;
        add_resources(&mut self.contestant.target, &outcome);
        Some(outcome)
    }
}

/// Values of the single-threaded test that describe a whole engine.
const RESOURCES: [&str; 7] = [
    MEMORY_PEAK,
    MEMORY_OWN,
    "disk_written_factor",
    "passed_factor",
    "tree_factor",
    "log_factor",
    "close",
];

/// Adds memory, disk and bytes written in the single-threaded test. The last round counts.
fn add_resources(target: &mut Target, outcome: &Outcome) {
    let Some(put) = outcome.phases.iter().find(|phase| phase.id == "put") else { return };
    let bytes = put.operations.max(1) as f64 * (KEY_BYTES + VALUE_BYTES) as f64;
    let value = |id: &str| put.values.get(id).copied();
    for id in RESOURCES.into_iter().chain([DISK]) {
        target.resources.extend(value(id).map(|value| (id.to_owned(), value)));
    }
    let factor = value(DISK).map(|disk| ("disk_factor".to_owned(), disk / bytes));
    target.resources.extend(factor);
}

/// Kills the engine during puts, opens the files it left, and looks for the acknowledged puts. A
/// wrong value is an error, and so is a lost synced put.
async fn kill(site: &Site<'_>, exercise: &Exercise) -> Result<Ended, Ended> {
    let Exercise { sync, work: Work::UntilKilled { preload, acknowledged, puts } } = exercise
    else {
        return Ok(site.ask(exercise).await);
    };
    let (puts, cpu) = site.kill_after(exercise, acknowledged, *puts).await?;
    let work = Work::Reopen { entries: preload + puts };
    let mut ended = site.ask(&Exercise { sync: *sync, work }).await;
    ended.cpu += cpu;
    for phase in ended.outcome.iter_mut().flat_map(|outcome| &mut outcome.phases) {
        let count = |id: &str| phase.values.get(id).copied().unwrap_or(0.0);
        let (lost, wrong) = (count(LOST), count("wrong"));
        if wrong > 0.0 {
            phase.fail(format!("{wrong} entries have a wrong value after kill -9"));
        }
        if *sync == Synced::Each && lost > 0.0 {
            phase.fail(format!("{lost} of {puts} acknowledged puts are gone after kill -9"));
        }
    }
    Ok(ended)
}

fn notes(report: &mut Report, options: &Options) {
    report.setting("entries", format!("{KEY_BYTES}-byte keys, {VALUE_BYTES}-byte values"));
    let cache = format!("its default for LiteIO, {} MiB for every rival", CACHE_BYTES >> 20);
    report.setting("cache", format!("{cache} that has one: see the remarks on each"));
    report.setting("time of a phase", format!("at most {:?}", options.time()));
    report.setting("seed", SEED);
    for note in [
        "Every engine runs in processes of its own, one for each figure and round, in an empty \
         directory, with the settings it comes with. All get the same entries in the same order; what \
         they hold is checked after each phase, outside the measured time. Then the file system is \
         synced.",
        "Allocations are counted in Rust and Go only: engines in C and C++ (LMDB, RocksDB, SQLite) \
         allocate uncounted. Peak memory is from the single-threaded test with all \
         of its pages, mapped ones too; own memory excludes pages of files, before closing. Disk used and \
         bytes written are after closing.",
        "Processor time per operation covers all threads of the process, work in the background \
         included, without the time in which the benchmark prepares entries and checks answers. What is put off \
         until the process closes is not in it: the time to close says how much that is.",
        "Bytes passed to write() are exact, but know nothing of mapped memory.",
        WRITTEN_NOTE,
    ] {
        report.notes.push(note.to_owned());
    }
}
