//! [`FetchedCursor`]: a cursor over what was fetched.

use std::cell::RefCell;
use std::ops::Bound;

use super::changes::Writes;
use super::known::Known;
use super::ranges::{behind, bounds, reaches};
use super::seen::Seen;
use crate::database::{View, Want};
use crate::{KvError, Pair};

/// Rows of the first page of a cursor of a view: most look at a few. Each page has [`GROWTH`] times as
/// many as the one before.
const PAGE_FIRST: usize = 16;
/// Most rows of a page.
pub(crate) const PAGE_MAX: usize = 1000;
const GROWTH: usize = 8;

/// A cursor over a range. Its place is before the first key that is not less than `place`; `None` is
/// the end of all keys.
pub(crate) struct FetchedCursor<'a> {
    source: Source<'a>,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
    place: Option<Vec<u8>>,
}

enum Source<'a> {
    /// A row that is not known fails the run of the closure, which runs again with it.
    Run(RunSource<'a>),
    /// Rows that are not known are fetched, in place of those that were.
    View { known: Known, view: &'a dyn View, page: usize },
}

/// The reads of a run.
#[derive(Clone, Copy)]
pub(crate) struct RunSource<'a> {
    pub(crate) known: &'a Known,
    pub(crate) writes: &'a Writes,
    pub(crate) seen: &'a RefCell<Seen>,
    /// Rows to fetch where they are not known.
    pub(crate) page: usize,
}

/// A key that is there, or the key of a deleted row.
enum Nearest {
    Key(Vec<u8>),
    Deleted(Vec<u8>),
    Nothing,
}

impl<'a> FetchedCursor<'a> {
    pub(crate) fn of_run(source: RunSource<'a>, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Self {
        Self::new(Source::Run(source), lower, upper)
    }

    pub(crate) fn of_view(view: &'a dyn View, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Self {
        Self::new(Source::View { known: Known::default(), view, page: PAGE_FIRST }, lower, upper)
    }

    fn new(source: Source<'a>, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Self {
        let lower = match lower {
            Bound::Included(key) => key.to_vec(),
            Bound::Excluded(key) => behind(key),
            Bound::Unbounded => Vec::new(),
        };
        let upper = match upper {
            Bound::Included(key) => Some(behind(key)),
            Bound::Excluded(key) => Some(key.to_vec()),
            Bound::Unbounded => None,
        };
        // An inverted range is empty.
        let upper = upper.map(|upper| upper.max(lower.clone()));
        Self { source, place: Some(lower.clone()), lower, upper }
    }

    pub(crate) fn next(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        let Some(begin) = self.place.clone() else { return Ok(None) };
        let mut from = begin.clone();
        loop {
            let upper = self.upper.as_deref();
            if reaches(Some(&from), upper) {
                self.source.saw(begin, self.upper.clone());
                return Ok(None);
            }
            let Some(end) = self.source.known().end_of(&from) else {
                self.source.obtain(from.clone(), self.upper.clone(), false)?;
                continue;
            };
            let end = if reaches(end, upper) { upper } else { end };
            match self.source.first(&from, end) {
                Nearest::Key(mut key) => {
                    // The first key behind it.
                    key.push(0);
                    self.source.saw(begin, Some(key.clone()));
                    self.place = Some(key);
                    let place = self.place.as_deref().unwrap_or_default();
                    return Ok(self.source.pair(&place[..place.len() - 1]));
                }
                Nearest::Deleted(key) => from = behind(&key),
                Nearest::Nothing => match end {
                    Some(end) => from = end.to_vec(),
                    None => {
                        self.source.saw(begin, None);
                        return Ok(None);
                    }
                },
            }
        }
    }

