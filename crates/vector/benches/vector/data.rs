//! Vectors and files that all benchmarks use.

use liteio_disk::RealDisk;
use liteio_vector::{Durability, Metric, Shape, SlotFile};

use crate::Place;

pub(crate) const DIMENSION: usize = 768;

pub(crate) fn shape() -> Shape {
    Shape::new(DIMENSION, Metric::Cosine).expect("a shape")
}

/// A sequence of numbers that follows from its seed (SplitMix64).
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of the standard normal distribution.
    pub(crate) fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        (radius * (std::f64::consts::TAU * self.fraction()).cos()) as f32
    }

    pub(crate) fn vectors(&mut self, count: usize) -> Vec<f32> {
        (0..count * DIMENSION).map(|_| self.normal()).collect()
    }
}

/// A file in a directory of its own.
pub(crate) struct TestFile {
    pub(crate) disk: RealDisk,
    pub(crate) file: SlotFile,
    pub(crate) directory: tempfile::TempDir,
}

pub(crate) const PATH: &str = "vectors";

impl TestFile {
    pub(crate) fn create(place: &Place) -> Self {
        let directory = place.directory();
        let disk = RealDisk::open(directory.path()).expect("opens");
        let file = SlotFile::create(&disk, PATH, shape()).expect("created");
        Self { disk, file, directory }
    }

    /// A file with `count` committed vectors.
    pub(crate) fn with_vectors(place: &Place, count: usize) -> Self {
        let test = Self::create(place);
        test.file.append_many(&Generator::new(1).vectors(count)).expect("appended");
        test.file.commit(Durability::Fsync).expect("committed");
        test
    }
}
