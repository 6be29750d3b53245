//! The run loop of every benchmark: each [`Subject`] does each [`Job`] in interleaved rounds, and
//! the outcomes become cells of one [`Report`].

pub(crate) mod failure;
pub(crate) mod filter;
pub(crate) mod interruption;
pub(crate) mod job;
pub(crate) mod metrics;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod progress;
pub(crate) mod workplace;

mod record;

use std::path::Path;
use std::time::{Duration, Instant};

pub use failure::{Failure, NoSuchThing};
pub(crate) use filter::RowFilter;
pub(crate) use job::{Job, RowPlan};
pub use options::{RowTime, RunOptions};
pub use outcome::{Outcome, Phase};

use crate::busy::Moment;
use crate::error::BenchError;
use crate::machine::Machine;
use crate::process::usage::own_cpu;
use crate::report::{Published, Report, Target};
use metrics::metrics;
use progress::Progress;
use workplace::{Workplace, sync_file_system};

/// A server or engine to measure.
pub(crate) trait Subject {
    /// The work of its jobs.
    type Work;

    /// Entry in the report. An `absent` subject is never asked to do anything.
    fn target(&self) -> &Target;

    /// `true` if it does a job. Other jobs leave no trace in the report.
    fn takes_part(&self, _: &Job<Self::Work>) -> bool {
        true
    }

    /// Published figure for a row.
    fn published(&self, _: &Job<Self::Work>, _: &RowPlan) -> Option<Published> {
        None
    }

    /// `true` for a value of a phase that is shown beside the deciding one.
    fn shows(_: &RowPlan, _: &str) -> bool {
        true
    }

    /// Processor time used so far. The rest of the machine's time counts as disturbance.
    fn cpu(&self) -> Duration;

    /// Does a job once. `None` adds nothing to the rows.
    async fn measure(&mut self, job: &Job<Self::Work>, round: usize) -> Option<Outcome>;
}

/// A running benchmark.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) report: Report,
    pub(crate) progress: Progress,
    workplace: Workplace,
    rounds: usize,
    began: Instant,
}

/// Number of turns of all subjects in a job, the steps of the progress.
pub(crate) fn turns<'a, W: 'a>(
    jobs: impl IntoIterator<Item = &'a Job<W>>,
    options: &RunOptions,
    subjects: impl Fn(&Job<W>) -> usize,
) -> u64 {
    let rounds = options.rounds.get();
    jobs.into_iter().map(|job| (rounds.min(job.rounds_max) * subjects(job)) as u64).sum()
}

impl Bench {
    /// Begins a run with a new directory for its data, below the one in the options.
    pub(crate) fn begin(
        title: &str,
        options: &RunOptions,
        turns: u64,
    ) -> Result<Bench, BenchError> {
        if turns == 0 {
            return Err(BenchError::Usage(
                "the filter leaves no row, or nothing to measure".into(),
            ));
        }
        interruption::watch()?;
        let workplace = Workplace::below(&options.data)?;
        let mut report = Report::new(format!("LiteIO and its rivals: {title}"));
        report.machine = Machine::here(workplace.path());
        report.metrics = metrics();
        let rounds = options.rounds.get();
        report.setting("rounds", rounds);
        report.note_memory_file_system();
        let progress = Progress::new(turns);
        Ok(Bench { report, progress, workplace, rounds, began: Instant::now() })
    }

    /// The directory of the data.
    pub(crate) fn data(&self) -> &Path {
        self.workplace.path()
    }

    /// The target to which others are compared: the first of `wanted` that is measured, or else the
    /// first measured subject.
    pub(crate) fn baseline<S: Subject>(&mut self, subjects: &[S], wanted: &[Option<&str>]) {
        let names = || subjects.iter().map(Subject::target).filter(|it| it.absent.is_none());
        let is_there = |name: &&str| names().any(|target| target.name == *name);
        let chosen = wanted.iter().flatten().copied().find(is_there);
        let first = || names().next().map(|target| target.name.as_str());
        self.report.baseline = chosen.or_else(first).map(str::to_owned);
    }

    /// Has every subject do a job in each round, beginning with another subject each time, so that
    /// a temporary disturbance affects all.
    pub(crate) async fn job<S: Subject>(&mut self, subjects: &mut [S], job: &Job<S::Work>) {
        if interruption::came() {
            return;
        }
        for plan in &job.rows {
            let row = self.report.row(&plan.group, &plan.name, plan.metric);
            row.curve.clone_from(&plan.curve);
            row.note.clone_from(&plan.note);
        }
        let taking_part: Vec<usize> =
            (0..subjects.len()).filter(|place| subjects[*place].takes_part(job)).collect();
        for round in 0..self.rounds.min(job.rounds_max) {
            for turn in 0..taking_part.len() {
                let place = taking_part[(turn + round) % taking_part.len()];
                self.turn(subjects, place, job, round).await;
                // An interrupted measurement gives no figure.
                if interruption::came() {
                    return;
                }
                self.progress.step();
            }
        }
        for plan in &job.rows {
            self.progress.line(&self.report.progress_line(&plan.name));
        }
    }

    async fn turn<S: Subject>(
        &mut self,
        subjects: &mut [S],
        place: usize,
        job: &Job<S::Work>,
        round: usize,
    ) {
        let known_cpu =
            |subjects: &[S]| subjects.iter().map(Subject::cpu).sum::<Duration>() + own_cpu();
        let target = subjects[place].target();
        let (name, absent) = (target.name.clone(), target.absent.clone());
        self.progress.now(format!("{} with {name}", job.rows[0].name));
        let (moment, known) = (Moment::now(), known_cpu(subjects));
        let outcome = match absent {
            Some(reason) => Some(Outcome::absent(reason)),
            None => subjects[place].measure(job, round).await,
        };
        let Some(outcome) = outcome.filter(|_| !interruption::came()) else { return };
        let known = known_cpu(subjects).saturating_sub(known);
        let disturbance = moment.disturbance_since(Moment::now(), known);
        for plan in &job.rows {
            let row = self.report.row(&plan.group, &plan.name, plan.metric);
            let cell = row.cells.entry(name.clone()).or_default();
            cell.disturbance = cell.disturbance.max(disturbance);
            cell.published = subjects[place].published(job, plan);
            record::add(cell, plan, &outcome, S::shows);
        }
        if job.writes {
            // Dirty pages must not be written during the turn of the next subject.
            sync_file_system(self.data());
        }
    }

    /// Ends the run. `targets` are appended to the report's targets.
    pub(crate) fn finish(mut self, targets: impl IntoIterator<Item = Target>) -> Report {
        self.progress.finish();
        if interruption::came() {
            self.report.notes.push("The run was interrupted: figures are missing.".to_owned());
        }
        self.report.targets.extend(targets);
        self.report.note_disturbances();
        self.report.seconds = self.began.elapsed().as_secs_f64();
        self.report
    }
}

/// The executor of a run. One thread serves all clients, so that a request needs no hand-over and
/// the servers have the other cores.
pub(crate) fn block_on<T>(
    run: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, BenchError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run)
}
