//! [`Segment`]: many nodes written one after the other, sorted lazily bucket by bucket.
//!
//! ```text
//!  nodes as they were written ──► buckets by the bytes in which keys differ ──► each sorted when a reader comes to it
//! ```
//! Sorting and linking half a million nodes takes 60 ms, which a reader of some hundred keys would
//! wait for. Dividing them takes a quarter of that: one sequential pass over the table. The places
//! of a bucket's nodes lie side by side, so the next nodes are prefetched; in a list each load
//! waits for the one before.
//!
//! Keys that share the distinguishing bytes share a bucket; in the worst case one bucket has the
//! whole segment.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use super::arena::Place;
use super::list::{List, Node, prefix, shared_bytes};

/// Average nodes of a bucket for evenly spread keys. Tests use small tables.
const BUCKET_NODES: usize = if cfg!(test) { 4 } else { 64 };
/// Nodes prefetched ahead of the current one: reading a node takes less than a tenth of fetching
/// it.
const NODES_AHEAD: usize = 8;

/// Nodes in key order; of each key the newest first.
#[derive(Debug)]
pub(super) struct Segment {
    /// The common prefix of all keys.
    shared: Box<[u8]>,
    /// The prefix number of the lowest key. The distance to it, shifted right by `shift`, is the
    /// number of a bucket.
    lowest: u64,
    shift: u32,
    /// The buckets one after the other. Each is sorted once, then immutable.
    places: Box<[AtomicU32]>,
    /// The end of each bucket.
    ends: Box<[u32]>,
    sorted: Box<[Once]>,
}

impl Segment {
    /// A segment of at least one node of `list`, none of which is linked.
    pub(super) fn new(list: &List, places: &[Place]) -> Self {
        let key = |place: &Place| list.node(*place).key();
        let first = places.first().map(key).unwrap_or_default();
        // Usually the first and the last key share no more than all keys do.
        let mut shared = shared_bytes(first, places.last().map(key).unwrap_or_default());
        let mut prefixes = Vec::with_capacity(places.len());
        for key in places.iter().map(key) {
            if !key.starts_with(&first[..shared]) {
                shared = places.iter().fold(shared, |shared, place| {
                    shared_bytes(&first[..shared], list.node(*place).key())
                });
                prefixes.clear();
                break;
            }
            prefixes.push(prefix(key, shared));
        }
        if prefixes.is_empty() {
            prefixes.extend(places.iter().map(|place| prefix(key(place), shared)));
        }
        // Counting sort: count each bucket, turn the counts into start offsets, then place the
        // nodes.
        let lowest = prefixes.iter().copied().min().unwrap_or_default();
        let span = prefixes.iter().copied().max().unwrap_or_default() - lowest;
        let buckets_max = (places.len() / BUCKET_NODES).max(2);
        // The span in `buckets_max` equal, power-of-two parts: the bucket is a shift, not a
        // division.
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub(buckets_max.ilog2());
        let bucket = |prefix: u64| ((prefix - lowest) >> shift) as usize;
        // Start offsets, which become end offsets as the buckets are filled.
        let mut ends = vec![0_u32; bucket(lowest + span) + 1];
        prefixes.iter().for_each(|prefix| ends[bucket(*prefix)] += 1);
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        let divided: Box<[AtomicU32]> = places.iter().map(|_| AtomicU32::new(0)).collect();
        for (prefix, place) in prefixes.into_iter().zip(places) {
            let end = &mut ends[bucket(prefix)];
            divided[*end as usize].store(*place, Ordering::Relaxed);
            *end += 1;
        }
        let sorted = ends.iter().map(|_| Once::new()).collect();
        let shared = first[..shared].into();
        Self { shared, lowest, shift, places: divided, ends: ends.into(), sorted }
    }

    fn start_of(&self, bucket: usize) -> usize {
        bucket.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }

    /// The places of a bucket, sorted.
    fn bucket(&self, list: &List, bucket: usize) -> &[AtomicU32] {
        let places = &self.places[self.start_of(bucket)..self.ends[bucket] as usize];
        // `call_once` synchronizes: readers that arrive later see the sorted places, although the
        // stores are relaxed.
        self.sorted[bucket].call_once(|| {
            let unsorted: Vec<Place> =
                places.iter().map(|place| place.load(Ordering::Relaxed)).collect();
            // The nodes are scattered: prefetched together they arrive in a fraction of the time.
            unsorted.iter().for_each(|place| list.node(*place).prefetch());
            for (place, sorted) in places.iter().zip(list.sorted(&unsorted)) {
                place.store(sorted, Ordering::Relaxed);
            }
        });
        places
    }

    /// The bucket that has `key`, or would have it.
    fn find(&self, key: &[u8]) -> Found {
        let head = &key[..key.len().min(self.shared.len())];
        if head != &*self.shared {
            return if *head < *self.shared { Found::Before } else { Found::Behind };
        }
        let Some(above) = prefix(key, self.shared.len()).checked_sub(self.lowest) else {
            return Found::Before;
        };
        match usize::try_from(above >> self.shift) {
            Ok(bucket) if bucket < self.ends.len() => Found::Bucket(bucket),
            _ => Found::Behind,
        }
    }

