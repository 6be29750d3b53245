//! A bare file: the cost of file system and memory for every engine.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{SlotEngine, SlotReader};
use crate::vector::data::DIMENSION;
use crate::worker::Failure;

/// Bytes gathered before a write: as many as our engine gathers.
const STAGE_BYTES: usize = 256 << 10;
const VECTOR_BYTES: usize = DIMENSION * size_of::<f32>();

/// Vectors one after another in a file, without checksums, crash recovery or other data: no store,
/// but the floor under every store.
#[derive(Debug)]
pub(crate) struct PlainFile {
    file: File,
    /// Offset of the next write.
    end: u64,
    staged: Vec<u8>,
}

impl PlainFile {
    fn open(home: &Path, name: &str, is_new: bool) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(is_new).open(home.join(name))?;
        let end = if is_new { 0 } else { file.metadata()?.len() };
        Ok(PlainFile { file, end, staged: Vec::new() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let mut staged = std::mem::take(&mut self.staged);
        let written = self.write(&staged);
        staged.clear();
        self.staged = staged;
        written
    }
}

impl SlotEngine for PlainFile {
    type Home = PathBuf;
    type Reader<'file> = Loaded;

    fn home(directory: &Path) -> Result<PathBuf, Failure> {
        Ok(directory.to_owned())
    }

    fn create(home: &PathBuf, name: &str) -> Result<Self, Failure> {
        PlainFile::open(home, name, true)
    }

    fn open(home: &PathBuf, name: &str) -> Result<Self, Failure> {
        PlainFile::open(home, name, false)
    }

    fn append(&mut self, vector: &[f32]) -> Result<(), Failure> {
        if self.staged.len() + VECTOR_BYTES > STAGE_BYTES {
            self.flush()?;
        }
        if self.staged.capacity() == 0 {
            self.staged.reserve_exact(STAGE_BYTES);
        }
        self.staged.extend_from_slice(bytemuck::cast_slice(vector));
        Ok(())
    }

    fn append_all(&mut self, vectors: &[f32]) -> Result<(), Failure> {
        self.flush()?;
        self.write(bytemuck::cast_slice(vectors))
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.flush()?;
        Ok(self.file.sync_data()?)
    }

    fn read_one(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure> {
        buffer.resize(DIMENSION, 0.0);
        let offset = u64::from(number) * VECTOR_BYTES as u64;
        Ok(self.file.read_exact_at(bytemuck::cast_slice_mut(buffer), offset)?)
    }

    fn reader(&self) -> Result<Loaded, Failure> {
        let mut vectors = vec![0.0_f32; self.end as usize / size_of::<f32>()];
        self.file.read_exact_at(bytemuck::cast_slice_mut(&mut vectors), 0)?;
        Ok(Loaded(vectors))
    }
}

/// The whole file in memory, read before the measurement.
#[derive(Debug)]
pub(crate) struct Loaded(Vec<f32>);

impl SlotReader for Loaded {
    fn copy(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure> {
        let vector = self.borrow(number).ok_or("there is no such vector")?;
        buffer.resize(DIMENSION, 0.0);
        buffer.copy_from_slice(vector);
        Ok(())
    }

    fn borrow(&self, number: u32) -> Option<&[f32]> {
        self.0.get(number as usize * DIMENSION..)?.get(..DIMENSION)
    }

    fn borrow_all(&self, count: u32, each: impl FnMut(&[f32])) {
        self.0.chunks_exact(DIMENSION).take(count as usize).for_each(each);
    }
}
