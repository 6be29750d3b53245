//! [`DatabaseSnapshot`]: reading from a database.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::Ahead;
use super::{Answer, Database, Epochs, Fetched, Row, View, Want};
use crate::{Counts, KvError};

/// Rows that a snapshot keeps unasked, so that a row that is read again, such as that of a bucket, is not
/// fetched again.
const KEPT_MAX: usize = 64;

/// The moment of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time of the database, in milliseconds since 1970.
    pub now_ms: u64,
    /// The epochs.
    pub epochs: Epochs,
}

/// A snapshot of a database.
///
/// One that begins with a fetch of rows needs no view for reads of these. The first other read opens
/// one, and compares the rows.
pub(crate) struct DatabaseSnapshot {
    database: Arc<dyn Database>,
    view: OnceLock<Box<dyn View>>,
    state: Mutex<State>,
    #[cfg(any(test, feature = "test-util"))]
    fetching: Arc<crate::fetched::Fetching>,
}

#[derive(Debug, Default)]
struct State {
    rows: BTreeMap<Vec<u8>, Kept>,
    moment: Option<Moment>,
    /// `true` if the rows were fetched before the view was there.
    is_before_view: bool,
}

/// A row: its version, or 0, and its value.
#[derive(Clone, Debug)]
struct Kept {
    version: u64,
    value: Option<Arc<[u8]>>,
}

impl Kept {
    fn new(row: Option<Row>) -> Self {
        Self {
            version: row.as_ref().map_or(0, |row| row.version),
            value: row.map(|row| row.value.into()),
        }
    }
}

impl DatabaseSnapshot {
    pub(crate) fn new(
        database: Arc<dyn Database>,
        #[cfg(any(test, feature = "test-util"))] fetching: Arc<crate::fetched::Fetching>,
    ) -> Self {
        Self {
            database,
            view: OnceLock::new(),
            state: Mutex::default(),
            #[cfg(any(test, feature = "test-util"))]
            fetching,
        }
    }

    /// Begins with rows of a moment before.
    pub(crate) fn begin_with(&self, ahead: &Ahead) {
        let mut state = self.state.lock();
        state.moment = Some(ahead.moment());
        state.is_before_view = true;
        for (key, row) in ahead.rows() {
            state.rows.insert(key.clone(), Kept::new(row.clone()));
        }
    }

    /// Opens the view now.
    pub(crate) fn open(&self) -> Result<(), KvError> {
        let view = self.database.view()?;
        // It is there already if another thread was faster.
        let _ = self.view.set(view);
        Ok(())
    }

    pub(crate) fn moment(&self) -> Result<Moment, KvError> {
        if let Some(moment) = self.state.lock().moment {
            return Ok(moment);
        }
        let fetched = self.fetch(Vec::new())?;
        Ok(Moment { now_ms: fetched.now_ms, epochs: fetched.epochs })
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, KvError> {
        if let Some(kept) = self.state.lock().rows.get(key) {
            return Ok(kept.value.clone());
        }
        let Answer::Row(row) = self.fetch_one(Want::Key(key.to_vec()))? else {
            return Err(nonsense());
        };
        let kept = Kept::new(row);
        let mut state = self.state.lock();
        if state.rows.len() < KEPT_MAX {
            state.rows.insert(key.to_vec(), kept.clone());
        }
        Ok(kept.value)
    }

    /// Fetches rows, and keeps them in place of those before.
    pub(crate) fn fetch_rows(&self, mut keys: Vec<Vec<u8>>) -> Result<(), KvError> {
        keys.sort_unstable();
        keys.dedup();
        let missing: Vec<_> = {
            let state = self.state.lock();
            keys.iter().filter(|key| !state.rows.contains_key(*key)).cloned().collect()
        };
        if missing.is_empty() {
            return Ok(());
        }
        let fetched = self.fetch(missing.iter().cloned().map(Want::Key).collect())?;
        let mut state = self.state.lock();
        if state.rows.len() >= KEPT_MAX {
            state.rows.retain(|key, _| keys.binary_search(key).is_ok());
        }
        for (key, answer) in missing.into_iter().zip(fetched.answers) {
            let Answer::Row(row) = answer else { return Err(nonsense()) };
            state.rows.insert(key, Kept::new(row));
        }
        Ok(())
    }

    pub(crate) fn counts(&self, key: &[u8]) -> Result<Counts, KvError> {
        match self.fetch_one(Want::Counter(key.to_vec()))? {
            Answer::Counts(counts) => Ok(counts),
            _ => Err(nonsense()),
        }
    }

    fn fetch_one(&self, want: Want) -> Result<Answer, KvError> {
        self.fetch(vec![want])?.answers.pop().ok_or_else(nonsense)
    }

    /// Fetches from the view, which it opens at the first call. Rows that were fetched before are compared
    /// then.
    fn fetch(&self, mut wants: Vec<Want>) -> Result<Fetched, KvError> {
        if self.view.get().is_none() {
            self.open()?;
        }
        let view = self.view.get().ok_or(KvError::Closed)?;
        self.count();
        let wanted = wants.len();
        let mut state = self.state.lock();
        let before = match std::mem::take(&mut state.is_before_view) {
            true => state.rows.iter().map(|(key, kept)| (key.clone(), kept.version)).collect(),
            false => Vec::new(),
        };
        wants.extend(before.iter().map(|(key, _)| Want::Key(key.clone())));
        let mut fetched = match view.fetch(&wants) {
            Ok(fetched) if fetched.answers.len() == wants.len() => fetched,
            failed => {
                state.is_before_view = !before.is_empty();
                return failed.and(Err(nonsense()));
            }
        };
        let again = fetched.answers.split_off(wanted);
        for ((_, version), answer) in before.iter().zip(again) {
            let Answer::Row(row) = answer else { return Err(nonsense()) };
            if row.map_or(0, |row| row.version) != *version {
                state.is_before_view = true;
                return Err(KvError::Changed);
            }
        }
        let moment = Moment { now_ms: fetched.now_ms, epochs: fetched.epochs };
        state.moment.get_or_insert(moment);
        Ok(fetched)
    }

    #[cfg(any(test, feature = "test-util"))]
    fn count(&self) {
        self.fetching.of_snapshot();
    }

    #[cfg(not(any(test, feature = "test-util")))]
    fn count(&self) {}
}

/// Cursors and groups read through the snapshot, so that it compares first.
impl View for DatabaseSnapshot {
    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        Self::fetch(self, wants.to_vec())
    }
}

impl std::fmt::Debug for DatabaseSnapshot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DatabaseSnapshot").finish_non_exhaustive()
    }
}

pub(crate) fn nonsense() -> KvError {
    KvError::Corrupt("the database has answered something else than it was asked".into())
}
