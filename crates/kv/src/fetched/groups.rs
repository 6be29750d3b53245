//! [`FetchedGroups`]: the entries of a grouped range, fetched page by page.

use super::ranges::behind;
use crate::database::{Answer, Entry, View, Want, nonsense};
use crate::groups::behind_group;
use crate::{GroupedEntry, GroupedRange, KvError};

/// Most entries of a page.
const PAGE_MAX: usize = 2000;

/// The entries of a grouped range of a view.
pub(crate) struct FetchedGroups<'a> {
    view: &'a dyn View,
    /// The first key of the next page.
    lower: Vec<u8>,
    upper: Vec<u8>,
    delimiter: Vec<u8>,
    text: usize,
    text_end: Vec<u8>,
    /// Number of entries that the caller may still take.
    max: usize,
    page: Vec<Entry>,
    /// The entry of the page that is shown next.
    at: usize,
    is_whole: bool,
}

impl<'a> FetchedGroups<'a> {
    pub(crate) fn new(view: &'a dyn View, range: &GroupedRange<'_>) -> Self {
        Self {
            view,
            lower: range.lower.to_vec(),
            upper: range.upper.to_vec(),
            delimiter: range.delimiter.to_vec(),
            text: range.text,
            text_end: range.text_end.to_vec(),
            max: range.max,
            page: Vec::new(),
            at: 0,
            is_whole: range.lower >= range.upper,
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<GroupedEntry<'_>>, KvError> {
        if self.at == self.page.len() && !self.is_whole {
            self.fetch()?;
        }
        let Some(entry) = self.page.get(self.at) else { return Ok(None) };
        self.at += 1;
        Ok(Some(match entry {
            Entry::Row(key, row) => GroupedEntry::Pair((key, &row.value)),
            Entry::Group(group) => GroupedEntry::Group(group),
        }))
    }

    fn fetch(&mut self) -> Result<(), KvError> {
        let max = self.max.clamp(1, PAGE_MAX);
        let want = Want::Entries {
            lower: self.lower.clone(),
            upper: self.upper.clone(),
            delimiter: self.delimiter.clone(),
            text: self.text,
            text_end: self.text_end.clone(),
            max,
        };
        let answer = self.view.fetch(&[want])?.answers.pop();
        let Some(Answer::Entries { entries, is_whole }) = answer else { return Err(nonsense()) };
        let next = match entries.last() {
            Some(Entry::Row(key, _)) => Some(behind(key)),
            Some(Entry::Group(group)) => behind_group(group),
            None if is_whole => None,
            None => return Err(nonsense()),
        };
        // A database that shows the same again would be asked for ever.
        if next.as_ref().is_some_and(|next| *next <= self.lower) {
            return Err(nonsense());
        }
        self.max = self.max.saturating_sub(entries.len());
        self.page = entries;
        self.at = 0;
        match next {
            Some(next) if !is_whole && next < self.upper => self.lower = next,
            _ => self.is_whole = true,
        }
        Ok(())
    }
}
