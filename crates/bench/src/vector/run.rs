//! A whole run: build, measure in rounds, report.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::data::DIMENSION;
use super::options::Options;
use super::roster::{CHASSIS, EXACT, Entry};
use super::rows::{Job, Kind, Place, jobs, metrics, shows};
use super::search::questions::Questions;
use super::served;
use super::task::{Task, Work};
use crate::busy::Moment;
use crate::error::BenchError;
use crate::filter::RowFilter;
use crate::interruption;
use crate::machine::Machine;
use crate::process::usage::own_cpu;
use crate::progress::Progress;
use crate::report::{Cell, Report, Target, progress_line};
use crate::worker::record::add_outcome;
use crate::worker::{Ended, Outcome, Program};
use crate::workplace::{Workplace, sync_file_system};

/// A process may take so long beside its measured phases: it builds, loads and checks.
const TIME_MAX: Duration = Duration::from_secs(900);

/// Runs the benchmark and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. A target that does not work is in the report instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    options.check()?;
    let filter = RowFilter::new(&options.filters);
    let memory = options.memory.as_deref().map(Workplace::below).transpose()?;
    let jobs = jobs(&options.sizes, &filter, memory.is_some());
    let cases = served::rows::cases(&options.sizes, &filter);
    if jobs.is_empty() && cases.is_empty() {
        return Err(BenchError::Usage("the filter leaves no row".to_owned()));
    }
    interruption::watch()?;
    let workplace = Workplace::below(&options.data)?;
    let began = Instant::now();
    let mut report = Report::new("LiteIO and its rivals: vectors");
    report.machine = Machine::here(workplace.path());
    report.metrics = metrics();
    let takes_part = |entry: &&Entry| jobs.iter().any(|job| entry.does(job));
    let engines: Vec<&'static Entry> =
        options.engines.iter().copied().filter(|entry| takes_part(entry)).collect();
    let steps = jobs.iter().map(|job| engines.iter().filter(|it| it.does(job)).count());
    let servers = if cases.is_empty() { 0 } else { options.servers.len() };
    let steps = (steps.sum::<usize>() + cases.len() * servers) * options.rounds;
    let mut bench = Bench {
        options,
        disk: workplace.path(),
        memory: memory.as_ref().map(Workplace::path),
        progress: Progress::new(steps as u64),
        contestants: Vec::new(),
    };
    bench.build(&engines);
    report.baseline = bench.baseline();
    for job in &jobs {
        if interruption::came() {
            break;
        }
        bench.job(&mut report, job)?;
    }
    report.targets = bench.contestants.drain(..).map(|contestant| contestant.target).collect();
    if !cases.is_empty() && !interruption::came() {
        served::run::run(&mut report, options, &cases, workplace.path(), &bench.progress)?;
    }
    bench.progress.finish();
    interruption::note(&mut report);
    notes(&mut report, options);
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

/// An engine that takes part.
struct Contestant {
    entry: &'static Entry,
    program: Result<Program, String>,
    target: Target,
}

struct Bench<'a> {
    options: &'a Options,
    disk: &'a Path,
    memory: Option<&'a Path>,
    progress: Progress,
    contestants: Vec<Contestant>,
}

