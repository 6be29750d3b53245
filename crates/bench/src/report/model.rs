//! A report: rows × targets × metrics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::target::Target;
use super::unit::{Better, Unit};
use crate::busy::DISTURBED;
use crate::machine::Machine;
use crate::statistics::{self, Ratio};

/// The version of the JSON layout.
pub const FORMAT: u32 = 1;

/// The results of one run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Report {
    /// [`FORMAT`] when it was written.
    pub format: u32,
    /// The subject, such as "S3".
    pub title: String,
    /// The command that measured it.
    pub command: String,
    /// The start, in UTC.
    pub started: String,
    /// The duration.
    pub seconds: f64,
    /// The machine.
    pub machine: Machine,
    /// The settings, for the reader.
    pub settings: Vec<Fact>,
    /// Target to which others are compared.
    pub baseline: Option<String>,
    /// Meaning of the numbers in [`Cell::values`] and [`Target::resources`].
    pub metrics: Vec<Metric>,
    /// Servers and engines, in the order of display.
    pub targets: Vec<Target>,
    /// Operations, in the order of display.
    pub rows: Vec<Row>,
    /// Remarks on the figures.
    pub notes: Vec<String>,
}

/// A name with a value.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value, as it is shown.
    pub value: String,
}

/// The meaning of a number.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Metric {
    /// Name in JSON and CSV.
    pub id: String,
    /// Name for people.
    pub title: String,
    /// Its unit.
    pub unit: Unit,
    /// The good direction.
    pub better: Better,
    /// Share of times, for a percentile of times: 0.99 for p99.
    pub percentile: Option<f64>,
}

/// One operation, measured at every target.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    /// Heading above it.
    pub group: String,
    /// Name, unique in a report.
    pub name: String,
    /// Metric that decides the winner.
    pub metric: String,
    /// Place in a chart of rows, such as throughput by concurrency.
    pub curve: Option<Curve>,
    /// Figures, by target.
    pub cells: BTreeMap<String, Cell>,
    /// Remark on the figures.
    pub note: Option<String>,
}

/// A point of a curve that several rows make up.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Curve {
    /// The curve's title: rows with the same title make up one chart.
    pub title: String,
    /// The unit of `x`.
    pub axis: String,
    /// The place of the row on the axis.
    pub x: f64,
}

/// One operation at one target.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Cell {
    /// Figures, by metric.
    pub values: BTreeMap<String, Series>,
    /// Operations that succeeded, over all rounds.
    pub operations: u64,
    /// Number of operations that failed. They are in no other number.
    pub errors: u64,
    /// The first failure.
    pub first_error: Option<String>,
    /// Reason that nothing was measured.
    pub absent: Option<String>,
    /// Share of the machine used by others than the benchmark and the target.
    pub disturbance: f64,
    /// A figure from elsewhere.
    pub published: Option<Published>,
}

/// One metric over the rounds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Series {
    /// One number for each round, in order.
    pub rounds: Vec<f64>,
}

/// A published figure. It is shown beside the measured one and decides nothing.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Published {
    /// Value in the unit of the row's metric.
    pub value: f64,
    /// Publication and machine.
    pub source: String,
}

