//! Power cuts, kills and faults at every operation.

use std::collections::BTreeMap;

use liteio_disk::effort::points;
use liteio_disk::{Fault, SimulatedDisk};
use liteio_vector::{Durability, Metric, Shape, Slot, SlotFile, VectorError};

use crate::harness::{Generator, numbered, shape};

/// Slots with a gap behind each vector, and those without, where large batches take another way.
const DIMENSIONS: [usize; 2] = [20, 1_024];
const STEPS: usize = 14;

/// Operations of a seed at which a quick run stops the machine.
const POINTS: u64 = 24;

/// A caller with a list of names: which number is in which slot.
#[derive(Clone, Debug, Default)]
struct Caller {
    /// Of acknowledged commits for the device.
    durable: BTreeMap<Slot, u32>,
    /// Of acknowledged commits of any kind.
    visible: BTreeMap<Slot, u32>,
    /// Appended, and not known to be committed.
    pending: BTreeMap<Slot, u32>,
    /// Every number that a slot was ever written with.
    written: BTreeMap<Slot, Vec<u32>>,
    next_number: u32,
    dimension: usize,
}

impl Caller {
    fn new(seed: u64) -> Self {
        Self { dimension: DIMENSIONS[seed as usize % 2], ..Self::default() }
    }

    fn shape(&self) -> Shape {
        shape(self.dimension, Metric::Euclidean)
    }

    fn append(&mut self, file: &SlotFile, count: u32) -> Result<(), VectorError> {
        let numbers: Vec<u32> = (self.next_number..self.next_number + count).collect();
        self.next_number += count;
        let vectors: Vec<f32> =
            numbers.iter().flat_map(|number| numbered(*number, self.dimension)).collect();
        let written = file.append_many(&vectors)?;
        for (written, number) in written.iter().zip(numbers) {
            self.pending.insert(written.slot, number);
            self.written.entry(written.slot).or_default().push(number);
        }
        Ok(())
    }

    fn commit(&mut self, file: &SlotFile, durability: Durability) -> Result<(), VectorError> {
        file.commit(durability)?;
        self.visible.append(&mut self.pending);
        if durability == Durability::Fsync {
            self.durable = self.visible.clone();
        }
        Ok(())
    }

    /// Removes names, durably, and then frees their slots.
    fn free(&mut self, file: &SlotFile, generator: &mut Generator) -> Result<(), VectorError> {
        let freed: Vec<Slot> =
            self.durable.keys().copied().filter(|_| generator.below(3) == 0).collect();
        for slot in &freed {
            self.durable.remove(slot);
            self.visible.remove(slot);
        }
        file.free(&freed)
    }

    /// Everything acknowledged is there; whatever else is there was written whole.
    fn check(&self, file: &SlotFile, context: &str) {
        let view = file.view();
        for (slot, number) in &self.durable {
            let vector = view.vector(*slot);
            let vector = vector.unwrap_or_else(|error| panic!("{context}: slot {slot}: {error}"));
            assert_eq!(*vector, numbered(*number, self.dimension), "{context}: slot {slot}");
        }
        for slot in view.slots().filter(|slot| !self.durable.contains_key(slot)) {
            // A slot that was written once, and is in the file: of a commit that is whole.
            let Some([number]) = self.written.get(&slot).map(Vec::as_slice) else { continue };
            let vector = view.vector(slot).expect("readable");
            assert_eq!(
                *vector,
                numbered(*number, self.dimension),
                "{context}: slot {slot} is torn"
            );
        }
    }
}

/// The same calls for the same seed. Errors are carried on from, as a server does.
fn run(disk: &SimulatedDisk, seed: u64, caller: &mut Caller) -> Result<(), VectorError> {
    let mut generator = Generator::new(seed);
    let mut first_error = Ok(());
    let mut keep = |result: Result<(), VectorError>| {
        if first_error.is_ok() {
            first_error = result;
        }
    };
    let file = SlotFile::create(disk, "a", caller.shape())?;
    for _ in 0..STEPS {
        let count = [1, 2, 7, 40][generator.below(4) as usize];
        keep(caller.append(&file, count));
        match generator.below(6) {
            0 => {}
            1 => keep(caller.commit(&file, Durability::Os)),
            2 => {
                keep(caller.commit(&file, Durability::Fsync));
                keep(caller.free(&file, &mut generator));
            }
            _ => keep(caller.commit(&file, Durability::Fsync)),
        }
    }
    first_error
}

/// Opens what is left, checks it, goes on with it, and checks again.
fn recover(disk: &SimulatedDisk, mut caller: Caller, context: &str) {
    let file = match SlotFile::open(disk, "a", caller.shape()) {
        Ok(file) => file,
        Err(VectorError::NotThere { .. }) => {
            assert!(caller.written.is_empty(), "{context}: the file is gone");
            return;
        }
        Err(error) => panic!("{context}: {error}"),
    };
    caller.check(&file, context);
    file.verify().unwrap_or_else(|error| panic!("{context}: {error}"));
    file.retain(&caller.durable.keys().copied().collect()).expect("they are there");
    caller.visible = caller.durable.clone();
    caller.pending.clear();
    for _ in 0..4 {
        caller.append(&file, 3).expect("appended");
        caller.commit(&file, Durability::Fsync).expect("committed");
        caller.check(&file, context);
    }
    drop(file);
    let next = disk.crash();
    let file = SlotFile::open(&next, "a", caller.shape()).expect("opens");
    caller.check(&file, context);
}

