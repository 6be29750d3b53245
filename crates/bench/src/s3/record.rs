//! From what happened to numbers in a report.

use crate::process::usage::Usage;
use crate::report::{Better, Cell, Metric, Report, Unit};
use crate::samples::PERCENTILES;

use super::case::Case;
use super::drive::Driven;
use super::server::Server;

/// The metric that decides every row.
pub(super) const RATE: &str = "operations_per_second";

/// The metrics of rows and of targets.
pub(super) fn metrics() -> Vec<Metric> {
    let mut metrics =
        vec![Metric::new(RATE, "Operations per second", Unit::OperationsPerSecond, Better::Higher)];
    metrics.extend(Metric::percentiles());
    for (id, title, unit, better) in [
        ("bytes_per_second", "Throughput", Unit::BytesPerSecond, Better::Higher),
        ("server_cpu", "Server's processor time per operation", Unit::Nanoseconds, Better::Lower),
        ("memory_idle", "Memory at the start", Unit::Bytes, Better::Lower),
        ("memory_peak", "Memory at the most", Unit::Bytes, Better::Lower),
        ("memory_end", "Memory at the end", Unit::Bytes, Better::Lower),
        ("cpu", "Processor time", Unit::Seconds, Better::Lower),
        ("disk_fixed", "Disk used by the fixed objects", Unit::Bytes, Better::Lower),
        ("disk_fixed_factor", "… per byte stored", Unit::Factor, Better::Lower),
        ("disk_written", "Disk written", Unit::Bytes, Better::Lower),
        ("disk_written_factor", "… per byte put", Unit::Factor, Better::Lower),
    ] {
        metrics.push(Metric::new(id, title, unit, better));
    }
    metrics
}

/// Adds one round to a cell.
pub(super) fn add_round(
    cell: &mut Cell,
    case: &Case,
    mut driven: Driven,
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
    cell.push(RATE, rate);
    let moved = case.work.bytes_moved();
    // Below this, bytes per second say no more than operations.
    if moved >= 64 << 10 {
        cell.push("bytes_per_second", rate * moved as f64);
    }
    for (id, share) in PERCENTILES {
        if let Some(time) = driven.samples.percentile(share) {
            cell.push(id, time);
        }
    }
    if let Some(seconds) = cpu_seconds {
        cell.push("server_cpu", seconds * 1e9 / succeeded as f64);
    }
}

/// What a target has used over the whole run.
pub(super) fn add_resources(report: &mut Report, server: &Server, used: Usage, fixed: (u64, u64)) {
    let Some(target) = report.targets.iter_mut().find(|target| target.name == server.about.name)
    else {
        return;
    };
    let put = server.session.as_ref().map_or(0, |session| session.bytes_put.get());
    let (fixed_used, fixed_put) = fixed;
    for (id, value) in [
        ("memory_idle", server.idle.memory_bytes as f64),
        ("memory_peak", used.memory_peak_bytes as f64),
        ("memory_end", used.memory_bytes as f64),
        ("cpu", used.cpu.as_secs_f64()),
        ("disk_fixed", fixed_used as f64),
        ("disk_fixed_factor", fixed_used as f64 / fixed_put.max(1) as f64),
        ("disk_written", used.disk_written_bytes as f64),
        ("disk_written_factor", used.disk_written_bytes as f64 / put.max(1) as f64),
    ] {
        target.resources.insert(id.to_owned(), value);
    }
}
