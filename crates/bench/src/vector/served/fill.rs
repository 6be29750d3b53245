//! Vectors for indexes, and requests for them.

use std::collections::BTreeMap;

use super::body;
use super::rows::TOP_K;
use crate::client::Payload;
use crate::random::SEED;
use crate::vector::data::{DIMENSION, Distribution, Vectors};
use crate::vector::search::questions::{ExactSearch, Near};

/// Number of different GetVectors requests.
const GETS: u32 = 8;

/// A GetVectors request with its expected vectors.
#[derive(Debug)]
pub(super) struct Get {
    pub(super) body: Payload,
    pub(super) expected: BTreeMap<u32, Vec<f32>>,
}

/// A QueryVectors request with its exact answer.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) body: Payload,
    pub(super) nearest: Vec<Near>,
}

/// The vectors of an index while its PutVectors requests are made, one after another.
#[derive(Debug)]
pub(super) struct Filling {
    vectors: Vectors,
    count: u32,
    made: u32,
    each: u32,
    /// The GetVectors requests; complete once all vectors are put.
    pub(super) gets: Vec<Get>,
}

impl Filling {
    /// `count` vectors, `each` in a request.
    pub(super) fn new(count: u32, each: u32) -> Filling {
        let get = |first| {
            let (body, numbers) = body::get(first, count);
            Get { body, expected: numbers.into_iter().map(|it| (it, Vec::new())).collect() }
        };
        Filling {
            vectors: Vectors::stored(Distribution::Clustered, SEED),
            count,
            made: 0,
            each: each.max(1),
            gets: (0..GETS.min(count)).map(get).collect(),
        }
    }

    /// The next request; `None` once all vectors are put. `look` gets its vectors with the number
    /// of the first.
    pub(super) fn next(&mut self, look: impl FnOnce(u32, &[f32])) -> Option<Payload> {
        let (first, count) = (self.made, self.each.min(self.count - self.made));
        if count == 0 {
            return None;
        }
        let vectors = self.vectors.take(count as usize);
        for (number, vector) in (first..).zip(vectors.chunks_exact(DIMENSION)) {
            for get in &mut self.gets {
                if let Some(expected) = get.expected.get_mut(&number) {
                    expected.extend_from_slice(vector);
                }
            }
        }
        look(first, &vectors);
        self.made += count;
        Some(body::put(first, &vectors))
    }
}

/// The QueryVectors requests for the vectors that `exact` has seen.
pub(super) fn queries(asked: &[f32], exact: &ExactSearch<'_>) -> Vec<Query> {
    let query = |(place, vector): (usize, &[f32])| {
        let mut nearest = exact.nearest(place);
        nearest.truncate(TOP_K);
        Query { body: body::query(vector), nearest }
    };
    asked.chunks_exact(DIMENSION).enumerate().map(query).collect()
}