fn operations(seed: u64) -> u64 {
    let disk = SimulatedDisk::new(seed);
    run(&disk, seed, &mut Caller::new(seed)).expect("nothing fails");
    disk.operations()
}

#[test]
fn a_power_cut_at_any_operation_loses_nothing_that_was_acknowledged() {
    for seed in 0..8 {
        for operation in points(POINTS, operations(seed)) {
            // The disk of another system than Linux leaves temporary files behind.
            let disk = match seed % 4 {
                3 => SimulatedDisk::with_named_temporaries(seed * 1_000 + operation),
                _ => SimulatedDisk::new(seed * 1_000 + operation),
            };
            disk.set_fault(operation, Fault::Crash);
            let mut caller = Caller::new(seed);
            run(&disk, seed, &mut caller).expect_err("the machine has stopped");
            for image in 0..4 {
                let context = format!("seed {seed}, operation {operation}, image {image}");
                recover(&disk.crash(), caller.clone(), &context);
            }
        }
    }
}

#[test]
fn a_kill_at_any_operation_loses_nothing_that_was_visible() {
    for seed in 0..4 {
        for operation in points(POINTS, operations(seed)) {
            let disk = SimulatedDisk::new(seed);
            disk.set_fault(operation, Fault::Crash);
            let mut caller = Caller::new(seed);
            run(&disk, seed, &mut caller).expect_err("the machine has stopped");
            caller.durable = caller.visible.clone();
            recover(&disk.kill(), caller, &format!("seed {seed}, operation {operation}"));
        }
    }
}

#[test]
fn a_kill_and_then_a_power_cut_leave_no_torn_commit() {
    for seed in 0..2 {
        for operation in points(POINTS, operations(seed)) {
            for later in 0..5 {
                let disk = SimulatedDisk::new(seed);
                disk.set_fault(operation, Fault::Crash);
                let mut caller = Caller::new(seed);
                run(&disk, seed, &mut caller).expect_err("the machine has stopped");
                let killed = disk.kill();
                if let Ok(file) = SlotFile::open(&killed, "a", caller.shape()) {
                    // What waited in the killed process is gone.
                    caller.pending.clear();
                    // Built upon what it wrote and did not sync, and cut off again.
                    killed.set_fault(killed.operations() + later, Fault::Crash);
                    let _ = caller.append(&file, 5);
                    let _ = caller.commit(&file, Durability::Fsync);
                }
                for image in 0..4 {
                    let context = format!("seed {seed}, {operation}, then {later}, image {image}");
                    recover(&killed.crash(), caller.clone(), &context);
                }
            }
        }
    }
}

#[test]
fn a_fault_at_any_operation_is_an_error_and_loses_nothing() {
    for fault in [Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync] {
        for seed in 0..4 {
            for operation in points(POINTS, operations(seed)) {
                let disk = SimulatedDisk::new(seed);
                disk.set_fault(operation, fault);
                let mut caller = Caller::new(seed);
                // Zeros written ahead may fail without anyone being told.
                let _ = run(&disk, seed, &mut caller);
                let context = format!("{fault:?}, seed {seed}, operation {operation}");
                recover(&disk.crash(), caller, &context);
            }
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_written_and_reads_go_on() {
    let disk = SimulatedDisk::new(1);
    let mut caller = Caller::new(0);
    let file = SlotFile::create(&disk, "a", caller.shape()).expect("created");
    caller.append(&file, 3).expect("appended");
    caller.commit(&file, Durability::Fsync).expect("committed");
    disk.set_fault(0, Fault::FailedSync);
    caller.append(&file, 3).expect("appended");
    let error = caller.commit(&file, Durability::Fsync).expect_err("the sync fails");
    assert!(matches!(error, VectorError::Io(_)), "{error}");
    for durability in [Durability::Fsync, Durability::Os] {
        let error = caller.commit(&file, durability).expect_err("refused");
        assert!(matches!(error, VectorError::Poisoned(_)), "{error}");
    }
    caller.check(&file, "poisoned");
    assert_eq!(file.vector_count(), 3, "nothing of the failed commit is visible");
}

#[test]
fn on_a_full_disk_nothing_is_lost_and_the_commit_succeeds_when_there_is_space() {
    let disk = SimulatedDisk::new(1);
    let mut caller = Caller::new(0);
    let file = SlotFile::create(&disk, "a", caller.shape()).expect("created");
    caller.append(&file, 3).expect("appended");
    caller.commit(&file, Durability::Fsync).expect("committed");
    disk.set_fault(0, Fault::NoSpaceFrom);
    caller.append(&file, 100).expect("it waits in memory");
    let error = caller.commit(&file, Durability::Fsync).expect_err("full");
    assert!(matches!(error, VectorError::NoSpace(_)), "{error}");
    assert_eq!(file.vector_count(), 3);
    caller.check(&file, "full");
    disk.clear_faults();
    caller.commit(&file, Durability::Fsync).expect("there is space again");
    assert_eq!(file.vector_count(), 103);
    caller.check(&file, "no longer full");
}
