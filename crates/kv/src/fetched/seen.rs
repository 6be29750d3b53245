//! [`Seen`]: what closures have read, and what they could not.

use std::collections::{BTreeMap, BTreeSet};

use super::ranges::Ranges;
use crate::database::{ClaimName, Want};

/// The reads of a run of a closure, or of all closures of a group.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Keys that were read.
    pub(crate) keys: BTreeSet<Vec<u8>>,
    /// Ranges that cursors have passed.
    pub(crate) ranges: Ranges,
    /// Counters that were read.
    pub(crate) counters: BTreeSet<Vec<u8>>,
    /// The reads that are not known.
    pub(crate) wants: Vec<Want>,
    /// `true` for a claim that is shared.
    pub(crate) claims: BTreeMap<Vec<u8>, bool>,
}

impl Seen {
    pub(crate) fn want(&mut self, want: Want) {
        if !self.wants.contains(&want) {
            self.wants.push(want);
        }
    }

    /// A claim: exclusive if it was claimed so once.
    pub(crate) fn claim(&mut self, name: Vec<u8>, is_shared: bool) {
        *self.claims.entry(name).or_insert(true) &= is_shared;
    }

    /// Adds the reads and claims of another one.
    pub(crate) fn add(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.counters.extend(other.counters);
        let ranges = other.ranges.iter();
        ranges.for_each(|(begin, end)| self.ranges.add(begin.to_vec(), end.map(<[u8]>::to_vec)));
        other.claims.into_iter().for_each(|(name, is_shared)| self.claim(name, is_shared));
    }

    pub(crate) fn claim_names(&self) -> Vec<ClaimName> {
        let claims = self.claims.iter();
        claims
            .map(|(name, is_shared)| ClaimName { name: name.clone(), is_shared: *is_shared })
            .collect()
    }
}
