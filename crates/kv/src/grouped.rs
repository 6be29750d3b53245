//! [`Grouped`]: the keys of a range, those with a common prefix as one entry.

use std::fmt;

use crate::cursor::Cursor;
use crate::database::FetchedGroups;
use crate::{KvError, Pair};

/// A range of keys, and what groups them.
///
/// The keys that have the same bytes up to and including the first delimiter behind the first
/// `text` bytes are one group.
#[derive(Clone, Copy, Debug)]
pub struct GroupedRange<'k> {
    /// The first key.
    pub lower: &'k [u8],
    /// The end of the range, which is not in it.
    pub upper: &'k [u8],
    /// The bytes at which a group ends; none make no groups.
    pub delimiter: &'k [u8],
    /// Number of bytes of each key before those in which the delimiter is looked for. All keys of
    /// the range have as many.
    pub text: usize,
    /// The end of the bytes in which the delimiter is looked for; empty for the end of the key.
    pub text_end: &'k [u8],
    /// Number of entries that the caller takes at most.
    pub max: usize,
}

/// An entry of a [`Grouped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupedEntry<'a> {
    /// A key of no group, with its value.
    Pair(Pair<'a>),
    /// The bytes that all keys of a group begin with: up to and including the delimiter.
    Group(&'a [u8]),
}

/// The entries of a [`GroupedRange`], in the order of their keys.
///
/// The cost depends on the entries taken, not on the keys of a group: behind its first key the
/// cursor seeks past all of them.
pub struct Grouped<'a>(Kind<'a>);

#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the usual one: a box would cost it"
)]
enum Kind<'a> {
    Passed(PassedGroups<'a>),
    /// The database passes them itself.
    Fetched(FetchedGroups<'a>),
}

/// Groups that a cursor passes.
struct PassedGroups<'a> {
    cursor: Cursor<'a>,
    delimiter: Vec<u8>,
    text: usize,
    text_end: Vec<u8>,
    /// The group shown last.
    group: Vec<u8>,
    /// `true` while the cursor is within that group.
    is_within: bool,
}

impl<'a> Grouped<'a> {
    /// Over a cursor at the begin of the range.
    pub(super) fn new(cursor: Cursor<'a>, range: &GroupedRange<'_>) -> Self {
        Self(Kind::Passed(PassedGroups {
            cursor,
            delimiter: range.delimiter.to_vec(),
            text: range.text,
            text_end: range.text_end.to_vec(),
            group: Vec::new(),
            is_within: false,
        }))
    }

    pub(super) fn fetched(groups: FetchedGroups<'a>) -> Self {
        Self(Kind::Fetched(groups))
    }

    /// The next entry.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    #[expect(clippy::should_implement_trait, reason = "what it shows is borrowed from it")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<GroupedEntry<'_>>, KvError> {
        match &mut self.0 {
            Kind::Passed(groups) => groups.next(),
            Kind::Fetched(groups) => groups.next(),
        }
    }
}

impl PassedGroups<'_> {
    #[inline]
    fn next(&mut self) -> Result<Option<GroupedEntry<'_>>, KvError> {
        if self.is_within {
            self.is_within = false;
            self.pass_group()?;
        }
        let Some((key, value)) = self.cursor.next()? else { return Ok(None) };
        match end_of_group(key, self.text, &self.text_end, &self.delimiter) {
            None => Ok(Some(GroupedEntry::Pair((key, value)))),
            Some(end) => {
                self.group.clear();
                self.group.extend_from_slice(&key[..end]);
                self.is_within = true;
                Ok(Some(GroupedEntry::Group(&self.group)))
            }
        }
    }

    /// Moves behind all keys that begin with the group.
    fn pass_group(&mut self) -> Result<(), KvError> {
        match behind_group(&self.group) {
            Some(next) => self.cursor.seek(&next),
            None => self.cursor.seek_end(),
        }
    }
}

impl fmt::Debug for Grouped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Grouped").finish_non_exhaustive()
    }
}

/// The first key behind all that begin with `group`; `None` if there is none.
pub(crate) fn behind_group(group: &[u8]) -> Option<Vec<u8>> {
    let mut next = group.to_vec();
    while let Some(last) = next.pop() {
        if let Some(last) = last.checked_add(1) {
            next.push(last);
            return Some(next);
        }
    }
    None
}

/// Number of bytes of the group that a key belongs to; `None` if it belongs to none.
#[inline]
pub(crate) fn end_of_group(
    key: &[u8],
    text: usize,
    text_end: &[u8],
    delimiter: &[u8],
) -> Option<usize> {
    let mut rest = key.get(text..)?;
    if let Some(end) = find(rest, text_end) {
        rest = &rest[..end];
    }
    Some(text + find(rest, delimiter)? + delimiter.len())
}

/// The first place of `searched` in `bytes`; `None` for an empty one, too.
#[inline]
fn find(bytes: &[u8], searched: &[u8]) -> Option<usize> {
    match searched {
        [] => None,
        // The usual delimiter is one byte.
        &[byte] => bytes.iter().position(|&found| found == byte),
        _ => bytes.windows(searched.len()).position(|found| found == searched),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_delimiter_behind_the_text_ends_a_group() {
        for (key, text, text_end, delimiter, group) in [
            ("a/b/c", 0, "", "/", Some("a/")),
            ("a/b/c", 2, "", "/", Some("a/b/")),
            ("a/", 1, "", "/", Some("a/")),
            ("a/b", 2, "", "/", None),
            ("a/b", 0, "", "", None),
            ("a-b--c--d", 0, "", "--", Some("a-b--")),
            ("a---b", 2, "", "--", Some("a---")),
            ("ab.c/d", 0, ".", "/", None),
            ("a/b.c/d", 0, ".", "/", Some("a/")),
            ("a/b.c/d", 2, ".", "/", None),
            ("ab", 3, "", "/", None),
        ] {
            let bytes = (text_end.as_bytes(), delimiter.as_bytes());
            let end = end_of_group(key.as_bytes(), text, bytes.0, bytes.1);
            assert_eq!(end.map(|end| &key[..end]), group, "{key} {text} {text_end} {delimiter}");
        }
    }
}
