//! One row at one target in one round.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::api::{call, found, got, tell};
use super::body;
use super::fill::{Get, Query};
use crate::client::empty::EmptyServer;
use crate::client::sign::Service;
use crate::client::{Connection, Driven, Expect, Limit, Payload, PayloadMode, drive};
use crate::run::Failure;
use crate::s3::rival::endpoint;
use crate::s3::session::Session;
use crate::vector::search::work::{hits, judge};

/// Largest allowed difference of a distance from the exact one.
const DISTANCE_TOLERANCE: f32 = 1e-4;
/// Minimum of measured requests, even if they are slow.
const REQUESTS_MIN: u64 = 5;

/// Requests of rows, with their answers.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    pub(super) puts: Vec<Payload>,
    pub(super) gets: Vec<Get>,
    pub(super) queries: Vec<Query>,
}

/// Puts all bodies to a server that does nothing. No server can be measured faster than this.
pub(super) async fn put_to_nobody(
    clients: usize,
    bodies: &[Payload],
) -> Result<Driven, std::io::Error> {
    let server = EmptyServer::start(Bytes::new())?;
    let endpoint = Arc::new(endpoint(server.address.to_string()));
    let connect =
        |_| Connection::new(Arc::clone(&endpoint), PayloadMode::Signed, Service::S3Vectors);
    let mut connections: Vec<Connection> = (0..clients).map(connect).collect();
    Ok(put_all(&mut connections, bodies).await)
}

async fn put_all(connections: &mut [Connection], bodies: &[Payload]) -> Driven {
    drive(connections, Limit::count(bodies.len() as u64), async |connection, number| {
        tell(connection, "PutVectors", &bodies[number as usize]).await
    })
    .await
}

/// Puts all bodies into a new index, and removes it.
pub(super) async fn put(
    session: &mut Session,
    clients: usize,
    bodies: &Bodies,
) -> Result<Driven, Failure> {
    tell(&mut session.connections(1)[0], "CreateIndex", &body::create_index()).await?;
    let mut driven = put_all(session.connections(clients), &bodies.puts).await;
    let connection = &mut session.connections(1)[0];
    if driven.errors == 0
        && let Some(get) = bodies.gets.first()
        && let Err(failure) = check(connection, get).await
    {
        driven.fail(failure);
    }
    tell(connection, "DeleteIndex", &body::delete_index()).await?;
    Ok(driven)
}

/// Queries. Their answers are compared with the exact ones. Returns the share of the exact
/// neighbours that were found.
pub(super) async fn query(
    session: &mut Session,
    clients: usize,
    bodies: &Bodies,
    time: Duration,
) -> Result<(Driven, f64), Failure> {
    // Each query once before the measurement: the first search makes derived data.
    let queries = &bodies.queries;
    for query in queries.iter().take(10) {
        tell(&mut session.connections(1)[0], "QueryVectors", &query.body).await?;
    }
    let (hit, wanted) = (Cell::new(0_u64), Cell::new(0_u64));
    let limit = Limit { time, operations_min: REQUESTS_MIN, operations_max: u64::MAX };
    let driven = drive(session.connections(clients), limit, async |connection, number| {
        let query = &queries[number as usize % queries.len()];
        let answer = call(connection, "QueryVectors", &query.body, Expect::Text).await?;
        let near = found(&answer)?;
        hit.set(hit.get() + u64::from(hits(&near, &query.nearest)));
        wanted.set(wanted.get() + query.nearest.len() as u64);
        judge(&near, &query.nearest, 1, DISTANCE_TOLERANCE)
            .map_err(|wrong| format!("QueryVectors: {wrong}").into())
    })
    .await;
    Ok((driven, hit.get() as f64 / wanted.get().max(1) as f64))
}

/// Gets vectors. The first answer to each request is compared with the vectors put, and the other
/// answers byte by byte with the first.
pub(super) async fn get(
    session: &mut Session,
    clients: usize,
    bodies: &Bodies,
    time: Duration,
) -> Result<Driven, Failure> {
    let mut answers = Vec::new();
    let gets = &bodies.gets;
    for get in gets {
        answers.push(check(&mut session.connections(1)[0], get).await?);
    }
    let limit = Limit { time, operations_min: REQUESTS_MIN, operations_max: u64::MAX };
    let driven = drive(session.connections(clients), limit, async |connection, number| {
        let place = number as usize % gets.len();
        let expect = Expect::Exactly(answers[place].as_bytes());
        call(connection, "GetVectors", &gets[place].body, expect).await.map(drop)
    });
    Ok(driven.await)
}

/// Gets vectors, compares them with the vectors put, and returns the answer.
async fn check(connection: &mut Connection, get: &Get) -> Result<String, Failure> {
    let answer = call(connection, "GetVectors", &get.body, Expect::Text).await?;
    let vectors = got(&answer)?;
    if vectors.len() != get.expected.len() {
        let (found, expected) = (vectors.len(), get.expected.len());
        return Err(format!("GetVectors: {found} vectors instead of {expected}").into());
    }
    for (number, vector) in vectors {
        if get.expected.get(&number) != Some(&vector) {
            return Err(format!("GetVectors: vector {number} is not the one that was put").into());
        }
    }
    Ok(answer)
}
