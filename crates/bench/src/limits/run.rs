//! A whole run: the machine, and servers beside it.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use clap::Args;

use super::bare::least;
use super::rows::{LARGE_BYTES, PART_BYTES, Task, jobs};
use super::{bare_server, fresh, tables};
use crate::client::{PayloadMode, Stock};
use crate::error::BenchError;
use crate::report::{Durability, Level, Report, Target};
use crate::run::{
    Bench, Failure, Job, Outcome, Phase, RowTime, RunOptions, Subject, block_on, turns,
};
use crate::s3::case::{Case, ROW, Work};
use crate::s3::options::Planned;
use crate::s3::rival::Rival;
use crate::s3::server::Server;
use crate::s3::work::{Pace, measure};

/// The target without a server, to which others are compared.
const MACHINE: &str = "machine";

/// The options of a run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Servers that run already, instead of LiteIO: they are measured in the rows that need no
    /// start.
    #[arg(long, hide = true)]
    pub target: Vec<String>,
    /// The time of a row.
    #[command(flatten)]
    pub time: RowTime,
    /// Options of every benchmark.
    #[command(flatten)]
    pub run: RunOptions,
}

/// Runs the benchmark and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. A server that does not work is in the report instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    block_on(run_all(options))
}

async fn run_all(options: &Options) -> Result<Report, BenchError> {
    let servers = Planned::running_or_liteio(&options.target, &[])?;
    let time = options.run.time(options.time);
    let jobs = jobs(options.run.quick, &options.run.row_filter());
    let turns = turns(&jobs, &options.run, |_| servers.len() + 1);
    let mut bench = Bench::begin("the limits of the machine", &options.run, turns)?;
    bench.report.setting("time of a row", format!("{time:?} at each target"));
    let stock =
        Rc::new(Stock::new([1 << 10, 64 << 10, PART_BYTES, LARGE_BYTES], PayloadMode::Signed));
    let about = Durability::new(Level::ByRow, "no store: a file, a socket, a hash");
    let machine = Target::new(MACHINE, about);
    let data = bench.data().to_owned();
    let subject = |kind| Limited { kind, time, data: data.clone(), stock: Rc::clone(&stock) };
    let mut subjects = vec![subject(Kind::Machine(machine))];
    for planned in &servers {
        let mode = PayloadMode::Signed;
        let server = Server::start(planned, &data, mode, &stock, &bench.progress).await;
        let rival = match planned {
            Planned::Started(rival) => Some(*rival),
            Planned::Running { .. } => None,
        };
        subjects.push(subject(Kind::Server(Box::new(server), rival)));
    }
    bench.baseline(&subjects, &[Some(MACHINE)]);
    for job in &jobs {
        bench.job(&mut subjects, job).await;
    }
    let mut targets = Vec::new();
    for subject in subjects {
        targets.push(match subject.kind {
            Kind::Machine(target) => target,
            Kind::Server(server, _) => server.stop().await,
        });
    }
    Ok(bench.finish(targets))
}

/// The machine or a server.
struct Limited {
    kind: Kind,
    time: Duration,
    data: PathBuf,
    stock: Rc<Stock>,
}

enum Kind {
    Machine(Target),
    Server(Box<Server>, Option<&'static Rival>),
}

impl Limited {
    async fn phases(&mut self, task: &Task, round: usize) -> Result<Vec<Phase>, Failure> {
        let (server, rival) = match &mut self.kind {
            Kind::Machine(_) => {
                let path = self.data.join("bare");
                if let Some(case) = of_bare_server(task) {
                    let measured = bare_server::measure(case, &path, &self.stock, self.time);
                    return Ok(vec![measured.await?]);
                }
                let measure = least(task).ok_or("nothing to do")?;
                let driven = measure(&path, self.time);
                let _ = std::fs::remove_file(path);
                return Ok(vec![driven?.phase(ROW, None)]);
            }
            Kind::Server(server, rival) => (server, *rival),
        };
        if let Task::Case(case) = task {
            let pace = Pace { time: self.time, deletions: 0 };
            let before = server.usage().cpu;
            let session = server.session.as_mut().ok_or("no answer")?;
            let driven = measure(session, case, round, pace).await;
            return Ok(vec![driven.phase(ROW, server.cpu_since(before))]);
        }
        let rival = rival.ok_or("it is not started by the benchmark")?;
        let directory = self.data.join(format!("{}-fresh", rival.name));
        let phases = match *task {
            Task::Start => fresh::start(rival, &directory).await,
            Task::Many { objects } => fresh::many(rival, &directory, objects).await,
            Task::Tables { tables } => tables::measure(rival, &directory, tables).await,
            Task::Idle { connections } => fresh::idle(rival, &directory, connections).await,
            Task::Uploads { clients, mebibytes } => {
                fresh::uploads(rival, &directory, clients, mebibytes).await
            }
            Task::Case(_) | Task::Hash => Err("a server does nothing like it".into()),
        };
        let _ = std::fs::remove_dir_all(&directory);
        phases
    }
}

/// The case of a task that is compared with the bare server.
fn of_bare_server(task: &Task) -> Option<&Case> {
    match task {
        Task::Case(case) => Some(case).filter(|case| bare_server::serves(case)),
        _ => None,
    }
}

impl Subject for Limited {
    type Work = Task;

    fn target(&self) -> &Target {
        match &self.kind {
            Kind::Machine(target) => target,
            Kind::Server(server, _) => &server.target,
        }
    }

    fn takes_part(&self, job: &Job<Task>) -> bool {
        match (&self.kind, &job.work) {
            (Kind::Machine(_), task) => of_bare_server(task).is_some() || least(task).is_some(),
            // Nobody knows the files of a server that runs already.
            (Kind::Server(_, rival), Task::Case(case)) => {
                rival.is_some() || !matches!(case.work, Work::GetCold { .. })
            }
            (Kind::Server(..), Task::Hash) => false,
            (Kind::Server(_, None), _) => false,
            (Kind::Server(_, Some(rival)), Task::Many { .. }) => rival.level != Level::Memory,
            (Kind::Server(_, Some(_)), _) => true,
        }
    }

    fn cpu(&self) -> Duration {
        match &self.kind {
            Kind::Machine(_) => Duration::ZERO,
            Kind::Server(server, _) => server.usage().cpu,
        }
    }

    async fn measure(&mut self, job: &Job<Task>, round: usize) -> Option<Outcome> {
        Some(Outcome::of("", self.phases(&job.work, round).await))
    }
}
