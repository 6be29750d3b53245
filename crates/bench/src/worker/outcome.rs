//! What a process answers: one JSON object on its last line of output, in any language.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde::{Deserialize, Serialize};

use super::{Failure, NoSuchThing};

/// What a process answers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// The engine's version.
    pub version: String,
    /// What was measured.
    pub phases: Vec<Phase>,
    /// Why it could not go on, if it could not.
    #[serde(default)]
    pub failure: Option<String>,
    /// Whether that is because the engine has no such operation.
    #[serde(default)]
    pub unsupported: bool,
}

/// One thing that was measured.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Phase {
    /// Which.
    pub id: String,
    /// Operations that succeeded.
    pub operations: u64,
    /// How long all of them took together.
    pub nanoseconds: u64,
    /// Operations that failed, or did the wrong thing.
    #[serde(default)]
    pub errors: u64,
    /// The first of them.
    #[serde(default)]
    pub first_error: Option<String>,
    /// Why the engine was not asked to do it, or could not.
    #[serde(default)]
    pub absent: Option<String>,
    /// Everything else, by the identifier of its metric.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
}

impl Phase {
    /// Whether nothing was done, and nothing is to be said about it.
    pub fn is_empty(&self) -> bool {
        self.operations == 0 && self.errors == 0 && self.absent.is_none()
    }
}

impl Outcome {
    /// What came of a task with an engine of this version.
    pub fn of(version: &str, phases: Result<Vec<Phase>, Failure>) -> Outcome {
        let mut outcome = Outcome { version: version.to_owned(), ..Outcome::default() };
        match phases {
            Ok(phases) => outcome.phases = phases,
            Err(failure) => {
                outcome.unsupported = failure.is::<NoSuchThing>();
                outcome.failure = Some(failure.to_string());
            }
        }
        outcome
    }

    /// Answers whoever asked.
    ///
    /// # Errors
    /// When nobody reads it.
    pub fn print(&self) -> std::io::Result<()> {
        let line = serde_json::to_string(self)?;
        writeln!(std::io::stdout(), "{line}")
    }
}