    /// The number of nodes before the newest version of `key` not above `sequence`, and the number
    /// of the searched bucket.
    fn search(&self, list: &List, key: &[u8], sequence: u64) -> (usize, usize) {
        let bucket = match self.find(key) {
            Found::Before => return (0, 0),
            Found::Behind => return (self.places.len(), self.ends.len()),
            Found::Bucket(bucket) => bucket,
        };
        // A binary search within the bucket, which is sorted on first use.
        let before = self.bucket(list, bucket).partition_point(|place| {
            list.node(place.load(Ordering::Relaxed)).compare(key, sequence).is_lt()
        });
        (self.start_of(bucket) + before, bucket)
    }

    /// The last of the first `count` nodes, which end within `bucket`.
    fn last_of<'m>(&self, list: &'m List, count: usize, bucket: usize) -> Option<Node<'m>> {
        let at = count.checked_sub(1)?;
        let mut bucket = bucket.min(self.ends.len() - 1);
        // Skip empty buckets.
        while self.start_of(bucket) > at {
            bucket -= 1;
        }
        let place = &self.bucket(list, bucket)[at - self.start_of(bucket)];
        Some(list.node(place.load(Ordering::Relaxed)))
    }

    /// The last node with a key before `key`.
    pub(super) fn before<'m>(&self, list: &'m List, key: &[u8]) -> Option<Node<'m>> {
        let (count, bucket) = self.search(list, key, u64::MAX);
        self.last_of(list, count, bucket)
    }

    /// The last node.
    pub(super) fn last<'m>(&self, list: &'m List) -> Option<Node<'m>> {
        self.last_of(list, self.places.len(), self.ends.len())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Before,
    Bucket(usize),
    Behind,
}

/// A position at a node of a segment, or at its end.
///
/// A bucket is entered, and sorted by the first reader, only when its first node is asked for: the keys of one kind may
/// fill a bucket with nearly all nodes, and readers of the few others would wait for all of it.
#[derive(Clone, Debug)]
pub(super) struct Position<'m> {
    segment: &'m Segment,
    list: &'m List,
    /// Number of nodes before it.
    at: usize,
    /// The bucket that was entered last, or else the first that may have the node.
    bucket: usize,
    /// The end of the entered bucket; not above `at` before a bucket is entered.
    end: usize,
    node: Option<Node<'m>>,
}

impl<'m> Position<'m> {
    /// The first node.
    pub(super) fn first(segment: &'m Segment, list: &'m List) -> Self {
        Self { segment, list, at: 0, bucket: 0, end: 0, node: None }
    }

    /// The first node not before the newest version of `key` not above `sequence`.
    pub(super) fn at(segment: &'m Segment, list: &'m List, key: &[u8], sequence: u64) -> Self {
        let (at, bucket) = segment.search(list, key, sequence);
        Self { segment, list, at, bucket, end: 0, node: None }
    }

    /// The node here; `None` at the end.
    #[inline]
    pub(super) fn node(&mut self) -> Option<Node<'m>> {
        if self.at >= self.end {
            self.enter();
        }
        self.node
    }

    /// Enters the first bucket from `bucket` on that has the node at `at`.
    fn enter(&mut self) {
        let ends = &self.segment.ends;
        let behind = ends[self.bucket..].iter().position(|end| *end as usize > self.at);
        let Some(skipped) = behind else {
            (self.bucket, self.node) = (ends.len(), None);
            return;
        };
        let bucket = self.bucket + skipped;
        self.bucket = bucket;
        self.end = ends[bucket] as usize;
        self.segment.bucket(self.list, bucket);
        (0..NODES_AHEAD).for_each(|ahead| self.fetch(ahead));
        self.show();
    }

    /// Prefetches a node ahead of this one. Past the end of a bucket that is unsorted yet it may be
    /// another one, which costs only the prefetch.
    #[inline]
    fn fetch(&self, ahead: usize) {
        if let Some(place) = self.segment.places.get(self.at + ahead) {
            self.list.node(place.load(Ordering::Relaxed)).prefetch();
        }
    }

    #[inline]
    fn show(&mut self) {
        let place = self.segment.places[self.at].load(Ordering::Relaxed);
        self.node = Some(self.list.node(place));
    }

    /// Moves behind the node here.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.at += 1;
        if self.at < self.end {
            self.fetch(NODES_AHEAD);
            self.show();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_sorted_only_when_its_first_node_is_asked_for() {
        let list = List::new();
        // Rows of two kinds. Those of the second share the bytes that tell buckets apart.
        let keys = (0..90_u64).rev().map(|number| match number {
            0..3 => vec![1, number as u8],
            _ => [&[16, 0, 0, 0, 0, 0, 0, 0][..], &number.to_be_bytes()].concat(),
        });
        let places: Vec<Place> =
            keys.map(|key| list.write(&key, Some(&[]), 1).expect("there is room")).collect();
        let segment = Segment::new(&list, &places);
        let is_sorted = |bucket: usize| segment.sorted[bucket].is_completed();
        let large = segment.ends.len() - 1;
        assert_eq!(segment.ends[large] as usize - segment.start_of(large), 87);

        let mut position = Position::at(&segment, &list, &[1], u64::MAX);
        for number in 0..3 {
            assert_eq!(position.node().expect("there").key(), [1, number]);
            position.advance();
        }
        assert!(!is_sorted(large));
        let first = position.node().expect("there").key();
        assert_eq!((first[0], first[15]), (16, 3));
        assert!(is_sorted(large));
        (0..87).for_each(|_| position.advance());
        assert!(position.node().is_none());
    }
}
