//! The servers of a run: started, filled, measured in rounds, stopped.

use std::path::Path;
use std::rc::Rc;

use super::body;
use super::fill::{Filling, Get, Query, queries};
use super::record::{add_failure, add_resources, add_round};
use super::rows::{Case, Work};
use super::work::{self, Clients};
use crate::busy::Moment;
use crate::error::BenchError;
use crate::interruption;
use crate::progress::Progress;
use crate::report::{Cell, Report, Unit, progress_line};
use crate::s3::client::Failure;
use crate::s3::data::Payload;
use crate::s3::server::{Server, known_cpu};
use crate::s3::session::Stock;
use crate::s3::sign::PayloadMode;
use crate::vector::data::{Distribution, Vectors};
use crate::vector::options::Options;
use crate::vector::search::questions::ExactSearch;
use crate::workplace::sync_file_system;

/// Measures all servers and adds them to the report.
///
/// # Errors
/// When this program cannot work. A server that does not is in the report instead.
pub fn run(
    report: &mut Report,
    options: &Options,
    cases: &[Case],
    data: &Path,
    progress: &Progress,
) -> Result<(), BenchError> {
    // One thread for all clients: a request costs no hand-over, and the server has the other cores.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut bench = Bench { options, data, progress, served: Vec::new() };
        bench.start().await;
        for case in cases.iter().filter(|case| case.work.indexed().is_none()) {
            bench.put_row(report, case).await;
        }
        for indexed in options.sizes.searched.iter().copied() {
            let cases: Vec<&Case> =
                cases.iter().filter(|case| case.work.indexed() == Some(indexed)).collect();
            if !cases.is_empty() && !interruption::came() {
                bench.indexed_rows(report, &cases, indexed).await;
            }
        }
        bench.stop(report).await;
    });
    report.notes.push(
        "Bodies for the servers are those of boto3: Python's JSON, its digits, Signature Version 4 for \
         s3vectors. They are made and hashed before they are sent. Client and servers share the \
         machine; all clients run on one thread."
            .to_owned(),
    );
    Ok(())
}

/// A server with its clients, if it answers.
struct Served {
    server: Server,
    clients: Result<Clients, String>,
}

struct Bench<'a> {
    options: &'a Options,
    data: &'a Path,
    progress: &'a Progress,
    served: Vec<Served>,
}

/// What the rows of an index need.
struct Index {
    queries: Vec<Query>,
    gets: Vec<Get>,
}

