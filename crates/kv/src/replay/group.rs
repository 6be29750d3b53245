//! [`Closures`]: the closures of a group, run one after another over what is fetched for all of them.

use std::cell::{Cell, RefCell};

use crate::KvError;
use crate::database::{CounterWrite, Database, EPOCHS, Group, RangeRead, Row, RowWrite, Want};
use crate::fetched::{Changes, FetchedTransaction, Known, Numbers, PAGE_MAX, Place, Seen};
use crate::queue::Job;
use crate::transaction::Transaction;

/// Most fetches of one update. More do not end within the time that a client waits.
const FETCHES_MAX: usize = 64;
/// Most bytes that one update fetches.
const FETCHED_BYTES_MAX: usize = 32 << 20;
/// Bytes fetched after which a group goes on with the first closure that wants more, without the others.
const GROUP_FETCHED_BYTES_MAX: usize = 32 << 20;
/// Bytes written after which a group takes no more closures.
const GROUP_WRITTEN_BYTES_MAX: usize = 8 << 20;
/// Rows that a cursor of a closure fetches at first, and the factor with each fetch of the closure: most
/// look at one row only, and a closure that goes on has fetches enough for 60,000.
const PAGE_FIRST: usize = 16;
const PAGE_GROWTH: u32 = 8;

/// The closures of a group.
///
/// They run in order, each over what is known and what those before it wrote. The first one that wants
/// more begins the next pass: closures behind it run to find out what they want, for one fetch
/// together, and what they do does not count.
pub(crate) struct Closures {
    entries: Vec<Entry>,
    /// Closures that do not fit into the group any more.
    rest: Vec<Box<dyn Job>>,
    known: Known,
    changes: Changes,
    seen: Seen,
    /// The highest floor of a number so far.
    floor: u64,
    fetched_bytes: usize,
}

struct Entry {
    job: Box<dyn Job>,
    fetches: usize,
    bytes: usize,
    /// `true` if it was refused, and does not run.
    is_refused: bool,
    #[cfg(any(test, feature = "test-util"))]
    claims: Vec<(Vec<u8>, bool)>,
}

/// Numbers for the rows of queues, of one pass: taken after everything was fetched that the pass reads.
/// So of two updates of one row the later one has the greater numbers: its commit needs the row as the
/// earlier one has left it, and the numbers of that one were taken before its commit.
struct Block<'d> {
    database: &'d dyn Database,
    count: u32,
    /// The numbers that are left.
    left: Cell<(u64, u64)>,
    floor: Cell<u64>,
    /// `true` while closures run that do not count.
    is_dry: Cell<bool>,
    failure: RefCell<Option<KvError>>,
}

impl Numbers for Block<'_> {
    fn take(&self, floor: u64) -> Result<u64, KvError> {
        self.floor.set(self.floor.get().max(floor));
        if self.is_dry.get() {
            return Ok(floor);
        }
        let (mut next, mut end) = self.left.get();
        if next == end || next < floor {
            let taken = self.database.take_numbers(self.count, self.floor.get());
            next = taken.inspect_err(|error| *self.failure.borrow_mut() = Some(error.clone()))?;
            end = next.saturating_add(self.count.into());
        }
        self.left.set((next + 1, end));
        Ok(next)
    }
}

