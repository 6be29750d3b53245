//! Our own search, and a scan that compares everything.

use std::path::Path;
use std::sync::Arc;

use liteio_disk::RealDisk;
use liteio_vector::{
    Durability, Metric, Neighbour, Search, Shape, Slot, SlotSet, VectorIndex, View,
};

use super::engine::SearchEngine;
use super::questions::Near;
use crate::vector::data::DIMENSION;
use crate::worker::Failure;

/// A [`VectorIndex`] on a disk.
#[derive(Debug)]
pub struct LiteIoSearch {
    index: VectorIndex,
    view: View,
    vectors: u32,
}

/// The same vectors, all of them compared with every query.
#[derive(Debug)]
pub struct ExactScan {
    inner: LiteIoSearch,
}

impl LiteIoSearch {
    fn commit(&mut self) -> Result<(), Failure> {
        self.index.slots().commit(Durability::Fsync)?;
        self.view = self.index.slots().view();
        Ok(())
    }
}

impl SearchEngine for LiteIoSearch {
    type Filter = SlotSet;
    const DISTANCE_TOLERANCE: f32 = 1e-5;

    fn create(directory: &Path, vectors: u32) -> Result<Self, Failure> {
        let disk = Arc::new(RealDisk::open(directory)?);
        let index = VectorIndex::create(disk, "vectors", Shape::new(DIMENSION, Metric::Cosine)?)?;
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
        self.commit()?;
        Ok(self.index.prepare()?)
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
        Ok(near(&self.index.search(&self.view, &search)?))
    }
}

impl SearchEngine for ExactScan {
    type Filter = SlotSet;
    const DISTANCE_TOLERANCE: f32 = LiteIoSearch::DISTANCE_TOLERANCE;

    fn create(directory: &Path, vectors: u32) -> Result<Self, Failure> {
        Ok(ExactScan { inner: LiteIoSearch::create(directory, vectors)? })
    }

    fn add(&mut self, first: u32, vectors: &[f32]) -> Result<(), Failure> {
        self.inner.add(first, vectors)
    }

    /// It needs nothing but the vectors.
    fn finish(&mut self) -> Result<(), Failure> {
        self.inner.commit()
    }

    fn filter(&self, every: u32) -> SlotSet {
        self.inner.filter(every)
    }

    fn search(
        &self,
        query: &[f32],
        neighbours: usize,
        filter: Option<&SlotSet>,
    ) -> Result<Vec<Near>, Failure> {
        let search = Search { filter, ..Search::new(query, neighbours) };
        Ok(near(&self.inner.view.search_exactly(&search)?))
    }
}

fn near(neighbours: &[Neighbour]) -> Vec<Near> {
    let near = |it: &Neighbour| Near { number: it.slot.number(), distance: it.distance as f32 };
    neighbours.iter().map(near).collect()
}
