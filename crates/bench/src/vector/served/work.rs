//! One row at one target in one round.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::api::{call, found, got, tell};
use super::body;
use super::fill::{Get, Query};
use super::rows::Case;
use crate::s3::client::{Connection, Endpoint, Expect, Failure};
use crate::s3::data::Payload;
use crate::s3::drive::{Driven, Limit, drive};
use crate::s3::empty::EmptyServer;
use crate::s3::rival::{ACCESS_KEY, SECRET_KEY};
use crate::vector::search::work::{hits, judge};

/// How far a distance may be from the exact one.
const DISTANCE_TOLERANCE: f32 = 1e-4;
/// Even slow requests are measured so often.
const REQUESTS_MIN: u64 = 5;

/// The clients of a target.
#[derive(Debug)]
pub(super) struct Clients {
    endpoint: Arc<Endpoint>,
    connections: Vec<Connection>,
}

impl Clients {
    pub(super) fn new(endpoint: Arc<Endpoint>) -> Clients {
        Clients { endpoint, connections: Vec::new() }
    }

    /// So many connections and no more: an idle one would be a client of another row.
    pub(super) fn connections(&mut self, count: usize) -> &mut [Connection] {
        self.connections.truncate(count);
        while self.connections.len() < count {
            self.connections.push(Connection::of_vectors(Arc::clone(&self.endpoint)));
        }
        &mut self.connections
    }

    /// Calls an operation that is not measured.
    pub(super) async fn tell(&mut self, operation: &str, body: &Payload) -> Result<(), Failure> {
        tell(&mut self.connections(1)[0], operation, body).await
    }
}

/// Puts all bodies to a server that does nothing: faster than this nobody can be measured.
pub(super) async fn put_to_nobody(
    case: &Case,
    bodies: &[Payload],
) -> Result<Driven, std::io::Error> {
    let server = EmptyServer::start(Bytes::new())?;
    let endpoint = Endpoint {
        host: server.address.to_string(),
        access_key: ACCESS_KEY.to_owned(),
        secret_key: SECRET_KEY.to_owned(),
        region: "us-east-1".to_owned(),
    };
    let mut clients = Clients::new(Arc::new(endpoint));
    let limit = Limit::count(bodies.len() as u64);
    let driven = drive(clients.connections(case.clients), limit, async |connection, number| {
        tell(connection, "PutVectors", &bodies[number as usize]).await
    });
    Ok(driven.await)
}

/// Puts all bodies into a new index, and removes it.
pub(super) async fn put(
    clients: &mut Clients,
    case: &Case,
    bodies: &[Payload],
    gets: &[Get],
) -> Result<Driven, Failure> {
    clients.tell("CreateIndex", &body::create_index()).await?;
    let limit = Limit::count(bodies.len() as u64);
    let mut driven = drive(clients.connections(case.clients), limit, async |connection, number| {
        tell(connection, "PutVectors", &bodies[number as usize]).await
    })
    .await;
    if driven.errors == 0
        && let Some(get) = gets.first()
        && let Err(failure) = check(&mut clients.connections(1)[0], get).await
    {
        driven.fail(failure);
    }
    clients.tell("DeleteIndex", &body::delete_index()).await?;
    Ok(driven)
}

/// Queries, whose answers are compared with the exact ones. Returns the share of the exact neighbours
/// that were found as well.
pub(super) async fn query(
    clients: &mut Clients,
    case: &Case,
    queries: &[Query],
    time: Duration,
) -> Result<(Driven, f64), Failure> {
    // Each once without being measured: the first search makes what it needs.
    for query in queries.iter().take(10) {
        clients.tell("QueryVectors", &query.body).await?;
    }
    let (hit, wanted) = (Cell::new(0_u64), Cell::new(0_u64));
    let limit = Limit { time, operations_min: REQUESTS_MIN, operations_max: u64::MAX };
    let driven = drive(clients.connections(case.clients), limit, async |connection, number| {
        let query = &queries[number as usize % queries.len()];
        let answer = call(connection, "QueryVectors", &query.body, Expect::Text).await?;
        let near = found(&answer)?;
        hit.set(hit.get() + u64::from(hits(&near, &query.nearest)));
        wanted.set(wanted.get() + query.nearest.len() as u64);
        judge(&near, &query.nearest, 1, DISTANCE_TOLERANCE)
            .map_err(|wrong| Failure(format!("QueryVectors: {wrong}")))
    })
    .await;
    Ok((driven, hit.get() as f64 / wanted.get().max(1) as f64))
}

/// Gets vectors. The first answer to each request is compared with what was put, the others, byte by
/// byte, with the first.
pub(super) async fn get(
    clients: &mut Clients,
    case: &Case,
    gets: &[Get],
    time: Duration,
) -> Result<Driven, Failure> {
    let mut answers = Vec::new();
    for get in gets {
        answers.push(check(&mut clients.connections(1)[0], get).await?);
    }
    let limit = Limit { time, operations_min: REQUESTS_MIN, operations_max: u64::MAX };
    let driven = drive(clients.connections(case.clients), limit, async |connection, number| {
        let place = number as usize % gets.len();
        let expect = Expect::Exactly(answers[place].as_bytes());
        call(connection, "GetVectors", &gets[place].body, expect).await.map(drop)
    });
    Ok(driven.await)
}

/// Gets vectors and compares them with what was put. Returns the answer.
async fn check(connection: &mut Connection, get: &Get) -> Result<String, Failure> {
    let answer = call(connection, "GetVectors", &get.body, Expect::Text).await?;
    let vectors = got(&answer)?;
    if vectors.len() != get.expected.len() {
        let (found, expected) = (vectors.len(), get.expected.len());
        return Err(Failure(format!("GetVectors: {found} vectors instead of {expected}")));
    }
    for (number, vector) in vectors {
        if get.expected.get(&number) != Some(&vector) {
            return Err(Failure(format!(
                "GetVectors: vector {number} is not the one that was put"
            )));
        }
    }
    Ok(answer)
}
