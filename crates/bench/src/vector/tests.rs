//! Engines do the work of their tasks, and what they do wrong is seen.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use super::data::{DIMENSION, Distribution};
use super::rows::SLOT_PHASES;
use super::search::questions::{Near, Questions};
use super::search::{self, LiteIoSearch, SearchEngine, TOPS};
use super::slots::{self, SlotEngine, SlotReader};
use super::task::{Exercise, Work};
use crate::random::SEED;
use crate::run::metrics::RECALL;
use crate::worker::{Failure, Phase, Task};

type Measure = fn(&Task<Exercise>) -> Result<Vec<Phase>, Failure>;

fn done(measure: Measure, directory: &Path, phases: Vec<String>, work: Work) -> Vec<Phase> {
    let task = Task {
        engine: "any".to_owned(),
        directory: directory.to_owned(),
        seed: SEED,
        seconds_max: 0.001,
        work: Exercise { phases, work },
    };
    measure(&task).expect("the work goes on")
}

fn measure_files(measure: Measure) -> Vec<Phase> {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let phases = SLOT_PHASES.iter().map(|phase| phase.id.to_owned()).collect();
    let work = Work::Slots { file_vectors: 2_000, cold_vectors: 1_500 };
    done(measure, directory.path(), phases, work)
}

fn measure_search(measure: Measure, distribution: Distribution, vectors: u32) -> Vec<Phase> {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let (folder, questions) = (directory.path().join("engine"), directory.path().join("q.json"));
    std::fs::create_dir(&folder).expect("a folder can be made");
    Questions::new(distribution, (vectors, DIMENSION), 10)
        .save(&questions)
        .expect("it can be written");
    let phases = TOPS.iter().map(|top| top.id()).collect();
    done(measure, &folder, phases, Work::Search { questions })
}

#[test]
fn fewer_vectors_than_are_wanted_are_all_found() {
    let phases = measure_search(search::work::run::<LiteIoSearch<true>>, Distribution::Hard, 60);
    assert!(phases.iter().all(|phase| phase.errors == 0), "{phases:?}");
}

/// A file that mixes up one vector. What is in it outlives it, as a file does.
struct Confused {
    vectors: Rc<RefCell<Vec<f32>>>,
}

struct Copied(Vec<f32>);

impl SlotEngine for Confused {
    type Home = Rc<RefCell<Vec<f32>>>;
    type Reader<'file> = Copied;

    fn home(_: &Path) -> Result<Self::Home, Failure> {
        Ok(Rc::default())
    }

    fn create(home: &Self::Home, _: &str) -> Result<Self, Failure> {
        home.borrow_mut().clear();
        Ok(Confused { vectors: Rc::clone(home) })
    }

    fn open(home: &Self::Home, _: &str) -> Result<Self, Failure> {
        Ok(Confused { vectors: Rc::clone(home) })
    }

    fn append(&mut self, vector: &[f32]) -> Result<(), Failure> {
        self.vectors.borrow_mut().extend_from_slice(vector);
        Ok(())
    }

    fn append_all(&mut self, vectors: &[f32]) -> Result<(), Failure> {
        self.append(vectors)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let mut vectors = self.vectors.borrow_mut();
        for number in [0, 50, 750] {
            if let Some(element) = vectors.get_mut(number * DIMENSION) {
                *element = 7.5;
            }
        }
        Ok(())
    }

    fn read_one(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure> {
        let vectors = self.vectors.borrow();
        let vector = vectors.chunks_exact(DIMENSION).nth(number as usize);
        *buffer = vector.ok_or("there is no such vector")?.to_vec();
        Ok(())
    }

    fn reader(&self) -> Result<Copied, Failure> {
        Ok(Copied(self.vectors.borrow().clone()))
    }
}

impl SlotReader for Copied {
    fn copy(&self, number: u32, buffer: &mut Vec<f32>) -> Result<(), Failure> {
        *buffer = self.borrow(number).ok_or("there is no such vector")?.to_vec();
        Ok(())
    }

    fn borrow(&self, number: u32) -> Option<&[f32]> {
        self.0.chunks_exact(DIMENSION).nth(number as usize)
    }

    fn borrow_all(&self, count: u32, each: impl FnMut(&[f32])) {
        (0..count).map_while(|number| self.borrow(number)).for_each(each);
    }
}

#[test]
fn a_vector_that_is_not_the_one_that_was_written_is_an_error_in_every_phase() {
    for phase in measure_files(slots::work::run::<Confused>) {
        assert!(phase.errors > 0 && phase.first_error.is_some(), "{phase:?}");
    }
}

/// Finds the first vectors instead of the nearest, at distances that it makes up.
struct Guess;

impl SearchEngine for Guess {
    type Filter = u32;
    const DISTANCE_TOLERANCE: f32 = 1e-5;

    fn create(_: &Path, _: u32, _: usize) -> Result<Self, Failure> {
        Ok(Guess)
    }

    fn add(&mut self, _: u32, _: &[f32]) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn filter(&self, every: u32) -> u32 {
        every
    }

    fn search(
        &self,
        _: &[f32],
        neighbours: usize,
        filter: Option<&u32>,
    ) -> Result<Vec<Near>, Failure> {
        let numbers = (0..).step_by(*filter.unwrap_or(&1) as usize).take(neighbours);
        Ok(numbers.map(|number| Near { number, distance: 0.001 }).collect())
    }
}

#[test]
fn guessed_neighbours_are_errors_without_recall() {
    for phase in measure_search(search::work::run::<Guess>, Distribution::Hard, 2_500) {
        if phase.id != "build" {
            assert_eq!(phase.errors, 10, "{phase:?}");
            assert!(phase.values[RECALL] < 0.5, "{phase:?}");
        }
    }
}
