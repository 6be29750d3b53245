//! The rows that a process fills.

use crate::report::Curve;

/// The metric of rows that count time.
pub const TIME: &str = "time";
/// The metric of rows that count throughput.
pub const RATE: &str = "operations_per_second";

/// A row, and the phase of an outcome that measures it.
#[derive(Clone, Debug)]
pub struct RowPlan {
    /// Its heading.
    pub group: String,
    /// Its name.
    pub name: String,
    /// The phase.
    pub phase: String,
    /// The metric that decides it: [`TIME`] and [`RATE`] are computed from operations and time, any
    /// other is a value of the phase.
    pub metric: &'static str,
    /// Its place in a chart.
    pub curve: Option<Curve>,
    /// What a reader must know.
    pub note: Option<String>,
}

impl RowPlan {
    /// A row that is on no chart.
    pub fn new(
        group: impl Into<String>,
        name: impl Into<String>,
        phase: impl Into<String>,
        metric: &'static str,
    ) -> RowPlan {
        let (group, name, phase) = (group.into(), name.into(), phase.into());
        RowPlan { group, name, phase, metric, curve: None, note: None }
    }

    /// Adds what a reader must know.
    pub fn note(mut self, note: impl Into<String>) -> RowPlan {
        self.note = Some(note.into());
        self
    }

    /// Puts it on a chart.
    pub fn curve(mut self, curve: Curve) -> RowPlan {
        self.curve = Some(curve);
        self
    }
}
