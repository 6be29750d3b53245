//! The expected entries of a scan, found without keeping all keys: some ten million of them would
//! dominate the memory of the measured process.

use super::data::{Data, Key, Seen};

/// Number of scans whose entries are found in one pass over all keys.
pub(super) const SCANS_AT_ONCE: u64 = 100;

/// The digests of scans of `count` entries, one from each key in `starts`, for an engine with the
/// first `entries` entries. A scan near the end has fewer.
pub(super) fn expected(data: &Data, starts: &[Key], count: u64, entries: u64) -> Vec<Seen> {
    let mut froms: Vec<(u64, usize)> =
        starts.iter().enumerate().map(|(scan, start)| (prefix(start), scan)).collect();
    froms.sort_unstable();
    // Keys are spread evenly, so `count` of them are within one and a half times their mean
    // distance. If not, the range grows.
    let mean = (u64::MAX / entries.max(1)).max(1);
    let mut width = mean.saturating_mul(count + count / 2 + 64);
    loop {
        let mut found: Vec<Vec<(Key, u64)>> = vec![Vec::new(); starts.len()];
        for number in 0..entries {
            let key = data.key(number);
            let place = prefix(&key);
            let before = froms.partition_point(|(from, _)| *from <= place);
            let within = froms[..before].iter().rev().take_while(|(from, _)| place - from <= width);
            within.for_each(|(_, scan)| found[*scan].push((key, number)));
        }
        let is_whole = |scan: usize| {
            found[scan].len() as u64 >= count || prefix(&starts[scan]).checked_add(width).is_none()
        };
        if (0..starts.len()).all(is_whole) {
            return found.into_iter().map(|entries| digest(data, entries, count)).collect();
        }
        width = width.saturating_mul(2);
    }
}

/// The first bytes of a key. They differ for any two entries, because keys are made by a bijection.
fn prefix(key: &Key) -> u64 {
    key.iter().take(8).fold(0, |prefix, byte| prefix << 8 | u64::from(*byte))
}

fn digest(data: &Data, mut entries: Vec<(Key, u64)>, count: u64) -> Seen {
    entries.sort_unstable();
    let mut seen = Seen::default();
    for (key, number) in entries.iter().take(count as usize) {
        seen.add(key, &data.value(*number));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SEED;
    use std::collections::BTreeMap;

    #[test]
    fn scans_show_what_an_ordered_map_shows() {
        let data = Data::new(SEED);
        for (entries, count) in [(1, 1), (3, 2), (2_000, 1_000), (2_000, 7), (5_000, 5_000)] {
            let all: BTreeMap<Key, u64> =
                (0..entries).map(|number| (data.key(number), number)).collect();
            let mut starts: Vec<Key> = all.keys().copied().step_by(97).collect();
            starts.extend(all.keys().next_back());
            let expected = expected(&data, &starts, count, entries);
            for (start, expected) in starts.iter().zip(expected) {
                let mut seen = Seen::default();
                for (key, number) in all.range(*start..).take(count as usize) {
                    seen.add(key, &data.value(*number));
                }
                assert_eq!(expected, seen, "{count} of {entries}");
            }
        }
    }
}