impl Bench<'_> {
    fn build(&mut self, engines: &[&'static Entry]) {
        let path = self.options.own_program.clone();
        let own = Program { path, arguments: vec!["vector-engine".into()] };
        for entry in engines {
            self.progress.now(format!("building {}", entry.name));
            let chassis = self.options.chassis.as_deref();
            let program = entry.program(&own, &self.options.rivals, chassis);
            let mut target = Target::new(entry.name, entry.durability());
            if let Err(reason) = &program {
                self.progress.line(&format!("{}: {reason}", entry.name));
                target.absent = Some(reason.clone());
            }
            self.contestants.push(Contestant { entry, program, target });
        }
    }

    /// The chosen baseline; else Chassis, else the exact scan, if they are measured.
    fn baseline(&self) -> Option<String> {
        let is_there = |name: &str| {
            self.contestants.iter().any(|it| it.entry.name == name && it.program.is_ok())
        };
        let default = || [CHASSIS, EXACT].into_iter().find(|name| is_there(name));
        self.options.baseline.clone().or_else(|| default().map(str::to_owned))
    }

    /// Does one job with every engine, round by round, beginning with another engine each time.
    fn job(&mut self, report: &mut Report, job: &Job) -> Result<(), BenchError> {
        for plan in &job.rows {
            let row = report.row(&plan.group, &plan.name, plan.metric);
            row.note.clone_from(&plan.note);
        }
        let questions = self.questions(job)?;
        let taking_part: Vec<usize> = (0..self.contestants.len())
            .filter(|it| self.contestants[*it].entry.does(job))
            .collect();
        for round in 0..self.options.rounds {
            for place in 0..taking_part.len() {
                let place = taking_part[(place + round) % taking_part.len()];
                self.round(report, job, place, questions.as_deref());
                self.progress.step();
            }
        }
        if let Some(path) = questions {
            Questions::load(&path)?.remove(&path);
        }
        for plan in &job.rows {
            let row = report.row(&plan.group, &plan.name, plan.metric).clone();
            self.progress.line(&progress_line(report, &row));
        }
        Ok(())
    }

    /// Makes the vectors of a search with their exact neighbours.
    fn questions(&self, job: &Job) -> Result<Option<PathBuf>, BenchError> {
        let Kind::Search { distribution, vectors } = job.kind else { return Ok(None) };
        self.progress.now(format!("finding the exact neighbours, {}", job.rows[0].group));
        let Options { seed, sizes, .. } = self.options;
        Ok(Some(Questions::make(self.disk, distribution, *seed, vectors, sizes.queries)?))
    }

    fn round(&mut self, report: &mut Report, job: &Job, place: usize, questions: Option<&Path>) {
        let contestant = &self.contestants[place];
        let (entry, name) = (contestant.entry, contestant.entry.name);
        let program = match &contestant.program {
            Ok(program) => program.clone(),
            Err(reason) => {
                for plan in &job.rows {
                    let published = entry.published(job, &plan.phase);
                    let cell = Cell { published, ..Cell::absent(reason) };
                    let row = report.row(&plan.group, &plan.name, plan.metric);
                    row.cells.insert(name.to_owned(), cell);
                }
                return;
            }
        };
        // Whoever failed once would fail again, after as long a time.
        let failed = job.rows.iter().any(|plan| {
            let cell = report.row(&plan.group, &plan.name, plan.metric).cells.get(name);
            cell.is_some_and(|cell| cell.operations == 0)
        });
        if failed || interruption::came() {
            return;
        }
        self.progress.now(format!("{} with {name}", job.rows[0].group));
        let (moment, own) = (Moment::now(), own_cpu());
        let ended = self.ask(&program, name, job, questions);
        // What broke off is no figure.
        if interruption::came() {
            return;
        }
        let known = ended.cpu + own_cpu().saturating_sub(own);
        let disturbance = moment.disturbance_since(Moment::now(), known);
        let failed = |reason| Outcome { failure: Some(reason), ..Outcome::default() };
        let outcome = ended.outcome.unwrap_or_else(failed);
        for plan in &job.rows {
            let row = report.row(&plan.group, &plan.name, plan.metric);
            let cell = row.cells.entry(name.to_owned()).or_default();
            cell.disturbance = cell.disturbance.max(disturbance);
            cell.published = entry.published(job, &plan.phase);
            add_outcome(cell, plan, &outcome, shows);
        }
        if !outcome.version.is_empty() {
            self.contestants[place].target.version = Some(outcome.version);
        }
        // What this engine has left to the kernel is not to be written in the next one's time.
        sync_file_system(self.disk);
    }

    /// Lets an engine do a job in a directory of its own.
    fn ask(&self, program: &Program, name: &str, job: &Job, questions: Option<&Path>) -> Ended {
        let place = match job.kind {
            Kind::Slots(Place::Memory) => self.memory.unwrap_or(self.disk),
            _ => self.disk,
        };
        let directory = place.join(name);
        if let Err(error) = fs::create_dir(&directory) {
            let reason = format!("{}: {error}", directory.display());
            return Ended { outcome: Err(reason), cpu: Duration::ZERO };
        }
        let sizes = &self.options.sizes;
        let work = match (&job.kind, questions) {
            (Kind::Search { .. }, Some(questions)) => {
                Work::Search { questions: questions.to_owned(), phases: job.search_phases() }
            }
            _ => Work::Slots {
                file_vectors: sizes.file_vectors,
                cold_vectors: sizes.cold_vectors,
                phases: job.slot_phases(),
            },
        };
        let task = Task {
            engine: name.to_owned(),
            directory: directory.clone(),
            seed: self.options.seed,
            milliseconds: u64::try_from(self.options.time.as_millis()).unwrap_or(u64::MAX),
            work,
        };
        let time_max = TIME_MAX + self.options.time * 100;
        let ended = program.ask(&task, &self.disk.join(format!("{name}.log")), time_max);
        let _ = fs::remove_dir_all(&directory);
        ended
    }
}

fn notes(report: &mut Report, options: &Options) {
    report.setting("vectors", format!("{DIMENSION} dimensions, 32-bit elements"));
    report.setting("rounds", options.rounds);
    report.setting("time of a row", format!("{:?} for each target in each round", options.time));
    report.setting("kernels", liteio_vector::processor_kernels());
    report.setting("seed", options.seed);
    report.notes.push(
        "Every engine runs in processes of its own, in an empty directory; what was written is read \
         back and compared, and what was found is compared with the exact neighbours, outside the \
         measured time. Files are made anew every 20,000 vectors. Then the file system is synced."
            .to_owned(),
    );
    if options.memory.is_none() {
        report.notes.push(
            "There is no /dev/shm on this machine: nothing was measured on tmpfs.".to_owned(),
        );
    }
    report.note_memory_file_system();
    report.note_disturbances();
}