impl Report {
    /// An empty report of this machine, begun now.
    pub fn new(title: impl Into<String>) -> Report {
        Report {
            format: FORMAT,
            title: title.into(),
            command: std::env::args().collect::<Vec<_>>().join(" "),
            started: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            seconds: 0.0,
            machine: Machine::default(),
            settings: Vec::new(),
            baseline: None,
            metrics: Vec::new(),
            targets: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a setting.
    pub fn setting(&mut self, name: &str, value: impl ToString) {
        self.settings.push(Fact { name: name.to_owned(), value: value.to_string() });
    }

    /// Adds a note on the number of disturbed figures.
    pub fn note_disturbances(&mut self) {
        let cells = || self.rows.iter().flat_map(|row| row.cells.values());
        let disturbed = cells().filter(|cell| cell.disturbance > DISTURBED).count();
        if disturbed > 0 {
            let note = format!(
                "The machine was busy: in {disturbed} of {} figures, others used more than {:.0} % of \
                 it at some time. They are marked with ~.",
                cells().count(),
                DISTURBED * 100.0
            );
            self.notes.push(note);
        }
    }

    /// Adds a note if the data was not on a disk.
    pub fn note_memory_file_system(&mut self) {
        let is = |kind: &&str| self.machine.file_system.starts_with(*kind);
        if ["tmpfs", "ramfs"].iter().any(is) {
            self.notes.push(
                "The data lies in memory: no figure of this run says anything about a disk."
                    .to_owned(),
            );
        }
    }

    /// The row with a name, added under `group` if it is missing; `metric` decides its winner.
    pub fn row(&mut self, group: &str, name: &str, metric: &str) -> &mut Row {
        let found = self.rows.iter().position(|row| row.name == name);
        let place = found.unwrap_or_else(|| {
            self.rows.push(Row {
                group: group.to_owned(),
                name: name.to_owned(),
                metric: metric.to_owned(),
                curve: None,
                cells: BTreeMap::new(),
                note: None,
            });
            self.rows.len() - 1
        });
        &mut self.rows[place]
    }

    /// A finished row in one line, for the progress.
    pub fn progress_line(&self, name: &str) -> String {
        let Some(row) = self.rows.iter().find(|row| row.name == name) else {
            return name.to_owned();
        };
        let metric = self.metric(&row.metric);
        let figures = row.cells.iter().map(|(name, cell)| {
            let median = metric.and_then(|it| Some(it.unit.format(cell.median(&it.id)?)));
            let absent = cell.absent.as_ref().or(cell.first_error.as_ref());
            let errors =
                if cell.errors > 0 { format!(" ✗{}", cell.errors) } else { String::new() };
            let shown = median.or_else(|| absent.cloned()).unwrap_or_else(|| "–".to_owned());
            format!("{name} {shown}{errors}")
        });
        format!("{name}: {}", figures.collect::<Vec<_>>().join(", "))
    }

    /// The metric with this identifier.
    pub fn metric(&self, id: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.id == id)
    }

    /// The target with this name.
    pub fn target(&self, name: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == name)
    }

    /// The names of all groups, in order.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !groups.contains(&row.group.as_str()) {
                groups.push(&row.group);
            }
        }
        groups
    }

    /// Measured targets, in order.
    pub fn measured(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|target| target.absent.is_none())
    }

    /// The targets for a table of these rows, in order: all except the ones whose figures, or
    /// reasons for missing figures, are only in other rows.
    pub fn taking_part(&self, rows: &[&Row]) -> Vec<&Target> {
        let is_in = |row: &Row, target: &Target| {
            let cell = row.cells.get(&target.name);
            cell.is_some_and(|it| !it.values.is_empty() || it.errors > 0 || it.absent.is_some())
        };
        let belongs = |target: &&Target| {
            rows.iter().any(|row| is_in(row, target))
                || !self.rows.iter().any(|row| is_in(row, target))
        };
        self.targets.iter().filter(belongs).collect()
    }

    /// The goodness of a target in a row relative to the baseline: above 1 is better, whatever the
    /// metric. `None` without a baseline, for the baseline itself, or if either has no figure.
    pub fn ratio(&self, row: &Row, target: &str) -> Option<Ratio> {
        let baseline = self.baseline.as_deref().filter(|baseline| *baseline != target)?;
        let ours = row.cells.get(target)?.values.get(&row.metric)?;
        let theirs = row.cells.get(baseline)?.values.get(&row.metric)?;
        match self.metric(&row.metric)?.better {
            Better::Higher => statistics::ratio(&ours.rounds, &theirs.rounds),
            Better::Lower => statistics::ratio(&theirs.rounds, &ours.rounds),
        }
    }
}

impl Metric {
    /// A metric that is no percentile.
    pub fn new(id: &str, title: &str, unit: Unit, better: Better) -> Metric {
        Metric { id: id.to_owned(), title: title.to_owned(), unit, better, percentile: None }
    }

    /// The metrics of all percentiles that reports show.
    pub fn percentiles() -> impl Iterator<Item = Metric> {
        crate::samples::PERCENTILES.into_iter().map(|(id, share)| {
            let title = if id == "p999" { "p99.9" } else { id };
            let metric = Metric::new(id, title, Unit::Nanoseconds, Better::Lower);
            Metric { percentile: Some(share), ..metric }
        })
    }
}

impl Row {
    /// The median of the deciding metric at a target.
    pub fn median(&self, target: &str) -> Option<f64> {
        self.cells.get(target)?.median(&self.metric)
    }
}

impl Cell {
    /// A cell with one metric.
    pub fn of(metric: &str, rounds: &[f64]) -> Cell {
        let mut cell = Cell::default();
        rounds.iter().for_each(|value| cell.push(metric, *value));
        cell
    }

    /// Adds the number of one more round.
    pub fn push(&mut self, metric: &str, value: f64) {
        let series = self.values.entry(metric.to_owned());
        series.or_insert_with(|| Series { rounds: Vec::new() }).rounds.push(value);
    }

    /// The median of a metric over the rounds.
    pub fn median(&self, metric: &str) -> Option<f64> {
        statistics::median(&self.values.get(metric)?.rounds)
    }
}
