//! A whole run: build, measure in rounds, report.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::data::{KEY_BYTES, VALUE_BYTES};
use super::engine::{CACHE_BYTES, Synced};
use super::options::Options;
use super::record::{add_resources, shows};
use super::roster::{Entry, MEMORY};
use super::rows::{Job, Kind, SCAN_ENTRIES, Sizes, WINDOW, jobs, metrics};
use super::task::{Task, Work};
use crate::busy::Moment;
use crate::error::BenchError;
use crate::interruption;
use crate::machine::Machine;
use crate::process::usage::{WRITTEN_NOTE, own_cpu};
use crate::progress::Progress;
use crate::report::{Cell, Report, Target, progress_line};
use crate::worker::record::add_outcome;
use crate::worker::{Ended, Outcome, Program};
use crate::workplace::{Workplace, sync_file_system};

/// How much longer a process may take than its measured phases may: it also loads and checks.
const TIME_FACTOR: f64 = 6.0;

/// Runs the benchmark and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. An engine that does not work is in the report instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    options.check()?;
    let jobs = jobs(&options.sizes, &options.filters);
    if jobs.is_empty() {
        return Err(BenchError::Usage("the filter leaves no row".to_owned()));
    }
    interruption::watch()?;
    let workplace = Workplace::below(&options.data)?;
    let data = workplace.path().to_owned();

    let began = Instant::now();
    let mut report = Report::new("LiteIO and its rivals: key-value engines");
    report.machine = Machine::here(&data);
    report.metrics = metrics();
    let progress = Progress::new((jobs.len() * options.rounds * options.engines.len()) as u64);
    let mut bench = Bench { options, data, progress, contestants: Vec::new() };
    bench.build();
    report.baseline = bench.baseline();
    for job in &jobs {
        bench.job(&mut report, job);
    }
    interruption::note(&mut report);
    report.targets = bench.contestants.into_iter().map(|contestant| contestant.target).collect();
    bench.progress.finish();
    notes(&mut report, options);
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

/// An engine that takes part.
struct Contestant {
    entry: &'static Entry,
    program: Option<Program>,
    target: Target,
}

struct Bench<'a> {
    options: &'a Options,
    data: PathBuf,
    progress: Progress,
    contestants: Vec<Contestant>,
}

impl Bench<'_> {
    fn build(&mut self) {
        let own =
            Program { path: self.options.own_program.clone(), arguments: vec!["kv-engine".into()] };
        for entry in &self.options.engines {
            if interruption::came() {
                return;
            }
            self.progress.now(format!("building {}", entry.name));
            let program = entry.program(&own, &self.options.rivals);
            let mut target = Target::new(entry.name, entry.durability());
            if let Err(reason) = &program {
                self.progress.line(&format!("{}: {reason}", entry.name));
                target.absent = Some(reason.clone());
            }
            self.contestants.push(Contestant { entry, program: program.ok(), target });
        }
    }

    /// The chosen baseline, or the first engine if that one is not there.
    fn baseline(&self) -> Option<String> {
        let mut there =
            self.contestants.iter().filter(|it| it.program.is_some()).map(|it| it.entry.name);
        let chosen = there.clone().find(|name| *name == self.options.baseline);
        chosen.or_else(|| there.next()).map(str::to_owned)
    }

    /// Does one job with every engine, round by round, beginning with another engine each time.
    fn job(&mut self, report: &mut Report, job: &Job) {
        if interruption::came() {
            return;
        }
        for plan in &job.rows {
            let row = report.row(&plan.group, &plan.name, plan.metric);
            row.curve.clone_from(&plan.curve);
            row.note.clone_from(&plan.note);
        }
        for round in 0..self.options.rounds {
            for place in 0..self.contestants.len() {
                let place = (place + round) % self.contestants.len();
                self.round(report, job, place);
                self.progress.step();
            }
        }
        for plan in &job.rows {
            let row = report.row(&plan.group, &plan.name, plan.metric);
            let row = row.clone();
            self.progress.line(&progress_line(report, &row));
        }
    }

    fn round(&mut self, report: &mut Report, job: &Job, place: usize) {
        let contestant = &self.contestants[place];
        let name = contestant.entry.name;
        let Some(program) = contestant.program.clone() else { return };
        if interruption::came() {
            return;
        }
        if let Some(reason) = why_not(name, job) {
            for plan in &job.rows {
                let row = report.row(&plan.group, &plan.name, plan.metric);
                row.cells.insert(name.to_owned(), Cell::absent(reason));
            }
            return;
        }
        // Whoever failed once would fail again, after as long a time.
        let failed = job.rows.iter().any(|plan| {
            let cell = report.row(&plan.group, &plan.name, plan.metric).cells.get(name);
            cell.is_some_and(|cell| cell.operations == 0)
        });
        if failed {
            return;
        }
        self.progress.now(format!("{} with {name}", job.rows[0].name));
        let site = Site { bench: self, program: &program, name };
        let (moment, own) = (Moment::now(), own_cpu());
        let ended = site.run(job);
        // What broke off is no figure.
        if interruption::came() {
            return;
        }
        let known = ended.cpu + own_cpu().saturating_sub(own);
        let disturbance = moment.disturbance_since(Moment::now(), known);
        let outcome = ended
            .outcome
            .unwrap_or_else(|reason| Outcome { failure: Some(reason), ..Outcome::default() });
        let entry = contestant.entry;
        for plan in &job.rows {
            let row = report.row(&plan.group, &plan.name, plan.metric);
            let cell = row.cells.entry(name.to_owned()).or_default();
            cell.disturbance = cell.disturbance.max(disturbance);
            cell.published = entry.published(&plan.name);
            add_outcome(cell, plan, &outcome, shows);
        }
        let target = &mut self.contestants[place].target;
        if !outcome.version.is_empty() {
            target.version = Some(outcome.version.clone());
        }
        add_resources(target, &outcome);
        // What this engine has left to the kernel is not to be written in the next one's time.
        sync_file_system(&self.data);
    }
}

