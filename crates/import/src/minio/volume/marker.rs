//! The files that say how far a volume of MinIO is taken over.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use liteio_wire::private_file;
use serde::{Deserialize, Serialize};

use super::survey::Survey;

/// Exists once everything is taken over.
const TAKEN_OVER: &str = "taken-over.json";
/// Exists while it is taken over.
const TAKING_OVER: &str = "taking-over.json";

/// The state of a volume whose data were taken over, or are being taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// The time, in RFC 3339.
    pub(super) at: String,
    /// The id of the deployment.
    pub(super) deployment: String,
    /// See [`super::survey::stamp`].
    pub(super) stamp: String,
    /// [`Survey::digest`], in hexadecimal.
    pub(super) state: String,
    /// Keys in the volume.
    pub(super) keys: u64,
    /// Items that were left out.
    pub(super) left_out: u64,
    /// The release and the ids of the keys that take it over.
    #[serde(default)]
    pub(super) by: Vec<String>,
}

impl Marker {
    pub(super) fn new(at: String, deployment: &str, stamp: String, survey: &Survey) -> Marker {
        let (deployment, state) = (deployment.to_owned(), state_of(survey));
        Marker { at, deployment, stamp, state, keys: survey.keys, left_out: 0, by: Vec::new() }
    }

    /// True if nothing with data differs from that state.
    pub(super) fn is_of(&self, deployment: &str, survey: &Survey) -> bool {
        self.deployment == deployment && self.state == state_of(survey)
    }

    /// The marker of a finished take-over.
    ///
    /// # Errors
    /// One line: the file cannot be read.
    pub(super) fn taken_over(own: &Path) -> Result<Option<Marker>, String> {
        read(&own.join(TAKEN_OVER))
    }

    /// The marker of a take-over that was interrupted.
    ///
    /// # Errors
    /// One line: the file cannot be read.
    pub(super) fn taking_over(own: &Path) -> Result<Option<Marker>, String> {
        read(&own.join(TAKING_OVER))
    }

    /// Writes the marker of a take-over that begins.
    ///
    /// # Errors
    /// One line.
    pub(super) fn begin(&self, own: &Path) -> Result<(), String> {
        self.write(&own.join(TAKING_OVER))
    }

    /// Writes the marker of a finished take-over.
    ///
    /// # Errors
    /// One line.
    pub(super) fn finish(&self, own: &Path) -> Result<(), String> {
        self.write(&own.join(TAKEN_OVER))?;
        // The other marker decides nothing any more.
        let _ = fs::remove_file(own.join(TAKING_OVER));
        Ok(())
    }

    fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        private_file::write(path, &text).map_err(|error| cannot("write", path, &error))
    }
}

fn state_of(survey: &Survey) -> String {
    format!("{:016x}", survey.digest)
}

fn read(path: &Path) -> Result<Option<Marker>, String> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| cannot("read", path, &error.into())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", path, &error)),
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}
