//! Searches at work. What they find is compared with the exact neighbours.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::engine::SearchEngine;
use super::phase::SearchPhase;
use super::questions::{Near, Questions};
use crate::counting_allocator::Allocations;
use crate::process::usage::of_this_process;
use crate::samples::Samples;
use crate::vector::data::DIMENSION;
use crate::vector::task::{Task, Work};
use crate::worker::measured::Measured;
use crate::worker::{Failure, Phase};

/// The value with the share of the exact neighbours that were found.
pub const RECALL: &str = "recall";
/// The value with the memory that an engine has for itself.
pub const MEMORY_OWN: &str = "memory_own";
/// The value with the pages of files that it has mapped.
pub const MEMORY_MAPPED: &str = "memory_mapped";

/// Searches at the least, however long they take.
const SEARCHES_MIN: usize = 10;

/// Does a task. A failure keeps the rest of it from being done.
///
/// # Errors
/// The failure of the engine.
pub fn run<E: SearchEngine>(task: &Task) -> Result<Vec<Phase>, Failure> {
    let Work::Search { questions, phases } = &task.work else {
        return Err("this is no task about searching".into());
    };
    let questions = Questions::load(questions)?;
    let asked = questions.asked()?;
    let mut built = Measured::begin(&SearchPhase::Build.id());
    let engine = build::<E>(task, &questions, &mut built)?;
    let site = Site {
        engine: &engine,
        questions: &questions,
        queries: asked.chunks_exact(DIMENSION).collect(),
        time: Duration::from_millis(task.milliseconds),
    };
    let mut outcome = Vec::new();
    for phase in phases {
        if let SearchPhase::Top { neighbours, threads, every } = *phase {
            let mut measured = Measured::begin(&phase.id());
            site.top(neighbours as usize, threads.max(1), every.max(1), &mut measured)?;
            outcome.push(measured.end());
        }
    }
    // Searching may bring in more, so memory is that after all searches.
    let memory = of_this_process();
    built.phase.value(MEMORY_OWN, memory.memory_own_bytes as f64);
    built
        .phase
        .value(MEMORY_MAPPED, memory.memory_bytes.saturating_sub(memory.memory_own_bytes) as f64);
    outcome.push(built.end());
    Ok(outcome)
}

/// Adds all vectors. Reading them is not measured.
fn build<E: SearchEngine>(
    task: &Task,
    questions: &Questions,
    measured: &mut Measured,
) -> Result<E, Failure> {
    let mut engine = E::create(&task.directory, questions.vectors)?;
    questions.for_each_block(|first, vectors| {
        let count = vectors.len() / DIMENSION;
        measured.time(count, || engine.add(first, vectors)).map(drop)
    })?;
    measured.time(0, || engine.finish())?;
    measured.stop();
    Ok(engine)
}

struct Site<'a, E> {
    engine: &'a E,
    questions: &'a Questions,
    queries: Vec<&'a [f32]>,
    time: Duration,
}

impl<E: SearchEngine> Site<'_, E> {
    fn top(
        &self,
        neighbours: usize,
        threads: u32,
        every: u32,
        measured: &mut Measured,
    ) -> Result<(), Failure> {
        let filter = (every > 1).then(|| self.engine.filter(every));
        let filter = filter.as_ref();
        self.check(neighbours, every, filter, measured)?;
        let next = AtomicUsize::new(0);
        let allocations = Allocations::now();
        let begin = Instant::now();
        let work = || {
            let mut samples = Samples::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= SEARCHES_MIN && begin.elapsed() >= self.time {
                    return Ok::<Samples, Failure>(samples);
                }
                let query = self.queries[number % self.queries.len()];
                let before = Instant::now();
                black_box(self.engine.search(black_box(query), neighbours, filter)?);
                samples.record(before.elapsed());
            }
        };
        let parts: Vec<Result<Samples, Failure>> = thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let join = |other: thread::ScopedJoinHandle<'_, _>| {
                other.join().unwrap_or_else(|_| Err("a thread has panicked".into()))
            };
            std::iter::once(own).chain(others.into_iter().map(join)).collect()
        });
        let elapsed = begin.elapsed();
        let mut all = Samples::new();
        for part in parts {
            all.merge(part?);
        }
        measured.add(all.len() as u64, elapsed, allocations);
        measured.phase.percentiles(all);
        Ok(())
    }

    /// Asks every query once and compares the answers. It also warms up.
    fn check(
        &self,
        neighbours: usize,
        every: u32,
        filter: Option<&E::Filter>,
        measured: &mut Measured,
    ) -> Result<(), Failure> {
        let (mut found, mut wanted) = (0, 0);
        for (number, query) in self.queries.iter().enumerate() {
            let nearest = self.questions.nearest(number, every, neighbours);
            let nearest = nearest.ok_or("the right answer is not known")?;
            let answer = self.engine.search(query, neighbours, filter)?;
            wanted += nearest.len();
            found += hits(&answer, nearest);
            if let Err(wrong) = judge(&answer, nearest, every, E::DISTANCE_TOLERANCE) {
                measured.phase.fail(format!("query {number}: {wrong}"));
            }
        }
        measured.phase.value(RECALL, f64::from(found) / wanted.max(1) as f64);
        Ok(())
    }
}

