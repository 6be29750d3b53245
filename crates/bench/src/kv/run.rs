//! A whole run: build, measure in rounds, report.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::data::{KEY_BYTES, VALUE_BYTES};
use super::engine::{CACHE_BYTES, Synced};
use super::options::Options;
use super::roster::{Entry, MEMORY};
use super::rows::{Exercise, Kind, LOST, SCAN_ENTRIES, WINDOW, jobs, metrics};
use super::task::{Task, Work};
use crate::error::BenchError;
use crate::process::Launch;
use crate::process::usage::WRITTEN_NOTE;
use crate::report::{Published, Report, Target};
use crate::run::{Bench, Job, Outcome, RowPlan, Subject, block_on, turns};
use crate::worker::contestant::{Contestant, Ended, ask, kill_after};

/// A process may take so many times as long as its measured phases: it also loads and checks.
const TIME_FACTOR: f64 = 6.0;

/// Runs the benchmark and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. An engine that does not work is in the report instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let entries = options.entries()?;
    block_on(run_all(options, &entries))
}

async fn run_all(options: &Options, entries: &[&'static Entry]) -> Result<Report, BenchError> {
    let jobs = jobs(&options.sizes, &options.filters);
    let turns = turns(&jobs, options.rounds, |_| entries.len());
    let mut bench =
        Bench::begin("key-value engines", &options.data, metrics(), options.rounds, turns)?;
    let own = Launch::new(&options.own_program).arguments(["kv-engine"]);
    let mut engines = Vec::new();
    for entry in entries {
        bench.progress.now(format!("building {}", entry.name));
        let program = entry.program(&own, &options.rivals);
        if let Err(reason) = &program {
            bench.progress.line(&format!("{}: {reason}", entry.name));
        }
        let contestant = Contestant::new(entry.name, entry.durability(), program);
        let data = bench.data().to_owned();
        engines.push(Engine { entry, contestant, site: Site { options, data, name: entry.name } });
    }
    bench.baseline(&engines, &[Some(&options.baseline)]);
    for job in &jobs {
        bench.job(&mut engines, job).await;
    }
    notes(&mut bench.report, options);
    Ok(bench.finish(engines.into_iter().map(|engine| engine.contestant.target)))
}

/// An engine that takes part.
struct Engine<'a> {
    entry: &'static Entry,
    contestant: Contestant,
    site: Site<'a>,
}

impl Subject for Engine<'_> {
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
            // Those of the whole engine, and an error.
            "memory_peak" | "disk" | "wrong" => false,
            _ => row.metric != LOST,
        }
    }

    fn cpu(&self) -> Duration {
        self.contestant.cpu
    }

    async fn measure(&mut self, job: &Job<Exercise>, _: usize) -> Option<Outcome> {
        let needs_disk =
            job.work.sync == Synced::Each || matches!(job.work.kind, Kind::Kill { .. });
        if self.entry.name == MEMORY && needs_disk {
            return Some(Outcome::absent("in memory"));
        }
        let site = &self.site;
        let work = async |program: &Launch, directory: &Path| match job.work.kind {
            Kind::Kill { puts } => site.kill(program, job, directory, puts).await,
            _ => site.ask(program, job.work.sync, directory, site.work(job)).await,
        };
        let outcome = self.contestant.work(job, &site.data, work).await?;
        add_resources(&mut self.contestant.target, &outcome);
        Some(outcome)
    }
}

/// Adds the memory and the disk of the single-threaded test: the last round counts.
fn add_resources(target: &mut Target, outcome: &Outcome) {
    let Some(put) = outcome.phases.iter().find(|phase| phase.id == "put") else { return };
    let bytes = put.operations.max(1) as f64 * (KEY_BYTES + VALUE_BYTES) as f64;
    for id in ["memory_peak", "disk"] {
        if let Some(value) = put.values.get(id) {
            target.resources.insert(id.to_owned(), *value);
        }
    }
    if let Some(disk) = put.values.get("disk") {
        target.resources.insert("disk_factor".to_owned(), disk / bytes);
    }
}

/// The tasks of one engine.
struct Site<'a> {
    options: &'a Options,
    data: PathBuf,
    name: &'static str,
}

