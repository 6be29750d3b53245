//! Prefix, delimiter and paging, shared by all listings of keys.

use crate::error::StoreError;

/// Prefix and delimiter of a listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouping<'q> {
    prefix: &'q str,
    /// Never empty; `None` for no delimiter.
    delimiter: Option<&'q str>,
}

/// The place after which a page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// After this key.
    Key(String),
    /// After every key with this prefix.
    Prefix(String),
}

impl<'q> Grouping<'q> {
    pub(crate) fn new(prefix: &'q str, delimiter: Option<&'q str>) -> Self {
        Self { prefix, delimiter: delimiter.filter(|delimiter| !delimiter.is_empty()) }
    }

    /// The bytes of the delimiter; empty for none.
    pub(crate) fn delimiter(&self) -> &'q [u8] {
        self.delimiter.map_or(&[], str::as_bytes)
    }

    /// The common prefix that `key` is rolled up into: everything up to and including the first
    /// delimiter after the prefix. `None` if the key has no delimiter there.
    pub(crate) fn common_prefix<'k>(&self, key: &'k str) -> Option<&'k str> {
        let delimiter = self.delimiter?;
        let rest = key.strip_prefix(self.prefix)?;
        let at = match delimiter.as_bytes() {
            // The usual delimiter is one byte. A text search would build its tables for every key.
            &[byte] => rest.bytes().position(|found| found == byte)?,
            _ => rest.find(delimiter)?,
        };
        Some(&key[..self.prefix.len() + at + delimiter.len()])
    }

    /// The place for a page after the key `marker`. A common prefix that contains `marker` was on
    /// an earlier page, so the page starts after all of its keys.
    pub(crate) fn behind(&self, marker: &str) -> Place {
        match self.common_prefix(marker) {
            Some(common) => Place::Prefix(common.to_owned()),
            None => Place::Key(marker.to_owned()),
        }
    }
}

/// The object key in a record key, as text.
pub(crate) fn key_text(bytes: &[u8]) -> Result<&str, StoreError> {
    std::str::from_utf8(bytes).map_err(|_| StoreError::corrupt("an object's key is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_delimiter_behind_the_prefix_ends_a_common_prefix() {
        for (prefix, delimiter, key, common) in [
            ("", "/", "a/b/c", Some("a/")),
            ("a/", "/", "a/b/c", Some("a/b/")),
            ("a", "/", "a/", Some("a/")),
            ("a/", "/", "a/b", None),
            ("a/", "/", "b/c", None),
            ("", "", "a/b", None),
            ("", "--", "a-b--c--d", Some("a-b--")),
            ("a-", "--", "a---b", Some("a---")),
            ("", "ß", "straße", Some("straß")),
        ] {
            let grouping = Grouping::new(prefix, Some(delimiter));
            assert_eq!(grouping.common_prefix(key), common, "{prefix:?} {delimiter:?} {key:?}");
        }
    }

    #[test]
    fn a_marker_within_a_common_prefix_leaves_it_behind() {
        let grouping = Grouping::new("p/", Some("/"));
        assert_eq!(grouping.behind("p/a/b"), Place::Prefix("p/a/".into()));
        assert_eq!(grouping.behind("p/a"), Place::Key("p/a".into()));
        assert_eq!(grouping.behind("o/a/b"), Place::Key("o/a/b".into()));
    }
}
