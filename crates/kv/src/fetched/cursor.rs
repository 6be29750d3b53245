//! [`FetchedCursor`]: a cursor over what was fetched and what the closure has written.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;

use super::known::{Known, Want, behind, bounds, reaches};
use crate::{KvError, Pair};

/// The writes of a closure: values, or `None` for deleted keys.
pub(super) type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// A cursor over a range. Its place is before the first key that is not less than `place`; `None` is
/// the end of all keys.
pub(crate) struct FetchedCursor<'a> {
    known: &'a Known,
    writes: &'a Writes,
    wants: &'a RefCell<Vec<Want>>,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
    place: Option<Vec<u8>>,
}

impl<'a> FetchedCursor<'a> {
    pub(super) fn new(
        (known, writes, wants): (&'a Known, &'a Writes, &'a RefCell<Vec<Want>>),
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Self {
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
        Self { known, writes, wants, place: Some(lower.clone()), lower, upper }
    }

    pub(crate) fn next(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        let upper = self.upper.as_deref();
        let Some(mut from) = self.place.clone() else { return Ok(None) };
        loop {
            if reaches(Some(&from), upper) {
                return Ok(None);
            }
            let Some(end) = self.known.end_of(&from) else {
                return self.want(Want::From(from, self.upper.clone()));
            };
            let end = if reaches(end, upper) { upper } else { end };
            let fetched = self.known.first(&from, end);
            let written = bounds(&from, end).and_then(|it| self.writes.range::<[u8], _>(it).next());
            let nearest = match (fetched, written) {
                (Some((key, value)), Some((written, _))) if key < written.as_slice() => {
                    Some((key, Some(value)))
                }
                (Some((key, value)), None) => Some((key, Some(value))),
                (_, Some((key, value))) => Some((key.as_slice(), value.as_deref())),
                (None, None) => None,
            };
            match nearest {
                Some((key, Some(value))) => {
                    self.place = Some(behind(key));
                    return Ok(Some((key, value)));
                }
                // A deleted key.
                Some((key, None)) => from = behind(key),
                None => match end {
                    Some(end) => from = end.to_vec(),
                    None => return Ok(None),
                },
            }
        }
    }

    pub(crate) fn previous(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        let mut to = self.place.clone();
        loop {
            if to.as_ref().is_some_and(|to| *to <= self.lower) {
                return Ok(None);
            }
            let Some(begin) = self.known.begin_of(to.as_deref()) else {
                return self.want(Want::Before(to, self.lower.clone()));
            };
            let begin = begin.max(&self.lower);
            let fetched = self.known.last(begin, to.as_deref());
            let written = bounds(begin, to.as_deref());
            let written = written.and_then(|it| self.writes.range::<[u8], _>(it).next_back());
            let nearest = match (fetched, written) {
                (Some((key, value)), Some((written, _))) if key > written.as_slice() => {
                    Some((key, Some(value)))
                }
                (Some((key, value)), None) => Some((key, Some(value))),
                (_, Some((key, value))) => Some((key.as_slice(), value.as_deref())),
                (None, None) => None,
            };
            match nearest {
                Some((key, Some(value))) => {
                    self.place = Some(key.to_vec());
                    return Ok(Some((key, value)));
                }
                Some((key, None)) => to = Some(key.to_vec()),
                None => to = Some(begin.to_vec()),
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

    fn want<T>(&self, want: Want) -> Result<T, KvError> {
        self.wants.borrow_mut().push(want);
        Err(KvError::NotFetched)
    }
}
