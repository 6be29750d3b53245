//! Claims as advisory locks of the database.
//!
//! A lock is a number of 64 bits: XXH3 of the name of the cluster, a zero byte, a letter for the kind, and the
//! name. All programs that use a schema must agree on it, so it is part of the format. Different names with the
//! same number only wait for each other.

use std::collections::BTreeMap;

use liteio_kv::database::ClaimName;
use twox_hash::XxHash3_64;

use crate::limits;

/// The kinds of locks.
#[derive(Clone, Copy)]
enum Kind {
    /// A claim.
    Claim = b'c' as isize,
    /// All claims together: shared by commits, and exclusive for one with very many claims.
    AllClaims = b'a' as isize,
    /// The sequence of numbers.
    Numbers = b'n' as isize,
    /// The schema, while it changes.
    Schema = b's' as isize,
}

fn lock(cluster: &str, kind: Kind, name: &[u8]) -> i64 {
    let mut hasher = XxHash3_64::default();
    std::hash::Hasher::write(&mut hasher, &[cluster.as_bytes(), &[0, kind as u8], name].concat());
    std::hash::Hasher::finish(&hasher).cast_signed()
}

/// The locks of claims, in the order in which all commits take them, and for each whether others may share
/// it.
pub(crate) fn of_claims(cluster: &str, claims: &[ClaimName]) -> (Vec<i64>, Vec<bool>) {
    if claims.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let all = lock(cluster, Kind::AllClaims, &[]);
    if claims.len() > limits::CLAIMS_MAX {
        return (vec![all], vec![false]);
    }
    let mut locks: BTreeMap<i64, bool> = BTreeMap::new();
    for claim in claims {
        let is_shared = locks.entry(lock(cluster, Kind::Claim, &claim.name)).or_insert(true);
        *is_shared &= claim.is_shared;
    }
    std::iter::once((all, true)).chain(locks).unzip()
}

/// The lock of the sequence.
pub(crate) fn of_numbers(cluster: &str) -> i64 {
    lock(cluster, Kind::Numbers, &[])
}

/// The lock of the schema.
pub(crate) fn of_schema(cluster: &str) -> i64 {
    lock(cluster, Kind::Schema, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str, is_shared: bool) -> ClaimName {
        ClaimName { name: name.as_bytes().to_vec(), is_shared }
    }

    #[test]
    fn locks_are_the_same_in_every_program() {
        assert_eq!(lock("liteio", Kind::Claim, b"name"), EXPECTED);
        assert_ne!(lock("other", Kind::Claim, b"name"), EXPECTED);
        assert_ne!(lock("liteio", Kind::AllClaims, b"name"), EXPECTED);
    }

    /// Never changes: two programs of one cluster would not exclude each other.
    const EXPECTED: i64 = 6_677_325_724_544_337_804;

    #[test]
    fn locks_are_sorted_behind_the_one_of_all_claims() {
        let claims: Vec<ClaimName> =
            ["a", "b", "c", "d"].map(|name| claim(name, name == "c")).into();
        let (locks, are_shared) = of_claims("liteio", &claims);
        assert_eq!(locks.len(), 5);
        assert!(locks[1..].is_sorted());
        assert_eq!(locks[0], lock("liteio", Kind::AllClaims, &[]));
        let shared = lock("liteio", Kind::Claim, b"c");
        for (lock, is_shared) in locks[1..].iter().zip(&are_shared[1..]) {
            assert_eq!(*is_shared, *lock == shared);
        }
        assert!(are_shared[0]);
        assert_eq!(of_claims("liteio", &[]).0, []);
    }

    #[test]
    fn a_commit_with_very_many_claims_is_alone() {
        let claims: Vec<ClaimName> =
            (0..=limits::CLAIMS_MAX).map(|number| claim(&number.to_string(), true)).collect();
        let all = lock("liteio", Kind::AllClaims, &[]);
        assert_eq!(of_claims("liteio", &claims), (vec![all], vec![false]));
        assert_eq!(of_claims("liteio", &claims[1..]).0.len(), limits::CLAIMS_MAX + 1);
    }
}
