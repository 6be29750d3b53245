//! [`Heads`]: the first bytes of the current keys of all sources, side by side.
//!
//! Mostly these alone select the next source, without a branch: the source changes from pair to
//! pair, so a branch would often be mispredicted.

use super::Direction;
use crate::memtable::prefix;

/// Numbers that sort like the current keys of the sources, the nearest least: of two keys the
/// nearer one never has the greater number. Equal numbers require a comparison of the keys.
#[derive(Debug)]
pub(super) struct Heads {
    /// The common prefix of all keys in the range. The bytes after it form the number.
    shared: Box<[u8]>,
    of: Vec<u64>,
}

/// The nearest source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nearest {
    /// The source whose key is before all others.
    One(usize),
    /// Equal numbers: the keys must be compared.
    Unknown,
}

impl Heads {
    /// Heads of `sources` sources, whose keys mostly begin with `shared`.
    pub(super) fn new(shared: &[u8], sources: usize) -> Self {
        Self { shared: shared.into(), of: vec![u64::MAX; sources] }
    }

    /// Sets the key of a source; `None` if it is exhausted.
    #[inline]
    pub(super) fn set(&mut self, source: usize, key: Option<&[u8]>, direction: Direction) {
        let head = key.map(|key| head(key, &self.shared));
        self.of[source] = match (head, direction) {
            (None, _) => u64::MAX,
            (Some(head), Direction::Forward) => head,
            (Some(head), Direction::Backward) => !head,
        };
    }

    // Written without branches, so that the compiler uses conditional moves.
    #[inline]
    pub(super) fn nearest(&self) -> Nearest {
        let (mut nearest, mut least, mut is_shared) = (0, u64::MAX, true);
        for (source, head) in self.of.iter().copied().enumerate() {
            is_shared = (is_shared & (head > least)) | (head == least);
            nearest = if head < least { source } else { nearest };
            least = least.min(head);
        }
        if is_shared { Nearest::Unknown } else { Nearest::One(nearest) }
    }
}

/// A number that is monotonic in the key.
#[inline]
fn head(key: &[u8], shared: &[u8]) -> u64 {
    if shared.is_empty() || key.starts_with(shared) {
        prefix(key, shared.len())
    } else if key < shared {
        0
    } else {
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_grow_with_their_keys() {
        let mut keys: Vec<Vec<u8>> = vec![Vec::new(), vec![0xff; 20]];
        for first in [b'a', b'b', b'c'] {
            for rest in [&b""[..], b"\0", b"1", b"12345678", b"123456789", b"\xff\xff"] {
                keys.extend([
                    rest.to_vec(),
                    [&[first], rest].concat(),
                    [b"b", &[first], rest].concat(),
                ]);
            }
        }
        keys.sort();
        for shared in [&b""[..], b"b", b"bb", b"bc1234"] {
            let heads: Vec<u64> = keys.iter().map(|key| head(key, shared)).collect();
            assert!(heads.is_sorted(), "behind {shared:?}");
        }
    }

    #[test]
    fn the_nearest_source_is_known_unless_two_numbers_are_the_same() {
        let check = |keys: &[Option<&str>], forward: Nearest, backward: Nearest| {
            for (direction, expected) in
                [(Direction::Forward, forward), (Direction::Backward, backward)]
            {
                let mut heads = Heads::new(b"", keys.len());
                for (source, key) in keys.iter().enumerate() {
                    heads.set(source, key.map(str::as_bytes), direction);
                }
                assert_eq!(heads.nearest(), expected, "{keys:?} {direction:?}");
            }
        };
        use Nearest::{One, Unknown};
        check(&[Some("b"), Some("a"), Some("c")], One(1), One(2));
        check(&[Some("c"), None, Some("a")], One(2), One(0));
        check(&[Some("a"), Some("b"), Some("a")], Unknown, One(1));
        check(&[Some("b"), Some("b"), Some("a")], One(2), Unknown);
        check(&[Some("12345678a"), Some("12345678b")], Unknown, Unknown);
        check(&[None, Some("a")], One(1), One(1));
        check(&[None, None], Unknown, Unknown);
    }
}
