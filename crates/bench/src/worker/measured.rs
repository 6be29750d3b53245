//! A phase while it is measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Failure, Phase};
use crate::counting_allocator::Allocations;
use crate::histogram::Histogram;
use crate::process::usage::{of_this_process, own_cpu, thread_cpu};
use crate::run::metrics::OPERATION_CPU;
use crate::samples::Samples;

/// A phase that is going on: operations and what they have used.
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

/// Processor time of a phase: of all threads, background work between measured operations included, but not of
/// this thread while it prepares and checks.
struct Cpu {
    process_before: Duration,
    thread_before: Duration,
    /// Of this thread, in measured operations.
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

    /// Does some operations and adds them. What is prepared for them outside is not counted.
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

    /// Like [`Measured::time`] with an operation for each item; the time of every one counts in the
    /// percentiles. The clock is read once an operation.
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

    /// Like [`Measured::time`]; the time of these operations counts in the percentiles.
    pub(crate) fn sample(
        &mut self,
        operations: usize,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let time = self.time(operations, work)?;
        self.samples.record(time);
        Ok(())
    }

    /// Lets threads do operations, numbered over all threads, until one `is_over` that would begin after
    /// so long. An operation returns the time that counts in the percentiles.
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

    /// The work is over: what is used from here on, for checks, does not count.
    pub(crate) fn stop(&mut self) {
        if std::mem::replace(&mut self.stopped, true) || self.phase.operations == 0 {
            return;
        }
        let operations = self.phase.operations as f64;
        let written = of_this_process().disk_written_bytes - self.written_before;
        self.phase.value("written_bytes", written as f64 / operations);
        self.phase.value(OPERATION_CPU, self.cpu.used().as_nanos() as f64 / operations);
        // A program without a counting allocator knows nothing about them.
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
