//! From what happened to numbers in a report.

use super::rows::{Case, Work};
use crate::process::usage::Usage;
use crate::report::{Cell, Target};
use crate::s3::drive::Driven;
use crate::s3::server::Server;
use crate::samples::PERCENTILES;
use crate::vector::rows::VECTORS;
use crate::vector::search::work::RECALL;
use crate::worker::RATE;

/// Adds one round to a cell.
pub(super) fn add_round(
    cell: &mut Cell,
    case: &Case,
    mut driven: Driven,
    recall: Option<f64>,
    cpu_seconds: Option<f64>,
) {
    let succeeded = driven.samples.len() as u64;
    cell.operations += succeeded;
    cell.errors += driven.errors;
    if cell.first_error.is_none() {
        cell.first_error = driven.first_error.map(|failure| failure.to_string());
    }
    if succeeded == 0 {
        return;
    }
    let rate = succeeded as f64 / driven.elapsed.as_secs_f64().max(1e-9);
    match case.work {
        Work::Put { vectors, .. } => cell.push(VECTORS, rate * f64::from(vectors)),
        Work::Query { .. } | Work::Get { .. } => cell.push(RATE, rate),
    }
    for (id, share) in PERCENTILES {
        if let Some(time) = driven.samples.percentile(share) {
            cell.push(id, time);
        }
    }
    if let Some(recall) = recall {
        cell.push(RECALL, recall);
    }
    if let Some(seconds) = cpu_seconds {
        cell.push("server_cpu", seconds * 1e9 / succeeded as f64);
    }
}

/// Adds a round that could not be begun, or ended.
pub(super) fn add_failure(cell: &mut Cell, reason: String) {
    cell.errors += 1;
    cell.first_error.get_or_insert(reason);
}

/// What a server has used over the whole run.
pub(super) fn add_resources(target: &mut Target, server: &Server, used: Usage) {
    for (id, value) in [
        ("memory_idle", server.idle.memory_bytes as f64),
        ("memory_peak", used.memory_peak_bytes as f64),
        ("cpu", used.cpu.as_secs_f64()),
        ("disk_written", used.disk_written_bytes as f64),
    ] {
        target.resources.insert(id.to_owned(), value);
    }
}
