//! Jobs and their rows.

use super::RowFilter;
use crate::report::Curve;

/// Work that a subject does in one go, with the rows that it fills.
#[derive(Clone, Debug)]
pub(crate) struct Job<W> {
    pub(crate) work: W,
    pub(crate) rows: Vec<RowPlan>,
    /// Limit of rounds; the longest jobs have one.
    pub(crate) rounds_max: usize,
    /// `true` if it writes: the file system is synced afterwards.
    pub(crate) writes: bool,
}

/// A row, and the phase of an outcome that measures it.
#[derive(Clone, Debug)]
pub(crate) struct RowPlan {
    pub(crate) group: String,
    /// Unique in a report.
    pub(crate) name: String,
    pub(crate) phase: String,
    /// The deciding metric: [`TIME`] and [`RATE`] are computed from operations and time; any other
    /// is a value of the phase.
    pub(crate) metric: &'static str,
    pub(crate) curve: Option<Curve>,
    pub(crate) note: Option<String>,
}

impl<W> Job<W> {
    /// A job that writes and takes part in every round.
    pub(crate) fn new(work: W, rows: Vec<RowPlan>) -> Job<W> {
        Job { work, rows, rounds_max: usize::MAX, writes: true }
    }

    /// The phases that measure its rows.
    pub(crate) fn phases(&self) -> Vec<String> {
        let mut phases: Vec<String> = self.rows.iter().map(|row| row.phase.clone()).collect();
        phases.dedup();
        phases
    }

    /// `true` if the phase measures one of its rows.
    pub(crate) fn needs(&self, phase: &str) -> bool {
        self.rows.iter().any(|row| row.phase == phase)
    }
}

/// Keeps the rows that pass the filter, and the jobs with such a row.
pub(crate) fn filtered<W>(mut jobs: Vec<Job<W>>, filter: &RowFilter) -> Vec<Job<W>> {
    for job in &mut jobs {
        job.rows.retain(|row| filter.lets(&row.group, &row.name));
    }
    jobs.retain(|job| !job.rows.is_empty());
    jobs
}

impl RowPlan {
    /// A row without a chart.
    pub(crate) fn new(
        group: impl Into<String>,
        name: impl Into<String>,
        phase: impl Into<String>,
        metric: &'static str,
    ) -> RowPlan {
        let (group, name, phase) = (group.into(), name.into(), phase.into());
        RowPlan { group, name, phase, metric, curve: None, note: None }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> RowPlan {
        self.note = Some(note.into());
        self
    }

    /// Puts it on the chart with this title.
    pub(crate) fn curve(mut self, title: &str, axis: &str, x: f64) -> RowPlan {
        self.curve = Some(Curve { title: title.to_owned(), axis: axis.to_owned(), x });
        self
    }
}
