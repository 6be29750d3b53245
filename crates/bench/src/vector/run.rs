//! A whole run: build, measure in rounds, report.

use std::path::PathBuf;
use std::time::Duration;

use super::data::DIMENSION;
use super::options::Options;
use super::roster::{CHASSIS, EXACT, Entry};
use super::rows::{Kind, Place, jobs, shows};
use super::search::questions::Questions;
use super::served;
use super::task::{Exercise, Work};
use crate::error::BenchError;
use crate::random::SEED;
use crate::report::{Published, Report, Target};
use crate::run::workplace::Workplace;
use crate::run::{Bench, Job, Outcome, RowPlan, Subject, block_on, interruption, turns};
use crate::worker::contestant::{Contestant, Pace, Site};

/// Limit of a process beside its measured phases, because it builds, loads and checks.
const TIME_MAX: Duration = Duration::from_secs(900);

/// Further time for each searched vector: HNSW takes a millisecond and more to insert one.
const TIME_OF_VECTOR_MAX: Duration = Duration::from_millis(4);

/// Runs the benchmark and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. A target that does not work is in the report instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    block_on(run_all(options))
}

async fn run_all(options: &Options) -> Result<Report, BenchError> {
    let (entries, servers) = options.targets()?;
    let (sizes, filter) = (options.sizes(), options.run.row_filter());
    let time = options.run.time(options.time);
    let memory = options.memory().map(Workplace::below).transpose()?;
    let jobs = jobs(&sizes, &filter, memory.is_some());
    let cases = served::rows::jobs(&sizes, &filter);
    let does = |job: &Job<Kind>| entries.iter().filter(|entry| entry.does(job)).count();
    let turns = turns(&jobs, &options.run, does) + turns(&cases, &options.run, |_| servers.len());
    let mut bench = Bench::begin("vectors", &options.run, turns)?;
    let own = options.run.own_engine("vector-engine")?;
    let most_vectors = sizes.searched.iter().max().copied().unwrap_or(0);
    let process = TIME_MAX + TIME_OF_VECTOR_MAX * most_vectors + time * 100;
    let pace = Pace { phase: time, process };
    let questions = bench.data().join("questions.json");
    let engine = |entry: &'static Entry| {
        let program = || entry.program(&own, &options.run.rivals, options.chassis.as_deref());
        let disk = bench.data();
        Engine {
            entry,
            contestant: Contestant::new(&bench, entry.name, entry.durability(), pace, program),
            slots: Work::Slots {
                file_vectors: sizes.file_vectors,
                cold_vectors: sizes.cold_vectors,
            },
            disk: disk.to_owned(),
            memory: memory.as_ref().map_or(disk, Workplace::path).to_owned(),
            questions: questions.clone(),
        }
    };
    let taking_part = entries.iter().filter(|entry| jobs.iter().any(|job| entry.does(job)));
    let mut engines: Vec<Engine> = taking_part.map(|entry| engine(entry)).collect();
    bench.baseline(&engines, &[options.baseline.as_deref(), Some(CHASSIS), Some(EXACT)]);
    for job in &jobs {
        // The exact neighbours take long to compute, and are not needed any more.
        if interruption::came() {
            break;
        }
        if let Kind::Search { distribution, vectors } = job.work {
            bench.progress.now(format!("finding the exact neighbours, {}", job.rows[0].group));
            Questions::new(distribution, (vectors, sizes.dimension), sizes.queries)
                .save(&questions)?;
        }
        bench.job(&mut engines, job).await;
    }
    bench.report.targets = engines.into_iter().map(|engine| engine.contestant.target).collect();
    let stopped = if cases.is_empty() || interruption::came() {
        Vec::new()
    } else {
        served::run::run(&mut bench, &servers, &sizes, time, &cases).await
    };
    notes(&mut bench.report, time, sizes.dimension, memory.is_some());
    Ok(bench.finish(stopped))
}

/// An engine in the run.
struct Engine {
    entry: &'static Entry,
    contestant: Contestant,
    /// The work with files.
    slots: Work,
    disk: PathBuf,
    memory: PathBuf,
    /// File with vectors, queries and answers of the current search.
    questions: PathBuf,
}

impl Subject for Engine {
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
        let (place, work) = match job.work {
            Kind::Slots(Place::Disk) => (&self.disk, self.slots.clone()),
            Kind::Slots(Place::Memory) => (&self.memory, self.slots.clone()),
            Kind::Search { .. } => (&self.disk, Work::Search { questions: self.questions.clone() }),
        };
        let exercise = Exercise { phases: job.phases(), work };
        self.contestant.work(job, place, async |site: Site<'_>| site.ask(&exercise).await).await
    }
}

fn notes(report: &mut Report, time: Duration, dimension: usize, has_memory: bool) {
    report.setting("vectors", format!("{DIMENSION} dimensions, 32-bit elements"));
    if dimension != DIMENSION {
        report.setting("vectors that are searched", format!("{dimension} dimensions"));
    }
    report.setting("time of a row", format!("{time:?} for each target in each round"));
    report.setting("kernels", liteio_vector::processor_kernels());
    report.setting("seed", SEED);
    report.notes.push(
        "Every engine runs in processes of its own, in an empty directory; what was written is read \
         back and compared, and what was found is compared with the exact neighbours, outside the \
         measured time. Files are made anew every 20,000 vectors. Then the file system is synced."
            .to_owned(),
    );
    if !has_memory {
        let note = "There is no /dev/shm on this machine: nothing was measured on tmpfs.";
        report.notes.push(note.to_owned());
    }
}
