//! The results of the last runs of maintenance on a table.

use liteio_store::StoreError;
use serde_json::{Map, Value, json};

use super::config::Job;

/// Characters of a failure that are kept.
const FAILURE_CHARACTERS_MAX: usize = 500;

/// The end of a run of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Milliseconds since 1970.
    pub(crate) ended_ms: u64,
    /// The reason for which it failed.
    pub(crate) failure: Option<String>,
}

/// The last run of each job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    runs: Vec<(Job, Run)>,
}

impl Runs {
    /// The runs in a document.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub(crate) fn read(document: Option<&[u8]>) -> Result<Runs, StoreError> {
        let Some(document) = document else { return Ok(Runs::default()) };
        let corrupt = || StoreError::Corrupt { what: "the runs of maintenance of a table".into() };
        let document = liteio_iceberg::json::parse(document).map_err(|_| corrupt())?;
        let mut runs = Runs::default();
        for job in [Job::Snapshots, Job::Removal] {
            let Some(run) = document.get(job.name()) else { continue };
            let ended_ms = run["endedMs"].as_u64().ok_or_else(corrupt)?;
            let failure = run["failure"].as_str().map(str::to_owned);
            runs.note(job, Run { ended_ms, failure });
        }
        Ok(runs)
    }

    pub(crate) fn document(&self) -> Vec<u8> {
        let run = |(job, run): &(Job, Run)| {
            let run = json!({ "endedMs": run.ended_ms, "failure": run.failure });
            (job.name().to_owned(), run)
        };
        Value::Object(self.runs.iter().map(run).collect::<Map<_, _>>()).to_string().into_bytes()
    }

    /// The last run of a job.
    pub(crate) fn last(&self, job: Job) -> Option<&Run> {
        self.runs.iter().find(|(other, _)| *other == job).map(|(_, run)| run)
    }

    pub(crate) fn note(&mut self, job: Job, run: Run) {
        self.runs.retain(|(other, _)| *other != job);
        let cut = |failure: String| failure.chars().take(FAILURE_CHARACTERS_MAX).collect();
        self.runs.push((job, Run { failure: run.failure.map(cut), ..run }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_as_they_were_noted() {
        let mut runs = Runs::default();
        runs.note(Job::Removal, Run { ended_ms: 1, failure: Some("no".to_owned()) });
        runs.note(Job::Snapshots, Run { ended_ms: 2, failure: None });
        runs.note(Job::Removal, Run { ended_ms: 3, failure: Some("x".repeat(9999)) });
        let read = Runs::read(Some(&runs.document())).expect("own bytes");
        let removal = read.last(Job::Removal).expect("noted");
        assert_eq!((removal.ended_ms, removal.failure.as_ref().map(String::len)), (3, Some(500)));
        assert_eq!(read.last(Job::Snapshots), runs.last(Job::Snapshots));
        assert_eq!(Runs::read(None).expect("none"), Runs::default());
        Runs::read(Some(b"[]1")).expect_err("damaged");
    }
}
