//! Commits to tables, and listings of many, through the Iceberg REST catalog.
//!
//! A commit writes a metadata file and moves the pointer of its table in one transaction, so the time of a PUT of a file of the
//! same size is the measure of it. They are sent in turn, so that a slow minute of the device hits both.

use std::path::Path;
use std::time::{Duration, Instant};

use base64_simd::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::Method;

use super::fresh::{FILLERS, Fresh};
use super::rows::{COMMIT, COMMIT_FACTOR, COMMIT_PUT, LIST_TABLES};
use crate::client::{Connection, Expect, Limit, Payload, Request, drive};
use crate::run::metrics::PUT_FACTOR;
use crate::run::{Failure, Phase};
use crate::s3::rival::Rival;
use crate::s3::session::BUCKET;
use crate::samples::Samples;

/// Number of measured commits, PUTs and pages.
const MEASURED: u64 = 400;
/// Tables on a page.
const PAGE: usize = 1_000;

/// Makes tables in a namespace, and measures.
pub(super) async fn measure(
    rival: &Rival,
    directory: &Path,
    tables: usize,
) -> Result<Vec<Phase>, Failure> {
    let fresh = Fresh::start(rival, directory).await?;
    let mut session = fresh.session().await?;
    let namespaces = format!("/_iceberg/v1/{BUCKET}/namespaces");
    post(&mut session.connections(1)[0], &namespaces, r#"{"namespace":["n"]}"#.to_owned()).await?;
    let path = format!("{namespaces}/n/tables");
    let create = |number: u64| {
        format!(
            r#"{{"name":"t{number:06}","schema":{{"type":"struct","fields":[
                {{"id":1,"name":"id","type":"long","required":true}},
                {{"id":2,"name":"note","type":"string","required":false}}]}}}}"#
        )
    };
    let limit = Limit::count(tables as u64);
    let filling = drive(session.connections(FILLERS), limit, async |connection, number| {
        post(connection, &path, create(number)).await.map(drop)
    });
    filling.await.first_failure()?;

    // The metadata of a table after its first commit, which have one entry in their log.
    let commit = |number: u64| {
        format!(
            r#"{{"requirements":[],"updates":[{{"action":"set-properties","updates":{{"commit":"{number}"}}}}]}}"#
        )
    };
    let first = format!("{path}/t000000");
    let answer = post(&mut session.connections(1)[0], &first, commit(0)).await?;
    let metadata = answer.find("\"metadata\":").map_or(0, |at| answer.len() - at);
    let body = Payload::new(Bytes::from(vec![b' '; metadata]));
    let (mut commits, mut puts) = (Timed::default(), Timed::default());
    for number in 0..MEASURED {
        let connection = &mut session.connections(1)[0];
        // Each to another table, so that no log of metadata grows.
        let table = format!("{path}/t{:06}", 1 + number as usize % (tables - 1));
        commits.time(post(connection, &table, commit(number))).await?;
        let key = format!("/{BUCKET}/metadata/{number:05}.json");
        puts.time(connection.put(&key, &body, &[])).await?;
    }
    let mut factor = Phase::new(COMMIT_FACTOR);
    factor.add(MEASURED, commits.elapsed);
    factor.value(PUT_FACTOR, commits.median_ns() / puts.median_ns());
    let mut phases = vec![commits.phase(COMMIT), puts.phase(COMMIT_PUT), factor];
    let page = PAGE.min(tables / 2);
    let listing =
        drive(session.connections(1), Limit::count(MEASURED), async |connection, number| {
            // The token of a page of this server is the name before it.
            let after = format!("t{:06}", (number as usize * 997) % (tables - page));
            let token = URL_SAFE_NO_PAD.encode_to_string(after);
            let query = format!("pageSize={page}&pageToken={token}");
            let request = Request { query: &query, ..Request::new(Method::GET, &path) };
            let answer = connection.send(request, &[200], Expect::Text).await?;
            match answer.text.matches("\"name\"").count() {
                found if found == page => Ok(()),
                found => Err(format!("{found} tables instead of {page}").into()),
            }
        });
    phases.push(listing.await.phase(LIST_TABLES, None));
    Ok(phases)
}

/// The times of operations that take turns with others.
#[derive(Default)]
struct Timed {
    samples: Samples,
    elapsed: Duration,
}

impl Timed {
    async fn time<T>(
        &mut self,
        operation: impl Future<Output = Result<T, Failure>>,
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        operation.await?;
        let elapsed = begun.elapsed();
        self.samples.record(elapsed);
        self.elapsed += elapsed;
        Ok(())
    }

    fn median_ns(&mut self) -> f64 {
        self.samples.percentile(0.5).unwrap_or_default()
    }

    fn phase(self, id: &str) -> Phase {
        let mut phase = Phase::new(id);
        phase.add(self.samples.len() as u64, self.elapsed);
        phase.percentiles(self.samples);
        phase
    }
}

async fn post(connection: &mut Connection, path: &str, body: String) -> Result<String, Failure> {
    let body = Payload::new(Bytes::from(body));
    let answer = connection.send(Request::post(path, &body), &[200], Expect::Text).await?;
    Ok(answer.text)
}