/// The number of the nearest that were found.
pub(crate) fn hits(answer: &[Near], nearest: &[Near]) -> u32 {
    let numbers: BTreeSet<u32> = answer.iter().map(|near| near.number).collect();
    nearest.iter().map(|near| u32::from(numbers.contains(&near.number))).sum()
}

/// Missing a neighbour is no error, but a matter of recall. These are errors: too few, one twice, one
/// that the filter forbids, one out of order, a distance that is not that of the vector.
pub(crate) fn judge(
    answer: &[Near],
    nearest: &[Near],
    every: u32,
    tolerance: f32,
) -> Result<(), String> {
    if answer.len() != nearest.len() {
        return Err(format!("{} neighbours instead of {}", answer.len(), nearest.len()));
    }
    let numbers: BTreeSet<u32> = answer.iter().map(|near| near.number).collect();
    if numbers.len() != answer.len() {
        return Err("a neighbour comes twice".to_owned());
    }
    if let Some(near) = answer.iter().find(|near| !near.number.is_multiple_of(every)) {
        return Err(format!("the filter does not let vector {} through", near.number));
    }
    if !answer.is_sorted_by(|one, next| one.distance <= next.distance + tolerance) {
        return Err("the neighbours are not in order".to_owned());
    }
    let farthest = nearest.last().map_or(0.0, |near| near.distance);
    for near in answer {
        let exact = nearest.iter().find(|exact| exact.number == near.number);
        let is_right = match exact {
            Some(exact) => (exact.distance - near.distance).abs() <= tolerance,
            // It is farther than the last of the nearest, or it would be one of them.
            None => near.distance >= farthest - tolerance,
        };
        if !is_right {
            return Err(format!("vector {} is not at the distance {}", near.number, near.distance));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(pairs: &[(u32, f32)]) -> Vec<Near> {
        pairs
            .iter()
            .map(|(number, distance)| Near { number: *number, distance: *distance })
            .collect()
    }

    #[test]
    fn a_missed_neighbour_costs_recall_and_a_wrong_answer_is_an_error() {
        let nearest = near(&[(4, 0.1), (8, 0.2), (2, 0.3)]);
        let judged = |pairs: &[(u32, f32)]| judge(&near(pairs), &nearest, 2, 1e-5);
        let missed = [(4, 0.1), (8, 0.2), (6, 0.4)];
        assert_eq!(judged(&missed), Ok(()));
        assert_eq!(hits(&near(&missed), &nearest), 2);
        for (wrong, word) in [
            (&[(4, 0.1), (8, 0.2)][..], "2 neighbours"),
            (&[(4, 0.1), (4, 0.1), (2, 0.3)], "twice"),
            (&[(4, 0.1), (8, 0.2), (3, 0.4)], "filter"),
            (&[(8, 0.2), (4, 0.1), (2, 0.3)], "order"),
            (&[(4, 0.1), (8, 0.21), (2, 0.3)], "distance"),
            (&[(4, 0.1), (8, 0.2), (6, 0.25)], "distance"),
        ] {
            let reason = judged(wrong).expect_err("it is wrong");
            assert!(reason.contains(word), "{reason}");
        }
    }
}
