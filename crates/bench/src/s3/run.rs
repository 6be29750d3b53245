//! A whole run: start, measure in rounds, stop, report.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use md5::{Digest as _, Md5};

use super::case::{Case, ROW, Work, jobs};
use super::options::Options;
use super::rival::endpoint;
use super::server::Server;
use super::work::{Pace, measure};
use crate::client::empty::EmptyServer;
use crate::client::sign::Service;
use crate::client::{Connection, Limit, PayloadMode, Stock, drive};
use crate::error::BenchError;
use crate::process::usage::WRITTEN_NOTE;
use crate::random::SEED;
use crate::report::{Report, Target, Unit};
use crate::run::job::filtered;
use crate::run::metrics::THROUGHPUT;
use crate::run::{Bench, Job, Outcome, Subject, block_on, turns};

/// Runs the benchmark on this thread and returns its report.
///
/// # Errors
/// [`BenchError`] if nothing can be measured. A target that does not work is in the report instead.
pub fn run(options: &Options) -> Result<Report, BenchError> {
    block_on(run_all(options))
}

async fn run_all(options: &Options) -> Result<Report, BenchError> {
    let planned = options.targets()?;
    let mut jobs = filtered(jobs(options.run.quick, options.large), &options.run.row_filter());
    let objects_max = options.objects_max.unwrap_or(usize::MAX);
    jobs.iter_mut().for_each(|job| job.work.work = job.work.work.with_at_most(objects_max));
    let jobs = &jobs;
    let (time, mode) = (options.run.time(options.time), options.payload);
    let turns = turns(jobs, &options.run, |_| planned.len());
    let mut bench = Bench::begin("S3", &options.run, turns)?;
    let sizes = jobs.iter().map(|job| job.work.work.bytes_max());
    let stock = Rc::new(Stock::new(sizes, mode));
    notes(&mut bench.report, time, mode);
    client_cost(&mut bench, mode, time).await?;
    let pace = Pace { time, deletions: if options.run.quick { 200 } else { 600 } };
    let mut targets = Vec::new();
    for planned in &planned {
        let server = Server::start(planned, bench.data(), mode, &stock, &bench.progress).await;
        targets.push(S3Target { server, pace, fixed: (0, 0) });
    }
    bench.baseline(&targets, &[options.baseline.as_deref(), Some("minio")]);
    for target in &mut targets {
        target.prepare(jobs, &bench).await;
    }
    for job in jobs {
        bench.job(&mut targets, job).await;
    }
    let mut stopped = Vec::new();
    for target in targets {
        stopped.push(target.stop().await);
    }
    Ok(bench.finish(stopped))
}

/// A server as a subject for the rows of S3.
struct S3Target {
    server: Server,
    pace: Pace,
    /// Disk space of the fixed objects, and the length of their bodies.
    fixed: (u64, u64),
}

impl S3Target {
    /// Puts all fixed objects.
    async fn prepare(&mut self, jobs: &[Job<Case>], bench: &Bench) {
        let name = &self.server.target.name;
        let Some(session) = &mut self.server.session else { return };
        bench.progress.now(format!("preparing {name}"));
        for job in jobs {
            if let Err(failure) = session.prepare(job.work.work).await {
                let row = &job.rows[0].name;
                bench.progress.line(&format!("{name}: preparing {row}: {failure}"));
            }
        }
        let put = session.bytes_put.get();
        session.close_others();
        self.fixed = (self.server.disk_used(), put);
    }

    async fn stop(self) -> Target {
        let put = self.server.session.as_ref().map_or(0, |session| session.bytes_put.get());
        let is_ours = self.server.is_ours() && self.server.session.is_some();
        let mut target = self.server.stop().await;
        if is_ours {
            let (disk, bodies) = (self.fixed.0 as f64, self.fixed.1.max(1) as f64);
            let written = target.resources.get("disk_written").copied().unwrap_or_default();
            target.resources.extend([
                ("disk_fixed".to_owned(), disk),
                ("disk_fixed_factor".to_owned(), disk / bodies),
                ("disk_written_factor".to_owned(), written / put.max(1) as f64),
            ]);
        }
        target
    }
}

impl Subject for S3Target {
    type Work = Case;

    fn target(&self) -> &Target {
        &self.server.target
    }

    fn cpu(&self) -> Duration {
        self.server.usage().cpu
    }

    async fn measure(&mut self, job: &Job<Case>, round: usize) -> Option<Outcome> {
        if let Some(ended) = self.server.ended() {
            return Some(Outcome::absent(ended));
        }
        let session = self.server.session.as_mut()?;
        if job.work.work.is_encrypted()
            && let Err(reason) = session.encrypts().await
        {
            return Some(Outcome::absent(reason));
        }
        if matches!(job.work.work, Work::GetCold { .. }) && !self.server.is_ours() {
            return Some(Outcome::absent("its directory is not known"));
        }
        let before = self.server.usage().cpu;
        let driven = measure(self.server.session.as_mut()?, &job.work, round, self.pace).await;
        let rate = driven.rate();
        let mut phase = driven.phase(ROW, self.server.cpu_since(before));
        let moved = job.work.work.bytes_moved();
        // Below this, throughput says no more than operations per second.
        if moved >= 64 << 10 {
            phase.value(THROUGHPUT, rate * moved as f64);
        }
        Some(phase.into())
    }
}

fn notes(report: &mut Report, time: Duration, mode: PayloadMode) {
    report.setting("time of a row", format!("{time:?} at each target in each round"));
    report.setting(
        "bodies",
        match mode {
            PayloadMode::Signed => "signed by their SHA-256",
            PayloadMode::Unsigned => "not signed",
            PayloadMode::Streaming => "in signed chunks of 64 KiB",
        },
    );
    report.setting("seed", SEED);
    report.notes.push(
        "Client and servers share the machine. All clients run on one thread, with a connection \
         each; bodies are compared byte by byte as they arrive, and the first, middle and last \
         object of every writing row are read back. After a row that writes, the file system is \
         synced outside the measured time."
            .to_owned(),
    );
    report.notes.push(WRITTEN_NOTE.to_owned());
}

/// Measures the cost of the client alone, against a server that does nothing, for at most `time` a line.
async fn client_cost(
    bench: &mut Bench,
    mode: PayloadMode,
    time: Duration,
) -> Result<(), BenchError> {
    bench.progress.now("measuring the client alone");
    let stock = Stock::new([1 << 10, 1 << 20], mode);
    for (bytes, shown) in [(1 << 10, "1 KB"), (1 << 20, "1 MB")] {
        let payloads = stock.of(bytes);
        let body = payloads.of(0);
        let server = EmptyServer::start(body.bytes.clone())?;
        let endpoint = Arc::new(endpoint(server.address.to_string()));
        for (clients, reads) in [(1, true), (1, false), (16, true), (16, false)] {
            let connect = |_| Connection::new(Arc::clone(&endpoint), mode, Service::S3);
            let mut connections: Vec<Connection> = (0..clients).map(connect).collect();
            let limit = Limit {
                time: time.min(Duration::from_millis(300)),
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
                Unit::OperationsPerSecond.format(driven.rate()),
            );
            bench.progress.line(&line);
            bench.report.notes.push(line);
        }
    }
    bench.report.notes.push(hash_floor(&stock.of(1 << 20).of(0).bytes));
    Ok(())
}

/// The speed at which this machine computes an ETag. A server that computes it cannot receive a
/// body faster, because one MD5 uses one core only.
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
