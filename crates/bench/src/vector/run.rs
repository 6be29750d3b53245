//! A whole run: build, measure in rounds, report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::data::DIMENSION;
use super::options::Options;
use super::roster::{CHASSIS, EXACT, Entry};
use super::rows::{Kind, Place, jobs, metrics, search_phases, shows, slot_phases};
use super::search::questions::Questions;
use super::served;
use super::task::{Task, Work};
use crate::error::BenchError;
use crate::process::Launch;
use crate::report::{Published, Report, Target};
use crate::run::workplace::Workplace;
use crate::run::{Bench, Job, Outcome, RowFilter, RowPlan, Subject, block_on, interruption, turns};
use crate::worker::contestant::{Contestant, ask};

/// A process may take so long beside its measured phases: it builds, loads and checks.
const TIME_MAX: Duration = Duration::from_secs(900);

/// Runs the benchmark and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. A target that does not work is in the report instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    let entries = options.entries()?;
    block_on(run_all(options, entries))
}

async fn run_all(options: &Options, entries: Vec<&'static Entry>) -> Result<Report, BenchError> {
    let filter = RowFilter::new(&options.filters);
    let memory = options.memory.as_deref().map(Workplace::below).transpose()?;
    let jobs = jobs(&options.sizes, &filter, memory.is_some());
    let cases = served::rows::jobs(&options.sizes, &filter);
    let servers = options.servers.len();
    let turns =
        turns(&jobs, options.rounds, |job| entries.iter().filter(|it| it.does(job)).count())
            + turns(&cases, options.rounds, |_| servers);
    let mut bench = Bench::begin("vectors", &options.data, metrics(), options.rounds, turns)?;
    let own = Launch::new(&options.own_program).arguments(["vector-engine"]);
    let mut engines = Vec::new();
    for entry in entries.into_iter().filter(|entry| jobs.iter().any(|job| entry.does(job))) {
        bench.progress.now(format!("building {}", entry.name));
        let program = entry.program(&own, &options.rivals, options.chassis.as_deref());
        if let Err(reason) = &program {
            bench.progress.line(&format!("{}: {reason}", entry.name));
        }
        engines.push(Engine {
            entry,
            contestant: Contestant::new(entry.name, entry.durability(), program),
            options,
            disk: bench.data().to_owned(),
            memory: memory.as_ref().map(|memory| memory.path().to_owned()),
            questions: None,
        });
    }
    bench.baseline(&engines, &[options.baseline.as_deref(), Some(CHASSIS), Some(EXACT)]);
    for job in &jobs {
        // The exact neighbours of a search take long, and nobody waits for them any more.
        if interruption::came() {
            break;
        }
        let questions = questions(&bench, options, job)?;
        for engine in &mut engines {
            engine.questions.clone_from(&questions);
        }
        bench.job(&mut engines, job).await;
        if let Some(path) = questions {
            Questions::load(&path)?.remove(&path);
        }
    }
    bench.report.targets = engines.into_iter().map(|engine| engine.contestant.target).collect();
    let stopped = if cases.is_empty() || interruption::came() {
        Vec::new()
    } else {
        served::run::run(&mut bench, options, &cases).await
    };
    notes(&mut bench.report, options);
    Ok(bench.finish(stopped))
}

/// Makes the vectors of a search with their exact neighbours.
fn questions(
    bench: &Bench,
    options: &Options,
    job: &Job<Kind>,
) -> Result<Option<PathBuf>, BenchError> {
    let Kind::Search { distribution, vectors } = job.work else { return Ok(None) };
    bench.progress.now(format!("finding the exact neighbours, {}", job.rows[0].group));
    let queries = options.sizes.queries;
    Ok(Some(Questions::make(bench.data(), distribution, options.seed, vectors, queries)?))
}

/// An engine that takes part.
struct Engine<'a> {
    entry: &'static Entry,
    contestant: Contestant,
    options: &'a Options,
    disk: PathBuf,
    memory: Option<PathBuf>,
    /// The vectors, queries and answers of the search at hand.
    questions: Option<PathBuf>,
}

impl Subject for Engine<'_> {
    type Work = Kind;

    fn target(&self) -> &Target {
        &self.contestant.target
    }

    fn takes_part(&self, job: &Job<Kind>) -> bool {
        self.entry.does(job)
    }

    fn published(&self, job: &Job<Kind>, row: &RowPlan) -> Option<Published> {
        self.entry.published(job, &row.phase)
    }

    fn shows(row: &RowPlan, id: &str) -> bool {
        shows(row, id)
    }

    fn cpu(&self) -> Duration {
        self.contestant.cpu
    }

    async fn measure(&mut self, job: &Job<Kind>, _: usize) -> Option<Outcome> {
        let Options { sizes, seed, time, .. } = self.options;
        let place = match job.work {
            Kind::Slots(Place::Memory) => self.memory.as_ref().unwrap_or(&self.disk),
            _ => &self.disk,
        };
        let work = match &self.questions {
            Some(questions) => {
                Work::Search { questions: questions.clone(), phases: search_phases(job) }
            }
            None => Work::Slots {
                file_vectors: sizes.file_vectors,
                cold_vectors: sizes.cold_vectors,
                phases: slot_phases(job),
            },
        };
        let log = self.disk.join(format!("{}.log", self.entry.name));
        let work = async |program: &Launch, directory: &Path| {
            let task = Task {
                engine: self.entry.name.to_owned(),
                directory: directory.to_owned(),
                seed: *seed,
                milliseconds: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
                work,
            };
            ask(program, &task, &log, TIME_MAX + *time * 100).await
        };
        self.contestant.work(job, place, work).await
    }
}

fn notes(report: &mut Report, options: &Options) {
    report.setting("vectors", format!("{DIMENSION} dimensions, 32-bit elements"));
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
}
