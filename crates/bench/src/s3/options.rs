//! The options of a run, checked together before anything starts.

use clap::Args;

use super::rival::{RIVALS, Rival};
use crate::client::{Endpoint, PayloadMode};
use crate::error::BenchError;
use crate::run::{RowTime, RunOptions};

/// The options of a run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Start this one too: a name of the report, a program's name, or "all". Repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub rival: Vec<String>,
    /// Measure a server that runs already; the region may follow after a comma. Repeatable.
    #[arg(long, value_name = "NAME=URL,ACCESS,SECRET")]
    pub target: Vec<String>,
    /// Start this build of LiteIO too, as NAME-fsync, NAME-os and NAME-memory: to compare builds. Repeatable.
    #[arg(long, value_name = "NAME=PROGRAM")]
    pub build: Vec<String>,
    /// Leave LiteIO out.
    #[arg(long)]
    pub without_liteio: bool,
    /// Compare with this target [default: minio if it is measured, else the first].
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// 100 MB and 100,000 objects too.
    #[arg(long)]
    pub large: bool,
    /// The time of a row.
    #[command(flatten)]
    pub time: RowTime,
    /// The way in which bodies are signed.
    #[arg(long, value_enum, default_value = "signed")]
    pub payload: PayloadMode,
    /// The most objects that a row prepares, whatever its name promises. For tests, which read no figures.
    #[arg(skip)]
    pub objects_max: Option<usize>,
    /// Options of every benchmark.
    #[command(flatten)]
    pub run: RunOptions,
}

/// A target that is to be measured.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    /// The benchmark starts it.
    Started(&'static Rival),
    /// It runs already.
    Running { name: String, endpoint: Endpoint },
}

impl Planned {
    /// Its name in the report.
    pub(crate) fn name(&self) -> &str {
        match self {
            Planned::Started(rival) => rival.name,
            Planned::Running { name, .. } => name,
        }
    }

    /// The target of `NAME=URL,ACCESS,SECRET`, with the region after a further comma if it is not
    /// us-east-1.
    pub(crate) fn running(text: &str) -> Result<Planned, BenchError> {
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
            others: Vec::new(),
            access_key: access_key.to_owned(),
            secret_key: secret_key.to_owned(),
            region: region.to_owned(),
        };
        Ok(Planned::Running { name: name.to_owned(), endpoint })
    }

    /// The servers of `--target` and `--build`, or LiteIO if there are none.
    pub(crate) fn running_or_liteio(
        targets: &[String],
        builds: &[String],
    ) -> Result<Vec<Planned>, BenchError> {
        let mut planned: Vec<Planned> =
            targets.iter().map(|text| Planned::running(text)).collect::<Result<_, _>>()?;
        for text in builds {
            planned.extend(Planned::build(text)?);
        }
        if planned.is_empty() { Planned::started("liteio") } else { Ok(planned) }
    }

    /// The servers of `--build NAME=PROGRAM`.
    pub(crate) fn build(text: &str) -> Result<Vec<Planned>, BenchError> {
        let found =
            text.split_once('=').filter(|(name, path)| !name.is_empty() && path.contains('/'));
        let (name, program) = found.ok_or_else(|| {
            BenchError::Usage(format!("--build {text}: expected NAME=PROGRAM, a path with a /"))
        })?;
        Ok(Rival::builds(name, program).into_iter().map(Planned::Started).collect())
    }

    /// The servers of `--rival NAME`: all that belong to a program, or all there are.
    pub(crate) fn started(name: &str) -> Result<Vec<Planned>, BenchError> {
        let wanted = |rival: &&Rival| name == "all" || rival.name == name || rival.family == name;
        let found = RIVALS.iter().filter(wanted).map(Planned::Started);
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
    /// The targets, in the order of the report.
    pub(crate) fn targets(&self) -> Result<Vec<Planned>, BenchError> {
        let liteio = (!self.without_liteio).then_some("liteio");
        let mut targets: Vec<Planned> = Vec::new();
        for name in liteio.into_iter().chain(self.rival.iter().map(String::as_str)) {
            for planned in Planned::started(name)? {
                if !targets.iter().any(|target| target.name() == planned.name()) {
                    targets.push(planned);
                }
            }
        }
        for text in &self.build {
            targets.extend(Planned::build(text)?);
        }
        for text in &self.target {
            targets.push(Planned::running(text)?);
        }
        let mut names: Vec<&str> = targets.iter().map(Planned::name).collect();
        if let Some(baseline) = self.baseline.as_deref().filter(|name| !names.contains(name)) {
            let reason = format!("--baseline {baseline}: no target has this name");
            return Err(BenchError::Usage(reason));
        }
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(BenchError::Usage(format!("two targets are called {}", pair[0])));
        }
        Ok(targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_target_has_a_plain_address() {
        let planned =
            Planned::running("aws=http://127.0.0.1:9000/,key,secret").expect("it is fine");
        let Planned::Running { name, endpoint } = planned else { panic!("it runs already") };
        assert_eq!((name.as_str(), endpoint.host.as_str()), ("aws", "127.0.0.1:9000"));
        assert_eq!(endpoint.region, "us-east-1");
        for wrong in ["a", "a=http://h", "a=https://h,k,s", "a=http://h/path,k,s", "=http://h,k,s"]
        {
            let error = Planned::running(wrong).expect_err(wrong).to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn another_build_is_started_in_every_way() {
        let names = |text: &str| -> Result<Vec<String>, BenchError> {
            Ok(Planned::build(text)?.iter().map(|planned| planned.name().to_owned()).collect())
        };
        let found = names("old=/bin/liteio-old").expect("it is fine");
        assert_eq!(found, ["old-fsync", "old-os", "old-memory"]);
        for wrong in ["/bin/liteio", "=/bin/liteio", "old=liteio", "old"] {
            assert!(names(wrong).expect_err(wrong).to_string().contains(wrong));
        }
    }

    #[test]
    fn rivals_are_found_by_name_family_and_all_together() {
        let names = |name: &str| -> Vec<String> {
            let found = Planned::started(name).expect("there is one");
            found.iter().map(|planned| planned.name().to_owned()).collect()
        };
        assert_eq!(names("seaweedfs"), ["seaweedfs", "seaweedfs-fsync"]);
        assert_eq!(names("liteio"), ["liteio-fsync", "liteio-os", "liteio-memory"]);
        assert_eq!(names("minio"), ["minio"]);
        assert_eq!(names("all").len(), RIVALS.len());
        let error = Planned::started("ceph").expect_err("it is not known").to_string();
        assert!(error.contains("minio"), "{error}");
    }
}
