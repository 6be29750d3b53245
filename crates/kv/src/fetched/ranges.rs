//! [`Ranges`]: a set of keys, as ranges.

use std::collections::BTreeMap;
use std::ops::Bound;

/// Ranges of keys that do not overlap and do not touch: ends by begins; `None` is the end of all keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<Vec<u8>, Option<Vec<u8>>>);

/// The first key behind `key`.
pub(crate) fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// `true` if `end` is not before `other`; both are ends of ranges.
pub(crate) fn reaches(end: Option<&[u8]>, other: Option<&[u8]>) -> bool {
    match (end, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(end), Some(other)) => end >= other,
    }
}

type Range<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// The range as a map takes it; `None` for an empty one.
pub(crate) fn bounds<'k>(lower: &'k [u8], upper: Option<&'k [u8]>) -> Option<Range<'k>> {
    match upper {
        Some(upper) if lower >= upper => None,
        upper => Some((Bound::Included(lower), upper.map_or(Bound::Unbounded, Bound::Excluded))),
    }
}

impl Ranges {
    /// Adds the keys from `begin` up to `end`.
    pub(crate) fn add(&mut self, mut begin: Vec<u8>, mut end: Option<Vec<u8>>) {
        if end.as_ref().is_some_and(|end| *end <= begin) {
            return;
        }
        // The ranges that touch it become one with it.
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Included);
        let before = self.0.range::<[u8], _>((Bound::Unbounded, upper)).rev();
        let touching = before.take_while(|(_, to)| reaches(to.as_deref(), Some(&begin)));
        let touching: Vec<_> = touching.map(|(from, to)| (from.clone(), to.clone())).collect();
        for (from, to) in touching {
            self.0.remove(&from);
            begin = begin.min(from);
            if !reaches(end.as_deref(), to.as_deref()) {
                end = to;
            }
        }
        self.0.insert(begin, end);
    }

    /// The end of the range that has `key`.
    pub(crate) fn end_of(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let to_key = (Bound::Unbounded, Bound::Included(key));
        let (_, end) = self.0.range::<[u8], _>(to_key).next_back()?;
        let end = end.as_deref();
        end.is_none_or(|end| key < end).then_some(end)
    }

    /// The begin of the range that has the keys directly before `end`.
    pub(crate) fn begin_of(&self, end: Option<&[u8]>) -> Option<&[u8]> {
        let upper = end.map_or(Bound::Unbounded, Bound::Excluded);
        let (begin, known) = self.0.range::<[u8], _>((Bound::Unbounded, upper)).next_back()?;
        reaches(known.as_deref(), end).then_some(begin)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.0.iter().map(|(begin, end)| (begin.as_slice(), end.as_deref()))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = Ranges::default();
        let key = |key: &str| key.as_bytes().to_vec();
        ranges.add(key("b"), Some(key("c")));
        ranges.add(key("d"), Some(key("f")));
        ranges.add(key("c5"), Some(key("c5")));
        assert_eq!(ranges.end_of(b"b5"), Some(Some(&b"c"[..])));
        assert_eq!(ranges.end_of(b"c"), None);
        assert_eq!(ranges.end_of(b"c5"), None);
        assert_eq!(ranges.begin_of(Some(b"c")), Some(&b"b"[..]));
        assert_eq!(ranges.begin_of(Some(b"d")), None);
        ranges.add(key("c"), Some(key("d")));
        assert_eq!(ranges.end_of(b"b"), Some(Some(&b"f"[..])));
        ranges.add(key("e"), None);
        assert_eq!(ranges.end_of(b"z"), Some(None));
        assert_eq!(ranges.begin_of(None), Some(&b"b"[..]));
        assert_eq!(ranges.end_of(b"a"), None);
        assert_eq!(ranges.iter().count(), 1);
    }
}
