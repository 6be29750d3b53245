//! Conversion of the outcome of a turn into the numbers of a cell.

use super::metrics::{RATE, TIME};
use super::{Outcome, Phase, RowPlan};
use crate::report::Cell;

/// Adds one round of a row to its cell. `shows` names the values beside the deciding one.
pub(super) fn add(
    cell: &mut Cell,
    row: &RowPlan,
    outcome: &Outcome,
    shows: fn(&RowPlan, &str) -> bool,
) {
    let phase = outcome.phases.iter().find(|phase| phase.id == row.phase);
    match (phase, &outcome.failure) {
        (Some(phase), _) => add_phase(cell, row, phase, shows),
        (None, Some(reason)) if outcome.unsupported => cell.absent = Some(reason.clone()),
        (None, reason) => {
            cell.errors += 1;
            let reason = reason.as_deref().unwrap_or("it did not measure this");
            cell.first_error.get_or_insert_with(|| reason.to_owned());
        }
    }
}

fn add_phase(cell: &mut Cell, row: &RowPlan, phase: &Phase, shows: fn(&RowPlan, &str) -> bool) {
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
    for (id, value) in phase.values.iter().filter(|(id, _)| shows(row, id)) {
        cell.push(id, *value);
    }
}
