//! Outcomes of jobs. A process prints its outcome as one JSON object on its last line of output, in
//! any language.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::failure::{Failure, NoSuchThing};
use crate::samples::{PERCENTILES, Samples};

/// The outcome of a job.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// Version of the engine.
    #[serde(default)]
    pub version: String,
    /// The measured phases.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// Reason for an early end.
    #[serde(default)]
    pub failure: Option<String>,
    /// `true` if the reason is that the engine lacks the operation.
    #[serde(default)]
    pub unsupported: bool,
}

/// One measured phase.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Phase {
    /// Identifier.
    pub id: String,
    /// Number of operations that succeeded.
    pub operations: u64,
    /// Time of all operations together, in nanoseconds.
    pub nanoseconds: u64,
    /// Number of operations that failed or did the wrong thing.
    #[serde(default)]
    pub errors: u64,
    /// The first failure.
    #[serde(default)]
    pub first_error: Option<String>,
    /// Reason that the engine was not asked, or cannot do it.
    #[serde(default)]
    pub absent: Option<String>,
    /// Other values, by the identifier of their metric.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
}

impl Phase {
    pub(crate) fn new(id: &str) -> Phase {
        Phase { id: id.to_owned(), ..Phase::default() }
    }

    /// Adds operations that took `time` together.
    pub(crate) fn add(&mut self, operations: u64, time: Duration) {
        self.operations += operations;
        self.nanoseconds += u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    }

    /// Counts an operation that failed.
    pub(crate) fn fail(&mut self, reason: impl ToString) {
        self.errors += 1;
        self.first_error.get_or_insert_with(|| reason.to_string());
    }

    pub(crate) fn value(&mut self, id: &str, value: f64) {
        self.values.insert(id.to_owned(), value);
    }

    pub(crate) fn percentiles(&mut self, mut samples: Samples) {
        for (id, share) in PERCENTILES {
            if let Some(time) = samples.percentile(share) {
                self.value(id, time);
            }
        }
    }

    /// `true` if nothing was done and nothing is to be reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.operations == 0 && self.errors == 0 && self.absent.is_none()
    }
}

impl From<Phase> for Outcome {
    fn from(phase: Phase) -> Outcome {
        Outcome { phases: vec![phase], ..Outcome::default() }
    }
}

impl Outcome {
    /// An outcome without measurements, which is no error.
    pub(crate) fn absent(reason: impl Into<String>) -> Outcome {
        Outcome { unsupported: true, ..Outcome::failed(reason.into()) }
    }

    /// An outcome of a failure before any measurement.
    pub(crate) fn failed(reason: String) -> Outcome {
        Outcome { failure: Some(reason), ..Outcome::default() }
    }

    /// The outcome of a task with an engine of this version.
    pub(crate) fn of(version: &str, phases: Result<Vec<Phase>, Failure>) -> Outcome {
        let outcome = match phases {
            Ok(phases) => Outcome { phases, ..Outcome::default() },
            Err(failure) if failure.is::<NoSuchThing>() => Outcome::absent(failure.to_string()),
            Err(failure) => Outcome::failed(failure.to_string()),
        };
        Outcome { version: version.to_owned(), ..outcome }
    }

    /// Prints the outcome for the calling process.
    pub(crate) fn print(&self) -> std::io::Result<()> {
        let line = serde_json::to_string(self)?;
        writeln!(std::io::stdout(), "{line}")
    }
}
