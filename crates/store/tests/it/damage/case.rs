//! One case: a file, its damage, and the moment.

use std::fmt;
use std::sync::Arc;

use liteio_disk::{Disk, SimulatedDisk};
use liteio_store::{Durability, SeededRandom, Store, StoreError, VerifyReport};

use super::Check;
use super::model::Model;
use super::read::{Reading, read};
use super::strike::{Damage, Target, strike};
use super::world::{End, World, config_of};
use crate::read_only::SECTOR_BYTES;

/// The moment of the damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    AfterStop,
    AfterKill,
    /// The store goes on, and is stopped or killed later.
    WhileRunning,
}

impl Moment {
    pub(super) const ALL: [Self; 3] = [Self::AfterStop, Self::AfterKill, Self::WhileRunning];
}

/// One cell of the matrix, at one place of one store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) world: u64,
    pub(super) target: Target,
    pub(super) damage: Damage,
    pub(super) moment: Moment,
    pub(super) durability: Durability,
}

impl Case {
    /// The number of cells.
    pub(super) const COUNT: u64 =
        (Target::ALL.len() * Damage::ALL.len() * Moment::ALL.len()) as u64;

    pub(super) fn new(seed: u64) -> Self {
        let cell = (seed % Self::COUNT) as usize;
        let (targets, damages) = (Target::ALL.len(), Damage::ALL.len());
        let world = seed / Self::COUNT;
        Self {
            seed,
            world,
            target: Target::ALL[cell % targets],
            damage: Damage::ALL[cell / targets % damages],
            // Last, so that consecutive seeds share a store.
            moment: Moment::ALL[cell / targets / damages],
            durability: World::durability(world),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, damage, moment, durability, .. } = self;
        write!(formatter, "{target:?}, {damage:?}, {moment:?}, {durability:?}")
    }
}

/// The end of a case in which everything held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// There is no such file, or the damage would change nothing.
    Nothing,
    /// Everything reads as before.
    Unharmed,
    /// Something is an error, and `verify` finds the damage.
    Told,
    /// The store is not opened, and `verify` finds the damage.
    Refused,
    /// One that is known not to hold.
    Gap,
}

pub(super) fn check(case: &Case, world: &World) -> Check<Outcome> {
    let random = SeededRandom::new(case.seed);
    match case.moment {
        Moment::AfterStop => check_ended(case, world, &world.closed, &random),
        Moment::AfterKill => check_ended(case, world, &world.killed, &random),
        Moment::WhileRunning => check_running(case, world, &random),
    }
}

fn check_ended(case: &Case, world: &World, end: &End, random: &SeededRandom) -> Check<Outcome> {
    let disk = end.disk.kill();
    if !strike(&disk, case.target, case.damage, &world.older, &end.read, random) {
        return Ok(Outcome::Nothing);
    }
    check_start(case, &disk, allowed(case, &world.history))
}

/// The states that may be found, the newest first.
fn allowed<'a>(case: &Case, history: &'a [Model]) -> Vec<&'a Model> {
    let count = match case.moment {
        Moment::AfterStop => 1,
        Moment::AfterKill | Moment::WhileRunning => states_of_the_log(case, history),
    };
    history.iter().rev().take(count).collect()
}

/// The number of newest states that may be found where the log is replayed: the last; where the log was
/// damaged also that without its newest record, which cannot be told from a torn one.
fn states_of_the_log(case: &Case, history: &[Model]) -> usize {
    /// Records that one sector can hold: the shortest have more than 80 bytes.
    const RECORDS_OF_A_SECTOR: usize = SECTOR_BYTES / 80;
    match (case.target, case.damage) {
        // One that ended there.
        (Target::Log, Damage::Older) => history.len(),
        // Behind a whole record zeros look as if nothing had been written there yet, and garbage as what an
        // earlier round left.
        (Target::Log, Damage::ZeroedSector | Damage::GarbageSector) => 1 + RECORDS_OF_A_SECTOR,
        (Target::Log, _) => 2,
        _ => 1,
    }
}

/// Verifies the disk, opens it and compares it with what is allowed.
fn check_start(case: &Case, disk: &SimulatedDisk, allowed: Vec<&Model>) -> Check<Outcome> {
    // Of a disk of its own: whatever it did would not be seen by the start.
    let before = disk.operations();
    let report = verify(case, disk);
    if disk.operations() != before {
        return Err("verify changed the disk".to_owned());
    }
    let is_found = match &report {
        Ok(report) => !report.damaged.is_empty() || report.log_end.is_some(),
        Err(_) => true,
    };
    let told = |outcome| match is_found {
        true => Ok(outcome),
        false => Err(format!("{outcome:?}, and verify finds nothing")),
    };
    let store = match Store::open_on(Arc::new(disk.clone()), config_of(case.world, 9)) {
        Ok(store) => store,
        Err(_) => return told(Outcome::Refused),
    };
    let has_warning = report.is_ok_and(|report| report.log_end.is_some());
    match first_allowed(&store, &allowed) {
        Ok(Reading { errors: 0 }) => Ok(Outcome::Unharmed),
        Ok(_) => told(Outcome::Told),
        Err(_) if has_warning => Ok(Outcome::Told),
        Err(what) => Err(what),
    }
}

fn verify(case: &Case, disk: &SimulatedDisk) -> Result<VerifyReport, StoreError> {
    let config = config_of(case.world, 8);
    Store::verify_closed_on(Arc::new(disk.clone()) as Arc<dyn Disk>, config, &mut |_| {})
}

/// The reading of the first model that the store agrees with; otherwise the deviation from the newest.
fn first_allowed(store: &Store, allowed: &[&Model]) -> Check<Reading> {
    let mut deviation = None;
    for model in allowed {
        match read(store, model) {
            Ok(reading) => return Ok(reading),
            Err(what) => deviation = deviation.or(Some(what)),
        }
    }
    Err(deviation.unwrap_or_else(|| "nothing is allowed".to_owned()))
}

/// Damages the disk under an open store, which goes on reading and writing. After its end everything holds
/// that holds for damage before a start.
fn check_running(case: &Case, world: &World, random: &SeededRandom) -> Check<Outcome> {
    let (disk, mut running) = World::running(case.world);
    let (target, damage) = (case.target, case.damage);
    if !strike(&disk, target, damage, &running.older, &world.killed.read, random) {
        return Ok(Outcome::Nothing);
    }
    read(&running.store, running.model()).map_err(|what| format!("still running: {what}"))?;
    let has_failed = (0..4).any(|_| running.try_step().is_err());
    read(&running.store, running.model()).map_err(|what| format!("running on: {what}"))?;
    let mut history = running.history.clone();
    let mut count = states_of_the_log(case, &history);
    if has_failed {
        // It may have happened all the same.
        history.push(running.attempted());
        count += 1;
    }
    if random.below(2) == 0 {
        running.store.close();
    }
    // Before the store is dropped, which would close it.
    let left = disk.kill();
    drop(running);
    check_start(case, &left, history.iter().rev().take(count).collect())
}
