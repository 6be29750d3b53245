//! Files of vectors at work. What was read is compared with what was written, outside the measured
//! time.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use super::engine::{SlotEngine, SlotReader};
use super::phase::SlotPhase;
use crate::counting_allocator::Allocations;
use crate::samples::Samples;
use crate::vector::data::{DIMENSION, Distribution, Vectors};
use crate::vector::task::{Task, Work};
use crate::worker::measured::Measured;
use crate::worker::{Failure, Phase};

/// Different vectors that are written, again and again: those of the largest batch.
const POOL: u32 = 1_000;
/// Appends that are measured together.
const APPENDS: u32 = 100;
/// Reads of nanoseconds that are measured together.
const READS: u32 = 1_000;
/// The vector that is read again and again.
const HOT: u32 = 50;
/// Even a slow operation is measured so often.
const OPERATIONS_MIN: u64 = 3;
/// Vectors of a file that are read back after it was written, evenly spread.
const CHECKS: u32 = 500;

/// Does a task. A failure keeps the rest of it from being done.
///
/// # Errors
/// The failure of the engine.
pub fn run<E: SlotEngine>(task: &Task) -> Result<Vec<Phase>, Failure> {
    let Work::Slots { file_vectors, cold_vectors, phases } = &task.work else {
        return Err("this is no task about files".into());
    };
    let mut site = Site::<E> {
        home: E::home(&task.directory)?,
        directory: &task.directory,
        pool: Vectors::stored(Distribution::Hard, task.seed).take(POOL as usize),
        time: Duration::from_millis(task.milliseconds),
        file_vectors: *file_vectors,
        cold_vectors: *cold_vectors,
        files: 0,
    };
    phases.iter().map(|phase| site.measure(*phase)).collect()
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

/// A file while it is written.
struct Writing<E> {
    engine: E,
    name: String,
    vectors: u32,
}

impl<E: SlotEngine> Site<'_, E> {
    fn measure(&mut self, phase: SlotPhase) -> Result<Phase, Failure> {
        let mut measured = Measured::begin(&phase.id());
        match phase {
            SlotPhase::RawInsert => self.raw_insert(&mut measured)?,
            SlotPhase::InsertCommit => self.batches(1, &mut measured)?,
            SlotPhase::Batch(vectors) => self.batches(vectors.max(1), &mut measured)?,
            SlotPhase::HotCopied => self.hot_copied(&mut measured)?,
            SlotPhase::HotBorrowed => self.hot_borrowed(&mut measured)?,
            SlotPhase::ColdRead => self.cold_read(&mut measured)?,
            SlotPhase::SequentialCopied => self.sequential_copied(&mut measured)?,
            SlotPhase::SequentialBorrowed => self.sequential_borrowed(&mut measured)?,
            SlotPhase::Growth => self.growth(&mut measured)?,
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

    /// Closes a file and gives its space back.
    fn remove(&self, file: Writing<E>) {
        drop(file.engine);
        // Whatever the engine has made of the name begins with it.
        for entry in fs::read_dir(self.directory).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&file.name) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// A committed file with so many vectors.
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
        if !POOL.is_multiple_of(vectors) {
            return Err(format!("batches of {vectors} do not divide {POOL}").into());
        }
        let mut file = self.create()?;
        let mut samples = Samples::new();
        while self.goes_on(measured) {
            if file.vectors + vectors > self.file_vectors.max(vectors) {
                file = self.next_file(file, measured)?;
            }
            let first = file.vectors % POOL;
            let batch = &self.pool[first as usize * DIMENSION..][..vectors as usize * DIMENSION];
            let engine = &mut file.engine;
            let time = measured.time(1, || {
                if vectors == 1 {
                    engine.append(black_box(batch))?;
                } else {
                    engine.append_all(black_box(batch))?;
                }
                engine.commit()
            })?;
            samples.record(time);
            file.vectors += vectors;
        }
        measured.phase.percentiles(samples);
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

    /// Commits a file, opens it anew, compares what is in it, and removes it.
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
        self.read(measured, |site, reader, measured| {
            let mut buffer = Vec::new();
            while site.goes_on(measured) {
                measured.time(READS as usize, || {
                    for _ in 0..READS {
                        reader.copy(black_box(HOT), &mut buffer)?;
                        black_box(&mut buffer);
                    }
                    Ok(())
                })?;
                site.compare(HOT, &buffer, measured);
            }
            Ok(())
        })
    }

    fn hot_borrowed(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        self.read(measured, |site, reader, measured| {
            while site.goes_on(measured) {
                measured.time(READS as usize, || {
                    for _ in 0..READS {
                        black_box(reader.borrow(black_box(HOT)));
                    }
                    Ok(())
                })?;
                site.compare(HOT, reader.borrow(HOT).unwrap_or_default(), measured);
            }
            Ok(())
        })
    }

    /// Reads a file of [`POOL`] vectors.
    fn read(
        &mut self,
        measured: &mut Measured,
        work: impl FnOnce(&Self, &E::Reader<'_>, &mut Measured) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let file = self.written(POOL)?;
        work(self, &file.engine.reader()?, measured)?;
        self.remove(file);
        Ok(())
    }

    fn cold_read(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        let vectors = self.cold_vectors.max(1);
        let Writing { engine, name, .. } = self.written(vectors)?;
        drop(engine);
        let mut samples = Samples::new();
        let mut buffer = Vec::new();
        while self.goes_on(measured) {
            let number = vectors / 2;
            let time = measured.time(1, || {
                let engine = E::open(&self.home, &name)?;
                engine.read_one(black_box(number), &mut buffer)?;
                black_box(&mut buffer);
                drop(engine);
                Ok(())
            })?;
            samples.record(time);
            self.compare(number, &buffer, measured);
            buffer.fill(0.0);
        }
        measured.phase.percentiles(samples);
        let engine = E::open(&self.home, &name)?;
        self.remove(Writing { engine, name, vectors });
        Ok(())
    }

    fn sequential_copied(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        self.read(measured, |site, reader, measured| {
            let mut buffer = Vec::new();
            while site.goes_on(measured) {
                measured.time(1, || {
                    reader.copy_all(black_box(POOL), &mut buffer, |vector| {
                        black_box(vector);
                    })
                })?;
            }
            let mut number = 0;
            reader.copy_all(POOL, &mut buffer, |vector| {
                site.compare(number, vector, measured);
                number += 1;
            })?;
            site.count(number, measured);
            Ok(())
        })
    }

    fn sequential_borrowed(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        self.read(measured, |site, reader, measured| {
            while site.goes_on(measured) {
                // Some microseconds: reading the clock each time would show.
                measured.time(10, || {
                    for _ in 0..10 {
                        reader.borrow_all(black_box(POOL), |vector| {
                            black_box(vector);
                        });
                    }
                    Ok(())
                })?;
            }
            let mut number = 0;
            reader.borrow_all(POOL, |vector| {
                site.compare(number, vector, measured);
                number += 1;
            });
            site.count(number, measured);
            Ok(())
        })
    }

    fn count(&self, number: u32, measured: &mut Measured) {
        if number != POOL {
            measured.phase.fail(format!("{number} vectors were read instead of {POOL}"));
        }
    }

    fn growth(&mut self, measured: &mut Measured) -> Result<(), Failure> {
        let mut samples = Samples::new();
        while self.goes_on(measured) {
            let before = Allocations::now();
            let begin = Instant::now();
            let mut file = self.create()?;
            for vector in self.pool.chunks_exact(DIMENSION) {
                file.engine.append(black_box(vector))?;
            }
            file.engine.commit()?;
            let time = begin.elapsed();
            file.vectors = POOL;
            measured.add(1, time, before);
            samples.record(time);
            self.end_file(file, measured)?;
        }
        measured.phase.percentiles(samples);
        Ok(())
    }
}
