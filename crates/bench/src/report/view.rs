//! The parts of a report as text, before they become Markdown or HTML.

use super::model::{Cell, Report, Row};
use super::target::Target;
use super::unit::{Unit, digits};
use crate::busy::DISTURBED;

/// Machine and settings, by name.
pub(super) fn conditions(report: &Report) -> Vec<(String, String)> {
    let machine = &report.machine;
    let memory = Unit::Bytes.format(machine.memory_bytes as f64);
    let facts = [
        ("processor", format!("{} ({} cores)", machine.processor, machine.cores)),
        ("memory", memory),
        ("system", format!("{}, {}", machine.system, machine.kernel)),
        ("file system", machine.file_system.clone()),
        ("load before the run", machine.load_before.clone()),
        ("LiteIO", format!("{} ({})", machine.version, machine.commit_or_unknown())),
        ("command", report.command.clone()),
        ("duration", format!("{:.0} s", report.seconds)),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value)).into_iter();
    let settings = report.settings.iter().map(|fact| (fact.name.clone(), fact.value.clone()));
    facts.chain(settings).collect()
}

/// The baseline's name.
pub(super) fn baseline(report: &Report) -> &str {
    report.baseline.as_deref().unwrap_or("the baseline")
}

/// The text in place of a figure.
pub(super) fn why_absent<'a>(cell: Option<&'a Cell>, target: &'a Target) -> &'a str {
    match cell {
        Some(cell) if cell.absent.is_some() => cell.absent.as_deref().unwrap_or("–"),
        Some(cell) if cell.errors > 0 => "only errors",
        _ => target.absent.as_deref().unwrap_or("–"),
    }
}

/// The deciding figure of a cell, its ratio, with the spread if it is asked for, and its signs. `None`
/// if there is no figure.
pub(super) fn figure(
    report: &Report,
    row: &Row,
    target: &Target,
    with_spread: bool,
) -> Option<String> {
    let cell = row.cells.get(&target.name)?;
    let mut shown = report.metric(&row.metric)?.unit.format(cell.median(&row.metric)?);
    if let Some(ratio) = report.ratio(row, &target.name) {
        shown += &format!(" · {}×", digits(ratio.median));
        let has_rounds = cell.values.get(&row.metric).is_some_and(|it| it.rounds.len() > 1);
        if with_spread && has_rounds {
            shown += &format!(" ({}–{})", digits(ratio.low), digits(ratio.high));
        }
    }
    if cell.disturbance > DISTURBED {
        shown += " ~";
    }
    Some(shown + &errors_sign(cell.errors))
}

/// The sign of operations that failed.
pub(super) fn errors_sign(errors: u64) -> String {
    if errors > 0 { format!(" ✗{errors}") } else { String::new() }
}

/// Row, target, counts and first failure of every cell with errors.
pub(super) fn errors(report: &Report) -> Vec<(&str, &str, String, &str)> {
    let mut lines = Vec::new();
    for row in &report.rows {
        for (target, cell) in row.cells.iter().filter(|(_, cell)| cell.errors > 0) {
            let counts = format!("{} of {} failed", cell.errors, cell.errors + cell.operations);
            let first = cell.first_error.as_deref().unwrap_or("not recorded");
            lines.push((row.name.as_str(), target.as_str(), counts, first));
        }
    }
    lines
}

/// The titles of all resources, and the values of each target.
pub(super) fn resources(report: &Report) -> (Vec<&str>, Vec<(&Target, Vec<String>)>) {
    let used = |id: &String| report.targets.iter().any(|target| target.resources.contains_key(id));
    let metrics: Vec<_> = report.metrics.iter().filter(|metric| used(&metric.id)).collect();
    let values = |target: &Target| {
        let value = |metric: &&super::Metric| {
            let value = target.resources.get(&metric.id);
            value.map_or("–".to_owned(), |value| metric.unit.format(*value))
        };
        metrics.iter().map(value).collect()
    };
    let lines = report.measured().map(|target| (target, values(target))).collect();
    (metrics.iter().map(|metric| metric.title.as_str()).collect(), lines)
}
