//! What the report of key-value engines shows.

use super::rows::LOST;
use crate::report::Target;
use crate::worker::{Outcome, RowPlan};

/// Whether a value of a phase stands in a row.
pub(super) fn shows(row: &RowPlan, id: &str) -> bool {
    match id {
        // A row of its own.
        LOST => row.metric == LOST,
        // Those of the whole engine, and what is an error.
        "memory_peak" | "disk" | "wrong" => false,
        _ => row.metric != LOST,
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
