//! The work with files of vectors. Reads are compared with the written vectors, outside of the
//! measured time.

use std::fs;
use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::{SlotEngine, SlotReader};
use crate::vector::data::{DIMENSION, Distribution, Vectors};
use crate::vector::task::{Exercise, Work};
use crate::worker::measured::Measured;
use crate::worker::{Failure, Phase, Task};

/// Number of different vectors that are written again and again: the size of the largest batch.
const POOL: u32 = 1_000;
/// Number of appends that are measured together.
const APPENDS: u32 = 100;
/// Number of reads that are measured together, because one takes nanoseconds.
const READS: u32 = 1_000;
/// Number of the vector that is read again and again.
const HOT: u32 = 50;
/// Minimum of measured operations, even if they are slow.
const OPERATIONS_MIN: u64 = 3;
/// Number of vectors of a file that are read back after it was written, evenly spread.
const CHECKS: u32 = 500;

/// Runs a task. A failure ends it.
///
/// # Errors
/// The failure of the engine.
pub fn run<E: SlotEngine>(task: &Task<Exercise>) -> Result<Vec<Phase>, Failure> {
    let Work::Slots { file_vectors, cold_vectors } = task.work.work else {
        return Err("it has no files".into());
    };
    let mut site = Site::<E> {
        home: E::home(&task.directory)?,
        directory: &task.directory,
        pool: Vectors::stored(Distribution::Hard, task.seed).take(POOL as usize),
        time: Duration::from_secs_f64(task.seconds_max),
        file_vectors,
        cold_vectors,
        files: 0,
    };
    task.work.phases.iter().map(|phase| site.measure(phase)).collect()
}

struct Site<'a, E: SlotEngine> {
    home: E::Home,
    directory: &'a Path,
    /// Vector `n` of every file is vector `n % POOL` of these.
    pool: Vec<f32>,
    time: Duration,
    file_vectors: u32,
    cold_vectors: u32,
    files: u32,
}

/// A file that is being written.
struct Writing<E> {
    engine: E,
    name: String,
    vectors: u32,
}

