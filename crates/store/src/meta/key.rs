//! Order-preserving encoding of object keys, for keys with something behind them.
//!
//! `0x00` becomes `0x00 0xFF`, and `0x00 0x01` ends the key:
//!
//! ```text
//! a      61 00 01
//! a\0    61 00 FF 00 01
//! ab     61 62 00 01
//! ```
//! So `a` sorts before `a\0` and before `ab`, whatever follows it. A key begins with a prefix
//! exactly when its encoding begins with the encoding of the prefix without the end.

const ESCAPE: u8 = 0x00;
const ESCAPED_ZERO: u8 = 0xFF;
const END: u8 = 0x01;

/// Appends the encoding of `key` without its end, for a search by prefix.
pub(crate) fn append_escaped(key: &[u8], target: &mut Vec<u8>) {
    // A zero byte would read as the begin of the end.
    for &byte in key {
        target.push(byte);
        if byte == ESCAPE {
            target.push(ESCAPED_ZERO);
        }
    }
}

/// The end of an encoded key. It is nowhere else in it.
pub(crate) const KEY_END: [u8; 2] = [ESCAPE, END];

/// The key in an encoding without its end; `None` if it is not an encoding.
pub(crate) fn unescaped(encoded: &[u8]) -> Option<Vec<u8>> {
    match split_ended(&[encoded, &KEY_END].concat()) {
        Some((key, [])) => Some(key),
        _ => None,
    }
}

/// Appends the encoding of `key` with its end.
pub(crate) fn append_ended(key: &[u8], target: &mut Vec<u8>) {
    append_escaped(key, target);
    target.extend_from_slice(&KEY_END);
}

/// Splits an encoded key from the bytes behind it. `None` if it is not an encoding.
pub(crate) fn split_ended(encoded: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut key = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    loop {
        // Every encoding has an end, which begins with a zero byte.
        let zero = rest.iter().position(|&byte| byte == ESCAPE)?;
        key.extend_from_slice(&rest[..zero]);
        match *rest.get(zero + 1)? {
            ESCAPED_ZERO => key.push(0),
            END => return Some((key, &rest[zero + 2..])),
            _ => return None,
        }
        rest = &rest[zero + 2..];
    }
}

/// The least byte string above all that begin with `prefix`; `None` if every string is below.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    // Trailing 0xFF bytes have no successor, so the last byte before them is incremented.
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut successor = prefix[..=last].to_vec();
    successor[last] += 1;
    Some(successor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ended(key: &[u8], tail: &[u8]) -> Vec<u8> {
        let mut encoded = Vec::new();
        append_ended(key, &mut encoded);
        encoded.extend_from_slice(tail);
        encoded
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![0_u8, 1, 2, 0x61, 0xFE, 0xFF]), 0..6)
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_the_keys_whatever_follows(
            first in bytes(), second in bytes(), tails in (bytes(), bytes()),
        ) {
            let order = ended(&first, &tails.0).cmp(&ended(&second, &tails.1));
            if first == second {
                prop_assert_eq!(order, tails.0.cmp(&tails.1));
            } else {
                prop_assert_eq!(order, first.cmp(&second));
            }
        }

        #[test]
        fn what_was_encoded_is_split_again(key in bytes(), tail in bytes()) {
            let encoded = ended(&key, &tail);
            prop_assert_eq!(split_ended(&encoded), Some((key, &tail[..])));
        }

        #[test]
        fn a_key_without_its_end_comes_back(key in bytes()) {
            let mut encoded = Vec::new();
            append_escaped(&key, &mut encoded);
            prop_assert_eq!(unescaped(&encoded), Some(key));
        }

        #[test]
        fn anything_is_split_or_refused(encoded in bytes()) {
            if let Some((key, tail)) = split_ended(&encoded) {
                prop_assert_eq!(ended(&key, tail), encoded);
            }
        }

        #[test]
        fn prefixes_stay_prefixes(key in bytes(), prefix in bytes()) {
            let mut escaped = Vec::new();
            append_escaped(&prefix, &mut escaped);
            prop_assert_eq!(ended(&key, b"").starts_with(&escaped), key.starts_with(&prefix));
        }

        #[test]
        fn the_successor_is_the_first_behind_the_prefix(prefix in bytes(), other in bytes()) {
            match successor(&prefix) {
                Some(end) => {
                    prop_assert!(end > prefix);
                    prop_assert_eq!(other >= prefix && other < end, other.starts_with(&prefix));
                }
                None => prop_assert!(prefix.iter().all(|&byte| byte == 0xFF)),
            }
        }
    }
}