impl Site<'_> {
    fn work(&self, job: &Job<Exercise>) -> Work {
        let sizes = &self.options.sizes;
        let wanted = |phase: &str, count: u64| {
            if job.rows.iter().any(|row| row.phase == phase) { count } else { 0 }
        };
        let preload = sizes.preload;
        match job.work.kind {
            Kind::Single => Work::Single {
                puts: sizes.entries,
                gets: wanted("get", sizes.entries),
                scans: wanted("scan", sizes.scans),
                scan_entries: SCAN_ENTRIES,
            },
            Kind::Ahead => Work::Ahead { puts: sizes.entries, window: WINDOW },
            Kind::Writers { writers, puts } => Work::Writers { preload, writers, puts },
            Kind::Batches { size, puts } => Work::Batches { preload, size, puts },
            Kind::Kill { .. } => {
                Work::UntilKilled { preload, acknowledged: self.data.join("acknowledged") }
            }
        }
    }

    fn task(&self, sync: Synced, directory: &Path, work: Work) -> Task {
        Task {
            engine: self.name.to_owned(),
            directory: directory.to_owned(),
            sync,
            seed: self.options.seed,
            seconds_max: self.options.seconds_max,
            work,
        }
    }

    fn time_max(&self) -> Duration {
        Duration::from_secs_f64(self.options.seconds_max * TIME_FACTOR)
    }

    fn log(&self) -> PathBuf {
        self.data.join(format!("{}.log", self.name))
    }

    async fn ask(&self, program: &Launch, sync: Synced, directory: &Path, work: Work) -> Ended {
        ask(program, &self.task(sync, directory, work), &self.log(), self.time_max()).await
    }

    /// Kills it while it puts, opens what is left, and looks for the acknowledged puts.
    async fn kill(
        &self,
        program: &Launch,
        job: &Job<Exercise>,
        directory: &Path,
        puts: u64,
    ) -> Ended {
        let acknowledged = self.data.join("acknowledged");
        let _ = fs::remove_file(&acknowledged);
        let sync = job.work.sync;
        let task = self.task(sync, directory, self.work(job));
        let (log, time_max) = (self.log(), self.time_max());
        let (killed, cpu) = kill_after(program, &task, &log, &acknowledged, puts, time_max).await;
        match killed {
            Ok(puts) => {
                let entries = self.options.sizes.preload + puts;
                let mut ended = self.ask(program, sync, directory, Work::Reopen { entries }).await;
                ended.cpu += cpu;
                judge(&mut ended, sync, puts);
                ended
            }
            Err(reason) => Ended { outcome: Err(reason), cpu },
        }
    }
}

/// Wrong values are errors, and so is a synced put that is gone.
fn judge(ended: &mut Ended, sync: Synced, puts: u64) {
    let Ok(outcome) = &mut ended.outcome else { return };
    for phase in &mut outcome.phases {
        let count = |id: &str| phase.values.get(id).copied().unwrap_or(0.0);
        let (lost, wrong) = (count("lost"), count("wrong"));
        if wrong > 0.0 {
            phase.fail(format!("{wrong} entries have a wrong value after kill -9"));
        }
        if sync == Synced::Each && lost > 0.0 {
            phase.fail(format!(
                "{lost} entries are gone after kill -9, of {puts} acknowledged puts"
            ));
        }
    }
}

fn notes(report: &mut Report, options: &Options) {
    report.setting("entries", format!("{KEY_BYTES}-byte keys, {VALUE_BYTES}-byte values"));
    report.setting("cache", format!("{} MiB for every engine that has one", CACHE_BYTES >> 20));
    report.setting("time of a phase", format!("at most {} s", options.seconds_max));
    report.setting("seed", options.seed);
    report.notes.push(
        "Every engine runs in processes of its own, one for each figure and round, in an empty \
         directory, with the settings it comes with. All get the same entries in the same order; what \
         they hold is checked after each phase, outside the measured time. Then the file system is \
         synced."
            .to_owned(),
    );
    report.notes.push(
        "Allocations are those of Rust and of Go: engines in C and C++ (LMDB, RocksDB, SQLite) \
         allocate what nobody counts. Memory at the most is that of the single-threaded test with all \
         of its pages, mapped ones too; disk used is after closing."
            .to_owned(),
    );
    report.notes.push(WRITTEN_NOTE.to_owned());
}
