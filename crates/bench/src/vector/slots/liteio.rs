//! Our own file of vectors.

use std::path::Path;

use liteio_disk::RealDisk;
use liteio_vector::{Durability, Metric, Shape, Slot, SlotFile, View};

use super::{SlotEngine, SlotReader};
use crate::vector::data::DIMENSION;
use crate::worker::Failure;

/// A [`SlotFile`].
#[derive(Debug)]
pub(crate) struct LiteIoSlots {
    file: SlotFile,
}

fn shape() -> Result<Shape, Failure> {
    Ok(Shape::new(DIMENSION, Metric::Cosine)?)
}

impl SlotEngine for LiteIoSlots {
    type Home = RealDisk;
    type Reader<'file> = View;

    fn home(directory: &Path) -> Result<RealDisk, Failure> {
        Ok(RealDisk::open(directory)?)
    }

    fn create(home: &RealDisk, name: &str) -> Result<Self, Failure> {
        Ok(LiteIoSlots { file: SlotFile::create(home, name, shape()?)? })
    }

    fn open(home: &RealDisk, name: &str) -> Result<Self, Failure> {
        Ok(LiteIoSlots { file: SlotFile::open(home, name, shape()?)? })
    }

    fn append(&mut self, vector: &[f32]) -> Result<(), Failure> {
        self.file.append(vector)?;
        Ok(())
    }

    fn append_all(&mut self, vectors: &[f32]) -> Result<(), Failure> {
        self.file.append_many(vectors)?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(self.file.commit(Durability::Fsync)?)
    }

    fn read_one(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure> {
        buffer.resize(DIMENSION, 0.0);
        Ok(self.file.read_into(Slot::new(number), buffer)?)
    }

    fn reader(&self) -> Result<View, Failure> {
        Ok(self.file.view())
    }
}

impl SlotReader for View {
    fn copy(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure> {
        let vector = self.borrowed(Slot::new(number)).ok_or("there is no such vector")?;
        buffer.resize(DIMENSION, 0.0);
        buffer.copy_from_slice(vector);
        Ok(())
    }

    fn borrow(&self, number: u32) -> Option<&[f32]> {
        self.borrowed(Slot::new(number))
    }

    fn copy_all(
        &self,
        count: u32,
        buffer: &mut Vec<f32>,
        mut each: impl FnMut(&[f32]),
    ) -> Result<(), Failure> {
        buffer.resize(DIMENSION, 0.0);
        let slots = Slot::new(0)..Slot::new(count);
        for (_, vector) in self.borrowed_all(slots).ok_or("the file is not mapped")? {
            buffer.copy_from_slice(vector);
            each(buffer);
        }
        Ok(())
    }

    fn borrow_all(&self, count: u32, mut each: impl FnMut(&[f32])) {
        let slots = Slot::new(0)..Slot::new(count);
        if let Some(vectors) = self.borrowed_all(slots) {
            vectors.for_each(|(_, vector)| each(vector));
        }
    }
}
