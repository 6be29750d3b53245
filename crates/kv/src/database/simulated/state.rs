//! [`State`]: the rows and counters of the simulated database, at every moment that somebody may still
//! look at.

use std::collections::{BTreeMap, VecDeque};

use super::super::{
    Answer, ClaimName, CommitError, Digest, EPOCHS, Entry, Epochs, Fetched, Group, Row, Settled,
    Want, Worker,
};
use super::claims::Unclaimed;
use crate::Counts;
use crate::fetched::{behind, bounds};
use crate::groups::{behind_group, end_of_group};

/// Commits that the state remembers.
const HISTORY_MAX: usize = 512;
/// Rows of one answer, fewer than most databases give: an answer that is not whole is to be met.
const ROWS_MAX: usize = 700;

/// Values by the number of the commit that wrote them, the newest one last.
type Versions<T> = Vec<(u64, T)>;

/// Everything that a database keeps.
#[derive(Debug)]
pub(super) struct State {
    rows: BTreeMap<Vec<u8>, Versions<Option<Row>>>,
    counters: BTreeMap<Vec<u8>, Versions<Counts>>,
    epochs: Versions<Epochs>,
    /// Number of the newest commit.
    pub(super) commit: u64,
    /// Number of times that commits were lost.
    pub(super) generation: u64,
    history: VecDeque<Commit>,
    workers: BTreeMap<Worker, Used>,
    next_number: u64,
    pub(super) now_ms: u64,
    /// Moments of open views, by the numbers of these.
    views: BTreeMap<u64, u64>,
    next_view: u64,
    pub(super) unclaimed: Vec<Unclaimed>,
    /// `true` if ranges are compared with the claims of all commits in the history.
    pub(super) checks_all: bool,
}

/// A commit.
#[derive(Clone, Debug)]
struct Commit {
    commit: u64,
    worker: Worker,
    number: u64,
    keys: Vec<Vec<u8>>,
    claims: Vec<ClaimName>,
}