impl Bench<'_> {
    async fn start(&mut self) {
        // Enough to see that a server is ready.
        let stock = Rc::new(Stock::new([], PayloadMode::Signed));
        for planned in &self.options.servers {
            self.progress.now(format!("starting {}", planned.name()));
            let server = Server::start(planned, self.data, PayloadMode::Signed, &stock).await;
            let clients = match (&server.session, &server.about.absent) {
                (Some(session), _) => {
                    let mut clients = Clients::new(session.endpoint());
                    let made = clients.tell("CreateVectorBucket", &body::create_bucket()).await;
                    made.map(|()| clients).map_err(|failure| failure.to_string())
                }
                (None, reason) => Err(reason.clone().unwrap_or_else(|| "no answer".to_owned())),
            };
            self.served.push(Served { server, clients });
        }
    }

    async fn stop(&mut self, report: &mut Report) {
        for mut served in self.served.drain(..) {
            if let Ok(clients) = &mut served.clients {
                // A server that runs on is left as it was, as far as it lets itself.
                let _ = clients.tell("DeleteVectorBucket", &body::delete_bucket()).await;
            }
            let mut target = served.server.about.clone();
            if let Err(reason) = &served.clients {
                target.absent = Some(reason.clone());
            } else if served.server.is_ours() {
                add_resources(&mut target, &served.server, served.server.usage());
            }
            report.targets.push(target);
            served.server.stop().await;
        }
    }

    async fn put_row(&mut self, report: &mut Report, case: &Case) {
        let Work::Put { requests, vectors } = case.work else { return };
        if interruption::came() {
            return;
        }
        self.progress.now(format!("making the bodies, {}", case.name));
        let mut filling = Filling::new(self.options.seed, requests * vectors, vectors);
        let bodies: Vec<Payload> = std::iter::from_fn(|| filling.next(|_, _| ())).collect();
        let gets = filling.gets();
        let bytes = bodies.first().map_or(0, |body| body.bytes.len());
        if let Ok(driven) = work::put_to_nobody(case, &bodies).await {
            let count = driven.samples.len() as f64 * f64::from(vectors);
            report.notes.push(format!(
                "The client alone, {}: at most {} vectors per second, in bodies of {}.",
                case.name,
                Unit::Count.format((count / driven.elapsed.as_secs_f64()).round()),
                Unit::Bytes.format(bytes as f64)
            ));
        }
        self.row(report, case, async |clients| {
            work::put(clients, case, &bodies, &gets).await.map(|driven| (driven, None))
        })
        .await;
    }

    /// Fills an index at every target, and measures what is asked of it.
    async fn indexed_rows(&mut self, report: &mut Report, cases: &[&Case], indexed: u32) {
        let index = self.fill(indexed).await;
        let time = self.options.time;
        for case in cases {
            self.row(report, case, async |clients| match case.work {
                Work::Get { .. } => {
                    work::get(clients, case, &index.gets, time).await.map(|driven| (driven, None))
                }
                _ => {
                    let (driven, recall) = work::query(clients, case, &index.queries, time).await?;
                    Ok((driven, Some(recall)))
                }
            })
            .await;
        }
        for served in &mut self.served {
            if let Ok(clients) = &mut served.clients
                && let Err(failure) = clients.tell("DeleteIndex", &body::delete_index()).await
            {
                served.clients = Err(failure.to_string());
            }
        }
    }

    async fn fill(&mut self, indexed: u32) -> Index {
        let Options { seed, sizes, .. } = self.options;
        let asked = Vectors::asked(Distribution::Clustered, *seed).take(sizes.queries as usize);
        let mut exact = ExactSearch::new(&asked);
        let mut filling = Filling::new(*seed, indexed, sizes.put_vectors);
        for served in &mut self.served {
            served.tell("CreateIndex", &body::create_index()).await;
        }
        self.progress.now(format!("putting {indexed} vectors"));
        while let Some(body) = filling.next(|first, vectors| exact.look_at(first, vectors))
            && !interruption::came()
        {
            for served in &mut self.served {
                served.tell("PutVectors", &body).await;
            }
        }
        sync_file_system(self.data);
        Index { queries: queries(&asked, &exact), gets: filling.gets() }
    }

    /// Measures one row at every target, round by round, beginning with another target each time.
    async fn row(
        &mut self,
        report: &mut Report,
        case: &Case,
        measure: impl AsyncFn(&mut Clients) -> Result<(crate::s3::drive::Driven, Option<f64>), Failure>,
    ) {
        let row = report.row(&case.group, &case.name, case.work.metric());
        row.curve = case.curve();
        row.note = Some(case.note());
        for round in 0..self.options.rounds {
            for place in 0..self.served.len() {
                if interruption::came() {
                    return;
                }
                let place = (place + round) % self.served.len();
                let name = self.served[place].server.about.name.clone();
                self.progress.now(format!("{} at {name}", case.name));
                let cell = row.cells.entry(name).or_default();
                self.cell(place, case, cell, &measure).await;
                self.progress.step();
            }
        }
        let row = row.clone();
        self.progress.line(&progress_line(report, &row));
    }

    async fn cell(
        &mut self,
        place: usize,
        case: &Case,
        cell: &mut Cell,
        measure: impl AsyncFn(&mut Clients) -> Result<(crate::s3::drive::Driven, Option<f64>), Failure>,
    ) {
        let servers = || self.served.iter().map(|served| &served.server);
        let (moment, known) = (Moment::now(), known_cpu(servers()));
        let before = self.served[place].server.usage();
        let served = &mut self.served[place];
        let clients = match &mut served.clients {
            Ok(clients) => clients,
            Err(reason) => {
                cell.absent = Some(reason.clone());
                return;
            }
        };
        match measure(clients).await {
            Ok((driven, recall)) => {
                let used = served.server.usage().cpu.saturating_sub(before.cpu);
                let cpu = served.server.is_ours().then_some(used.as_secs_f64());
                add_round(cell, case, driven, recall, cpu);
            }
            Err(failure) => {
                let ended = served.server.ended();
                add_failure(cell, ended.unwrap_or_else(|| failure.to_string()));
            }
        }
        let servers = self.served.iter().map(|served| &served.server);
        let known = known_cpu(servers).saturating_sub(known);
        cell.disturbance = cell.disturbance.max(moment.disturbance_since(Moment::now(), known));
        // What this target has left to the kernel is not to be written in the next one's time.
        sync_file_system(self.data);
    }
}

impl Served {
    /// Calls an operation without which nothing else makes sense.
    async fn tell(&mut self, operation: &str, body: &Payload) {
        if let Ok(clients) = &mut self.clients
            && let Err(failure) = clients.tell(operation, body).await
        {
            self.clients = Err(failure.to_string());
        }
    }
}