impl<E: SlotEngine> Site<'_, E> {
    fn measure(&mut self, phase: &str) -> Result<Phase, Failure> {
        let mut measured = Measured::begin(phase);
        match phase {
            "raw_insert" => self.raw_insert(&mut measured)?,
            "insert_commit" => self.batches(1, &mut measured)?,
            "batch_10" => self.batches(10, &mut measured)?,
            "batch_100" => self.batches(100, &mut measured)?,
            "batch_1000" => self.batches(1_000, &mut measured)?,
            "hot_copied" => self.hot_copied(&mut measured)?,
            "hot_borrowed" => self.hot_borrowed(&mut measured)?,
            "cold_read" => self.cold_read(&mut measured)?,
            "sequential_copied" => self.sequential_copied(&mut measured)?,
            "sequential_borrowed" => self.sequential_borrowed(&mut measured)?,
            "growth" => self.growth(&mut measured)?,
            _ => return Err(format!("there is no phase {phase}").into()),
        }
        Ok(measured.end())
    }

    fn vector(&self, number: u32) -> &[f32] {
        &self.pool[(number % POOL) as usize * DIMENSION..][..DIMENSION]
    }

    fn create(&mut self) -> Result<Writing<E>, Failure> {
        self.files += 1;
        let name = format!("file-{}", self.files);
        Ok(Writing { engine: E::create(&self.home, &name)?, name, vectors: 0 })
    }

    /// Closes a file and frees its space.
    fn remove(&self, file: Writing<E>) {
        drop(file.engine);
        // An engine may have made several files whose names begin with this one.
        for entry in fs::read_dir(self.directory).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&file.name) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// A committed file with this many vectors.
    fn written(&mut self, vectors: u32) -> Result<Writing<E>, Failure> {
        let mut file = self.create()?;
        while file.vectors < vectors {
            let count = (vectors - file.vectors).min(POOL);
            file.engine.append_all(&self.pool[..count as usize * DIMENSION])?;
            file.vectors += count;
        }
        file.engine.commit()?;
        Ok(file)
    }

    fn goes_on(&self, measured: &Measured) -> bool {
        measured.phase.operations < OPERATIONS_MIN || measured.elapsed() < self.time
    }

    fn raw_insert(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        let mut file = self.create()?;
        while self.goes_on(measured) {
            if file.vectors + APPENDS > self.file_vectors.max(APPENDS) {
                file = self.next_file(file, measured)?;
            }
            let numbers = file.vectors..file.vectors + APPENDS;
            let (engine, site) = (&mut file.engine, &*self);
            measured.time(APPENDS as usize, || {
                numbers.clone().try_for_each(|number| engine.append(black_box(site.vector(number))))
            })?;
            file.vectors = numbers.end;
        }
        self.end_file(file, measured)
    }

    fn batches(&mut self, vectors: u32, measured: &mut Measured) -> Result<(), Failure> {
        let mut file = self.create()?;
        while self.goes_on(measured) {
            if file.vectors + vectors > self.file_vectors.max(vectors) {
                file = self.next_file(file, measured)?;
            }
            let first = file.vectors % POOL;
            let batch = &self.pool[first as usize * DIMENSION..][..vectors as usize * DIMENSION];
            let engine = &mut file.engine;
            measured.sample(1, || {
                if vectors == 1 {
                    engine.append(black_box(batch))?;
                } else {
                    engine.append_all(black_box(batch))?;
                }
                engine.commit()
            })?;
            file.vectors += vectors;
        }
        self.end_file(file, measured)
    }

    fn next_file(
        &mut self,
        file: Writing<E>,
        measured: &mut Measured,
    ) -> Result<Writing<E>, Failure> {
        self.end_file(file, measured)?;
        self.create()
    }

    /// Commits a file, reopens it, compares its content, and removes it.
    fn end_file(&self, mut file: Writing<E>, measured: &mut Measured) -> Result<(), Failure> {
        file.engine.commit()?;
        drop(file.engine);
        file.engine = E::open(&self.home, &file.name)?;
        let step = (file.vectors / CHECKS).max(1);
        let mut buffer = Vec::new();
        let last = file.vectors.checked_sub(1);
        for number in (0..file.vectors).step_by(step as usize).chain(last) {
            file.engine.read_one(number, &mut buffer)?;
            self.compare(number, &buffer, measured);
        }
        self.remove(file);
        Ok(())
    }

    fn compare(&self, number: u32, found: &[f32], measured: &mut Measured) {
        if found != self.vector(number) {
            measured.phase.fail(format!("vector {number} is not the one that was written"));
        }
    }

    fn hot_copied(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        let mut buffer = Vec::new();
        let copy = |reader: &E::Reader<'_>| {
            reader.copy(black_box(HOT), &mut buffer)?;
            black_box(&mut buffer);
            Ok(())
        };
        self.read(measured, READS, HOT..HOT + 1, copy, |reader, found| reader.copy(HOT, found))
    }

    fn hot_borrowed(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        let borrow = |reader: &E::Reader<'_>| {
            black_box(reader.borrow(black_box(HOT)));
            Ok(())
        };
        self.read(measured, READS, HOT..HOT + 1, borrow, |reader, found| {
            found.extend_from_slice(reader.borrow(HOT).unwrap_or_default());
            Ok(())
        })
    }

    fn sequential_copied(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        let mut buffer = Vec::new();
        let copy = |reader: &E::Reader<'_>| {
            reader.copy_all(black_box(POOL), &mut buffer, |vector| {
                black_box(vector);
            })
        };
        self.read(measured, 1, 0..POOL, copy, |reader, found| {
            reader.copy_all(POOL, &mut Vec::new(), |vector| found.extend_from_slice(vector))
        })
    }

    fn sequential_borrowed(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        let borrow = |reader: &E::Reader<'_>| {
            reader.borrow_all(black_box(POOL), |vector| {
                black_box(vector);
            });
            Ok(())
        };
        // These reads take some microseconds, so reading the clock for each would show.
        self.read(measured, 10, 0..POOL, borrow, |reader, found| {
            reader.borrow_all(POOL, |vector| found.extend_from_slice(vector));
            Ok(())
        })
    }

    /// Reads a file of [`POOL`] vectors, `times` times between two looks at the clock. The vectors
    /// in `found` at the end must have these numbers.
    fn read(
        &mut self,
        measured: &mut Measured,
        times: u32,
        numbers: Range<u32>,
        mut once: impl FnMut(&E::Reader<'_>) -> Result<(), Failure>,
        find: impl FnOnce(&E::Reader<'_>, &mut Vec<f32>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let file = self.written(POOL)?;
        let reader = file.engine.reader()?;
        while self.goes_on(measured) {
            measured.time(times as usize, || (0..times).try_for_each(|_| once(&reader)))?;
        }
        let mut found = Vec::new();
        find(&reader, &mut found)?;
        drop(reader);
        self.remove(file);
        if found != self.pool[numbers.start as usize * DIMENSION..numbers.end as usize * DIMENSION]
        {
            measured.phase.fail("vectors are not those that were written");
        }
        Ok(())
    }

    fn cold_read(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        let vectors = self.cold_vectors.max(1);
        let Writing { engine, name, .. } = self.written(vectors)?;
        drop(engine);
        let mut buffer = Vec::new();
        while self.goes_on(measured) {
            let number = vectors / 2;
            measured.sample(1, || {
                let engine = E::open(&self.home, &name)?;
                engine.read_one(black_box(number), &mut buffer)?;
                black_box(&mut buffer);
                drop(engine);
                Ok(())
            })?;
            self.compare(number, &buffer, measured);
            buffer.fill(0.0);
        }
        let engine = E::open(&self.home, &name)?;
        self.remove(Writing { engine, name, vectors });
        Ok(())
    }

    fn growth(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        while self.goes_on(measured) {
            let mut made = None;
            measured.sample(1, || {
                let file = made.insert(self.create()?);
                for vector in self.pool.chunks_exact(DIMENSION) {
                    file.engine.append(black_box(vector))?;
                }
                file.vectors = POOL;
                file.engine.commit()
            })?;
            made.map_or(Ok(()), |file| self.end_file(file, measured))?;
        }
        Ok(())
    }
}
