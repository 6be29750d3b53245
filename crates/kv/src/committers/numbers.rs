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

    /// Uses up the next number, of which the database has told what became. Returns the number of commits that
    /// were acknowledged and are lost, without those of earlier calls.
    pub(super) fn settle(&mut self, settled: Settled) -> u64 {
        let first = match settled {
            Settled::Committed => {
                self.next += 1;
                return 0;
            }
            Settled::NotCommitted => self.next,
            Settled::Lost { last } => last.saturating_add(1),
        };
        let known = self.void.iter().map(|(from, to)| (*to).saturating_sub(first.max(*from)));
        let lost = self.next.saturating_sub(first).saturating_sub(known.sum());
        self.void.retain(|(from, _)| *from < first);
        if let Some((_, to)) = self.void.back_mut() {
            *to = first.min(*to);
        }
        self.next += 1;
        self.void.push_back((first, self.next));
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
        assert_eq!(numbers.settle(Settled::Committed), 0);
        assert_eq!((numbers.settle(Settled::NotCommitted), numbers.next), (0, 3));
        numbers.next = 6;
        // 1, 3, 4 and 5 were acknowledged, and 2 stands for nothing.
        assert_eq!(numbers.settle(Settled::Lost { last: 3 }), 2);
        numbers.next = 9;
        // Of 7 and 8 the second one is lost, then the first one, and 3.
        assert_eq!(numbers.settle(Settled::Lost { last: 7 }), 1);
        assert_eq!(numbers.settle(Settled::Lost { last: 2 }), 2);
        assert_eq!(numbers.settle(Settled::Lost { last: 0 }), 1);
        assert_eq!((numbers.settle(Settled::Committed), numbers.next), (0, 13));
        for _ in 0..1000 {
            assert_eq!(numbers.settle(Settled::NotCommitted), 0);
        }
        assert!(numbers.void.len() <= VOID_MAX);
    }
}
