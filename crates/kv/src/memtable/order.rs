//! [`Order`]: all nodes of a table in key order, ordered in several batches.
//!
//! Small batches are linked into the list, which costs a search for each node. A large batch
//! becomes a [`Segment`].

use std::sync::OnceLock;

use super::arena::Place;
use super::list::{List, Node};
use super::segment::{Position, Segment};

/// Maximum number of segments: each is one more place to look.
const SEGMENTS_MAX: usize = 4;
/// Minimum size of a segment. A smaller batch is linked, and so is one that is smaller than all
/// earlier nodes together. Tests use small tables.
const SEGMENT_NODES_MIN: usize = if cfg!(test) { 16 } else { 4096 };

/// The ordered nodes.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) list: List,
    segments: [OnceLock<Segment>; SEGMENTS_MAX],
}

impl Order {
    pub(super) fn new() -> Self {
        Self { list: List::new(), segments: [const { OnceLock::new() }; SEGMENTS_MAX] }
    }

    fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().map_while(OnceLock::get)
    }

    /// Adds written nodes, in any order, to `before` earlier ones. One thread at a time.
    pub(super) fn add(&self, places: &[Place], before: usize) {
        let free = self.segments.iter().find(|segment| segment.get().is_none());
        // A segment only if it is at least as large as all before: so at most a few are ever made.
        match free.filter(|_| places.len() >= before.max(SEGMENT_NODES_MIN)) {
            Some(free) => _ = free.set(Segment::new(&self.list, places)),
            None => self.list.link_all(places),
        }
    }

    /// All nodes.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk::new(self.list.first(), self.segments(), |segment| {
            Position::first(segment, &self.list)
        })
    }

    /// The nodes from the newest version of `key` not above `sequence` on.
    pub(super) fn walk_from(&self, key: &[u8], sequence: u64) -> Walk<'_> {
        Walk::new(self.list.at(key, sequence), self.segments(), |segment| {
            Position::at(segment, &self.list, key, sequence)
        })
    }

    /// The last node with a key before `key`.
    pub(super) fn before(&self, key: &[u8]) -> Option<Node<'_>> {
        let before = self.segments().filter_map(|segment| segment.before(&self.list, key));
        before.chain(self.list.before(key)).max_by(|one, other| one.key().cmp(other.key()))
    }

    /// The last node.
    pub(super) fn last(&self) -> Option<Node<'_>> {
        let last = self.segments().filter_map(|segment| segment.last(&self.list));
        last.chain(self.list.last()).max_by(|one, other| one.key().cmp(other.key()))
    }
}

/// Nodes in order.
#[derive(Clone, Debug)]
pub(super) struct Walk<'m> {
    /// The next node of the list.
    linked: Option<Node<'m>>,
    /// Most tables have only this segment: it is walked without comparisons.
    first: Option<Position<'m>>,
    others: Vec<Position<'m>>,
}

impl<'m> Iterator for Walk<'m> {
    type Item = Node<'m>;

    #[inline]
    fn next(&mut self) -> Option<Node<'m>> {
        // The fast path: a single segment, nothing to merge.
        if let (Some(first), None) = (&mut self.first, self.linked)
            && self.others.is_empty()
        {
            let node = first.node()?;
            first.advance();
            return Some(node);
        }
        self.next_of_several()
    }
}

impl<'m> Walk<'m> {
    fn new<'s>(
        linked: Option<Node<'m>>,
        segments: impl Iterator<Item = &'s Segment>,
        position: impl Fn(&'s Segment) -> Position<'m>,
    ) -> Self {
        let mut positions = segments.map(position);
        Self { linked, first: positions.next(), others: positions.collect() }
    }

    fn next_of_several(&mut self) -> Option<Node<'m>> {
        let mut nearest: Option<(Node<'m>, &mut Position<'m>)> = None;
        for position in self.first.iter_mut().chain(&mut self.others) {
            if let Some(node) = position.node()
                && nearest.as_ref().is_none_or(|(than, _)| node.is_before(*than))
            {
                nearest = Some((node, position));
            }
        }
        match (nearest, self.linked) {
            // The list and the segments are disjoint, so one of them is strictly nearer.
            (Some((node, _)), Some(linked)) if linked.is_before(node) => self.step_in_list(linked),
            (Some((node, position)), _) => {
                position.advance();
                Some(node)
            }
            (None, linked) => self.step_in_list(linked?),
        }
    }

    #[inline]
    fn step_in_list(&mut self, linked: Node<'m>) -> Option<Node<'m>> {
        self.linked = linked.next();
        Some(linked)
    }
}
