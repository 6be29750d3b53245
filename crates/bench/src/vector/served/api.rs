//! The operations of S3 Vectors as calls on a connection, and their answers.

use http::Method;
use serde::Deserialize;

use super::body;
use crate::client::{Connection, Expect, Payload, Request};
use crate::run::Failure;
use crate::vector::search::questions::Near;

/// Calls an operation. Its answer must have the status 200.
pub(super) async fn call(
    connection: &mut Connection,
    operation: &str,
    body: &Payload,
    expect: Expect<'_>,
) -> Result<String, Failure> {
    let path = format!("/{operation}");
    let mut request = Request::new(Method::POST, &path);
    request.signed.push(("content-type".to_owned(), "application/json".to_owned()));
    request.body = Some(body);
    connection.send(request, &[200], expect).await.map(|answer| answer.text)
}

/// Calls an operation whose answer says nothing.
pub(super) async fn tell(
    connection: &mut Connection,
    operation: &str,
    body: &Payload,
) -> Result<(), Failure> {
    call(connection, operation, body, Expect::Anything).await.map(drop)
}

#[derive(Deserialize)]
struct QueryAnswer {
    vectors: Vec<QueryHit>,
}

#[derive(Deserialize)]
struct QueryHit {
    key: String,
    distance: f32,
}

/// The neighbours in an answer to QueryVectors.
pub(super) fn found(answer: &str) -> Result<Vec<Near>, Failure> {
    let answer: QueryAnswer = parse(answer)?;
    let near = |hit: QueryHit| {
        let number = body::number(&hit.key);
        let number = number.ok_or_else(|| format!("nobody put the key {}", hit.key))?;
        Ok(Near { number, distance: hit.distance })
    };
    answer.vectors.into_iter().map(near).collect()
}

#[derive(Deserialize)]
struct GetAnswer {
    vectors: Vec<GotVector>,
}

#[derive(Deserialize)]
struct GotVector {
    key: String,
    data: VectorData,
}

#[derive(Deserialize)]
struct VectorData {
    float32: Vec<f32>,
}

/// The vectors in an answer to GetVectors, by number.
pub(super) fn got(answer: &str) -> Result<Vec<(u32, Vec<f32>)>, Failure> {
    let answer: GetAnswer = parse(answer)?;
    let vector = |got: GotVector| {
        let number = body::number(&got.key);
        let number = number.ok_or_else(|| format!("nobody put the key {}", got.key))?;
        Ok((number, got.data.float32))
    };
    answer.vectors.into_iter().map(vector).collect()
}

fn parse<'a, T: Deserialize<'a>>(answer: &'a str) -> Result<T, Failure> {
    let shown = |error| {
        let start: String = answer.chars().take(100).collect();
        format!("{error} in the answer {start}").into()
    };
    serde_json::from_str(answer).map_err(shown)
}
