//! Files of vectors: writing, committing, reading.

pub mod work;

mod liteio;
mod plain;

use std::path::Path;

pub(crate) use liteio::LiteIoSlots;
pub(crate) use plain::PlainFile;

use crate::worker::Failure;

/// An open file of vectors of [`DIMENSION`](crate::vector::data::DIMENSION) elements. The numbers
/// of vectors are 0, 1, 2, … in the order of their appending.
///
/// Each method uses the way that the engine itself recommends, and fails if the engine does.
pub trait SlotEngine: Sized {
    /// Directory in which files are made and opened.
    type Home;
    /// Reader of vectors.
    type Reader<'file>: SlotReader
    where
        Self: 'file;

    /// Opens an existing directory.
    fn home(directory: &Path) -> Result<Self::Home, Failure>;

    /// Makes a new file with this name.
    fn create(home: &Self::Home, name: &str) -> Result<Self, Failure>;

    /// Opens the file with this name.
    fn open(home: &Self::Home, name: &str) -> Result<Self, Failure>;

    /// Appends a vector.
    fn append(&mut self, vector: &[f32]) -> Result<(), Failure>;

    /// Appends many vectors, stored one after another.
    fn append_all(&mut self, vectors: &[f32]) -> Result<(), Failure>;

    /// Makes all appended vectors durable before it returns.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Copies a single vector, soon after opening.
    fn read_one(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure>;

    /// Begins to read many vectors.
    fn reader(&self) -> Result<Self::Reader<'_>, Failure>;
}

/// Reads committed vectors.
pub trait SlotReader {
    /// Copies a vector into the buffer, in place of its content.
    fn copy(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure>;

    /// Borrows a vector; `None` if it does not exist.
    fn borrow(&self, number: u32) -> Option<&[f32]>;

    /// Copies the first `count` vectors one after another, and shows each.
    fn copy_all(
        &self,
        count: u32,
        buffer: &mut Vec<f32>,
        mut each: impl FnMut(&[f32]),
    ) -> Result<(), Failure> {
        for number in 0..count {
            self.copy(number, buffer)?;
            each(buffer);
        }
        Ok(())
    }

    /// Borrows the first `count` vectors one after another, and shows each.
    fn borrow_all(&self, count: u32, each: impl FnMut(&[f32]));
}
