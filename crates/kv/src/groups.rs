//! Groups of keys: [`GroupedRange`], and where a group ends.

use crate::Pair;

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

/// An entry of a [`Grouped`](crate::Grouped).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupedEntry<'a> {
    /// A key of no group, with its value.
    Pair(Pair<'a>),
    /// The bytes that all keys of a group begin with: up to and including the delimiter.
    Group(&'a [u8]),
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
