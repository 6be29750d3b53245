//! [`Grouped`]: the keys of a range, those with a common prefix as one entry.

use std::fmt;

use crate::cursor::Cursor;
use crate::fetched::FetchedGroups;
use crate::groups::{behind_group, end_of_group};
use crate::{GroupedEntry, GroupedRange, KvError};

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
