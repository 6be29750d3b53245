//! Our own search, and an exact scan.

use std::path::Path;
use std::sync::Arc;

use liteio_disk::RealDisk;
use liteio_vector::{Durability, Metric, Search, Shape, Slot, SlotSet, VectorIndex, View};

use super::SearchEngine;
use super::questions::Near;
use crate::worker::Failure;

/// A [`VectorIndex`] on a disk; `EXACT` compares all of its vectors with every query.
#[derive(Debug)]
pub(crate) struct LiteIoSearch<const EXACT: bool> {
    index: VectorIndex,
    view: View,
    vectors: u32,
}

impl<const EXACT: bool> SearchEngine for LiteIoSearch<EXACT> {
    type Filter = SlotSet;
    const DISTANCE_TOLERANCE: f32 = 1e-5;

    fn create(directory: &Path, vectors: u32, dimension: usize) -> Result<Self, Failure> {
        let disk = Arc::new(RealDisk::open(directory)?);
        let index = VectorIndex::create(disk, "vectors", Shape::new(dimension, Metric::Cosine)?)?;
        let view = index.slots().view();
        Ok(LiteIoSearch { index, view, vectors })
    }

    fn add(&mut self, first: u32, vectors: &[f32]) -> Result<(), Failure> {
        let written = self.index.slots().append_many(vectors)?;
        match written.first() {
            Some(written) if written.slot != Slot::new(first) => {
                Err(format!("vector {first} is in slot {}", written.slot.number()).into())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.index.slots().commit(Durability::Fsync)?;
        self.view = self.index.slots().view();
        // The scan needs nothing but the vectors.
        if EXACT { Ok(()) } else { Ok(self.index.prepare()?) }
    }

    fn filter(&self, every: u32) -> SlotSet {
        (0..self.vectors).step_by(every.max(1) as usize).map(Slot::new).collect()
    }

    fn search(
        &self,
        query: &[f32],
        neighbours: usize,
        filter: Option<&SlotSet>,
    ) -> Result<Vec<Near>, Failure> {
        let search = Search { filter, ..Search::new(query, neighbours) };
        let found = match EXACT {
            true => self.view.search_exactly(&search)?,
            false => self.index.search(&self.view, &search)?,
        };
        let near = |it: &liteio_vector::Neighbour| Near {
            number: it.slot.number(),
            distance: it.distance as f32,
        };
        Ok(found.iter().map(near).collect())
    }
}
