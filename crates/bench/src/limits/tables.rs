//! Commits to tables, and listings of many, through the Iceberg REST catalog.
//!
//! A commit writes a metadata file and moves the pointer of its table in one transaction, so the time of a PUT of a file of the
//! same size is the measure of it.

use std::path::Path;

use base64_simd::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::Method;

use super::fresh::{FILLERS, Fresh};
use super::rows::{COMMIT, COMMIT_PUT, LIST_TABLES};
use crate::client::{Connection, Expect, Limit, Payload, Request, drive};
use crate::run::{Failure, Phase};
use crate::s3::rival::Rival;
use crate::s3::session::BUCKET;

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
    let limit = Limit::count(MEASURED);
    // Each to another table, so that no log of metadata grows.
    let commits = drive(session.connections(1), limit, async |connection, number| {
        let table = format!("{path}/t{:06}", 1 + number as usize % (tables - 1));
        post(connection, &table, commit(number)).await.map(drop)
    });
    let mut phases = vec![commits.await.phase(COMMIT, None)];
    let puts = drive(session.connections(1), Limit::count(MEASURED), async |connection, number| {
        connection.put(&format!("/{BUCKET}/metadata/{number:05}.json"), &body, &[]).await
    });
    phases.push(puts.await.phase(COMMIT_PUT, None));
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

async fn post(connection: &mut Connection, path: &str, body: String) -> Result<String, Failure> {
    let body = Payload::new(Bytes::from(body));
    let answer = connection.send(Request::post(path, &body), &[200], Expect::Text).await?;
    Ok(answer.text)
}