/// Why an engine has no figure in the rows of a job.
fn why_not(name: &str, job: &Job) -> Option<&'static str> {
    let needs_disk = job.sync == Synced::Each || matches!(job.kind, Kind::Kill { .. });
    (name == MEMORY && needs_disk).then_some("in memory")
}

/// One engine in one round of one job, with a directory of its own.
struct Site<'a> {
    bench: &'a Bench<'a>,
    program: &'a Program,
    name: &'static str,
}

impl Site<'_> {
    fn run(&self, job: &Job) -> Ended {
        let directory = self.bench.data.join(self.name);
        if let Err(error) = fs::create_dir(&directory) {
            let reason = format!("{}: {error}", directory.display());
            return Ended { outcome: Err(reason), cpu: Duration::ZERO };
        }
        let ended = match job.kind {
            Kind::Kill { puts } => self.kill(job, &directory, puts),
            _ => self.ask(job.sync, &directory, self.work(job)),
        };
        let _ = fs::remove_dir_all(&directory);
        ended
    }

    fn sizes(&self) -> &Sizes {
        &self.bench.options.sizes
    }

    fn work(&self, job: &Job) -> Work {
        let sizes = self.sizes();
        let wanted = |phase: &str, count: u64| {
            if job.rows.iter().any(|row| row.phase == phase) { count } else { 0 }
        };
        match job.kind {
            Kind::Single => Work::Single {
                puts: sizes.entries,
                gets: wanted("get", sizes.entries),
                scans: wanted("scan", sizes.scans),
                scan_entries: SCAN_ENTRIES,
            },
            Kind::Ahead => Work::Ahead { puts: sizes.entries, window: WINDOW },
            Kind::Writers { writers, puts } => {
                Work::Writers { preload: sizes.preload, writers, puts }
            }
            Kind::Batches { size, puts } => Work::Batches { preload: sizes.preload, size, puts },
            Kind::Kill { .. } => Work::UntilKilled {
                preload: sizes.preload,
                acknowledged: self.bench.data.join("acknowledged"),
            },
        }
    }

    fn task(&self, sync: Synced, directory: &Path, work: Work) -> Task {
        Task {
            engine: self.name.to_owned(),
            directory: directory.to_owned(),
            sync,
            seed: self.bench.options.seed,
            seconds_max: self.bench.options.seconds_max,
            work,
        }
    }

    fn time_max(&self) -> Duration {
        Duration::from_secs_f64(self.bench.options.seconds_max * TIME_FACTOR)
    }

    fn log(&self) -> PathBuf {
        self.bench.data.join(format!("{}.log", self.name))
    }

    fn ask(&self, sync: Synced, directory: &Path, work: Work) -> Ended {
        self.program.ask(&self.task(sync, directory, work), &self.log(), self.time_max())
    }

    /// Kills it while it puts, opens what is left, and looks for what it had acknowledged.
    fn kill(&self, job: &Job, directory: &Path, puts: u64) -> Ended {
        let acknowledged = self.bench.data.join("acknowledged");
        let _ = fs::remove_file(&acknowledged);
        let task = self.task(job.sync, directory, self.work(job));
        let (killed, cpu) =
            self.program.kill_after(&task, &self.log(), &acknowledged, puts, self.time_max());
        match killed {
            Ok(puts) => {
                let entries = self.sizes().preload + puts;
                let mut ended = self.ask(job.sync, directory, Work::Reopen { entries });
                ended.cpu += cpu;
                judge(&mut ended, job.sync, puts);
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
        let mut fail = |what: String| {
            phase.errors += 1;
            phase.first_error.get_or_insert(what);
        };
        if wrong > 0.0 {
            fail(format!("{wrong} entries have a wrong value after kill -9"));
        }
        if sync == Synced::Each && lost > 0.0 {
            fail(format!("{lost} entries are gone after kill -9, of {puts} acknowledged puts"));
        }
    }
}

fn notes(report: &mut Report, options: &Options) {
    report.setting("entries", format!("{KEY_BYTES}-byte keys, {VALUE_BYTES}-byte values"));
    report.setting("rounds", options.rounds);
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
    report.note_memory_file_system();
    report.note_disturbances();
}
