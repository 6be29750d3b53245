//! A whole run: start, measure in rounds, stop, report.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use md5::{Digest as _, Md5};

use super::case::{Case, cases};
use super::client::{Connection, Endpoint};
use super::drive::{Limit, drive};
use super::empty::EmptyServer;
use super::options::Options;
use super::record::{RATE, add_resources, add_round, metrics};
use super::server::{Server, known_cpu};
use super::session::Stock;
use super::sign::PayloadMode;
use super::work::{Pace, measure};
use crate::busy::Moment;
use crate::error::BenchError;
use crate::filter::RowFilter;
use crate::interruption;
use crate::machine::Machine;
use crate::process::usage::WRITTEN_NOTE;
use crate::progress::Progress;
use crate::report::{Cell, Report, Unit};
use crate::workplace::{Workplace, sync_file_system};

/// Runs the benchmark on this thread and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. A target that does not work is in the report instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    options.check()?;
    let cases = chosen(options);
    if cases.is_empty() {
        return Err(BenchError::Usage("the filter leaves no row".to_owned()));
    }
    // One thread for all clients: a request costs no hand-over, and the server has the other cores.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    interruption::watch()?;
    runtime.block_on(run_all(options, &cases))
}

/// The rows that the filters leave.
fn chosen(options: &Options) -> Vec<Case> {
    let filter = RowFilter::new(&options.filters);
    let mut cases = cases(options.extent);
    cases.retain(|case| filter.lets(case.group, &case.name));
    cases
}

async fn run_all(options: &Options, cases: &[Case]) -> Result<Report, BenchError> {
    let workplace = Workplace::below(&options.data)?;
    let data = workplace.path().to_owned();
    let mut report = Report::new("LiteIO and its rivals: S3");
    report.machine = Machine::here(&data);
    report.metrics = metrics();
    let began = Instant::now();

    let rounds: usize = cases.iter().map(|case| options.rounds.min(case.rounds_max)).sum();
    let progress = Progress::new((rounds * options.targets.len()) as u64);
    let stock = Rc::new(Stock::new(cases, options.mode));
    notes(&mut report, options);
    client_cost(&mut report, &progress, options.mode).await?;
    let mut servers = start(options, &data, &stock, &progress).await;
    report.targets = servers.iter().map(|server| server.about.clone()).collect();
    report.baseline = baseline(options, &servers);

    let fixed = prepare(&mut servers, cases, &progress).await;
    let bench = Bench { options, data: &data, progress: &progress };
    for case in cases {
        if interruption::came() {
            break;
        }
        bench.row(&mut report, &mut servers, case).await;
    }
    interruption::note(&mut report);
    for (server, fixed) in servers.iter_mut().zip(fixed) {
        if server.is_ours() {
            add_resources(&mut report, server, server.usage(), fixed);
        }
        server.stop().await;
    }
    progress.finish();
    report.note_disturbances();
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

async fn start(
    options: &Options,
    data: &Path,
    stock: &Rc<Stock>,
    progress: &Progress,
) -> Vec<Server> {
    let mut servers = Vec::new();
    for planned in &options.targets {
        progress.now(format!("starting {}", planned.name()));
        let server = Server::start(planned, data, options.mode, stock).await;
        match &server.about.absent {
            Some(reason) => progress.line(&format!("{}: {reason}", planned.name())),
            None => progress.line(&format!(
                "{}: ready, {}",
                planned.name(),
                server.about.version.as_deref().unwrap_or("version not known")
            )),
        }
        servers.push(server);
    }
    servers
}

/// The chosen baseline, or the first target if that one is not there.
fn baseline(options: &Options, servers: &[Server]) -> Option<String> {
    let there = |server: &&Server| server.about.absent.is_none();
    let chosen = options.baseline.as_ref();
    let found = servers.iter().filter(there).find(|server| chosen == Some(&server.about.name));
    let found = found.or_else(|| servers.iter().find(there))?;
    Some(found.about.name.clone())
}

/// Puts all fixed objects. Returns the disk that they take and their bytes, for each target.
async fn prepare(servers: &mut [Server], cases: &[Case], progress: &Progress) -> Vec<(u64, u64)> {
    let mut fixed = Vec::new();
    for server in servers {
        progress.now(format!("preparing {}", server.about.name));
        let Some(session) = &mut server.session else {
            fixed.push((0, 0));
            continue;
        };
        for case in cases {
            if let Err(failure) = session.prepare(&case.work).await {
                progress
                    .line(&format!("{}: preparing {}: {failure}", server.about.name, case.name));
            }
        }
        let put = session.bytes_put.get();
        session.close_others();
        fixed.push((server.disk_used(), put));
    }
    fixed
}

struct Bench<'a> {
    options: &'a Options,
    data: &'a Path,
    progress: &'a Progress,
}

