//! [`Known`]: what was fetched.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::{KvError, Read};

/// Most pairs of one fetch of a range.
const PAGE: usize = 1000;

/// Something that a closure has read and that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Key(Vec<u8>),
    /// The pairs from a key on, up to another one (`None`: to the end).
    From(Vec<u8>, Option<Vec<u8>>),
    /// The pairs before a key (`None`: the end), down to another one.
    Before(Option<Vec<u8>>, Vec<u8>),
}

/// Pairs, and the ranges of keys of which all pairs are known.
#[derive(Debug, Default)]
pub(super) struct Known {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Ends by begins; `None` is the end of all keys. They do not overlap and do not touch.
    ranges: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

/// The first key behind `key`.
pub(super) fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// `true` if `end` is not before `other`; both are ends of ranges.
pub(super) fn reaches(end: Option<&[u8]>, other: Option<&[u8]>) -> bool {
    match (end, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(end), Some(other)) => end >= other,
    }
}

impl Known {
    /// The value of `key`; `None` if it is not known.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.end_of(key)?;
        Some(self.pairs.get(key).map(Vec::as_slice))
    }

    /// The end of the range that has `key`.
    pub(super) fn end_of(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let to_key = (Bound::Unbounded, Bound::Included(key));
        let (_, end) = self.ranges.range::<[u8], _>(to_key).next_back()?;
        let end = end.as_deref();
        end.is_none_or(|end| key < end).then_some(end)
    }

    /// The begin of the range that has the keys directly before `end`.
    pub(super) fn begin_of(&self, end: Option<&[u8]>) -> Option<&[u8]> {
        let upper = end.map_or(Bound::Unbounded, Bound::Excluded);
        let (begin, known) = self.ranges.range::<[u8], _>((Bound::Unbounded, upper)).next_back()?;
        reaches(known.as_deref(), end).then_some(begin)
    }

    /// The first pair in a range that is known.
    pub(super) fn first(&self, lower: &[u8], upper: Option<&[u8]>) -> Option<(&[u8], &[u8])> {
        let (key, value) = self.pairs.range::<[u8], _>(bounds(lower, upper)?).next()?;
        Some((key, value))
    }

    /// The last pair in a range that is known.
    pub(super) fn last(&self, lower: &[u8], upper: Option<&[u8]>) -> Option<(&[u8], &[u8])> {
        let (key, value) = self.pairs.range::<[u8], _>(bounds(lower, upper)?).next_back()?;
        Some((key, value))
    }

    /// Fetches what is wanted.
    pub(super) fn fetch(&mut self, want: Want, from: &impl Read) -> Result<(), KvError> {
        match want {
            Want::Key(key) => {
                if let Some(value) = from.get(&key)? {
                    self.pairs.insert(key.clone(), value.to_vec());
                }
                let end = behind(&key);
                self.learned(key, Some(end));
            }
            Want::From(begin, end) => {
                let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let mut cursor = from.cursor(Bound::Included(&begin), upper)?;
                let mut last = None;
                for _ in 0..PAGE {
                    let Some((key, value)) = cursor.next()? else {
                        last = None;
                        break;
                    };
                    last = Some(behind(key));
                    self.pairs.insert(key.to_vec(), value.to_vec());
                }
                self.learned(begin, last.or(end));
            }
            Want::Before(end, begin) => {
                let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let mut cursor = from.cursor(Bound::Included(&begin), upper)?;
                cursor.seek_end()?;
                let mut first = None;
                for _ in 0..PAGE {
                    let Some((key, value)) = cursor.previous()? else {
                        first = None;
                        break;
                    };
                    first = Some(key.to_vec());
                    self.pairs.insert(key.to_vec(), value.to_vec());
                }
                self.learned(first.unwrap_or(begin), end);
            }
        }
        Ok(())
    }

    /// All pairs from `begin` up to `end` are known from now on.
    fn learned(&mut self, mut begin: Vec<u8>, mut end: Option<Vec<u8>>) {
        // The ranges that touch it become one with it.
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Included);
        let before = self.ranges.range::<[u8], _>((Bound::Unbounded, upper)).rev();
        let touching = before.take_while(|(_, to)| reaches(to.as_deref(), Some(&begin)));
        let touching: Vec<_> = touching.map(|(from, to)| (from.clone(), to.clone())).collect();
        for (from, to) in touching {
            self.ranges.remove(&from);
            begin = begin.min(from);
            if !reaches(end.as_deref(), to.as_deref()) {
                end = to;
            }
        }
        self.ranges.insert(begin, end);
    }
}

type Range<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// The range as a map takes it; `None` for an empty one.
pub(super) fn bounds<'k>(lower: &'k [u8], upper: Option<&'k [u8]>) -> Option<Range<'k>> {
    match upper {
        Some(upper) if lower >= upper => None,
        upper => Some((Bound::Included(lower), upper.map_or(Bound::Unbounded, Bound::Excluded))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut known = Known::default();
        let key = |key: &str| key.as_bytes().to_vec();
        known.learned(key("b"), Some(key("c")));
        known.learned(key("d"), Some(key("f")));
        assert_eq!(known.end_of(b"b5"), Some(Some(&b"c"[..])));
        assert_eq!(known.end_of(b"c"), None);
        assert_eq!(known.begin_of(Some(b"c")), Some(&b"b"[..]));
        assert_eq!(known.begin_of(Some(b"d")), None);
        known.learned(key("c"), Some(key("d")));
        assert_eq!(known.end_of(b"b"), Some(Some(&b"f"[..])));
        known.learned(key("e"), None);
        assert_eq!(known.end_of(b"z"), Some(None));
        assert_eq!(known.begin_of(None), Some(&b"b"[..]));
        assert_eq!(known.end_of(b"a"), None);
        assert_eq!(known.ranges.len(), 1);
    }
}
