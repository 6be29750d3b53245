//! [`Numbers`]: the numbers of the commits of a worker.

use std::collections::VecDeque;

use crate::database::{Settled, Worker};

/// Most ranges of numbers that are known to stand for nothing.
const VOID_MAX: usize = 64;

/// The numbers of the commits of a worker.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) worker: Worker,
    /// That of its next commit.
    pub(super) next: u64,
    /// Numbers that are used up and stand for no commit, or for one that is counted as lost: the first one, and the
    /// one behind the last.
    void: VecDeque<(u64, u64)>,
}

impl Numbers {
    /// Those of a worker that has not committed yet.
    pub(super) fn new(worker: Worker) -> Self {
        Self { worker, next: 1, void: VecDeque::new() }
    }

    /// Takes note of what the database has told of the next number, which is used up. Returns the number of commits
    /// that were acknowledged and are lost, without those of earlier calls.
    pub(super) fn settled(&mut self, settled: Settled) -> u64 {
        let first = match settled {
            Settled::Committed => return 0,
            Settled::NotCommitted => self.next,
            Settled::Lost { last } => last.saturating_add(1),
        };
        let next = self.next;
        let known =
            self.void.iter().map(|(from, to)| next.min(*to).saturating_sub(first.max(*from)));
        let lost = next.saturating_sub(first).saturating_sub(known.sum());
        self.void.retain(|(from, _)| *from < first);
        if let Some((_, to)) = self.void.back_mut() {
            *to = first.min(*to);
        }
        self.void.push_back((first, next + 1));
        if self.void.len() > VOID_MAX {
            self.void.pop_front();
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_counted_once() {
        let mut numbers = Numbers::new(Worker { run: 1, index: 0 });
        // 1, 3, 4, 5, 7, 8 and 12 are acknowledged.
        let told = [
            (2, Settled::NotCommitted, 0),
            (6, Settled::Lost { last: 3 }, 2),
            (9, Settled::Lost { last: 7 }, 1),
            (10, Settled::Lost { last: 2 }, 2),
            (11, Settled::Lost { last: 0 }, 1),
            (13, Settled::Committed, 0),
            // It is asked again, and tells something else after another failover.
            (13, Settled::Lost { last: 11 }, 1),
            (13, Settled::Lost { last: 11 }, 0),
        ];
        for (next, settled, lost) in told {
            numbers.next = next;
            assert_eq!(numbers.settled(settled), lost, "{next}: {settled:?}");
        }
        for next in 14..1000 {
            numbers.next = next;
            assert_eq!(numbers.settled(Settled::NotCommitted), 0);
        }
        assert!(numbers.void.len() <= VOID_MAX);
    }
}
