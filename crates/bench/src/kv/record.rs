//! From what a process answered to numbers in a report.

use super::rows::{Job, LOST, RATE, RowPlan, TIME};
use super::task::{Outcome, Phase};
use crate::report::{Cell, Target};

/// Puts the phases of one round into the cells of the job's rows.
pub(super) fn add_outcome(
    outcome: &Outcome,
    job: &Job,
    mut cell: impl FnMut(&RowPlan, &mut dyn FnMut(&mut Cell)),
) {
    for row in &job.rows {
        let phase = outcome.phases.iter().find(|phase| phase.id == row.phase);
        cell(row, &mut |cell| match (phase, &outcome.failure) {
            (Some(phase), _) => add_phase(cell, row, phase),
            (None, Some(reason)) if outcome.unsupported => cell.absent = Some(reason.clone()),
            (None, reason) => {
                cell.errors += 1;
                let reason = reason.as_deref().unwrap_or("it did not measure this");
                cell.first_error.get_or_insert_with(|| reason.to_owned());
            }
        });
    }
}

fn add_phase(cell: &mut Cell, row: &RowPlan, phase: &Phase) {
    cell.operations += phase.operations;
    cell.errors += phase.errors;
    if cell.first_error.is_none() {
        cell.first_error.clone_from(&phase.first_error);
    }
    if let Some(reason) = &phase.absent {
        cell.absent = Some(reason.clone());
        return;
    }
    if phase.operations == 0 {
        return;
    }
    let (operations, nanoseconds) = (phase.operations as f64, phase.nanoseconds.max(1) as f64);
    match row.metric {
        TIME => cell.push(TIME, nanoseconds / operations),
        RATE => cell.push(RATE, operations * 1e9 / nanoseconds),
        _ => {}
    }
    for (id, value) in &phase.values {
        let shown = match id.as_str() {
            // A row of its own.
            LOST => row.metric == LOST,
            // Those of the whole engine, and what is an error.
            "memory_peak" | "disk" | "wrong" => false,
            _ => row.metric != LOST,
        };
        if shown {
            cell.push(id, *value);
        }
    }
}

/// What the single-threaded test says of an engine as a whole: the last round counts.
pub(super) fn add_resources(target: &mut Target, outcome: &Outcome) {
    let Some(put) = outcome.phases.iter().find(|phase| phase.id == "put") else { return };
    let bytes =
        put.operations.max(1) as f64 * (super::data::KEY_BYTES + super::data::VALUE_BYTES) as f64;
    for id in ["memory_peak", "disk"] {
        if let Some(value) = put.values.get(id) {
            target.resources.insert(id.to_owned(), *value);
        }
    }
    if let Some(disk) = put.values.get("disk") {
        target.resources.insert("disk_factor".to_owned(), disk / bytes);
    }
}