    pub(crate) fn previous(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        let end = self.place.clone();
        let mut to = end.clone();
        loop {
            if to.as_ref().is_some_and(|to| *to <= self.lower) {
                self.source.saw(self.lower.clone(), end);
                return Ok(None);
            }
            let Some(begin) = self.source.known().begin_of(to.as_deref()) else {
                self.source.obtain(self.lower.clone(), to.clone(), true)?;
                continue;
            };
            let begin = begin.max(&self.lower);
            match self.source.last(begin, to.as_deref()) {
                Nearest::Key(key) => {
                    self.source.saw(key.clone(), end);
                    self.place = Some(key);
                    return Ok(self.source.pair(self.place.as_deref().unwrap_or_default()));
                }
                Nearest::Deleted(key) => to = Some(key),
                Nearest::Nothing => to = Some(begin.to_vec()),
            }
        }
    }

    pub(crate) fn seek(&mut self, key: &[u8]) {
        let place = key.max(&self.lower);
        self.place = match &self.upper {
            Some(upper) => Some(place.min(upper).to_vec()),
            None => Some(place.to_vec()),
        };
    }

    pub(crate) fn seek_start(&mut self) {
        self.place = Some(self.lower.clone());
    }

    pub(crate) fn seek_end(&mut self) {
        self.place = self.upper.clone();
    }
}

impl Source<'_> {
    fn known(&self) -> &Known {
        match self {
            Self::Run(run) => run.known,
            Self::View { known, .. } => known,
        }
    }

    fn writes(&self) -> Option<&Writes> {
        match self {
            Self::Run(run) => Some(run.writes),
            Self::View { .. } => None,
        }
    }

    /// Notes that everything in the range has been looked at.
    fn saw(&self, lower: Vec<u8>, upper: Option<Vec<u8>>) {
        if let Self::Run(run) = self {
            run.seen.borrow_mut().ranges.add(lower, upper);
        }
    }

    /// Gets rows that are not known.
    fn obtain(
        &mut self,
        lower: Vec<u8>,
        upper: Option<Vec<u8>>,
        is_backward: bool,
    ) -> Result<(), KvError> {
        match self {
            Self::Run(run) => {
                let want = Want::Rows { lower, upper, max: run.page, is_backward };
                run.seen.borrow_mut().want(want);
                Err(KvError::NotFetched)
            }
            Self::View { known, view, page } => {
                let wants = vec![Want::Rows { lower, upper, max: *page, is_backward }];
                *page = (*page * GROWTH).min(PAGE_MAX);
                let fetched = view.fetch(&wants)?;
                // A cursor keeps one page, however far it goes.
                known.clear();
                known.learn(wants, fetched)?;
                Ok(())
            }
        }
    }

    fn first(&self, lower: &[u8], upper: Option<&[u8]>) -> Nearest {
        let written = self.writes().zip(bounds(lower, upper));
        let written = written.and_then(|(writes, it)| writes.range::<[u8], _>(it).next());
        nearest(self.known().first(lower, upper), written, |one, other| one < other)
    }

    fn last(&self, lower: &[u8], upper: Option<&[u8]>) -> Nearest {
        let written = self.writes().zip(bounds(lower, upper));
        let written = written.and_then(|(writes, it)| writes.range::<[u8], _>(it).next_back());
        nearest(self.known().last(lower, upper), written, |one, other| one > other)
    }

    fn pair(&self, key: &[u8]) -> Option<Pair<'_>> {
        match self.writes().and_then(|writes| writes.get_key_value(key)) {
            Some((key, value)) => Some((key, value.as_deref()?)),
            None => self.known().pair(key),
        }
    }
}

/// The nearer one of a key that was fetched and one that was written, which hides a fetched one.
fn nearest(
    fetched: Option<&[u8]>,
    written: Option<(&Vec<u8>, &Option<Vec<u8>>)>,
    is_nearer: impl Fn(&[u8], &[u8]) -> bool,
) -> Nearest {
    match (fetched, written) {
        (Some(key), Some((written, _))) if is_nearer(key, written) => Nearest::Key(key.to_vec()),
        (_, Some((key, Some(_)))) => Nearest::Key(key.clone()),
        (_, Some((key, None))) => Nearest::Deleted(key.clone()),
        (Some(key), None) => Nearest::Key(key.to_vec()),
        (None, None) => Nearest::Nothing,
    }
}
