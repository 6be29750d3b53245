//! The entries of a scan.

/// A digest of entries in order that is cheap and reads every byte.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// Entries.
    pub(super) count: u64,
    sum: u64,
}

impl Seen {
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        for piece in key.chunks(8).chain(value.chunks(8)) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.sum = self.sum.rotate_left(1).wrapping_add(u64::from_le_bytes(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_in_another_order_or_with_another_byte_is_seen() {
        let seen = |pairs: &[(&str, &str)]| {
            let mut seen = Seen::default();
            pairs.iter().for_each(|(key, value)| seen.add(key.as_bytes(), value.as_bytes()));
            seen
        };
        let right = seen(&[("a", "1"), ("b", "2")]);
        assert_eq!(right, seen(&[("a", "1"), ("b", "2")]));
        assert_ne!(right, seen(&[("b", "2"), ("a", "1")]));
        assert_ne!(right, seen(&[("a", "1"), ("b", "3")]));
        assert_ne!(right, seen(&[("a", "1")]));
    }
}
