//! The servers of a run: started, filled, measured in rounds, stopped.

use std::rc::Rc;
use std::time::Duration;

use super::api::tell;
use super::body;
use super::fill::{Filling, queries};
use super::rows::{Case, Work};
use super::work::{self, Bodies};
use crate::client::sign::Service;
use crate::client::{Payload, PayloadMode, Stock};
use crate::random::SEED;
use crate::report::{Target, Unit};
use crate::run::metrics::{RECALL, VECTORS};
use crate::run::workplace::sync_file_system;
use crate::run::{Bench, Failure, Job, Outcome, Subject, interruption};
use crate::s3::case::ROW;
use crate::s3::options::Planned;
use crate::s3::server::Server;
use crate::s3::session::Session;
use crate::vector::data::{DIMENSION, Distribution, Vectors};
use crate::vector::rows::Sizes;
use crate::vector::search::questions::ExactSearch;

/// Measures all servers, adds their rows to the report, and returns them. A server that does not
/// work is in the report, too.
pub(crate) async fn run(
    bench: &mut Bench,
    servers: &[Planned],
    sizes: &Sizes,
    time: Duration,
    jobs: &[Job<Case>],
) -> Vec<Target> {
    // No bodies: enough to see that a server is ready.
    let stock = Rc::new(Stock::new([], PayloadMode::Signed));
    let mut targets = Vec::new();
    for planned in servers {
        let mode = PayloadMode::Signed;
        let server = Server::start(planned, bench.data(), mode, &stock, &bench.progress).await;
        let mut target = VectorTarget { server, bodies: Rc::default(), time };
        if let Some(session) = &mut target.server.session {
            session.speak(Service::S3Vectors);
        }
        target.tell("CreateVectorBucket", &body::create_bucket()).await;
        targets.push(target);
    }
    for job in jobs.iter().filter(|job| job.work.work.indexed().is_none()) {
        put_row(bench, &mut targets, job).await;
    }
    for indexed in sizes.searched.iter().copied() {
        let jobs = jobs.iter().filter(|job| job.work.work.indexed() == Some(indexed));
        let jobs: Vec<&Job<Case>> = jobs.collect();
        if jobs.is_empty() || interruption::came() {
            continue;
        }
        fill(bench, sizes, &mut targets, indexed).await;
        for job in jobs {
            bench.job(&mut targets, job).await;
        }
        for target in &mut targets {
            target.tell("DeleteIndex", &body::delete_index()).await;
        }
    }
    let mut stopped = Vec::new();
    for mut target in targets {
        // A server that keeps running is left as it was, as far as possible.
        if let Some(session) = &mut target.server.session {
            let delete = body::delete_bucket();
            let _ = tell(&mut session.connections(1)[0], "DeleteVectorBucket", &delete).await;
        }
        stopped.push(target.server.stop().await);
    }
    bench.report.notes.push(
        "Bodies for the servers are as boto3 sends them: Python's JSON, its digits, Signature Version 4 for \
         s3vectors. They are made and hashed before they are sent. Client and servers share the \
         machine; all clients run on one thread."
            .to_owned(),
    );
    stopped
}

async fn put_row(bench: &mut Bench, targets: &mut [VectorTarget], job: &Job<Case>) {
    let Work::Put { requests, vectors } = job.work.work else { return };
    if interruption::came() {
        return;
    }
    let name = &job.rows[0].name;
    bench.progress.now(format!("making the bodies, {name}"));
    let mut filling = Filling::new(requests * vectors, vectors);
    let puts: Vec<Payload> = std::iter::from_fn(|| filling.next(|_, _| ())).collect();
    let bytes = puts.first().map_or(0, |body| body.bytes.len());
    if let Ok(driven) = work::put_to_nobody(job.work.clients, &puts).await {
        bench.report.notes.push(format!(
            "The client alone, {name}: at most {} vectors per second, in bodies of {}.",
            Unit::Count.format((driven.rate() * f64::from(vectors)).round()),
            Unit::Bytes.format(bytes as f64)
        ));
    }
    let bodies = Rc::new(Bodies { puts, gets: filling.gets, queries: Vec::new() });
    targets.iter_mut().for_each(|target| target.bodies = Rc::clone(&bodies));
    bench.job(targets, job).await;
}

/// Fills an index at every target, and makes its requests.
async fn fill(bench: &Bench, sizes: &Sizes, targets: &mut [VectorTarget], indexed: u32) {
    let asked = Vectors::asked(Distribution::Clustered, SEED).take(sizes.queries as usize);
    let mut exact = ExactSearch::new(&asked, DIMENSION);
    let mut filling = Filling::new(indexed, sizes.put_vectors);
    for target in &mut *targets {
        target.tell("CreateIndex", &body::create_index()).await;
    }
    bench.progress.now(format!("putting {indexed} vectors"));
    while let Some(body) = filling.next(|first, vectors| exact.look_at(first, vectors))
        && !interruption::came()
    {
        for target in &mut *targets {
            target.tell("PutVectors", &body).await;
        }
    }
    sync_file_system(bench.data());
    let queries = queries(&asked, &exact);
    let bodies = Rc::new(Bodies { puts: Vec::new(), gets: filling.gets, queries });
    targets.iter_mut().for_each(|target| target.bodies = Rc::clone(&bodies));
}

/// A server as a subject for the rows of S3 Vectors.
struct VectorTarget {
    server: Server,
    bodies: Rc<Bodies>,
    time: Duration,
}

impl VectorTarget {
    /// Calls an operation on which all others depend: a failure ends the target.
    async fn tell(&mut self, operation: &str, body: &Payload) {
        if self.server.target.absent.is_some() {
            return;
        }
        if let Some(session) = &mut self.server.session
            && let Err(failure) = tell(&mut session.connections(1)[0], operation, body).await
        {
            self.server.target.absent = Some(failure.to_string());
        }
    }

    async fn done(&mut self, case: &Case) -> Result<Outcome, Failure> {
        let before = self.server.usage().cpu;
        let (bodies, time) = (Rc::clone(&self.bodies), self.time);
        let session: &mut Session = self.server.session.as_mut().ok_or("no answer")?;
        let mut recall = None;
        let driven = match case.work {
            Work::Put { .. } => work::put(session, case.clients, &bodies).await?,
            Work::Get { .. } => work::get(session, case.clients, &bodies, time).await?,
            Work::Query { .. } => {
                let (driven, share) = work::query(session, case.clients, &bodies, time).await?;
                recall = Some(share);
                driven
            }
        };
        session.close_others();
        let rate = driven.rate();
        let mut phase = driven.phase(ROW, self.server.cpu_since(before));
        if let Work::Put { vectors, .. } = case.work {
            phase.value(VECTORS, rate * f64::from(vectors));
        }
        if let Some(recall) = recall {
            phase.value(RECALL, recall);
        }
        Ok(phase.into())
    }
}

impl Subject for VectorTarget {
    type Work = Case;

    fn target(&self) -> &Target {
        &self.server.target
    }

    fn cpu(&self) -> Duration {
        self.server.usage().cpu
    }

    async fn measure(&mut self, job: &Job<Case>, _: usize) -> Option<Outcome> {
        match self.done(&job.work).await {
            Ok(outcome) => Some(outcome),
            Err(failure) => {
                Some(Outcome::failed(self.server.ended().unwrap_or_else(|| failure.to_string())))
            }
        }
    }
}