/// The last number of a worker that is used up.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    number: u64,
    /// The last one before it, if it was settled; `None` if it was committed.
    before: Option<u64>,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            rows: BTreeMap::new(),
            counters: BTreeMap::new(),
            epochs: vec![(0, [1; EPOCHS])],
            commit: 0,
            generation: 0,
            history: VecDeque::new(),
            workers: BTreeMap::new(),
            next_number: 1,
            now_ms: 1_700_000_000_000,
            views: BTreeMap::new(),
            next_view: 0,
            unclaimed: Vec::new(),
            checks_all: false,
        }
    }

    pub(super) fn take_numbers(&mut self, count: u32, floor: u64) -> u64 {
        let first = self.next_number.max(floor);
        self.next_number = first + u64::from(count);
        first
    }

    pub(super) fn open_view(&mut self) -> u64 {
        self.next_view += 1;
        self.views.insert(self.next_view, self.commit);
        self.next_view
    }

    pub(super) fn close_view(&mut self, view: u64) {
        self.views.remove(&view);
    }

    pub(super) fn moment_of(&self, view: u64) -> Option<u64> {
        self.views.get(&view).copied()
    }

    pub(super) fn fetch(&self, wants: &[Want], at: u64) -> Fetched {
        let answers = wants.iter().map(|want| self.answer(want, at)).collect();
        let epochs = visible(&self.epochs, at).copied().unwrap_or_default();
        Fetched { now_ms: self.now_ms, epochs, answers }
    }

    fn row(&self, key: &[u8], at: u64) -> Option<&Row> {
        visible(self.rows.get(key)?, at)?.as_ref()
    }

    fn version(&self, key: &[u8]) -> u64 {
        self.row(key, self.commit).map_or(0, |row| row.version)
    }

    fn range(
        &self,
        lower: &[u8],
        upper: Option<&[u8]>,
        at: u64,
    ) -> impl DoubleEndedIterator<Item = (&Vec<u8>, &Row)> {
        let rows = bounds(lower, upper).map(|range| self.rows.range::<[u8], _>(range));
        let rows = rows.into_iter().flatten();
        rows.filter_map(move |(key, versions)| Some((key, visible(versions, at)?.as_ref()?)))
    }

    fn answer(&self, want: &Want, at: u64) -> Answer {
        match want {
            Want::Key(key) => Answer::Row(self.row(key, at).cloned()),
            Want::Rows { lower, upper, max, is_backward } => {
                let rows = self.range(lower, upper.as_deref(), at);
                let pair = |(key, row): (&Vec<u8>, &Row)| (key.clone(), row.clone());
                let most = (*max).min(ROWS_MAX);
                let rows: Vec<_> = match is_backward {
                    false => rows.map(pair).take(most).collect(),
                    true => rows.rev().map(pair).take(most).collect(),
                };
                let is_whole = rows.len() < most;
                Answer::Rows { rows, is_whole }
            }
            Want::Entries { lower, upper, delimiter, text, text_end, max } => {
                let mut entries = Vec::new();
                let mut from = lower.clone();
                let most = (*max).min(ROWS_MAX);
                while entries.len() < most {
                    let Some((key, row)) = self.range(&from, Some(upper), at).next() else { break };
                    match end_of_group(key, *text, text_end, delimiter) {
                        None => {
                            entries.push(Entry::Row(key.clone(), row.clone()));
                            from = behind(key);
                        }
                        Some(end) => {
                            entries.push(Entry::Group(key[..end].to_vec()));
                            let Some(next) = behind_group(&key[..end]) else { break };
                            from = next;
                        }
                    }
                }
                let is_whole = entries.len() < most;
                Answer::Entries { entries, is_whole }
            }
            Want::Counter(key) => {
                let counts = self.counters.get(key).and_then(|versions| visible(versions, at));
                Answer::Counts(counts.copied().unwrap_or_default())
            }
        }
    }

    fn digest(&self, lower: &[u8], upper: Option<&[u8]>, at: u64) -> Digest {
        let mut digest = Digest::default();
        self.range(lower, upper, at).for_each(|(_, row)| digest.add(row.version));
        digest
    }

    /// `true` if the next commit of the worker has this number.
    pub(super) fn is_next(&self, worker: Worker, number: u64) -> bool {
        self.workers.get(&worker).map_or(0, |used| used.number) + 1 == number
    }

    /// Commits, or changes nothing.
    pub(super) fn commit(
        &mut self,
        worker: Worker,
        number: u64,
        group: &Group,
    ) -> Result<(), CommitError> {
        let read = group.keys.iter().map(|(key, version)| (key, *version));
        let written = group.writes.iter().filter_map(|write| Some((&write.key, write.expected?)));
        let changed: Vec<_> = read
            .chain(written)
            .filter(|(key, version)| self.version(key) != *version)
            .map(|(key, _)| (key.clone(), self.row(key, self.commit).cloned()))
            .collect();
        let mut ranges = group.ranges.iter();
        let is_other =
            ranges.any(|it| self.digest(&it.lower, it.upper.as_deref(), self.commit) != it.digest);
        self.check_claims(group);
        if !changed.is_empty() || is_other {
            return Err(CommitError::Conflict(changed));
        }
        self.apply(group);
        self.workers.insert(worker, Used { number, before: None });
        let keys = group.writes.iter().map(|write| write.key.clone()).collect();
        let claims = group.claims.clone();
        self.history.push_back(Commit { commit: self.commit, worker, number, keys, claims });
        if self.history.len() > HISTORY_MAX {
            self.history.pop_front();
        }
        self.prune();
        Ok(())
    }

    fn apply(&mut self, group: &Group) {
        self.commit += 1;
        let at = self.commit;
        for write in &group.writes {
            let row = write.value.clone().map(|value| Row { version: group.version, value });
            self.rows.entry(write.key.clone()).or_default().push((at, row));
        }
        for write in &group.counters {
            let versions = self.counters.entry(write.key.clone()).or_default();
            let before = match write.begins_anew {
                true => Counts::NONE,
                false => versions.last().map(|(_, counts)| *counts).unwrap_or_default(),
            };
            versions.push((at, before + write.added));
        }
        if group.begins.contains(&true) {
            let mut epochs = self.epochs.last().map(|(_, epochs)| *epochs).unwrap_or_default();
            for (epoch, begins) in epochs.iter_mut().zip(group.begins) {
                if begins {
                    *epoch = group.version;
                }
            }
            self.epochs.push((at, epochs));
        }
    }

    /// Forgets values that nobody can look at any more, from time to time.
    fn prune(&mut self) {
        if !self.commit.is_multiple_of(256) {
            return;
        }
        let history = self.history.front().map_or(self.commit, |commit| commit.commit - 1);
        let horizon = self.views.values().copied().min().unwrap_or(history).min(history);
        self.rows.retain(|_, versions| {
            forget(versions, horizon);
            !matches!(versions[..], [(at, None)] if at <= horizon)
        });
        self.counters.values_mut().for_each(|versions| forget(versions, horizon));
        forget(&mut self.epochs, horizon);
    }

    pub(super) fn settle(&mut self, worker: Worker, number: u64) -> Settled {
        let used = self.workers.entry(worker).or_default();
        if used.number < number {
            *used = Used { number, before: Some(used.number) };
        }
        // Again, it tells the same.
        let Some(last) = used.before else { return Settled::Committed };
        match last + 1 >= number {
            true => Settled::NotCommitted,
            false => Settled::Lost { last },
        }
    }

    /// Loses the last commits, as a standby that has not got them does when it takes over.
    pub(super) fn fail_over(&mut self, commits: usize) {
        self.generation += 1;
        for _ in 0..commits {
            let Some(lost) = self.history.pop_back() else { break };
            let used = self.workers.entry(lost.worker).or_default();
            used.number = used.number.min(lost.number - 1);
            used.before = None;
            self.commit = lost.commit - 1;
        }
        let newest = self.commit;
        self.rows.values_mut().for_each(|versions| versions.retain(|(at, _)| *at <= newest));
        self.counters.values_mut().for_each(|versions| versions.retain(|(at, _)| *at <= newest));
        self.epochs.retain(|(at, _)| *at <= newest);
    }

    /// Finds range reads that commits have changed, or could have, that they do not conflict with by
    /// their claims.
    fn check_claims(&mut self, group: &Group) {
        let mut found = Vec::new();
        for range in &group.ranges {
            let (lower, upper) = (range.lower.as_slice(), range.upper.as_deref());
            let is_within = |key: &Vec<u8>| {
                key.as_slice() >= lower && upper.is_none_or(|upper| key.as_slice() < upper)
            };
            let mut at = self.commit;
            for commit in self.history.iter().rev() {
                if !self.checks_all && self.digest(lower, upper, at) == range.digest {
                    break;
                }
                if let Some(key) = commit.keys.iter().find(|key| is_within(key)) {
                    found.extend(Unclaimed::between(range, group, key, &commit.claims));
                }
                at = commit.commit - 1;
            }
        }
        self.unclaimed.extend(found);
    }
}

fn visible<T>(versions: &Versions<T>, at: u64) -> Option<&T> {
    versions.iter().rev().find(|(commit, _)| *commit <= at).map(|(_, value)| value)
}

/// Forgets the values before the one that was the newest at `horizon`.
fn forget<T>(versions: &mut Versions<T>, horizon: u64) {
    let first = versions.iter().rposition(|(commit, _)| *commit <= horizon);
    versions.drain(..first.unwrap_or(0));
}
