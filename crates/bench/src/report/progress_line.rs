//! Rows while a run goes on.

use super::model::{Report, Row};

/// A finished row, for whoever waits.
pub fn progress_line(report: &Report, row: &Row) -> String {
    let metric = report.metric(&row.metric);
    let figures = row.cells.iter().map(|(name, cell)| {
        let median = metric.and_then(|metric| Some(metric.unit.format(cell.median(&metric.id)?)));
        let absent = cell.absent.as_ref().or(cell.first_error.as_ref());
        let errors = if cell.errors > 0 { format!(" ✗{}", cell.errors) } else { String::new() };
        let shown = median.or_else(|| absent.cloned()).unwrap_or_else(|| "–".to_owned());
        format!("{name} {shown}{errors}")
    });
    format!("{}: {}", row.name, figures.collect::<Vec<_>>().join(", "))
}
