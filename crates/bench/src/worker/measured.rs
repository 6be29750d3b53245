//! A phase during its measurement.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Failure, Phase};
use crate::counting_allocator::Allocations;
use crate::histogram::Histogram;
use crate::process::usage::{of_this_process, own_cpu, thread_cpu};
use crate::run::metrics::OPERATION_CPU;
use crate::samples::Samples;

/// A phase in progress: its operations and their usage.
pub(crate) struct Measured {
    pub(crate) phase: Phase,
    samples: Samples,
    /// Times of very many operations.
    histogram: Histogram,
    allocations: Allocations,
    written_before: u64,
    cpu: Cpu,
    stopped: bool,
}

/// Processor time of a phase: of all threads, including background work between measured
/// operations, but without this thread's preparation and checks.
struct Cpu {
    process_before: Duration,
    thread_before: Duration,
    /// Time of this thread in measured operations.
    thread_measured: Duration,
}

impl Cpu {
    fn begin() -> Cpu {
        let (process_before, thread_before) = (own_cpu(), thread_cpu());
        Cpu { process_before, thread_before, thread_measured: Duration::ZERO }
    }

    fn used(&self) -> Duration {
        let preparing = (thread_cpu() - self.thread_before).saturating_sub(self.thread_measured);
        (own_cpu() - self.process_before).saturating_sub(preparing)
    }
}

impl Measured {
    pub(crate) fn begin(id: &str) -> Measured {
        Measured {
            phase: Phase::new(id),
            samples: Samples::new(),
            histogram: Histogram::new(),
            allocations: Allocations::default(),
            written_before: of_this_process().disk_written_bytes,
            cpu: Cpu::begin(),
            stopped: false,
        }
    }

    /// Runs some operations and adds them. Preparations outside of the closure are not counted.
    pub(crate) fn time(
        &mut self,
        operations: usize,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Duration, Failure> {
        let (allocations, cpu) = (Allocations::now(), thread_cpu());
        let begin = Instant::now();
        work()?;
        let elapsed = begin.elapsed();
        self.cpu.thread_measured += thread_cpu() - cpu;
        self.add(operations as u64, elapsed, allocations);
        Ok(elapsed)
    }

    /// [`Measured::time`] with one operation for each item, each of whose times counts in the
    /// percentiles. The clock is read once for an operation.
    pub(crate) fn time_each<T>(
        &mut self,
        items: &[T],
        mut operation: impl FnMut(&T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (allocations, cpu) = (Allocations::now(), thread_cpu());
        let begin = Instant::now();
        let mut last = begin;
        for item in items {
            operation(item)?;
            let now = Instant::now();
            self.histogram.record(now - last);
            last = now;
        }
        self.cpu.thread_measured += thread_cpu() - cpu;
        self.add(items.len() as u64, last - begin, allocations);
        Ok(())
    }

    /// [`Measured::time`]; the time of these operations counts in the percentiles.
    pub(crate) fn sample(
        &mut self,
        operations: usize,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let time = self.time(operations, work)?;
        self.samples.record(time);
        Ok(())
    }

    /// Has threads run operations, numbered over all threads, until `is_over` or the time limit. An
    /// operation returns the time that counts in the percentiles.
    pub(crate) fn threads(
        &mut self,
        threads: u64,
        is_over: impl Fn(u64, Duration) -> bool + Sync,
        operation: impl Fn(u64) -> Result<Duration, Failure> + Sync,
    ) -> Result<(), Failure> {
        let next = AtomicU64::new(0);
        let (allocations, begin) = (Allocations::now(), Instant::now());
        let work = || {
            let mut samples = Samples::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if is_over(number, begin.elapsed()) {
                    return Ok::<Samples, Failure>(samples);
                }
                samples.record(operation(number)?);
            }
        };
        let parts: Vec<Result<Samples, Failure>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let panicked = |_| Err("a thread has panicked".into());
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
        });
        let elapsed = begin.elapsed();
        for part in parts {
            self.samples.merge(part?);
        }
        self.add(self.samples.len() as u64, elapsed, allocations);
        Ok(())
    }

    fn add(&mut self, operations: u64, time: Duration, before: Allocations) {
        let now = Allocations::now();
        self.allocations.count += now.count - before.count;
        self.allocations.bytes += now.bytes - before.bytes;
        self.phase.add(operations, time);
    }

    /// The measured time.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.phase.nanoseconds)
    }

    /// Ends the measurement: usage from here on, for checks, does not count.
    pub(crate) fn stop(&mut self) {
        if std::mem::replace(&mut self.stopped, true) || self.phase.operations == 0 {
            return;
        }
        let operations = self.phase.operations as f64;
        let written = of_this_process().disk_written_bytes - self.written_before;
        self.phase.value("written_bytes", written as f64 / operations);
        self.phase.value(OPERATION_CPU, self.cpu.used().as_nanos() as f64 / operations);
        // Without a counting allocator, the program knows nothing about allocations.
        if Allocations::now().count > 0 {
            self.phase.value("allocations", self.allocations.count as f64 / operations);
            self.phase.value("allocated_bytes", self.allocations.bytes as f64 / operations);
        }
    }

    pub(crate) fn end(mut self) -> Phase {
        self.stop();
        for (id, time) in self.histogram.percentiles() {
            self.phase.value(id, time);
        }
        self.phase.percentiles(self.samples);
        self.phase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_and_the_first_is_kept() {
        let mut measured = Measured::begin("put");
        measured.time(10, || Ok(())).expect("nothing fails");
        assert!(measured.time(5, || Err("full".into())).is_err());
        measured.phase.fail("one");
        measured.phase.fail("two");
        let phase = measured.end();
        assert_eq!((phase.operations, phase.errors), (10, 2));
        assert_eq!(phase.first_error.as_deref(), Some("one"));
        assert!(phase.values.contains_key("written_bytes"));
    }
}
