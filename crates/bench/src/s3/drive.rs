//! Clients that work at the same time, and what becomes of their operations.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::client::{Connection, Failure};
use crate::samples::Samples;

/// A row whose first operations all fail goes on to fail.
const FAILURES_MAX: u64 = 50;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// After so long, but not before the minimum.
    pub time: Duration,
    /// At least so many operations.
    pub operations_min: u64,
    /// At most so many.
    pub operations_max: u64,
}

/// What became of a phase.
#[derive(Debug, Default)]
pub struct Driven {
    /// The times of the operations that succeeded.
    pub samples: Samples,
    /// From the first start to the last end.
    pub elapsed: Duration,
    /// How many operations were begun: their numbers are 0 to this, exclusive.
    pub begun: u64,
    /// How many failed.
    pub errors: u64,
    /// What the first failure was.
    pub first_error: Option<Failure>,
}

impl Limit {
    /// Exactly so many operations, however long they take.
    pub fn count(operations: u64) -> Limit {
        Limit { time: Duration::MAX, operations_min: operations, operations_max: operations }
    }
}

impl Driven {
    /// Fails if any operation did.
    ///
    /// # Errors
    /// The first failure.
    pub fn first_failure(self) -> Result<(), Failure> {
        self.first_error.map_or(Ok(()), Err)
    }

    /// Counts a failure.
    pub fn fail(&mut self, failure: Failure) {
        self.errors += 1;
        self.first_error.get_or_insert(failure);
    }
}

/// Lets every connection do one operation after the other until the limit. Operations are numbered
/// from 0 over all connections.
pub async fn drive(
    connections: &mut [Connection],
    limit: Limit,
    operation: impl AsyncFn(&mut Connection, u64) -> Result<(), Failure>,
) -> Driven {
    let begun = Cell::new(0_u64);
    let failed = Cell::new(0_u64);
    let succeeded = Cell::new(false);
    let start = Instant::now();
    let worker = async |connection: &mut Connection| {
        let mut driven = Driven::default();
        loop {
            let number = begun.get();
            let hopeless = !succeeded.get() && failed.get() >= FAILURES_MAX;
            let over = number >= limit.operations_min && start.elapsed() >= limit.time;
            if number >= limit.operations_max || over || hopeless {
                return driven;
            }
            begun.set(number + 1);
            let began = Instant::now();
            match operation(connection, number).await {
                Ok(()) => {
                    driven.samples.record(began.elapsed());
                    succeeded.set(true);
                }
                Err(failure) => {
                    failed.set(failed.get() + 1);
                    driven.fail(failure);
                }
            }
        }
    };
    let parts = join_all(connections.iter_mut().map(worker)).await;
    let mut all = Driven { elapsed: start.elapsed(), begun: begun.get(), ..Driven::default() };
    for part in parts {
        all.samples.merge(part.samples);
        all.errors += part.errors;
        all.first_error = all.first_error.or(part.first_error);
    }
    all
}
