//! The options of a run, checked together before anything starts.

use std::path::PathBuf;
use std::time::Duration;

use super::rival::{RIVALS, Rival};
use crate::client::{Endpoint, PayloadMode};
use crate::error::BenchError;

/// A whole run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The targets, in the order of the report.
    pub targets: Vec<Planned>,
    /// The name of the target that others are compared with.
    pub baseline: Option<String>,
    /// The extent of the rows.
    pub extent: Extent,
    /// Only rows whose name or group contains one of these, whatever the case.
    pub filters: Vec<String>,
    /// The number of rounds.
    pub rounds: usize,
    /// The time of a row at one target in one round.
    pub time: Duration,
    /// The way in which bodies are signed.
    pub mode: PayloadMode,
    /// The directory below which data is kept meanwhile.
    pub data: PathBuf,
}

/// The extent of the rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// Fewer clients and fewer objects.
    pub quick: bool,
    /// 100 MB and 100,000 objects too.
    pub large: bool,
}

/// A target that is to be measured.
#[derive(Clone, Debug)]
pub struct Planned(pub(crate) Source);

/// The way in which a target is had.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The benchmark starts it.
    Started(&'static Rival),
    /// It runs already.
    Running { name: String, endpoint: Endpoint },
}

impl Planned {
    /// Its name in the report.
    pub fn name(&self) -> &str {
        match &self.0 {
            Source::Started(rival) => rival.name,
            Source::Running { name, .. } => name,
        }
    }

    /// The target of `NAME=URL,ACCESS,SECRET`, with the region after a further comma if it is not
    /// us-east-1.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn running(text: &str) -> Result<Planned, BenchError> {
        let wrong = |reason: &str| BenchError::Usage(format!("--target {text}: {reason}"));
        let form = "expected NAME=URL,ACCESS,SECRET[,REGION]";
        let (name, rest) = text.split_once('=').ok_or_else(|| wrong(form))?;
        let parts: Vec<&str> = rest.split(',').collect();
        let (url, access_key, secret_key, region) = match parts[..] {
            [url, access_key, secret_key] => (url, access_key, secret_key, "us-east-1"),
            [url, access_key, secret_key, region] => (url, access_key, secret_key, region),
            _ => return Err(wrong(form)),
        };
        let no_http = || wrong("the URL must begin with http:// (TLS would be measured as well)");
        let host = url.strip_prefix("http://").ok_or_else(no_http)?.trim_end_matches('/');
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
        Ok(Planned(Source::Running { name: name.to_owned(), endpoint }))
    }

    /// The servers of `--rival NAME`: all that belong to a program, or all there are.
    ///
    /// # Errors
    /// [`BenchError::Usage`] for a name that nobody has.
    pub fn started(name: &str) -> Result<Vec<Planned>, BenchError> {
        let wanted = |rival: &&Rival| name == "all" || rival.name == name || rival.family == name;
        let found = RIVALS.iter().filter(wanted).map(|rival| Planned(Source::Started(rival)));
        let found: Vec<Planned> = found.collect();
        if found.is_empty() {
            let names: Vec<&str> = RIVALS.iter().map(|rival| rival.name).collect();
            let names = names.join(", ");
            let reason = format!("--rival {name}: expected all or one of {names}");
            return Err(BenchError::Usage(reason));
        }
        Ok(found)
    }
}

impl Options {
    /// Checks that the options belong together.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub(crate) fn check(&self) -> Result<(), BenchError> {
        let mut names: Vec<&str> = self.targets.iter().map(Planned::name).collect();
        if let Some(baseline) = self.baseline.as_deref().filter(|name| !names.contains(name)) {
            let reason = format!("--baseline {baseline}: no target has this name");
            return Err(BenchError::Usage(reason));
        }
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(BenchError::Usage(format!("two targets are called {}", pair[0])));
        }
        check_pace(self.rounds, self.time)
    }
}

/// Every run has at least one round, and rows that take some time.
pub(crate) fn check_pace(rounds: usize, time: Duration) -> Result<(), BenchError> {
    if rounds == 0 || time.is_zero() {
        let reason = "there must be at least one round and some time";
        return Err(BenchError::Usage(reason.to_owned()));
    }
    Ok(())
}