impl Bench<'_> {
    /// Measures one row at every target, round by round, beginning with another target each time.
    async fn row(&self, report: &mut Report, servers: &mut [Server], case: &Case) {
        let row = report.row(case.group, &case.name, RATE);
        row.curve.clone_from(&case.curve);
        row.note.clone_from(&case.note);
        for round in 0..self.options.rounds.min(case.rounds_max) {
            for place in 0..servers.len() {
                let place = (place + round) % servers.len();
                let name = servers[place].about.name.clone();
                if !interruption::came() {
                    self.progress.now(format!("{} at {name}", case.name));
                    let cell = row.cells.entry(name).or_default();
                    self.cell(servers, place, case, round, cell).await;
                }
                self.progress.step();
            }
        }
        let rates: Vec<String> = servers
            .iter()
            .filter_map(|server| {
                let rate = row.median(&server.about.name)?;
                let rate = Unit::OperationsPerSecond.format(rate);
                let errors = row.cells.get(&server.about.name).map_or(0, |cell| cell.errors);
                let errors = if errors > 0 { format!(" ✗{errors}") } else { String::new() };
                Some(format!("{} {rate}{errors}", server.about.name))
            })
            .collect();
        self.progress.line(&format!("{}: {}", case.name, rates.join(", ")));
    }

    /// Measures one row at one target in one round.
    async fn cell(
        &self,
        servers: &mut [Server],
        place: usize,
        case: &Case,
        round: usize,
        cell: &mut Cell,
    ) {
        let ended = servers[place].ended();
        let absent = servers[place].about.absent.clone().or(ended);
        if let Some(reason) = absent {
            cell.absent = Some(reason);
            return;
        }
        let pace = Pace {
            time: self.options.time,
            deletions: if self.options.extent.quick { 200 } else { 600 },
        };
        let (moment, known) = (Moment::now(), known_cpu(&*servers));
        let before = servers[place].usage();
        let Some(session) = &mut servers[place].session else { return };
        let driven = measure(session, case, round, pace).await;
        let used = servers[place].usage().cpu.saturating_sub(before.cpu);
        let known = known_cpu(&*servers).saturating_sub(known);
        let disturbance = moment.disturbance_since(Moment::now(), known);
        cell.disturbance = cell.disturbance.max(disturbance);
        let cpu = servers[place].is_ours().then_some(used.as_secs_f64());
        add_round(cell, case, driven, cpu);
        if case.work.writes() {
            // What this target has left to the kernel is not to be written in the next one's time.
            sync_file_system(self.data);
        }
    }
}

fn notes(report: &mut Report, options: &Options) {
    report.setting("rounds", options.rounds);
    report.setting("time of a row", format!("{:?} at each target in each round", options.time));
    report.setting(
        "bodies",
        match options.mode {
            PayloadMode::Signed => "signed by their SHA-256",
            PayloadMode::Unsigned => "not signed",
            PayloadMode::Streaming => "in signed chunks of 64 KiB",
        },
    );
    report.setting("seed", super::data::SEED);
    report.note_memory_file_system();
    report.notes.push(
        "Client and servers share the machine. All clients run on one thread, with a connection \
         each; bodies are compared byte by byte as they arrive, and the first, middle and last \
         object of every writing row are read back. After a row that writes, the file system is \
         synced outside the measured time."
            .to_owned(),
    );
    report.notes.push(WRITTEN_NOTE.to_owned());
}

/// What the client costs alone, against a server that does nothing.
async fn client_cost(
    report: &mut Report,
    progress: &Progress,
    mode: PayloadMode,
) -> Result<(), BenchError> {
    progress.now("measuring the client alone");
    let stock = super::data::Pool::new(1 << 20);
    for (bytes, shown) in [(1 << 10, "1 KB"), (1 << 20, "1 MB")] {
        let payloads = stock.payloads(bytes);
        payloads.compute_hashes(mode == PayloadMode::Streaming);
        let body = payloads.of(0);
        let server = EmptyServer::start(body.bytes.clone())?;
        let endpoint = Arc::new(Endpoint {
            host: server.address.to_string(),
            access_key: super::rival::ACCESS_KEY.to_owned(),
            secret_key: super::rival::SECRET_KEY.to_owned(),
            region: "us-east-1".to_owned(),
        });
        for (clients, reads) in [(1, true), (1, false), (16, true), (16, false)] {
            let connect = |_| Connection::new(Arc::clone(&endpoint), mode);
            let mut connections: Vec<Connection> = (0..clients).map(connect).collect();
            let limit = Limit {
                time: Duration::from_millis(300),
                operations_min: 20,
                operations_max: u64::MAX,
            };
            let before = thread_cpu();
            let mut driven = drive(&mut connections, limit, async |connection, _| {
                if reads {
                    connection.get("/bench/key", &body.bytes).await
                } else {
                    connection.put("/bench/key", body, &[]).await
                }
            })
            .await;
            let cpu = thread_cpu().saturating_sub(before);
            let operations = driven.samples.len().max(1) as f64;
            let line = format!(
                "The client alone, {} {shown} at {clients} connection{}: {} of its thread per request, \
                 median {}, at most {}.",
                if reads { "GET" } else { "PUT" },
                if clients == 1 { "" } else { "s" },
                Unit::Seconds.format(cpu.as_secs_f64() / operations),
                Unit::Nanoseconds.format(driven.samples.percentile(0.5).unwrap_or(0.0)),
                Unit::OperationsPerSecond.format(operations / driven.elapsed.as_secs_f64()),
            );
            progress.line(&line);
            report.notes.push(line);
        }
    }
    report.notes.push(hash_floor(&stock.payloads(1 << 20).of(0).bytes));
    Ok(())
}

/// How fast this machine computes the ETag: a server that computes it cannot take a body faster, and
/// one MD5 cannot be computed on two cores.
fn hash_floor(body: &[u8]) -> String {
    const TIMES: u32 = 32;
    let began = Instant::now();
    for _ in 0..TIMES {
        std::hint::black_box(Md5::digest(body));
    }
    let second = began.elapsed().as_secs_f64() / f64::from(TIMES) / body.len() as f64;
    format!(
        "MD5 on one core of this machine: {}. A body of 10 MB takes {} to hash, which is the least \
         that a server needs that computes the ETag, and at most {} of one client.",
        Unit::BytesPerSecond.format(1.0 / second),
        Unit::Seconds.format(second * f64::from(10 << 20)),
        Unit::OperationsPerSecond.format(1.0 / (second * f64::from(10 << 20)))
    )
}

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
