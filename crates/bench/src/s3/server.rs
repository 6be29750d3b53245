//! A server from its start to its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::options::Planned;
use super::rival::{Rival, Site};
use super::session::Session;
use crate::client::{Endpoint, PayloadMode, Stock};
use crate::error::BenchError;
use crate::process::usage::Usage;
use crate::process::{Process, disk_used};
use crate::report::{Durability, Target};
use crate::run::progress::Progress;

/// Time after which a server that stores no object counts as absent.
const READY_TIME: Duration = Duration::from_secs(90);

/// A target during its measurement.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) target: Target,
    /// `None` if the server never answered.
    pub(crate) session: Option<Session>,
    /// Usage before the first request.
    pub(crate) idle: Usage,
    process: Option<Process>,
    directory: Option<PathBuf>,
}

impl Server {
    /// Starts a target or connects to it. An unavailable one has the reason.
    pub(crate) async fn start(
        planned: &Planned,
        data: &Path,
        mode: PayloadMode,
        stock: &Rc<Stock>,
        progress: &Progress,
    ) -> Server {
        progress.now(format!("starting {}", planned.name()));
        let durability = match planned {
            Planned::Running { .. } => Durability::unknown("not started by the benchmark"),
            Planned::Started(rival) => Durability::new(rival.level, rival.durability),
        };
        let mut server = Server {
            target: Target::new(planned.name(), durability),
            session: None,
            idle: Usage::default(),
            process: None,
            directory: None,
        };
        let endpoint = match planned {
            Planned::Running { endpoint, .. } => Ok(endpoint.clone()),
            Planned::Started(rival) => server.launch(rival, data).await,
        };
        let ready = match endpoint {
            Ok(endpoint) => {
                let mut session = Session::new(Arc::new(endpoint), mode, Rc::clone(stock));
                if let Planned::Started(Rival { encrypts_nothing: Some(reason), .. }) = planned {
                    session.encrypts_nothing(reason);
                }
                server.directory.iter().for_each(|directory| session.is_in(directory));
                server.await_ready(session).await
            }
            Err(error) => Err(error.to_string()),
        };
        server.target.absent = ready.err();
        let version = server.target.version.as_deref().unwrap_or("version not known");
        let ready = format!("ready, {version}");
        let state = server.target.absent.as_deref().unwrap_or(&ready);
        progress.line(&format!("{}: {state}", planned.name()));
        server
    }

    /// Starts the program.
    async fn launch(&mut self, rival: &Rival, data: &Path) -> Result<Endpoint, BenchError> {
        let directory = data.join(rival.name);
        fs::create_dir_all(&directory).map_err(BenchError::file(&directory))?;
        self.directory = Some(directory.clone());
        let site = Site::new(rival, directory)?;
        self.target.version = rival.version(&site.program);
        let launch = rival.launch(&site)?;
        let mut process = launch.start(&site.directory, &site.directory.join("output.log"))?;
        if let Some(after_start) = rival.after_start {
            let deadline = Instant::now() + READY_TIME;
            while let Err(error) = after_start(&site) {
                if let Some(ended) = process.ended() {
                    return Err(BenchError::Absent(ended));
                }
                if Instant::now() >= deadline {
                    return Err(error.into());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        self.process = Some(process);
        Ok(site.endpoint())
    }

    async fn await_ready(&mut self, mut session: Session) -> Result<(), String> {
        let (time, step) = match self.is_ours() {
            // In short waits, to notice a server that has ended.
            true => (READY_TIME, Duration::from_millis(500)),
            false => (Duration::from_secs(5), Duration::from_secs(5)),
        };
        let deadline = Instant::now() + time;
        while let Err(failure) = session.ready(step).await {
            if let Some(ended) = self.ended() {
                return Err(ended);
            }
            if Instant::now() >= deadline {
                return Err(format!("no answer within {time:?}: {failure}"));
            }
        }
        self.idle = self.usage();
        self.session = Some(session);
        Ok(())
    }

    /// Usage so far; unknown for a server that the benchmark did not start.
    pub(crate) fn usage(&self) -> Usage {
        self.process.as_ref().map(Process::usage).unwrap_or_default()
    }

    /// `true` if the benchmark has started it.
    pub(crate) fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    /// Processor time since `before`, if known.
    pub(crate) fn cpu_since(&self, before: Duration) -> Option<Duration> {
        self.is_ours().then(|| self.usage().cpu.saturating_sub(before))
    }

    /// Disk space of its data.
    pub(crate) fn disk_used(&self) -> u64 {
        self.directory.as_deref().map_or(0, disk_used)
    }

    /// Description of the end of a server that no longer answers.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.process.as_mut()?.ended()
    }

    /// Adds the usage over the whole run to the resources, stops the server, and removes its
    /// directory.
    pub(crate) async fn stop(mut self) -> Target {
        if self.is_ours() && self.session.take().is_some() {
            let used = self.usage();
            for (id, value) in [
                ("memory_idle", self.idle.memory_bytes as f64),
                ("memory_peak", used.memory_peak_bytes as f64),
                ("memory_end", used.memory_bytes as f64),
                ("cpu", used.cpu.as_secs_f64()),
                ("disk_written", used.disk_written_bytes as f64),
            ] {
                self.target.resources.insert(id.to_owned(), value);
            }
        }
        if let Some(process) = self.process.take() {
            process.stop().await;
        }
        if let Some(directory) = self.directory.take() {
            let _ = fs::remove_dir_all(directory);
        }
        self.target
    }
}
