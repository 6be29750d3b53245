//! Comparison of two reports.

use super::model::Report;
use super::unit::{Better, Unit};
use crate::statistics::{median, welch};

/// Probability by chance up to which a change counts as significant.
pub(super) const SIGNIFICANT: f64 = 0.01;

/// Changes of all rows and targets that two reports share.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The earlier report, for the heading.
    pub before: String,
    /// The later one.
    pub after: String,
    /// Changes, in the order of the rows.
    pub changes: Vec<Change>,
    /// Rows and targets with a figure in only one report.
    pub alone: Vec<String>,
    /// Reasons to doubt the comparison, such as another machine.
    pub doubts: Vec<String>,
}

/// Change of one row at one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The row.
    pub row: String,
    /// The target.
    pub target: String,
    /// Unit of the two medians.
    pub unit: Unit,
    /// The median before.
    pub before: f64,
    /// The median after.
    pub after: f64,
    /// Goodness of the later report relative to the earlier one: above 1 is better.
    pub ratio: f64,
    /// The probability of so large a difference by chance; `None` with fewer than two rounds.
    pub chance: Option<f64>,
}

impl Change {
    /// `true` if the change is more than noise.
    pub fn is_significant(&self) -> bool {
        self.chance.is_some_and(|chance| chance <= SIGNIFICANT)
    }
}

/// Compares two reports, row by row and target by target.
pub fn compare(before: &Report, after: &Report) -> Comparison {
    let mut comparison = Comparison {
        before: format!("{} ({})", before.started, before.machine.commit_or_unknown()),
        after: format!("{} ({})", after.started, after.machine.commit_or_unknown()),
        changes: Vec::new(),
        alone: Vec::new(),
        doubts: doubts(before, after),
    };
    for row in &after.rows {
        let old_row = before.rows.iter().find(|old| old.name == row.name);
        for (target, cell) in &row.cells {
            let Some(new) = cell.values.get(&row.metric) else { continue };
            let old = old_row.and_then(|old| old.cells.get(target)?.values.get(&row.metric));
            let metric = after.metric(&row.metric);
            let (Some(old), Some(metric)) = (old, metric) else {
                comparison.alone.push(format!("{} at {target}: only in the second", row.name));
                continue;
            };
            let (Some(was), Some(is)) = (median(&old.rounds), median(&new.rounds)) else {
                continue;
            };
            comparison.changes.push(Change {
                row: row.name.clone(),
                target: target.clone(),
                unit: metric.unit,
                before: was,
                after: is,
                ratio: if metric.better == Better::Higher { is / was } else { was / is },
                chance: welch(&old.rounds, &new.rounds),
            });
        }
    }
    for row in &before.rows {
        for (target, cell) in &row.cells {
            let new_row = after.rows.iter().find(|new| new.name == row.name);
            let kept = new_row.and_then(|new| new.cells.get(target)?.values.get(&row.metric));
            if cell.values.contains_key(&row.metric) && kept.is_none() {
                comparison.alone.push(format!("{} at {target}: only in the first", row.name));
            }
        }
    }
    comparison
}

fn doubts(before: &Report, after: &Report) -> Vec<String> {
    let mut doubts = Vec::new();
    let facts = |report: &Report| {
        let machine = &report.machine;
        [
            ("processor", machine.processor.clone()),
            ("cores", machine.cores.to_string()),
            ("kernel", machine.kernel.clone()),
            ("file system", machine.file_system.clone()),
        ]
    };
    for ((name, was), (_, is)) in facts(before).into_iter().zip(facts(after)) {
        if was != is {
            doubts.push(format!("another {name}: {was}, then {is}"));
        }
    }
    for old in &before.settings {
        let new = after.settings.iter().find(|new| new.name == old.name);
        if let Some(new) = new.filter(|new| new.value != old.value) {
            doubts.push(format!("another {}: {}, then {}", old.name, old.value, new.value));
        }
    }
    doubts
}
