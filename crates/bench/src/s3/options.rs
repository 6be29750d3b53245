//! What was asked for, checked together before anything starts.

use std::path::PathBuf;
use std::time::Duration;

use super::case::Extent;
use super::client::Endpoint;
use super::rival::{self, Rival};
use super::sign::PayloadMode;
use crate::error::BenchError;

/// A whole run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who is measured, in the order of the report.
    pub targets: Vec<Planned>,
    /// The name of the target that others are compared with.
    pub baseline: Option<String>,
    /// How much is measured.
    pub extent: Extent,
    /// Only rows whose name or group contains one of these, whatever the case.
    pub filters: Vec<String>,
    /// How many rounds.
    pub rounds: usize,
    /// How long a row runs at one target in one round.
    pub time: Duration,
    /// How bodies are signed.
    pub mode: PayloadMode,
    /// Where the data directories are made; they are removed at the end.
    pub data: PathBuf,
}

/// A target that is to be measured.
#[derive(Clone, Debug)]
pub enum Planned {
    /// A server that the benchmark starts.
    Started(&'static Rival),
    /// A server that runs already.
    Running {
        /// Its name in the report.
        name: String,
        /// Where it listens.
        endpoint: Endpoint,
    },
}

impl Planned {
    /// Its name in the report.
    pub fn name(&self) -> &str {
        match self {
            Planned::Started(rival) => rival.name,
            Planned::Running { name, .. } => name,
        }
    }

    /// The target of `NAME=URL,ACCESS,SECRET`, with the region after a further comma if it is not
    /// us-east-1.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn running(text: &str) -> Result<Planned, BenchError> {
        let wrong = |what: &str| BenchError::Usage(format!("--target {text}: {what}"));
        let form = "expected NAME=URL,ACCESS,SECRET[,REGION]";
        let (name, rest) = text.split_once('=').ok_or_else(|| wrong(form))?;
        let parts: Vec<&str> = rest.split(',').collect();
        let (url, access_key, secret_key, region) = match parts[..] {
            [url, access_key, secret_key] => (url, access_key, secret_key, "us-east-1"),
            [url, access_key, secret_key, region] => (url, access_key, secret_key, region),
            _ => return Err(wrong(form)),
        };
        let host = url
            .strip_prefix("http://")
            .ok_or_else(|| {
                wrong("the URL must begin with http:// (TLS would be measured as well)")
            })?
            .trim_end_matches('/');
        if name.is_empty() || host.is_empty() || host.contains('/') {
            return Err(wrong("the URL must be http://HOST:PORT, without a path"));
        }
        let host = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
        let endpoint = Endpoint {
            host,
            access_key: access_key.to_owned(),
            secret_key: secret_key.to_owned(),
            region: region.to_owned(),
        };
        Ok(Planned::Running { name: name.to_owned(), endpoint })
    }

    /// The servers of `--rival NAME`: all that belong to a program, or all there are.
    ///
    /// # Errors
    /// [`BenchError::Usage`] for a name that nobody has.
    pub fn started(name: &str) -> Result<Vec<Planned>, BenchError> {
        let wanted = |rival: &&Rival| name == "all" || rival.name == name || rival.family == name;
        let found: Vec<Planned> =
            rival::RIVALS.iter().filter(wanted).map(Planned::Started).collect();
        if found.is_empty() {
            let names: Vec<&str> = rival::RIVALS.iter().map(|rival| rival.name).collect();
            let names = names.join(", ");
            return Err(BenchError::Usage(format!(
                "--rival {name}: expected all or one of {names}"
            )));
        }
        Ok(found)
    }
}

impl Options {
    /// Checks what belongs together.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        let usage = |text: String| Err(BenchError::Usage(text));
        if self.targets.is_empty() {
            return usage("there is nothing to measure".to_owned());
        }
        for (place, target) in self.targets.iter().enumerate() {
            if self.targets[..place].iter().any(|other| other.name() == target.name()) {
                return usage(format!("two targets are called {}", target.name()));
            }
        }
        if let Some(baseline) = &self.baseline
            && !self.targets.iter().any(|target| target.name() == baseline)
        {
            return usage(format!("--baseline {baseline}: no target has this name"));
        }
        if self.rounds == 0 || self.time.is_zero() {
            return usage("there must be at least one round and some time".to_owned());
        }
        Ok(())
    }
}
