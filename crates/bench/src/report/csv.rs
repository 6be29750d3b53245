//! One line for each row, target and metric.

use std::fmt::Write as _;

use super::model::Report;

/// The report as comma-separated values (RFC 4180), with a heading.
pub fn csv(report: &Report) -> String {
    let mut text = String::from(
        "group,row,target,version,durability,metric,unit,median,low,high,rounds,ratio_to_baseline,\
         operations,errors,remark\r\n",
    );
    for row in &report.rows {
        for target in &report.targets {
            let cell = row.cells.get(&target.name);
            let about = [
                row.group.as_str(),
                &row.name,
                &target.name,
                target.version.as_deref().unwrap_or_default(),
                target.durability.level.label(),
            ]
            .map(quoted)
            .join(",");
            let remark = cell.and_then(|cell| cell.absent.as_ref().or(cell.first_error.as_ref()));
            let remark = quoted(target.absent.as_ref().or(remark).map_or("", String::as_str));
            let Some(cell) = cell.filter(|cell| !cell.values.is_empty()) else {
                let errors = cell.map_or(0, |cell| cell.errors);
                let _ = write!(text, "{about},,,,,,,,0,{errors},{remark}\r\n");
                continue;
            };
            for (id, series) in &cell.values {
                let unit = report.metric(id).map_or("", |metric| metric.unit.name());
                let median = cell.median(id).unwrap_or_default();
                let low = series.rounds.iter().copied().fold(f64::INFINITY, f64::min);
                let high = series.rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let ratio = report.ratio(row, &target.name).filter(|_| *id == row.metric);
                let ratio = ratio.map_or(String::new(), |ratio| format!("{:.4}", ratio.median));
                let _ = write!(
                    text,
                    "{about},{},{unit},{median},{low},{high},{},{ratio},{},{},{remark}\r\n",
                    quoted(id),
                    series.rounds.len(),
                    cell.operations,
                    cell.errors
                );
            }
        }
    }
    text
}

/// A field, quoted if it contains a separator.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
