//! A target from its start to its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::client::Endpoint;
use super::options::Planned;
use super::rival::{ACCESS_KEY, PORTS, Rival, SECRET_KEY, Site};
use super::session::{Session, Stock};
use super::sign::PayloadMode;
use crate::error::BenchError;
use crate::process::usage::{Usage, own_cpu};
use crate::process::{self, ServerProcess};
use crate::report::{Durability, Target};

/// How long a server may take until it stores an object.
const READY_TIME: Duration = Duration::from_secs(90);

/// A target while it is measured.
#[derive(Debug)]
pub struct Server {
    /// What the report says of it.
    pub about: Target,
    /// How it is spoken to; `None` if it was never there.
    pub session: Option<Session>,
    /// What it had used before the first request, and how long it took until it was ready.
    pub idle: Usage,
    process: Option<ServerProcess>,
    directory: Option<PathBuf>,
}

impl Server {
    /// Starts a target, or connects to it. One that cannot be had says why.
    pub async fn start(
        planned: &Planned,
        data: &Path,
        mode: PayloadMode,
        stock: &Rc<Stock>,
    ) -> Server {
        match planned {
            Planned::Running { name, endpoint } => {
                let durability = Durability::unknown("not started by the benchmark");
                let mut server = Server::new(Target::new(name, durability));
                let mut session = Session::new(Arc::new(endpoint.clone()), mode, Rc::clone(stock));
                match session.ready(Duration::from_secs(5)).await {
                    Ok(()) => server.session = Some(session),
                    Err(failure) => server.about.absent = Some(format!("no answer: {failure}")),
                }
                server
            }
            Planned::Started(rival) => {
                let durability = Durability::new(rival.level, rival.durability);
                let mut server = Server::new(Target::new(rival.name, durability));
                match server.launch(rival, data).await {
                    Ok(Some(endpoint)) => {
                        let session = Session::new(Arc::new(endpoint), mode, Rc::clone(stock));
                        server.await_ready(session).await;
                    }
                    Ok(None) => server.about.absent = Some("not installed".to_owned()),
                    Err(error) => server.about.absent = Some(error.to_string()),
                }
                server
            }
        }
    }

    fn new(about: Target) -> Server {
        Server { about, session: None, idle: Usage::default(), process: None, directory: None }
    }

    /// Starts the program; `None` if it is not installed.
    async fn launch(&mut self, rival: &Rival, data: &Path) -> Result<Option<Endpoint>, BenchError> {
        // LiteIO is built together with this program.
        let beside =
            std::env::current_exe().ok().and_then(|this| Some(this.parent()?.join(rival.program)));
        let beside = beside.filter(|path| rival.family == "liteio" && path.is_file());
        let Some(program) = beside.or_else(|| process::find_program(rival.program)) else {
            return Ok(None);
        };
        let directory = data.join(rival.name);
        fs::create_dir_all(&directory).map_err(BenchError::file(&directory))?;
        self.directory = Some(directory.clone());
        if !rival.version.is_empty() {
            self.about.version = process::version(&program, rival.version);
        }
        let ports = process::free_ports(PORTS)?;
        let site = Site { program, directory: directory.clone(), ports };
        let launch = (rival.launch)(&site)?;
        let mut process = launch.start(&directory, &directory.join("output.log"))?;
        if let Some(after_start) = rival.after_start {
            let deadline = Instant::now() + READY_TIME;
            while let Err(error) = after_start(&site) {
                if let Some(ended) = process.ended() {
                    return Err(BenchError::target(rival.name, ended));
                }
                if Instant::now() >= deadline {
                    return Err(error.into());
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        self.process = Some(process);
        Ok(Some(Endpoint {
            host: site.address(0),
            access_key: ACCESS_KEY.to_owned(),
            secret_key: SECRET_KEY.to_owned(),
            region: "us-east-1".to_owned(),
        }))
    }

    async fn await_ready(&mut self, mut session: Session) {
        let deadline = Instant::now() + READY_TIME;
        loop {
            // In short waits, to notice a server that has given up.
            let failure = match session.ready(Duration::from_millis(500)).await {
                Ok(()) => break,
                Err(failure) => failure,
            };
            if let Some(ended) = self.process.as_mut().and_then(ServerProcess::ended) {
                self.about.absent = Some(ended);
                return;
            }
            if Instant::now() >= deadline {
                self.about.absent = Some(format!("not ready within {READY_TIME:?}: {failure}"));
                return;
            }
        }
        self.idle = self.usage();
        self.session = Some(session);
    }

    /// What it has used; nothing is known of a server that the benchmark did not start.
    pub fn usage(&self) -> Usage {
        self.process.as_ref().map(ServerProcess::usage).unwrap_or_default()
    }

    /// Whether the benchmark has started it.
    pub fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    /// Bytes on the disk.
    pub fn disk_used(&self) -> u64 {
        self.directory.as_deref().map_or(0, process::disk_used)
    }

    /// Why it answers no more, if it has ended.
    pub fn ended(&mut self) -> Option<String> {
        self.process.as_mut()?.ended()
    }

    /// Stops it and removes its directory.
    pub async fn stop(&mut self) {
        self.session = None;
        if let Some(process) = self.process.take() {
            process.stop().await;
        }
        if let Some(directory) = self.directory.take() {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// Processor time of this program and of all servers: what is used beyond it is used by others.
pub fn known_cpu<'a>(servers: impl IntoIterator<Item = &'a Server>) -> Duration {
    servers.into_iter().map(|server| server.usage().cpu).sum::<Duration>() + own_cpu()
}