impl Closures {
    pub(crate) fn new(mut jobs: Vec<Box<dyn Job>>) -> Self {
        let mut known = Known::default();
        for ahead in jobs.iter_mut().filter_map(|job| job.ahead()) {
            known.suppose(ahead.rows());
        }
        let entry = |job| Entry {
            job,
            fetches: 0,
            bytes: 0,
            is_refused: false,
            #[cfg(any(test, feature = "test-util"))]
            claims: Vec::new(),
        };
        Self {
            entries: jobs.into_iter().map(entry).collect(),
            rest: Vec::new(),
            known,
            changes: Changes::default(),
            seen: Seen::default(),
            floor: 0,
            fetched_bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The jobs, and those that have to be done after them.
    pub(crate) fn into_jobs(self) -> (Vec<Box<dyn Job>>, Vec<Box<dyn Job>>) {
        (self.entries.into_iter().map(|entry| entry.job).collect(), self.rest)
    }

    /// The fetches and claims of each.
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn fetches(&self) -> Vec<crate::fetched::UpdateFetches> {
        let fetches = |entry: &Entry| crate::fetched::UpdateFetches {
            fetches: entry.fetches,
            claims: entry.claims.clone(),
        };
        self.entries.iter().map(fetches).collect()
    }

    /// Leaves the jobs from `at` on to a later group.
    pub(crate) fn leave(&mut self, at: usize) {
        let left = self.entries.split_off(at.min(self.entries.len()));
        let left: Vec<_> = left.into_iter().map(|entry| entry.job).collect();
        self.rest.splice(0..0, left);
    }

    /// Runs all closures, until each has what it reads.
    ///
    /// # Errors
    /// The error of the database, with which all of them fail.
    pub(crate) fn run(&mut self, database: &dyn Database) -> Result<(), KvError> {
        self.begin();
        let mut first = 0;
        loop {
            let (wants, owners) = self.pass(database, &mut first)?;
            if wants.is_empty() {
                return Ok(());
            }
            if self.fetched_bytes > GROUP_FETCHED_BYTES_MAX && first + 1 < self.entries.len() {
                self.leave(first + 1);
                self.fetched_bytes = 0;
                continue;
            }
            self.fetch(database, wants, &owners)?;
            if self.known.take_torn() {
                self.begin();
                first = 0;
            }
        }
    }

    /// Forgets what the closures did.
    fn begin(&mut self) {
        self.changes = Changes::default();
        self.seen = Seen::default();
    }

    /// Runs the closures from `first` on, which becomes the first one that wants more. Returns what is
    /// wanted, with the closures that want it.
    fn pass(
        &mut self,
        database: &dyn Database,
        first: &mut usize,
    ) -> Result<(Vec<Want>, Vec<usize>), KvError> {
        let count = u32::try_from(self.entries.len() - *first).unwrap_or(1).max(1);
        let numbers = Block {
            database,
            count,
            left: Cell::new((0, 0)),
            floor: Cell::new(self.floor),
            is_dry: Cell::new(false),
            failure: RefCell::default(),
        };
        let (mut wants, mut owners) = (Vec::new(), Vec::new());
        for at in *first..self.entries.len() {
            let entry = &mut self.entries[at];
            if entry.is_refused {
                *first += usize::from(wants.is_empty());
                continue;
            }
            numbers.is_dry.set(!wants.is_empty());
            let place = Place { known: &self.known, numbers: &numbers, page: page(entry.fetches) };
            let run = FetchedTransaction::new(place, &mut self.changes);
            let mut run = Transaction::fetched(run);
            let keeps = entry.job.run(&mut run);
            let mut ran = run.into_fetched().end();
            if let Some(error) = numbers.failure.take() {
                return Err(error);
            }
            if !ran.seen.wants.is_empty() || !wants.is_empty() {
                self.changes.take_back(ran.begin);
                for want in std::mem::take(&mut ran.seen.wants) {
                    if !wants.contains(&want) {
                        wants.push(want);
                        owners.push(at);
                    }
                }
                continue;
            }
            if let Some(failure) = &ran.failure {
                entry.job.refuse(failure.clone());
            }
            if !keeps || ran.failure.is_some() {
                self.changes.take_back(ran.begin);
            }
            #[cfg(any(test, feature = "test-util"))]
            {
                entry.claims = ran.seen.claims.clone().into_iter().collect();
            }
            self.seen.add(ran.seen);
            *first = at + 1;
            if self.changes.bytes() > GROUP_WRITTEN_BYTES_MAX {
                self.leave(*first);
                break;
            }
        }
        self.floor = numbers.floor.get();
        Ok((wants, owners))
    }

    /// Fetches what is wanted. Closures that have fetched too much are refused.
    fn fetch(
        &mut self,
        database: &dyn Database,
        wants: Vec<Want>,
        owners: &[usize],
    ) -> Result<(), KvError> {
        let fetched = database.fetch(&wants)?;
        let bytes = self.known.learn(wants, fetched)?;
        let mut last = None;
        for (owner, bytes) in owners.iter().zip(bytes) {
            let entry = &mut self.entries[*owner];
            self.fetched_bytes += bytes;
            entry.bytes += bytes;
            entry.fetches += usize::from(last != Some(*owner));
            last = Some(*owner);
            let reason = if entry.fetches > FETCHES_MAX {
                format!("more than {FETCHES_MAX} times")
            } else if entry.bytes > FETCHED_BYTES_MAX {
                format!("more than {FETCHED_BYTES_MAX} bytes")
            } else {
                continue;
            };
            entry.job.refuse(KvError::TooMuchRead(reason));
            entry.is_refused = true;
        }
        Ok(())
    }

    /// The group to commit; `None` if there is nothing to commit and nothing that a commit would find
    /// out: all was read at one moment.
    pub(crate) fn group(&self, version: u64, epochs: &[Vec<Vec<u8>>; EPOCHS]) -> Option<Group> {
        let mut group = Group { version, claims: self.seen.claim_names(), ..Group::default() };
        for (key, value) in &self.changes.writes {
            let expected = self.seen.keys.contains(key).then(|| self.known.version(key));
            if value.is_none() && expected == Some(0) {
                // There is nothing to delete, and the read is compared with the others.
                continue;
            }
            group.writes.push(RowWrite { key: key.clone(), expected, value: value.clone() });
            for (begins, prefixes) in group.begins.iter_mut().zip(epochs) {
                *begins |= prefixes.iter().any(|prefix| key.starts_with(prefix));
            }
        }
        let is_written = |key: &[u8]| {
            group.writes.binary_search_by(|write| write.key.as_slice().cmp(key)).is_ok()
        };
        let keys = self.seen.keys.iter().filter(|key| !is_written(key));
        group.keys = keys.map(|key| (key.clone(), self.known.version(key))).collect();
        let ranges = self.seen.ranges.iter().map(|(lower, upper)| {
            let digest = self.known.digest(lower, upper);
            RangeRead { lower: lower.to_vec(), upper: upper.map(<[u8]>::to_vec), digest }
        });
        group.ranges = ranges.collect();
        for (key, change) in self.changes.counters() {
            if change.begins_anew || change.added != Default::default() {
                let (begins_anew, added) = (change.begins_anew, change.added);
                group.counters.push(CounterWrite { key: key.to_vec(), begins_anew, added });
            }
        }
        let writes = !group.writes.is_empty() || !group.counters.is_empty();
        let reads = !group.keys.is_empty() || !group.ranges.is_empty();
        (writes || (reads && !self.known.is_of_one_moment())).then_some(group)
    }

    /// Prepares another run, after a commit has found that something has changed: `rows` as they are now,
    /// or none. What was read and is not known any more is fetched at once.
    ///
    /// # Errors
    /// The error of the database.
    pub(crate) fn changed(
        &mut self,
        database: &dyn Database,
        rows: Vec<(Vec<u8>, Option<Row>)>,
    ) -> Result<(), KvError> {
        let seen = std::mem::take(&mut self.seen);
        let mut wants = Vec::new();
        if rows.is_empty() {
            self.known.clear();
            wants.extend(seen.keys.iter().map(|key| Want::Key(key.clone())));
        } else {
            let keys = seen.keys.iter().map(Vec::as_slice);
            self.known.changed(keys, rows);
        }
        wants.extend(seen.ranges.iter().map(|(lower, upper)| Want::Rows {
            lower: lower.to_vec(),
            upper: upper.map(<[u8]>::to_vec),
            max: PAGE_MAX,
            is_backward: false,
        }));
        wants.extend(seen.counters.into_iter().map(Want::Counter));
        self.fetched_bytes = 0;
        for entry in &mut self.entries {
            (entry.fetches, entry.bytes) = (0, 0);
        }
        if !wants.is_empty() {
            let fetched = database.fetch(&wants)?;
            self.known.learn(wants, fetched)?;
            // Nothing has run over what was known before.
            let _ = self.known.take_torn();
        }
        Ok(())
    }
}

/// Rows that a cursor fetches after this number of fetches.
fn page(fetches: usize) -> usize {
    let factor = PAGE_GROWTH.pow(u32::try_from(fetches.min(3)).unwrap_or(3)) as usize;
    (PAGE_FIRST * factor).min(PAGE_MAX)
}
