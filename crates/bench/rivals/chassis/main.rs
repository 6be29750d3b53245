//! Chassis: a file of vectors in a shared map.

use std::path::{Path, PathBuf};

use chassis_core::Storage;

use liteio_bench::vector::data::DIMENSION;
use liteio_bench::vector::slots::work;
use liteio_bench::vector::slots::{SlotEngine, SlotReader};
use liteio_bench::worker::{self, Candidate, Failure, locked_version};

fn main() -> std::io::Result<()> {
    worker::main(&[Candidate {
        name: "chassis",
        version: || locked_version(include_str!("../Cargo.lock"), "chassis-core").to_owned(),
        measure: work::run::<Chassis>,
    }])
}

struct Chassis {
    storage: Storage,
}

struct Reader<'file> {
    storage: &'file Storage,
}

impl SlotEngine for Chassis {
    type Home = PathBuf;
    type Reader<'file> = Reader<'file>;

    fn home(directory: &Path) -> Result<PathBuf, Failure> {
        Ok(directory.to_owned())
    }

    fn create(home: &PathBuf, name: &str) -> Result<Self, Failure> {
        Self::open(home, name)
    }

    fn open(home: &PathBuf, name: &str) -> Result<Self, Failure> {
        let dimension = u32::try_from(DIMENSION)?;
        Ok(Chassis { storage: Storage::open(home.join(name), dimension)? })
    }

    fn append(&mut self, vector: &[f32]) -> Result<(), Failure> {
        self.storage.insert(vector)?;
        Ok(())
    }

    /// It has no other way than one after the other.
    fn append_all(&mut self, vectors: &[f32]) -> Result<(), Failure> {
        vectors.chunks_exact(DIMENSION).try_for_each(|vector| self.append(vector))
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(self.storage.commit()?)
    }

    fn read_one(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure> {
        *buffer = self.storage.get_vector(u64::from(number))?;
        Ok(())
    }

    fn reader(&self) -> Result<Reader<'_>, Failure> {
        Ok(Reader { storage: &self.storage })
    }
}

impl SlotReader for Reader<'_> {
    fn copy(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure> {
        *buffer = self.storage.get_vector(u64::from(number))?;
        Ok(())
    }

    fn borrow(&self, number: u32) -> Option<&[f32]> {
        self.storage.get_vector_slice(u64::from(number)).ok()
    }

    fn borrow_all(&self, count: u32, each: impl FnMut(&[f32])) {
        (0..count).map_while(|number| self.borrow(number)).for_each(each);
    }
}
