//! The work of searches. Results are compared with the exact neighbours.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use super::questions::{Near, Questions};
use super::{BUILD, SearchEngine, TOPS, Top};
use crate::process::usage::of_this_process;
use crate::run::metrics::{MEMORY_MAPPED, MEMORY_OWN, RECALL};
use crate::vector::task::{Exercise, Work};
use crate::worker::measured::Measured;
use crate::worker::{Failure, Phase, Task};

/// Minimum of searches, however long they take.
const SEARCHES_MIN: u64 = 10;

/// Runs a task. A failure ends it.
///
/// # Errors
/// The failure of the engine.
pub fn run<E: SearchEngine>(task: &Task<Exercise>) -> Result<Vec<Phase>, Failure> {
    let Exercise { work: Work::Search { questions }, phases } = &task.work else {
        return Err("it does not search".into());
    };
    let questions = Questions::load(questions)?;
    let queries = questions.queries();
    let mut built = Measured::begin(BUILD);
    // The making of vectors is not measured.
    let mut engine = E::create(&task.directory, questions.vectors, questions.dimension)?;
    questions.for_each_block(|first, vectors| {
        let count = vectors.len() / questions.dimension;
        built.time(count, || engine.add(first, vectors)).map(drop)
    })?;
    built.time(0, || engine.finish())?;
    built.stop();
    let site = Site {
        engine,
        questions: &questions,
        queries: queries.chunks_exact(questions.dimension).collect(),
        time: Duration::from_secs_f64(task.seconds_max),
    };
    let mut outcome = Vec::new();
    for top in TOPS.into_iter().filter(|top| phases.contains(&top.id())) {
        outcome.push(site.measure(top)?);
    }
    // Searches may load more, so the memory is taken after all of them.
    let memory = of_this_process();
    let mapped = memory.memory_bytes.saturating_sub(memory.memory_own_bytes);
    built.phase.value(MEMORY_OWN, memory.memory_own_bytes as f64);
    built.phase.value(MEMORY_MAPPED, mapped as f64);
    outcome.push(built.end());
    Ok(outcome)
}

struct Site<'a, E> {
    engine: E,
    questions: &'a Questions,
    queries: Vec<&'a [f32]>,
    time: Duration,
}

impl<E: SearchEngine> Site<'_, E> {
    fn measure(&self, top: Top) -> Result<Phase, Failure> {
        let mut measured = Measured::begin(&top.id());
        let filter = (top.every > 1).then(|| self.engine.filter(top.every));
        let filter = filter.as_ref();
        self.check(top, filter, &mut measured)?;
        let is_over = |number, elapsed| number >= SEARCHES_MIN && elapsed >= self.time;
        measured.threads(top.threads, is_over, |number| {
            let query = self.queries[number as usize % self.queries.len()];
            let begin = Instant::now();
            black_box(self.engine.search(black_box(query), top.neighbours, filter)?);
            Ok(begin.elapsed())
        })?;
        Ok(measured.end())
    }

    /// Runs every query once and compares the answers, which also warms up.
    fn check(
        &self,
        top: Top,
        filter: Option<&E::Filter>,
        measured: &mut Measured,
    ) -> Result<(), Failure> {
        let (mut found, mut wanted) = (0, 0);
        for (number, query) in self.queries.iter().enumerate() {
            let nearest = self.questions.nearest(number, top.every, top.neighbours);
            let nearest = nearest.ok_or("the right answer is not known")?;
            let answer = self.engine.search(query, top.neighbours, filter)?;
            wanted += nearest.len();
            found += hits(&answer, nearest);
            if let Err(wrong) = judge(&answer, nearest, top.every, E::DISTANCE_TOLERANCE) {
                measured.phase.fail(format!("query {number}: {wrong}"));
            }
        }
        measured.phase.value(RECALL, f64::from(found) / wanted.max(1) as f64);
        Ok(())
    }
}

/// Number of the exact nearest neighbours that were found.
pub(crate) fn hits(answer: &[Near], nearest: &[Near]) -> u32 {
    let numbers: BTreeSet<u32> = answer.iter().map(|near| near.number).collect();
    nearest.iter().map(|near| u32::from(numbers.contains(&near.number))).sum()
}

/// Checks an answer. A missed neighbour is no error, but lowers the recall. Errors are: too few
/// results, a duplicate, a result that the filter forbids, a wrong order, a wrong distance.
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
            // A vector that is not among the exact nearest must be farther than the last of them.
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
