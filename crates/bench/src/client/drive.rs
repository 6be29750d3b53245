//! Concurrent clients and their operations.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::Connection;
use crate::run::{Failure, Phase};
use crate::samples::Samples;

/// Number of failures, without a success, after which a row is given up.
const FAILURES_MAX: u64 = 50;

/// End of a phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// The phase lasts this long, and until the minimum of operations.
    pub(crate) time: Duration,
    pub(crate) operations_min: u64,
    pub(crate) operations_max: u64,
}

/// Operations of a phase.
#[derive(Debug, Default)]
pub(crate) struct Driven {
    /// Times of the operations that succeeded.
    pub(crate) samples: Samples,
    /// Time from the first start to the last end.
    pub(crate) elapsed: Duration,
    /// Number of operations begun.
    pub(crate) begun: u64,
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
}

impl Limit {
    /// Exactly this many operations, however long they take.
    pub(crate) fn count(operations: u64) -> Limit {
        Limit { time: Duration::MAX, operations_min: operations, operations_max: operations }
    }
}

impl Driven {
    /// A phase that could not begin.
    pub(crate) fn failed(reason: impl ToString) -> Driven {
        let mut driven = Driven::default();
        driven.fail(reason);
        driven
    }

    /// The first failure, if any operation failed.
    pub(crate) fn first_failure(self) -> Result<(), Failure> {
        self.first_error.map_or(Ok(()), |error| Err(error.into()))
    }

    pub(crate) fn fail(&mut self, reason: impl ToString) {
        self.errors += 1;
        self.first_error.get_or_insert_with(|| reason.to_string());
    }

    /// Operations that succeeded, per second.
    pub(crate) fn rate(&self) -> f64 {
        self.samples.len() as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The phase as an outcome, with the processor time of the server if it is known.
    pub(crate) fn phase(self, id: &str, server_cpu: Option<Duration>) -> Phase {
        let mut phase = Phase::new(id);
        let operations = self.samples.len() as u64;
        phase.add(operations, self.elapsed);
        (phase.errors, phase.first_error) = (self.errors, self.first_error);
        if let Some(cpu) = server_cpu {
            phase.value("server_cpu", cpu.as_secs_f64() * 1e9 / operations.max(1) as f64);
        }
        phase.percentiles(self.samples);
        phase
    }
}

/// Runs one operation after another on every connection until the limit. Operations are numbered
/// from 0 over all connections.
pub(crate) async fn drive(
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
