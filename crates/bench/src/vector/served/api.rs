//! The operations of S3 Vectors as calls on a connection, and their answers.

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
    let signed = vec![("content-type".to_owned(), "application/json".to_owned())];
    let request = Request { signed, ..Request::post(&path, body) };
    connection.send(request, &[200], expect).await.map(|answer| answer.text)
}

/// Calls an operation and ignores its answer.
pub(super) async fn tell(
    connection: &mut Connection,
    operation: &str,
    body: &Payload,
) -> Result<(), Failure> {
    call(connection, operation, body, Expect::Anything).await.map(drop)
}

/// Answer to QueryVectors or GetVectors.
#[derive(Deserialize)]
struct Answer {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    key: String,
    distance: Option<f32>,
    data: Option<VectorData>,
}

#[derive(Deserialize)]
struct VectorData {
    float32: Vec<f32>,
}

/// The neighbours in an answer to QueryVectors.
pub(super) fn found(answer: &str) -> Result<Vec<Near>, Failure> {
    vectors(answer, |number, vector| Some(Near { number, distance: vector.distance? }))
}

/// The vectors in an answer to GetVectors, by number.
pub(super) fn got(answer: &str) -> Result<Vec<(u32, Vec<f32>)>, Failure> {
    vectors(answer, |number, vector| Some((number, vector.data?.float32)))
}

fn vectors<T>(answer: &str, of: impl Fn(u32, Vector) -> Option<T>) -> Result<Vec<T>, Failure> {
    let wrong = |reason: String| {
        let start: String = answer.chars().take(100).collect();
        format!("{reason} in the answer {start}")
    };
    let parsed: Answer = serde_json::from_str(answer).map_err(|error| wrong(error.to_string()))?;
    let vector = |vector: Vector| {
        let (key, number) = (vector.key.clone(), body::number(&vector.key));
        let vector = number.and_then(|number| of(number, vector));
        Ok(vector.ok_or_else(|| wrong(format!("nobody asked for {key} like that")))?)
    };
    parsed.vectors.into_iter().map(vector).collect()
}
